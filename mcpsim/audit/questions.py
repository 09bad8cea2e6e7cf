"""Every question to a client, and every answer of it, in one form for both eras.

A legacy server asks with a request of its own, and the client answers it. A modern server asks inside of an
`input_required` result, and the client answers in the retry of its request.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mcpsim.audit.model import Call, Connection, Item, Rounds
from mcpsim.audit.once import once
from mcpsim.eras.methods import METHODS
from mcpsim.messages.meta import CLIENT_CAPABILITIES
from mcpsim.recording.words import show

Json = Mapping[str, Any]

#: What a server may ask of a client, and the capability that the client declares for it.
GROUPS: Final[Mapping[str, str]] = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
#: The requests of a client that may be answered by `input_required`.
ASKERS: Final = tuple(sorted({row.name for row in METHODS if row.may_ask}))
#: For `calls(...)`: all calls that may hold a question or an answer.
ASKING: Final = (*ASKERS, *GROUPS)
#: For `calls(..., among=...)`: what occurs in those that do hold one.
HOLDING: Final = ("inputRequests", "inputResponses", *GROUPS)
#: And in those that are the retry of another.
RETRYING: Final = ("inputResponses", "requestState")

# How far to look for the call that a retry belongs to, where the nearest one does not fit. More than so many
# calls that all wait for their user at the same time are not to be expected.
_NEAR: Final = 10
_NOTHING: Final[Json] = {}


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a client.

    Attributes:
        item: the message that it is in.
        call: legacy: the server's request; modern: the client's request that was answered with it.
        key: its key among the input requests; "" in the legacy era.
        method: "elicitation/create", "sampling/createMessage" or "roots/list".
        params: its params; {} without.
        capabilities: what the client declared; None where the trace does not show it.
    """

    item: Item
    call: Call
    key: str
    method: str
    params: Json
    capabilities: Json | None

    @property
    def revision(self) -> str:
        """The revision in which it was asked."""
        return self.item.revision

    @property
    def name(self) -> str:
        """What to call it in a sentence, with a capital."""
        return f"The input request {show(self.key)}" if self.key else f"This {self.method}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A client's answer to a question: what it says, and not an error.

    Attributes:
        question: the question.
        item: the message that it is in.
        call: the call that it is about: modern: the retry that brings it; legacy: the server's request.
        value: the answer as it stands there, whatever it is.
    """

    question: Question
    item: Item
    call: Call
    value: Any

    @property
    def result(self) -> Json:
        """The answer; {} where it is no object."""
        return mapping(self.value)

    @property
    def name(self) -> str:
        """What to call it in a sentence, with a capital."""
        key = self.question.key
        return f"The answer to {show(key)}" if key else f"This answer to {self.question.method}"


def mapping(value: Any) -> Json:
    """A JSON object; {} where it is something else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else _NOTHING


def sequence(value: Any) -> list[Any]:
    """A JSON array; [] where it is something else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def asks(item: Item | None) -> bool:
    """Whether this is a result that asks the client for input."""
    return item is not None and item.kind == "response" and item.result.get("resultType") == "input_required"


def declared(call: Call) -> Json | None:
    """What the client declared for a call; None where the trace does not show it."""
    if call.era == "modern":
        found = call.request.meta.get(CLIENT_CAPABILITIES)
    else:
        session = call.request.session
        found = None if session is None else session.initialize.request.params.get("capabilities")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def questions(call: Call) -> tuple[Question, ...]:
    """The questions that a call puts (legacy), or that it was answered with (modern)."""
    if call.method not in GROUPS and not asks(call.answer):
        return ()
    return _questions_of(call.connection, call)


@once
def _questions_of(_: Connection, call: Call) -> tuple[Question, ...]:
    return tuple(_find_questions(call))


def _find_questions(call: Call) -> Iterator[Question]:
    if call.method in GROUPS:
        if call.asked_by == "server":
            yield Question(call.request, call, "", call.method, call.request.params, declared(call))
        return
    answer = call.answer
    if answer is None or not asks(answer) or answer.era != "modern":
        return
    known = declared(call)
    for key, value in mapping(answer.result.get("inputRequests")).items():
        asked = mapping(value)
        method = asked.get("method")
        if isinstance(method, str) and method in GROUPS:
            yield Question(answer, call, key, method, mapping(asked.get("params")), known)


def answers(call: Call, method: str = "") -> Iterator[Answer]:
    """The answers that a call got (legacy), or that it brings (modern), to questions of one method or of any;
    without those of questions that the trace does not show."""
    if call.method in GROUPS:
        if method not in ("", call.method):
            return
        if call.asked_by == "server" and call.answer is not None and call.answer.kind == "response":
            for question in questions(call):
                yield Answer(question, call.answer, call, call.answer.result)
        return
    given = mapping(call.request.params.get("inputResponses"))
    # Which request it is the retry of takes longer to find than whether it has such an answer at all.
    if method and not any(_looks_like(method, value) for value in given.values()):
        return
    asked = asked_of(call) if given else None
    if asked is None:
        return
    for question in questions(asked):
        if question.key in given and method in ("", question.method):
            yield Answer(question, call.request, call, given[question.key])


def _looks_like(method: str, value: Any) -> bool:
    members = mapping(value)
    return any(name in members for name in _MARKS[method])


_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    "elicitation/create": ("action",),
    "sampling/createMessage": ("model", "role"),
    "roots/list": ("roots",),
}


def asked_of(call: Call) -> Call | None:
    """The call whose `input_required` result this one is the retry of; None where it is none, or where it
    cannot be told.

    Several calls of one tool may wait for their answers at the same time. The one that fits best in state and
    keys is taken, and of several the latest.
    """
    return None if call.rounds is None else _asked_of(call.connection, call)


@once
def _asked_of(_: Connection, call: Call) -> Call | None:
    rounds = call.rounds
    if rounds is None:
        return None
    before = _asking_before(rounds.calls, call)
    if before is not None and subject(before) != subject(call):
        return None
    if before is None or _fit(before, call) == _WHOLLY:
        return before
    best = before
    others = call.connection.rounds
    end = bisect_left(others, call.request.index, key=_first_answer)
    for other in others[max(0, end - _NEAR) : end]:
        found = None if other is rounds or other.method != call.method else _asking_before(other.calls, call)
        if found is not None and subject(found) == subject(call):
            best = max(best, found, key=lambda one: (*_fit(one, call), one.request.index))
    return best


def retried(call: Call) -> Call | None:
    """The call that this one is a retry of; None also where the transport changed what the client got."""
    asked = asked_of(call)
    return None if asked is None or asked.answer is None or asked.answer.disturbed else asked


def subject(call: Call) -> str:
    """The tool, prompt or resource that a call is about; "" where it names none."""
    params = call.request.params
    named = params.get("name", params.get("uri"))
    return named if isinstance(named, str) else ""


def _first_answer(rounds: Rounds) -> int:
    answer = rounds.calls[0].answer
    return -1 if answer is None else answer.index


def _asking_before(calls: list[Call], call: Call) -> Call | None:
    """The last of these that was answered by questions before `call` was sent."""
    at = call.request.index
    end = bisect_left(calls, at, key=lambda one: one.request.index)
    for place in range(end - 1, max(-1, end - 1 - _NEAR), -1):
        answer = calls[place].answer
        if answer is not None and asks(answer) and answer.index < at:
            return calls[place]
    return None


def _fit(asked: Call, call: Call) -> tuple[bool, bool]:
    """Whether a retry fits in state, and whether in keys."""
    result, params = asked.result, call.request.params
    keys = mapping(params.get("inputResponses")).keys()
    return (
        params.get("requestState") == result.get("requestState"),
        keys == mapping(result.get("inputRequests")).keys(),
    )


_WHOLLY: Final = (True, True)
