"""Exercise: read a whole list, whatever its server does."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import texts_of
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.set_06_pagination.paging import LIST, PagedServer
from mcpsim.course.exercises.set_06_pagination.rules import (
    BEGIN_ANEW,
    BOTH,
    EMPTY,
    END,
    NO_CONSISTENCY,
    OPAQUE,
    SIZE,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import exchanges, require_valid
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.errors import INVALID_PARAMS, InvalidCursor
from mcpsim.recording import Recording

NAMES: Final = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite", "lark")
ATTEMPTS: Final = 3
# Some 200 requests: whoever has not come to the end by then never will.
PATIENCE_S: Final = 10.0


@dataclass(slots=True)
class Shelf:
    """A list in pages, as one server gives it out.

    Attributes:
        walks: for each reading from the start the pages, with their cursors; the last walk is repeated.
        refused: how many times a cursor of the second page is refused, before it is good.
    """

    walks: Sequence[Sequence[tuple[Sequence[str], str | None]]]
    refused: int = 0
    _walk: int = field(default=-1, init=False)

    def turn(self, cursor: str | None) -> tuple[Sequence[str], str | None]:
        """The page at a cursor."""
        if cursor is None:
            self._walk = min(self._walk + 1, len(self.walks) - 1)
        pages = self.walks[self._walk]
        before: list[str | None] = [None, *(following for _, following in pages)]
        if cursor not in before[: len(pages)] or (cursor is not None and self.refused > 0):
            self.refused -= 1
            raise InvalidCursor("no such page")
        return pages[before.index(cursor)]

    @property
    def names(self) -> list[str]:
        """All members that are ever shown."""
        return list(dict.fromkeys(name for pages in self.walks for names, _ in pages for name in names))


@dataclass(frozen=True, slots=True)
class Case:
    """A server, and what a client should make of it.

    Attributes:
        what: the server, for a sentence.
        make: makes the shelf with chance of its own.
        expected: the names, each once, in the order in which they were seen; None where the client gives up.
        rule: the rule that decides.
    """

    what: str
    make: Callable[[Random], tuple[Shelf, list[str] | None]]
    rule: Rule


def _names(rng: Random, count: int) -> list[str]:
    # In no order: whoever sorts them has not kept the order in which they came.
    names: list[str] = rng.sample(NAMES, count)
    return names if names != sorted(names) else names[::-1]


def _cursor(rng: Random) -> str:
    return f"{rng.choice('abcdefgh')}{rng.randrange(10, 99)}-{rng.randrange(10, 99)}"


def _cursors(rng: Random, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[_cursor(rng)] = None
    return list(found)


def _plain(rng: Random) -> tuple[Shelf, list[str] | None]:
    names = _names(rng, 8)
    one, two = _cursors(rng, 2)
    return Shelf([[(names[:3], one), (names[3:6], two), (names[6:], None)]]), names


def _whole(rng: Random) -> tuple[Shelf, list[str] | None]:
    names = _names(rng, 5)
    return Shelf([[(names, None)]]), names


def _empty_cursor(rng: Random) -> tuple[Shelf, list[str] | None]:
    names = _names(rng, 7)
    (one,) = _cursors(rng, 1)
    return Shelf([[(names[:2], one), (names[2:4], ""), (names[4:], None)]]), names


def _empty_cursor_first(rng: Random) -> tuple[Shelf, list[str] | None]:
    names = _names(rng, 5)
    return Shelf([[(names[:3], ""), (names[3:], None)]]), names


def _odd_cursors(rng: Random) -> tuple[Shelf, list[str] | None]:
    names = _names(rng, 8)
    odd = rng.sample(["0", "null", "None", " ", "false", "end", "ü%20=", '"'], 3)
    return Shelf(
        [list(zip((names[:2], names[2:4], names[4:6], names[6:]), (*odd, None), strict=True))]
    ), names


def _sizes(rng: Random) -> tuple[Shelf, list[str] | None]:
    names = _names(rng, 9)
    one, two, three, four = _cursors(rng, 4)
    pages = [(names[:4], one), (names[4:5], two), ((), three), (names[5:8], four), (names[8:], None)]
    return Shelf([pages]), names


def _one_each(rng: Random) -> tuple[Shelf, list[str] | None]:
    names = _names(rng, len(NAMES))
    following = [*_cursors(rng, len(names) - 1), None]
    return Shelf([[([name], cursor) for name, cursor in zip(names, following, strict=True)]]), names


def _twice(rng: Random) -> tuple[Shelf, list[str] | None]:
    # Somebody added a member in front, and the server counts places: the last one of the page comes again.
    names = _names(rng, 7)
    one, two = _cursors(rng, 2)
    return Shelf([[(names[:3], one), (names[2:5], two), (names[4:], None)]]), names


def _refused_once(rng: Random) -> tuple[Shelf, list[str] | None]:
    names = _names(rng, 8)
    gone = names.pop(0)
    one, two, three, four = _cursors(rng, 4)
    before = [([gone, *names[:2]], one), (names[2:5], two), (names[5:], None)]
    after = [(names[:4], three), (names[4:6], four), (names[6:], None)]
    return Shelf([before, after], refused=1), names


def _refused_always(rng: Random) -> tuple[Shelf, list[str] | None]:
    names = _names(rng, 6)
    (one,) = _cursors(rng, 1)
    return Shelf([[(names[:3], one), (names[3:], None)]], refused=10_000), None


CASES: Final = (
    Case("gives out its list in three pages", _plain, END),
    Case("gives out its list on one page, without a cursor", _whole, BOTH),
    Case("gives out an empty cursor with its second page", _empty_cursor, EMPTY),
    Case("gives out an empty cursor with its first page", _empty_cursor_first, EMPTY),
    Case("gives out cursors that look like other things", _odd_cursors, OPAQUE),
    Case("has pages of different sizes, one of them empty", _sizes, SIZE),
    Case("has twelve pages, with one member each", _one_each, SIZE),
    Case("has a list that changes while it is read, so that members come twice", _twice, NO_CONSISTENCY),
    Case("refuses a cursor that it gave out, once, and has another list then", _refused_once, BEGIN_ANEW),
    Case("refuses every cursor", _refused_always, BEGIN_ANEW),
)


class _NeverEnds:
    """What a story returns that had to be stopped."""


def grade(answer: object, learner: Learner) -> Passed:
    """Play the story against every kind of server."""
    for case in CASES:
        for transport, seed in worlds():
            shelf, expected = case.make(Random(f"whole-list:{case.what}:{seed}"))
            run = learner.play(
                _stopped(answer),
                server=PagedServer(shelf.turn, shelf.names),
                transport=transport,
                seed=seed,
                title=TITLE,
                judge=partial(_judge, case),
                written=answer,
            )
            if isinstance(run.value, _NeverEnds):
                raise NotYet(
                    f"A server {case.what}. {name_of(answer)} was not at its end after {PATIENCE_S:g} s of "
                    "simulated time.",
                    case.rule,
                    "What does it wait for? Return as soon as there is no `nextCursor`.",
                    run.recording,
                )
            _judge_value(case, answer, run.value, expected, run.recording)
            require_valid(run.recording)
    return Passed(
        f"{len(CASES)} kinds of servers, and every member was found, once. Where a cursor was refused your "
        "story began anew, and it gave up where that did not help."
    )


def _stopped(written: object) -> Any:
    """The story with an end, in case that it has none. What is no story is left to the learner's run."""
    if not callable(written):
        return written
    answer: Any = written

    async def story(client: Client) -> Any:
        with anyio.move_on_after(PATIENCE_S):
            value = answer(client)
            return await value if inspect.isawaitable(value) else value
        return _NeverEnds()

    return story


def _judge(case: Case, recording: Recording) -> None:
    server = f"A server {case.what}."
    asked = exchanges(recording, LIST)
    if not asked:
        raise NotYet(
            f"{server} The story sends no request for `{LIST}`.", None, f'Ask: `client.request("{LIST}", …)`.'
        )
    following: str | None = None
    ended, begun, refused = True, 0, False
    for number, one in enumerate(asked, 1):
        params = one.request.params or {}
        if "cursor" not in params:
            if following == "" and not ended:
                raise NotYet(
                    f"{server} Answer {number - 1} has an empty `nextCursor`, and request {number} has no "
                    "`cursor`: it asks for the first page again.",
                    EMPTY,
                    "Ask whether there is a cursor: `cursor is not None`.",
                )
            begun += 1
        elif begun == 0:
            raise NotYet(
                f"{server} The first request has the cursor {show(params['cursor'])}. Nobody gave that out.",
                OPAQUE,
                "Ask for the first page without a cursor.",
            )
        elif following is None or params["cursor"] != following:
            came = "no cursor" if following is None else f"the cursor {show(following)}"
            if refused:
                raise NotYet(
                    f"{server} The cursor {show(following)} was refused, and request {number} has the cursor "
                    f"{show(params['cursor'])}.",
                    BEGIN_ANEW,
                    "Begin again without a cursor.",
                )
            raise NotYet(
                f"{server} Answer {number - 1} came with {came}, and request {number} has the cursor "
                f"{show(params['cursor'])}.",
                END if following is None else OPAQUE,
                "Send the `nextCursor` of the last page as it came, and stop where there is none.",
            )
        elif refused:
            raise NotYet(
                f"{server} The cursor {show(following)} was refused, and request {number} sends it again.",
                BEGIN_ANEW,
                "Begin again without a cursor.",
            )
        refused = one.code == INVALID_PARAMS
        if one.result is not None:
            following = one.result.get("nextCursor")
        ended = one.result is not None and following is None
    _judge_end(server, asked, following, ended=ended, begun=begun, refused=refused)


def _judge_end(
    server: str, asked: Sequence[Any], following: str | None, *, ended: bool, begun: int, refused: bool
) -> None:
    if refused and begun == 1:
        raise NotYet(
            f"{server} Request {len(asked)} was refused with {INVALID_PARAMS}, and nothing follows.",
            BEGIN_ANEW,
            f"Catch the error and begin again without a cursor, {ATTEMPTS} times at most in all.",
        )
    if begun > ATTEMPTS:
        in_vain = any(one.code == INVALID_PARAMS for one in asked)
        raise NotYet(
            f"{server} The list was begun {begun} times."
            + ("" if in_vain else " No cursor was refused, and it had come to its end."),
            BEGIN_ANEW if in_vain else END,
            f"Begin it {ATTEMPTS} times at most." if in_vain else "Stop where there is no `nextCursor`.",
        )
    if not ended and not refused and asked[-1].result is not None:
        raise NotYet(
            f"{server} Answer {len(asked)} has the `nextCursor` {show(following)}, and the story stops "
            "there.",
            EMPTY if following == "" else SIZE,
            "Read on as long as there is a `nextCursor`, whatever it is and however many members came.",
        )


def _judge_value(
    case: Case, answer: object, value: object, expected: list[str] | None, recording: Recording
) -> None:
    server = f"A server {case.what}."
    if expected is None:
        if value is not None:
            raise NotYet(
                f"{server} {name_of(answer)} returned {show(value)}, and should return None.",
                case.rule,
                "Part of a list is not the list: nobody could tell them apart.",
                recording,
            )
        return
    given = texts_of(value)
    if given == expected:
        return
    seen = f"{server} {name_of(answer)} returned {show(value)}, and should return {show(expected)}."
    look = "Return the names, each once, in the order in which they came."
    if given is not None and len(given) != len(set(given)):
        look = "A member that you have already is not a new one."
    elif given is not None and case.rule is BEGIN_ANEW:
        look = "When you begin anew, drop what came before: it may not be true any more."
    raise NotYet(seen, case.rule, look, recording)


TITLE: Final = "The whole list"

TASK: Final = Task(
    name="whole_list",
    title=TITLE,
    text=f"""\
Write a story that reads `{LIST}` to its end and returns the names (`name`) of all members: each once, in
the order in which they came.

- The server may do whatever it is allowed to: with pages or without, of any size, with any cursor.
- The list may change while you read it, and then a member may come twice.
- If a cursor is refused with -32602, drop what you have and begin again. Begin {ATTEMPTS} times at most, the
  first included; if that does not help, return None.

`await client.request("{LIST}", {{"cursor": cursor}})` asks for a page, and returns it as a dict.""",
    answer="whole_list",
    starter='''\
async def whole_list(client):
    """The names of all members of the list, or None."""
    return ...''',
    hints=(
        "Two loops: the inner one turns the pages, the outer one begins again where a cursor was refused.",
        'Begin with `params = {}`. As long as `page.get("nextCursor")` is not None, the next `params` are '
        '`{"cursor": page["nextCursor"]}`. An empty text is not None.',
        "A dict keeps the order in which its keys came, and each key once: `dict.fromkeys(names)`. Begin "
        "with an empty one in each attempt.",
    ),
    solution=(
        """\
async def one_attempt(client):
    names, params = {}, {}
    while params is not None:
        page = await client.request("resources/list", params)
        names.update(dict.fromkeys(one["name"] for one in page["resources"]))
        cursor = page.get("nextCursor")
        params = None if cursor is None else {"cursor": cursor}
    return list(names)""",
        """\
async def whole_list(client):
    for _ in range(3):
        try:
            return await one_attempt(client)
        except ProtocolError as error:
            if error.code != -32602:
                raise
    return None""",
    ),
    why="The only question to a cursor is whether there is one. All else is a list that may change, and a "
    "server that may forget.",
    grade=grade,
    pages=(
        ("guidelines", "server/utilities/pagination#implementation-guidelines"),
        ("changes between pages", "server/utilities/caching#interaction-with-pagination"),
    ),
    play='simulate(whole_list, server=ex.shelf(), title="The whole list", check=False)',
    points=20,
)
