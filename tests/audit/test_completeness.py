"""What a trace still waits for when it ends, and where nobody waits any more."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.audit import audit

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "garden-app", "version": "2.1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
Row = dict[str, Any]


def client(message: Row | None = None, **more: Any) -> Row:
    return _row("client", message, more)


def server(message: Row | None = None, **more: Any) -> Row:
    return _row("server", message, more)


def _row(side: str, message: Row | None, more: Row) -> Row:
    body = {} if message is None else {"message": {"jsonrpc": "2.0", **message}}
    return {"from": side, **body, **more}


def ask(id: Any, method: str = "tools/call", **params: Any) -> Row:
    named = {"name": "water", "arguments": {}} if method == "tools/call" else {}
    return {"id": id, "method": method, "params": {"_meta": META, **named, **params}}


def done(id: Any, **result: Any) -> Row:
    return {"id": id, "result": {"resultType": "complete", "content": [], **result}}


def cancelled(id: Any) -> Row:
    return {"method": "notifications/cancelled", "params": {"requestId": id}}


LISTEN = ask(1, "subscriptions/listen", notifications={"toolsListChanged": True})
SUBSCRIBED = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
ACKNOWLEDGED = {
    "method": "notifications/subscriptions/acknowledged",
    "params": {**SUBSCRIBED, "notifications": {"toolsListChanged": True}},
}
ENDED = {"id": 1, "result": {"resultType": "complete", **SUBSCRIBED}}
ASKED = {"id": 1, "result": {"resultType": "input_required", "requestState": "s-1"}}

INITIALIZE = {
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "garden-app", "version": "2.1.0"},
    },
}
WELCOME = {
    "id": 0,
    "result": {
        "protocolVersion": LEGACY,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "greenhouse", "version": "0.4.0"},
    },
}
INITIALIZED = {"method": "notifications/initialized"}
HANDSHAKE = [client(INITIALIZE), server(WELCOME), client(INITIALIZED)]
PLAIN_CALL = {"id": 1, "method": "tools/call", "params": {"name": "water", "arguments": {}}}


def http(exchange: str, **more: Any) -> Row:
    return {"transport": "http", "exchange": exchange, **more}


STREAM = {"status": 200, "headers": {"Content-Type": "text/event-stream"}}
SESSION = {"MCP-Session-Id": "bed-41c9"}


def missing(rows: list[Row]) -> list[tuple[str, int]]:
    report = audit(rows)
    assert report.skipped == ()
    return [(one.kind, one.index) for one in report.incomplete]


AWAITED = {
    "a request": ([client(ask(1))], [("request-without-answer", 0)]),
    "the second request": (
        [client(ask(1)), client(ask(2)), server(done(1))],
        [("request-without-answer", 1)],
    ),
    "a request of the server": (
        [*HANDSHAKE, server({"id": 7, "method": "roots/list"})],
        [("request-without-answer", 3)],
    ),
    "the answer to initialize": ([client(INITIALIZE)], [("handshake-not-finished", 0)]),
    "the end of the handshake": ([client(INITIALIZE), server(WELCOME)], [("handshake-not-finished", 0)]),
    "an acknowledgement": ([client(LISTEN)], [("subscription-without-acknowledgement", 0)]),
    "the end of a subscription": (
        [client(LISTEN), server(ACKNOWLEDGED)],
        [("stream-without-end", 0)],
    ),
    "the end of a stream": (
        [
            client(http_method="GET", **http("g1", headers={"Accept": "text/event-stream"})),
            server(raw=": wait\n\n", **http("g1", **STREAM)),
        ],
        [("stream-without-end", 0)],
    ),
    "input": ([client(ask(1)), server(ASKED)], [("input-not-given", 1)]),
    "two things, in order": (
        [client(ask(1)), client(ask(2)), server({**ASKED, "id": 2})],
        [("request-without-answer", 0), ("input-not-given", 2)],
    ),
}


@pytest.mark.parametrize(("rows", "expected"), AWAITED.values(), ids=AWAITED)
def test_awaited(rows: list[Row], expected: list[tuple[str, int]]) -> None:
    assert missing(rows) == expected


COMPLETE = {
    "an answer": [client(ask(1)), server(done(1))],
    "an error": [client(ask(1)), server({"id": 1, "error": {"code": -32602, "message": "No"}})],
    "a cancelled request": [client(ask(1)), client(cancelled(1))],
    "a handshake": HANDSHAKE,
    "a handshake that was refused": [
        client(INITIALIZE),
        server({"id": 0, "error": {"code": -32602, "message": "No"}}),
    ],
    "a server that ended": [client(ask(1)), server(event="stdout_closed", by="server")],
    "a client that ended": [client(INITIALIZE), server(WELCOME), client(event="stdin_closed", by="client")],
    "a stream that was cut": [
        client(ask(1), **http("x1")),
        server(event="response_stream_closed", by="server", **http("x1")),
    ],
    "a legacy stream that was cut": [
        client(PLAIN_CALL, **http("x1")),
        client(event="exchange_timeout", by="client", **http("x1")),
    ],
    "a status of HTTP": [client(ask(1), **http("x1")), server(**http("x1", status=503))],
    "a session that was deleted": [
        client(INITIALIZE, **http("x1")),
        server(WELCOME, **http("x1", status=200, headers={"Content-Type": "application/json", **SESSION})),
        client(INITIALIZED, **http("x2", headers=SESSION)),
        server(**http("x2", status=202)),
        client(http_method="GET", **http("g1", headers=SESSION)),
        server(raw=": wait\n\n", **http("g1", **STREAM)),
        client(http_method="DELETE", **http("x3", headers=SESSION)),
        server(**http("x3", status=200)),
    ],
    "a subscription that the server ended": [client(LISTEN), server(ACKNOWLEDGED), server(ENDED)],
    "a subscription that the client ended": [client(LISTEN), server(ACKNOWLEDGED), client(cancelled(1))],
    "input that was given": [
        client(ask(1)),
        server(ASKED),
        client(ask(2, requestState="s-1")),
        server(done(2)),
    ],
    "a round that was cancelled": [client(ask(1)), server(ASKED), client(cancelled(1))],
    "what lies before the trace": [server(done(4)), client(ask(5)), server(done(5))],
    "a handshake that ends on another connection": [
        client(INITIALIZE, **http("x1", connection="tcp-1")),
        server(
            WELCOME,
            **http("x1", connection="tcp-1", status=200),
            headers={"Content-Type": "application/json", **SESSION},
        ),
        client(INITIALIZED, **http("x2", connection="tcp-2", headers=SESSION)),
        server(**http("x2", connection="tcp-2", status=202)),
    ],
    "an answer on another connection": [
        client(PLAIN_CALL, **http("x1", connection="tcp-1", headers=SESSION)),
        client(
            http_method="GET", **http("g1", connection="tcp-2", headers={**SESSION, "Last-Event-ID": "a"})
        ),
        server({"id": 1, "result": {"content": []}}, **http("g1", connection="tcp-2", **STREAM)),
    ],
    "nothing": [],
}


@pytest.mark.parametrize("rows", COMPLETE.values(), ids=COMPLETE)
def test_complete(rows: list[Row]) -> None:
    assert missing(rows) == []


def test_a_later_connection_does_not_end_an_earlier_one() -> None:
    rows = [
        client(ask(1), connection="a"),
        client(ask(1), connection="b"),
        server(event="stdout_closed", by="server", connection="b"),
    ]
    assert missing(rows) == [("request-without-answer", 0)]


def test_a_client_that_goes_on_has_had_an_answer_that_nobody_logged() -> None:
    silent, went_on = [client(INITIALIZE)], [client(INITIALIZE), client(INITIALIZED), client(ask(2))]
    assert "there is no session" in audit(silent).incomplete[0].message
    message = audit(went_on).incomplete[0].message
    assert "perhaps it was not logged" in message
    assert "there is no session" not in message


def test_messages_are_sentences_that_blame_nobody() -> None:
    for rows, _ in AWAITED.values():
        for one in audit(rows).incomplete:
            assert one.message.endswith(".")
            assert "when the trace ends" in one.message
            assert "must" not in one.message.lower()
