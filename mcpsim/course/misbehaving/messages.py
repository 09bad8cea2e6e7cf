"""Peers that misbehave in the messages themselves: shapes, ids, `_meta`, errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Letter,
    add_after,
    add_before,
    change_answer,
    change_error,
    change_result,
    raw_bytes,
    set_in_result,
    twice,
    without_in_result,
)
from mcpsim.course.servers import help_desk, travel_desk
from mcpsim.eras.revisions import LATEST_MODERN, ClientEra
from mcpsim.errors import ProtocolError
from mcpsim.messages import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, SERVER_INFO
from mcpsim.transports.twists import MakeTwist

CALL: Final = "tools/call"
TICKET: Final[Mapping[str, Any]] = {"name": "find_ticket", "arguments": {"number": "T-17"}}
UNKNOWN: Final[Mapping[str, Any]] = {"name": "find_visitor", "arguments": {}}

Story = Callable[[Client], Any]
Json = dict[str, Any]


async def find_a_ticket(client: Client) -> None:
    """Call a tool."""
    await client.request(CALL, TICKET, timeout_s=5)


async def discover_and_find(client: Client) -> None:
    """Ask what the server can do, and call a tool."""
    await client.discover()
    with suppress(ProtocolError):
        await find_a_ticket(client)


async def call_an_unknown_tool(client: Client) -> None:
    """Call a tool that is not there."""
    with suppress(ProtocolError):
        await client.request(CALL, UNKNOWN, timeout_s=5)


async def choose_a_seat(client: Client) -> None:
    """Call a tool that asks its user, with a client that cannot."""
    with suppress(ProtocolError):
        await client.request(CALL, {"name": "choose_seat", "arguments": {"train": "IC 4"}}, timeout_s=5)


async def list_the_tools(client: Client) -> None:
    """List the tools."""
    await client.request("tools/list", timeout_s=5)


def sends(*messages: Any) -> Story:
    """A story that sends these messages as they are, after a tool was called in the usual way."""

    async def send_by_hand(client: Client) -> None:
        await find_a_ticket(client)
        for message in messages:
            await client.send_raw(message)

    return send_by_hand


def _with(meta: Mapping[str, Any]) -> Story:
    async def call_with_meta(client: Client) -> None:
        await client.request(CALL, TICKET, meta=meta, timeout_s=5)

    return call_with_meta


def ids_in_flight(first: str, second: str) -> Story:
    """A story that asks for two things at the same time, with these ids."""

    async def ask_twice(client: Client) -> None:
        await client.discover()
        async with anyio.create_task_group() as tasks:
            report = {"name": "export_report", "arguments": {"parts": 2}}
            tasks.start_soon(client.send_raw, _modern(first, report))
            tasks.start_soon(client.send_raw, _modern(second, TICKET))

    return ask_twice


def _modern(id: str, params: Mapping[str, Any]) -> Json:
    meta = {
        PROTOCOL_VERSION: LATEST_MODERN,
        CLIENT_INFO: {"name": "by-hand", "version": "1.0.0"},
        CLIENT_CAPABILITIES: {},
    }
    return {"jsonrpc": "2.0", "id": id, "method": CALL, "params": {"_meta": meta, **params}}


def _ping(id: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": "ping"}


def _listing(id: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/list"}


def _server(
    name: str,
    rule: str,
    sentence: str,
    twist: MakeTwist,
    era: ClientEra = "modern",
    story: Story = find_a_ticket,
    server: Callable[[], Any] = help_desk,
) -> Misbehaviour:
    return Misbehaviour(name, "server", rule, sentence, story, server, era, "stdio", twist=twist)


def _client(
    name: str, rule: str, sentence: str, bad: Story, good: Story, era: ClientEra = "legacy"
) -> Misbehaviour:
    return Misbehaviour(name, "client", rule, sentence, bad, help_desk, era, "stdio", good_story=good)


def _changed(**members: Any) -> Callable[[Json], None]:
    return lambda held: held.update(members)


def _without(name: str) -> Callable[[Json], None]:
    def edit(held: Json) -> None:
        held.pop(name, None)

    return edit


def _id_as(kind: Callable[[Any], Any]) -> Callable[[Json], None]:
    return lambda message: message.update(id=kind(message["id"]))


def _tools(edit: Callable[[Json], None]) -> MakeTwist:
    def edit_all(result: Json) -> None:
        for tool in result["tools"]:
            edit(tool)

    return change_result("tools/list", edit_all)


def _draft_07(tool: Json) -> None:
    tool["inputSchema"]["$schema"] = "http://json-schema.org/draft-07/schema#"


def _not_initialized(message: Json) -> Json:
    error = {"code": -32600, "message": "The server is not initialized."}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def _no_such_method(letter: Letter) -> Json:
    return {"jsonrpc": "2.0", "error": {"code": -32601, "message": "There is no such method."}}


def _heartbeat(letter: Letter) -> Json:
    return {"jsonrpc": "2.0", "heartbeat": 1}


_SHAPES: Final = (
    _server(
        "server-writes-another-encoding",
        "message-is-utf-8",
        "The server writes a letter in Latin-1.",
        raw_bytes(CALL, lambda data: data.replace(b'"text":"', b'"text":"\xe9', 1), "result"),
    ),
    _client(
        "client-sends-a-batch",
        "message-is-no-batch",
        "The client sends two requests in one array, in a revision without batches.",
        sends([_ping("a"), _ping("b")]),
        sends(_ping("a"), _ping("b")),
    ),
    _server(
        "server-forgets-jsonrpc",
        "message-says-jsonrpc-2-0",
        "The server leaves `jsonrpc` out of its results.",
        change_answer(CALL, _without("jsonrpc")),
    ),
    _server(
        "server-sends-heartbeats",
        "message-has-one-shape",
        "The server sends objects that are no messages, to show that it lives.",
        add_before(CALL, _heartbeat),
    ),
    _server(
        "server-adds-an-empty-error",
        "response-has-result-or-error",
        "The server writes an `error` of null beside each result.",
        change_answer(CALL, _changed(error=None)),
    ),
    _client(
        "client-sends-params-as-an-array",
        "params-is-an-object",
        "The client sends its params by place, as an array.",
        sends({**_ping("a"), "params": []}),
        sends({**_ping("a"), "params": {}}),
    ),
    _client(
        "client-counts-its-methods",
        "method-is-a-string",
        "The client names a method by a number.",
        sends({"jsonrpc": "2.0", "id": "a", "method": 7}),
        sends(_ping("a")),
    ),
    _client(
        "client-takes-a-method-of-json-rpc",
        "method-leaves-rpc-to-json-rpc",
        "The client asks for a method whose name JSON-RPC keeps for itself.",
        sends({**_ping("a"), "method": "rpc.ping"}),
        sends(_ping("a")),
    ),
    Misbehaviour(
        "server-cuts-its-json",
        "server",
        "message-is-json",
        "The server leaves out the end of a JSON text.",
        find_a_ticket,
        help_desk,
        "modern",
        "http",
        twist=raw_bytes(CALL, lambda data: data[:-2], "result"),
    ),
    _server(
        "server-answers-null",
        "result-is-an-object",
        "The server answers null where it has nothing to say.",
        change_answer(CALL, _changed(result=None)),
    ),
    _server(
        "server-sends-an-error-as-text",
        "error-has-code-and-message",
        "The server writes a text where the object of an error should be.",
        change_answer(CALL, _changed(error="There is no such tool.")),
        story=call_an_unknown_tool,
    ),
    _server(
        "server-sends-a-code-as-text",
        "error-code-is-an-integer",
        "The server gives its errors codes that are texts, such as NO_TOOL.",
        change_error(CALL, _changed(code="NO_TOOL")),
        story=call_an_unknown_tool,
    ),
)

_IDS: Final = (
    _client(
        "client-asks-with-a-null-id",
        "request-id-is-not-null",
        "The client sends a request with the id null.",
        sends(_ping(None)),
        sends(_ping("a")),
    ),
    _client(
        "client-asks-with-a-fraction",
        "request-id-is-string-or-integer",
        "The client takes 1.5 for an id.",
        sends(_ping(1.5)),
        sends(_ping(15)),
    ),
    _client(
        "client-forgets-the-id",
        "request-has-an-id",
        "The client sends a request without an id, and waits for an answer.",
        sends({"jsonrpc": "2.0", "method": "ping"}),
        sends(_ping("a")),
    ),
    _client(
        "client-gives-a-notification-an-id",
        "notification-has-no-id",
        "The client sends a cancellation with an id, as if it were a request.",
        sends({"jsonrpc": "2.0", "id": "c", "method": "notifications/cancelled", "params": {"requestId": 2}}),
        sends({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}),
    ),
    _client(
        "client-uses-an-id-again",
        "request-id-is-new-in-its-session-legacy",
        "The client gives a second request the id of an earlier one, which is answered already.",
        sends(_listing("a"), _listing("a")),
        sends(_listing("a"), _listing("b")),
    ),
    Misbehaviour(
        "client-has-an-id-in-flight-twice",
        "client",
        "request-id-is-not-in-use",
        "The client gives a request the id of one that still waits for its answer.",
        ids_in_flight("a", "a"),
        help_desk,
        "modern",
        "stdio",
        good_story=ids_in_flight("a", "b"),
    ),
    _server(
        "server-answers-without-an-id",
        "result-repeats-id",
        "The server leaves the id out of its results.",
        change_answer(CALL, _without("id")),
    ),
    _server(
        "server-answers-ids-as-text",
        "response-answers-a-request",
        'The server turns the id 1 into the text "1".',
        change_answer(CALL, _id_as(str)),
    ),
    _server(
        "server-writes-ids-as-fractions",
        "answer-id-is-written-as-sent",
        "The server knows only numbers with a fraction, and writes the id 1 as 1.0.",
        change_answer("tools/list", _id_as(float)),
        era="legacy",
        story=sends(_listing(7)),
    ),
    _client(
        "client-writes-ids-as-fractions",
        "request-id-is-written-as-an-integer",
        "The client writes the id 7 as 7.0.",
        sends(_ping(7.0)),
        sends(_ping(7)),
    ),
    _server(
        "server-splits-the-id-of-errors",
        "error-id-is-string-or-integer",
        "The server adds a half to the ids of its errors.",
        change_answer(CALL, _id_as(lambda id: id + 0.5)),
        story=call_an_unknown_tool,
    ),
    _server(
        "server-hides-the-id-of-errors",
        "error-repeats-id",
        "The server leaves the id out of its errors.",
        change_answer(CALL, _without("id")),
        story=call_an_unknown_tool,
    ),
    _server(
        "server-answers-a-notification",
        "notification-is-not-answered",
        "The server answers a notification that it does not know by an error.",
        add_after(CALL, _no_such_method),
        era="legacy",
    ),
    _server(
        "server-answers-twice",
        "request-is-answered-once",
        "The server answers each call twice.",
        twice(CALL),
    ),
)

_CODES: Final = tuple(
    _server(name, rule, sentence, change_error(CALL, _changed(code=code)), story=call_an_unknown_tool)
    for name, rule, code, sentence in (
        (
            "server-invents-a-code",
            "error-code-is-defined",
            -32050,
            "The server takes a code from the range of the specification for a purpose of its own.",
        ),
        (
            "server-keeps-a-code-of-old",
            "error-code-is-of-this-revision",
            -32002,
            "The server sends the code -32002, which only earlier revisions have.",
        ),
        (
            "server-takes-a-code-of-the-old-range",
            "error-code-outside-old-range",
            -32001,
            "The server sends -32001, which means something else to everybody.",
        ),
        (
            "server-takes-a-code-of-json-rpc",
            "error-code-outside-json-rpc-range",
            -32604,
            "The server takes the code -32604, out of the range that JSON-RPC keeps for itself.",
        ),
        (
            "server-speaks-of-headers-on-stdio",
            "error-code-keeps-its-meaning",
            -32020,
            "The server sends the code of a header mismatch over stdio, where there are no headers.",
        ),
    )
)

_ERRORS: Final = (
    _server(
        "server-does-not-say-what-is-missing",
        "missing-capability-is-named",
        "The server needs a capability that the client lacks, and does not say which one.",
        change_error(CALL, _without("data")),
        story=choose_a_seat,
        server=travel_desk,
    ),
    _server(
        "server-misses-a-capability-by-another-code",
        "missing-capability-has-its-code",
        "The server needs a capability that the client lacks, and says so by the code for its own faults.",
        change_error(CALL, _changed(code=-32603)),
        story=choose_a_seat,
        server=travel_desk,
    ),
    _server(
        "server-takes-a-code-of-json-rpc-in-a-session",
        "error-code-outside-json-rpc-range-legacy",
        "The server takes the code -32604 in a session, out of the range that JSON-RPC keeps for itself.",
        change_error(CALL, _changed(code=-32604)),
        era="legacy",
        story=call_an_unknown_tool,
    ),
    _server(
        "server-waits-for-a-handshake",
        "request-needs-no-handshake",
        "The server refuses a request because there was no handshake.",
        change_answer(CALL, _not_initialized),
        story=discover_and_find,
    ),
    _server(
        "server-tells-its-stack",
        "error-message-is-one-sentence",
        "The server puts the lines of its program into the message of an error.",
        change_error(CALL, _changed(message="No tool.\n  in desk.py, line 8\n  in main.py, line 3")),
        story=call_an_unknown_tool,
    ),
)

_RESULTS: Final = (
    _server(
        "server-forgets-resulttype",
        "result-has-resulttype",
        "The server leaves `resultType` out of its results.",
        without_in_result(CALL, "resultType"),
    ),
    _server(
        "server-counts-result-types",
        "resulttype-is-a-string",
        "The server writes a number as `resultType`.",
        set_in_result(CALL, "resultType", to=1),
    ),
    _server(
        "server-invents-a-resulttype",
        "resulttype-is-supported",
        "The server sends a result of a type that nobody knows.",
        set_in_result(CALL, "resultType", to="partial"),
    ),
    _server(
        "server-does-not-say-who-it-is",
        "result-names-its-server",
        "The server does not name itself in its results.",
        without_in_result(CALL, "_meta", SERVER_INFO),
    ),
    _server(
        "server-names-itself-by-a-text",
        "identity-has-name-and-version",
        "The server gives its name as a text, without a version.",
        set_in_result(CALL, "_meta", SERVER_INFO, to="help-desk"),
    ),
    _server(
        "server-has-an-icon-that-runs",
        "icon-is-safe-to-fetch",
        "The server gives a tool an icon that is a program.",
        _tools(_changed(icons=[{"src": "javascript:alert(1)"}])),
        story=list_the_tools,
    ),
    _server(
        "server-has-an-icon-of-no-size",
        "icon-size-has-its-form",
        "The server gives the size of an icon as one number.",
        _tools(_changed(icons=[{"src": "https://desk.example/icon.png", "sizes": ["48"]}])),
        story=list_the_tools,
    ),
    _server(
        "server-writes-draft-07",
        "schema-is-of-the-usual-dialect",
        "The server writes the schemas of its tools in an older dialect.",
        _tools(_draft_07),
        story=list_the_tools,
    ),
)

_TRACEPARENT: Final = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

_META: Final = tuple(
    _client(name, rule, sentence, _with(bad), _with(good), "modern")
    for name, rule, bad, good, sentence in (
        (
            "client-forgets-its-capabilities",
            "request-says-version-and-capabilities",
            {CLIENT_CAPABILITIES: None},
            {},
            "The client does not say in each request what it can do.",
        ),
        (
            "client-does-not-say-who-it-is",
            "request-names-its-client",
            {CLIENT_INFO: None},
            {},
            "The client does not name itself in its requests.",
        ),
        (
            "client-writes-a-key-of-no-form",
            "meta-key-has-its-form",
            {"example.desk-/ticket": 17},
            {"com.example.desk/ticket": 17},
            "The client adds a key to `_meta` whose prefix ends with a hyphen.",
        ),
        (
            "client-takes-a-prefix-of-the-protocol",
            "meta-key-is-not-reserved",
            {"io.modelcontextprotocol/ticket": 17},
            {"com.example.desk/ticket": 17},
            "The client adds a key of its own under the protocol's prefix.",
        ),
        (
            "client-writes-a-domain-forwards",
            "meta-prefix-is-reverse-dns",
            {"desk.example.com/ticket": 17},
            {"com.example.desk/ticket": 17},
            "The client writes its domain forwards in a prefix of `_meta`, where it belongs backwards.",
        ),
        (
            "client-shouts-its-trace",
            "trace-context-has-its-format",
            {"traceparent": _TRACEPARENT.upper()},
            {"traceparent": _TRACEPARENT},
            "The client writes the numbers of its trace in capitals.",
        ),
    )
)

MESSAGES: Final[tuple[Misbehaviour, ...]] = (*_SHAPES, *_IDS, *_CODES, *_ERRORS, *_RESULTS, *_META)
