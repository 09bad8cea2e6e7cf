"""Which messages say to which task they belong, and which need not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from mcpsim.audit.model import Connection, Item, Side
from mcpsim.audit.rule import SHOULD, Found, Rule, each
from mcpsim.audit.rules.task_book import (
    CANCEL,
    GET,
    LIST,
    PAGE,
    RELATED_TASK,
    RESULT,
    STATUS,
    Book,
    Task,
    has_tasks,
    is_augmented,
    related_of,
    task_rule,
)
from mcpsim.eras.revisions import TASKS_REVISIONS
from mcpsim.recording.words import show

ASSOCIATING: Final = "associating-task-related-messages"
_OWN: Final = frozenset({GET, LIST, CANCEL})
_PATIENCE: Final = 3
_SOON_MS: Final = 2_000
#: How many reports are looked at behind one question.
_MOST: Final = 50
_ASKING: Final = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})


def _result_unnamed(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        for call in task.of(RESULT):
            answer = call.answer
            if answer is not None and answer.kind == "response" and related_of(answer) != task.id:
                yield Found(answer, f"This result of tasks/result {_says(answer, task)}.")


def _says(item: Item, task: Task) -> str:
    if RELATED_TASK not in item.meta:
        return f"has no {RELATED_TASK} in its _meta; it must name the task {show(task.id)}"
    return f"says that it belongs to the task {show(related_of(item))}; it is of {show(task.id)}"


def _question_unnamed(book: Book) -> Iterator[Found]:
    known = _known(book)
    for call in book.connection.calls:
        parent = call.parent
        if parent is None or parent.method != RESULT or call.method not in _ASKING:
            continue
        id = parent.request.params.get("taskId")
        related = related_of(call.request)
        if not isinstance(id, str) or related == id:
            continue
        if related is None:
            yield Found(
                call.request,
                f"{call.method} comes in the stream of tasks/result for {show(id)}, and has no "
                f"{RELATED_TASK}. It probably belongs to that task, and must say so.",
                level=SHOULD,
            )
        elif (parent.request.sender, str(related)) not in known:
            yield Found(
                call.request,
                f"{call.method} says that it belongs to the task {show(related)}, of which the trace shows "
                f"nothing; it comes in the stream of tasks/result for {show(id)}.",
                level=SHOULD,
            )


def _known(book: Book) -> set[tuple[str, str]]:
    """The tasks by the side that has asked for them, and id."""
    return {("client" if side == "server" else "server", id) for side, id in book.tasks}


def _answer_unnamed(book: Book) -> Iterator[Found]:
    for call in book.connection.calls:
        id, answer = related_of(call.request), call.answer
        if not isinstance(id, str) or answer is None or answer.kind != "response":
            continue
        if call.method in (*_OWN, RESULT) or is_augmented(call) or not has_tasks(call.request):
            continue
        related = related_of(answer)
        if related != id:
            what = "does not say so" if related is None else f"names {show(related)}"
            yield Found(
                answer,
                f"This answers a {call.method} of the task {show(id)}, and {what}: its _meta must have "
                f"{RELATED_TASK} with that id.",
            )


def _progress_unnamed(book: Book) -> Iterator[Found]:
    made = {one.created.call: one for one in book.tasks.values() if one.created is not None}
    for call in book.connection.calls:
        task = made.get(call)
        if task is None or call.answer is None:
            continue
        for item in call.progress:
            if item.index > call.answer.index and related_of(item) != task.id:
                yield Found(item, f"This progress of a task {_says(item, task)}.")


def _needless(connection: Connection) -> Iterator[Found]:
    for item in connection.items:
        if RELATED_TASK not in item.meta or not has_tasks(item):
            continue
        needs_none = (
            (item.kind == "request" and (item.method in _OWN or item.method == RESULT))
            or (item.kind == "response" and item.method in _OWN)
            or (item.kind == "notification" and item.method == STATUS)
        )
        if needs_none:
            yield Found(
                item,
                f"This {item.method} {'result ' if item.kind == 'response' else ''}has {RELATED_TASK} in its "
                "_meta; it says without it which task is meant.",
            )


# --- Input -------------------------------------------------------------------------------------------


def _waits_as_working(book: Book) -> Iterator[Found]:
    """A task that waits for an answer of the other side, and says that it works."""
    for call in book.connection.calls:
        id, answer = related_of(call.request), call.answer
        if not isinstance(id, str) or call.method not in _ASKING:
            continue
        task = book.tasks.get((call.asked_by, id))
        for report in () if task is None else islice(task.after(call.request.index), _MOST):
            asked = None if report.source != "get" or report.call is None else report.call.request.index
            if asked is None or report.status != "working" or asked < call.request.index:
                continue
            if answer is not None and report.item.index > answer.index:
                break
            yield Found(
                report.item,
                f'The task {show(id)} is "working", and waits for the answer to {call.method} (row '
                f'{call.request.index}); it should be "input_required".',
            )
            break


def _input_not_asked_for(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        waiting: list[Item] = []
        results = [call.request.index for call in task.of(RESULT)]
        for report in task.reports:
            if report.source != "get" or report.call is None:
                continue
            if report.status != "input_required":
                waiting.clear()
                continue
            waiting.append(report.call.request)
            if len(waiting) == _PATIENCE and not (results and results[0] < waiting[-1].index):
                yield Found(
                    report.call.request,
                    f'The task {show(task.id)} was "input_required" before, and is only asked after with '
                    "tasks/get: what it needs comes with tasks/result.",
                    hint="Send tasks/result.",
                )


def _input_for_ever(book: Book) -> Iterator[Found]:
    answered: dict[tuple[Side, str], tuple[Item, int]] = {}
    open_calls: dict[tuple[Side, str], int] = {}
    for call in book.connection.calls:
        id: Any = related_of(call.request)
        if isinstance(id, str) and call.method in _ASKING:
            key = call.asked_by, id
            open_calls[key] = max(open_calls.get(key, 0), call.request.index)
            if call.answer is not None:
                answered[key] = call.answer, call.request.index
    for (side, id), (answer, last) in answered.items():
        # Whoever asks within a task is the one who carries it out.
        task = book.tasks.get((side, id))
        if task is None or open_calls[side, id] > last:
            continue
        for report in task.reports:
            call = report.call
            if report.source != "get" or call is None or report.status != "input_required":
                continue
            asked, gave = call.request, answer.at_ms
            late = asked.at_ms is not None and gave is not None and asked.at_ms - gave >= _SOON_MS
            if asked.index > answer.index and late:
                yield Found(
                    report.item,
                    f"The task {show(id)} has had its answer since row {answer.index}, and is still "
                    '"input_required".',
                )
                break


TASK_MESSAGES: Final[tuple[Rule, ...]] = (
    task_rule(
        "task-result-names-its-task",
        "related-task-metadata",
        "The result of tasks/result names its task in _meta.",
        _result_unnamed,
    ),
    task_rule(
        "task-question-names-its-task",
        "input-required-status",
        "A request that a task needs an answer to names the task in _meta.",
        _question_unnamed,
    ),
    task_rule(
        "task-answer-names-its-task",
        ASSOCIATING,
        "The answer to a request of a task names the task in _meta.",
        _answer_unnamed,
    ),
    task_rule(
        "task-progress-names-its-task",
        ASSOCIATING,
        "A progress notification of a task names the task in _meta.",
        _progress_unnamed,
    ),
    Rule(
        "task-needs-no-second-name",
        SHOULD,
        "sender",
        TASKS_REVISIONS,
        {"legacy": f"{PAGE}#{ASSOCIATING}"},
        "What names a task already does not name it once more in _meta.",
        on=each(Connection),
        check=_needless,
    ),
    task_rule(
        "task-that-waits-says-so",
        "input-required-status",
        "A task that waits for input is input_required.",
        _waits_as_working,
        level=SHOULD,
    ),
    task_rule(
        "task-input-is-asked-for",
        "input-required-status",
        "Whoever sees that a task needs input sends tasks/result.",
        _input_not_asked_for,
        level=SHOULD,
    ),
    task_rule(
        "task-goes-on-after-input",
        "input-required-status",
        "A task that has its input is not input_required any more.",
        _input_for_ever,
        level=SHOULD,
    ),
)
