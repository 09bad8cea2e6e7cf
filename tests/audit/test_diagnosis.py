"""What an error means depends on what stands around it."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.audit.building import build
from mcpsim.audit.diagnosis import ERRORS, STATUSES, Diagnosis, diagnose, diagnose_status
from mcpsim.audit.model import Item
from mcpsim.messages.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION

LEGACY, MODERN = "2025-11-25", "2026-07-28"
Json = dict[str, Any]


def meta(version: str = MODERN) -> Json:
    return {"_meta": {PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {}}}


def request(method: str, params: Json | None = None, sender: str = "client", id: int = 7) -> Json:
    return {"from": sender, "message": {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}}


def modern(method: str, version: str = MODERN, **params: Any) -> Json:
    return request(method, {**params, **meta(version)})


def error(code: int, text: str = "", data: Any = None, id: int | None = 7, sender: str = "server") -> Json:
    body: Json = {"code": code, "message": text or "no"}
    if data is not None:
        body["data"] = data
    message: Json = {"jsonrpc": "2.0", "error": body}
    return {"from": sender, "message": message if id is None else {**message, "id": id}}


def opened(client: Json | None = None, server: Json | None = None, version: str = LEGACY) -> list[Json]:
    """A handshake."""
    info = {"name": "x", "version": "1"}
    asked = {"protocolVersion": version, "capabilities": client or {}, "clientInfo": info}
    result = {"protocolVersion": version, "capabilities": server or {}, "serverInfo": info}
    return [
        request("initialize", asked, id=0),
        {"from": "server", "message": {"jsonrpc": "2.0", "id": 0, "result": result}},
        {"from": "client", "message": {"jsonrpc": "2.0", "method": "notifications/initialized"}},
    ]


def discovered(capabilities: Json) -> list[Json]:
    """A modern server says what it offers."""
    result = {
        "resultType": "complete",
        "supportedVersions": [MODERN],
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "public",
    }
    return [
        request("server/discover", meta(), id=0),
        {"from": "server", "message": {"jsonrpc": "2.0", "id": 0, "result": result}},
    ]


def asked_back(**retry: Any) -> list[Json]:
    """A call that the server answers with a question, and the retry."""
    result = {"resultType": "input_required", "requestState": "q", "inputRequests": {"day": {}, "seat": {}}}
    answered = {"from": "server", "message": {"jsonrpc": "2.0", "id": 6, "result": result}}
    return [
        request("tools/call", {"name": "x", **meta()}, id=6),
        answered,
        modern("tools/call", name="x", **retry),
    ]


def over_http(rows: list[Json], status: int, **headers: str) -> list[Json]:
    """The last request and its answer as an HTTP exchange."""
    *before, asked, answered = rows
    http = {"transport": "http", "exchange": "x"}
    return [*before, {**asked, **http, "headers": headers}, {**answered, **http, "status": status}]


def refused(status: int, asked: Json | None = None, http_method: str = "POST", **headers: str) -> list[Json]:
    """An HTTP exchange that ends with a status and nothing else."""
    first = asked or {"from": "client", "http_method": http_method}
    return over_http([first, {"from": "server"}], status, **headers)


def initialize(version: str = LEGACY) -> Json:
    return opened(version=version)[0]


SESSION = {"Mcp-Session-Id": "s-1"}
OLD = {"supported": ["2025-06-18", "2025-03-26"]}
NEW = {"supported": [MODERN, LEGACY]}
FUTURE = "2099-01-01"

#: Name, trace, what the meaning says, what the advice says.
CASES: list[tuple[str, list[Json], str, str]] = [
    ("line", [*opened(), error(-32700, id=None)], "server read a line", "client wrote just before"),
    ("body", over_http([modern("tools/list"), error(-32700, id=None)], 400), "the body as JSON", "UTF-8"),
    ("listed", [modern("tools/list"), error(-32022, data=NEW)], "refuses", "contradicts itself"),
    (
        "legacy in meta",
        [modern("tools/list", LEGACY), error(-32022, data=NEW)],
        "handshake only",
        "initialize",
    ),
    ("legacy list", [modern("tools/list"), error(-32022, data=OLD)], '"2025-06-18"', "Send initialize"),
    ("list", [modern("tools/list", FUTURE), error(-32022, data=NEW)], f'"{FUTURE}"', "do not fall back"),
    ("no list", [modern("tools/list", FUTURE), error(-32022)], "does not say", "server/discover"),
    (
        "no counteroffer",
        [initialize(), error(-32602, data=OLD, id=0)],
        '"2025-03-26"',
        "again with a version",
    ),
    (
        "modern only",
        [initialize(), error(-32602, "_meta is missing", data={"supported": [MODERN]}, id=0)],
        f'it speaks ["{MODERN}"] and no legacy revision',
        "tells its user",
    ),
    (
        "modern only, refused for the version",
        [initialize(), error(-32022, data={"supported": [MODERN, FUTURE]}, id=0)],
        "has no initialize",
        "in the _meta of every request",
    ),
    (
        "both eras",
        [initialize(), error(-32602, "Unsupported", data={"supported": [MODERN, "2025-03-26"]}, id=0)],
        "does not speak the proposed version",
        "with a legacy version of that list",
    ),
    ("no handshake", [initialize(), error(-32601, id=0)], "no initialize", "in the _meta"),
    (
        "meta wanted",
        [initialize(), error(-32602, "_meta is missing", id=0)],
        "modern revisions only",
        "_meta",
    ),
    ("twice", [*opened(), initialize(), error(-32600, "Already initialized", id=0)], "already", "Go on"),
    ("version", [initialize(), error(-32602, "Unsupported protocol version", id=0)], "proposed", "earlier"),
    ("incomplete", [initialize(), error(-32602, "clientInfo.name", id=0)], "not complete", "clientInfo"),
    (
        "probe",
        [modern("server/discover"), error(-32600, "Bad request")],
        "legacy server",
        "sends initialize now",
    ),
    ("headers", over_http([modern("tools/list"), error(-32020)], 400), "header is missing", "Mcp-Method"),
    ("headers on stdio", [modern("tools/list"), error(-32020)], "has none", "does not belong"),
    (
        "capability",
        [modern("tools/call", name="x"), error(-32021, data={"requiredCapabilities": {"elicitation": {}}})],
        '{"elicitation": {}}',
        "Declare them",
    ),
    ("some capability", [modern("tools/call", name="x"), error(-32021)], "does not say which", "elicitation"),
    ("modern url", [modern("tools/call", name="x"), error(-32042)], "of 2025-11-25", "input_required"),
    (
        "url",
        [*opened(), request("tools/call", {"name": "x"}), error(-32042, data={"elicitations": []})],
        "visit a URL",
        "consent",
    ),
    ("no url", [*opened(), request("tools/call", {"name": "x"}), error(-32042)], "not say which", "list the"),
    (
        "session gone",
        over_http([request("tools/list"), error(-32001, "Session not found")], 404, **SESSION),
        "ended, or the server was restarted",
        "without a session id",
    ),
    (
        "no session id",
        over_http([modern("tools/list"), error(-32000, "Bad Request: No valid session ID provided")], 400),
        "wants a session id",
        "Mcp-Session-Id",
    ),
    (
        "bad session id",
        over_http([request("tools/list"), error(-32600, "Invalid session")], 400, **SESSION),
        "does not accept the session id",
        "anew",
    ),
    ("ping", [*opened()[:1], request("ping"), error(-32602, "not yet")], "refuses a ping", "for dead"),
    ("early", [request("tools/list"), error(-32601)], "came too early", "Send initialize"),
    (
        "early, LSP",
        [request("tools/list"), error(-32002, "Server not initialized")],
        "too early",
        "initialize",
    ),
    (
        "early, no meta",
        [request("tools/list"), error(-32602, "_meta missing")],
        "every modern request",
        "_meta",
    ),
    (
        "before initialized",
        [*opened()[:2], request("tools/list"), error(-32600)],
        "before the handshake",
        "Wait",
    ),
    (
        "no meta",
        [*discovered({}), request("tools/list"), error(-32602)],
        "every modern request",
        "params._meta",
    ),
    (
        "modern, early",
        [modern("tools/list"), error(-32000, "Not initialized")],
        "wants a handshake",
        "legacy",
    ),
    ("401", over_http([modern("tools/list"), error(-32000)], 401), "who is asking", "WWW-Authenticate"),
    ("403", over_http([modern("tools/list"), error(-32000)], 403), "may not do this", "scopes"),
    (
        "roots not declared",
        [*opened(), request("roots/list", sender="server"), error(-32601, sender="client")],
        "did not declare roots",
        "Ask only for",
    ),
    (
        "client lacks it",
        [*opened({"roots": {}}), request("roots/list", sender="server"), error(-32601, sender="client")],
        'does not know the request "roots/list"',
        "declared",
    ),
    (
        "user said no",
        [
            *opened({"sampling": {}}),
            request("sampling/createMessage", sender="server"),
            error(-1, sender="client"),
        ],
        "did not allow",
        "Do without",
    ),
    (
        "mode",
        [
            *opened({"elicitation": {}}),
            request("elicitation/create", sender="server"),
            error(-32602, sender="client"),
        ],
        "does not accept what the server asks for",
        "modes",
    ),
    ("bare probe", [request("server/discover"), error(-32601)], "every modern request", "_meta"),
    ("removed", [*discovered({}), modern("ping"), error(-32601)], 'no "ping"', "there is no handshake"),
    (
        "later",
        [
            *opened({"elicitation": {}}, version="2025-03-26"),
            request("elicitation/create", sender="server"),
            error(-32601, sender="client"),
        ],
        'has no "elicitation/create"',
        "negotiated",
    ),
    ("misspelt", [*opened(), request("tool/list"), error(-32601)], "misspelt", "extensions"),
    (
        "tool by the wrong code",
        [
            *opened(server={"tools": {}}),
            request("tools/call", {"name": "x"}),
            error(-32601, "Unknown tool: x"),
        ],
        'no tool "x"',
        "tools/list",
    ),
    (
        "prompt by the wrong code",
        [*opened(server={"prompts": {}}), request("prompts/get", {"name": "x"}), error(-32601)],
        'it has no "x"',
        "-32602",
    ),
    (
        "names no request",
        [*opened(), error(-32601, id=None, sender="client")],
        "client does not have a method",
        "id that it answers",
    ),
    (
        "undeclared",
        [*opened(), request("prompts/list"), error(-32601)],
        "does not offer prompts",
        "capabilities",
    ),
    (
        "declared",
        [*opened(server={"prompts": {}}), request("prompts/list"), error(-32601)],
        "declares prompts",
        "serve what it declares",
    ),
    ("lacking", [modern("prompts/list"), error(-32601)], "does not have the method", "capabilities"),
    (
        "old code",
        [modern("resources/read", uri="a:b"), error(-32002)],
        "of the legacy revisions",
        "resources/list",
    ),
    (
        "no resource",
        [*opened(server={"resources": {}}), request("resources/read", {"uri": "a:b"}), error(-32002)],
        'no resource "a:b"',
        "resources/list",
    ),
    ("no state", [*asked_back(inputResponses={}), error(-32602)], "without the requestState", "exactly"),
    (
        "no answer",
        [*asked_back(inputResponses={"day": {}}, requestState="q"), error(-32602)],
        "without all of the answers",
        "each key",
    ),
    (
        "answer to a cancelled request",
        [
            modern("tools/list"),
            {
                "from": "client",
                "message": {
                    "jsonrpc": "2.0",
                    "method": "notifications/cancelled",
                    "params": {"requestId": 7},
                },
            },
            error(0, "Request cancelled"),
        ],
        "was cancelled",
        "ignore",
    ),
    (
        "state",
        [modern("tools/call", requestState="q"), error(-32602)],
        "request state",
        "without requestState",
    ),
    ("cursor", [modern("tools/list", cursor="c9"), error(-32602)], '"c9"', "without a cursor"),
    (
        "tool",
        [modern("tools/call", name="x"), error(-32602, "Unknown tool: x")],
        'no tool "x"',
        "letter by letter",
    ),
    ("arguments", [modern("tools/call", name="x"), error(-32602, "bad")], "inputSchema", "isError"),
    ("resource", [modern("resources/read", uri="a:b"), error(-32602)], 'no resource "a:b"', "resources/list"),
    ("prompt", [modern("prompts/get", name="p"), error(-32602)], 'no prompt "p"', "prompts/list"),
    ("completion", [modern("completion/complete"), error(-32602)], "nothing to complete", "ref"),
    (
        "level",
        [*opened(server={"logging": {}}), request("logging/setLevel", {"level": "loud"}), error(-32602)],
        '"loud"',
        "emergency",
    ),
    ("parameters", [modern("prompts/list"), error(-32602)], "does not accept these parameters", "schema"),
    ("no message", [*opened(), error(-32600, id=None)], "not one valid message", "just before"),
    (
        "not offered",
        [*opened(), request("prompts/list"), error(-32600)],
        "prompts was not declared",
        "before",
    ),
    ("refused", [modern("tools/list"), error(-32600)], "not now", "jsonrpc"),
    ("failed somewhere", [*opened(), error(-32603, id=None)], "at what", "log"),
    ("failed", [modern("tools/list"), error(-32603)], 'failed at "tools/list"', "stderr"),
    ("draft header", [modern("tools/list"), error(-32001, "Header mismatch")], "-32020", "draft"),
    ("draft capability", [modern("tools/list"), error(-32003, "Missing capability")], "-32021", "draft"),
    ("draft version", [modern("tools/list"), error(-32004, "Unsupported version")], "-32022", "draft"),
    ("timeout", [modern("tools/list"), error(-32001, "Request timed out")], "gave up waiting", "progress"),
    ("lost", [modern("tools/list"), error(-32000, "Connection closed")], "lost the connection", "exit code"),
    (
        "not by this method",
        over_http(
            [{"from": "client", "http_method": "GET"}, error(-32000, "Method not allowed.", id=None)], 405
        ),
        "HTTP method",
        "POST",
    ),
    ("cancelled", [modern("tools/list"), error(-32800)], "cancelled", "ignore"),
    ("denied", [modern("tools/list"), error(-32010, "Permission denied")], "may not do this", "credentials"),
    ("own", [modern("tools/list"), error(-32010, "lamp is off")], "of this server's own", '"lamp is off"'),
    ("reserved", [modern("tools/list"), error(-32077)], "-32077", "later revision"),
    ("kept", [modern("tools/list"), error(-32500)], "-32500", "another code"),
    ("application", [modern("tools/list"), error(4711, "lamp is off")], "application", '"lamp is off"'),
]

#: The same for an HTTP status without an error.
REFUSED: list[tuple[str, list[Json], str, str]] = [
    ("400 on a probe", refused(400, modern("tools/list")), "legacy server", "sends initialize"),
    (
        "400 in a session",
        refused(400, request("tools/list"), **{"MCP-Protocol-Version": LEGACY}),
        "MCP-Protocol-Version",
        "negotiated",
    ),
    ("400", refused(400), "cannot do anything", "headers"),
    ("401", refused(401), "token", "WWW-Authenticate"),
    ("403 from a page", refused(403, Origin="https://page.example"), "Origin", "scopes"),
    ("403", refused(403), "may not do this", "scopes"),
    ("404 in a session", refused(404, request("tools/list"), **SESSION), "does not know the session", "anew"),
    ("404 on a probe", refused(404, modern("tools/list")), "no modern endpoint", "address"),
    ("404", refused(404), "no such endpoint", "address"),
    ("405 on GET", refused(405, http_method="GET"), "no fault", "do not try again"),
    ("405 on DELETE", refused(405, http_method="DELETE"), "no fault", "session id"),
    ("405", refused(405), "takes no POST", "endpoint event"),
    ("406 on GET", refused(406, http_method="GET"), "text/event-stream", "Accept"),
    ("406", refused(406), "application/json", "Accept"),
    ("409", refused(409, http_method="GET"), "has a stream", "already"),
    ("413", refused(413), "too large", "less"),
    ("415", refused(415), "JSON", "Content-Type"),
    ("504", refused(504), "gave up waiting", "progress"),
    ("429", refused(429), "Too many", "Retry-After"),
    ("431", refused(431), "headers are too large", "Mcp-Param"),
    ("503", refused(503), "intermediary", "later"),
    ("418", refused(418), "refuses", "headers"),
    ("500", refused(500), "failed", "log"),
]


def last(rows: list[Json]) -> Item:
    trace, skipped = build(enumerate(rows))
    assert not skipped
    return trace.items[-1]


def check(found: Diagnosis | None, means: str, tries: str) -> None:
    assert found is not None
    assert means in f"{found.means} " or means in found.tries, found
    assert tries in found.tries or tries in found.means, found
    assert "{" not in found.means.replace('{"', "").replace("{}", ""), found


@pytest.mark.parametrize(
    ("rows", "means", "tries"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_error(rows: list[Json], means: str, tries: str) -> None:
    check(diagnose(last(rows)), means, tries)


@pytest.mark.parametrize(
    ("rows", "means", "tries"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_status(rows: list[Json], means: str, tries: str) -> None:
    check(diagnose_status(last(rows)), means, tries)


@pytest.mark.parametrize(
    ("table", "cases"), [(ERRORS, CASES), (STATUSES, REFUSED)], ids=["errors", "statuses"]
)
def test_every_row_is_the_diagnosis_of_a_case(
    table: Any, cases: list[tuple[str, list[Json], str, str]]
) -> None:
    met: set[int] = set()
    for _, rows, _, _ in cases:
        item = last(rows)
        code = item.code if table is ERRORS else item.exchange and item.exchange.status
        met.add(next(number for number, row in enumerate(table) if code in row.codes and row.fits(item)))
    assert [row.means for number, row in enumerate(table) if number not in met] == []


def test_what_is_no_error_has_no_diagnosis() -> None:
    assert diagnose(last([modern("tools/list")])) is None
    assert diagnose_status(last(refused(202))) is None
    assert diagnose_status(last([modern("tools/list")])) is None


@pytest.mark.parametrize("value", [None, 0, [], {}, "x", "\ud800", 1e300, [[[]]]])
@pytest.mark.parametrize("code", [-32022, -32021, -32042, -32602, -32601, -32002])
def test_anything_may_stand_in_a_trace(code: int, value: Any) -> None:
    params = {"name": value, "uri": value, "cursor": value, "_meta": value, "protocolVersion": value}
    data = {"supported": value, "requiredCapabilities": value, "elicitations": value}
    for method in ("tools/call", "tools/list", "resources/read", "initialize"):
        rows = [request(method, params), error(code, data=data), error(code, data=value)]
        for row in rows[1:]:
            found = diagnose(last([rows[0], row]))
            assert found is not None
            assert found.means.isascii()


def test_a_trace_that_began_late_is_not_told_to_shake_hands() -> None:
    rows = [{"from": "server", "message": {"jsonrpc": "2.0", "id": 3, "result": {}}}]
    found = diagnose(last([*rows, request("prompts/list"), error(-32601)]))
    assert found is not None
    assert "too early" not in found.means


def test_names_of_a_hop_are_made_harmless() -> None:
    rows = [{**row, "hop": "clién\nt-server"} for row in (modern("tools/list"), error(-32700))]
    found = diagnose(last(rows))
    assert found is not None
    assert (found.means + found.tries).isascii()
    assert "\n" not in found.means + found.tries
