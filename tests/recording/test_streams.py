"""A recording of event streams: what they carry beside messages is shown as that, and never as a message."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from mcpsim import Client, Context, Cut, Recording, Server, StreamableHttp, simulate
from mcpsim.widgets import player_data, standalone_html, still_svg


@pytest.fixture
def recording() -> Recording:
    """A legacy client whose stream breaks and is taken up again, and a modern one that listens; both streams
    are quiet for a while."""
    server = Server("desk", list_changed=True, subscribe=True)

    @server.tool()
    async def count(context: Context) -> str:
        for part in (1, 2):
            await anyio.sleep(1)
            await context.report_progress(part, 2)
        await anyio.sleep(2)
        return "counted"

    @server.resource("file:///a")
    def a() -> str:
        return "a"

    async def story(old: Client, new: Client) -> Any:
        async with new.listen(resource_subscriptions=["file:///a"]) as subscription:
            answer = await old.call_tool("count", on_progress=lambda *what: None)
            server.resource_updated("file:///a")
            await anext(subscription)
        return answer.content[0].text

    run = simulate(
        story,
        server=server,
        client={"old": Client(era="legacy", standing_stream=True), "new": Client()},
        transport=StreamableHttp(keep_alive_s=1.5, resumable=True, retry_ms=500),
        faults=[Cut("notifications/progress", nth=2)],
    )
    assert run.value == "counted"
    return run.recording


def test_a_transcript_names_comments_events_without_data_and_what_a_get_goes_on_from(
    recording: Recording,
) -> None:
    sent = [line.split(" → ")[1] for line in recording.transcript().splitlines() if " → " in line]
    lines = [line.partition("  ")[2].strip() for line in sent]
    assert lines.count("(a comment)") >= 4
    assert "HTTP 200 (event 1-0 without data, retry after 500 ms)" in lines
    assert "GET" in lines
    assert "GET after event 2-1" in lines
    # No line is left empty.
    assert all(lines)


def test_frames_without_a_message_have_none(recording: Recording) -> None:
    comments = [frame for frame in recording.frames if frame.data.startswith(b":")]
    primings = [frame for frame in recording.frames if b"retry: " in frame.data]
    assert comments
    assert len(primings) == 2
    assert all(frame.parsed is None and frame.body == b"" for frame in (*comments, *primings))


def test_files_of_both_kinds_bring_back_the_same_messages(recording: Recording) -> None:
    assert Recording.from_jsonl(recording.to_jsonl()).sha256() == recording.sha256()
    exported = recording.to_interchange()
    text = exported if isinstance(exported, str) else exported.decode()
    rows = [json.loads(line) for line in text.splitlines()]
    ids = [row["sse_id"] for row in rows if "sse_id" in row]
    assert ids == ["2-1", "2-2", "2-3"]
    assert all("message" not in row for row in rows if str(row.get("raw", "")).startswith(":"))
    again = Recording.from_interchange(exported)
    sent = [
        frame.parsed for frame in recording.frames if frame.parsed is not None and frame.fate == "delivered"
    ]
    read = [frame.parsed for frame in again.frames if frame.parsed is not None]
    assert sorted(map(repr, read)) == sorted(map(repr, sent))
    assert again.transcript().count("(a comment)") == recording.transcript().count("(a comment)")


def test_the_pictures_show_them_as_no_message(recording: Recording) -> None:
    data = player_data(recording)
    steps = [step for step in data["steps"] if "comment" in step["what"]]
    assert steps
    assert {step["kind"] for step in steps} == {"http"}
    assert still_svg(recording).startswith("<svg")
    assert "event without a message" in standalone_html(recording)
