"""One story, played by our client and by the official SDK's, against our server and the SDK's, as processes.

What is the same whoever plays it: what the tools bring back, which error is a result and which is not, that
progress arrives in order, and that a call that is given up leaves the connection as good as new.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import anyio
import mcp
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp_types import PromptReference

from mcpsim import Client, ErrorResponse, Notification, ProtocolError, Request, Response
from mcpsim.live import ShutdownTimes, record
from mcpsim.recording import Recording
from tests.support.warm_servers import Warm

HERE = Path(__file__).parent
MODES = ("legacy", "modern", "auto")
PATIENT_S = 60.0

# The revision that each combination ends up with.
LEGACY, MODERN = "2025-11-25", "2026-07-28"
ENDS_WITH = {"legacy": LEGACY, "modern": MODERN, "auto": MODERN}


def ours(era: str = "both") -> list[str]:
    return [sys.executable, "-m", "mcpsim.live", "our_server:server", "--era", era]


THEIRS = [sys.executable, str(HERE / "sdk_server.py")]
SDK = ("mcp.server.mcpserver", "uvicorn")


# The text of a result, and whether it is a tool error; or the code of a protocol error.
Outcome = tuple[str, bool] | int


class Peer(Protocol):
    """What the story needs of a client, whoever wrote it."""

    version: str

    async def tools(self) -> list[str]: ...

    async def call(
        self, name: str, arguments: dict[str, Any], on_progress: Callable[..., Any] | None = None
    ) -> Outcome: ...

    async def complete(self) -> int:
        """The code of the protocol error on `completion/complete`, which neither server offers."""
        ...


@dataclass
class Ours:
    client: Client

    @property
    def version(self) -> str:
        return self.client.version

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(
        self, name: str, arguments: dict[str, Any], on_progress: Callable[..., Any] | None = None
    ) -> Outcome:
        try:
            result = await self.client.call_tool(name, arguments, on_progress=on_progress)
        except ProtocolError as error:
            return error.code
        return result.content[0].text, bool(result.is_error)

    async def complete(self) -> int:
        reference = {"type": "ref/prompt", "name": "letter"}
        with pytest.raises(ProtocolError) as caught:
            await self.client.request(
                "completion/complete", {"ref": reference, "argument": {"name": "to", "value": ""}}
            )
        return caught.value.code


@dataclass
class Theirs:
    client: mcp.Client

    @property
    def version(self) -> str:
        return self.client.protocol_version

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(
        self, name: str, arguments: dict[str, Any], on_progress: Callable[..., Any] | None = None
    ) -> Outcome:
        async def show(progress: float, total: float | None, message: str | None) -> None:
            assert on_progress is not None
            on_progress(progress, total, message)

        try:
            result = await self.client.call_tool(
                name, arguments, progress_callback=None if on_progress is None else show
            )
        except mcp.MCPError as error:
            return error.error.code
        return result.content[0].text, bool(result.is_error)

    async def complete(self) -> int:
        with pytest.raises(mcp.MCPError) as caught:
            await self.client.complete(PromptReference(name="letter"), {"name": "to", "value": ""})
        return caught.value.error.code


@dataclass
class Seen:
    """What the story saw."""

    version: str
    tools: list[str]
    sum: Outcome
    counted: Outcome
    progress: list[tuple[float, float | None, str | None]]
    refused: Outcome
    unknown_tool: Outcome
    not_offered: int
    gave_up: bool
    after: Outcome


async def the_story(peer: Peer) -> Seen:
    """List, call, follow progress, meet both kinds of error, give up on one call and make another."""
    tools = await peer.tools()
    total = await peer.call("add", {"a": 19, "b": 23})
    progress: list[tuple[float, float | None, str | None]] = []
    counted = await peer.call("count", {"to": 3}, lambda *step: progress.append(step))
    refused = await peer.call("refuse", {"reason": "no reason"})
    unknown_tool = await peer.call("no_such_tool", {})
    not_offered = await peer.complete()
    with anyio.move_on_after(0.3) as scope:
        await peer.call("wait_long", {})
    after = await peer.call("add", {"a": 1, "b": 2})
    return Seen(
        peer.version,
        tools,
        total,
        counted,
        progress,
        refused,
        unknown_tool,
        not_offered,
        scope.cancelled_caught,
        after,
    )


# Both revisions list an unknown tool among the protocol errors (-32602), and so does our server. The SDK's
# MCPServer answers with a tool error, in both.
# https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling
# https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
UNKNOWN_TOOL: dict[str, Outcome] = {"ours": -32602, "theirs": ("Unknown tool: no_such_tool", True)}


def assert_it_went_well(seen: Seen, version: str, server: str) -> None:
    assert seen.version == version
    assert sorted(seen.tools) == ["add", "count", "refuse", "wait_long"]
    assert seen.sum == ("42", False)
    assert seen.counted == ("counted to 3", False)
    assert seen.progress == [(number, 3, f"number {number}") for number in (1, 2, 3)]
    text, is_error = seen.refused
    assert is_error
    assert text.endswith("Refused: no reason")
    assert seen.unknown_tool == UNKNOWN_TOOL[server]
    assert seen.not_offered == -32601
    assert seen.gave_up
    assert seen.after == ("3", False)


def methods_sent(recording: Recording) -> list[str]:
    sent = [frame.parsed for frame in recording.frames if frame.sender == "client"]
    return [message.method for message in sent if isinstance(message, Request | Notification)]


OPENINGS = {
    ("legacy", "both"): ["initialize", "notifications/initialized"],
    ("modern", "both"): [],
    ("auto", "both"): ["server/discover"],
    ("auto", "modern"): ["server/discover"],
    ("auto", "legacy"): ["server/discover", "initialize", "notifications/initialized"],
}
CALLS = [
    "tools/list",
    *["tools/call"] * 4,
    "completion/complete",
    "tools/call",
    "notifications/cancelled",
    "tools/call",
]


def play_ours(mode: Any, command: list[str]) -> tuple[Seen, Recording]:
    client = Client("our-client", era=mode, probe_timeout_s=PATIENT_S)
    times = ShutdownTimes(exit_s=PATIENT_S)
    run = record(
        lambda client: the_story(Ours(client)), command=command, cwd=HERE, client=client, times=times
    )
    return run.value, run.recording


def play_theirs(mode: str, command: list[str]) -> Seen:
    pinned = {"modern": MODERN}.get(mode, mode)
    server = StdioServerParameters(command=command[0], args=command[1:], cwd=HERE)

    async def main() -> Seen:
        async with mcp.Client(server, mode=pinned, read_timeout_seconds=PATIENT_S) as client:
            return await the_story(Theirs(client))

    return anyio.run(main)


def assert_our_wire_is_right(recording: Recording, mode: str, server_era: str) -> None:
    """What no model can check: who said what, and that nothing came for the call that was given up."""
    assert methods_sent(recording) == OPENINGS[mode, server_era] + CALLS
    frames = [frame for frame in recording.frames if not frame.channel]
    requests = [frame.parsed for frame in frames if isinstance(frame.parsed, Request)]
    answers = [frame.parsed for frame in frames if isinstance(frame.parsed, Response | ErrorResponse)]
    (cancelled,) = (
        frame.parsed
        for frame in frames
        if isinstance(frame.parsed, Notification) and frame.parsed.method == "notifications/cancelled"
    )
    given_up = cancelled.params["requestId"]
    assert [answer.id for answer in answers] == [one.id for one in requests if one.id != given_up]
    reports = [
        frame.parsed.params
        for frame in frames
        if isinstance(frame.parsed, Notification) and frame.parsed.method == "notifications/progress"
    ]
    (counting,) = (one for one in requests if (one.params or {}).get("name") == "count")
    assert [report["progressToken"] for report in reports] == [counting.params["_meta"]["progressToken"]] * 3
    assert all(frame.fate == "delivered" for frame in frames)
    notes = [event.detail["text"] for event in recording.events if event.kind == "note" and event.detail]
    assert notes[-1] == "The server's process ended with exit code 0."
    assert not any(note.startswith(("Skipped", "Ignored", "An error that names")) for note in notes)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("client", ["ours", "theirs"])
def test_the_official_sdk_and_we_understand_each_other(
    client: str, mode: str, check_recording: Callable[[Recording], None], warm: Warm
) -> None:
    if client == "theirs":
        assert_it_went_well(play_theirs(mode, warm(ours())), ENDS_WITH[mode], "ours")
        return
    seen, recording = play_ours(mode, warm(THEIRS, *SDK))
    assert_it_went_well(seen, ENDS_WITH[mode], "theirs")
    assert_our_wire_is_right(recording, mode, "both")
    check_recording(recording)


@pytest.mark.parametrize("server_era", ["legacy", "modern", "both"])
def test_our_client_finds_out_what_our_server_is(
    server_era: str, check_recording: Callable[[Recording], None], warm: Warm
) -> None:
    seen, recording = play_ours("auto", warm(ours(server_era)))
    assert_it_went_well(seen, LEGACY if server_era == "legacy" else MODERN, "ours")
    assert_our_wire_is_right(recording, "auto", server_era)
    check_recording(recording)


@pytest.mark.parametrize("server_era", ["legacy", "modern"])
def test_their_client_finds_out_what_our_server_is(server_era: str, warm: Warm) -> None:
    seen = play_theirs("auto", warm(ours(server_era)))
    assert_it_went_well(seen, LEGACY if server_era == "legacy" else MODERN, "ours")
