"""Exercise: cut a list into pages, with cursors that survive a change of the list."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text, items_of, texts_of
from mcpsim.course.exercises.processes import in_another_process
from mcpsim.course.exercises.set_04_stateless.worlds import SEEDS, worlds
from mcpsim.course.exercises.set_06_pagination.paging import LIST, PagedServer
from mcpsim.course.exercises.set_06_pagination.rules import (
    ANY_PROCESS,
    INVALID,
    NO_CONSISTENCY,
    STABLE,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import exchanges, require_valid
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.errors import INVALID_PARAMS, InvalidCursor, ProtocolError

RESULT: Final = Rule(
    "A page has its members, and a `nextCursor` if more results exist. The cursor is a string.",
    "server/utilities/pagination#response-format",
)

WORDS: Final = ("alder", "birch", "cedar", "elder", "hazel", "larch", "maple", "olive", "poplar", "rowan")
NONSENSE: Final = ("", "2", "page-2", "not a cursor", "é", "====")
# Twice as many pages as any list here can have.
MAX_PAGES: Final = 60
KEEP_NOTHING: Final = "Keep nothing between two calls: all that you need has to be in the cursor."


class _Refused:
    """What a call comes to that raised ValueError."""


Page = tuple[list[str], str | None]


@dataclass(frozen=True, slots=True)
class _Cutter:
    """The learner's function, with its values looked at."""

    answer: Any
    learner: Learner

    def page(self, names: Sequence[str], cursor: str | None, size: int) -> Page | None:
        """One page; None where the cursor was refused.

        Raises:
            NotYet: what came back is no page, or the function raised something else.
        """
        on = f"{len(names)} names, the cursor {show(cursor)} and the size {size}"
        value = self.learner.call(_or_refused(self.answer), list(names), cursor, size, on=on)
        if isinstance(value, _Refused):
            return None
        if is_placeholder(value):
            raise NotAttempted
        pair = items_of(value)
        page = None if pair is None or len(pair) != 2 else texts_of(pair[0])
        if pair is None or page is None or None in page:
            raise NotYet(
                f"{name_of(self.answer)} returned {show(value)} on {on}.",
                RESULT,
                "Return a pair: the list of names on the page, and the cursor of the next one or None.",
            )
        gone = next((name for name in page if name not in names), None)
        if gone is not None:
            raise NotYet(
                f"{name_of(self.answer)} put {show(gone)} on a page on {on}. It is not among the names that "
                "were given.",
                RESULT,
                "Show what is in `names` now, and nothing else.",
            )
        following = None if pair[1] is None else as_text(pair[1])
        if pair[1] is not None and following is None:
            raise NotYet(
                f"{name_of(self.answer)} returned the cursor {show(pair[1])} on {on}. It is no string.",
                RESULT,
                "Write what you need into a string: the client sends it back as it is.",
            )
        if len(page) > size:
            raise NotYet(
                f"{name_of(self.answer)} put {len(page)} names on a page on {on}.",
                RESULT,
                f"`size` is how many a page has at most, here {size}.",
            )
        return [str(name) for name in page], following

    def good(self, names: Sequence[str], cursor: str | None, size: int, when: str) -> Page:
        """A page that must not be refused."""
        found = self.page(names, cursor, size)
        if found is None:
            raise self.refused(cursor, when)
        return found

    def refused(self, cursor: str | None, when: str) -> NotYet:
        """What there is to say where it refused a cursor that is good."""
        given = "the first page" if cursor is None else f"its own cursor {show(cursor)}"
        return NotYet(
            f"{when} {name_of(self.answer)} refused {given}.",
            STABLE,
            "A cursor that you gave out stays good, also when the list has changed.",
        )


def _or_refused(answer: Any) -> Any:
    if not callable(answer):
        return answer

    @functools.wraps(answer)
    def asked(*arguments: Any) -> Any:
        try:
            return answer(*arguments)
        except ValueError:
            return _Refused()

    return asked


def grade(answer: object, learner: Learner) -> Passed:
    """Turn pages: of lists that stay, of lists that change, by several clients, and over the wire."""
    cutter = _Cutter(answer, learner)
    for seed in SEEDS:
        rng = Random(f"cut:{seed}")
        names = _names(rng)
        for size in (1, rng.choice((2, 3)), 4, len(names), len(names) + 1):
            _whole(cutter, names, size)
        for change in CHANGES:
            for size in (1, 2, 3):
                _changing(cutter, change, names, size, rng)
        _two_at_once(cutter, names)
        _in_several_processes(answer, learner, names)
        _refuses(cutter, names)
    _on_the_wire(cutter)
    return Passed(
        f"{len(SEEDS)} lists came whole in pages of five sizes. Members were added and removed between two "
        "pages, and none was missing and none came twice. What is no cursor was refused.",
        STABLE,
    )


def _names(rng: Random) -> list[str]:
    return sorted(f"{word}-{rng.randrange(100, 999)}" for word in rng.sample(WORDS, 8))


def _whole(cutter: _Cutter, names: Sequence[str], size: int) -> None:
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        found = cutter.page(names, cursor, size)
        if found is None and seen == list(names):
            raise NotYet(
                f"After the last of {len(names)} names {name_of(cutter.answer)} gave out the cursor "
                f"{show(cursor)}, and then refused it.",
                RESULT,
                "The cursor of the last page is None: that alone says that nothing follows.",
            )
        if found is None:
            raise cutter.refused(cursor, "Nothing had changed.")
        page, cursor = found
        seen += page
        if cursor is None:
            break
    if cursor is not None:
        raise NotYet(
            f"After {MAX_PAGES} pages of at most {size} of {len(names)} names there was still a cursor.",
            RESULT,
            "None is the cursor of the last page. And a page should begin where the one before ended.",
        )
    if seen != list(names):
        raise NotYet(
            f"{len(names)} names in pages of at most {size}: the pages together gave {show(seen)}, and the "
            f"list is {show(list(names))}.",
            RESULT,
            "All names, each once, in the order of the list.",
        )


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to a list after its first page.

    Attributes:
        what: in words.
        make: the list as it is then: gets the list, how many names the first page showed, and chance.
    """

    what: str
    make: Callable[[list[str], int, Random], list[str]]


def _add_in_front(names: list[str], shown: int, rng: Random) -> list[str]:
    return [f"aaron-{rng.randrange(100, 999)}", f"acer-{rng.randrange(100, 999)}", *names]


def _remove_shown(names: list[str], shown: int, rng: Random) -> list[str]:
    gone = rng.randrange(shown)
    return names[:gone] + names[gone + 1 :]


def _remove_last_shown(names: list[str], shown: int, rng: Random) -> list[str]:
    return names[: shown - 1] + names[shown:]


def _remove_all_shown(names: list[str], shown: int, rng: Random) -> list[str]:
    return names[shown:]


def _remove_next(names: list[str], shown: int, rng: Random) -> list[str]:
    return names[:shown] + names[shown + 1 :]


def _much(names: list[str], shown: int, rng: Random) -> list[str]:
    later = [*names[:shown], *names[shown + 1 :], f"zelkova-{rng.randrange(100, 999)}"]
    return _add_in_front(_remove_last_shown(later, shown, rng), shown, rng)


CHANGES: Final = (
    Change("two names were added in front", _add_in_front),
    Change("a name of the first page was removed", _remove_shown),
    Change("the last name of the first page was removed", _remove_last_shown),
    Change("all names of the first page were removed", _remove_all_shown),
    Change("the name that comes next was removed", _remove_next),
    Change("some names were added and some removed", _much),
)


def _changing(cutter: _Cutter, change: Change, names: list[str], size: int, rng: Random) -> None:
    when = f"After the first page of at most {size}, {change.what}."
    first, cursor = cutter.good(names, None, size, "Nothing had changed.")
    if cursor is None:
        raise NotYet(
            f"{name_of(cutter.answer)} put {len(first)} of {len(names)} names on the first page, and gave no "
            "cursor.",
            RESULT,
            "Where more names follow there is a cursor.",
        )
    if not first:
        # Allowed, and nothing to begin with: what was shown cannot be changed then.
        return
    later = change.make(names, len(first), rng)
    stayed = [name for name in later if name in names and name not in first]
    seen = list(first)
    for _ in range(MAX_PAGES):
        page, cursor = cutter.good([*later], cursor, size, when)
        seen += page
        if cursor is None:
            break
    twice = next((name for name in seen if seen.count(name) > 1), None)
    missing = next((name for name in stayed if name not in seen), None)
    if twice is not None:
        raise NotYet(
            f"{when} {twice} came twice.",
            NO_CONSISTENCY,
            "A count of names is no place any more when the list has changed. What else says where a page "
            "ended?",
        )
    if missing is not None:
        raise NotYet(
            f"{when} {missing}, which was in the list all the time, never came.",
            NO_CONSISTENCY,
            "A count of names is no place any more when the list has changed. What else says where a page "
            "ended, also when that name is gone?",
        )


def _two_at_once(cutter: _Cutter, names: Sequence[str]) -> None:
    cursors: dict[int, str | None] = {2: None, 3: None}
    seen: dict[int, list[str]] = {2: [], 3: []}
    done: set[int] = set()
    for _ in range(MAX_PAGES):
        for size in sorted(set(cursors) - done):
            page, cursors[size] = cutter.good(names, cursors[size], size, "Two clients were reading.")
            seen[size] += page
            if cursors[size] is None:
                done.add(size)
    for size, found in sorted(seen.items()):
        if found != list(names):
            raise NotYet(
                f"Two clients read at the same time, in pages of 2 and of 3. The one with {size} got "
                f"{show(found)}.",
                ANY_PROCESS,
                KEEP_NOTHING,
            )


def _in_several_processes(answer: object, learner: Learner, names: Sequence[str]) -> None:
    # All of them are made before the first call, so that none has heard of another's.
    processes = [_Cutter(in_another_process(answer), learner) for _ in range(3)]
    seen: list[str] = []
    cursor: str | None = None
    for turn in range(MAX_PAGES):
        cutter = processes[turn % len(processes)]
        asked = cursor
        try:
            found = cutter.page(names, cursor, 2)
        except NotYet as fault:
            raise NotYet(
                f"Each call came to another process. {fault.seen}", ANY_PROCESS, KEEP_NOTHING
            ) from None
        if found is None:
            raise NotYet(
                f"Each call came to another process. {name_of(answer)} gave out the cursor {show(asked)} in "
                "one of them, and refused it in the next.",
                ANY_PROCESS,
                KEEP_NOTHING,
            )
        page, cursor = found
        seen += page
        if cursor is None:
            break
    if seen != list(names):
        raise NotYet(
            f"Each call came to another process. In pages of 2 a client got {show(seen)}, and the list is "
            f"{show(list(names))}.",
            ANY_PROCESS,
            KEEP_NOTHING,
        )


def _refuses(cutter: _Cutter, names: Sequence[str]) -> None:
    for cursor in NONSENSE:
        found = cutter.page(names, cursor, 3)
        if found is not None:
            raise NotYet(
                f"{name_of(cutter.answer)} took {show(cursor)} for a cursor of its own and returned "
                f"{show(found)}.",
                INVALID,
                "Raise ValueError for what you cannot have given out. What do all of your cursors have in "
                "common, and this one has not?",
            )


def _on_the_wire(cutter: _Cutter) -> None:
    for transport, seed in worlds():
        rng = Random(f"cut-wire:{seed}")
        shelf = _Shelf(cutter, _names(rng), f"abele-{rng.randrange(100, 999)}")
        expected = list(shelf.names)
        try:
            run = cutter.learner.play(
                shelf.read_and_change,
                server=PagedServer(shelf.turn, [*shelf.names, shelf.added]),
                transport=transport,
                seed=seed,
                title=TITLE,
                written=cutter.answer,
            )
        except NotYet as found:
            raise shelf.fault or found from None
        require_valid(run.recording)
        seen, code = run.value
        # What was added meanwhile may come or not.
        stayed = [name for name in seen if name != shelf.added]
        if stayed != expected or code != INVALID_PARAMS:
            raise NotYet(
                f"A server used your function. A client got {show(seen)} in "
                f"{len(exchanges(run.recording, LIST)) - 1} pages, and "
                f"{'no error' if code is None else code} for the cursor 'page-2'.",
                STABLE if stayed != expected else INVALID,
                "Does it give the same answer to the same question every time?",
                run.recording,
            )


class _Shelf:
    """A list that a server gives out with the learner's function, and that grows after its first page."""

    def __init__(self, cutter: _Cutter, names: list[str], added: str) -> None:
        self._cutter = cutter
        self.names = names
        self.added = added
        self.fault: NotYet | None = None

    def turn(self, cursor: str | None) -> Page:
        """A page, as the server asks for it."""
        try:
            found = self._cutter.page(self.names, cursor, 3)
        except NotYet as fault:
            # To a server this is one more exception of a handler: the learner should see it as it is.
            self.fault = fault
            raise
        if found is None:
            raise InvalidCursor("refused")
        return found

    async def read_and_change(self, client: Client) -> tuple[list[str], int | None]:
        """Read the list while it grows, then send a cursor that is none."""
        seen, cursor = await _ask(client, None)
        self.names = [self.added, *self.names]
        while cursor is not None and len(seen) < 2 * len(self.names):
            page, cursor = await _ask(client, cursor)
            seen += page
        try:
            await client.request(LIST, {"cursor": "page-2"})
        except ProtocolError as error:
            return seen, error.code
        return seen, None


async def _ask(client: Client, cursor: str | None) -> tuple[list[str], str | None]:
    page = await client.request(LIST, {} if cursor is None else {"cursor": cursor})
    return [one["name"] for one in page["resources"]], page.get("nextCursor")


TITLE: Final = "Cut a list into pages"

TASK: Final = Task(
    name="cut_pages",
    title=TITLE,
    text="""\
The other side: a server calls this function for every page. Write it.

- `names` is the list as it is now, sorted and without duplicates. Between two calls names may have been added
  anywhere, and any may be gone.
- `cursor` is the text that the client sends, or None for the first page.
- `size` is how many names a page has at most.

Return a pair: the names of the page as a list, and the cursor of the next page, or None after the last one.
For a cursor that you cannot have given out, raise `ValueError`: the server answers -32602 then.

A name that is in the list all the time comes exactly once; one that is gone does not come any more. Keep
nothing between two calls: the next one may come to another process.""",
    answer="cut",
    starter='''\
def cut(names, cursor, size):
    """One page of the names, and the cursor of the next one or None."""
    return ...''',
    hints=(
        "What says where a page ended, and is still true when names were added or removed? Not a number.",
        "The names are sorted. The next page begins with the first name that is greater than the last one "
        "that you showed, and it does not matter whether that one is still there.",
        'A cursor can be any text: `"after:" + page[-1]` is one. What does not begin with "after:" is none '
        "of yours.",
    ),
    solution=(
        """\
def cut(names, cursor, size):
    if cursor is not None and not cursor.startswith("after:"):
        raise ValueError("not a cursor of this list")
    after = "" if cursor is None else cursor.removeprefix("after:")
    left = [name for name in names if name > after]
    page = left[:size]
    return page, "after:" + page[-1] if len(left) > size else None""",
    ),
    why="The cursor holds the last name that was shown. It needs no memory of the server's, and it stays "
    "true when that name is gone. A real server would also make it hard to make one up.",
    grade=grade,
    pages=(
        ("guidelines", "server/utilities/pagination#implementation-guidelines"),
        ("changes between pages", "server/utilities/caching#interaction-with-pagination"),
        ("statelessness", "basic/index#statelessness"),
    ),
    points=20,
)
