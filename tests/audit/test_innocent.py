"""Traffic that a conformant peer may produce, or that does not prove a breach: what must not be said of it.

The cases of each rule are in `cases/`. Here are those in which a rule must keep silent, or speak less
strictly, because of the revision, the era of the server, or what the other side did.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from mcpsim.audit import audit

MODERN: Final = "2026-07-28"
OWN: Final = "io.modelcontextprotocol/"
WHO: Final = {"name": "desk-client", "version": "2.1.0"}
Row = dict[str, Any]
ACCEPT: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
JSON: Final = {"Content-Type": "application/json"}


def meta(**more: Any) -> dict[str, Any]:
    """The metadata of a modern request."""
    return {
        f"{OWN}protocolVersion": MODERN,
        f"{OWN}clientInfo": WHO,
        f"{OWN}clientCapabilities": {},
        **more,
    }


def says(side: str, body: dict[str, Any], **more: Any) -> Row:
    """A row with a message."""
    return {"from": side, "message": {"jsonrpc": "2.0", **body}, **more}


def asks(id: Any, method: str, params: Any = None, **more: Any) -> Row:
    """A request of the client."""
    return says(
        "client", {"id": id, "method": method, **({} if params is None else {"params": params})}, **more
    )


def gets(id: Any, result: dict[str, Any], **more: Any) -> Row:
    """A result of the server."""
    return says("server", {"id": id, "result": result}, **more)


def fails(id: Any, code: int, text: str, **more: Any) -> Row:
    """An error of the server."""
    return says("server", {"id": id, "error": {"code": code, "message": text}}, **more)


def shaken(revision: str, id: Any = 0, **capabilities: Any) -> list[Row]:
    """A legacy handshake over stdio."""
    proposal = {"protocolVersion": revision, "capabilities": {}, "clientInfo": WHO}
    answer = {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": WHO}
    return [
        asks(id, "initialize", proposal),
        gets(id, answer),
        says("client", {"method": "notifications/initialized"}),
    ]


def exchanged(name: str, request: Row, *answers: Row, status: int = 200, **headers: str) -> list[Row]:
    """One HTTP exchange."""
    rows = [{**request, "transport": "http", "exchange": name, "headers": {**ACCEPT, **headers}}]
    for answer in answers:
        rows.append({**answer, "transport": "http", "exchange": name, "status": status, "headers": JSON})
    return rows


def accepted(name: str, request: Row, **headers: str) -> list[Row]:
    """A notification over HTTP, accepted."""
    row = {"from": "server", "transport": "http", "exchange": name, "status": 202, "headers": {}}
    return [*exchanged(name, request, **headers), row]


def http_shaken(revision: str, session: str = "", prefix: str = "s", **capabilities: Any) -> list[Row]:
    """A legacy handshake over HTTP."""
    first, answer, last = shaken(revision, **capabilities)
    rows = exchanged(f"{prefix}0", first, answer)
    headers = {"MCP-Protocol-Version": revision}
    if session:
        rows[1]["headers"] = {**JSON, "Mcp-Session-Id": session}
        headers["Mcp-Session-Id"] = session
    return [*rows, *accepted(f"{prefix}1", last, **headers)]


def found(rows: list[Row]) -> dict[str, str]:
    """The level of each rule that is broken, but for notes."""
    report = audit(rows)
    assert not report.skipped
    return {one.rule: one.level for one in report.findings if one.level != "note"}


PROBE: Final = asks(9, "server/discover", {"_meta": meta()})
REFUSED: Final = fails(9, -32601, "Method not found")


# What later revisions demand the first two only recommend.
# https://modelcontextprotocol.io/specification/2025-03-26/basic/lifecycle#operation
@pytest.mark.parametrize(
    ("revision", "level"),
    [("2024-11-05", "SHOULD"), ("2025-03-26", "SHOULD"), ("2025-06-18", "MUST"), ("2025-11-25", "MUST")],
)
def test_keeping_to_what_was_negotiated_is_as_strict_as_the_revision(revision: str, level: str) -> None:
    undeclared = [*shaken(revision), asks(1, "tools/list"), fails(1, -32601, "Method not found")]
    assert found(undeclared) == {"client-keeps-to-negotiated-capabilities": level}
    roots = [*shaken(revision), says("server", {"id": 1, "method": "roots/list"})]
    assert found(roots) == {"server-keeps-to-negotiated-capabilities": level}


@pytest.mark.parametrize(
    ("revision", "method", "level"),
    [
        ("2024-11-05", "elicitation/create", "SHOULD"),
        ("2025-03-26", "elicitation/create", "SHOULD"),
        ("2025-06-18", "notifications/elicitation/complete", "MUST"),
    ],
)
def test_methods_of_other_revisions_are_judged_by_the_revision(
    revision: str, method: str, level: str
) -> None:
    id = {} if method.startswith("notifications/") else {"id": 1}
    assert found([*shaken(revision), says("server", {**id, "method": method})]) == {
        "method-in-negotiated-revision": level
    }


def test_a_legacy_server_may_use_a_code_that_only_later_has_a_meaning() -> None:
    rows = [
        *shaken("2025-11-25", tools={}),
        asks(1, "tools/call", {"name": "count"}),
        fails(1, -32022, "Too many calls."),
    ]
    assert found(rows) == {}


def test_a_ping_without_the_session_id_may_be_refused() -> None:
    rows = [
        *http_shaken("2025-11-25", "desk-1"),
        *exchanged(
            "p",
            asks(1, "ping"),
            fails(1, -32600, "No session"),
            status=400,
            **{"MCP-Protocol-Version": "2025-11-25"},
        ),
    ]
    assert found(rows) == {"http-session-id-is-sent": "MUST"}


def test_a_legacy_server_may_ping_while_a_client_probes() -> None:
    ping = says("server", {"id": 1, "method": "ping"})
    assert found([PROBE, ping, REFUSED, *shaken("2025-11-25", id=10)]) == {}


def test_a_probe_may_be_given_up_before_the_handshake() -> None:
    cancel = says("client", {"method": "notifications/cancelled", "params": {"requestId": 9}}, t_ms=5_000)
    assert found([{**PROBE, "t_ms": 0}, cancel, *shaken("2025-11-25", id=10)]) == {}


def test_a_legacy_server_may_carry_out_a_modern_request_on_a_pipe() -> None:
    rows = [asks(1, "tools/list", {"_meta": meta()}), gets(1, {"tools": []})]
    assert found(rows) == {"result-has-resulttype": "SHOULD"}


def test_clients_of_a_server_without_session_ids_may_have_the_same_request_ids() -> None:
    headers = {"MCP-Protocol-Version": "2025-11-25"}
    rows = [
        *http_shaken("2025-11-25", prefix="a", tools={}),
        *http_shaken("2025-11-25", prefix="b", tools={}),
        *exchanged("a2", asks(1, "tools/list"), gets(1, {"tools": []}), **headers),
        *exchanged("b2", asks(1, "tools/list"), gets(1, {"tools": []}), **headers),
    ]
    assert found(rows) == {}


def test_what_a_server_declares_to_one_principal_says_nothing_of_another() -> None:
    own = {"MCP-Protocol-Version": MODERN, "Authorization": "Bearer first-token-1"}
    other = {**own, "Authorization": "Bearer second-token-2"}
    hints = {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {f"{OWN}serverInfo": WHO},
    }
    discovered = {**hints, "supportedVersions": [MODERN], "capabilities": {}}
    rows = [
        *exchanged("1", PROBE, gets(9, discovered), **own, **{"Mcp-Method": "server/discover"}),
        *exchanged(
            "2",
            asks(2, "tools/list", {"_meta": meta()}),
            gets(2, {**hints, "tools": []}),
            **other,
            **{"Mcp-Method": "tools/list"},
        ),
    ]
    assert found(rows) == {}


def test_a_revision_that_is_not_known_may_have_other_rules() -> None:
    future = {**meta(), f"{OWN}protocolVersion": "2099-01-01"}
    rows = [
        asks(1, "tools/list", {"_meta": future}),
        says("server", {"method": "notifications/message", "params": {"level": "info", "data": "listing"}}),
        says("server", {"id": 7, "method": "roots/list"}),
        says("client", {"id": 7, "result": {"roots": []}}),
        gets(1, {"tools": []}),
        says("server", {"method": "notifications/tools/list_changed"}),
        asks(2, "tools/call", {"name": "count", "_meta": future}),
        fails(2, -32021, "There is no capability."),
    ]
    assert found(rows) == {}


def test_a_registration_at_a_server_of_authorization_is_no_message() -> None:
    body = {"client_name": "desk-client", "redirect_uris": ["http://localhost:4000/done"]}
    rows = [
        {"from": "client", "message": body, "transport": "http", "exchange": "r", "headers": JSON},
        {
            "from": "server",
            "message": {"client_id": "desk-7", **body},
            "transport": "http",
            "exchange": "r",
            "status": 201,
            "headers": JSON,
        },
        *http_shaken("2025-11-25"),
    ]
    assert found(rows) == {}


@pytest.mark.parametrize(("status", "headers"), [(200, {}), (202, {}), (204, {})])
def test_an_exchange_of_a_cancelled_request_may_end_without_a_body(
    status: int, headers: dict[str, str]
) -> None:
    own = {"MCP-Protocol-Version": "2025-11-25"}
    cancel = says("client", {"method": "notifications/cancelled", "params": {"requestId": 1}})
    end = {"from": "server", "transport": "http", "exchange": "1", "status": status, "headers": headers}
    rows = [
        *http_shaken("2025-11-25", tools={}),
        *exchanged("1", asks(1, "tools/call", {"name": "count"}), **own),
        *accepted("2", cancel, **own),
        end,
    ]
    assert found(rows) == {}


def test_clients_of_a_server_without_session_ids_may_have_several_revisions() -> None:
    rows = [
        *http_shaken("2025-06-18", prefix="a", tools={}),
        *http_shaken("2025-11-25", prefix="b", tools={}),
        *exchanged("c", asks(1, "ping"), gets(1, {}), **{"MCP-Protocol-Version": "2025-06-18"}),
    ]
    assert found(rows) == {}


def test_a_call_that_is_refused_by_a_tool_error_has_not_become_a_task() -> None:
    tool = {"name": "count", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}}
    rows = [
        *shaken("2025-11-25", tools={}, tasks={"requests": {"tools": {"call": {}}}}),
        asks(1, "tools/list"),
        gets(1, {"tools": [tool]}),
        asks(2, "tools/call", {"name": "count", "task": {"ttl": 1_000}}),
        gets(2, {"content": [{"type": "text", "text": "What should be counted?"}], "isError": True}),
    ]
    assert found(rows) == {}


def test_a_server_that_refuses_a_used_id_is_not_to_blame_even_where_it_is_a_ping() -> None:
    rows = [
        *shaken("2025-11-25", tools={}),
        asks(1, "tools/list"),
        gets(1, {"tools": []}),
        asks(1, "ping"),
        fails(1, -32600, "The id 1 was used before."),
    ]
    (one,) = [one for one in audit(rows).findings if one.level != "note"]
    assert (one.rule, one.party, one.index) == ("request-id-is-new-in-its-session-legacy", "client", 5)


def test_progress_after_the_refusal_of_a_second_request_with_the_same_id_is_that_of_the_first() -> None:
    def call(token: int) -> Row:
        return asks(1, "tools/call", {"name": "count", "_meta": {"progressToken": token}})

    def progress(value: int) -> Row:
        return says(
            "server",
            {"method": "notifications/progress", "params": {"progressToken": 7, "progress": value}},
        )

    rows = [
        *shaken("2025-11-25", tools={}),
        call(7),
        progress(1),
        call(8),
        fails(1, -32600, "The id 1 is in use."),
        progress(2),
        gets(1, {"content": []}),
    ]
    assert {(one.rule, one.party) for one in audit(rows).findings if one.level == "MUST"} == {
        ("request-id-is-new-in-its-session-legacy", "client")
    }


def several_lines(side: str, message: dict[str, Any]) -> Row:
    return {"from": side, "raw": json.dumps(message, indent=2)}


def test_pieces_of_a_request_over_several_lines_may_each_be_answered_without_an_id() -> None:
    rows = [
        *shaken("2025-11-25", tools={}),
        several_lines("client", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        *[says("server", {"error": {"code": -32700, "message": "Not JSON"}}) for _ in range(5)],
    ]
    assert {(one.rule, one.party) for one in audit(rows).findings} == {
        ("stdio-message-is-one-line", "client")
    }


def test_whoever_cannot_read_an_answer_over_several_lines_may_cancel_the_request() -> None:
    rows = [
        *shaken("2025-11-25", tools={}),
        asks(1, "tools/list"),
        several_lines("server", {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}),
        says("client", {"method": "notifications/cancelled", "params": {"requestId": 1}}, t_ms=60_000),
    ]
    assert {(one.rule, one.party) for one in audit(rows).findings} == {
        ("stdio-message-is-one-line", "server")
    }
