"""Rules of the patterns where the trace alone could mislead them: nobody is accused of what the wire, the
other side, or the edge of the trace did."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim import Drop, Stdio, StreamableHttp
from mcpsim.audit import Report, audit
from mcpsim.course import STORIES
from mcpsim.transports.faults import Cut, Delay, Duplicate, Fault, Reorder

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "garden-app", "version": "2.1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
Row = dict[str, Any]


def row(side: str, message: Row | None = None, **more: Any) -> Row:
    body = {} if message is None else {"message": {"jsonrpc": "2.0", **message}}
    return {"from": side, **body, **more}


def ask(id: Any, method: str = "tools/call", meta: Row | None = None, **params: Any) -> Row:
    named = {"name": "water", "arguments": {}} if method == "tools/call" else {}
    params = {"_meta": {**META, **(meta or {})}, **named, **params}
    return row("client", {"id": id, "method": method, "params": params})


def done(id: Any) -> Row:
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "greenhouse", "version": "0.4.0"}}
    return row("server", {"id": id, "result": {"resultType": "complete", "content": [], "_meta": meta}})


def told(method: str, **params: Any) -> Row:
    return row("server", {"method": method, "params": params})


def stop(id: Any, side: str = "client") -> Row:
    return row(side, {"method": "notifications/cancelled", "params": {"requestId": id}})


def progress(token: Any, value: Any) -> Row:
    return told("notifications/progress", progressToken=token, progress=value)


def change(id: Any) -> Row:
    meta = {"io.modelcontextprotocol/subscriptionId": id}
    return told("notifications/tools/list_changed", _meta=meta)


def names(report: Report, *levels: str) -> set[str]:
    assert report.skipped == ()
    return {one.rule for one in report.findings if not levels or one.level in levels}


UNKNOWN = [stop(9), progress("p9", 1), change(9)]
ABOUT_UNKNOWN = {
    "cancellation-names-a-request",
    "progress-names-a-token",
    "subscription-id-is-that-of-the-request",
}


def test_what_nobody_asked_for_is_found() -> None:
    assert names(audit([ask(1), done(1), *UNKNOWN])) >= ABOUT_UNKNOWN


def test_a_trace_that_began_late_may_lack_the_request() -> None:
    assert not names(audit([done(1), *UNKNOWN])) & ABOUT_UNKNOWN


@pytest.mark.parametrize("raw", ['{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}', "{"])
def test_a_line_that_is_no_message_may_be_the_request(raw: str) -> None:
    assert not names(audit([ask(1), done(1), row("client", raw=raw), *UNKNOWN])) & ABOUT_UNKNOWN


def test_a_request_on_another_http_connection_is_not_unknown() -> None:
    http = {"transport": "http"}
    rows = [
        {**ask(9, meta={"progressToken": "p9"}), **http, "exchange": "a", "connection": "1"},
        {**progress("p9", 1), **http, "exchange": "b", "connection": "2"},
        {**stop(9), **http, "exchange": "c", "connection": "2"},
    ]
    assert not names(audit(rows)) & ABOUT_UNKNOWN


def test_a_server_is_not_to_blame_for_two_requests_with_one_token() -> None:
    same = {"progressToken": "same"}
    rows = [ask(1, meta=same), ask(2, meta=same), progress("same", 5), progress("same", 1)]
    assert names(audit([*rows, done(2), progress("same", 6), done(1)])) == {"progress-token-is-unique"}


def test_a_trace_of_the_client_alone_does_not_show_what_is_in_progress() -> None:
    same = {"progressToken": 1}
    assert names(audit([ask(1, meta=same), ask(2, meta=same)])) == set()
    assert names(audit([ask(1, meta=same), ask(2, meta=same), done(2)]), "SHOULD") == {
        "progress-token-is-unique"
    }


def test_a_server_that_was_started_again_has_no_old_requests() -> None:
    same = {"progressToken": 1}
    rows = [ask(1, meta=same), row("server", event="stdout_closed", by="server"), ask(2, meta=same), done(2)]
    assert names(audit(rows)) == set()


@pytest.mark.parametrize("value", [None, True, 1.5, [], {}, "x", -1, 2**70])
def test_values_of_any_type_are_borne(value: Any) -> None:
    rows = [
        ask(1, meta={"progressToken": value, "io.modelcontextprotocol/logLevel": value}),
        ask(2, "subscriptions/listen", notifications=value),
        ask(3, "subscriptions/listen", notifications={"resourceSubscriptions": value}),
        progress(value, value),
        told("notifications/message", level=value, logger=value, data=value),
        told("notifications/message", data={"password": value}),
        told("notifications/subscriptions/acknowledged", notifications=value, _meta=value),
        change(value),
        told("notifications/resources/updated", uri=value, _meta=change(2)["message"]["params"]["_meta"]),
        stop(value),
        stop(value, "server"),
        row("server", {"id": 1, "result": {"task": value, "isError": value, "content": value}}),
        row("server", {"id": 2, "result": {"_meta": value}}),
        row("server", {"id": 3, "error": {"code": value, "message": value}}),
        row("client", {"method": "notifications/progress", "params": value}),
    ]
    assert audit(rows).skipped == ()


# Whatever happens to one message on the way, no rule of these is broken by it.
WAY: tuple[Fault, ...] = (
    Drop("notifications/progress"),
    Duplicate("notifications/progress"),
    Reorder("notifications/progress", by_ms=5_000),
    Delay("result of tools/call", by_ms=20_000),
    Drop("result of tools/call"),
    Drop("tools/call"),
    Drop("notifications/subscriptions/acknowledged"),
    Reorder("notifications/subscriptions/acknowledged", by_ms=5_000),
    Duplicate("notifications/cancelled"),
    Drop("notifications/cancelled"),
    Delay("notifications/resources/updated", by_ms=20_000),
    Cut("notifications/resources/updated"),
)
PLAYS = [
    (name, era, way)
    for name in (
        "two-reports-at-once",
        "answer-took-too-long",
        "cancel-crosses-the-answer",
        "watch-a-notice",
        "two-subscriptions",
        "sessions-that-stick",
    )
    for era in STORIES[name].eras
    if era != "auto"
    for way in STORIES[name].ways
]
MINE = ("cancel", "progress", "subscription", "log-")


@pytest.mark.parametrize(("name", "era", "way"), PLAYS, ids=["-".join(play) for play in PLAYS])
def test_the_wire_is_not_a_peer(name: str, era: Any, way: str) -> None:
    transport = {"stdio": Stdio, "http": StreamableHttp}[way]
    for fault in WAY:
        run = STORIES[name].play(era=era, transport=transport(), faults=[fault], check=False)
        found = names(run.audit(), "MUST", "SHOULD")
        assert not [rule for rule in found if rule.startswith(MINE)], (fault, run.audit())
