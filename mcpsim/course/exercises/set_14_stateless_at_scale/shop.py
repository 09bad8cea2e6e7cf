"""Exercise: a server whose baskets are known to every replica."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder, require_function
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.tool_errors import tells_nothing
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.errors import ProtocolError
from mcpsim.recording import Recording
from mcpsim.server import Server

OPEN, ADD, LIST = "open_basket", "add_item", "list_items"

HANDLES: Final = Rule(
    "State that spans several requests MUST be referenced by an explicit identifier that the client passes "
    "on "
    "each request.",
    "basic/index#statelessness",
)
ANY_PROCESS: Final = Rule(
    "Servers SHOULD NOT require that related operations come over the same connection or to the same "
    "process.",
    "basic/index#statelessness",
)
TOOL_ERROR: Final = Rule(
    "What a model could do better is reported as a tool execution error, in a result with `isError`.",
    "server/tools#error-handling",
)


class Store:
    """What all replicas share: values by key, as in a database.

    A value is JSON, and is copied on its way in and out: what is changed afterwards is not changed here.
    """

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[str, str] = {}

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        return json.loads(self._rows[key]) if key in self._rows else default

    def put(self, key: str, value: Any) -> None:
        """Keep a value under a key.

        Raises:
            TypeError: the key is no text, or the value is not JSON.
        """
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"A key is a text, not {key!r}.")
        self._rows[key] = json.dumps(value)

    def copy(self) -> Store:
        """Another store that holds the same."""
        other = Store()
        other._rows.update(self._rows)
        return other


class Failed(str):
    """The text of a tool error, or of a protocol error."""

    __slots__ = ()


class Refused(Failed):
    """The text of a protocol error."""

    __slots__ = ()


@dataclass(slots=True)
class Town:
    """Replicas that share a store, and what was called so far.

    Attributes:
        make: what the learner wrote.
        history: each call in words, with what came of it.
    """

    make: Callable[..., Any]
    learner: Learner
    world: World
    history: list[str] = field(default_factory=list[str])
    recording: Recording | None = None
    _calls: int = 0

    def replica(self, store: Store) -> Server:
        """A new process.

        Raises:
            NotAttempted, NotYet: what the learner wrote makes no server.
        """
        server = self.learner.call(self.make, store, on="a store")
        if is_placeholder(server):
            raise NotAttempted
        if not isinstance(server, Server):
            raise NotYet(
                f"{name_of(self.make)} returned {show(server)}.",
                look='Make a server, `server = Server("shop")`, give it three tools, and return it.',
            )
        return server

    def call(self, where: str, server: Server, tool: str, **arguments: str) -> str:
        """Call a tool at a replica, from a fresh client; the text of its result, or a `Failed`."""
        self._calls += 1

        async def story(client: Client) -> Any:
            try:
                return await client.call_tool(tool, arguments)
            except ProtocolError as error:
                return Refused(error.message)

        run = self.learner.play(
            story,
            server=server,
            client=Client(era=self.world.era),
            transport=self.world.transport,
            # Each process has its own source of random numbers.
            seed=f"{self.world.seed}:{self._calls}",
            title=f"{tool} at {where}",
            written=self.make,
        )
        self.recording = run.recording
        value = run.value
        if not isinstance(value, Failed):
            text = " ".join(str(getattr(block, "text", "")) for block in value.content)
            value = Failed(text) if value.is_error else text
        said = f"{tool}({', '.join(map(repr, arguments.values()))}) at {where}"
        self.history.append(
            f"{said} → {'error: ' if isinstance(value, Failed) else ''}{show(str(value), 50)}"
        )
        return value

    def wrong(self, seen: str, rule: Rule, look: str) -> NotYet:
        """What was seen, after the last calls that led to it."""
        told = "; ".join(self.history[-6:])
        return NotYet(f"{told}. {seen} ({self.world})", rule, look, self.recording)


def grade(answer: Any, learner: Learner) -> Passed:
    """Call the tools at replicas that share the store and nothing else."""
    require_function(answer)
    for world in every_world():
        _play(Town(answer, learner, world))
    return Passed(
        "Two baskets, filled at three replicas in turn, were the same from everywhere, and outlived a "
        "restart.",
        ANY_PROCESS,
    )


_IN_STORE: Final = (
    "Whatever has to be known to the next request goes into the store, with the handle as its key: variables "
    "of the module and of `make_server` belong to one process."
)
_PUT_BACK: Final = "`store.get` gives a copy. Change it, and put it back: `store.put(basket, items)`."


def _play(town: Town) -> None:
    rng = Random(f"shop:{town.world}:{town.world.seed}")
    store = Store()
    replicas = [town.replica(store), town.replica(store)]
    names = ["replica 1", "replica 2"]
    handles = [_opened(town, names[number], replicas[number]) for number in (0, 1)]
    if handles[0] == handles[1]:
        raise town.wrong(
            "Two baskets have the same handle.",
            HANDLES,
            "A number that each process counts for itself is not unique. Take a random one, or let the store "
            "count.",
        )
    baskets: dict[str, list[str]] = {handle: [] for handle in handles}
    for step in range(6):
        handle = handles[step % 2] if step < 2 else rng.choice(handles)
        # Each basket is filled first at the replica that did not open it.
        at = 1 - step if step < 2 else rng.randrange(2)
        item = rng.choice(("tea", "rice", "salt", "soap", "yarn", "ink", "tea"))
        done = town.call(names[at], replicas[at], ADD, basket=handle, item=item)
        if isinstance(done, Failed):
            raise town.wrong("The basket is not known there.", ANY_PROCESS, _IN_STORE)
        baskets[handle].append(item)
        if step == 3:
            # A rolling update: what one process knew is gone.
            names[0], replicas[0] = "replica 1, restarted", town.replica(store)
        reader = rng.randrange(2)
        _compare(town, names[reader], replicas[reader], handle, baskets[handle])
    for handle in handles:
        for name, server in zip(names, replicas, strict=True):
            _compare(town, name, server, handle, baskets[handle])
    _judge_unknown(town, names[0], replicas[0], handles)
    _judge_elsewhere(town, store, names[1], replicas[1], handles[0], baskets[handles[0]])


def _opened(town: Town, name: str, server: Server) -> str:
    handle = town.call(name, server, OPEN)
    if isinstance(handle, Failed) or not handle.strip():
        raise town.wrong(
            "That is no handle.",
            HANDLES,
            f"The tool `{OPEN}` takes no arguments and returns the handle of a new basket, a text.",
        )
    return handle


def _compare(town: Town, name: str, server: Server, handle: str, items: list[str]) -> None:
    text = town.call(name, server, LIST, basket=handle)
    wanted = ", ".join(items)
    if isinstance(text, Failed):
        raise town.wrong("The basket is not known there.", ANY_PROCESS, _IN_STORE)
    if text != wanted:
        raise town.wrong(f"It should be {wanted!r}.", HANDLES, f"{_PUT_BACK} {_IN_STORE}")


def _judge_unknown(town: Town, name: str, server: Server, handles: list[str]) -> None:
    made_up = f"{handles[0]}-and-more"
    for tool, arguments in ((LIST, {}), (ADD, {"item": "tea"})):
        found = town.call(name, server, tool, basket=made_up, **arguments)
        if not isinstance(found, Failed):
            raise town.wrong(
                "There is no such basket.",
                TOOL_ERROR,
                f'If the store has nothing under a handle: `raise ToolError("…")`, in `{tool}` too.',
            )
        look = f'`raise ToolError("…")` in `{tool}`, with words for the model. It needs no code.'
        if isinstance(found, Refused):
            raise town.wrong("That is a protocol error.", TOOL_ERROR, look)
        if tells_nothing(found):
            seen = "From that a model learns nothing: `ToolError` alone is shown, and needs words."
            raise town.wrong(seen, TOOL_ERROR, look)


def _judge_elsewhere(
    town: Town, store: Store, name: str, server: Server, handle: str, items: list[str]
) -> None:
    """A copy of the store in another place: what is done there is not done here."""
    there, far = store.copy(), "a replica with a copy of the store"
    copy = town.replica(there)
    _compare(town, far, copy, handle, items)
    town.call(far, copy, ADD, basket=handle, item="lamp")
    _compare(town, far, copy, handle, [*items, "lamp"])
    _compare(town, name, server, handle, items)
    town.call(name, server, ADD, basket=handle, item="rope")
    _compare(town, far, copy, handle, [*items, "lamp"])


TITLE: Final = "Any replica will do"

TASK: Final = Task(
    name="shop",
    title=TITLE,
    text=f"""\
Write the function that makes one replica of a shop: a `Server` with three tools. Every replica is made by a
call of this function, in a process of its own. They share the store, and nothing else; and each request
may go to any of them.

| tool | |
|---|---|
| `{OPEN}()` | returns the handle of a new basket, a text |
| `{ADD}(basket, item)` | puts an item into the basket |
| `{LIST}(basket)` | returns the items in order, `"tea, salt"`, or `""` |

An unknown basket is a tool error (`ToolError`).

`store.get(key)` returns the value of a key, or None. `store.put(key, value)` keeps a value, which may be
anything that JSON can carry. What `get` returns is a copy.""",
    answer="make_server",
    starter='''\
def make_server(store):
    """One replica of the shop."""
    server = Server("shop")
    return ...''',
    hints=(
        "Ask of each variable: who would know it after a restart, and who at the other replica?",
        "The handle is the key, and the list of items the value. The handle has to be one that no other "
        "replica "
        'gives out: `uuid.uuid4().hex` will do, or `context.tokens("basket")` of a handler that takes a '
        "`context`.",
        '`items = store.get(basket)`; `if items is None: raise ToolError("There is no such basket.")`; '
        "`store.put(basket, [*items, item])`.",
    ),
    solution=(
        """\
def items_of(store, basket):
    items = store.get(basket)
    if items is None:
        raise ToolError("There is no such basket. open_basket makes one.")
    return items""",
        """\
def add_basket_tools(server, store):
    @server.tool()
    def add_item(basket: str, item: str) -> str:
        \"\"\"Put an item into a basket.\"\"\"
        store.put(basket, [*items_of(store, basket), item])
        return f"{item} is in the basket."

    @server.tool()
    def list_items(basket: str) -> str:
        \"\"\"Say what is in a basket.\"\"\"
        return ", ".join(items_of(store, basket))""",
        """\
def make_server(store):
    server = Server("shop")
    @server.tool()
    def open_basket(context) -> str:
        \"\"\"Begin a new basket.\"\"\"
        basket = f"basket-{context.tokens('basket')}"
        store.put(basket, [])
        return basket

    add_basket_tools(server, store)
    return server""",
    ),
    why="The handle comes with each request, and what it stands for lives where every replica can look. No "
    "process remembers anything, so any of them may die. A handle that cannot be guessed is better still: "
    "whoever has it can fill the basket.",
    grade=grade,
    points=20,
    pages=(("statelessness", "basic/index#statelessness"), ("error handling", "server/tools#error-handling")),
    play="""\
async def shop(client):
    basket = text_of(await client.call_tool("open_basket"))
    await client.call_tool("add_item", {"basket": basket, "item": "tea"})
    return text_of(await client.call_tool("list_items", {"basket": basket}))
simulate(shop, server=make_server(ex.Store()), title="A shop", check=False)""",
)
