"""Exercise: keep the pages of a list, each with a clock of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, TypeAlias

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import texts_of
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.set_07_caching.kept import ALL_PAGES, OWN_CLOCK, STAYS
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import require_valid
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.eras.modern import Route
from mcpsim.errors import INVALID_PARAMS, ProtocolError
from mcpsim.server import Server

LIST: Final = "resources/list"
NAMES: Final = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite", "lark")


@dataclass(frozen=True, slots=True)
class Page:
    """One page: what is on it, what follows, and for how long it is fresh, in milliseconds."""

    names: tuple[str, ...]
    following: str | None
    ttl_ms: int


Book: TypeAlias = Mapping[str | None, Page]


@dataclass(frozen=True, slots=True)
class Case:
    """A list, how it changes, and when it is needed.

    Attributes:
        what: the list, for a sentence.
        make: makes the pages before and after the change.
        changes_at_s: when the list changes, in seconds; None where it does not.
        needed_at_s: when the whole list is needed.
        asked: the cursors that are asked for each time.
        latency_ms: how long a message takes, in milliseconds; None for what the transport takes usually.
    """

    what: str
    make: Callable[[Random], tuple[Book, Book]]
    needed_at_s: tuple[int, ...]
    asked: tuple[tuple[str | None, ...], ...]
    changes_at_s: int | None = None
    rule: Rule = OWN_CLOCK
    latency_ms: float | None = None


def _names(rng: Random) -> list[str]:
    return rng.sample(NAMES, len(NAMES))


def _book(names: Sequence[str], *cells: tuple[str | None, str | None, int]) -> Book:
    """Pages of two names each; a cell says which cursor a page has, which one follows, and its time."""
    return {
        cursor: Page(tuple(names[2 * n : 2 * n + 2]), following, ttl_s * 1000)
        for n, (cursor, following, ttl_s) in enumerate(cells)
    }


def _different_times(rng: Random) -> tuple[Book, Book]:
    book = _book(_names(rng), (None, "a", 60), ("a", "b", 20), ("b", None, 5))
    return book, book


def _empty_cursor(rng: Random) -> tuple[Book, Book]:
    book = _book(_names(rng), (None, "", 60), ("", "b", 20), ("b", None, 60))
    return book, book


def _on_a_slow_way(rng: Random) -> tuple[Book, Book]:
    book = _book(_names(rng), (None, "a", 20), ("a", None, 60))
    return book, book


def _last_never_fresh(rng: Random) -> tuple[Book, Book]:
    book = _book(_names(rng), (None, "a", 60), ("a", None, 0))
    return book, book


def _other_cursors(rng: Random) -> tuple[Book, Book]:
    names = _names(rng)
    before = _book(names, (None, "a", 20), ("a", "b", 60), ("b", None, 60))
    after = _book(names[6:], (None, "c", 20), ("c", "b", 60), ("b", None, 60))
    # The old cursors are still good, and the third page is the one that it was.
    return before, {**after, "a": before["a"], "b": before["b"]}


def _refused(rng: Random) -> tuple[Book, Book]:
    names = _names(rng)
    before = _book(names, (None, "a", 60), ("a", "b", 20), ("b", None, 60))
    # "b" is a cursor of the new list too, and its page is another one.
    return before, _book(names[6:], (None, "x", 60), ("x", "b", 60), ("b", None, 60))


CASES: Final = (
    Case(
        "three pages that are fresh for 60, for 20 and for 5 seconds",
        _different_times,
        (0, 3, 10, 12, 30, 45, 70),
        ((None, "a", "b"), (), ("b",), (), ("a", "b"), ("b",), (None, "a", "b")),
    ),
    Case(
        "three pages that are fresh for 60, 20 and 60 seconds, and the cursor of the second one is empty",
        _empty_cursor,
        (0, 10, 30),
        ((None, "", "b"), (), ("",)),
    ),
    Case(
        "two pages, of which the last one is never fresh",
        _last_never_fresh,
        (0, 10, 70),
        ((None, "a"), ("a",), (None, "a")),
    ),
    Case(
        "two pages that are fresh for 20 and for 60 seconds, and come four seconds after they were asked for",
        _on_a_slow_way,
        (0, 22, 26),
        ((None, "a"), (), (None,)),
        latency_ms=2_000.0,
    ),
    Case(
        "three pages, and after 25 seconds the first page has another cursor for the next one",
        _other_cursors,
        (0, 30, 35),
        ((None, "a", "b"), (None, "c"), ()),
        changes_at_s=25,
    ),
    Case(
        "three pages, and after 25 seconds the server has another list and refuses the cursor of the second "
        "page",
        _refused,
        (0, 30, 35),
        ((None, "a", "b"), ("a", None, "x", "b"), ()),
        changes_at_s=25,
        rule=ALL_PAGES,
    ),
)


@dataclass(slots=True)
class Shelf:
    """The list as it is now, and which cursors it was asked for since the last look."""

    now: Book
    asked: list[str | None] = field(default_factory=list[str | None])

    def names(self) -> list[str]:
        """All names, in order."""
        return [name for page in self._pages() for name in page.names]

    def _pages(self) -> Iterator[Page]:
        page = self.now[None]
        yield page
        while page.following is not None:
            page = self.now[page.following]
            yield page


class _Library(Server):
    """A server whose list is a shelf."""

    def __init__(self, shelf: Shelf) -> None:
        super().__init__("library")
        self.resource("report://any")(lambda: "A report.")
        self._list = _Pages(self, shelf)

    def route(self, method: str) -> Route | None:
        found = super().route(method)
        return self._list if method == LIST and found is not None else found


@dataclass(frozen=True, slots=True)
class _Pages:
    """`resources/list`, each page with a time of its own."""

    server: Server
    shelf: Shelf

    def check(self, params: dict[str, Any], version: str) -> Page:
        cursor = params.get("cursor")
        self.shelf.asked.append(cursor)
        page = self.shelf.now.get(cursor)
        if page is None:
            raise ProtocolError(INVALID_PARAMS, "Invalid cursor.")
        return page

    def authorise(self, principal: str, arguments: Any) -> None:
        """Everybody sees the same list."""

    async def run(self, context: Any, arguments: Page) -> dict[str, Any]:
        result: dict[str, Any] = {
            "resources": [{"uri": f"report://{name}", "name": name} for name in arguments.names]
        }
        if arguments.following is not None:
            result["nextCursor"] = arguments.following
        return {**result, "ttlMs": arguments.ttl_ms, "cacheScope": "public"}


def grade(answer: object, learner: Learner) -> Passed:
    """Let a host need the list several times, and see which pages it asks for."""
    for case in CASES:
        for usual, seed in worlds():
            transport = usual if case.latency_ms is None else replace(usual, latency_ms=case.latency_ms)
            before, after = case.make(Random(f"pages:{case.what}:{seed}"))
            shelf = Shelf(before)
            run = learner.play(
                _host(case, shelf, after, answer),
                server=_Library(shelf),
                transport=transport,
                seed=seed,
                title=TITLE,
                written=answer,
            )
            for at_s, asked, rounds in zip(case.needed_at_s, case.asked, run.value, strict=True):
                try:
                    _judge(case, answer, at_s, asked, *rounds)
                except NotYet as found:
                    raise NotYet(found.seen, found.rule, found.look, run.recording) from None
            require_valid(run.recording)
    return Passed(
        f"{len(CASES)} lists were needed several times. Each time your story asked for the pages that were "
        "stale, and for no other.",
        OWN_CLOCK,
    )


def _host(case: Case, shelf: Shelf, after: Book, written: object) -> Any:
    if not callable(written):
        return written
    answer: Any = written

    async def story(client: Client) -> Any:
        kept: dict[Any, Any] = {}
        rounds: list[tuple[Any, list[str | None], list[str]]] = []
        for at_s in case.needed_at_s:
            await anyio.sleep(max(0.0, at_s - anyio.current_time()))
            if case.changes_at_s is not None and at_s >= case.changes_at_s:
                shelf.now = after
            shelf.asked = []
            value = answer(client, kept)
            value = await value if inspect.isawaitable(value) else value
            if is_placeholder(value):
                return value
            rounds.append((value, shelf.asked, shelf.names()))
        return rounds

    return story


def _judge(
    case: Case,
    answer: object,
    at_s: int,
    expected: tuple[str | None, ...],
    value: object,
    asked: list[str | None],
    names: list[str],
) -> None:
    when = f"A list of {case.what}. It is needed at {at_s} s."
    if tuple(asked) != expected:
        needless = [cursor for cursor in asked if cursor not in expected]
        lacking = [cursor for cursor in expected if cursor not in asked]
        what = f"{name_of(answer)} asked for {_pages(asked)}, and should ask for {_pages(expected)}."
        if lacking:
            look = f"{_pages(lacking)}: missing, or stale by now. When did it come, and how long is it fresh?"
            raise NotYet(f"{when} {what}", case.rule, look[0].upper() + look[1:])
        look = (
            f"{_pages(needless)}: still fresh. Take it out of `kept`."
            if needless
            else "Ask once for each page, from the first on."
        )
        raise NotYet(f"{when} {what}", STAYS if needless else case.rule, look[0].upper() + look[1:])
    if texts_of(value) != names:
        raise NotYet(
            f"{when} The right pages were asked for. {name_of(answer)} returned {show(value)}, and the list "
            f"is {show(names)}.",
            case.rule,
            "Return the names of all pages, in order: those that you asked for and those that you kept."
            if case.rule is OWN_CLOCK
            else "Drop all pages, the fresh ones too, before you begin again.",
        )


def _pages(cursors: Sequence[str | None]) -> str:
    if not cursors:
        return "no page"
    named = ["the first page" if cursor is None else f"the page at {show(cursor)}" for cursor in cursors]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


TITLE: Final = "Pages with clocks of their own"

TASK: Final = Task(
    name="page_clocks",
    title=TITLE,
    text=f"""\
A host needs a long list again and again. Write a story that brings all names, and asks the server only for
the pages that it has not, or that are stale. Whether the pages fit together does not matter to this host.

- `kept` is a dict that is empty at first and stays from one call to the next: keep there what you like.
- `await client.request("{LIST}", params)` brings a page, a dict with `resources`, `nextCursor` (not on the
  last page), `ttlMs` and `cacheScope`.
- `anyio.current_time() * 1000` is the time in milliseconds.
- If a cursor is refused with -32602, drop all pages and begin again.""",
    answer="read_again",
    starter='''\
async def read_again(client, kept):
    """The names of the whole list, in order. Asks only for pages that are missing or stale."""
    return ...''',
    hints=(
        "Begin at the first page and follow the cursors, as always. Only where a page comes from is new: out "
        "of `kept` while it is fresh, else from the server.",
        "Keep for each cursor the page and when it came: `kept[cursor] = (page, received_ms)`. The first "
        "page has the cursor None. Take the time after the `await`.",
        "`kept.clear()` drops everything. Then call the same again.",
    ),
    solution=(
        """\
async def page_at(client, kept, cursor):
    page, received_ms = kept.get(cursor, ({}, 0))
    if anyio.current_time() * 1000 >= received_ms + page.get("ttlMs", 0):
        page = await client.request("resources/list", {} if cursor is None else {"cursor": cursor})
        kept[cursor] = page, anyio.current_time() * 1000
    return page""",
        """\
async def read_again(client, kept):
    names, cursor, more = [], None, True
    while more:
        try:
            page = await page_at(client, kept, cursor)
        except ProtocolError:
            kept.clear()
            return await read_again(client, kept)
        names += [one["name"] for one in page["resources"]]
        cursor = page.get("nextCursor")
        more = cursor is not None
    return names""",
    ),
    why="A page is a result like any other, and its cursor is part of its key. Only a refused cursor says "
    "something about all of them.",
    grade=grade,
    pages=(("pages", "server/utilities/caching#interaction-with-pagination"),),
    points=20,
)
