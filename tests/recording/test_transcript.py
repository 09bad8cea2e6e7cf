"""The transcript: columns, what became of a message, and nothing that could break a line."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from mcpsim import (
    Change,
    Client,
    Context,
    Cut,
    Drop,
    Duplicate,
    Server,
    Simulation,
    Stdio,
    StreamableHttp,
    simulate,
)
from mcpsim.recording import Event, Recording
from mcpsim.recording.events import milliseconds
from mcpsim.transports.faults import Fault

SCHEMA = {"type": "object"}


def report(transport: Any, *faults: Fault, width: int = 100, era: Any = "modern") -> str:
    server = Server("desk")

    @server.tool(input_schema=SCHEMA)
    async def report(context: Context) -> str:
        await anyio.sleep(0.0301234)
        await context.report_progress(1, 2, "half")
        return "done"

    async def story(client: Client) -> None:
        await client.call_tool("report", on_progress=lambda *_: None, timeout_s=1)

    run = simulate(story, server=server, transport=transport, era=era, faults=faults, check=False)
    return run.transcript(width=width)


def test_stdio() -> None:
    assert (
        report(Stdio())
        == """\
     0 ms  client → server  tools/call #1 {"name": "report", "arguments": {}}
50.123 ms  server → client  notifications/progress {"progressToken": 1, "progress": 1, "total": 2, …
50.123 ms  server → client  result #1 {"resultType": "complete", "content": [{"type": "text", "text…
70.123 ms  client           closes stdin (closed)
90.123 ms  server           closes stdout (closed)"""
    )


def test_http_with_an_event_stream() -> None:
    assert (
        report(StreamableHttp(), width=78)
        == """\
     0 ms  client → server  POST tools/call #1 {"name": "report", "arguments"…
50.123 ms  server → client  HTTP 200 notifications/progress {"progressToken":…
50.123 ms  server → client  result #1 {"resultType": "complete", "content": […
50.123 ms  server           closes the response stream (complete)"""
    )


def test_legacy_http_with_a_session() -> None:
    lines = report(StreamableHttp(), era="legacy").split("\n")
    assert [line.split("  ")[-1].split(" {")[0].strip() for line in lines] == [
        "POST initialize #1",
        "HTTP 200 result #1",
        "POST notifications/initialized",
        "HTTP 202",
        "POST tools/call #2",
        "HTTP 200 notifications/progress",
        "result #2",
        "closes the response stream (complete)",
        "DELETE",
        "HTTP 200",
    ]


@pytest.mark.parametrize(
    ("fault", "end"),
    [
        (Drop("result of tools/call"), "… ✗ lost: a fault dropped it"),
        (Cut("result of tools/call"), "… ✗ lost: the connection was cut"),
        (Change("result of tools/call", old=b"done", new=b"gone"), "… ✎ changed on the way"),
    ],
)
def test_what_became_of_a_message_is_never_cut_off(fault: Fault, end: str) -> None:
    (line,) = [line for line in report(Stdio(), fault).split("\n") if "  result #1" in line]
    assert line.endswith(end)
    assert len(line) == 100


def test_a_copy_says_so() -> None:
    lines = report(Stdio(), Duplicate("tools/call"), width=120).split("\n")
    assert lines[1].endswith('tools/call #1 {"name": "report", "arguments": {}} [copy of message 1]')


def test_a_cut_connection_is_closed_by_nobody() -> None:
    for transport in (Stdio(), StreamableHttp()):
        assert "the connection is cut" in report(transport, Cut("tools/call"))
        assert "(cut)" not in report(transport, Cut("tools/call"))


def test_what_is_on_its_way_says_so() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()

    with Simulation(story, server=Server("desk")) as simulation:
        simulation.step()
        assert simulation.recording.transcript() == "0 ms  client → server  tools/list #1 ⋯ on its way"


def test_a_narrow_page_keeps_to_its_width() -> None:
    for width in range(1, 60):
        assert all(
            len(line) <= width for line in report(Stdio(), Drop("tools/call"), width=width).split("\n")
        )


def test_nothing_in_a_message_can_break_a_line_or_turn_it_around() -> None:
    hostile = "a\nb\r\x1b[31m\u202e\u2028\x85\ufeff\x7f"
    recording = Recording(
        {},
        (
            Event(0, "note", hostile, detail={"text": hostile}),
            Event(0, "sent", "client", "server", 1, data=hostile.encode(), detail={"channel": "stderr"}),
            Event(
                0, "sent", "client", "server", 2, data=f'{{"jsonrpc":"2.0","method":"{hostile}"}}'.encode()
            ),
            Event(0, "closed", "client", detail={"what": hostile, "how": hostile}),
        ),
    )
    text = recording.transcript(width=1000)
    assert text.count("\n") == 3
    for character in "\r\x1b\u202e\u2028\x85\ufeff\x7f":
        assert character not in text
    assert "a\\u000ab\\u000d\\u001b[31m\\u202e\\u2028\\u0085\\ufeff\\u007f" in text


def test_bytes_that_are_no_text_are_shown_one_by_one() -> None:
    recording = Recording({}, (Event(0, "sent", "client", "server", 1, data=b'\xff\xfe"\\y\n'),))
    (line,) = recording.transcript(width=200).split("\n")
    assert line.endswith('not UTF-8 (at byte 0).) "\\xff\\xfe\\"\\\\y" ⋯ on its way')


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0"),
        (1000, "1"),
        (1, "0.001"),
        (12_345, "12.345"),
        (1_234_567_000, "1234567"),
        (10**16 + 1, "10000000000000.001"),
    ],
)
def test_times_have_three_decimals_or_none(us: int, text: str) -> None:
    assert milliseconds(us) == text


def test_an_empty_recording_has_an_empty_transcript() -> None:
    recording = Recording({}, ())
    assert recording.transcript() == ""
    assert repr(recording) == "<Recording 'recording': 0 messages, 0 events, 0 ms>"
    assert recording.parties == ()
