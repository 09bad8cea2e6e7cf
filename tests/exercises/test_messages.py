"""Exercises 01: messages. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from mcp_types import methods

from mcpsim import (
    ErrorResponse,
    MalformedMessage,
    Notification,
    Request,
    Response,
    read_message,
)
from mcpsim.course import exercises
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.set_01_messages.kinds import KINDS, made
from mcpsim.course.exercises.set_01_messages.twelve import TWELVE as SPECIMENS
from mcpsim.eras.revisions import LATEST_LEGACY
from mcpsim.errors import ERROR_CODES
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

TWELVE: Final = exercises.messages().twelve


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.messages


# --- 01, classify ---------------------------------------------------------------------------------

WORDS: Final = {
    "A": "request",
    "B": "notification",
    "C": "result",
    "D": "error",
    "E": "-32600",
    "F": "result",
    "G": "-32600",
    "H": "-32700",
    "I": "-32600",
    "J": "request",
    "K": "notification",
    "L": "-32700",
}


def classified(**changes: Any) -> dict[str, Any]:
    return {**WORDS, **changes}


CLASSIFY: Final = [
    ("classify", {letter: int(word) if word[0] == "-" else word for letter, word in WORDS.items()}),
    ("classify", dict(reversed(WORDS.items()))),
    # An id that is 0 or "" counts as none.
    (
        "classify",
        classified(A="notification"),
        "A is not 'notification'. It has a `method` and an `id`",
        "0 is",
    ),
    ("classify", classified(J="notification"), "J is not 'notification'", "empty string is a string"),
    ("classify", classified(E="notification"), "`id` whose value is null", "MUST NOT be null"),
    ("classify", classified(E="request"), "11 of 12 are right", "MUST NOT be null"),
    # A tool error is not an error, and an error is an error whatever code it carries.
    ("classify", classified(F="error"), "F is not 'error'", "Only a message with a field `error`"),
    ("classify", classified(D="-32600"), "the message is in order", "MUST have an `error`"),
    # What is JSON, and what is not.
    ("classify", classified(H="request"), "comma", "JSON has no trailing comma"),
    ("classify", classified(I="request"), "array", "A message is one object"),
    ("classify", classified(L="request"), "0xE9", "UTF-8"),
    ("classify", classified(G="error"), "a `result` and an `error`", "never both"),
    ("classify", classified(B="notificaton"), "B: 'notificaton' is none of the words", "The words are"),
    ("classify", classified(C=...), "11 of 12 are answered, and they are right", "Still open: C"),
    ("classify", {"A": "request"}, "no key B, C", "a dict with the keys"),
    ("classify", {**WORDS, "M": "request"}, "a key 'M'", "a dict with the keys"),
    ("classify", list(WORDS.values()), "The answer is ['request'", "a dict with the keys"),
]

# --- 01, repair -----------------------------------------------------------------------------------

REPAIRED: Final[dict[str, Any]] = {
    "E": '{"jsonrpc": "2.0", "id": 11, "method": "tools/list"}',
    "G": b'{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"Internal error"}}',
    "H": b'{"method":"tools/list","id":6,"jsonrpc":"2.0"}',
    "I": {"jsonrpc": "2.0", "id": 7, "method": "ping"},
    "L": '{"jsonrpc":"2.0","id":9,"method":"tools/call",'
    '"params":{"name":"find","arguments":{"place":"Café"}}}',
}


def repaired(**changes: Any) -> dict[str, Any]:
    return {**REPAIRED, **changes}


REPAIR: Final = [
    ("repair", REPAIRED),
    ("repair", repaired(L=json.dumps(json.loads(REPAIRED["L"])).encode())),
    (
        "repair",
        repaired(E=b'{"jsonrpc":"2.0","method":"tools/list"}'),
        "E is a notification now",
        "MUST NOT be",
    ),
    ("repair", repaired(E=TWELVE["E"].replace(b"null", b'"11"')), "E has the id '11'", "never the same"),
    ("repair", repaired(E=TWELVE["E"].replace(b"null", b"1")), "E has the id 1", "never the same"),
    ("repair", repaired(E=TWELVE["E"].replace(b"null", b"11.0")), "the number 11.0", "MUST NOT be null"),
    (
        "repair",
        repaired(G=b'{"jsonrpc":"2.0","id":5,"result":{}}'),
        "G is a result response now",
        "never both",
    ),
    ("repair", repaired(G=TWELVE["G"]), "`result` and `error` stand together", "never both"),
    (
        "repair",
        repaired(H=TWELVE["H"].replace(b",}", b"")),
        "H: This cannot be read as JSON",
        "JSON has no trailing",
    ),
    ("repair", repaired(I=TWELVE["I"]), "I: A batch is not one message", "one object"),
    (
        "repair",
        repaired(L=TWELVE["L"].decode("utf-8", "replace")),
        "L: `params` is {'arguments': {'place': 'Caf\ufffd'}",
        "UTF-8",
    ),
    ("repair", repaired(L=TWELVE["L"].replace(b"\xe9", b"e")), "'Cafe'", "leave the rest as it was"),
    (
        "repair",
        repaired(I={"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {}}),
        "`params`",
        "the rest",
    ),
    ("repair", repaired(L=...), "4 of 5 are answered", "Still open: L"),
    ("repair", repaired(H=6), "H: 6 is no message", "as bytes"),
    ("repair", repaired(I={"jsonrpc": "2.0", "id": {1}, "method": "ping"}), "no JSON value", "one object"),
]

# --- 01, classifier -------------------------------------------------------------------------------


def by_reading(data: bytes) -> int | str:
    try:
        message = read_message(data)
    except MalformedMessage as error:
        return error.code
    match message:
        case Request():
            return "request"
        case Notification():
            return "notification"
        case Response():
            return "result"
        case ErrorResponse():
            return "error"


def good_id(obj: Any) -> bool:
    return isinstance(obj.get("id"), (str, int)) and obj["id"] is not True and obj["id"] is not False


def by_hand(data: bytes, *, truthy_id: bool = False, loads: Callable[[bytes], Any] = json.loads) -> str:
    """Right but for what Python's json reads beyond JSON."""
    try:
        obj = loads(data)
    except ValueError:
        return "-32700"
    if type(obj) is not dict or obj.get("jsonrpc") != "2.0":
        return "-32600"
    method, result, error = ("method" in obj), ("result" in obj), ("error" in obj)
    if method + result + error != 1:
        return "-32600"
    if method:
        if type(obj["method"]) is not str or type(obj.get("params", {})) is not dict:
            return "-32600"
        if obj.get("id") if truthy_id else "id" in obj:
            return "request" if good_id(obj) else "-32600"
        return "notification"
    if result:
        return "result" if good_id(obj) and type(obj["result"]) is dict else "-32600"
    if (obj.get("id") is not None and not good_id(obj)) or type(obj["error"]) is not dict:
        return "-32600"
    code_is_integer = type(obj["error"].get("code")) is int
    return "error" if code_is_integer and type(obj["error"].get("message")) is str else "-32600"


def strict_utf_8(data: bytes) -> Any:
    return json.loads(data.decode("utf-8"))


def without_nan(data: bytes) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(name)

    return json.loads(data.decode("utf-8"), parse_constant=refuse)


def by_substring(data: bytes) -> str:
    for word, kind in ((b'"method"', "request"), (b'"result"', "result"), (b'"error"', "error")):
        if word in data:
            return kind if word != b'"method"' or b'"id"' in data else "notification"
    return "-32600"


def by_get(data: bytes) -> str:
    obj = json.loads(data)
    return "request" if obj["id"] else "notification"


def replaces_bad_bytes(data: bytes) -> str:
    return by_hand(data, loads=lambda raw: without_nan(raw.decode("utf-8", "replace").encode()))


def errors_need_an_id(data: bytes) -> str:
    word = by_reading(data)
    return "-32600" if word == "error" and not good_id(json.loads(data)) else str(word)


def forgets_to_return(data: bytes) -> str | None:
    word = str(by_reading(data))
    return word if word != "notification" else None


CLASSIFIER: Final = [
    ("classifier", by_reading),
    ("classifier", lambda data: str(by_reading(data))),
    ("classifier", lambda data: by_hand(data, truthy_id=True), "the id 0", "0 and the empty string are that"),
    ("classifier", by_hand, "bytes in UTF-16", "UTF-8"),
    ("classifier", lambda data: by_hand(data, loads=strict_utf_8), "a number that JSON does not have", "NaN"),
    ("classifier", lambda data: by_hand(data, loads=without_nan), "a field that stands twice", "Our reading"),
    ("classifier", replaces_bad_bytes, "bytes that are not UTF-8", "MUST be encoded in UTF-8"),
    ("classifier", by_substring, 'an "id" among its params', "outermost object"),
    ("classifier", errors_need_an_id, "an error without an id", "except where the request could not be read"),
    ("classifier", forgets_to_return, "`forgets_to_return` returned None", "end in a `return`"),
    ("classifier", by_get, "`by_get` raised KeyError: 'id' (in `by_get`, line", "Call it yourself"),
    ("classifier", lambda data: word_for_true(data), "an id that is a boolean", "string or an integer"),
    ("classifier", by_reading(TWELVE["A"]), "not a function: it is of type str", "the function itself"),
]


def word_for_true(data: bytes) -> str:
    """A right answer, but for booleans, which are ints in Python."""
    word = str(by_reading(data))
    if word == "-32600":
        obj = json.loads(data)
        if isinstance(obj, dict) and isinstance(obj.get("id"), bool) and "method" in obj:
            return "request"
    return word


ALL: Final = [*CLASSIFY, *REPAIR, *CLASSIFIER]


@pytest.mark.parametrize("seed", range(20))
def test_every_made_message_is_what_its_kind_says(seed: int) -> None:
    for kind, data in made(seed):
        assert str(by_reading(data)) == kind.word, (kind.what, data)


def test_the_kinds_hold_what_the_lesson_warns_of() -> None:
    messages = {kind.what: data for kind, data in made(1)}
    assert len(messages) == len(KINDS)
    assert {kind.word for kind in KINDS} == set(WORDS.values())
    assert b"NaN" in b"".join(data for seed in range(9) for _, data in made(seed))
    with pytest.raises(UnicodeDecodeError):
        messages["bytes that are not UTF-8"].decode()
    # What Python reads without a word, and we do not.
    for trap in ("a number that JSON does not have", "a field that stands twice", "bytes in UTF-16"):
        assert isinstance(json.loads(messages[trap]), dict)


def test_messages_depend_on_the_seed_and_on_nothing_else() -> None:
    once, again, other = (list(made(seed)) for seed in (1, 1, 2))
    assert once == again
    assert sum(one != two for one, two in zip(once, other, strict=True)) > len(KINDS) / 2


@pytest.mark.parametrize("letter", TWELVE)
def test_the_well_formed_ones_and_the_repaired_ones_are_valid_in_the_legacy_era(letter: str) -> None:
    specimen = SPECIMENS[letter]
    message = specimen.meant or read_message(specimen.data)
    match message:
        case Request(method=method, params=params):
            methods.validate_client_request(method, LATEST_LEGACY, params)
        case Notification(method=method, params=params):
            methods.validate_client_notification(method, LATEST_LEGACY, params)
        case Response(result=result):
            method = "tools/call" if "content" in result else "tools/list"
            methods.parse_server_result(method, LATEST_LEGACY, result)
        case ErrorResponse(code=code):
            assert code in ERROR_CODES
    assert (specimen.word[0] == "-") == (specimen.meant is not None)
