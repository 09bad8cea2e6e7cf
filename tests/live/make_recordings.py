"""Make the course's recordings of a real server: the help desk, written with the official SDK.

    python tests/live/make_recordings.py

Writes `sdk_server_legacy.jsonl` and `sdk_server_modern.jsonl` into `mcpsim/course/recordings`. What they hold
is what crossed the pipes of a real process, with the real times, in whole milliseconds. Nothing is taken out:
the messages name no machine, no folder and nobody who uses it. Make them again when a test says that the SDK
does something else now, on a machine that has nothing else to do.
"""

from __future__ import annotations

import getpass
import re
import socket
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcpsim import Client, Recording
from mcpsim.live import ShutdownTimes, record

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "mcpsim" / "course" / "recordings"
ERAS = ("legacy", "modern")
COMMAND = [sys.executable, str(HERE / "sdk_help_desk.py")]
PATIENT_S = 60.0


async def visit(client: Client) -> None:
    """Ask what the server is, list its tools, get a report with progress, and meet an error."""
    if client.era == "modern":
        await client.discover()
    await client.list_tools()
    await client.call_tool("export_report", {"parts": 2}, on_progress=lambda *step: None)
    await client.call_tool("find_ticket", {"number": "T-9999"})


def file_of(era: str) -> Path:
    """Where the recording of an era is stored."""
    return FOLDER / f"sdk_server_{era}.jsonl"


def make(era: Any, command: list[str] = COMMAND) -> Recording:
    """Play the story against the installed SDK."""
    client = Client(era=era, timeout_s=PATIENT_S)
    title = f"A real server, written with the official SDK ({era})"
    times = ShutdownTimes(exit_s=PATIENT_S)
    recording = record(visit, command=command, client=client, title=title, times=times).recording
    header = {**recording.header, "server_software": f"mcp {version('mcp')} (Python)"}
    return Recording(header, tuple(_in_milliseconds(event) for event in recording.events))


def _in_milliseconds(event: Any) -> Any:
    return event._replace(at_us=round(event.at_us / 1000) * 1000)


def names_of_this_machine(text: str) -> set[str]:
    """Folders in a text, and words that are the name of this machine or of who uses it."""
    # The lanes of the recording are words as well, and people do call their machines so.
    named = {socket.gethostname().lower(), getpass.getuser().lower()} - {"client", "server"}
    folders = re.findall(r"/(?:home|root|work|tmp|usr|var|opt|Users)\b|[A-Za-z]:\\\\", text)
    return set(folders) | (named & set(re.findall(r"[\w.-]+\w", text.lower())))


def main() -> None:
    """Make both, and print them."""
    FOLDER.mkdir(exist_ok=True)
    for era in ERAS:
        recording = make(era)
        found = names_of_this_machine(recording.to_jsonl().decode("utf-8"))
        if found:
            raise SystemExit(f"Not stored: the recording names {', '.join(sorted(found))}.")
        recording.save(file_of(era))
        print(recording.transcript(width=110), end="\n\n")


if __name__ == "__main__":
    main()
