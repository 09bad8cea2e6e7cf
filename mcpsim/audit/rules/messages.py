"""The form of one message: an object, of one of the four shapes of JSON-RPC 2.0.

What is JSON and no message is told here, on every transport. What is no JSON: see
`mcpsim.audit.rules.encoding` and the rules of stdio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from mcpsim.audit.model import Connection, Item
from mcpsim.audit.rule import ALL, MUST, NOTE, Found, Rule, each, items
from mcpsim.audit.rules.envelopes import (
    NOTHING,
    Members,
    is_echo,
    is_meant_as_message,
    is_object,
    is_of_stream,
    is_whole_float,
    members,
    on_both,
)
from mcpsim.eras.revisions import BATCHING_REVISIONS, SILENT_ABOUT_BATCHES
from mcpsim.messages import is_request_id
from mcpsim.recording.words import show

Fault = Callable[[Members], "str | None"]
Of = Callable[[Fault], Callable[[Item], Iterator[Found]]]

SHAPES: Final = frozenset({"method", "result", "error"})
PAGE: Final = "basic/index#messages"
REQUESTS: Final = "basic/index#requests"
RESULTS: Final = "basic/index#result-responses"
ERRORS: Final = "basic/index#error-responses"


def _in_object(fault: Fault) -> Callable[[Item], Iterator[Found]]:
    """A check of what is an object and no message."""

    def check(item: Item) -> Iterator[Found]:
        sentence = fault(item.value) if is_object(item.value) and is_meant_as_message(item) else None
        if sentence is not None:
            yield Found(item, sentence)

    return check


def _in_answer(fault: Fault) -> Callable[[Item], Iterator[Found]]:
    """The same, of what answers: an id that comes back as it was sent is the fault of whoever chose it."""
    check = _in_object(fault)
    return lambda item: iter(()) if is_echo(item) or _is_of_notification(item) else check(item)


def _is_of_notification(item: Item) -> bool:
    """Whether it answers a notification over HTTP, which another rule tells."""
    exchange = item.exchange
    first = None if exchange is None or item.sender == "client" else exchange.request
    return first is not None and first.kind == "notification"


def _in_message(fault: Fault) -> Callable[[Item], Iterator[Found]]:
    """The same, of what is no line of a log."""
    check = _in_object(fault)
    return lambda item: iter(()) if _is_line(item) else check(item)


def _no_object(item: Item) -> Iterator[Found]:
    if not is_meant_as_message(item) or _is_line(item):
        return
    if item.batch is not None and not is_object(item.value):
        yield Found(item, f"A member of this batch is {show(item.value)}, and no message.")
    elif item.value == []:
        yield Found(item, "An empty array stands where a message should be: one JSON object.")
    elif not is_object(item.value):
        yield Found(item, f"{show(item.value)} stands where a message should be: one JSON object.")


def _version(message: Members) -> str | None:
    if SHAPES.isdisjoint(message) or message.get("jsonrpc") == "2.0":
        return None
    if "jsonrpc" not in message:
        return 'The member `jsonrpc` is missing; every message has "jsonrpc": "2.0".'
    return f'`jsonrpc` is {show(message["jsonrpc"])}; it must be the string "2.0".'


def _is_line(item: Item) -> bool:
    """Whether a line of stdio is some JSON that has nothing of a message, as a line of a log."""
    if item.is_http or item.batch is not None or isinstance(item.value, list):
        return False
    return SHAPES.isdisjoint(members(item.value)) and "jsonrpc" not in members(item.value)


def _line(item: Item) -> Iterator[Found]:
    if _is_line(item):
        where = "its stdout" if item.sender == "server" else "the server's stdin"
        yield Found(
            item,
            f"The {item.party} writes {show(item.value)} to {where}. It is JSON, but no message, and "
            "only messages stand there.",
            hint="Write lines of a log to stderr.",
        )


def _shape(message: Members) -> str | None:
    if SHAPES.isdisjoint(message):
        return f"{show(message)} has no `method`, `result` or `error`, so it is no message."
    both = "result" if "result" in message else "error"
    if "method" in message and both in message:
        return f"`method` and `{both}` stand in one message; it can be a request or a response, not both."
    return None


def _both(message: Members) -> str | None:
    if "result" not in message or "error" not in message:
        return None
    what = " (as null, which counts as well)" if message["error"] is None else ""
    return f"`result` and `error`{what} stand in one response; it must have exactly one of them."


def _method(message: Members) -> str | None:
    if "method" not in message or isinstance(message["method"], str):
        return None
    return f"`method` is {show(message['method'])}; it must be a string."


def _null_id(message: Members) -> str | None:
    if "method" not in message or "id" not in message or message["id"] is not None:
        return None
    return (
        f"The `id` of this {show(message['method'])} is null. A request needs a string or an integer, and a "
        "notification has no `id` at all."
    )


def _wrong_id(message: Members) -> str | None:
    id = message.get("id")
    if "method" not in message or id is None or is_request_id(id) or is_whole_float(id):
        return None
    return f"The `id` of this request is {show(id)}; it must be a string or an integer."


def _params(message: Members) -> str | None:
    if "method" not in message or "params" not in message or isinstance(message["params"], dict):
        return None
    if isinstance(message["params"], list):
        return "`params` is an array, as JSON-RPC allows; in MCP it must be an object."
    return f"`params` is {show(message['params'])}; it must be an object, or be left out."


def _id_of_result(message: Members) -> str | None:
    if "result" not in message or "method" in message or "error" in message:
        return None
    if "id" not in message:
        return "This result has no `id`, so nobody can tell what it answers; it must repeat its request's."
    id = message["id"]
    if is_request_id(id) or is_whole_float(id):
        return None
    return f"The `id` of this result is {show(id)}; it must repeat the id of its request."


def _result(message: Members) -> str | None:
    if "result" not in message or "method" in message or "error" in message:
        return None
    if isinstance(message["result"], dict):
        return None
    return f"`result` is {show(message['result'])}; it must be an object, if only an empty one."


def _id_of_error(message: Members) -> str | None:
    id = message.get("id")
    if "error" not in message or "method" in message or "result" in message:
        return None
    if id is None or is_request_id(id) or is_whole_float(id):
        return None
    return f"The `id` of this error is {show(id)}; it must repeat the id of its request."


def _error(message: Members) -> str | None:
    if "error" not in message or "method" in message or "result" in message:
        return None
    if not isinstance(message["error"], dict):
        return f"`error` is {show(message['error'])}; it must be an object with `code` and `message`."
    error = members(message["error"])
    missing = [name for name in ("code", "message") if name not in error]
    if missing:
        return f"`error` has no `{'` and no `'.join(missing)}`; it must have `code` and `message`."
    if not isinstance(error["message"], str):
        return f"The `message` of the error is {show(error['message'])}; it must be a string."
    return None


def _code(item: Item) -> Iterator[Found]:
    error = members(members(item.value).get("error")) if is_meant_as_message(item) else NOTHING
    code = error.get("code")
    if "code" not in error or (isinstance(code, int) and not isinstance(code, bool)):
        return
    if is_whole_float(code):
        yield Found(
            item,
            f"The `code` of this error is written {show(code)}. As a number that is whole, but many readers "
            "take only what is written without a fraction.",
            level=NOTE,
        )
        return
    yield Found(item, f"The `code` of this error is {show(code)}; it must be an integer.")


def _batches(connection: Connection) -> Iterator[Found]:
    asked = False
    for item in connection.items:
        if item.kind != "batch":
            continue
        answers = (
            item.sender == "server" and asked and not any("method" in members(one) for one in item.value)
        )
        asked = asked or item.sender == "client"
        for found in _batch(item):
            # Who is asked in an array has nothing better to answer with, if it does not refuse.
            yield replace(found, level=NOTE) if answers else found


def _batch(item: Item) -> Iterator[Found]:
    # Of the bodies of HTTP other rules say it.
    in_body = item.is_http and not is_of_stream(item)
    if item.revision in BATCHING_REVISIONS:
        if any(members(one).get("method") == "initialize" for one in item.value):
            # https://modelcontextprotocol.io/specification/2025-03-26/basic/lifecycle#initialization
            yield Found(
                item,
                "initialize stands in an array; in the one revision that has batches it must be sent alone, "
                "for nothing else can be sent before it is answered.",
                hint="Send initialize alone.",
            )
        return
    if in_body:
        return
    silent = item.revision in SILENT_ABOUT_BATCHES
    yield Found(
        item,
        "An array stands where one message should be; "
        + (
            "this revision does not speak of batches, and few take them."
            if silent
            else f"only {' and '.join(sorted(BATCHING_REVISIONS))} has batches."
        ),
        hint="Send each message by itself.",
        level=NOTE if silent else None,
    )


def _shape_rule(id: str, page: str, sentence: str, fault: Fault, of: Of = _in_object) -> Rule:
    return Rule(id, MUST, "sender", ALL, on_both(page), sentence, on=items("malformed"), check=of(fault))


MESSAGES: Final[tuple[Rule, ...]] = (
    Rule(
        "message-is-an-object",
        MUST,
        "sender",
        ALL,
        on_both(PAGE),
        "A message is one JSON object.",
        on=items("malformed"),
        check=_no_object,
    ),
    Rule(
        "message-is-no-batch",
        MUST,
        "sender",
        ALL,
        on_both(PAGE),
        "A message stands by itself, and not in an array with others.",
        on=each(Connection, among=("batch",)),
        check=_batches,
    ),
    Rule(
        "stdio-json-is-a-message",
        MUST,
        "sender",
        ALL,
        {"modern": "basic/transports/stdio", "legacy": "basic/transports#stdio"},
        "A line of JSON on stdin or stdout is a message.",
        on=items("malformed"),
        check=_line,
    ),
    _shape_rule("message-says-jsonrpc-2-0", PAGE, 'Every message has "jsonrpc": "2.0".', _version),
    _shape_rule(
        "message-has-one-shape",
        PAGE,
        "A message is a request, a notification or a response.",
        _shape,
        _in_message,
    ),
    _shape_rule(
        "response-has-result-or-error", PAGE, "A response has a result or an error, not both.", _both
    ),
    _shape_rule("method-is-a-string", REQUESTS, "The method is a string.", _method),
    _shape_rule("request-id-is-not-null", REQUESTS, "The id of a request is not null.", _null_id),
    _shape_rule(
        "request-id-is-string-or-integer",
        REQUESTS,
        "The id of a request is a string or an integer.",
        _wrong_id,
    ),
    _shape_rule("params-is-an-object", REQUESTS, "The params of a message are an object.", _params),
    _shape_rule(
        "result-repeats-id", RESULTS, "A result has the id of its request.", _id_of_result, _in_answer
    ),
    _shape_rule("result-is-an-object", RESULTS, "A result is an object.", _result),
    _shape_rule(
        "error-id-is-string-or-integer",
        ERRORS,
        "The id of an error is that of a request.",
        _id_of_error,
        _in_answer,
    ),
    _shape_rule("error-has-code-and-message", ERRORS, "An error has a code and a message.", _error),
    Rule(
        "error-code-is-an-integer",
        MUST,
        "sender",
        ALL,
        on_both(ERRORS),
        "The code of an error is an integer.",
        on=items("malformed"),
        check=_code,
    ),
)
