"""Exercise: one server, judged by all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_16_capstone.building import (
    ANSWERS,
    HELPS,
    STOPS,
    listed,
    made,
    require_counted,
    require_no_fault,
    text_of_result,
    words,
)
from mcpsim.course.exercises.set_16_capstone.repair import Lamp
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.tool_errors import tells_nothing
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.course.judging.ruling import Outcome, Ruling
from mcpsim.course.judging.simulated import Simulator
from mcpsim.course.judging.tour import Plan
from mcpsim.errors import McpSimError, ProtocolError
from mcpsim.server import Server
from mcpsim.utilities.elicitation import faults_of_content, missing_fields

TOOLS: Final = ("reserve", "scan", "where_is")
HOURS: Final = "library://hours"
PAGE_SIZE: Final = 2
MOST_WEEKS: Final = 4

LISTS: Final = Rule(
    "Servers MAY give a list in pages; clients follow `nextCursor` to its end.",
    "server/utilities/pagination#response-format",
)
READS: Final = Rule(
    "`resources/read` brings the contents of a resource.", "server/resources#reading-resources"
)
FORMS: Final = Rule(
    "Clients SHOULD check an answer against the schema that came with the question, servers too.",
    "client/elicitation#form-mode-security",
)
ROUNDS: Final = Rule(
    "A modern server answers a request with `input_required`, and gets it once more with the answers: what "
    "the handler did before the question is done again.",
    "basic/patterns/mrtr#basic-workflow",
)
JUDGES: Final = {
    "questions": ANSWERS,
    "stop": STOPS,
    "faults": Rule(
        "What was in flight when a connection broke is lost. The server goes on for everybody else.",
        "basic/patterns/cancellation#timing-considerations",
    ),
}


@dataclass(slots=True)
class Library:
    """What one server of the learner's works with, and what was written down.

    Attributes:
        books: shelves by title.
        hours: when the library is open.
        lent: each call of `lend`, in order.
    """

    books: dict[str, str]
    hours: str
    lamp: Lamp = field(default_factory=Lamp)
    lent: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])

    def lend(self, title: str, weeks: Any) -> None:
        """Write down that a book is reserved."""
        self.lent.append((title, weeks))


def _library(seed: int) -> Library:
    rng = Random(f"library:{seed}")
    names = words(rng, 8)
    return Library(
        dict(zip(names[:4], names[4:], strict=True)), f"{rng.randint(7, 11)} to {rng.randint(15, 20)}"
    )


def _made(answer: Any, learner: Learner, library: Library) -> Server:
    return made(answer, learner, dict(library.books), library.hours, library.lamp, library.lend)


class Visit:
    """What a client finds in one library."""

    def __init__(self, library: Library, where: str, weeks: int) -> None:
        self._library = library
        self._where = where
        self._weeks = weeks
        self.steps: list[float] = []

    async def all(self, client: Client) -> None:
        """Look at everything once."""
        await self._lists(client)
        await self._shelves(client)
        await self._scan(client)
        await self._reserve(client)

    async def _lists(self, client: Client) -> None:
        pages = [[tool.name for tool in page.tools] async for page in client.pages("tools/list")]
        names = sorted(name for page in pages for name in page)
        if names != sorted(TOOLS) or any(len(page) > PAGE_SIZE for page in pages):
            shown = "; ".join(listed(page) for page in pages)
            raise NotYet(
                f"{self._where} the tools are {shown}. They should be {listed(TOOLS)}, "
                f"at most {PAGE_SIZE} to a page.",
                LISTS,
                f"`Server(..., page_size={PAGE_SIZE})`, and the names of the task.",
            )
        contents = (await client.read_resource(HOURS)).contents
        text = "".join(str(getattr(one, "text", "")) for one in contents)
        if self._library.hours not in text:
            raise NotYet(
                f"{self._where} {HOURS} says {show(text)}. It should say {show(self._library.hours)}.",
                READS,
                f'`@server.resource("{HOURS}")`.',
            )

    async def _shelves(self, client: Client) -> None:
        for title, shelf in self._library.books.items():
            result = await client.call_tool("where_is", {"title": title})
            if result.is_error or shelf not in text_of_result(result):
                raise NotYet(
                    f"{self._where} {title} stands on {shelf}, and where_is says "
                    f"{show(text_of_result(result))}.",
                    look="The text has the shelf in it.",
                )
        for tool in ("where_is", "reserve"):
            unknown = next(iter(self._library.books))[::-1]
            try:
                result = await client.call_tool(tool, {"title": unknown})
            except ProtocolError as error:
                raise NotYet(
                    f"{self._where} there is no book {unknown}, and {tool} ended with the error {error}.",
                    HELPS,
                    "`raise ToolError(...)`: the model can try another title.",
                ) from None
            text = text_of_result(result)
            if not result.is_error or tells_nothing(text) or unknown not in text:
                raise NotYet(
                    f"{self._where} there is no book {unknown}, and {tool} says {show(text)}"
                    f"{'' if result.is_error else ', as a result like any other'}.",
                    HELPS,
                    "A tool error that names the title.",
                )

    async def _scan(self, client: Client) -> None:
        self.steps.clear()
        result = await client.call_tool(
            "scan", on_progress=lambda done, total, message: self.steps.append(done)
        )
        count = len(self._library.books)
        require_counted(
            self._where,
            self.steps,
            count,
            "books",
            "After each book: `await context.report_progress(done, len(books))`.",
        )
        if result.is_error:
            raise NotYet(
                f"{self._where} scan failed: {show(text_of_result(result))}.",
                look="Nothing was wrong with this call: the tool takes no arguments.",
            )
        lamp = self._library.lamp
        if lamp.lit or not lamp.shone(count):
            seen = "is still lit" if lamp.lit else f"was lit for {lamp.lit_s:g} s"
            raise NotYet(
                f"{self._where} {count} books were scanned, and the lamp {seen}.",
                look="Lamp on, half a second for each book, lamp off.",
            )

    async def _reserve(self, client: Client) -> None:
        for title in list(self._library.books)[:2]:
            self._library.lent.clear()
            result = await client.call_tool("reserve", {"title": title})
            wanted = [(title, self._weeks)]
            if result.is_error or self._library.lent != wanted:
                raise NotYet(
                    f"{self._where} the user wants {title} for {self._weeks} weeks. `lend` was called with "
                    f"{show(self._library.lent)}; it should be {show(wanted)}.",
                    ROUNDS,
                    'Ask, and after the answer: `lend(title, answer.content["weeks"])`, once.',
                )


def grade(answer: object, learner: Learner) -> Passed:
    """Visit the library in every world, and let the judges look."""
    for world in every_world():
        _visit(answer, learner, world)
    _decline(answer, learner)
    rulings = _judged(answer, learner)
    for ruling in rulings:
        if ruling.outcome is not Outcome.PASSED:
            raise NotYet(
                f"The judge of {ruling.judge} says: {ruling.seen}",
                JUDGES.get(ruling.judge),
                _LOOKS.get(ruling.judge, _JUDGE),
                ruling.recording,
            )
    return Passed(f"{len(rulings)} judges found nothing wrong. {rulings[-1].seen}", ROUNDS)


_JUDGE: Final = "`judge(...)` of lesson 16 plays the same runs. Show the recording of the ruling."
_LOOKS: Final = {
    "questions": 'Look at `answer.action`: only "accept" has content.',
    "stop": "`try` begins before the lamp is switched on; switch off in `finally`, under "
    "`anyio.CancelScope(shield=True)`, and nothing else.",
}


def _visit(answer: Any, learner: Learner, world: World) -> None:
    library = _library(world.seed)
    server = _made(answer, learner, library)
    where = f"In {world}:"
    weeks = 1 + world.seed % 4
    visit = Visit(library, where, weeks)
    _play(visit.all, answer, learner, server, world, {"weeks": weeks}, where)


def _decline(answer: Any, learner: Learner) -> None:
    for world in every_world():
        for reply in ("decline", "cancel"):
            library = _library(world.seed)
            server = _made(answer, learner, library)
            where = f"In {world}, where the user's answer is {reply}:"
            title = next(iter(library.books))

            async def story(client: Client, title: str = title) -> None:
                await client.call_tool("reserve", {"title": title})

            _play(story, answer, learner, server, world, reply, where)
            if library.lent:
                raise NotYet(
                    f"{where} `lend` was called with {show(library.lent)}.", ANSWERS, _LOOKS["questions"]
                )


def _wrong_form(schema: Any) -> str:
    """What is wrong with the form that asks for the weeks, in words; "" where nothing is."""
    if schema is None:
        return "is an address to visit"
    for weeks in range(1, MOST_WEEKS + 1):
        faults = faults_of_content(schema, {"weeks": weeks})
        if faults:
            return f"does not take {weeks} for `weeks`: {faults[0].removesuffix('.')}"
    for weeks in (0, MOST_WEEKS + 1):
        if not faults_of_content(schema, {"weeks": weeks}):
            return f"takes {weeks} for `weeks`"
    return "" if missing_fields(schema, {}) else "may be sent without `weeks`"


_WEEKS: Final = (
    f"`weeks` is required: an integer with a `minimum` of 1 and a `maximum` of {MOST_WEEKS}. What the form "
    "takes is what the handler gets."
)


def _play(
    story: Callable[[Client], Any],
    answer: Any,
    learner: Learner,
    server: Server,
    world: World,
    reply: Any,
    where: str,
) -> None:
    found: list[NotYet] = []

    def fill_in(asked: Any) -> Any:
        is_filled_in = isinstance(reply, dict)
        wrong = _wrong_form(getattr(asked, "requested_schema", None)) if is_filled_in else ""
        if not wrong:
            return reply
        found.append(NotYet(f"{where} the user gets a form that {wrong}.", FORMS, _WEEKS))
        return "cancel"

    async def caught(client: Client) -> None:
        try:
            await story(client)
        except NotYet as wrong:
            found.append(wrong)
        except McpSimError as error:
            found.append(
                NotYet(f"{where} {error}", look="The task says what there is, and how it is called.")
            )
        await anyio.sleep(1)

    client = Client(era=world.era, elicit=fill_in)
    run = learner.play(
        caught,
        written=answer,
        server=server,
        client=client,
        transport=world.transport,
        seed=world.seed,
        title="A visit",
    )
    if found:
        # What a handler raised explains all else.
        require_no_fault(where, run.recording)
        raise NotYet(found[0].seen, found[0].rule, found[0].look, run.recording)


def _judged(answer: Any, learner: Learner) -> tuple[Ruling, ...]:
    libraries: list[Library] = []

    def make() -> Server:
        libraries.append(_library(len(libraries)))
        # The titles stay the same, so that every run can ask for one of them.
        libraries[-1].books = dict(libraries[0].books)
        return _made(answer, learner, libraries[-1])

    title = next(iter(_library(0).books))
    plan = Plan({"where_is": {"title": title}, "reserve": {"title": title}}, {"weeks": 2})
    return Simulator(make, plan, lambda: not libraries[-1].lamp.lit).rulings()


TITLE: Final = "One server, all judges"

TASK: Final = Task(
    name="whole",
    title=TITLE,
    text=f"""\
Build the server of a library, and let all judges look at it.

| it has | |
|---|---|
| the tool `where_is(title)` | says on which shelf a book stands |
| the tool `scan()` | lamp on, then half a second for each book, and progress after each; lamp off |
| the tool `reserve(title)` | asks the user for `weeks`, then `lend(title, weeks)`, once |
| the resource `{HOURS}` | a text with the opening hours |

- `books` holds shelves by title. Who asks for a title that is not there gets a tool error that names it.
- The lists come in pages of {PAGE_SIZE} at most.
- The form takes `weeks` from 1 to {MOST_WEEKS}, and cannot be sent without.
- A user who declines has reserved nothing. A `scan` that is stopped leaves no light, and scans no further.
- `await lamp.on()` and `await lamp.off()` take 0.1 s each.

The check plays it with books that you do not know, and then asks six of the judges of lesson 16. The two
others, the official SDK and the conformance suite, you can ask yourself: `live=True`.

`ex.library(make_library)` is your server with three books.""",
    answer="make_library",
    starter='''\
def make_library(books, hours, lamp, lend):
    """A server for the library."""
    return ...''',
    hints=(
        "Begin with `where_is` and the resource, and play them. Then add one tool after the other; let the "
        "judges look each time.",
        "`scan` is like `print_poster` in the lesson: `try`, `finally`, a shield for the lamp alone. "
        "`reserve` is like `order`: look up the title, ask with a `key`, look at `answer.action`.",
        'The form: `{"type": "object", "properties": {"weeks": {"type": "integer", "minimum": 1, "maximum": '
        '4}}, "required": ["weeks"]}`. `lend` is called behind the question, so it is called once.',
    ),
    solution=(
        """\
import anyio
from mcpsim import Server, ToolError

WEEKS = {"type": "integer", "title": "Weeks", "minimum": 1, "maximum": 4}
FORM = {"type": "object", "properties": {"weeks": WEEKS}, "required": ["weeks"]}

def shelf_of(books, title):
    if title not in books:
        raise ToolError(f"There is no book {title}.")
    return books[title]""",
        """\
async def scan_all(context, books, lamp):
    try:
        await lamp.on()
        for done, _ in enumerate(books, 1):
            await anyio.sleep(0.5)
            await context.report_progress(done, len(books))
    finally:
        with anyio.CancelScope(shield=True):
            await lamp.off()
    return f"{len(books)} books are there.\"""",
        '''\
def add_reserve(library, books, lend):
    @library.tool()
    async def reserve(context, title: str) -> str:
        """Reserve a book. The user says for how long."""
        shelf_of(books, title)
        answer = await context.elicit(f"For how many weeks, {title}?", FORM, key="weeks")
        if answer.action != "accept":
            return "Nothing was reserved."
        lend(title, answer.content["weeks"])
        return f"{title} is reserved."''',
        '''\
def add_scan(library, books, lamp):
    @library.tool()
    async def scan(context) -> str:
        """Look whether all books are there."""
        return await scan_all(context, books, lamp)''',
        '''\
def make_library(books, hours, lamp, lend):
    library = Server("library", page_size=2)
    @library.tool()
    def where_is(title: str) -> str:
        """Say on which shelf a book stands."""
        return shelf_of(books, title)
    @library.resource("library://hours", mime_type="text/plain")
    def opening() -> str:
        return hours
    add_scan(library, books, lamp)
    add_reserve(library, books, lend)
    return library''',
    ),
    why="Nothing in it names an era, a transport or a fault. What makes it hold is where things stand: the "
    "lamp in `finally`, `lend` behind the question, and the look at `books` before everything else.",
    grade=grade,
    points=40,
    pages=(
        ("tools", "server/tools#error-handling"),
        ("elicitation", "client/elicitation#error-handling"),
        ("multi round-trip requests", "basic/patterns/mrtr#basic-workflow"),
        ("cancellation", "basic/patterns/cancellation#behavior-requirements"),
        ("pagination", "server/utilities/pagination#response-format"),
    ),
    play="""\
trial = {"where_is": {"title": "Emma"}, "reserve": {"title": "Emma"}}
print(judge(lambda: ex.library(make_library), calls=trial))
async def scan_once(client):
    return await client.call_tool("scan", on_progress=print)
simulate(scan_once, server=ex.library(make_library), title="The library", check=False)""",
)


def library(make_library: Callable[..., Any]) -> Any:
    """The learner's library with three books. What is lent is printed."""
    books = {"Emma": "A 3", "Ulysses": "J 1", "Walden": "T 7"}
    return make_library(books, "9 to 17", Lamp(), _say)


def _say(title: str, weeks: Any) -> None:
    print("lent:", title, weeks)
