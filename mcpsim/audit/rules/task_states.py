"""What is told of a task: its id, its status, its times, and its result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcpsim.audit.model import Call, Item
from mcpsim.audit.rule import NOTE, SHOULD, Found, Rule
from mcpsim.audit.rules.task_book import (
    CANCEL,
    RESULT,
    STATUSES,
    TERMINAL,
    Book,
    Report,
    Task,
    is_later,
    mapping,
    task_rule,
    time_of,
)
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from mcpsim.recording.words import show

_AT_WORK: Final = ("working", "input_required")
#: What the result of a request has that a task has not.
_SIGN: Final[Mapping[str, str]] = {
    "tools/call": "content",
    "sampling/createMessage": "content",
    "elicitation/create": "action",
}
_LONG_MS: Final = 10_000


# --- Ids ---------------------------------------------------------------------------------------------


def _no_string(book: Book) -> Iterator[Found]:
    for report in book.reports:
        if not isinstance(report.id, str):
            what = f"is {show(report.id)}; it must be a string" if "taskId" in report.task else "is missing"
            yield Found(report.item, f"The taskId of this task {what}.")


def _not_own(book: Book) -> Iterator[Found]:
    for report in book.reports:
        if report.source != "created" or report.call is None or not isinstance(report.id, str):
            continue
        asked = mapping(report.call.request.params.get("task")) or {}
        if asked.get("taskId") == report.id:
            yield Found(
                report.item,
                f"The task has the id {show(report.id)} that its request brought; the receiver must make it.",
            )


def _not_unique(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        made = [report for report in task.reports if report.source == "created"]
        for report in made[1:]:
            yield Found(
                report.item,
                f"A second task has the id {show(task.id)}; the first was made in row {made[0].item.index}.",
            )


def _other_id(book: Book) -> Iterator[Found]:
    for report in book.reports:
        if report.source not in ("get", "cancel") or report.call is None:
            continue
        asked = report.call.request.params.get("taskId")
        if isinstance(asked, str) and isinstance(report.id, str) and asked != report.id:
            yield Found(
                report.item,
                f"{report.call.method} asked for the task {show(asked)}, and the answer is about "
                f"{show(report.id)}. The taskId of the params says which task is meant.",
            )


# --- Status ------------------------------------------------------------------------------------------


def _unknown_status(book: Book) -> Iterator[Found]:
    for report in book.reports:
        if not report.status:
            yield Found(
                report.item,
                f"The status of this task is {show(report.task.get('status'))}; there are "
                f"{', '.join(sorted(STATUSES))}.",
            )


def _begins(book: Book) -> Iterator[Found]:
    for report in book.reports:
        if report.source != "created" or report.status == "working" or not report.status:
            continue
        made, updated = report.task.get("createdAt"), report.task.get("lastUpdatedAt")
        sure = made is not None and made == updated
        yield Found(
            report.item,
            f'A new task is {show(report.status)}; tasks begin as "working".'
            + ("" if sure else " It may have been that before, and the answer may be late."),
            level=None if sure else NOTE,
        )


def _after_the_end(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        end: Report | None = None
        for report in task.reports:
            if not report.status or report.item.disturbed:
                continue
            if end is not None and report.status != end.status and is_later(report, end):
                yield Found(
                    report.item,
                    f"The task {show(task.id)} is {show(report.status)}, and was {show(end.status)} in row "
                    f"{end.item.index}. That was an end: nothing comes after it.",
                )
            elif end is None and report.status in TERMINAL:
                end = report


def _cancel_answer(book: Book) -> Iterator[Found]:
    for report in book.reports:
        if report.source != "cancel" or report.call is None or report.status in ("", "cancelled"):
            continue
        task = book.tasks.get((report.item.sender, str(report.id)))
        if task is not None and _ended(task, report.call.request) is not None:
            # That such a request is to be refused is another rule.
            continue
        yield Found(
            report.item,
            f'tasks/cancel is answered with a task that is {show(report.status)}; it must be "cancelled" '
            "before the answer is sent.",
        )


def _ended(task: Task, before: Item) -> Report | None:
    """How a task had ended when a request was sent, as far as whoever sent it knew."""
    last = task.last(before.index)
    return last if last is not None and last.status in TERMINAL else None


def _cancelled_too_late(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        for call in task.of(CANCEL):
            end, answer = _ended(task, call.request), call.answer
            if (
                end is None
                or answer is None
                or answer.code in (INVALID_PARAMS, METHOD_NOT_FOUND, INTERNAL_ERROR)
            ):
                continue
            what = "a result" if answer.kind == "response" else f"the error {answer.code}"
            yield Found(
                answer,
                f"The task {show(task.id)} was {show(end.status)} (row {end.item.index}), and tasks/cancel "
                f"is answered with {what}; it must be refused with {INVALID_PARAMS}.",
            )


# --- Times -------------------------------------------------------------------------------------------


def _time_check(name: str) -> Any:
    def check(book: Book) -> Iterator[Found]:
        for report in book.reports:
            value = report.task.get(name)
            moment = time_of(value)
            if moment is None:
                what = f"is {show(value)}" if name in report.task else "is missing"
                yield Found(
                    report.item,
                    f'{name} of this task {what}; it must be a time such as "2025-11-25T10:30:00Z".',
                )
            elif moment.tzinfo is None:
                yield Found(
                    report.item,
                    f"{name} of this task is {show(value)}, without a zone. basic/utilities/tasks says "
                    "ISO 8601, which allows that, and links to RFC 3339, which does not.",
                    level=NOTE,
                )

    return check


def _ttl(book: Book) -> Iterator[Found]:
    for report in book.reports:
        ttl = report.task.get("ttl", "")
        good = ttl is None or (isinstance(ttl, int | float) and not isinstance(ttl, bool))
        if report.source == "get" and not good:
            what = f"is {show(ttl)}" if "ttl" in report.task else "is missing"
            yield Found(
                report.item,
                f"ttl of this task {what}; tasks/get gives it in milliseconds, or null for without an end.",
            )


def _late(book: Book) -> Iterator[Found]:
    for report in book.reports:
        call = report.call
        if report.source != "created" or call is None:
            continue
        begin, end = call.request.at_ms, report.item.at_ms
        if begin is not None and end is not None and end - begin > _LONG_MS:
            yield Found(
                report.item,
                f"The task comes {(end - begin) / 1000:g} s after its request; it is to come as soon as the "
                "request is accepted.",
                level=NOTE,
            )


# --- Results -----------------------------------------------------------------------------------------


def _results(task: Task) -> Iterator[tuple[Call, Item]]:
    for call in task.of(RESULT):
        if call.answer is not None and not call.answer.disturbed:
            yield call, call.answer


def _no_result(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        made = None if task.created is None else task.created.call
        sign = None if made is None else _SIGN.get(made.method)
        for call, answer in _results(task):
            end = _ended(task, call.request)
            if answer.kind == "response":
                if made is not None and sign is not None and sign not in answer.result:
                    yield Found(
                        answer,
                        f"This result of tasks/result has no `{sign}`: it is not what {made.method} would "
                        "have been answered with.",
                    )
            elif (
                end is not None
                and end.status == "completed"
                and answer.code != INTERNAL_ERROR
                and not _is_over(task, call.request)
            ):
                yield Found(
                    answer,
                    f"The task {show(task.id)} is completed (row {end.item.index}), and tasks/result is "
                    f"answered with the error {answer.code}; it must give the result.",
                )


def _is_over(task: Task, now: Item) -> bool:
    """Whether the time for which a task is kept may be over."""
    first = task.created
    if first is None or first.item.at_ms is None or now.at_ms is None:
        return True
    last = task.last(now.index)
    ttl = (last or first).task.get("ttl")
    if ttl is None:
        return False
    return not isinstance(ttl, int | float) or now.at_ms >= first.item.at_ms + ttl


def _not_the_same(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        first: Item | None = None
        for _, answer in _results(task):
            if answer.kind != "response":
                continue
            if first is None:
                first = answer
            elif _contents(first) != _contents(answer):
                yield Found(
                    answer,
                    f"The result of the task {show(task.id)} is another one than in row {first.index}; both "
                    "must be exactly what the request would have been answered with.",
                )


def _contents(item: Item) -> str:
    kept = {name: value for name, value in item.result.items() if name != "_meta"}
    return json.dumps(kept, sort_keys=True, default=str)


def _too_early(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        # The last time that it was asked for and still at work.
        asked, at_work = -1, None
        for report in task.reports:
            call = report.call if report.source == "get" and report.status in _AT_WORK else None
            if call is not None and call.request.index > asked:
                asked, at_work = call.request.index, report
        if at_work is None:
            continue
        for call, answer in _results(task):
            if answer.index < asked and answer.code != INTERNAL_ERROR and call.cancelled is None:
                yield Found(
                    answer,
                    f"tasks/result is answered, and the task {show(task.id)} is {show(at_work.status)} after "
                    f"that (row {at_work.item.index}). The answer must wait until the task has ended.",
                )


def _error_completed(book: Book) -> Iterator[Found]:
    for task in book.tasks.values():
        if task.created is None or task.created.call is None or task.created.call.method != "tools/call":
            continue
        for call, answer in _results(task):
            end = _ended(task, call.request)
            if answer.result.get("isError") is True and end is not None and end.status == "completed":
                yield Found(
                    answer,
                    f"The tool of the task {show(task.id)} has failed (isError), and the task is "
                    '"completed"; it should be "failed".',
                )


def _no_reason(book: Book) -> Iterator[Found]:
    for report in book.reports:
        if report.source == "get" and report.status == "failed" and not report.task.get("statusMessage"):
            yield Found(report.item, f"The task {show(report.id)} has failed, and no statusMessage says why.")


TASK_STATES: Final[tuple[Rule, ...]] = (
    task_rule("task-id-is-a-string", "task-id-requirements", "The id of a task is a string.", _no_string),
    task_rule(
        "task-id-is-made-by-the-receiver",
        "task-id-requirements",
        "Whoever carries a task out makes its id.",
        _not_own,
    ),
    task_rule(
        "task-ids-are-unique",
        "task-id-requirements",
        "No two tasks of one peer have the same id.",
        _not_unique,
    ),
    task_rule(
        "task-of-the-params-is-meant",
        "associating-task-related-messages",
        "The taskId of the params says which task is meant.",
        _other_id,
    ),
    task_rule(
        "task-status-is-known",
        "task-status-lifecycle",
        "The status of a task is one of five.",
        _unknown_status,
    ),
    task_rule("task-begins-working", "task-status-lifecycle", 'A task begins as "working".', _begins),
    task_rule(
        "task-end-is-final",
        "task-status-lifecycle",
        "A task that is completed, failed or cancelled stays that.",
        _after_the_end,
    ),
    task_rule(
        "task-is-cancelled-before-the-answer",
        "task-cancellation",
        "The answer to tasks/cancel shows a task that is cancelled.",
        _cancel_answer,
    ),
    task_rule(
        "task-that-has-ended-is-not-cancelled",
        "task-cancellation",
        "To cancel a task that has ended is refused with -32602.",
        _cancelled_too_late,
    ),
    task_rule(
        "task-says-when-it-was-made",
        "ttl-and-resource-management",
        "Every task that is told of has a createdAt in ISO 8601.",
        _time_check("createdAt"),
    ),
    task_rule(
        "task-says-when-it-changed",
        "ttl-and-resource-management",
        "Every task that is told of has a lastUpdatedAt in ISO 8601.",
        _time_check("lastUpdatedAt"),
    ),
    task_rule(
        "task-says-how-long-it-is-kept",
        "ttl-and-resource-management",
        "The answer to tasks/get has the ttl, or null.",
        _ttl,
    ),
    task_rule(
        "task-comes-at-once",
        "result-retrieval",
        "A task is given as soon as its request is accepted.",
        _late,
        level=SHOULD,
    ),
    task_rule(
        "task-result-is-the-result",
        "result-retrieval",
        "tasks/result gives what the request would have been answered with.",
        _no_result,
    ),
    task_rule(
        "task-result-stays-the-same",
        "result-retrieval",
        "tasks/result gives the same result each time.",
        _not_the_same,
    ),
    task_rule(
        "task-result-waits-for-the-end",
        "result-retrieval",
        "tasks/result is not answered before the task has ended.",
        _too_early,
    ),
    task_rule(
        "task-of-a-failed-tool-is-failed",
        "task-execution-errors",
        "A task whose tool has failed is failed.",
        _error_completed,
        level=NOTE,
    ),
    task_rule(
        "task-failure-has-a-message",
        "task-execution-errors",
        "A failed task says why.",
        _no_reason,
        level=SHOULD,
    ),
)
