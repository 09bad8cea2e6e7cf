"""Whole sessions of the older revisions, conformant and a little unusual: the audit must not accuse anybody.

Each revision over each of its transports, with every feature that it has, in the shapes of its own pages and
schema: what came with a later revision is missing, and what a later one took away is there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from mcpsim.audit import audit

Row = dict[str, Any]
#: What a server sends for a request that is running, and so in its stream.
RELATED = {"notifications/progress", "roots/list", "sampling/createMessage", "elicitation/create"}
JSON_AND_EVENTS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
EVENTS = {"Content-Type": "text/event-stream"}
PNG = "iVBORw0KGgo="


def request(id: str | int, method: str, params: Mapping[str, Any] | None = None) -> Row:
    """A request."""
    said: Row = {"jsonrpc": "2.0", "id": id, "method": method}
    return said if params is None else {**said, "params": dict(params)}


def notice(method: str, params: Mapping[str, Any] | None = None) -> Row:
    """A notification."""
    said: Row = {"jsonrpc": "2.0", "method": method}
    return said if params is None else {**said, "params": dict(params)}


def result(id: str | int, **members: Any) -> Row:
    """A result."""
    return {"jsonrpc": "2.0", "id": id, "result": members}


def error(id: str | int, code: int, message: str, data: Any = None) -> Row:
    """An error."""
    said: Row = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": id, "error": said if data is None else {**said, "data": data}}


Said = tuple[str, Any]


def client(*messages: Any) -> list[Said]:
    """What a client says."""
    return [("client", one) for one in messages]


def server(*messages: Any) -> list[Said]:
    """What a server says."""
    return [("server", one) for one in messages]


def handshake(
    revision: str,
    client_capabilities: Mapping[str, Any],
    server_capabilities: Mapping[str, Any],
    *,
    proposed: str = "",
    more: Mapping[str, Any] | None = None,
) -> list[Said]:
    """The three messages of it."""
    return [
        *client(
            request(
                0,
                "initialize",
                {
                    "protocolVersion": proposed or revision,
                    "capabilities": dict(client_capabilities),
                    "clientInfo": {"name": "harbour-client", "version": "0.3"},
                },
            )
        ),
        *server(
            result(
                0,
                protocolVersion=revision,
                capabilities=dict(server_capabilities),
                serverInfo={"name": "harbour-server", "version": "0.9", **(more or {})},
                instructions="Ask for tides by port.",
            )
        ),
        *client(notice("notifications/initialized")),
    ]


def resources(uri: str) -> list[Said]:
    """Lists, templates, reading, subscribing, an update, and one that is not there."""
    return [
        *client(request("r1", "resources/list")),
        *server(
            result(
                "r1",
                resources=[
                    {"uri": uri, "name": "berths", "mimeType": "text/csv", "size": 12},
                    {
                        "uri": "harbour:///charts/north",
                        "name": "north",
                        "annotations": {"audience": ["user"], "priority": 0.5},
                    },
                ],
                nextCursor="2",
            )
        ),
        *client(request("r2", "resources/list", {"cursor": "2"})),
        *server(result("r2", resources=[])),
        *client(request("r3", "resources/templates/list", {})),
        *server(
            result(
                "r3", resourceTemplates=[{"uriTemplate": "harbour:///tides/{port}{?day}", "name": "tides"}]
            )
        ),
        *client(request("r4", "resources/read", {"uri": uri})),
        *server(
            result(
                "r4",
                contents=[
                    {"uri": uri, "text": "a,b\n1,2\n"},
                    {"uri": f"{uri}/icon", "mimeType": "image/png", "blob": PNG},
                ],
            )
        ),
        *client(request("r5", "resources/subscribe", {"uri": uri})),
        *server(result("r5")),
        *server(notice("notifications/resources/updated", {"uri": uri})),
        *client(request("r6", "resources/read", {"uri": uri})),
        *server(result("r6", contents=[{"uri": uri, "text": "a,b\n1,3\n"}])),
        *client(request("r7", "resources/unsubscribe", {"uri": uri})),
        *server(result("r7")),
        *client(request("r8", "resources/read", {"uri": "harbour:///nowhere"})),
        *server(error("r8", -32002, "Resource not found", {"uri": "harbour:///nowhere"})),
        *server(notice("notifications/resources/list_changed")),
    ]


def prompts() -> list[Said]:
    """A list, a prompt with all kinds of content that there always were, and the errors."""
    return [
        *client(request(31, "prompts/list")),
        *server(
            result(
                31,
                prompts=[
                    {"name": "report", "arguments": [{"name": "port", "required": True}, {"name": "day"}]},
                    {"name": "plain", "description": ""},
                ],
            )
        ),
        *client(request(32, "prompts/get", {"name": "report", "arguments": {"port": "north"}})),
        *server(
            result(
                32,
                description="A report.",
                messages=[
                    {"role": "user", "content": {"type": "text", "text": "Report on north."}},
                    {
                        "role": "user",
                        "content": {
                            "type": "image",
                            "data": PNG,
                            "mimeType": "image/png",
                            "annotations": {"priority": 1},
                        },
                    },
                    {
                        "role": "assistant",
                        "content": {
                            "type": "resource",
                            "resource": {
                                "uri": "harbour:///charts/north",
                                "mimeType": "text/plain",
                                "text": "chart",
                            },
                        },
                    },
                ],
            )
        ),
        *client(request(33, "prompts/get", {"name": "nothing"})),
        *server(error(33, -32602, "Unknown prompt: nothing")),
        *server(notice("notifications/prompts/list_changed")),
    ]


def logs() -> list[Said]:
    """Log messages before a level was set and after, and a level that there is not."""
    return [
        *server(notice("notifications/message", {"level": "debug", "logger": "tides", "data": "ready"})),
        *client(request(41, "logging/setLevel", {"level": "warning"})),
        *server(result(41)),
        *server(notice("notifications/message", {"level": "alert", "data": {"gauge": "north", "mm": 7}})),
        *server(notice("notifications/message", {"level": "warning", "data": ["low", 3]})),
    ]


def tools(call: str = "text") -> list[Said]:
    """A list without anything that came later, calls, tool errors, and protocol errors."""
    return [
        *client(request(51, "tools/list", {"_meta": {"progressToken": 7}})),
        *server(
            result(
                51,
                tools=[
                    {"name": "tide", "inputSchema": {"type": "object", "properties": {"port": {}}}},
                    {
                        "name": "harbour master: call!",
                        "description": "Calls the harbour master.",
                        "inputSchema": {
                            "$schema": "http://json-schema.org/draft-07/schema#",
                            "type": "object",
                            "definitions": {"hour": {"type": "integer", "minimum": 0}},
                            "properties": {
                                "from": {"$ref": "#/definitions/hour"},
                                "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
                            },
                            "required": ["from"],
                        },
                    },
                ],
            )
        ),
        *client(request(52, "tools/call", {"name": "tide", "arguments": {"port": "north"}})),
        *server(result(52, content=[{"type": "text", "text": "2.4 m"}])),
        *client(request(53, "tools/call", {"name": "tide"})),
        *server(result(53, content=[{"type": "text", "text": "Which port?"}], isError=True)),
        *client(request(54, "tools/call", {"name": "harbour master: call!", "arguments": {"from": -1}})),
        *server(error(54, -32602, "Invalid arguments: from must be at least 0")),
        *client(request(55, "tools/call", {"name": "ebb", "arguments": {}})),
        *server(error(55, -32602, "Unknown tool: ebb")),
        *client(request(56, "tools/call", {"name": "tide", "arguments": {"port": "chart"}})),
        *server(
            result(
                56,
                content=[
                    {"type": "image", "data": PNG, "mimeType": "image/png"},
                    {"type": "resource", "resource": {"uri": "harbour:///charts/north", "blob": PNG}},
                ],
                isError=False,
            )
        ),
        *server(notice("notifications/tools/list_changed")),
        *client(request(57, "tools/list")),
        *server(result(57, tools=[])),
    ]


def progress(*, words: bool) -> list[Said]:
    """A call with progress of fractions, and one that is cancelled while the answer is under way."""
    said = {"message": "Halfway"} if words else {}
    return [
        *client(
            request(61, "tools/call", {"name": "tide", "arguments": {}, "_meta": {"progressToken": "t"}})
        ),
        *server(notice("notifications/progress", {"progressToken": "t", "progress": 0.25, **said})),
        *server(notice("notifications/progress", {"progressToken": "t", "progress": 0.5, "total": 1.5})),
        *server(result(61, content=[])),
        *client(request(62, "tools/call", {"name": "tide", "arguments": {}})),
        *client(notice("notifications/cancelled", {"requestId": 62})),
        *server(result(62, content=[{"type": "text", "text": "2.1 m"}])),
        *client(request(63, "tools/call", {"name": "tide", "arguments": {"port": "south"}})),
        *client(notice("notifications/cancelled", {"requestId": 63, "reason": "The user left."})),
        *client(notice("notifications/cancelled", {"requestId": 62})),
    ]


def pings() -> list[Said]:
    """Both ways; the same id on both sides."""
    return [
        *client(request("p", "ping")),
        *server(request("p", "ping")),
        *client(result("p")),
        *server(result("p")),
    ]


def questions() -> list[Said]:
    """Roots and sampling, asked while a call runs, granted and refused."""
    return [
        *client(request(71, "tools/call", {"name": "tide", "arguments": {"port": "west"}})),
        *server(request(1, "roots/list")),
        *client(
            result(
                1, roots=[{"uri": "file:///srv/harbour", "name": "harbour"}, {"uri": "file:///C:/charts/"}]
            )
        ),
        *server(
            request(
                2,
                "sampling/createMessage",
                {
                    "messages": [
                        {"role": "user", "content": {"type": "text", "text": "How high is it?"}},
                        {
                            "role": "user",
                            "content": {"type": "image", "data": PNG, "mimeType": "image/png"},
                        },
                    ],
                    "modelPreferences": {
                        "hints": [{"name": "small"}, {}],
                        "costPriority": 0,
                        "speedPriority": 1,
                        "intelligencePriority": 0.5,
                    },
                    "systemPrompt": "Be brief.",
                    "includeContext": "thisServer",
                    "temperature": 0.2,
                    "maxTokens": 20,
                    "stopSequences": ["."],
                    "metadata": {"vendor": {"x": 1}},
                },
            )
        ),
        *client(
            result(
                2,
                role="assistant",
                content={"type": "text", "text": "High."},
                model="small-1",
                stopReason="stop_sequence",
            )
        ),
        *server(
            request(
                3,
                "sampling/createMessage",
                {
                    "messages": [{"role": "user", "content": {"type": "text", "text": "And low?"}}],
                    "maxTokens": 20,
                },
            )
        ),
        *client(error(3, -1, "User rejected sampling request")),
        *server(result(71, content=[{"type": "text", "text": "high"}])),
        *client(notice("notifications/roots/list_changed")),
        *server(request(4, "roots/list", {})),
        *client(result(4, roots=[])),
    ]


def completions(*, context: bool) -> list[Said]:
    """Of a prompt's argument and of a template's variable."""
    known = {"context": {"arguments": {"port": "north"}}} if context else {}
    return [
        *client(
            request(
                81,
                "completion/complete",
                {
                    "ref": {"type": "ref/prompt", "name": "report"},
                    "argument": {"name": "port", "value": ""},
                    **known,
                },
            )
        ),
        *server(
            result(81, completion={"values": ["north", "south"], "total": 4, "hasMore": True}),
        ),
        *client(
            request(
                82,
                "completion/complete",
                {
                    "ref": {"type": "ref/resource", "uri": "harbour:///tides/{port}{?day}"},
                    "argument": {"name": "day", "value": "x"},
                },
            )
        ),
        *server(result(82, completion={"values": []})),
    ]


CLIENT_2024: Row = {"roots": {"listChanged": True}, "sampling": {}, "experimental": {"harbour": {"x": 1}}}
SERVER_2024: Row = {
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "tools": {"listChanged": True},
    "experimental": {"harbour": {}},
}
SERVER_2025: Row = {**SERVER_2024, "completions": {}}


def session_2024_11_05(*, proposed: str = "") -> list[Said]:
    """All of the first revision: completions without a capability, tools without annotations."""
    return [
        *handshake("2024-11-05", CLIENT_2024, SERVER_2024, proposed=proposed),
        *pings(),
        *resources("harbour:///berths"),
        *prompts(),
        *logs(),
        *tools(),
        *progress(words=False),
        *questions(),
        *completions(context=False),
    ]


AUDIO = {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}


def session_2025_03_26(*, proposed: str = "") -> list[Said]:
    """All of the second one: annotations of tools, audio, words in progress, and batches."""
    return [
        *handshake("2025-03-26", CLIENT_2024, SERVER_2025, proposed=proposed),
        *pings(),
        *resources("harbour:///berths"),
        *prompts(),
        *logs(),
        *tools(),
        *progress(words=True),
        *questions(),
        *completions(context=False),
        *server(notice("notifications/tools/list_changed")),
        *client(request(91, "tools/list")),
        *server(
            result(
                91,
                tools=[
                    {
                        "name": "horn",
                        "inputSchema": {"type": "object"},
                        "annotations": {
                            "title": "Horn",
                            "readOnlyHint": False,
                            "destructiveHint": False,
                            "idempotentHint": True,
                            "openWorldHint": True,
                        },
                    }
                ],
            )
        ),
        *client(request(92, "tools/call", {"name": "horn"})),
        *server(result(92, content=[AUDIO])),
        *client(request(93, "prompts/get", {"name": "plain"})),
        *server(result(93, messages=[{"role": "user", "content": AUDIO}])),
    ]


def batches() -> list[Said]:
    """Requests, notifications and responses in arrays, answered in an array, in two, or one by one."""
    return [
        *client(
            [
                request(101, "ping"),
                request(102, "tools/call", {"name": "horn", "_meta": {"progressToken": 102}}),
                notice("notifications/roots/list_changed"),
            ]
        ),
        *server(
            [
                notice("notifications/progress", {"progressToken": 102, "progress": 1}),
                request(103, "roots/list"),
                request(104, "ping"),
            ]
        ),
        *client([result(104), result(103, roots=[])]),
        *server([result(102, content=[]), result(101)]),
        *client([request(105, "ping"), request(106, "ping")]),
        *server(result(106)),
        *server([result(105)]),
        *client([request(107, "nope")]),
        *server([error(107, -32601, "Method not found")]),
        *client([notice("notifications/roots/list_changed")]),
    ]


TITLED = {"title": "Horn of the harbour", "_meta": {"harbour.example/colour": "red", "plain": 1}}


def session_2025_06_18(*, proposed: str = "") -> list[Said]:
    """All of the third one: titles, structured content, links, elicitation, completions with context."""
    numbers = {"type": "object", "properties": {"metres": {"type": "number"}}, "required": ["metres"]}
    form = {
        "type": "object",
        "properties": {
            "port": {"type": "string", "enum": ["n", "s"], "enumNames": ["North", "South"]},
            "mail": {"type": "string", "format": "email", "title": "Mail", "maxLength": 80},
            "day": {"type": "string", "format": "date"},
            "berths": {"type": "integer", "minimum": 1, "maximum": 9},
            "metres": {"type": "number"},
            "night": {"type": "boolean", "default": False},
        },
        "required": ["port"],
    }
    return [
        *handshake(
            "2025-06-18",
            {**CLIENT_2024, "elicitation": {}},
            SERVER_2025,
            proposed=proposed,
            more={"title": "Harbour"},
        ),
        *pings(),
        *resources("harbour:///berths"),
        *prompts(),
        *logs(),
        *tools(),
        *progress(words=True),
        *questions(),
        *completions(context=True),
        *server(notice("notifications/tools/list_changed")),
        *client(request(91, "tools/list")),
        *server(
            result(
                91,
                tools=[
                    {
                        "name": "horn",
                        "inputSchema": {"type": "object"},
                        "outputSchema": numbers,
                        "annotations": {"readOnlyHint": True},
                        **TITLED,
                    }
                ],
                _meta={"harbour.example/page": 1},
            )
        ),
        *client(request(92, "tools/call", {"name": "horn"})),
        *server(
            request(
                94,
                "elicitation/create",
                {"message": "Which port?", "requestedSchema": form},
            )
        ),
        *client(
            result(94, action="accept", content={"port": "n", "berths": 2, "metres": 2.5, "night": True})
        ),
        *server(request(95, "elicitation/create", {"message": "Sure?", "requestedSchema": form})),
        *client(result(95, action="decline")),
        *server(
            request(
                96,
                "elicitation/create",
                {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}},
            )
        ),
        *client(result(96, action="cancel")),
        *server(
            result(
                92,
                content=[
                    {"type": "text", "text": '{"metres": 2.5}', "_meta": {}},
                    {
                        "type": "resource_link",
                        "uri": "harbour:///charts/north",
                        "name": "north",
                        "title": "North",
                    },
                    {**AUDIO, "annotations": {"lastModified": "2025-05-03T10:00:00Z"}},
                ],
                structuredContent={"metres": 2.5},
            )
        ),
    ]


WHEN = "2025-12-01T08:00:0{}Z"


def task(id: str, status: str, second: int, **more: Any) -> Row:
    """A task as it is told of."""
    return {
        "taskId": id,
        "status": status,
        "createdAt": WHEN.format(0),
        "lastUpdatedAt": WHEN.format(second),
        "ttl": 60000,
        **more,
    }


def of_task(id: str) -> Row:
    """The mark of what belongs to a task."""
    return {"io.modelcontextprotocol/related-task": {"taskId": id}}


def tasks() -> list[Said]:
    """Of a tool, with a question in between, listed, its end told of; one that is cancelled; one that fails;
    and one of the client."""
    form = {"type": "object", "properties": {"port": {"type": "string"}}}
    return [
        *client(
            request(
                201,
                "tools/call",
                {"name": "dredge", "arguments": {}, "task": {"ttl": 90000}, "_meta": {"progressToken": "d"}},
            )
        ),
        *server(
            result(
                201,
                task=task("dredge-5f0c77aa01b29d3e", "working", 0, pollInterval=5),
                _meta={"io.modelcontextprotocol/model-immediate-response": "It has begun."},
            )
        ),
        *server(
            notice(
                "notifications/progress",
                {"progressToken": "d", "progress": 1, "_meta": of_task("dredge-5f0c77aa01b29d3e")},
            )
        ),
        *client(request(202, "tasks/get", {"taskId": "dredge-5f0c77aa01b29d3e"})),
        *server(result(202, **task("dredge-5f0c77aa01b29d3e", "input_required", 1, statusMessage="Which?"))),
        *client(request(203, "tasks/result", {"taskId": "dredge-5f0c77aa01b29d3e"})),
        *server(
            request(
                204,
                "elicitation/create",
                {"message": "Which?", "requestedSchema": form, "_meta": of_task("dredge-5f0c77aa01b29d3e")},
            )
        ),
        *client(
            result(204, action="accept", content={"port": "n"}, _meta=of_task("dredge-5f0c77aa01b29d3e"))
        ),
        *client(request(205, "tasks/get", {"taskId": "dredge-5f0c77aa01b29d3e"})),
        *server(result(205, **task("dredge-5f0c77aa01b29d3e", "working", 2))),
        *client(request(206, "tasks/list", {})),
        *server(result(206, tasks=[task("dredge-5f0c77aa01b29d3e", "working", 2)])),
        *server(notice("notifications/tasks/status", task("dredge-5f0c77aa01b29d3e", "completed", 3))),
        *server(
            result(
                203,
                content=[{"type": "text", "text": "deep"}],
                _meta=of_task("dredge-5f0c77aa01b29d3e"),
            )
        ),
        *client(request(207, "tasks/get", {"taskId": "dredge-5f0c77aa01b29d3e"})),
        *server(result(207, **task("dredge-5f0c77aa01b29d3e", "completed", 3))),
        *client(request(208, "tasks/cancel", {"taskId": "dredge-5f0c77aa01b29d3e"})),
        *server(error(208, -32602, "Cannot cancel task: it is completed already")),
        *client(request(209, "tools/call", {"name": "horn", "arguments": {}, "task": {}})),
        *server(result(209, task=task("horn-8d1277aa01b29d3e", "working", 4, ttl=None))),
        *client(request(210, "tasks/cancel", {"taskId": "horn-8d1277aa01b29d3e"})),
        *server(result(210, **task("horn-8d1277aa01b29d3e", "cancelled", 5, ttl=None))),
        *client(request(211, "tools/call", {"name": "horn", "task": {"ttl": 10}})),
        *server(result(211, task=task("horn-41aa77aa01b29d3e", "working", 5))),
        *client(request(212, "tasks/result", {"taskId": "horn-41aa77aa01b29d3e"})),
        *server(
            result(
                212,
                content=[{"type": "text", "text": "broken"}],
                isError=True,
                _meta=of_task("horn-41aa77aa01b29d3e"),
            )
        ),
        *client(request(213, "tasks/get", {"taskId": "horn-41aa77aa01b29d3e"})),
        *server(result(213, **task("horn-41aa77aa01b29d3e", "failed", 6, statusMessage="The horn broke."))),
        *client(request(214, "tasks/get", {"taskId": "nowhere"})),
        *server(error(214, -32602, "Failed to retrieve task: Task not found")),
        *client(request(215, "tools/call", {"name": "horn"})),
        *server(
            request(
                1,
                "sampling/createMessage",
                {
                    "messages": [{"role": "user", "content": {"type": "text", "text": "Loud?"}}],
                    "maxTokens": 5,
                    "task": {"ttl": 1000},
                },
            )
        ),
        *client(result(1, task=task("sample-1", "working", 6))),
        *server(request(2, "tasks/get", {"taskId": "sample-1"})),
        *client(result(2, **task("sample-1", "completed", 7))),
        *server(request(3, "tasks/result", {"taskId": "sample-1"})),
        *client(
            result(
                3,
                role="assistant",
                content={"type": "text", "text": "Yes."},
                model="small-1",
                stopReason="endTurn",
                _meta=of_task("sample-1"),
            )
        ),
        *server(result(215, content=[])),
    ]


def visits() -> list[Said]:
    """A URL that is asked for by a request, one by an error, and choices of every kind."""
    form = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "one": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "titled": {
                "type": "string",
                "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}],
            },
            "many": {
                "type": "array",
                "minItems": 1,
                "maxItems": 2,
                "items": {"type": "string", "enum": ["a", "b"]},
                "default": ["a"],
            },
            "titles": {
                "type": "array",
                "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
            },
            "old": {"type": "string", "enum": ["a"], "enumNames": ["A"]},
            "page": {"type": "string", "format": "uri", "default": "https://harbour.example"},
            "count": {"type": "integer", "default": 3, "minimum": 0},
        },
        "required": ["one"],
    }
    visit = {
        "mode": "url",
        "elicitationId": "e-550e8400",
        "url": "https://harbour.example/link?e=550e8400",
        "message": "Please link your account.",
    }
    return [
        *client(request(221, "tools/call", {"name": "horn"})),
        *server(request(222, "elicitation/create", visit)),
        *client(result(222, action="accept")),
        *server(notice("notifications/elicitation/complete", {"elicitationId": "e-550e8400"})),
        *server(
            request(223, "elicitation/create", {"mode": "form", "message": "Which?", "requestedSchema": form})
        ),
        *client(
            result(
                223,
                action="accept",
                content={"one": "a", "titled": "b", "many": ["a", "b"], "titles": ["b"], "count": 0},
            )
        ),
        *server(result(221, content=[])),
        *client(request(224, "tools/call", {"name": "horn"})),
        *server(
            error(
                224,
                -32042,
                "This needs a visit.",
                {"elicitations": [{**visit, "elicitationId": "e-99", "url": "http://localhost:8080/x"}]},
            )
        ),
        *server(notice("notifications/elicitation/complete", {"elicitationId": "e-99"})),
        *client(request(225, "tools/call", {"name": "horn"})),
        *server(result(225, content=[])),
    ]


def sampling_with_tools() -> list[Said]:
    """A model that uses two tools at once, and then says something."""
    tool = {"name": "tide", "inputSchema": {"type": "object"}}
    asked = {"role": "user", "content": {"type": "text", "text": "How high is it north and south?"}}
    uses = [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "u1", "name": "tide", "input": {"port": "n"}},
        {"type": "tool_use", "id": "u2", "name": "tide", "input": {}},
    ]
    answers = [
        {
            "type": "tool_result",
            "toolUseId": "u2",
            "content": [{"type": "text", "text": "1"}],
            "isError": True,
        },
        {"type": "tool_result", "toolUseId": "u1", "content": [], "structuredContent": {"m": 1}},
    ]
    return [
        *client(request(231, "tools/call", {"name": "horn"})),
        *server(
            request(
                232,
                "sampling/createMessage",
                {
                    "messages": [asked],
                    "maxTokens": 90,
                    "tools": [tool],
                    "toolChoice": {"mode": "required"},
                },
            )
        ),
        *client(result(232, role="assistant", content=uses, model="m", stopReason="toolUse")),
        *server(
            request(
                233,
                "sampling/createMessage",
                {
                    "messages": [
                        asked,
                        {"role": "assistant", "content": uses},
                        {"role": "user", "content": answers},
                    ],
                    "maxTokens": 90,
                    "tools": [tool],
                    "toolChoice": {"mode": "none"},
                },
            )
        ),
        *client(
            result(
                233,
                role="assistant",
                content=[{"type": "text", "text": "High."}],
                model="m",
                stopReason="endTurn",
            )
        ),
        *server(result(231, content=[])),
    ]


def session_2025_11_25(*, proposed: str = "") -> list[Said]:
    """All of the last one with a handshake: icons, tasks, URLs, choices, sampling with tools."""
    asks = {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}}
    icon = {"src": "https://harbour.example/i.png", "mimeType": "image/png", "sizes": ["48x48", "any"]}
    more = {
        "title": "Harbour",
        "description": "A harbour.",
        "websiteUrl": "https://harbour.example",
        "icons": [icon, {"src": "data:image/png;base64,iVBORw0KGgo=", "theme": "dark"}],
    }
    return [
        *handshake(
            "2025-11-25",
            {
                "roots": {"listChanged": True},
                "sampling": {"tools": {}, "context": {}},
                "elicitation": {"form": {}, "url": {}},
                "tasks": {"list": {}, "cancel": {}, "requests": asks},
            },
            {**SERVER_2025, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
            proposed=proposed,
            more=more,
        ),
        *pings(),
        *resources("harbour:///berths"),
        *prompts(),
        *logs(),
        *progress(words=True),
        *completions(context=True),
        *client(request(91, "tools/list")),
        *server(
            result(
                91,
                tools=[
                    {
                        "name": "horn",
                        "inputSchema": {"type": "object"},
                        "icons": [icon],
                        "execution": {"taskSupport": "optional"},
                    },
                    {
                        "name": "dredge",
                        "inputSchema": {"type": "object"},
                        "execution": {"taskSupport": "required"},
                    },
                    {"name": "A.b-c_9", "inputSchema": {"type": "object", "additionalProperties": False}},
                ],
            )
        ),
        *visits(),
        *sampling_with_tools(),
        *tasks(),
    ]


SESSIONS: Mapping[str, Callable[[], list[Said]]] = {
    "2024-11-05": session_2024_11_05,
    "2025-03-26": session_2025_03_26,
    "2025-06-18": session_2025_06_18,
    "2025-11-25": session_2025_11_25,
}


# --- On the wire ----------------------------------------------------------------------------------


def stdio(said: Sequence[Said]) -> list[Row]:
    """Lines on stdin and stdout, with something on stderr, and the end."""
    rows: list[Row] = [
        {"from": side, "t_ms": 10.0 * number, "message": message}
        for number, (side, message) in enumerate(said)
    ]
    last = 10.0 * len(rows)
    return [
        *rows,
        {"from": "server", "t_ms": last, "channel": "stderr", "raw": "Error: no gauge in the east\n"},
        {"from": "client", "t_ms": last + 10, "event": "stdin_closed"},
        {"from": "server", "t_ms": last + 20, "event": "stdout_closed"},
    ]


def _members(message: Any) -> list[Row]:
    return message if isinstance(message, list) else [message]


def streamable(
    said: Sequence[Said],
    *,
    header: str = "",
    session: str = "",
    events: bool = True,
    deleted: bool = True,
) -> list[Row]:
    """Streamable HTTP: what answers a POST comes in its response, the rest on the stream of a GET.

    Args:
        header: the version header after initialize; none where it is empty.
        session: the session id, if there is one.
        events: whether the requests of a call are answered by streams; otherwise by JSON, and what the server
            asks comes on the stream of the GET.
        deleted: whether the client ends the session.
    """
    rows: list[Row] = []
    later: Row = {}
    place: dict[Any, str] = {}
    waiting: dict[str, set[Any]] = {}
    opened: set[str] = set()
    polls: set[str] = set()

    def row(side: str, exchange: str, **more: Any) -> None:
        rows.append(
            {"from": side, "t_ms": 10.0 * len(rows), "transport": "http", "exchange": exchange, **more}
        )

    listening = ""
    for number, (side, message) in enumerate(said):
        exchange = f"x{number}"
        members = _members(message)
        if side == "client":
            row("client", exchange, headers={**JSON_AND_EVENTS, **later}, message=message)
            ids = {one["id"] for one in members if "method" in one and "id" in one}
            if not ids:
                row("server", exchange, status=202, headers={})
            else:
                waiting[exchange] = ids
                place.update(dict.fromkeys(ids, exchange))
                if members[0]["method"] == "tasks/get":
                    polls.add(exchange)
            if members[0].get("method") == "notifications/initialized":
                listening = f"g{number}"
                row(
                    "client",
                    listening,
                    http_method="GET",
                    headers={"Accept": "text/event-stream", **later},
                )
            continue
        answers = {one["id"] for one in members if "method" not in one}
        if answers:
            exchange = place[next(iter(answers))]
            waiting[exchange] -= answers
            whole = not waiting[exchange]
            given = {"Mcp-Session-Id": session} if 0 in answers and session else {}
            # A client that polls is to be answered plainly.
            if exchange in opened or not whole or (events and exchange not in polls):
                opened.add(exchange)
                row("server", exchange, status=200, headers={**EVENTS, **given}, message=message)
                if whole:
                    row("server", exchange, event="response_stream_closed")
            else:
                headers = {"Content-Type": "application/json", **given}
                row("server", exchange, status=200, headers=headers, message=message)
            later.update(given)
            if 0 in answers and header:
                later["MCP-Protocol-Version"] = header
            continue
        running = [one for one in waiting if waiting[one]]
        related = any(one.get("method") in RELATED for one in members) and running
        if related and not events:
            # What answers by JSON has no place for progress: that belongs in the stream of its request.
            members = [one for one in members if one.get("method") != "notifications/progress"]
            if not members:
                continue
            message = members if isinstance(message, list) else members[0]
        if related and events:
            opened.add(running[-1])
            row("server", running[-1], status=200, headers=EVENTS, message=message)
        else:
            row("server", listening, status=200, headers=EVENTS, message=message)
    row("client", listening, event="client_aborted", by="client")
    if session and deleted:
        row("client", "bye", http_method="DELETE", headers=dict(later))
        row("server", "bye", status=405, headers={"Allow": "GET, POST"})
    return rows


def http_and_sse(
    said: Sequence[Said], *, probed: bool = False, named: bool = True, raw: bool = True
) -> list[Row]:
    """The HTTP transport of the first revision: one stream for all that the server says, POST for the client.

    Args:
        probed: whether the client tried Streamable HTTP before.
        named: whether the messages of the server come as the text of events.
        raw: whether the trace shows the event that names the endpoint.
    """
    rows: list[Row] = []

    def row(side: str, exchange: str, **more: Any) -> None:
        rows.append(
            {"from": side, "t_ms": 10.0 * len(rows), "transport": "http", "exchange": exchange, **more}
        )

    if probed:
        row("client", "try", headers=JSON_AND_EVENTS, message=said[0][1])
        row("server", "try", status=405, headers={"Content-Type": "text/plain"}, raw="Method Not Allowed")
    row("client", "sse", http_method="GET", headers={"Accept": "text/event-stream"})
    if raw:
        row(
            "server",
            "sse",
            status=200,
            headers=EVENTS,
            raw="event: endpoint\ndata: /messages?session_id=5f0c\n\n",
        )
    for number, (side, message) in enumerate(said):
        if side == "client":
            row("client", f"x{number}", headers={"Content-Type": "application/json"}, message=message)
            row("server", f"x{number}", status=202, headers={"Content-Type": "text/plain"}, raw="Accepted")
        elif named:
            row(
                "server",
                "sse",
                status=200,
                headers=EVENTS,
                raw=f"event: message\ndata: {json.dumps(message)}\n\n",
            )
        else:
            row("server", "sse", status=200, headers=EVENTS, message=message)
    row("client", "sse", event="client_aborted", by="client")
    return rows


def polled() -> list[Row]:
    """Two streams, of a POST and of a GET, whose connection ends before their time; both are resumed."""
    later = {"MCP-Protocol-Version": "2025-11-25", "MCP-Session-Id": "5f0c-77aa"}
    rows: list[Row] = streamable(
        handshake("2025-11-25", {}, {"tools": {}, "logging": {}}),
        header="2025-11-25",
        session="5f0c-77aa",
        events=False,
        deleted=False,
    )[:-2]

    def row(side: str, exchange: str, **more: Any) -> None:
        rows.append(
            {"from": side, "t_ms": 10.0 * len(rows), "transport": "http", "exchange": exchange, **more}
        )

    def event(exchange: str, text: str) -> None:
        row("server", exchange, status=200, headers=EVENTS, raw=text)

    def data(message: Row) -> str:
        return f"data: {json.dumps(message)}\n\n"

    log = notice("notifications/message", {"level": "info", "data": "on its way"})
    row("client", "g", http_method="GET", headers={"Accept": "text/event-stream", **later})
    event("g", "id: g-0\nretry: 30\ndata:\n\n")
    event("g", f"id: g-1\n{data(log)}")
    row("server", "g", event="response_stream_closed")
    call = request(5, "tools/call", {"name": "horn", "_meta": {"progressToken": 5}})
    row("client", "a", headers={**JSON_AND_EVENTS, **later}, message=call)
    event("a", "id: a-0\ndata: \n\n")
    event("a", ": still here\n\n")
    event("a", f"id: a-1\n{data(notice('notifications/progress', {'progressToken': 5, 'progress': 1}))}")
    event("a", "retry: 20\n\n")
    row("server", "a", event="response_stream_closed")
    row("client", "p", headers={**JSON_AND_EVENTS, **later}, message=request(6, "ping"))
    row("server", "p", status=200, headers={"Content-Type": "application/json"}, message=result(6))
    row(
        "client",
        "h",
        http_method="GET",
        headers={"Accept": "text/event-stream", "Last-Event-ID": "g-1", **later},
    )
    row(
        "client",
        "b",
        http_method="GET",
        headers={"Accept": "text/event-stream", "Last-Event-ID": "a-1", **later},
    )
    event("h", f"id: g-2\n{data(log)}")
    event("b", "id: a-2\ndata:\n\n")
    event("b", f"id: a-3\n{data(notice('notifications/progress', {'progressToken': 5, 'progress': 2}))}")
    event("b", f"id: a-4\nevent: message\n{data(result(5, content=[]))}")
    row("server", "b", event="response_stream_closed")
    row("client", "d", http_method="DELETE", headers=later)
    row("server", "d", status=204, headers={})
    row("client", "late", headers={**JSON_AND_EVENTS, **later}, message=request(7, "ping"))
    row("server", "late", status=404, headers={"Content-Type": "text/plain"}, raw="No such session")
    return rows


def told(rows: Sequence[Row]) -> list[str]:
    """What the audit accuses somebody of."""
    report = audit(rows)
    assert report.skipped == ()
    return [
        f"{one.level} {one.rule} row {one.index} ({rows[one.index]}): {one.message}"
        for one in report.findings
        if one.level != "note"
    ]


TRACES: dict[str, list[Row]] = {}
for _revision, _session in SESSIONS.items():
    TRACES[f"{_revision} stdio"] = stdio(_session())
TRACES["2025-03-26 stdio, batches"] = stdio([*session_2025_03_26(), *batches()])
TRACES["2024-11-05 stdio, counter-offer"] = stdio(session_2024_11_05(proposed="2025-11-25"))
TRACES["2025-03-26 stdio, counter-offer"] = stdio(session_2025_03_26(proposed="2025-06-18"))
TRACES["2025-06-18 stdio, counter-offer"] = stdio(session_2025_06_18(proposed="2099-01-01"))
TRACES["2024-11-05 HTTP+SSE"] = http_and_sse(session_2024_11_05())
TRACES["2024-11-05 HTTP+SSE, messages"] = http_and_sse(session_2024_11_05(), named=False)
TRACES["2024-11-05 HTTP+SSE, endpoint not shown"] = http_and_sse(session_2024_11_05(), raw=False)
TRACES["2024-11-05 HTTP+SSE, endpoint not shown, messages"] = http_and_sse(
    session_2024_11_05(), raw=False, named=False
)
TRACES["2024-11-05 HTTP+SSE, after a try"] = http_and_sse(
    session_2024_11_05(proposed="2025-11-25"), probed=True
)
TRACES["2025-11-25 HTTP+SSE, after a try with words"] = http_and_sse(session_2025_06_18(), probed=True)
TRACES["2025-03-26 HTTP+SSE, kept for older clients"] = http_and_sse(session_2025_03_26())
for _revision, _session, _header in (
    ("2024-11-05", session_2024_11_05, ""),
    ("2025-03-26", session_2025_03_26, ""),
    ("2025-03-26", lambda: [*session_2025_03_26(), *batches()], ""),
    ("2025-06-18", session_2025_06_18, "2025-06-18"),
    ("2025-11-25", session_2025_11_25, "2025-11-25"),
):
    for _events in (True, False):
        for _id in ("", "5f0c-77aa-01b2-9d3e"):
            _said = _session()
            TRACES[f"{_revision} Streamable HTTP, {len(_said)}, {_events}, {_id}"] = streamable(
                _said, header=_header, session=_id, events=_events
            )


TRACES["2025-11-25 Streamable HTTP, polled"] = polled()


@pytest.mark.parametrize("name", TRACES)
def test_nobody_is_accused(name: str) -> None:
    assert told(TRACES[name]) == []


@pytest.mark.parametrize("name", TRACES)
def test_nobody_is_accused_where_the_trace_is_cut_off(name: str) -> None:
    rows = TRACES[name]
    for number in range(1, len(rows), 11):
        for cut in (rows[number:], rows[:number]):
            # Of whom the first request is, in a trace that begins with one, only the client knows.
            assert [one for one in told(cut) if "initialize-is-first" not in one] == []


def _without(rows: Sequence[Row], side: str, *names: str) -> list[Row]:
    return [
        {name: value for name, value in row.items() if row["from"] != side or name not in names}
        for row in rows
    ]


@pytest.mark.parametrize("name", TRACES)
def test_nobody_is_accused_where_the_trace_shows_less(name: str) -> None:
    rows = TRACES[name]
    for side in ("client", "server"):
        assert told([row for row in rows if row["from"] == side]) == []
        for names in (("headers",), ("status",), ("t_ms",), ("headers", "status", "t_ms")):
            assert told(_without(rows, side, *names)) == []


def test_what_is_wrong_in_such_a_session_is_found() -> None:
    for name, rows in TRACES.items():
        if "polled" in name:
            continue
        wrong = json.loads(json.dumps(rows).replace('"progress": 0.5', '"progress": 0.25'))
        wrong = json.loads(json.dumps(wrong).replace('\\"progress\\": 0.5', '\\"progress\\": 0.25'))
        rules = {one.rule for one in audit(wrong).broken}
        assert rules == ({"progress-rises"} if wrong != rows else set()), name


HEAD = {"MCP-Protocol-Version": "2025-11-25", "MCP-Session-Id": "5f0c-77aa"}


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (request(9, "ping"), "ping-answered-with-empty-result"),
        (request(9, "tools/list"), "error-repeats-id"),
        (notice("notifications/cancelled", {"requestId": 5}), "cancellation-invalid-is-ignored"),
    ],
)
def test_who_refuses_a_head_is_not_blamed_for_what_stands_in_the_body(message: Row, rule: str) -> None:
    said = [*handshake("2025-11-25", {}, {"tools": {}}), *client(request(5, "tools/list"))]
    session = streamable(
        [*said, *server(result(5, tools=[]))],
        header="2025-11-25",
        session="5f0c-77aa",
        events=False,
        deleted=False,
    )
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Bad Request"}}
    for lacking in ("MCP-Protocol-Version", "MCP-Session-Id", ""):
        head = {name: value for name, value in HEAD.items() if name != lacking}
        asked = {
            "from": "client",
            "transport": "http",
            "exchange": "z",
            "headers": {**JSON_AND_EVENTS, **head},
        }
        refused = {"from": "server", "transport": "http", "exchange": "z", "status": 400, "message": refusal}
        report = audit([*session, {**asked, "message": message}, refused])
        blamed = [one for one in report.findings if one.level != "note" and one.party == "server"]
        assert (rule in {one.rule for one in blamed}) == (lacking == "")
        assert not lacking or blamed == []


def test_two_sessions_of_one_connection_have_ids_and_tokens_of_their_own() -> None:
    said = [
        *handshake("2025-11-25", {}, {"tools": {}}),
        *client(request(1, "tools/call", {"name": "horn", "_meta": {"progressToken": 1}})),
        *server(notice("notifications/progress", {"progressToken": 1, "progress": 1})),
        *server(request(1, "ping")),
        *client(result(1)),
        *server(notice("notifications/progress", {"progressToken": 1, "progress": 2})),
        *server(result(1, content=[])),
    ]
    one, other = (
        streamable(said, header="2025-11-25", session=id, deleted=False) for id in ("5f0c-77aa", "01b2-9d3e")
    )
    rows: list[Row] = []
    for row, second in zip(one, other, strict=True):
        rows += [row, {**second, "exchange": f"second {second['exchange']}"}]
    report = audit(rows)
    assert [one for one in report.findings if one.level != "note"] == []
    # Told apart by nothing but the session, and still each in its own order.
    wrong = [
        {**row, "message": notice("notifications/progress", {"progressToken": 1, "progress": 1})}
        if row.get("message", {}).get("params", {}).get("progress") == 2 and "second" in row["exchange"]
        else row
        for row in rows
    ]
    assert {one.rule for one in audit(wrong).broken} == {"progress-rises"}


def test_a_fraction_where_only_one_of_the_schemas_wants_a_whole_number_is_a_note() -> None:
    said = [
        *handshake("2025-11-25", {}, {"resources": {}}),
        *client(request(1, "resources/list")),
        *server(result(1, resources=[{"uri": "harbour:///berths", "name": "berths", "size": 1.5}])),
        *client(request(2, "resources/list")),
        *server(result(2, resources=[{"uri": "harbour:///berths", "name": 3, "size": 1.5}])),
    ]
    levels = [(one.rule, one.level) for one in audit(stdio(said)).findings]
    assert levels == [("body-fits-its-schema", "note"), ("body-fits-its-schema", "MUST")]


def test_members_of_later_revisions_and_unknown_ones_are_taken() -> None:
    later = {"title": "T", "icons": [{"src": "https://harbour.example/i.png"}], "future": {"x": [1]}}
    for revision in SESSIONS:
        said = [
            *handshake(
                revision,
                {"elicitation": {}, "tasks": {}, "future": {}, "extensions": {"example.harbour/x": {}}},
                {"tools": {"future": 1}, "completions": {}, "tasks": {}, "prompts": {}, "future": {"x": 1}},
                more=later,
            ),
            *client(request(1, "tools/list", {"future": 1})),
            *server(
                result(
                    1,
                    tools=[
                        {
                            "name": "horn",
                            "inputSchema": {"type": "object"},
                            "annotations": {"readOnlyHint": True, "future": 1},
                            "execution": {"taskSupport": "forbidden"},
                            **later,
                        }
                    ],
                    future=1,
                )
            ),
            *client(request(2, "tools/call", {"name": "horn", "arguments": {}, "future": 1})),
            *server(
                result(
                    2,
                    content=[
                        {
                            "type": "text",
                            "text": '{"a": 1}',
                            "future": 1,
                            "annotations": {"lastModified": "2025-01-01"},
                        }
                    ],
                    structuredContent={"a": 1},
                )
            ),
            *client(request(3, "prompts/list", {})),
            *server(result(3, prompts=[{"name": "p", "arguments": [{"name": "a", **later}], **later}])),
            *client(request(4, "harbour/own", {"a": 1})),
            *server(result(4, anything=[1])),
            *server(notice("notifications/harbour/own")),
            *client(notice("harbour/note", {"b": 1})),
        ]
        assert told(stdio(said)) == [], revision


@pytest.mark.parametrize(
    "receipt",
    [
        {"status": 200, "raw": "ok"},
        {"status": 204},
        {"status": 202, "raw": "null", "headers": {"Content-Type": "application/json"}},
        {"status": 202, "raw": "{}", "headers": {"Content-Type": "application/json"}},
    ],
    ids=lambda one: str(one["status"]) + one.get("raw", ""),
)
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18"])
def test_the_first_transport_says_nothing_of_how_a_post_is_answered(revision: str, receipt: Row) -> None:
    rows: list[Row] = []
    for row in http_and_sse(SESSIONS[revision]()):
        is_receipt = row.get("raw") == "Accepted"
        kept = {name: value for name, value in row.items() if name not in ("raw", "headers", "status")}
        rows.append({**kept, **receipt} if is_receipt else row)
    posts = [row for row in rows if row["exchange"] != "sse"]
    stream = [row for row in rows if row["exchange"] == "sse"]
    spaced = [
        {**row, "raw": row["raw"].replace("event: ", "event:").replace("\n", "\r\n")}
        if row.get("raw", "").startswith("event")
        else row
        for row in rows
    ]
    unnamed = [{name: value for name, value in row.items() if name != "exchange"} for row in rows]
    for trace in (rows, rows[2:], posts, stream, spaced, unnamed):
        assert told(trace) == []


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "harbour-client", "version": "0.3"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize("revision", SESSIONS)
@pytest.mark.parametrize("code", [-32601, -32602, -32600, None])
def test_a_modern_probe_before_the_handshake_changes_nothing(revision: str, code: int | None) -> None:
    probe = client(request("probe", "server/discover", {"_meta": MODERN}))
    refusal = [] if code is None else server(error("probe", code, "Not initialized"))
    assert told(stdio([*probe, *refusal, *SESSIONS[revision]()])) == []


def test_an_array_in_a_trace_that_shows_no_revision_is_not_said_to_be_of_one() -> None:
    (found,) = (
        one
        for one in audit([{"from": "client", "message": [request(1, "ping")]}]).findings
        if one.rule == "message-is-no-batch"
    )
    assert found.level == "note"
    assert "only 2025-03-26 has batches. The trace does not show which revision this is" in found.message
