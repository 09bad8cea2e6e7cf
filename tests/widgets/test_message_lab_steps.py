"""What the lab says of each step is what the server does: the two are held against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpsim import Server
from mcpsim.messages import Batch, ErrorResponse
from mcpsim.recording import events
from mcpsim.widgets.message_lab import MessageLab
from mcpsim.widgets.message_lab_desk import lab_desk
from mcpsim.widgets.message_lab_steps import (
    _ROWS_OF,
    PASSED,
    REFUSED,
    REQUEST_ROWS,
    SETTING_ROWS,
    TRANSPORT_CHECKS,
    Walked,
)
from mcpsim.widgets.message_lab_view import Entry
from tests.properties.arbitrary import everything, lines, notifications, requests, responses

ERAS = ("both", "modern", "legacy")
messages = lines(st.one_of(requests(), requests(), notifications(), responses))
quickly = settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=25)


def answers(lab: MessageLab, entry: Entry) -> list[Any]:
    """What came back since a message was sent, batches taken apart."""
    found: list[Any] = []
    for frame in lab.recording.frames:
        if frame.index >= entry.begin and frame.sender == "server" and frame.exchange == entry.exchange:
            parsed = frame.parsed
            found += parsed.members if isinstance(parsed, Batch) else [parsed]
    return found


def status(lab: MessageLab, entry: Entry) -> int:
    heads = [
        frame.head["status"]
        for frame in lab.recording.frames
        if frame.exchange == entry.exchange and frame.head is not None and "status" in frame.head
    ]
    return int(heads[0]) if heads else 0


def handled(lab: MessageLab, entry: Entry) -> list[Any]:
    """The ids of the requests whose handlers began since then."""
    return [
        (type(event.detail["id"]), event.detail["id"])
        for event in lab.recording.events[entry.begin :]
        if event.kind == events.HANDLER_STARTED and event.exchange == entry.exchange and event.detail
    ]


def hold_together(lab: MessageLab, entry: Entry) -> None:
    """What the lab says about each message of an exchange happened."""
    came = [one for one in answers(lab, entry) if one is not None]
    errors = [(one.code, one.message) for one in came if isinstance(one, ErrorResponse)]
    ran = handled(lab, entry)
    for walked in entry.walked:
        key = (type(walked.id), walked.id)
        if walked.refused is not None:
            hold_refusal(lab, entry, walked, errors)
        elif walked.awaits:
            retried = b"requestState" in entry.text.encode("utf-8", "replace")
            retried = retried or b"inputResponses" in entry.text.encode("utf-8", "replace")
            assert key in ran or retried, "it was let through, and no handler began"
        elif len(entry.walked) == 1:
            assert ran == [], "it was not let through, and a handler began"
            assert errors == [], "nobody refused it, and an error came"


def hold_refusal(lab: MessageLab, entry: Entry, walked: Walked, errors: list[Any]) -> None:
    refused = walked.refused
    assert refused is not None
    if refused.code > 0:
        assert status(lab, entry) == refused.code, refused
        return
    assert refused.code in [code for code, _ in errors], (refused, errors)
    named = "There is no initialize" in str(errors)
    assert named or refused.said in [text for _, text in errors], (refused, errors)
    if entry.exchange and walked.era == "legacy":
        assert status(lab, entry) == 200


def hold_session(lab: MessageLab) -> None:
    """The session is in the phase that the lab shows."""
    remembered = [event.detail for event in lab.recording.events if event.kind == events.STATE]
    phase = remembered[-1].get("phase", "new") if remembered and remembered[-1] else "new"
    latest = lab._mirror.latest
    mirrored = str(latest.phase) if latest is not None else "new"
    assert phase == mirrored or "sessions" in (remembered[-1] or {})


@given(st.lists(messages, max_size=6), st.sampled_from(ERAS), st.booleans())
@quickly
def test_any_lines(sent: list[bytes], era: str, begins: bool) -> None:
    lab = MessageLab(everything(era))
    if begins and era != "modern":
        lab.send_template("legacy initialize")
        lab.send_template("legacy notifications/initialized")
    for line in sent:
        # Two lines are two messages, and what is said of each is told by their order alone.
        lab.send(line.replace(b"\n", b" "))
        assert not lab.error
        hold_together(lab, lab.entries[-1])
        hold_session(lab)


heads = st.lists(
    st.sampled_from(
        [
            ("Accept", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "text/plain"),
            ("Content-Type", "application/json"),
            ("Origin", "https://elsewhere.example"),
            ("Origin", "http://localhost:3000"),
            ("MCP-Protocol-Version", "2025-11-25"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("MCP-Session-Id", "made-up"),
            ("Mcp-Method", "tools/list"),
        ]
    ),
    max_size=2,
)


@given(
    st.lists(
        st.tuples(messages, heads, st.sampled_from(["POST"] * 5 + ["GET", "DELETE", "PUT"])), max_size=5
    ),
    st.sampled_from(ERAS),
    st.booleans(),
)
@quickly
def test_any_http_requests(sent: list[Any], era: str, begins: bool) -> None:
    lab = MessageLab(everything(era), transport="http")
    if begins and era != "modern":
        lab.send_template("legacy initialize")
        lab.send_template("legacy notifications/initialized")
    for body, more, method in sent:
        fitting = dict(lab._fitting(body))
        lab.send_http(body, method=method, headers={**fitting, **dict(more)})
        assert not lab.error
        entry = lab.entries[-1]
        if method == "POST":
            hold_together(lab, entry)
        else:
            refused = entry.walked[0].refused
            assert status(lab, entry) == (200 if refused is None else refused.code)


@given(st.lists(st.integers(0, 200), max_size=8), st.sampled_from(ERAS), st.sampled_from(["stdio", "http"]))
@quickly
def test_any_templates_in_any_order(picks: list[int], era: Any, transport: Any) -> None:
    lab = MessageLab(lab_desk(era=era), transport=transport)
    for pick in picks:
        offered = lab.templates
        template = offered[pick % len(offered)]
        lab.send_template(template.key)
        assert not lab.error
        entry = lab.entries[-1]
        if template.method == "POST":
            hold_together(lab, entry)
        if template.allowed and not template.key.startswith("legacy GET"):
            assert all(one.refused is None for one in entry.walked), (template.key, entry.walked)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_what_is_refused_on_purpose_is_refused(transport: Any) -> None:
    lab = MessageLab(transport=transport)
    lab.send_template("modern tools/list")
    broken = [one.key for one in lab.templates if one.group == "Broken on purpose"]
    # The first is answered by a counter-offer, the others work in one revision or another.
    fine = {"initialize, unknown version", "duplicate id", "initialize 2025-03-26"}
    for key in broken:
        lab.start_again()
        lab.send_template("modern tools/list")
        lab.send_template(key)
        outcome = lab.outcome
        assert outcome is not None
        assert (outcome.mark == "error") is (key not in fine), key


def test_an_id_is_used_twice_in_a_session() -> None:
    lab = MessageLab()
    lab.send_template("legacy initialize")
    lab.send_template("legacy notifications/initialized")
    lab.send_template("duplicate id")
    refused = lab.entries[-1].walked[0].refused
    assert refused is not None
    assert refused.title == "Is its id new in this session?"
    assert refused.code == -32600


def test_an_id_that_is_in_work() -> None:
    lab = MessageLab()
    lab.send_template("modern tools/call build_report")
    lab.send(lab.entries[0].text)
    refused = lab.entries[-1].walked[0].refused
    assert refused is not None
    assert refused.title == "Is the id free?"
    hold_refusal(lab, lab.entries[-1], lab.entries[-1].walked[0], [(refused.code, refused.said)])


def test_a_batch_is_told_message_by_message() -> None:
    lab = MessageLab()
    lab.send_template("initialize 2025-03-26")
    lab.send_template("legacy notifications/initialized")
    lab.send_template("batch")
    assert [one.label for one in lab.entries[-1].walked] == ["ping #2", "ping #3"]
    assert lab.outcome is not None
    assert lab.outcome.short == "2 of 2 answered"


def test_a_tool_that_needs_a_capability() -> None:
    server = Server("picky")

    @server.tool(requires={"elicitation": {"url": {}}})
    def book() -> str:
        return "booked"

    lab = MessageLab(server)
    lab.send_template("modern tools/call book")
    assert lab.entries[-1].walked[0].refused is not None
    assert lab.entries[-1].walked[0].refused.code == -32021
    lab.start_again()
    lab.send_template("legacy initialize")
    lab.send_template("legacy notifications/initialized")
    lab.send_template("legacy tools/call book")
    checks = {one.title: one for one in lab.entries[-1].walked[0].checks}
    assert checks["Can the client do what is needed?"].outcome == REFUSED
    assert checks["Is the method offered?"].outcome == PASSED
    hold_together(lab, lab.entries[-1])


def test_each_page_that_is_named_is_there() -> None:
    known = set((Path(__file__).parent / "anchors.txt").read_text(encoding="utf-8").split())
    found: set[str] = set()
    for transport in ("stdio", "http"):
        lab = MessageLab(transport=transport)
        for key in ("modern tools/list", "legacy initialize", "legacy notifications/initialized"):
            found |= {one.url for one in lab.templates}
            lab.send_template(key)
        found |= {one.url for one in lab.templates}
        found |= {check.url for entry in lab.entries for one in entry.walked for check in one.checks}
    rows = [*REQUEST_ROWS, *SETTING_ROWS, *(row for rows in _ROWS_OF.values() for row in rows)]
    places = {url.partition("/specification/")[2] for url in found if url}
    places |= {f"2025-11-25/{row.page}" for row in (*rows, *TRANSPORT_CHECKS)}
    places |= {f"2026-07-28/{row.modern_page}" for row in TRANSPORT_CHECKS}
    assert places - known == set()
