"""Exercise: a server whose list survives pages and changes, and whose tool cleans up."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_16_capstone.building import (
    HELPS,
    STOPS,
    listed,
    made,
    require_clean,
    require_counted,
    require_no_fault,
    text_of_result,
    words,
)
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.tool_errors import tells_nothing
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.errors import McpSimError, ProtocolError, RequestTimeout
from mcpsim.messages import Notification
from mcpsim.recording import Recording

PAGE_SIZE: Final = 3
LOAF_S: Final = 0.5
OVEN_S: Final = 0.1
CHANGED: Final = "notifications/resources/list_changed"

PAGES: Final = Rule(
    "Servers SHOULD provide stable cursors.", "server/utilities/pagination#implementation-guidelines"
)
LISTS: Final = Rule(
    "`resources/list` discovers what resources there are.", "server/resources#listing-resources"
)
READS: Final = Rule(
    "A resource is identified by its URI: `resources/read` brings the contents of that one.",
    "server/resources#reading-resources",
)
TELLS: Final = Rule(
    "When the list changes, a server that has declared `listChanged` SHOULD tell clients that listen.",
    "server/resources#list-changed-notification",
)


class Oven:
    """An oven.

    Attributes:
        hot: whether it is hot. It is from the moment in which heating begins.
        baked: how many loaves came out of it.
    """

    def __init__(self) -> None:
        self.hot = False
        self.baked = 0

    async def heat(self) -> None:
        """Heat up. Takes 0.1 seconds."""
        self.hot = True
        await anyio.sleep(OVEN_S)

    async def bake_one(self) -> None:
        """Bake a loaf. Takes 0.5 seconds."""
        await anyio.sleep(LOAF_S)
        self.baked += 1

    async def cool(self) -> None:
        """Cool down. Takes 0.1 seconds; an oven that is left earlier stays hot."""
        await anyio.sleep(OVEN_S)
        self.hot = False


class Day:
    """One market day: its stalls, by a seed, and the checks of it.

    Args:
        answer: the learner's function.
        learner: calls it.
        world: in what it is played.
    """

    def __init__(self, answer: Any, learner: Learner, world: World) -> None:
        rng = Random(f"market:{world.seed}")
        names = words(rng, 10)
        goods = words(rng, 10)
        self.stalls = dict(zip(names[:8], goods[:8], strict=True))
        self.new, self.new_goods = names[8], goods[8]
        self.nobody = names[9]
        self.loaves = rng.randint(3, 5)
        self.oven = Oven()
        self.where = f"In {world}:"
        self._world = world
        self.server = made(answer, learner, dict(self.stalls), self.oven)

    async def names(self, client: Client, between: Callable[[], Any] | None = None) -> list[str]:
        """The addresses on all pages; something may happen after the first one."""
        found: list[str] = []
        sizes: list[int] = []
        async for page in client.pages("resources/list"):
            found += [str(one.uri) for one in page.resources]
            sizes.append(len(page.resources))
            if between is not None and len(sizes) == 1:
                await between()
        if max(sizes, default=0) > PAGE_SIZE or (len(found) > PAGE_SIZE and len(sizes) < 2):
            raise NotYet(
                f"{self.where} {len(found)} stalls came on pages of {listed([str(size) for size in sizes])}. "
                f"A page has {PAGE_SIZE} at most.",
                PAGES,
                f"`Server(..., page_size={PAGE_SIZE})`.",
            )
        return found

    async def call(self, client: Client, tool: str, **arguments: Any) -> tuple[str, bool]:
        """The text of a result, and whether it is an error."""
        try:
            result = await client.call_tool(tool, arguments)
        except RequestTimeout:
            return "no answer within a minute", True
        except ProtocolError as error:
            return str(error), True
        return text_of_result(result), bool(result.is_error)

    async def must(self, client: Client, tool: str, **arguments: Any) -> None:
        """A call that has to go well."""
        text, failed = await self.call(client, tool, **arguments)
        if failed:
            raise NotYet(f"{self.where} {tool} with {arguments} failed: {show(text)}.", HELPS, _LOOK_AT_TASK)

    async def must_not(self, client: Client, tool: str, **arguments: Any) -> None:
        """A call that has to fail, in words that help."""
        text, failed = await self.call(client, tool, **arguments)
        name = arguments["name"]
        if not failed or tells_nothing(text) or name not in text:
            kind = "an error" if failed else "a result like any other"
            raise NotYet(
                f"{self.where} {tool} with {arguments} brought {kind}, with {show(text)}. It should be "
                "an error that names the stall.",
                HELPS,
                "Look first: `raise ToolError(...)` if a stall of that name is there already, or not there.",
            )

    async def list_and_read(self, client: Client) -> None:
        """The list is whole, and each stall has its own goods."""
        found = await self.names(client)
        wanted = sorted(map(_uri, self.stalls))
        if sorted(found) != wanted:
            raise NotYet(
                f"{self.where} the list holds {listed(found)}. There are {listed(wanted)}.",
                LISTS,
                "One resource for each stall.",
            )
        for name, goods in self.stalls.items():
            try:
                contents = (await client.read_resource(_uri(name))).contents
            except ProtocolError as error:
                raise NotYet(f"{self.where} {_uri(name)} cannot be read: {error}.", READS) from None
            text = "".join(str(getattr(one, "text", "")) for one in contents)
            if text != goods:
                raise NotYet(
                    f"{self.where} {_uri(name)} says {show(text)}. It should say {show(goods)}.",
                    READS,
                    "A function that is made in a loop sees the loop's variable as it is *later*. Make it in "
                    "a function of its own: `def open_at(name, goods): ...`.",
                )

    async def change(self, client: Client) -> None:
        """The list changes while it is read."""
        gone = sorted(self.stalls)[-1]

        async def between() -> None:
            await self.must(client, "open_stall", name=self.new, goods=self.new_goods)
            await self.must(client, "close_stall", name=sorted(self.stalls)[0])

        found = await self.names(client, between)
        stayed = [_uri(name) for name in sorted(self.stalls)[1:]]
        missing = [uri for uri in stayed if found.count(uri) != 1]
        if missing:
            raise NotYet(
                f"{self.where} the list was read while a stall was opened and another one closed. "
                f"{listed(missing)} stayed all the while, and was listed {found.count(missing[0])} times.",
                PAGES,
                "Let the server cut the pages: its cursors survive changes. Open and close one stall only.",
            )
        self.stalls = {name: goods for name, goods in self.stalls.items() if _uri(name) in stayed}
        self.stalls[self.new] = self.new_goods
        await self.list_and_read(client)
        await self.must_not(client, "open_stall", name=self.new, goods="more")
        await self.must_not(client, "close_stall", name=self.nobody)
        await self.must(client, "close_stall", name=gone)
        del self.stalls[gone]
        await self.list_and_read(client)

    async def tell(self, client: Client) -> None:
        """Clients hear of a change."""
        heard: list[str] = []

        def hear(one: Notification) -> None:
            heard.append(one.method)

        if client.era == "modern":
            async with client.listen(resources_list_changed=True) as subscription:
                if subscription.acknowledged.resources_list_changed:
                    await self.must(client, "open_stall", name=self.new, goods=self.new_goods)
                    with anyio.move_on_after(2):
                        async for one in subscription:
                            heard.append(one.method)
        else:
            client.on_notification = hear
            await self.must(client, "open_stall", name=self.new, goods=self.new_goods)
            await anyio.sleep(2)
        if CHANGED not in heard:
            raise NotYet(
                f"{self.where} a stall was opened, and a client that listens heard nothing of it.",
                TELLS,
                "`Server(..., list_changed=True)` declares it, and tells.",
            )

    async def bake(self, client: Client) -> None:
        """Bread is baked, with progress, and the oven is cold then."""
        steps: list[float] = []
        result = await client.call_tool(
            "bake", {"loaves": self.loaves}, on_progress=lambda done, total, text: steps.append(done)
        )
        if result.is_error or self.oven.baked != self.loaves:
            raise NotYet(
                f"{self.where} {self.loaves} loaves were to be baked, and {self.oven.baked} were: "
                f"{show(text_of_result(result))}.",
                look="Heat, `await oven.bake_one()` for each loaf, cool.",
            )
        require_counted(
            self.where,
            steps,
            self.loaves,
            "loaves",
            "After each loaf: `await context.report_progress(done, loaves)`.",
        )
        self.require_cold("after the baking")

    async def stop(self, client: Client) -> None:
        """The baking is stopped."""
        # As the oven is heated, as the second loaf is baked, and as the oven is cooled.
        for after_s, most in ((0.05, 2), (0.9, 2), (3.15, 6)):
            before = self.oven.baked
            with anyio.move_on_after(after_s):
                await client.call_tool("bake", {"loaves": 6})
            await anyio.sleep(6)
            if self.oven.baked - before > most:
                raise NotYet(
                    f"{self.where} the baking was stopped after {after_s:g} s, and "
                    f"{self.oven.baked - before} loaves were baked all the same.",
                    STOPS,
                    "The shield is for the cooling alone.",
                )
            self.require_cold(f"when the baking was stopped after {after_s:g} s")

    def require_cold(self, when: str) -> None:
        """The oven is cold."""
        if self.oven.hot:
            raise NotYet(
                f"{self.where} {when}, the oven stayed hot.",
                STOPS,
                "`try` begins before the oven is heated; cool in `finally`, under "
                "`anyio.CancelScope(shield=True)`.",
            )


def _uri(name: str) -> str:
    return f"market://{name}"


_LOOK_AT_TASK: Final = "The task says what the tools are called, and what they are given."

SCENES: Final = (
    ("The list is read", Day.list_and_read),
    ("The list changes", Day.change),
    ("Who hears of a change", Day.tell),
    ("Baking", Day.bake),
    ("Stop", Day.stop),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Play five scenes in both eras and over both transports."""
    runs = 0
    for title, scene in SCENES:
        for world in every_world():
            _play(answer, learner, world, title, scene)
            runs += 1
    return Passed(
        f"{runs} runs: each stall that stayed was listed once, whatever else opened and closed; clients "
        "heard of it; and the oven was cold in the end.",
        PAGES,
    )


def _play(
    answer: Any, learner: Learner, world: World, title: str, scene: Callable[[Day, Client], Any]
) -> None:
    day = Day(answer, learner, world)
    found: list[NotYet] = []

    async def story(client: Client) -> None:
        try:
            await scene(day, client)
        except NotYet as wrong:
            found.append(wrong)
        except McpSimError as error:
            found.append(NotYet(f"{day.where} {title}: {error}", look=_LOOK_AT_TASK))

    def judge(recording: Recording) -> None:
        require_no_fault(day.where, recording)
        if found:
            raise NotYet(found[0].seen, found[0].rule, found[0].look, recording)
        require_clean(day.where, recording)

    # A legacy client on HTTP hears of changes on a stream of its own.
    client = Client(era=world.era, standing_stream=world.era == "legacy" and world.is_http)
    learner.play(
        story,
        server=day.server,
        client=client,
        transport=world.transport,
        seed=world.seed,
        title=title,
        judge=judge,
        written=answer,
    )


TITLE: Final = "A market that changes"

TASK: Final = Task(
    name="market",
    title=TITLE,
    text=f"""\
Build the server of a market. Its stalls come and go while clients read the list.

| it has | |
|---|---|
| a resource for each stall | at `market://` and the stall's name; who reads it gets the goods as text |
| the tool `open_stall(name, goods)` | adds a stall; if there is one of that name, an error that names it |
| the tool `close_stall(name)` | takes a stall out; if there is none of that name, an error that names it |
| the tool `bake(loaves)` | heats the oven, bakes the loaves, tells of each of them, cools the oven |

- `stalls` holds goods by name, as the market opens. The list comes in pages of {PAGE_SIZE} at most.
- Clients that listen hear when the list has changed.
- `await oven.heat()`, `await oven.bake_one()`, `await oven.cool()` take 0.1, 0.5 and 0.1 s. Whatever ends a
  call of `bake`, the oven is cold then. After a Stop no loaf is begun any more.

`server.resource(uri)(function)` adds a resource at any time, and `server.remove_resource(uri)` takes one out.
`ex.fair(make_market)` is your server with five stalls and an oven.""",
    answer="make_market",
    starter='''\
def make_market(stalls, oven):
    """A server for the market."""
    return ...''',
    hints=(
        f'`Server("market", page_size={PAGE_SIZE}, list_changed=True)` does the pages and tells of changes. '
        "What is left is what you put into it.",
        "Write one function that opens a stall: it is used for those of the morning, and by the tool. It has "
        "`name` and `goods` of its own, so that each resource says what its stall has.",
        "Keep the names that are open in a set or a dict, and look there before you add or remove. `bake`: "
        "`try`, heat, loop, `finally` with `anyio.CancelScope(shield=True)`, cool.",
    ),
    solution=(
        """\
import anyio
from mcpsim import Server, ToolError

def open_at(market, name, goods):
    @market.resource(f"market://{name}", name=name)
    def read() -> str:
        return goods""",
        '''\
def add_stalls(market, stalls):
    @market.tool()
    def open_stall(name: str, goods: str) -> str:
        """Open a stall."""
        if name in stalls:
            raise ToolError(f"{name} is open already.")
        stalls[name] = goods
        open_at(market, name, goods)
        return f"{name} is open."''',
        '''\
def remove_stalls(market, stalls):
    @market.tool()
    def close_stall(name: str) -> str:
        """Close a stall."""
        if name not in stalls:
            raise ToolError(f"There is no stall {name}.")
        del stalls[name]
        market.remove_resource(f"market://{name}")
        return f"{name} is closed."''',
        """\
async def bake_loaves(context, oven, loaves):
    try:
        await oven.heat()
        for done in range(1, loaves + 1):
            await oven.bake_one()
            await context.report_progress(done, loaves)
    finally:
        with anyio.CancelScope(shield=True):
            await oven.cool()
    return f"{loaves} loaves\"""",
        '''\
def make_market(stalls, oven):
    market = Server("market", page_size=3, list_changed=True)
    for name, goods in stalls.items():
        open_at(market, name, goods)
    add_stalls(market, stalls)
    remove_stalls(market, stalls)
    @market.tool()
    async def bake(context, loaves: int) -> str:
        """Bake bread."""
        return await bake_loaves(context, oven, loaves)
    return market''',
    ),
    why="The server orders the list by address and cuts it there, so a cursor says behind which stall the "
    "next page begins, and not how many came before. Each stall's function has its goods from its own call "
    "of `open_at`.",
    grade=grade,
    points=20,
    pages=(
        ("resources", "server/resources#listing-resources"),
        ("list changes", "server/resources#list-changed-notification"),
        ("pagination", "server/utilities/pagination#implementation-guidelines"),
        ("cancellation", "basic/patterns/cancellation#behavior-requirements"),
    ),
    play="""\
async def walk(client):
    async for page in client.pages("resources/list"):
        print([str(one.uri) for one in page.resources])
    return await client.call_tool("bake", {"loaves": 2}, on_progress=print)
simulate(walk, server=ex.fair(make_market), title="The market", check=False)""",
)


def fair(make_market: Callable[..., Any]) -> Any:
    """The learner's market with five stalls and an oven."""
    stalls = {"fish": "herring", "flowers": "tulips", "fruit": "pears", "bread": "rye", "tea": "mint"}
    return make_market(stalls, Oven())
