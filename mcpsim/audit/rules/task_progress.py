"""Progress of a request that has become a task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from mcpsim.audit.building import key_of
from mcpsim.audit.model import Call, Connection, Item, Side
from mcpsim.audit.order import is_one_stream
from mcpsim.audit.rule import MUST, Found, Rule, each
from mcpsim.audit.rules.progress import PROGRESS_METHOD, task_of
from mcpsim.eras.revisions import LATEST_LEGACY
from mcpsim.messages.meta import PROGRESS_TOKEN
from mcpsim.recording.words import show

RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})


def _id_of(task: Any) -> str | None:
    found = cast("dict[str, Any]", task).get("taskId") if isinstance(task, dict) else None
    return found if isinstance(found, str) else None


def _tasks(connection: Connection) -> dict[str, Call]:
    """The requests that have become tasks, by the id of the task."""
    found: dict[str, Call] = {}
    for call in connection.calls:
        task = task_of(call)
        id = None if task is None else _id_of(task)
        if id is not None and call.revision == LATEST_LEGACY:
            found.setdefault(id, call)
    return found


def _keeps_token(connection: Connection) -> Iterator[Found]:
    tasks = _tasks(connection)
    if not tasks:
        return
    for item in connection.items:
        if item.kind != "notification" or item.method != PROGRESS_METHOD:
            continue
        call = tasks.get(_id_of(item.meta.get(RELATED_TASK)) or "")
        if call is None or call.asked_by == item.sender:
            continue
        given = key_of(call.asked_by, call.request.meta.get(PROGRESS_TOKEN))
        if key_of(call.asked_by, item.params.get(PROGRESS_TOKEN)) == given:
            continue
        was = f"has the token {show(given[2])}" if given is not None else "has no token"
        yield Found(
            item,
            f"This progress of a task has the token {show(item.params.get(PROGRESS_TOKEN))}; the request that"
            f" became the task, in row {call.request.index}, {was}.",
            hint="Use the token of the first request as long as the task lives.",
        )


def _stops(connection: Connection) -> Iterator[Found]:
    tasks = _tasks(connection)
    if not tasks:
        return
    tokens = {key_of(call.asked_by, call.request.meta.get(PROGRESS_TOKEN)): id for id, call in tasks.items()}
    ended: dict[str, Item] = {}
    for item in connection.items:
        if item.kind == "notification" and item.method == PROGRESS_METHOD:
            other: Side = "server" if item.sender == "client" else "client"
            key = key_of(other, item.params.get(PROGRESS_TOKEN))
            id = tokens.get(key) if key is not None else None
            end = None if id is None else ended.get(id)
            if end is not None and is_one_stream(end, item):
                yield Found(
                    item,
                    f"The task {show(id)} had ended in row {end.index}, and its progress still goes on.",
                    hint="Send the last progress before the task ends.",
                )
            continue
        told = _told_end(item, tasks)
        if told is not None:
            ended.setdefault(told, item)


def _told_end(item: Item, tasks: dict[str, Call]) -> str | None:
    """The task of which this says that it has ended, by the side that carries it out."""
    body: Any = None
    if item.kind == "notification" and item.method == "notifications/tasks/status":
        body = item.params
    elif item.kind == "response" and item.method in ("tasks/get", "tasks/cancel"):
        body = item.result
    status = None if body is None else body.get("status")
    if not isinstance(status, str) or status not in TERMINAL:
        return None
    id = _id_of(body)
    call = tasks.get(id or "")
    return id if call is not None and call.asked_by != item.sender and not item.disturbed else None


TASK_PROGRESS: Final[tuple[Rule, ...]] = (
    Rule(
        "task-progress-keeps-token",
        MUST,
        "sender",
        frozenset({LATEST_LEGACY}),
        {"legacy": "basic/utilities/progress#behavior-requirements"},
        "The progress of a task has the token of the request that became the task.",
        on=each(Connection),
        check=_keeps_token,
    ),
    Rule(
        "task-progress-stops",
        MUST,
        "sender",
        frozenset({LATEST_LEGACY}),
        {"legacy": "basic/utilities/progress#behavior-requirements"},
        "A task that has ended has no more progress.",
        on=each(Connection),
        check=_stops,
    ),
)
