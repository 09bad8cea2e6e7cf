"""The tasks of a connection: who carries each out, and all that was said of it. For the rules about tasks.

The table of methods leaves tasks out, as they are an experiment of one revision: theirs are here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, cast

from mcpsim.audit.model import Call, Connection, Item, Session, Side
from mcpsim.audit.once import once
from mcpsim.audit.order import is_one_stream
from mcpsim.audit.rule import MUST, Bound, Found, Level, Rule, each
from mcpsim.eras.revisions import TASKS_REVISIONS

RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
GET: Final = "tasks/get"
RESULT: Final = "tasks/result"
LIST: Final = "tasks/list"
CANCEL: Final = "tasks/cancel"
STATUS: Final = "notifications/tasks/status"
#: One of these occurs wherever there are tasks.
ABOUT_TASKS: Final = ("task", GET, RESULT, LIST, CANCEL)
TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})
STATUSES: Final = TERMINAL | {"working", "input_required"}

#: Which requests can become tasks: who asks, and where the other side has to declare it.
AUGMENTED: Final[Mapping[str, tuple[Side, tuple[str, ...]]]] = {
    "tools/call": ("client", ("tasks", "requests", "tools", "call")),
    "sampling/createMessage": ("server", ("tasks", "requests", "sampling", "createMessage")),
    "elicitation/create": ("server", ("tasks", "requests", "elicitation", "create")),
}
PAGE: Final = "basic/utilities/tasks"

Source = Literal["created", "get", "cancel", "list", "status"]


class Report(NamedTuple):
    """One time that a task was told of.

    Attributes:
        item: where.
        task: the object.
        source: what told it.
        call: the request that asked, or None.
    """

    item: Item
    task: Mapping[str, Any]
    source: Source
    call: Call | None

    @property
    def id(self) -> Any:
        """The task's id, whatever stands there."""
        return self.task.get("taskId")

    @property
    def status(self) -> str:
        """The status; "" where there is none of the five."""
        status = self.task.get("status")
        return status if isinstance(status, str) and status in STATUSES else ""


def _row_of(report: Report) -> int:
    return report.item.index


@dataclass(slots=True)
class Task:
    """One task.

    Attributes:
        id: its id.
        receiver: the side that carries it out.
        created: the first report where the trace shows it; the request that became it is in its call.
        reports: all of it, in order.
        calls: the requests about it (get, result, cancel), in order.
    """

    id: str
    receiver: Side
    created: Report | None = None
    reports: list[Report] = field(default_factory=list[Report])
    calls: list[Call] = field(default_factory=list[Call])
    _known: list[Report] = field(default_factory=list[Report])
    _rows: list[int] = field(default_factory=list[int])

    def add(self, report: Report) -> None:
        """Take a report in; they come in order."""
        self.reports.append(report)
        if report.source == "created" and self.created is None:
            self.created = report
        if report.status:
            self._known.append(report)
            self._rows.append(report.item.index)

    def of(self, method: str) -> list[Call]:
        """The requests of one method about it."""
        return [call for call in self.calls if call.method == method]

    def after(self, row: int) -> Iterator[Report]:
        """The reports behind a row."""
        return islice(self.reports, bisect_left(self.reports, row + 1, key=_row_of), None)

    def last(self, before: int) -> Report | None:
        """The last report before a row that is known by its status."""
        at = bisect_left(self._rows, before)
        return self._known[at - 1] if at else None


class Book(NamedTuple):
    """All tasks of a connection.

    Attributes:
        tasks: by the side that carries them out, and id.
        reports: everything that was told of any task, in order, also where it has no good id.
    """

    connection: Connection
    tasks: dict[tuple[Side, str], Task]
    reports: list[Report]


def has_tasks(item: Item) -> bool:
    """Whether an item is of the revision that has tasks."""
    return item.revision in TASKS_REVISIONS


def other(side: Side) -> Side:
    """The other side."""
    return "server" if side == "client" else "client"


def mapping(value: Any) -> Mapping[str, Any] | None:
    """A value, where it is an object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def is_augmented(call: Call) -> bool:
    """Whether a request asks for a task."""
    row = AUGMENTED.get(call.method)
    return (
        row is not None and row[0] == call.asked_by and mapping(call.request.params.get("task")) is not None
    )


def declared(item: Item, side: Side, path: tuple[str, ...]) -> bool | None:
    """Whether a side declared something in the session of an item; None where that is not known."""
    session: Session | None = item.session
    if session is None:
        return None
    value: Any = session.client_capabilities if side == "client" else session.server_capabilities
    if value is None:
        return None
    for name in path:
        held = mapping(value)
        if held is None or name not in held or held[name] in (None, False):
            return False
        value = held[name]
    return True


def related_of(item: Item) -> Any:
    """The id of the task that a message says it belongs to; None where it says none."""
    held = mapping(item.meta.get(RELATED_TASK))
    return None if held is None else held.get("taskId")


def time_of(value: Any) -> datetime | None:
    """A time as tasks have it, or None; without a zone where none is given.

    RFC 3339 also has small letters, and allows a space for the letter between date and time.
    """
    if not isinstance(value, str) or len(value) < _SHORTEST_TIME:
        return None
    try:
        return datetime.fromisoformat(value.upper().replace("Z", "+00:00"))
    except ValueError:
        return None


#: A date by itself is no moment: at least hours and minutes follow it.
_SHORTEST_TIME: Final = len("20251125T1030")


def is_later(report: Report, before: Report) -> bool:
    """Whether one report tells of a later time than another that came before it.

    Over HTTP an answer may overtake another one: then only what was asked for later, or says so itself, is.
    """
    updated, was = time_of(report.task.get("lastUpdatedAt")), time_of(before.task.get("lastUpdatedAt"))
    if updated is not None and was is not None:
        comparable = (updated.tzinfo is None) == (was.tzinfo is None)
        if comparable and updated < was:
            return False
    if report.call is not None and report.call.request.index > before.item.index:
        return True
    return is_one_stream(before.item, report.item) and report.call is None


def _told(item: Item) -> Iterator[Report]:
    call = item.call
    if item.kind == "notification" and item.method == STATUS:
        yield Report(item, item.params, "status", None)
    if item.kind != "response" or call is None or call.answer is not item:
        return
    if is_augmented(call):
        task = mapping(item.result.get("task"))
        if task is not None:
            yield Report(item, task, "created", call)
    elif item.method in (GET, CANCEL):
        yield Report(item, item.result, "get" if item.method == GET else "cancel", call)
    elif item.method == LIST:
        listed = item.result.get("tasks")
        for one in cast("list[Any]", listed) if isinstance(listed, list) else ():
            task = mapping(one)
            if task is not None:
                yield Report(item, task, "list", call)


# All rules about tasks ask for the same book, one after the other.
@once
def book_of(connection: Connection) -> Book:
    """Read the tasks of a connection."""
    book = Book(connection, {}, [])
    for item in connection.items:
        call = item.call
        if call is not None and item is call.request and call.method in (GET, RESULT, CANCEL):
            id = item.params.get("taskId")
            if isinstance(id, str):
                _task(book, other(item.sender), id).calls.append(call)
        if not has_tasks(item):
            continue
        for report in _told(item):
            book.reports.append(report)
            if not isinstance(report.id, str):
                continue
            _task(book, item.sender, report.id).add(report)
    return book


def _task(book: Book, receiver: Side, id: str) -> Task:
    task = book.tasks.get((receiver, id))
    if task is None:
        task = book.tasks[receiver, id] = Task(id, receiver)
    return task


def in_book(check: Callable[[Book], Iterator[Found]]) -> Callable[[Connection], Iterator[Found]]:
    """A check of the tasks of each connection."""

    def check_connection(connection: Connection) -> Iterator[Found]:
        # By far the most traces have no tasks, and are not read for them.
        if any(
            call.method.startswith("tasks/") or "task" in call.request.params for call in connection.calls
        ):
            yield from check(book_of(connection))

    return check_connection


def task_rule(
    id: str,
    anchor: str,
    sentence: str,
    check: Callable[[Book], Iterator[Found]],
    *,
    level: Level = MUST,
    bound: Bound = "sender",
    page: str = PAGE,
) -> Rule:
    """One rule about tasks."""
    return Rule(
        id,
        level,
        bound,
        TASKS_REVISIONS,
        {"legacy": f"{page}#{anchor}"},
        sentence,
        on=each(Connection, among=ABOUT_TASKS),
        check=in_book(check),
    )
