"""Exercise: which capability opens the way for which message?"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.set_03_handshake.rules import (
    CAPABILITIES,
    NEGOTIATED_ONLY,
    OPERATION,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import BY_NAME_AND_REVISION, Method
from mcpsim.eras.pages import LEGACY
from mcpsim.eras.revisions import LATEST_LEGACY

SEEDS: Final = (1, 2, 3)

Json = dict[str, Any]

FREE: Final = ("ping", "notifications/progress", "notifications/cancelled")
#: Methods by what opens them, as the text of the task has it.
TABLE: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("server", "tools", ("tools/list", "tools/call")),
    ("server", "tools.listChanged", ("notifications/tools/list_changed",)),
    ("server", "prompts", ("prompts/list", "prompts/get")),
    ("server", "resources", ("resources/list", "resources/read")),
    ("server", "resources.subscribe", ("resources/subscribe", "notifications/resources/updated")),
    ("server", "completions", ("completion/complete",)),
    ("server", "logging", ("logging/setLevel", "notifications/message")),
    ("client", "roots", ("roots/list",)),
    ("client", "roots.listChanged", ("notifications/roots/list_changed",)),
    ("client", "sampling", ("sampling/createMessage",)),
    ("client", "elicitation", ("elicitation/create",)),
)

_EVERYTHING: Final[Json] = {
    "client": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}},
    "server": {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "completions": {},
        "logging": {},
    },
}


@dataclass(frozen=True, slots=True)
class Case:
    """A method, and what both sides declared."""

    method: str
    client: Json
    server: Json

    @property
    def row(self) -> Method:
        """The row of the method table."""
        return BY_NAME_AND_REVISION[self.method, LATEST_LEGACY]

    @property
    def right(self) -> bool:
        """Whether it may be used."""
        row = self.row
        if not row.capability:
            return True
        return declares(self.client if row.declared_by == "client" else self.server, row.capability)


def cases(seed: int) -> Iterator[Case]:
    """Each method with what opens it, with all but that, with nothing, and with the other side's."""
    rng = Random(f"gated:{seed}")
    methods = [(who, path, name) for who, path, names in TABLE for name in names]
    rng.shuffle(methods)
    for name in FREE:
        yield Case(name, {}, {})
    for who, path, name in methods:
        yield _case(name, who, _only(path))
        yield _case(name, who, {})
        yield _case(name, who, _without(who, path))
        yield Case(name, **copy.deepcopy(_EVERYTHING))
        # The same words, declared by the wrong side.
        yield _case(name, "client" if who == "server" else "server", _only(path))
        group, _, inner = path.partition(".")
        if inner:
            yield _case(name, who, {group: {}})
            yield _case(name, who, {group: {inner: False}})


def _case(method: str, who: str, declared: Json) -> Case:
    return Case(method, declared if who == "client" else {}, declared if who == "server" else {})


def _only(path: str) -> Json:
    group, _, inner = path.partition(".")
    return {group: {inner: True} if inner else {}}


def _without(who: str, path: str) -> Json:
    declared: Json = copy.deepcopy(_EVERYTHING[who])
    group, _, inner = path.partition(".")
    del (declared[group] if inner else declared)[inner or group]
    return declared


def grade(answer: object, learner: Learner) -> Passed:
    """Call the function with every method, and with every kind of declaration."""
    seen = 0
    for seed in SEEDS:
        for case in cases(seed):
            about = (
                f"`{case.method}`, where the client declared {show(case.client)} and the server "
                f"{show(case.server)}"
            )
            value = learner.call(
                answer, case.method, copy.deepcopy(case.client), copy.deepcopy(case.server), on=about
            )
            if is_placeholder(value):
                raise NotAttempted
            if not isinstance(value, bool):
                raise NotYet(f"{name_of(answer)} returned {show(value)}.", look="Return True or False.")
            if value is not case.right:
                raise NotYet(
                    f"{about}: {name_of(answer)} says {value}. {_why(case)}",
                    NEGOTIATED_ONLY,
                    "A capability is declared by being there, even as an empty object. Within it, `true` "
                    "declares more, and `false` says the same as leaving it out.",
                )
            seen += 1
    return Passed(
        f"{seen} questions: each message is let through where its capability was declared.", NEGOTIATED_ONLY
    )


def _why(case: Case) -> str:
    row = case.row
    if not row.capability:
        return "It needs no capability."
    return f"It needs `{row.capability}`, declared by the {row.declared_by}."


_ROWS: Final = "\n".join(
    f"| `{path}` | {who} | {', '.join(f'`{name}`' for name in names)} |" for who, path, names in TABLE
)

TASK: Final = Task(
    era=LEGACY,
    name="gated",
    title="The gate of the capabilities",
    text=f"""\
A handshake is over, and both sides know what was declared. Write the function that says whether a message
may be used in this session.

| capability | declared by | opens the way for |
|---|---|---|
{_ROWS}

`ping`, progress and cancellation need none, and other methods are not asked for. `client` and `server` are
the two `capabilities` objects of the handshake. A point means a member: `resources.subscribe` is declared by
`{{"resources": {{"subscribe": true}}}}`.""",
    answer="may_use",
    starter='''\
def may_use(method, client, server):
    """Whether a message with this method may be used, after these declarations."""
    return ...''',
    hints=(
        "Make a dict of the table: for each method the side that declares, and the path.",
        "`{}` is false in Python, and still declares a capability. Ask with `in`, or compare with None.",
        "For a path with a point, go in step by step. At its end stands an object, `true` or `false`; only "
        "the last one does not declare.",
    ),
    solution=(
        """\
SERVERS = {
    "tools/list": "tools", "tools/call": "tools",
    "notifications/tools/list_changed": "tools.listChanged",
    "prompts/list": "prompts", "prompts/get": "prompts",
    "resources/list": "resources", "resources/read": "resources",
    "resources/subscribe": "resources.subscribe",
    "notifications/resources/updated": "resources.subscribe",
    "completion/complete": "completions",
    "logging/setLevel": "logging", "notifications/message": "logging",
}""",
        """\
CLIENTS = {
    "roots/list": "roots",
    "notifications/roots/list_changed": "roots.listChanged",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}""",
        """\
def may_use(method, client, server):
    declared = server if method in SERVERS else client
    path = SERVERS.get(method) or CLIENTS.get(method)
    for name in path.split(".") if path else ():
        declared = declared.get(name, False)
        if declared is False:
            return False
    return True""",
    ),
    why="The receiver's side declares what may be asked of it; a notification is declared by the side "
    "that will send it. "
    "Who asks and who declares are not always the same.",
    grade=grade,
    pages=(("capability negotiation", CAPABILITIES), ("operation", OPERATION)),
)
