"""How tasks are asked after, listed and kept apart, and how such requests are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, cast

from mcpsim.audit.model import Call, Connection, Exchange, Item, Trace
from mcpsim.audit.occurring import connections_with
from mcpsim.audit.rule import MUST, NOTE, SHOULD, Found, Rule, each
from mcpsim.audit.rules.cursors import foreign
from mcpsim.audit.rules.task_book import (
    ABOUT_TASKS,
    CANCEL,
    GET,
    LIST,
    PAGE,
    RESULT,
    TERMINAL,
    Book,
    Report,
    book_of,
    has_tasks,
    mapping,
    task_rule,
)
from mcpsim.eras.revisions import TASKS_REVISIONS
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from mcpsim.messages import ErrorResponse
from mcpsim.recording.words import show

_NEAR: Final = 0.8
_QUIET_MS: Final = 60_000
_MANY: Final = 100
#: How many walks through a list are looked at.
_WALKS: Final = 20
_NO_TASK: Final = re.compile(r"not found|unknown|expired|no such|does ?n[o']t exist|not exist", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d+")


# --- Polling -----------------------------------------------------------------------------------------


def _interval(task: Mapping[str, Any]) -> float | None:
    value = task.get("pollInterval")
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _too_often(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        interval: float | None = None
        before: Item | None = None
        reports = iter(task.reports)
        report = next(reports, None)
        for call in task.of(GET):
            while report is not None and report.item.index < call.request.index:
                interval = _interval(report.task) or interval
                if report.source == "status":
                    # News is a reason to look.
                    before = None
                report = next(reports, None)
            request = call.request
            if interval is not None and before is not None and before.at_ms is not None:
                waited_ms = None if request.at_ms is None else request.at_ms - before.at_ms
                if waited_ms is not None and waited_ms < interval * _NEAR:
                    yield Found(
                        request,
                        f"The task {show(task.id)} is asked after again after {waited_ms:g} ms; its "
                        f"pollInterval is {interval:g} ms.",
                    )
                    break
            before = request


def _left_alone(book: Book) -> Iterator[Found]:
    end = next((item for item in reversed(book.connection.items) if item.at_ms is not None), None)
    for task in book.tasks.values():
        last = task.last(1 << 62)
        if last is None or last.status != "working" or task.created is None or task.of(RESULT):
            continue
        call = (task.of(GET) or [None])[-1]
        asked = task.created.item if call is None else call.request
        if end is None or end.at_ms is None or asked.at_ms is None:
            continue
        quiet_ms = end.at_ms - asked.at_ms
        if quiet_ms > max(_QUIET_MS, 10 * (_interval(last.task) or 0)):
            yield Found(
                asked,
                f"The task {show(task.id)} is not asked after any more, for {quiet_ms / 1000:g} s, and was "
                '"working". Whoever wants its result asks on until it has ended.',
                party=asked.connection.client if task.receiver == "server" else asked.connection.server,
                level=NOTE,
            )


def _relied_on(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        told = next((one for one in task.reports if one.source == "status" and one.status in TERMINAL), None)
        if task.created is None or told is None:
            continue
        earlier = [call for call in task.calls if call.request.index < told.item.index]
        later = [call for call in task.of(RESULT) if call.request.index > told.item.index]
        interval = _interval(task.created.task)
        began, ended = task.created.item.at_ms, told.item.at_ms
        if earlier or not later or interval is None or began is None or ended is None:
            continue
        if ended - began > 2 * interval:
            yield Found(
                later[0].request,
                f"The task {show(task.id)} was never asked after: its result is fetched when a "
                "notification has come. Such notifications need not come: ask after it as well.",
                level=NOTE,
            )


def _upgraded(exchange: Exchange) -> Iterator[Found]:
    for call in exchange.calls:
        if call.method != GET or call.answer is None or not has_tasks(call.request):
            continue
        if exchange.is_stream:
            yield Found(
                call.answer,
                "tasks/get is answered with an event stream; plain JSON is recommended: the client polls.",
            )


# --- Lists -------------------------------------------------------------------------------------------


def _list_cursor(trace: Trace) -> Iterator[Found]:
    for one in foreign(trace, (LIST,)):
        if not has_tasks(one.call.request) or one.kind == "other list":
            continue
        if one.certain or (one.began and one.kind == "changed"):
            yield Found(
                one.call.request,
                f"The cursor {show(one.cursor)} of this tasks/list was not given out in this session.",
                hint="Send back the nextCursor of a page as it came.",
            )


def _too_many(book: Book) -> Iterator[Found]:
    for call in book.connection.calls:
        if call.method != LIST or call.answer is None:
            continue
        tasks = _listed(call)
        if len(tasks) > _MANY and "nextCursor" not in call.result:
            yield Found(
                call.answer,
                f"This page has {len(tasks)} tasks, and is the whole list; pages are recommended.",
                level=NOTE,
            )


def _listed(call: Call) -> list[Any]:
    tasks = call.result.get("tasks")
    return cast("list[Any]", tasks) if isinstance(tasks, list) else []


def _not_listed(book: Book) -> Iterator[Found]:
    # The last time that each was found.
    found = [
        (task, [one for one in task.reports if one.source == "get" and one.call is not None][-1:])
        for task in book.tasks.values()
        if task.created is not None
    ]
    for first, last, listed in islice(_walks(book), _WALKS):
        answer = last.answer
        for task, after in found:
            made = task.created
            if made is None or answer is None or task.receiver == first.asked_by or task.id in listed:
                continue
            if made.item.index > first.request.index or made.item.session is not first.request.session:
                continue
            if any(_is_found(one, answer, first) for one in after):
                yield Found(
                    answer,
                    f"This is the last page of the list, and the task {show(task.id)} was on none; tasks/get "
                    f"finds it (row {after[0].item.index}). What can be got must be in the list, or more "
                    "pages must follow.",
                )


def _is_found(report: Report, answer: Item, first: Call) -> bool:
    call = report.call
    return call is not None and report.item.index > answer.index and call.principal == first.principal


def _walks(book: Book) -> Iterator[tuple[Call, Call, set[str]]]:
    """Each walk through the list from its first page to its last: both calls, and the ids."""
    walks: dict[tuple[str, str | None], tuple[Call, set[str], str | None]] = {}
    for call in book.connection.calls:
        if call.method != LIST or call.answer is None or call.answer.kind != "response":
            continue
        key = call.asked_by, call.principal
        cursor = call.request.params.get("cursor")
        if cursor is None:
            walks[key] = call, set(), None
        elif key not in walks or walks[key][2] != cursor:
            walks.pop(key, None)
            continue
        first, listed, _ = walks[key]
        for one in _listed(call):
            id = (mapping(one) or {}).get("taskId")
            if isinstance(id, str):
                listed.add(id)
        following = call.result.get("nextCursor")
        if following is None:
            yield first, call, listed
            walks.pop(key)
        else:
            walks[key] = first, listed, following if isinstance(following, str) else None


# --- Errors ------------------------------------------------------------------------------------------


def _text(answer: Item) -> str:
    return answer.message.message if isinstance(answer.message, ErrorResponse) else ""


def _wrong_code(book: Book) -> Iterator[Found]:
    for call in book.connection.calls:
        answer = call.answer
        if answer is None or answer.kind != "error" or not has_tasks(call.request):
            continue
        if answer.code in (INVALID_PARAMS, METHOD_NOT_FOUND, INTERNAL_ERROR):
            continue
        cursor = call.method == LIST and "cursor" in call.request.params and "cursor" in _text(answer).lower()
        if cursor or (call.method in (GET, CANCEL) and _NO_TASK.search(_text(answer))):
            what = "cursor" if cursor else "task"
            yield Found(
                answer,
                f"A {what} that is not there is answered with the code {answer.code}; it must be "
                f"{INVALID_PARAMS} (invalid params).",
            )


def _no_text(book: Book) -> Iterator[Found]:
    for call in book.connection.calls:
        answer = call.answer
        if answer is None or answer.kind != "error" or not has_tasks(call.request):
            continue
        if call.method in (GET, LIST, CANCEL, RESULT) and not _text(answer).strip():
            yield Found(answer, "This error says nothing; it is recommended to say what was wrong.")


# --- Owners ------------------------------------------------------------------------------------------


def _owners(trace: Trace) -> Iterator[Found]:
    """Tasks of one principal that another one can reach."""
    made: dict[tuple[str, str], Report] = {}
    books = [
        book_of(one)
        for one in connections_with(trace, ABOUT_TASKS)
        if one.is_http and any(map(_is_about_tasks, one.calls))
    ]
    for book in books:
        for task in book.tasks.values():
            if task.receiver == "server" and task.created is not None:
                made.setdefault((book.connection.hop, task.id), task.created)
    for book in books:
        for report in book.reports:
            call = report.call
            if call is None or report.source == "created" or call.asked_by != "client":
                continue
            owner = made.get((book.connection.hop, str(report.id)))
            if owner is None or owner.call is None or not _are_two(owner.call, call):
                continue
            yield Found(
                report.item,
                f"The task {show(report.id)} was made for another principal (row {owner.item.index}), and "
                f"{call.method} shows it. Where these are two authorization contexts, it must not.",
                level=SHOULD,
            )


def _is_about_tasks(call: Call) -> bool:
    return call.method.startswith("tasks/") or "task" in call.request.params


def _are_two(first: Call, second: Call) -> bool:
    """Whether two requests are of two principals, as far as can be told: a token may also be renewed."""
    return (
        first.principal is not None
        and second.principal is not None
        and first.principal != second.principal
        and first.connection is not second.connection
        and first.request.session is not second.request.session
    )


def _guessable(book: Book) -> Iterator[Found]:
    if not book.connection.is_http:
        return
    before: Report | None = None
    for report in book.reports:
        call, id = report.call, report.id
        if (
            report.source != "created"
            or call is None
            or not isinstance(id, str)
            or call.principal is not None
        ):
            continue
        exchange = call.request.exchange
        if call.asked_by != "client" or exchange is None or not len(exchange.headers):
            continue
        if before is not None and _follows(str(before.id), id):
            yield Found(
                report.item,
                f"The id of this task is {show(id)}, and that of the one before was "
                f"{show(before.id)}: the next can be guessed, and the requests name no principal.",
                hint="Make ids of tasks from a secure source of random numbers.",
                level=SHOULD,
            )
        before = report


def _follows(first: str, second: str) -> bool:
    if _NUMBER.sub("", first) != _NUMBER.sub("", second):
        return False
    numbers = [[int(one[:18]) for one in _NUMBER.findall(text)] for text in (first, second)]
    steps = [after - before for before, after in zip(*numbers, strict=False)]
    return len(numbers[0]) == len(numbers[1]) and sum(step == 1 for step in steps) == 1 == sum(
        map(bool, steps)
    )


def _list_of_strangers(connection: Connection) -> Iterator[Found]:
    if not connection.is_http:
        return
    for session in connection.sessions:
        answer = session.initialize.answer
        tasks = mapping((session.server_capabilities or {}).get("tasks"))
        exchange = session.initialize.request.exchange
        if answer is None or not has_tasks(answer) or tasks is None or "list" not in tasks:
            continue
        if exchange is not None and len(exchange.headers) and session.initialize.principal is None:
            yield Found(
                answer,
                "The server lists tasks (tasks.list), and the requests name no principal: where it cannot "
                "tell who asks, everybody sees the tasks of all.",
                level=NOTE,
            )


TASK_OPERATIONS: Final[tuple[Rule, ...]] = (
    task_rule(
        "task-poll-interval-is-kept",
        "getting-tasks",
        "A task is not asked after more often than its pollInterval says.",
        _too_often,
        level=SHOULD,
    ),
    task_rule(
        "task-is-asked-after-to-its-end",
        "getting-tasks",
        "A task is asked after until it has ended or needs input.",
        _left_alone,
        level=SHOULD,
    ),
    task_rule(
        "task-notifications-are-not-relied-on",
        "task-status-notification",
        "Nobody relies on notifications about a task.",
        _relied_on,
    ),
    Rule(
        "task-get-is-answered-plainly",
        SHOULD,
        "server",
        TASKS_REVISIONS,
        {"legacy": f"{PAGE}#input-required-status"},
        "tasks/get is answered without an event stream.",
        on=each(Exchange),
        check=_upgraded,
    ),
    Rule(
        "task-list-cursor-is-opaque",
        MUST,
        "sender",
        TASKS_REVISIONS,
        {"legacy": f"{PAGE}#task-listing"},
        "Cursors of the list of tasks are sent back as they came.",
        on=each(Trace, needs=(LIST, "cursor")),
        check=_list_cursor,
    ),
    task_rule(
        "task-list-comes-in-pages",
        "task-listing",
        "A long list of tasks comes in pages.",
        _too_many,
        level=SHOULD,
    ),
    task_rule(
        "task-list-is-whole",
        "task-listing",
        "Every task that tasks/get finds is in the list.",
        _not_listed,
    ),
    task_rule(
        "task-that-is-not-there-is-invalid-params",
        "protocol-errors",
        "A task or a cursor that is not there is answered with -32602.",
        _wrong_code,
    ),
    task_rule(
        "task-errors-say-why",
        "protocol-errors",
        "An error about a task says what was wrong.",
        _no_text,
        level=SHOULD,
    ),
    Rule(
        "task-belongs-to-its-principal",
        MUST,
        "server",
        TASKS_REVISIONS,
        {"legacy": f"{PAGE}#task-isolation-and-access-control"},
        "A task is shown in its own authorization context only.",
        on=each(Trace, among=ABOUT_TASKS),
        check=_owners,
    ),
    task_rule(
        "task-ids-cannot-be-guessed",
        "task-isolation-and-access-control",
        "Where nobody is known by a token, ids of tasks cannot be guessed.",
        _guessable,
        bound="server",
    ),
    Rule(
        "task-list-is-not-for-strangers",
        SHOULD,
        "server",
        TASKS_REVISIONS,
        {"legacy": f"{PAGE}#task-isolation-and-access-control"},
        "A server that cannot tell who asks does not list tasks.",
        on=each(Connection),
        check=_list_of_strangers,
    ),
)
