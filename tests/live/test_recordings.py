"""The recordings of a real server that are part of the course."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib import resources
from types import ModuleType
from typing import Any

import pytest

from mcpsim import Notification, Recording, Request, simulate
from mcpsim.course.servers import help_desk
from mcpsim.messages import describe
from mcpsim.recording import Frame
from tests.support.warm_servers import Warm

ERAS = ("legacy", "modern")
MAX_BYTES = 20_000


@pytest.fixture(scope="module")
def making(load_beside: Callable[[str], ModuleType]) -> ModuleType:
    """The script that makes the recordings."""
    return load_beside("make_recordings.py")


def stored(era: str) -> Recording:
    """As a notebook finds it: among the files of the installed package."""
    file = resources.files("mcpsim.course") / "recordings" / f"sdk_server_{era}.jsonl"
    return Recording.from_jsonl(file.read_bytes())


def shape(frame: Frame) -> tuple[str, str, list[str]]:
    """Who says it, what it is, and which members its body has."""
    message: Any = frame.parsed
    if isinstance(message, Request | Notification):
        return frame.sender, describe(message), sorted(message.params or {})
    return frame.sender, describe(message), sorted(getattr(message, "result", None) or {"an error": None})


def shapes(recording: Recording) -> list[tuple[str, str, list[str]]]:
    # stderr is a pipe of its own: where its lines fall among the messages is chance.
    return [shape(frame) for frame in recording.frames if not frame.channel]


def endings(recording: Recording) -> list[tuple[str, Any]]:
    return [(event.party, event.detail) for event in recording.events if event.kind in ("closed", "note")]


@pytest.mark.parametrize("era", ERAS)
def test_the_installed_sdk_does_what_is_stored(making: ModuleType, era: str, warm: Warm) -> None:
    now, then = making.make(era, warm(making.COMMAND, "mcp.server.mcpserver")), stored(era)
    assert shapes(now) == shapes(then)
    assert endings(now) == endings(then)
    channels = [Counter(frame.channel for frame in one.frames) for one in (now, then)]
    assert channels[0] == channels[1]
    assert {**now.header, "server_software": ""} == {**then.header, "server_software": ""}


@pytest.mark.parametrize("era", ERAS)
def test_what_is_stored_is_right_and_names_no_machine(
    making: ModuleType, era: str, check_recording: Callable[[Recording], None]
) -> None:
    recording = stored(era)
    check_recording(recording)
    data = making.file_of(era).read_bytes()
    assert recording.to_jsonl() == data
    assert len(data) < MAX_BYTES
    assert making.names_of_this_machine(data.decode("utf-8")) == set()
    assert all(event.at_us % 1000 == 0 for event in recording.events)
    assert endings(recording)[-1] == ("server", {"text": "The server's process ended with exit code 0."})


@pytest.mark.parametrize("era", ERAS)
def test_the_simulated_help_desk_has_the_same_conversation(making: ModuleType, era: Any) -> None:
    simulated = simulate(making.visit, server=help_desk(), era=era).recording

    def said(recording: Recording) -> list[tuple[str, str]]:
        return [(sender, what) for sender, what, _ in shapes(recording)]

    assert said(simulated) == said(stored(era))


@pytest.mark.parametrize(
    "text", ["/home/anybody/x", "C:\\\\Users\\\\anybody", "on meadow.example:", "by [Willow]"]
)
def test_names_of_a_machine_are_seen(making: ModuleType, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(making.socket, "gethostname", lambda: "Meadow.example")
    monkeypatch.setattr(making.getpass, "getuser", lambda: "willow")
    assert making.names_of_this_machine(f"some text {text} and more")
    assert not making.names_of_this_machine("https://meadow.example.com/ and a willows tree")
