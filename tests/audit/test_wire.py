"""Nobody is accused of what the wire of a simulation did."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim import Stdio, StreamableHttp
from mcpsim.course import STORIES
from mcpsim.transports.faults import SERVER_HOP, Change, Delay, Drop, Duplicate, Fault, Reorder

WAYS = {"stdio": Stdio, "http": StreamableHttp}
CANCELLED = "notifications/cancelled"
DISCOVERED = "result of server/discover"
# A story, and what goes wrong in it.
FOUND: list[tuple[str, Any, str, Fault]] = [
    # The server cancels a question that the client never saw, saw under another id, or sees later.
    ("two-questions-at-once", "legacy", "stdio", Drop("elicitation/create")),
    ("two-questions-at-once", "legacy", "stdio", Change("elicitation/create", old=b'"id":1', new=b'"id":9')),
    ("two-questions-at-once", "legacy", "stdio", Reorder("elicitation/create", by_ms=200_000)),
    # The response was sent, and the stream ended without it all the same.
    ("one-question", "legacy", "http", Drop("result of tools/call")),
    ("one-question", "legacy", "http", Change("result of tools/call", old=b'"', new=b"'")),
    # A gateway hands on a retry and its copy, and goes on with what came back for one of them.
    (
        "answer-goes-to-another-replica",
        "modern",
        "http",
        Duplicate("tools/call", nth=2, hop="client-gateway"),
    ),
    # Each server was asked to begin a session.
    ("session-at-the-wrong-replica", "legacy", "http", Duplicate("initialize")),
    # The server answers to what it got: under another id, or under none where it could not read the id.
    ("each-page-by-itself", "modern", "http", Change("resources/list", old=b"1", new=b"2")),
    ("any-replica-will-do", "modern", "http", Change("tools/list", hop=SERVER_HOP, old=b"id", new=b"\xff")),
    ("ask-the-model", "legacy", "stdio", Change("tools/call", old=b":", new=b"\n")),
    ("two-subscriptions", "modern", "stdio", Change("subscriptions/listen", old=b"1", new=b"2")),
    # The client asks for the answer that it could not read, again and again, and it does not come.
    ("stream-is-resumed", "legacy", "http", Change("result of tools/call", old=b"result", new=b"error")),
    # It did answer.
    ("ping-both-ways", "legacy", "http", Drop("result of ping")),
    # It declared something else.
    ("progress-without-a-total", "auto", "stdio", Change(DISCOVERED, old=b"tools", new=b"fools")),
    # The end of stdin comes after what was written before it.
    ("state-is-good-once", "modern", "stdio", Delay("tools/call", by_ms=100_000)),
    ("never-longer-than-the-maximum", "modern", "stdio", Delay(CANCELLED, by_ms=100_000)),
]


@pytest.mark.parametrize(("story", "era", "way", "fault"), FOUND)
def test_the_wire_did_it(story: str, era: Any, way: str, fault: Fault) -> None:
    transport = WAYS[way](latency_ms=5, jitter_ms=5)
    run = STORIES[story].play(era=era, transport=transport, faults=(fault,), check=False, seed=5)
    plain = STORIES[story].play(era=era, transport=transport, check=False, seed=5)
    assert run.recording != plain.recording
    report = run.audit()
    assert report.skipped == ()
    assert {one.rule for one in report.findings if one.level != "note"} <= set(STORIES[story].breaks), report
