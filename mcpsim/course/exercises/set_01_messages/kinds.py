"""Messages for the classifier: a table of kinds, the simple ones first, each made anew for every seed.

A kind is a message with one thing to see in it. What it is, is said in the table; the tests check that mcpsim
reads it so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.set_01_messages.twelve import (
    ENCODING,
    ERROR,
    ERRORS,
    MESSAGES,
    NOT_A_MESSAGE,
    NOT_JSON,
    NOTIFICATION,
    NOTIFICATIONS,
    REQUEST,
    REQUESTS,
    RESPONSES,
    RESULT,
    RESULTS,
)
from mcpsim.course.exercises.verdict import Rule

Members = dict[str, Any]
Make = Callable[[Random], bytes | Members]

ID: Final = Rule("A request MUST have a string or an integer as its id; null is not allowed.", REQUESTS)
ANY_STRING_OR_INTEGER: Final = Rule(
    "A request MUST have a string or an integer as its id. 0 and the empty string are that.", REQUESTS
)
NO_ID: Final = Rule("A notification MUST NOT have an id; a request MUST have one.", NOTIFICATIONS)
ONE_OF_TWO: Final = Rule("A response holds either a result or an error, and no method.", RESPONSES)
RESULT_ID: Final = Rule("A result response MUST have the id of the request that it answers.", RESULTS)
RESULT_OBJECT: Final = Rule("A result response MUST have a `result`, and that is an object.", RESULTS)
ERROR_ID: Final = Rule(
    "An error response MUST have the id of its request, except where the request could not be read. "
    "JSON-RPC writes null then, and the schema of MCP leaves the id out; we read both as an error.",
    ERRORS,
)
ERROR_OBJECT: Final = Rule(
    "An error response MUST have an `error` with a `code` and a `message`; the code MUST be an integer.",
    ERRORS,
)
VERSION: Final = Rule('JSON-RPC 2.0: every message has a field `jsonrpc` with the value "2.0".', MESSAGES)
PARAMS: Final = Rule("The `params` of a message are an object, or are left out.", REQUESTS)
METHOD: Final = Rule("The `method` of a message is a string.", REQUESTS)
SHAPE: Final = Rule("A message is one object: a request, a response or a notification.", MESSAGES)
OUTERMOST: Final = Rule(
    "Only the fields of the outermost object make the shape; fields that JSON-RPC does not name are ignored.",
    MESSAGES,
)
UTF_8: Final = Rule("JSON-RPC messages MUST be encoded in UTF-8.", ENCODING)
JSON: Final = Rule("Every message MUST follow JSON-RPC 2.0, and so must be JSON.", MESSAGES)
NAN: Final = Rule("JSON has no NaN and no Infinity. Python's `json` reads them all the same.", MESSAGES)
TWICE: Final = Rule(
    "Our reading, because no page says it: a field that stands twice is not readable JSON. RFC 8259 calls "
    "what happens then unpredictable, so the two sides could read two different messages.",
    MESSAGES,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """One row.

    Attributes:
        what: what there is to see, to follow the words "it has".
        word: what it is.
        make: makes one; an object is written as JSON, with its fields in any order.
        rule: what decides.
    """

    what: str
    word: str
    make: Make
    rule: Rule


def _id(rng: Random) -> str | int:
    return rng.choice([rng.randrange(1, 10_000), f"req-{rng.randrange(1_000)}", -rng.randrange(1, 9)])


def _method(rng: Random) -> str:
    return rng.choice(["tools/list", "tools/call", "resources/read", "prompts/get", "server/discover"])


def _note(rng: Random) -> str:
    return rng.choice(["notifications/progress", "notifications/cancelled", "notifications/message"])


def _params(rng: Random) -> Members:
    return {"name": rng.choice(["find", "count", "café"]), "arguments": {"n": rng.randrange(100)}}


def _request(rng: Random, **changes: Any) -> Members:
    return {"jsonrpc": "2.0", "id": _id(rng), "method": _method(rng), **changes}


def _notification(rng: Random, **changes: Any) -> Members:
    return {"jsonrpc": "2.0", "method": _note(rng), **changes}


def _result(rng: Random, **changes: Any) -> Members:
    return {"jsonrpc": "2.0", "id": _id(rng), "result": {"resultType": "complete"}, **changes}


def _error(rng: Random, **changes: Any) -> Members:
    code = rng.choice([-32601, -32602, -32603, 17])
    return {"jsonrpc": "2.0", "id": _id(rng), "error": {"code": code, "message": "No."}, **changes}


def _without(members: Members, key: str) -> Members:
    return {name: value for name, value in members.items() if name != key}


def _fault(rng: Random, **error: Any) -> Members:
    return _error(rng, error=error)


def _text(members: Members) -> str:
    return json.dumps(members, ensure_ascii=False)


def _cut(rng: Random) -> bytes:
    data = _text(_request(rng)).encode()
    return data[: rng.randrange(1, len(data) - 1)]


def _twice(rng: Random) -> bytes:
    name, first, second = rng.choice(
        [("id", "1", "2"), ("method", '"tools/list"', '"tools/call"'), ("jsonrpc", '"2.0"', '"2.0"')]
    )
    rest = _text(_without(_request(rng), name))
    return f'{{"{name}":{first},{rest[1:-1]},"{name}":{second}}}'.encode()


def _number(rng: Random) -> bytes:
    name = rng.choice(["NaN", "Infinity", "-Infinity"])
    return _text(_request(rng, params={"n": 0})).replace('"n": 0', f'"n": {name}').encode()


def _latin_1(rng: Random) -> bytes:
    return _text(_request(rng, params={"place": "Café Zoë"})).encode("latin-1")


KINDS: Final[tuple[Kind, ...]] = (
    Kind("a method and an id", REQUEST, lambda rng: _request(rng), ID),
    Kind("a method, an id and params", REQUEST, lambda rng: _request(rng, params=_params(rng)), ID),
    Kind("a method and no id", NOTIFICATION, lambda rng: _notification(rng), NO_ID),
    Kind(
        "a method, params and no id", NOTIFICATION, lambda rng: _notification(rng, params=_params(rng)), NO_ID
    ),
    Kind("a result and an id", RESULT, lambda rng: _result(rng), RESULT_ID),
    Kind("an error and an id", ERROR, lambda rng: _error(rng), ERROR_OBJECT),
    Kind("the id 0", REQUEST, lambda rng: _request(rng, id=0), ANY_STRING_OR_INTEGER),
    Kind('the id ""', REQUEST, lambda rng: _request(rng, id=""), ANY_STRING_OR_INTEGER),
    Kind("a result for the id 0", RESULT, lambda rng: _result(rng, id=0), ANY_STRING_OR_INTEGER),
    Kind("an empty result", RESULT, lambda rng: _result(rng, result={}), RESULT_OBJECT),
    Kind("a tool error", RESULT, lambda rng: _result(rng, result={"isError": True}), ONE_OF_TWO),
    Kind("an error without an id", ERROR, lambda rng: _without(_error(rng), "id"), ERROR_ID),
    Kind("an error whose id is null", ERROR, lambda rng: _error(rng, id=None), ERROR_ID),
    Kind("an error whose code is 0", ERROR, lambda rng: _fault(rng, code=0, message=""), ERROR_OBJECT),
    Kind(
        'a "result" among its arguments',
        REQUEST,
        lambda rng: _request(rng, params={"arguments": {"result": {}, "error": {}}}),
        OUTERMOST,
    ),
    Kind(
        'an "id" among its params', NOTIFICATION, lambda rng: _notification(rng, params={"id": 7}), OUTERMOST
    ),
    Kind("a field that JSON-RPC does not name", REQUEST, lambda rng: _request(rng, trace="t-1"), OUTERMOST),
    Kind("an id that is null", NOT_A_MESSAGE, lambda rng: _request(rng, id=None), ID),
    Kind("an id that is a boolean", NOT_A_MESSAGE, lambda rng: _request(rng, id=rng.random() < 0.5), ID),
    Kind("an id that is a fraction", NOT_A_MESSAGE, lambda rng: _request(rng, id=1.5), ID),
    Kind("an id that is an array", NOT_A_MESSAGE, lambda rng: _request(rng, id=[1]), ID),
    Kind("a result without an id", NOT_A_MESSAGE, lambda rng: _without(_result(rng), "id"), RESULT_ID),
    Kind("a result whose id is null", NOT_A_MESSAGE, lambda rng: _result(rng, id=None), RESULT_ID),
    Kind("an error whose id is a boolean", NOT_A_MESSAGE, lambda rng: _error(rng, id=True), ERROR_ID),
    Kind(
        "a result and an error",
        NOT_A_MESSAGE,
        lambda rng: _result(rng, error={"code": 1, "message": ""}),
        ONE_OF_TWO,
    ),
    Kind("a method and a result", NOT_A_MESSAGE, lambda rng: _request(rng, result={}), ONE_OF_TWO),
    Kind("a result that is null", NOT_A_MESSAGE, lambda rng: _result(rng, result=None), RESULT_OBJECT),
    Kind("a result that is an array", NOT_A_MESSAGE, lambda rng: _result(rng, result=[]), RESULT_OBJECT),
    Kind("an error that is a string", NOT_A_MESSAGE, lambda rng: _error(rng, error="No."), ERROR_OBJECT),
    Kind("an error without a code", NOT_A_MESSAGE, lambda rng: _fault(rng, message="No."), ERROR_OBJECT),
    Kind("an error without a message", NOT_A_MESSAGE, lambda rng: _fault(rng, code=-32603), ERROR_OBJECT),
    Kind(
        "an error whose code is a string",
        NOT_A_MESSAGE,
        lambda rng: _fault(rng, code="-32603", message="No."),
        ERROR_OBJECT,
    ),
    Kind(
        "an error whose code is a fraction",
        NOT_A_MESSAGE,
        lambda rng: _fault(rng, code=1.5, message="No."),
        ERROR_OBJECT,
    ),
    Kind("no jsonrpc", NOT_A_MESSAGE, lambda rng: _without(_request(rng), "jsonrpc"), VERSION),
    Kind("a jsonrpc that is a number", NOT_A_MESSAGE, lambda rng: _request(rng, jsonrpc=2.0), VERSION),
    Kind(
        "the version 1.0 of JSON-RPC", NOT_A_MESSAGE, lambda rng: _notification(rng, jsonrpc="1.0"), VERSION
    ),
    Kind("params that are an array", NOT_A_MESSAGE, lambda rng: _request(rng, params=[1]), PARAMS),
    Kind("params that are null", NOT_A_MESSAGE, lambda rng: _notification(rng, params=None), PARAMS),
    Kind("a method that is a number", NOT_A_MESSAGE, lambda rng: _request(rng, method=7), METHOD),
    Kind(
        "neither method nor result nor error",
        NOT_A_MESSAGE,
        lambda rng: _without(_request(rng), "method"),
        SHAPE,
    ),
    Kind("nothing in it", NOT_A_MESSAGE, lambda rng: b"{}", SHAPE),
    Kind("only a string in it", NOT_A_MESSAGE, lambda rng: b'"method"', SHAPE),
    Kind("only null in it", NOT_A_MESSAGE, lambda rng: b"null", SHAPE),
    Kind(
        "an array around it (a batch)", NOT_A_MESSAGE, lambda rng: f"[{_text(_request(rng))}]".encode(), SHAPE
    ),
    Kind("no bytes", NOT_JSON, lambda rng: b"", JSON),
    Kind("its end cut off", NOT_JSON, _cut, JSON),
    Kind("words before the JSON", NOT_JSON, lambda rng: b"Listening: " + _text(_request(rng)).encode(), JSON),
    Kind("quotes that JSON does not have", NOT_JSON, lambda rng: repr(_request(rng)).encode(), JSON),
    Kind("bytes that are not UTF-8", NOT_JSON, _latin_1, UTF_8),
    Kind("bytes in UTF-16", NOT_JSON, lambda rng: _text(_request(rng)).encode("utf-16-le"), UTF_8),
    Kind("a number that JSON does not have", NOT_JSON, _number, NAN),
    Kind("a field that stands twice", NOT_JSON, _twice, TWICE),
)


def made(seed: int) -> Iterator[tuple[Kind, bytes]]:
    """One message of each kind, in the order of the table."""
    for kind in KINDS:
        # Keyed by what it is for, so that a new row does not change the messages of the others.
        rng = Random(f"{seed}:{kind.what}")
        value = kind.make(rng)
        if isinstance(value, bytes):
            yield kind, value
            continue
        names = list(value)
        rng.shuffle(names)
        indent = rng.choice([None, None, 1])
        text = json.dumps(
            {name: value[name] for name in names}, ensure_ascii=rng.random() < 0.5, indent=indent
        )
        yield kind, text.encode()
