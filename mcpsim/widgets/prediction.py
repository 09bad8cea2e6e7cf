"""What comes next? For each message what there is to choose from, and why all but one of it cannot come.

A wrong choice breaks the protocol at that moment: it is sent by the wrong side, answers what nobody has
asked, or does not exist in this era. What might as well have come, such as the answer to another request that
is open, or an error in place of a result, is never among them; so the order of two messages that do not wait
for each other is never what decides. Of several equal notifications in a row only the first is asked about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from zlib import crc32

from mcpsim.eras.methods import METHODS, Method
from mcpsim.eras.pages import LEGACY, MODERN, spec_url
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS
from mcpsim.errors import (
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
)
from mcpsim.messages import ErrorResponse, Notification, Request, Response
from mcpsim.recording import Frame
from mcpsim.widgets.reading import ERROR, NOTIFICATION, REQUEST, Conversation, Reading
from mcpsim.widgets.steps import Step
from mcpsim.widgets.text import lane_name

RESULT: Final = "result"
#: A result that asks for input.
INPUT: Final = "input"

#: How many messages are asked about.
MAX_ASKED: Final = 2_000
_WRONG: Final = 3
_LEAST: Final = 2

_REVISIONS: Final[Mapping[str, frozenset[str]]] = {
    MODERN: frozenset(MODERN_REVISIONS),
    LEGACY: frozenset(LEGACY_REVISIONS),
}
# The rows of a method that is sent by itself, in the eras that a connection shows.
_ROWS: Final[Mapping[tuple[str, frozenset[str]], tuple[Method, ...]]] = {
    (name, eras): tuple(
        row
        for row in METHODS
        if row.name == name
        and row.kind != "input request"
        and any(row.revisions & _REVISIONS[era] for era in eras)
    )
    for name in {row.name for row in METHODS}
    for eras in (frozenset({MODERN}), frozenset({LEGACY}), frozenset({MODERN, LEGACY}))
}
# What there is by itself in the legacy era alone. Not `initialize`: a client may fall back to that era.
_ONLY_LEGACY: Final = tuple(
    row
    for row in METHODS
    if row.kind in (REQUEST, NOTIFICATION)
    and row.name != "initialize"
    and not any(one.name == row.name and one.revisions & _REVISIONS[MODERN] for one in METHODS)
)
_NAMES: Final = frozenset(row.name for row in METHODS)
# Errors that had to come: no result could have been right.
_NO_RESULT: Final[Mapping[int, str]] = {
    METHOD_NOT_FOUND: "the server does not have this method",
    UNSUPPORTED_VERSION: "the server does not speak the version of the request",
    HEADER_MISMATCH: "a header does not say what the body says",
    MISSING_CLIENT_CAPABILITY: "the client did not declare what this needs",
}
_QUESTIONS: Final = ("elicitation/create", "sampling/createMessage", "roots/list")
_LISTS: Final = ("tools/list", "prompts/list", "resources/list")
_CHANGES: Final = ("notifications/tools/list_changed", "notifications/message")


class Move(NamedTuple):
    """A message as it is predicted: who sends it to whom, what it is, and the method that it is about."""

    sender: str
    receiver: str
    kind: str
    method: str


class Wrong(NamedTuple):
    """A move that cannot come: why, and where the specification says it."""

    move: Move
    why: str
    url: str


def predictions(
    steps: Collection[Step], conversation: Conversation, *, broken: Collection[int]
) -> dict[str, Any]:
    """What to ask before each message, as plain JSON values. The time grows linearly with the steps.

    Args:
        steps: the steps that are shown.
        broken: the numbers of the steps at which a rule is broken: nobody can predict these.

    Returns:
        A dict with: `moves`, each [from, to, kind, method] once, where the kind is "request",
        "notification", "result", "input" (a result that asks for input) or "error"; `reasons`, each
        [text, url] once; and `asked`, for the number of a step what there is to choose: a list of
        [position in `moves`, position in `reasons`], with -1 for the right one.
    """
    moves: dict[Move, int] = {}
    reasons: dict[tuple[str, str], int] = {}
    asked: dict[str, list[list[int]]] = {}
    table = _Table(_eras_of(steps, conversation))
    before: Move | None = None
    for step in steps:
        if len(asked) == MAX_ASKED:
            break
        if step.frame is None:
            continue
        reading = conversation.readings[step.frame.number]
        right = _move_of(step.frame, reading)
        again = right is not None and right.kind == NOTIFICATION and right == before
        before = right
        if right is not None and not again and step.number not in broken:
            choices = table.choices(step.frame, reading, right)
            if choices is not None:
                place = crc32(f"{step.number} {right.method}".encode()) % (len(choices) + 1)
                found = [
                    [
                        moves.setdefault(wrong.move, len(moves)),
                        reasons.setdefault((wrong.why, wrong.url), len(reasons)),
                    ]
                    for wrong in choices
                ]
                found.insert(place, [moves.setdefault(right, len(moves)), -1])
                asked[str(step.number)] = found
        table.sent(step.frame, reading)
    return {
        "moves": [
            [lane_name(move.sender), lane_name(move.receiver), move.kind, move.method] for move in moves
        ],
        "reasons": [list(reason) for reason in reasons],
        "asked": asked,
    }


def _pair(frame: Frame) -> tuple[int, frozenset[str]]:
    return frame.connection, frozenset((frame.sender, frame.receiver))


def _eras_of(
    steps: Collection[Step], conversation: Conversation
) -> dict[tuple[int, frozenset[str]], frozenset[str]]:
    """The eras that each connection shows: a client that speaks both may try one and go on with the other."""
    found: dict[tuple[int, frozenset[str]], set[str]] = {}
    for step in steps:
        if step.frame is not None:
            era = conversation.readings[step.frame.number].era
            found.setdefault(_pair(step.frame), set()).add(era)
    return {pair: frozenset(eras) for pair, eras in found.items()}


def _move_of(frame: Frame, reading: Reading) -> Move | None:
    """What there is to predict; None where it cannot be asked for."""
    message = frame.parsed
    if frame.copy_of or frame.channel or lane_name(frame.sender) == lane_name(frame.receiver):
        return None
    if isinstance(message, Request | Notification):
        kind = REQUEST if isinstance(message, Request) else NOTIFICATION
        method = message.method
    elif isinstance(message, Response | ErrorResponse) and reading.call is not None and not reading.late:
        method = reading.call.request.method
        asks = isinstance(message, Response) and message.result.get("resultType") == "input_required"
        kind = ERROR if isinstance(message, ErrorResponse) else INPUT if asks else RESULT
    else:
        return None
    return Move(frame.sender, frame.receiver, kind, method) if method in _NAMES else None


@dataclass(slots=True)
class _Table:
    """What the protocol allows, beside what was sent so far."""

    eras: Mapping[tuple[int, frozenset[str]], frozenset[str]]
    # By who asked, who was asked, and the method: how many requests are not answered.
    open: dict[tuple[str, str, str], int] = field(default_factory=dict[tuple[str, str, str], int])
    begun: set[tuple[int, frozenset[str]]] = field(default_factory=set[tuple[int, frozenset[str]]])
    # How often each wrong move was offered.
    offered: dict[Move, int] = field(default_factory=dict[Move, int])

    def sent(self, frame: Frame, reading: Reading) -> None:
        message = frame.parsed
        if isinstance(message, Request | Notification | Response | ErrorResponse):
            self.begun.add(_pair(frame))
        if isinstance(message, Request):
            key = (frame.sender, frame.receiver, message.method)
            self.open[key] = self.open.get(key, 0) + 1
        elif isinstance(message, Response | ErrorResponse) and reading.call is not None:
            key = (frame.receiver, frame.sender, reading.call.request.method)
            self.open[key] = self.open.get(key, 0) - 1

    def is_open(self, asker: str, asked: str, method: str) -> bool:
        return self.open.get((asker, asked, method), 0) > 0

    def choices(self, frame: Frame, reading: Reading, right: Move) -> list[Wrong] | None:
        client, server = right.receiver, right.sender
        if not reading.from_server:
            client, server = server, client
        moment = _Moment(
            self, client, server, self.eras[_pair(frame)], _pair(frame) in self.begun, frame.parsed
        )
        if moment.forbids(right):
            # A peer that breaks a rule; or one that keeps a rule that is not known here.
            return None
        found = {wrong.move: wrong for wrong in moment.candidates(right) if wrong.move != right}
        if len(found) < _LEAST:
            return None
        chosen: list[Wrong] = []
        while found and len(chosen) < _WRONG:
            # Another kind of answer to the same request first. Then each for a reason of its own, and others
            # than before; of these the nearest.
            reasons = {_without_names(wrong.why) for wrong in chosen}
            move = min(
                found,
                key=lambda move: (
                    move._replace(kind=right.kind) != right,
                    _without_names(found[move].why) in reasons,
                    self.offered.get(move, 0),
                ),
            )
            chosen.append(found.pop(move))
            self.offered[move] = self.offered.get(move, 0) + 1
        return chosen


def _without_names(why: str) -> str:
    return "".join(why.split("`")[::2])


@dataclass(frozen=True, slots=True)
class _Moment:
    """One moment on one connection."""

    table: _Table
    client: str
    server: str
    eras: frozenset[str]
    begun: bool
    message: object

    @property
    def era(self) -> str:
        return LEGACY if LEGACY in self.eras else MODERN

    @property
    def modern(self) -> bool:
        return self.eras == frozenset({MODERN})

    def rows(self, method: str) -> tuple[Method, ...]:
        return _ROWS[method, self.eras]

    def may_send(self, sender: str, method: str) -> bool:
        way = "to_server" if sender == self.client else "to_client"
        return any(row.direction in (way, "both") for row in self.rows(method))

    def forbids(self, move: Move) -> bool:
        if move.kind in (REQUEST, NOTIFICATION):
            return not self.may_send(move.sender, move.method)
        if move.kind == INPUT:
            return not any(row.may_ask for row in self.rows(move.method))
        return False

    def candidates(self, right: Move) -> Iterator[Wrong]:
        """Moves that cannot come, the nearest to the right one first."""
        sender, receiver, kind, method = right
        if kind == REQUEST:
            yield from self._first()
            yield from self._answer(receiver, sender, RESULT, method)
            yield from self._message(receiver, sender, REQUEST, method)
            yield from self._answer(sender, receiver, RESULT, method)
        elif kind == NOTIFICATION:
            yield from self._message(receiver, sender, NOTIFICATION, method)
        else:
            yield from self._no_result(right)
            yield from self._answer(receiver, sender, kind if kind != INPUT else RESULT, method)
            yield from self._message(sender, receiver, REQUEST, method)
            yield from self._input(method)
            yield from self._answer(receiver, sender, ERROR, method)
        for question in _QUESTIONS:
            yield from self._message(self.server, self.client, REQUEST, question)
        for change in _CHANGES:
            yield from self._message(self.client, self.server, NOTIFICATION, change)
        yield from self._message(self.server, self.client, NOTIFICATION, "notifications/initialized")
        yield from self._only_legacy()
        for list_method in _LISTS:
            yield from self._answer(self.server, self.client, RESULT, list_method)
            yield from self._message(self.server, self.client, REQUEST, list_method)

    def _url(self, page: str) -> str:
        return spec_url(self.era, page)

    def _first(self) -> Iterator[Wrong]:
        if self.eras == frozenset({LEGACY}) and not self.begun:
            move = Move(self.client, self.server, REQUEST, "tools/list")
            why = "A legacy client begins with `initialize`: nothing else comes before it."
            yield Wrong(move, why, self._url("basic/lifecycle#initialization"))

    def _message(self, sender: str, receiver: str, kind: str, method: str) -> Iterator[Wrong]:
        """A request or notification of the side that may not send it."""
        if self.may_send(sender, method):
            return
        move = Move(sender, receiver, kind, method)
        if kind == REQUEST and sender == self.server and self.modern:
            why = "A modern server sends no requests: what it needs from the client, it asks for in a result."
            yield Wrong(move, why, self._url("basic/patterns/mrtr"))
        elif self.rows(method):
            side = "client" if sender == self.server else "server"
            anchor = "requests" if kind == REQUEST else "notifications"
            why = f"`{method}` is a {kind} that only the {side} sends."
            yield Wrong(move, why, self._url(f"basic/index#{anchor}"))

    def _answer(self, sender: str, receiver: str, kind: str, method: str) -> Iterator[Wrong]:
        """An answer to what nobody has asked."""
        if self.table.is_open(receiver, sender, method):
            return
        move = Move(sender, receiver, kind, method)
        if sender == self.client and self.modern:
            why = "A modern client answers nothing: a modern server sends no requests."
            yield Wrong(move, why, self._url("basic/patterns/mrtr"))
        else:
            side = "client" if sender == self.client else "server"
            why = f"The {side} owes no answer to `{method}` now: each response belongs to a request."
            yield Wrong(move, why, self._url("basic/index#responses"))

    def _input(self, method: str) -> Iterator[Wrong]:
        """A result that asks for input, where it may not."""
        if self.modern and not any(row.may_ask for row in self.rows(method)):
            able = [row.name for row in METHODS if row.may_ask]
            names = ", ".join(f"`{name}`" for name in able)
            why = f"The answer to `{method}` cannot ask for input. Those to {names} can."
            yield Wrong(
                Move(self.server, self.client, INPUT, method),
                why,
                self._url("basic/patterns/mrtr#supported-requests"),
            )

    def _no_result(self, right: Move) -> Iterator[Wrong]:
        if isinstance(self.message, ErrorResponse) and self.message.code in _NO_RESULT:
            why = f"This request had to fail: {_NO_RESULT[self.message.code]}."
            yield Wrong(right._replace(kind=RESULT), why, self._url("basic/index#responses"))

    def _only_legacy(self) -> Iterator[Wrong]:
        """What the revision of a modern connection does not have."""
        if not (self.begun and self.modern):
            return
        for row in _ONLY_LEGACY:
            sender, receiver = self.client, self.server
            if row.direction == "to_client":
                sender, receiver = receiver, sender
            why = f"`{row.name}` is not in this revision: only the legacy era has it."
            if row.name == "notifications/initialized":
                why = "A modern connection has no handshake: `notifications/initialized` is a part of that."
            yield Wrong(Move(sender, receiver, row.kind, row.name), why, self._url("basic/versioning"))
