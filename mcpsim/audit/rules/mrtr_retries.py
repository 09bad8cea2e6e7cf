"""Multi round-trip requests: what the retry brings, and what the server makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from pydantic import ValidationError

from mcpsim.audit.model import Call, Item
from mcpsim.audit.questions import ASKERS, RETRYING, answers, asks, mapping, retried, sequence
from mcpsim.audit.rule import MODERN, MUST, NOTE, SHOULD, Found, Rule, calls
from mcpsim.eras.asking import parse_response
from mcpsim.errors import INVALID_PARAMS, INVALID_REQUEST, RESERVED_CODES
from mcpsim.recording.words import show

_PAGE: Final = "basic/patterns/mrtr"
_CLIENT: Final[Mapping[Any, str]] = {"modern": f"{_PAGE}#client-requirements-basic-workflow"}
_ERRORS: Final[Mapping[Any, str]] = {"modern": f"{_PAGE}#error-handling"}
_RESPONSES: Final[Mapping[Any, str]] = {"modern": f"{_PAGE}#inputresponses"}


def _new_id(call: Call) -> Iterator[Found]:
    asked = retried(call)
    if asked is None:
        return
    rounds = call.rounds
    first = asked if rounds is None else rounds.calls[0]
    id = call.request.id
    same = (one for one in (asked, first) if one.connection is call.connection)
    if any(type(one.request.id) is type(id) and one.request.id == id for one in same):
        yield Found(
            call.request,
            f"The retry has the id {show(id)} of the request that it repeats; it is a request of its own.",
            hint="Give each retry a new id.",
        )


def _all_answered(call: Call) -> Iterator[Found]:
    asked = retried(call)
    if asked is None:
        return
    missing = _missing(asked, call)
    if missing:
        yield Found(
            call.request,
            f"The retry leaves {_listed(missing)} unanswered; every input request needs its answer.",
            hint="Decline and cancel are answers too.",
        )


def _missing(asked: Call, call: Call) -> list[str]:
    """The keys that a retry does not answer; [] where its `inputResponses` is no object at all."""
    responses = call.request.params.get("inputResponses", {})
    if not isinstance(responses, dict):
        return []
    given = cast("dict[str, Any]", responses)
    return [key for key in mapping(asked.result.get("inputRequests")) if key not in given]


def _unknown(asked: Call, call: Call) -> list[str]:
    known = mapping(asked.result.get("inputRequests"))
    return [key for key in mapping(call.request.params.get("inputResponses")) if key not in known]


def _listed(keys: list[str]) -> str:
    shown = ", ".join(map(show, keys[:_KEYS_SHOWN]))
    return shown if len(keys) <= _KEYS_SHOWN else f"{shown} and {len(keys) - _KEYS_SHOWN} more"


_KEYS_SHOWN: Final = 5


def _only_what_was_asked(call: Call) -> Iterator[Found]:
    asked = retried(call)
    if asked is None:
        return
    unknown = _unknown(asked, call)
    if unknown:
        yield Found(
            call.request,
            f"inputResponses has {_listed(unknown)}, which nobody asked for in the result before it.",
            hint="The keys are those of inputRequests.",
        )


def _answer_fits(call: Call) -> Iterator[Found]:
    for answer in answers(call):
        fault = _fault_of(answer.question.method, call.revision, answer.value)
        if fault:
            yield Found(
                call.request,
                f"{answer.name} is no result of {answer.question.method}: {fault}.",
            )


def _fault_of(method: str, revision: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"it is {show(value)}, and not an object"
    try:
        parse_response(method, revision, cast("dict[str, Any]", value))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        # That a root is no file has a rule of its own.
        faults = [one for one in faults if method != "roots/list" or one["loc"][-1:] != ("uri",)]
        if not faults:
            return ""
        one = faults[0]
        # A union names the models that it tried; what the member is called comes after them.
        path = ".".join(str(part) for part in one["loc"] if not str(part)[:1].isupper())
        return f"{show(path)[1:-1] or 'it'}: {one['msg']}"
    except KeyError:
        return ""
    return ""


def _error_text(item: Item) -> str:
    if item.kind == "response":
        texts = (mapping(block).get("text") for block in sequence(item.result.get("content")))
        return " ".join(text for text in texts if isinstance(text, str))[:2_000]
    error = mapping(mapping(item.value).get("error"))
    return f"{show(error.get('message'), 2_000)} {show(error.get('data'), 2_000)}"


def _names(text: str, keys: list[str]) -> bool:
    """Whether a text has one of these keys in it, as a word."""
    return any(key and re.search(rf"\b{re.escape(key)}\b", text) for key in keys[:_KEYS_LOOKED_FOR])


_KEYS_LOOKED_FOR: Final = 50


def _asks_again(call: Call) -> Iterator[Found]:
    asked, answer = retried(call), call.answer
    if (
        asked is None
        or answer is None
        or (answer.kind != "error" and answer.result.get("isError") is not True)
    ):
        return
    missing = _missing(asked, call)
    if not missing or call.request.params.get("requestState") != asked.result.get("requestState"):
        return
    text = _error_text(answer)
    named = _names(text, missing)
    if named or answer.code in (INVALID_PARAMS, INVALID_REQUEST):
        why = "" if named else ", probably for that reason"
        error = "a tool error" if answer.code is None else f"error {answer.code}"
        yield Found(
            answer,
            f"The retry lacked {_listed(missing)}, and the server gives up with {error}{why}; it should ask "
            "again for what is missing.",
            hint="Answer with a new input_required result that asks for the rest.",
        )


def _ignores_unknown(call: Call) -> Iterator[Found]:
    asked, answer = retried(call), call.answer
    if asked is None or answer is None or answer.kind != "error" or answer.code in RESERVED_CODES:
        return
    unknown = _unknown(asked, call)
    if not unknown or _missing(asked, call):
        return
    if call.request.params.get("requestState") != asked.result.get("requestState"):
        return
    text = _error_text(answer)
    if _names(text, unknown):
        yield Found(
            answer,
            f"The server refuses the retry because of {_listed(unknown)} in inputResponses; it should ignore "
            "what it does not know or need.",
        )
    elif answer.code == INVALID_PARAMS and not any(_answer_fits(call)):
        yield Found(
            answer,
            f"The server refuses the retry, probably because of {_listed(unknown)} in inputResponses; it "
            "should ignore what it does not know or need.",
            level=NOTE,
        )


def _refuses_invalid(call: Call) -> Iterator[Found]:
    asked, answer = retried(call), call.answer
    if asked is None or answer is None or answer.kind != "response" or asks(answer):
        return
    responses = call.request.params.get("inputResponses", {})
    if not isinstance(responses, dict):
        fault = f"inputResponses was {show(responses)}, and no object"
    else:
        wrong = next(iter(_answer_fits(call)), None)
        if wrong is None:
            return
        fault = wrong.message.rstrip(".")
    yield Found(
        answer,
        f"The server went on with answers that it cannot have read. {fault}.",
        hint="Check inputResponses first; answer what is not valid with error -32602, or ask again.",
    )


MRTR_RETRIES: Final[tuple[Rule, ...]] = (
    Rule(
        "mrtr-retry-has-a-new-id",
        MUST,
        "client",
        MODERN,
        _CLIENT,
        "The retry has another id than the request that it repeats.",
        on=calls(*ASKERS, among=RETRYING),
        check=_new_id,
    ),
    Rule(
        "mrtr-all-answered",
        MUST,
        "client",
        MODERN,
        _CLIENT,
        "The retry answers every input request.",
        on=calls(*ASKERS, among=RETRYING),
        check=_all_answered,
    ),
    Rule(
        "mrtr-answers-only-what-was-asked",
        NOTE,
        "client",
        MODERN,
        _RESPONSES,
        "The keys of inputResponses are those of inputRequests.",
        on=calls(*ASKERS, among=RETRYING),
        check=_only_what_was_asked,
    ),
    Rule(
        "mrtr-answer-fits-its-question",
        MUST,
        "client",
        MODERN,
        _RESPONSES,
        "Each input response is a result of the input request with the same key.",
        on=calls(*ASKERS, among=RETRYING),
        check=_answer_fits,
    ),
    Rule(
        "mrtr-asks-again",
        SHOULD,
        "server",
        MODERN,
        _ERRORS,
        "What a retry leaves unanswered is asked for again, rather than met with an error.",
        on=calls(*ASKERS, among=RETRYING),
        check=_asks_again,
    ),
    Rule(
        "mrtr-unknown-answers-ignored",
        SHOULD,
        "server",
        MODERN,
        _ERRORS,
        "What a server does not recognize in inputResponses it ignores.",
        on=calls(*ASKERS, among=RETRYING),
        check=_ignores_unknown,
    ),
    Rule(
        "mrtr-invalid-answers-refused",
        SHOULD,
        "server",
        MODERN,
        _ERRORS,
        "A server checks inputResponses before it goes on.",
        on=calls(*ASKERS, among=RETRYING),
        check=_refuses_invalid,
    ),
)
