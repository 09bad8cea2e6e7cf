"""Playing a run again with one change: what can be changed at a moment, and what comes of it.

A moment is a number of events: the recording is the same up to there, and the change comes next. The story
must do the same again. Where a server, a client or the story keeps something between runs it may not; then
the branch says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, ClassVar, Final, TypeAlias, cast

from mcpsim.client.answering import ACTIONS, ELICIT, SAMPLE, Instead
from mcpsim.errors import McpSimError, SimulationError
from mcpsim.messages import ErrorResponse, Notification, Request, RequestId, Response
from mcpsim.recording import Event, Frame, Recording, events
from mcpsim.recording.run import Run
from mcpsim.simulation.interventions import Answer, Intervention, Stop
from mcpsim.simulation.simulate import Replay
from mcpsim.transports.faults import Crash, Delay, Drop, Duplicate, Edit, Fault

LISTEN: Final = "subscriptions/listen"
INITIALIZE: Final = "initialize"
CANCELLED: Final = "notifications/cancelled"
BY_A_FAULT: Final = "a fault dropped it"
#: The longest delay, in milliseconds: an hour.
MAX_DELAY_MS: Final = 3_600_000.0
MAX_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a server that a client's callback has not answered yet.

    Attributes:
        connection, nth: which one: see `mcpsim.simulation.interventions.Answer`.
        method: "elicitation/create" or "sampling/createMessage".
        id: of the request that asks it, or its key among the input requests.
        party: the lane of the client.
        params: what is asked.
        outcome: what came of it in the first run, such as "accept"; "" where nothing did.
    """

    connection: int
    nth: int
    method: str
    id: RequestId
    party: str
    params: Mapping[str, Any]
    outcome: str = ""

    @property
    def by_url(self) -> bool:
        """Whether the user is to visit a page."""
        return self.params.get("mode") == "url"

    @property
    def actions(self) -> tuple[str, ...]:
        """What can be done with it."""
        return ACTIONS if self.method == ELICIT else ("accept", "decline")


@dataclass(frozen=True, slots=True)
class Moment:
    """What there is to change after so many events of a recording.

    Attributes:
        after: the number of events.
        next: the next frame that is sent; None where none is.
        in_flight: the requests of clients that wait for their answers, by connection and id.
        questions: the questions that are open.
        alive: the lanes of the server processes that live.
        dead: the lanes of those that died.
        stdio: whether the peers talk over pipes.
        over: whether nothing happens any more.
    """

    after: int
    next: Frame | None
    in_flight: tuple[Frame, ...]
    questions: tuple[Question, ...]
    alive: tuple[str, ...]
    dead: tuple[str, ...]
    stdio: bool
    over: bool


def moment(recording: Recording, after: int) -> Moment:
    """What there is to change in the run of this recording after its first `after` events.

    Raises:
        ValueError: the recording has no such moment.
    """
    if not 0 <= after <= len(recording.events):
        raise ValueError(f"A moment is from 0 to {len(recording.events)} events, not {after!r}.")
    clients = _clients(recording)
    coming = next((frame for frame in recording.frames if frame.index >= after and not frame.channel), None)
    alive, dead = _processes(recording, after, clients)
    return Moment(
        after,
        coming,
        _in_flight(recording, after, clients),
        _questions(recording, after, clients),
        alive,
        dead,
        recording.header.get("transport") == "stdio",
        after == len(recording.events),
    )


@dataclass(frozen=True, slots=True)
class DropNext:
    """The next message is lost."""

    kind: ClassVar[str] = "drop"

    def refusal(self, moment: Moment) -> str:
        """Why it is not possible at this moment, or ""."""
        if moment.next is not None and moment.next.fate == "dropped" and moment.next.why == BY_A_FAULT:
            return "The next message is lost already."
        return _on_the_way(moment)

    def apply(self, moment: Moment) -> Changes:
        """What brings it about."""
        return Changes((Drop(frame=_next(moment).number),))

    def describe(self, moment: Moment) -> str:
        """It in one sentence."""
        return f"{_named(moment)} is lost on the way."


@dataclass(frozen=True, slots=True)
class DelayNext:
    """The next message takes longer.

    Attributes:
        by_ms: how much longer, in milliseconds.

    Raises:
        ValueError: it is no time from 0 to an hour.
    """

    by_ms: float = 1000.0
    kind: ClassVar[str] = "delay"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.by_ms) and 0 <= self.by_ms <= MAX_DELAY_MS):
            raise ValueError(f"A delay is from 0 to {MAX_DELAY_MS:,.0f} ms (an hour), not {self.by_ms!r}.")

    def refusal(self, moment: Moment) -> str:
        """Why it is not possible at this moment, or ""."""
        return _on_the_way(moment)

    def apply(self, moment: Moment) -> Changes:
        """What brings it about."""
        return Changes((Delay(frame=_next(moment).number, by_ms=self.by_ms),))

    def describe(self, moment: Moment) -> str:
        """It in one sentence."""
        return f"{_named(moment)} takes {self.by_ms:g} ms longer."


@dataclass(frozen=True, slots=True)
class DuplicateNext:
    """The next message arrives twice."""

    kind: ClassVar[str] = "duplicate"

    def refusal(self, moment: Moment) -> str:
        """Why it is not possible at this moment, or ""."""
        frame = moment.next
        head = frame.head if frame is not None else None
        if head is not None and "status" in head and not _is_stream(head):
            return "The next message is a whole HTTP response: an exchange has only one, so no copy can come."
        return _on_the_way(moment)

    def apply(self, moment: Moment) -> Changes:
        """What brings it about."""
        return Changes((Duplicate(frame=_next(moment).number),))

    def describe(self, moment: Moment) -> str:
        """It in one sentence."""
        return f"{_named(moment)} arrives twice."


@dataclass(frozen=True, slots=True)
class EditNext:
    """The next message is another one, and its sender does not know it.

    Attributes:
        data: what is sent: JSON text, or any bytes.
        fit_headers: whether the headers of a modern HTTP request repeat the new body.

    Raises:
        ValueError: it is too long.
    """

    data: bytes
    fit_headers: bool = True
    kind: ClassVar[str] = "edit"

    def __post_init__(self) -> None:
        if len(self.data) > MAX_BYTES:
            raise ValueError(f"A message has at most {MAX_BYTES:,} bytes, not {len(self.data):,}.")

    def refusal(self, moment: Moment) -> str:
        """Why it is not possible at this moment, or ""."""
        refused = _on_the_way(moment)
        if not refused and not _next(moment).body:
            return "The next thing that is sent has no message in it: it is HTTP alone."
        return refused

    def apply(self, moment: Moment) -> Changes:
        """What brings it about."""
        return Changes((Edit(frame=_next(moment).number, data=self.data, fit_headers=self.fit_headers),))

    def describe(self, moment: Moment) -> str:
        """It in one sentence."""
        return f"{_named(moment)} is edited before it is sent; its sender does not know that."


@dataclass(frozen=True, slots=True)
class PressStop:
    """The user presses Stop now: a request in flight is cancelled in the way of the transport.

    Attributes:
        connection, id: which request.
    """

    connection: int
    id: RequestId
    kind: ClassVar[str] = "stop"

    def refusal(self, moment: Moment) -> str:
        """Why it is not possible at this moment, or ""."""
        frame = self._frame(moment)
        if frame is None:
            return "This request is not in flight at this step."
        return stop_refusal(frame)

    def apply(self, moment: Moment) -> Changes:
        """What brings it about."""
        return Changes((), (Stop(moment.after, self.connection, self.id),))

    def describe(self, moment: Moment) -> str:
        """It in one sentence."""
        frame = self._frame(moment)
        method = frame.parsed.method if frame is not None and isinstance(frame.parsed, Request) else "request"
        return (
            f"The user presses Stop: {method} #{self.id} is cancelled, and the story gets RequestStopped "
            "where it waits for the result."
        )

    def _frame(self, moment: Moment) -> Frame | None:
        return next(
            (
                frame
                for frame in moment.in_flight
                if frame.connection == self.connection and _is_id(frame, self.id)
            ),
            None,
        )


@dataclass(frozen=True, slots=True)
class AnswerOtherwise:
    """The user (or the host, for sampling) answers an open question in another way.

    Attributes:
        connection, nth: which question.
        action: "accept", "decline" or "cancel".
        content: what is filled in or written; for "accept".

    Raises:
        ValueError: there is no such action.
    """

    connection: int
    nth: int
    action: str
    content: Any = None
    kind: ClassVar[str] = "answer"

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise ValueError(f"An answer is one of {', '.join(ACTIONS)}, not {self.action!r:.40}.")

    def refusal(self, moment: Moment) -> str:
        """Why it is not possible at this moment, or ""."""
        question = self._question(moment)
        if question is None:
            return "This question is not open at this step."
        if self.action not in question.actions:
            return f"A user can {' or '.join(question.actions)} it, not {self.action}."
        return ""

    def apply(self, moment: Moment) -> Changes:
        """What brings it about."""
        question = self._question(moment)
        content = self.content if self.action == "accept" else None
        if question is not None and question.method == SAMPLE and content is None:
            content = ""
        return Changes((), (Answer(self.connection, self.nth, Instead(self.action, content)),))

    def describe(self, moment: Moment) -> str:
        """It in one sentence."""
        question = self._question(moment)
        asked = question.method if question is not None else "the question"
        done = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}[self.action]
        told = " with another content" if self.action == "accept" and self.content is not None else ""
        return f"{asked} is {done}{told}, whatever the client's callback says."

    def _question(self, moment: Moment) -> Question | None:
        wanted = (self.connection, self.nth)
        return next((one for one in moment.questions if (one.connection, one.nth) == wanted), None)


@dataclass(frozen=True, slots=True)
class CrashServer:
    """A server process dies now.

    Attributes:
        process: its lane.
        restart_after_ms: how long after that it is started again, in milliseconds (HTTP); None: never.

    Raises:
        ValueError: it is no time from 0 to an hour.
    """

    process: str = "server"
    restart_after_ms: float | None = None
    kind: ClassVar[str] = "crash"

    def __post_init__(self) -> None:
        ms = self.restart_after_ms
        if ms is not None and not (math.isfinite(ms) and 0 <= ms <= MAX_DELAY_MS):
            raise ValueError(f"A process starts again after 0 to {MAX_DELAY_MS:,.0f} ms not {ms!r}.")

    def refusal(self, moment: Moment) -> str:
        """Why it is not possible at this moment, or ""."""
        if moment.over:
            return "The run is over at this step."
        if self.process in moment.dead:
            return f"The process of {self.process} is dead at this step."
        if self.process not in moment.alive:
            return f"There is no process {self.process!r:.40}; there is {', '.join(moment.alive) or 'none'}."
        if moment.stdio and self.restart_after_ms is not None:
            return "On stdio only the host starts a server process again, and the story says when."
        return ""

    def apply(self, moment: Moment) -> Changes:
        """What brings it about."""
        crash = Crash(after_events=moment.after, process=self.process, restart_after_ms=self.restart_after_ms)
        return Changes((crash,))

    def describe(self, moment: Moment) -> str:
        """It in one sentence."""
        if self.restart_after_ms is not None:
            again = f" It is started again {self.restart_after_ms:g} ms later, and remembers nothing."
        elif moment.stdio:
            again = " Only the host can start it again."
        else:
            again = " It is not started again."
        return f"The process of {self.process} dies.{again}"


Change: TypeAlias = (
    DropNext | DelayNext | DuplicateNext | EditNext | PressStop | AnswerOtherwise | CrashServer
)


@dataclass(frozen=True, slots=True)
class Changes:
    """What brings a change about."""

    faults: tuple[Fault, ...] = ()
    interventions: tuple[Intervention, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """A run that was played again with one change.

    Attributes:
        first: the run that it branches from.
        after: how many events of it come before the change.
        change: what was changed.
        run: the run with the change. What ended it early is its `error`.
        drift: the position of the first event that is another one where the story is played again without
            any change; None where it does the same again. Where it does not, something is kept between runs,
            and what differs need not come from the change.
        common: how many events both runs have in common, from the first.
    """

    first: Run
    after: int
    change: Change
    run: Run
    drift: int | None
    common: int

    @property
    def told(self) -> str:
        """The change in one sentence."""
        return self.change.describe(moment(self.first.recording, self.after))

    @property
    def warning(self) -> str:
        """What to know before anything is read into the differences, or ""."""
        if self.drift is not None:
            return (
                "The story did not do the same again, even without the change: it, its server or its client "
                f"keeps something between runs. Its event {self.drift + 1} is another one. What differs here "
                "need not come from the change."
            )
        if self.run.recording.events == self.first.recording.events:
            return "The change had no effect: everything happened as before."
        return ""


def why_not_again(run: Run) -> str:
    """Why a run cannot be played again, or ""."""
    if isinstance(run.again, Replay):
        return ""
    return "This run was not played on the virtual clock, and so it cannot be played again."


def branch(run: Run, after: int, change: Change) -> Branch:
    """Play a run again, the same up to a moment, and then with one change.

    It is played twice: once without the change, to see whether it does the same again.

    Args:
        after: how many of the run's events come before the change.
        change: what is changed then.

    Raises:
        ValueError: the run has no such moment, or the change is not possible then; the text says why.
        McpSimError: the run cannot be played again.
    """
    refused = why_not_again(run)
    if refused:
        raise McpSimError(refused)
    here = moment(run.recording, after)
    refused = change.refusal(here)
    if refused:
        raise ValueError(refused)
    again = cast("Replay", run.again)
    # What the story prints, it prints once: in the run that is looked at.
    with redirect_stdout(StringIO()):
        unchanged = _played(again, Changes()).recording.events
    drift = None if unchanged == run.recording.events else _common(unchanged, run.recording.events)
    changed = _played(again, change.apply(here))
    return Branch(run, after, change, changed, drift, _common(changed.recording.events, run.recording.events))


def _played(again: Replay, changes: Changes) -> Run:
    simulation = again.simulation(changes.faults, changes.interventions)
    try:
        return simulation.finish()
    except SimulationError as error:
        return Run(simulation.recording, error=error, again=simulation.again)


def _common(one: Sequence[Event], other: Sequence[Event]) -> int:
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return index
    return min(len(one), len(other))


# What a moment is made of


def _clients(recording: Recording) -> frozenset[str]:
    eras = recording.header.get("era")
    return frozenset(cast("dict[str, Any]", eras)) if isinstance(eras, dict) else frozenset(("client",))


def _processes(
    recording: Recording, after: int, clients: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    lanes = [lane for lane in recording.parties if lane not in clients]
    dead: dict[str, None] = {}
    for event in recording.events[:after]:
        text = (event.detail or {}).get("text", "") if event.kind == events.NOTE else ""
        if text == f"The process of {event.party} dies.":
            dead[event.party] = None
        elif text.startswith(f"The process of {event.party} is started again."):
            dead.pop(event.party, None)
    return tuple(lane for lane in lanes if lane not in dead), tuple(dead)


@dataclass(slots=True)
class _Flight:
    """Follows the requests of clients."""

    clients: frozenset[str]
    frames: Mapping[int, Frame]
    open: dict[tuple[int, type, RequestId], Frame] = field(
        default_factory=dict[tuple[int, type, RequestId], Frame]
    )

    def take(self, event: Event) -> None:
        frame = self.frames.get(event.frame)
        message = frame.parsed if frame is not None else None
        if event.kind == events.SENT and event.party in self.clients and frame is not None:
            if isinstance(message, Request) and not frame.copy_of:
                self.open[frame.connection, type(message.id), message.id] = frame
            elif isinstance(message, Notification) and message.method == CANCELLED:
                id: Any = (message.params or {}).get("requestId")
                self.open.pop((event.connection, _type_of(id), id), None)
        elif event.kind == events.DELIVERED and event.party in self.clients:
            if isinstance(message, Response | ErrorResponse) and message.id is not None:
                self.open.pop((event.connection, type(message.id), message.id), None)
        elif event.kind == events.CLOSED and (not event.exchange or event.party in self.clients):
            # What a server closes says nothing: its answer is still on the way.
            self._close(event)

    def _close(self, event: Event) -> None:
        for key, frame in tuple(self.open.items()):
            if frame.connection == event.connection and frame.exchange == event.exchange:
                del self.open[key]


def _in_flight(recording: Recording, after: int, clients: frozenset[str]) -> tuple[Frame, ...]:
    flight = _Flight(clients, {frame.number: frame for frame in recording.frames})
    for event in recording.events[:after]:
        flight.take(event)
    return tuple(flight.open.values())


def _questions(recording: Recording, after: int, clients: frozenset[str]) -> tuple[Question, ...]:
    counts: dict[int, int] = {}
    asked: dict[tuple[int, str, type, RequestId], tuple[int, int]] = {}
    found: list[tuple[int, Question]] = []
    for index, event in enumerate(recording.events):
        if event.party not in clients:
            continue
        detail = event.detail or {}
        name, id = str(detail.get("name", "")), cast("RequestId", detail.get("id", ""))
        key = (event.connection, name, type(id), id)
        if event.kind == events.HANDLER_STARTED:
            counts[event.connection] = counts.get(event.connection, 0) + 1
            asked[key] = (counts[event.connection], index)
        elif event.kind in (events.HANDLER_FINISHED, events.HANDLER_CANCELLED) and key in asked:
            nth, began = asked.pop(key)
            if index >= after and name in (ELICIT, SAMPLE):
                outcome = str(detail.get("outcome", ""))
                question = Question(event.connection, nth, name, id, event.party, {}, outcome)
                found.append((began, question))
    for (connection, name, _, id), (nth, began) in asked.items():
        if name in (ELICIT, SAMPLE):
            party = recording.events[began].party
            found.append((began, Question(connection, nth, name, id, party, {})))
    return tuple(
        Question(one.connection, one.nth, one.method, one.id, one.party, params, one.outcome)
        for began, one in sorted(found, key=lambda pair: pair[0])
        if (params := _asking(recording, began, after, one)) is not None
    )


def _asking(recording: Recording, began: int, after: int, question: Question) -> Mapping[str, Any] | None:
    """What a question asks; None where its message is not sent before the moment."""
    frames = [frame for frame in recording.frames if frame.index < began]
    for frame in reversed(frames):
        if frame.connection != question.connection or frame.receiver != question.party:
            continue
        message = frame.parsed
        params: Any = None
        if isinstance(message, Request) and message.id == question.id and message.method == question.method:
            params = message.params or {}
        elif isinstance(message, Response):
            one = _member(message.result.get("inputRequests"), str(question.id))
            params = _member(one, "params")
        if isinstance(params, dict):
            return cast("dict[str, Any]", params) if frame.index < after else None
    return None


def _type_of(id: object) -> type:
    return type(id)


def _member(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


def stop_refusal(frame: Frame) -> str:
    """Why a request in flight cannot be stopped, or ""."""
    method = frame.parsed.method if isinstance(frame.parsed, Request) else ""
    if method == INITIALIZE:
        return "A client must not cancel `initialize`."
    if method == LISTEN:
        return "A subscription ends where the story leaves it: there is no result that somebody waits for."
    return ""


def _on_the_way(moment: Moment) -> str:
    frame = moment.next
    if frame is None:
        return "Nothing is sent after this step."
    if frame.copy_of:
        return "The next message is a copy that a fault makes, and no fault meets it."
    if frame.fate == "dropped" and frame.why != BY_A_FAULT:
        return f"The next message does not arrive anyway: {frame.why}."
    return ""


def _next(moment: Moment) -> Frame:
    if moment.next is None:
        raise ValueError("Nothing is sent after this moment.")
    return moment.next


def _named(moment: Moment) -> str:
    frame = _next(moment)
    return f"The next message ({frame.sender} → {frame.receiver})"


def _is_id(frame: Frame, id: RequestId) -> bool:
    message = frame.parsed
    return isinstance(message, Request) and type(message.id) is type(id) and message.id == id


def _is_stream(head: Mapping[str, Any]) -> bool:
    return any(
        name.lower() == "content-type" and value.lower().startswith("text/event-stream")
        for name, value in head.get("headers", ())
    )
