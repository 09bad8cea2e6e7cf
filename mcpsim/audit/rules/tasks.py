"""Who may make tasks of which requests: capabilities, and what tools say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from mcpsim.audit.model import Call, Connection, Item
from mcpsim.audit.rule import MUST, NOTE, SHOULD, Bound, Found, Level, Rule, each
from mcpsim.audit.rules.task_book import (
    AUGMENTED,
    CANCEL,
    LIST,
    PAGE,
    Book,
    declared,
    has_tasks,
    is_augmented,
    mapping,
    other,
    task_rule,
)
from mcpsim.eras.revisions import TASKS_REVISIONS
from mcpsim.errors import INVALID_REQUEST, METHOD_NOT_FOUND
from mcpsim.recording.words import show

CALL: Final = "tools/call"
_LISTED: Final = "tools/list"
#: After which nothing is known of the tools any more.
_FORGETS: Final = frozenset({"notifications/tools/list_changed", "initialize"})
_OPERATIONS: Final = {LIST: ("tasks", "list"), CANCEL: ("tasks", "cancel")}


def _made_undeclared(book: Book) -> Iterator[Found]:
    for report in book.reports:
        call = report.call
        if report.source == "created" and call is not None:
            receiver = other(call.asked_by)
            path = AUGMENTED[call.method][1]
            if declared(report.item, receiver, path) is False:
                yield Found(
                    report.item,
                    f"{call.method} is answered with a task, and {'.'.join(path)} was not declared in "
                    "initialize. Without it the request is to be answered as if it had no `task`.",
                )
        elif report.source in ("list", "cancel") and call is not None:
            path = _OPERATIONS[call.method]
            if declared(report.item, other(call.asked_by), path) is False:
                yield Found(
                    report.item,
                    f"{call.method} is answered, and {'.'.join(path)} was not declared in initialize.",
                )


def _asked_undeclared(book: Book) -> Iterator[Found]:
    for call in book.connection.calls:
        if not has_tasks(call.request) or not is_augmented(call) or call.method == CALL:
            continue
        path = AUGMENTED[call.method][1]
        if declared(call.request, other(call.asked_by), path) is False:
            yield Found(
                call.request,
                f"{call.method} asks for a task, and the other side has not declared {'.'.join(path)}.",
            )


def _called_undeclared(book: Book) -> Iterator[Found]:
    for call in book.connection.calls:
        if call.method == CALL and has_tasks(call.request) and is_augmented(call):
            path = AUGMENTED[CALL][1]
            if declared(call.request, "server", path) is False:
                yield Found(
                    call.request,
                    f"This tools/call asks for a task, and the server has not declared {'.'.join(path)}.",
                    hint="Leave `task` out.",
                )


def _operated_undeclared(book: Book) -> Iterator[Found]:
    for call in book.connection.calls:
        path = _OPERATIONS.get(call.method)
        if path is None or not has_tasks(call.request):
            continue
        if declared(call.request, other(call.asked_by), path) is False:
            yield Found(
                call.request, f"{call.method} is sent, and the other side has not declared {'.'.join(path)}."
            )


# --- What tools say ----------------------------------------------------------------------------------


def _support(connection: Connection) -> Iterator[tuple[Call, str]]:
    """Every call of a tool of which its caller knows whether it takes tasks, with that: "required",
    "optional" or "forbidden"."""
    return ((call, support) for call, support, knew in _supports(connection) if knew)


def _offered(connection: Connection) -> Iterator[tuple[Call, str]]:
    """The same for every call of a tool of which the trace shows it, also where it was listed later."""
    return ((call, support) for call, support, _ in _supports(connection))


def _supports(connection: Connection) -> Iterator[tuple[Call, str, bool]]:
    if not any("tasks" in (session.server_capabilities or {}) for session in connection.sessions):
        return
    known: dict[str, str] = {}
    called: dict[str, list[Call]] = {}
    for item in connection.items:
        call = item.call
        if item.method in _FORGETS and item.kind in ("notification", "request"):
            known.clear()
            called.clear()
        elif item.kind == "response" and item.method == _LISTED and item.sender == "server":
            for name, support in _said(item):
                known[name] = support
                for earlier in called.pop(name, ()):
                    yield earlier, support, False
        elif call is not None and item is call.request and call.method == CALL and has_tasks(item):
            name = item.params.get("name")
            if not isinstance(name, str) or not declared(item, "server", AUGMENTED[CALL][1]):
                continue
            if name in known:
                yield call, known[name], True
            else:
                called.setdefault(name, []).append(call)


def _said(item: Item) -> Iterator[tuple[str, str]]:
    tools = item.result.get("tools")
    for one in cast("list[Any]", tools) if isinstance(tools, list) else ():
        tool = mapping(one) or {}
        name, execution = tool.get("name"), mapping(tool.get("execution")) or {}
        support = execution.get("taskSupport", "forbidden")
        if isinstance(name, str) and support in ("required", "optional", "forbidden"):
            yield name, support


def _forbidden(connection: Connection) -> Iterator[Found]:
    for call, support in _support(connection):
        if support == "forbidden" and is_augmented(call):
            yield Found(
                call.request,
                f"The tool {show(call.request.params.get('name'))} is called as a task, and its "
                'execution.taskSupport is "forbidden" or not there, which is the same.',
                hint="Leave `task` out.",
            )


def _forbidden_refused(connection: Connection) -> Iterator[Found]:
    for call, support in _offered(connection):
        answer = call.answer
        if support != "forbidden" or not is_augmented(call) or answer is None:
            continue
        if answer.code != METHOD_NOT_FOUND:
            yield Found(
                answer,
                f"A tool that takes no tasks was called as one; the answer is {_shown(answer)}, where "
                f"{METHOD_NOT_FOUND} (method not found) is recommended.",
            )


def _required(connection: Connection) -> Iterator[Found]:
    for call, support in _support(connection):
        if support == "required" and "task" not in call.request.params:
            yield Found(
                call.request,
                f"The tool {show(call.request.params.get('name'))} can only be called as a task "
                '(execution.taskSupport is "required"), and is called without `task`.',
            )


def _required_refused(connection: Connection) -> Iterator[Found]:
    for call, support in _offered(connection):
        answer = call.answer
        if support != "required" or "task" in call.request.params or answer is None:
            continue
        if answer.code == INVALID_REQUEST:
            yield Found(
                answer,
                f"A tool that must be called as a task was not, and the answer is {INVALID_REQUEST}. The "
                f"tasks page wants {METHOD_NOT_FOUND} (tool-level negotiation), and allows {INVALID_REQUEST} "
                "as well (protocol errors).",
                level=NOTE,
            )
        elif answer.code != METHOD_NOT_FOUND:
            yield Found(
                answer,
                f"A tool that must be called as a task was not; the answer is {_shown(answer)}, where "
                f"{METHOD_NOT_FOUND} (method not found) must be.",
            )


def _shown(answer: Item) -> str:
    return "a result" if answer.kind == "response" else f"the error {answer.code}"


def _no_task(connection: Connection) -> Iterator[Found]:
    for call, support in _offered(connection):
        answer = call.answer
        if support == "forbidden" or not is_augmented(call) or answer is None or answer.kind != "response":
            continue
        if answer.result.get("isError") is True:
            # It was not taken at all.
            continue
        if mapping(answer.result.get("task")) is None:
            yield Found(
                answer,
                f"The tool {show(call.request.params.get('name'))} was called as a task, which it takes, and "
                "the answer is no task. A request that is taken as a task is answered with a task at once.",
            )


def _rule(
    id: str,
    anchor: str,
    sentence: str,
    check: Callable[[Connection], Iterator[Found]],
    *,
    bound: Bound,
    level: Level = MUST,
) -> Rule:
    return Rule(
        id,
        level,
        bound,
        TASKS_REVISIONS,
        {"legacy": f"{PAGE}#{anchor}"},
        sentence,
        each(Connection, needs=("tools/list", CALL)),
        check,
    )


TASKS: Final[tuple[Rule, ...]] = (
    task_rule(
        "task-support-is-declared",
        "capabilities",
        "Whoever makes tasks of requests, lists or cancels them, has declared it.",
        _made_undeclared,
    ),
    task_rule(
        "task-is-asked-where-declared",
        "capability-negotiation",
        "A request asks for a task only where the other side has declared it.",
        _asked_undeclared,
        level=SHOULD,
    ),
    task_rule(
        "task-of-a-tool-needs-capability",
        "tool-level-negotiation",
        "A client calls no tool as a task where the server has not declared tasks.requests.tools.call.",
        _called_undeclared,
        bound="client",
    ),
    task_rule(
        "task-operation-needs-capability",
        "operation",
        "Tasks are listed and cancelled only where the other side has declared it.",
        _operated_undeclared,
        page="basic/lifecycle",
    ),
    _rule(
        "task-of-a-tool-that-takes-none",
        "tool-level-negotiation",
        "A client calls a tool as a task only where the tool says that it takes them.",
        _forbidden,
        bound="client",
    ),
    _rule(
        "task-of-a-tool-that-takes-none-is-refused",
        "tool-level-negotiation",
        "A tool that takes no tasks, called as one, is answered with -32601.",
        _forbidden_refused,
        bound="server",
        level=SHOULD,
    ),
    _rule(
        "task-is-what-the-tool-requires",
        "tool-level-negotiation",
        "A client calls a tool as a task where the tool requires it.",
        _required,
        bound="client",
    ),
    _rule(
        "task-less-call-is-refused",
        "tool-level-negotiation",
        "A tool that requires tasks, called without one, is answered with -32601.",
        _required_refused,
        bound="server",
    ),
    _rule(
        "task-is-the-answer",
        "result-retrieval",
        "A request that is taken as a task is answered with a task.",
        _no_task,
        bound="server",
    ),
)
