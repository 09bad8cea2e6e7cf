"""Exercise: the same tools in the same order, however they were registered."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import items_of
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import exchanges, require_valid
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.modern import Route
from mcpsim.server import Server
from mcpsim.server.tools import Tool

SEEDS: Final = (1, 2, 3, 4)
SALTS: Final = 6

ORDER: Final = Rule(
    "Servers SHOULD return tools in a deterministic order: the same order in every request, as long as the "
    "set of tools is the same. Clients can then cache the list, and a model's prompt cache is hit more "
    "often.",
    "server/tools#capabilities",
)
ALL_OF_THEM: Final = Rule(
    "A server MUST answer `tools/list` with the set of tools that are available to the client.",
    "server/tools#capabilities",
)

Definition = dict[str, Any]


def grade(answer: object, learner: Learner) -> Passed:
    """Call the function with sets of tools in many orders, then let a server use it."""
    _agree_with_itself(answer, learner)
    _agree_whatever_the_hash(answer, learner)
    for seed in SEEDS:
        _agree([_ordered(answer, learner, order) for order in _orders(_tools(seed), seed)])
    _agree_on_the_wire(answer, learner)
    return Passed(
        f"{len(SEEDS)} sets of tools, each registered in several orders, always gave one list, and so did a "
        "server that uses your function.",
        ORDER,
    )


def _agree(lists: list[tuple[list[str], list[str]]]) -> None:
    (first_order, first_list), *others = lists
    for order, listed in others:
        if listed != first_list:
            raise NotYet(
                f"Registered as {_names(first_order)}, the tools are listed as {_names(first_list)}. "
                f"Registered as {_names(order)}, they are listed as {_names(listed)}.",
                ORDER,
                "What decides the order must be in the tools themselves, and must differ from tool to tool.",
            )


def _agree_with_itself(answer: object, learner: Learner) -> None:
    (_, first), *others = [_ordered(answer, learner, _tools(0)) for _ in range(4)]
    for _, listed in others:
        if listed != first:
            raise NotYet(
                f"Called with the same list, it gave {_names(first)}, and then {_names(listed)}.",
                ORDER,
                "Leave chance out of it.",
            )


def _ordered(answer: object, learner: Learner, tools: list[Definition]) -> tuple[list[str], list[str]]:
    """The names as they were registered, and as the learner's function lists them."""
    names = [str(tool["name"]) for tool in tools]
    value = learner.call(answer, copy.deepcopy(tools), on=f"the tools {_names(names)}")
    if is_placeholder(value):
        raise NotAttempted
    listed = items_of(value)
    if listed is None:
        raise NotYet(
            f"{name_of(answer)} returned {show(value)}.",
            look="Return a list of the tools that it was given: `list.sort()` sorts in place and returns "
            "None.",
        )
    if sorted(map(_text, listed)) != sorted(map(_text, tools)):
        raise NotYet(
            f"{name_of(answer)} was given {len(tools)} tools and returned {show(listed)}.",
            ALL_OF_THEM,
            "Return every tool once, and do not change what is in it.",
        )
    return names, [str(tool["name"]) for tool in listed]


def _agree_whatever_the_hash(answer: object, learner: Learner) -> None:
    lists = [
        _ordered(answer, learner, [{**tool, "name": _Salted.of(tool["name"], salt)} for tool in _tools(0)])
        for salt in range(SALTS)
    ]
    if any(listed != lists[0][1] for _, listed in lists):
        raise NotYet(
            f"The tools were registered in one order, {_names(lists[0][0])}, and still listed in several "
            "orders. In another process Python hashes strings in another way, and then a set has another "
            "order.",
            ORDER,
            "Do not go through a set: sort what comes out of it, or leave the set out.",
        )


def _agree_on_the_wire(answer: object, learner: Learner) -> None:
    lists: list[bytes] = []
    for transport, seed in worlds():
        definitions = _tools(0)
        Random(f"wire:{seed}").shuffle(definitions)
        server = _Desk(lambda tools: learner.call(answer, tools))
        for definition in definitions:
            server.tool(definition["name"], description=definition["description"])(_do_nothing)

        async def list_twice(client: Any) -> None:
            await client.list_tools()
            await client.list_tools()

        run = learner.play(
            list_twice, server=server, transport=transport, seed=seed, title=TITLE, written=answer
        )
        require_valid(run.recording)
        lists += [_text(one.result["tools"]).encode() for one in exchanges(run.recording) if one.result]
        if any(one != lists[0] for one in lists):
            raise NotYet(
                "A server that lists its tools with your function gave different lists.",
                ORDER,
                "Does it answer the same way every time?",
                run.recording,
            )


def _do_nothing() -> None:
    """The handler of a tool that nobody calls here."""


class _Desk(Server):
    """A server whose list has the order that a function gives it."""

    def __init__(self, in_order: Callable[[list[Definition]], Any]) -> None:
        super().__init__("desk")
        self._in_order = in_order
        self._registered: list[Tool] = []

    def add_tool(self, tool: Tool) -> None:
        super().add_tool(tool)
        self._registered.append(tool)

    def route(self, method: str) -> Route | None:
        found = super().route(method)
        return _InOrder(found, self) if found is not None and method == "tools/list" else found

    def definitions(self) -> list[Definition]:
        """The tools as the function wants them listed."""
        return list(self._in_order([dict(tool.definition()) for tool in self._registered]))


@dataclass(frozen=True, slots=True)
class _InOrder:
    """`tools/list`, in the order of a function."""

    plain: Route
    desk: _Desk

    def check(self, params: dict[str, Any], version: str) -> Any:
        return self.plain.check(params, version)

    def authorise(self, principal: str, arguments: Any) -> None:
        self.plain.authorise(principal, arguments)

    async def run(self, context: Any, arguments: Any) -> dict[str, Any]:
        result = await self.plain.run(context, arguments)
        return {**result, "tools": self.desk.definitions()}


class _Salted(str):
    """A name whose hash depends on a salt, as the hash of every string depends on the process."""

    salt: int

    @classmethod
    def of(cls, name: str, salt: int) -> _Salted:
        made = cls(name)
        made.salt = salt
        return made

    def __hash__(self) -> int:
        return Random(f"{self.salt}:{str.__str__(self)}").getrandbits(60)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True

    def __deepcopy__(self, memo: Any) -> _Salted:
        return self


def _tools(seed: int) -> list[Definition]:
    """Seven tools whose names are unlike in every seed. Two names differ in case alone, and some descriptions
    are the same, so that neither tells the tools apart."""
    rng = Random(f"tools:{seed}")
    verbs = rng.sample(["add", "book", "count", "drop", "find", "give", "hold", "join", "keep", "list"], 6)
    names = [f"{verb}_{rng.choice(['desk', 'item', 'ticket', 'visit'])}" for verb in verbs]
    names.append(names[0].capitalize())
    rng.shuffle(names)
    described = [rng.choice(["For the desk.", "For the shop."]) for _ in names]
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    return [
        {"name": name, "description": text, "inputSchema": schema}
        for name, text in zip(names, described, strict=True)
    ]


def _orders(tools: list[Definition], seed: int) -> Iterator[list[Definition]]:
    yield tools
    yield tools[::-1]
    for n in range(4):
        shuffled = list(tools)
        Random(f"order:{seed}:{n}").shuffle(shuffled)
        yield shuffled


def _names(names: list[str]) -> str:
    return ", ".join(names)


def _text(value: object) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return f"no JSON: {type(value).__name__}"


TITLE: Final = "One order of tools"

TASK: Final = Task(
    name="order",
    title=TITLE,
    text="""\
A server keeps its tools in the order in which they were registered, and that order differs from start to
start. Write the function that puts them in order for `tools/list`, so that the list is always the same:
reverse the registry, and the list stays as it was.

`tools` is a list of tool definitions: dicts with `name`, `description` and `inputSchema`. Return them all, in
your order. Names are unique, and `find` and `Find` are two names.""",
    answer="in_order",
    starter='''\
def in_order(tools):
    """The tools in an order that does not depend on how they were registered."""
    return ...''',
    hints=(
        "What do two registrations of the same tools have in common? Only what is in the tools.",
        "Sort by something that no two tools share. Where two are equal, Python's `sorted` keeps the order "
        "in which they came, and that is the order of registration.",
        "`sorted(tools, key=…)` with a function that gets one tool and returns its name.",
    ),
    solution=(
        """\
def in_order(tools):
    return sorted(tools, key=lambda tool: tool["name"])""",
    ),
    why="Names are unique within a server, so no two tools are ever equal, and nothing is left to chance.",
    grade=grade,
    pages=(("tools", "server/tools#capabilities"),),
)
