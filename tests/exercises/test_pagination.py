"""Exercises 06: pagination. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import anyio
import pytest

from mcpsim import ProtocolError, simulate
from mcpsim.course import exercises
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.set_06_pagination import PaginationExercises
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

LIST: Final = "resources/list"


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.pagination


# --- 06, rules ------------------------------------------------------------------------------------

STRENGTH: Final = {
    "A": "MUST",
    "B": "MUST",
    "C": "SHOULD",
    "D": "MUST",
    "E": "none",
    "F": "SHOULD",
    "G": "MUST",
    "H": "SHOULD",
}

RULES: Final = [
    ("cursor_rules", dict(reversed(STRENGTH.items()))),
    (
        "cursor_rules",
        {**STRENGTH, "C": "MUST"},
        "7 of 8 are right. C is not 'MUST'.",
        "SHOULD treat a missing",
    ),
    ("cursor_rules", {**STRENGTH, "E": "SHOULD"}, "the same number of members", "Nothing asks the server"),
    ("cursor_rules", {**STRENGTH, "F": "MUST"}, "with -32602.", "SHOULD result in the error"),
    ("cursor_rules", {**STRENGTH, "G": "none"}, "the same `cacheScope`", "MUST apply the same"),
    ("cursor_rules", {**STRENGTH, "B": "SHOULD"}, "is an empty string", "MUST NOT be taken for the end"),
    ("cursor_rules", {**STRENGTH, "H": "MUST NOT"}, "H: 'MUST NOT' is none of the words", "The words are"),
    ("cursor_rules", {**STRENGTH, "H": ...}, "7 of 8 are answered", "Still open: H"),
]

# --- 06, find the fault ---------------------------------------------------------------------------

FAULTS: Final = {"A": 3, "B": 0, "C": 2, "D": 1, "E": 0, "F": 4, "G": 5}

FOUND: Final = [
    ("page_fault", dict(reversed(FAULTS.items()))),
    ("page_fault", {**FAULTS, "A": 0}, "A: 0 (nothing) is not it", "MUST NOT assume a fixed size"),
    ("page_fault", {**FAULTS, "B": 3}, "an empty page is no end", "An empty string is a valid cursor"),
    ("page_fault", {**FAULTS, "C": 1}, 'came with the cursor ""', "An empty string is a valid cursor"),
    ("page_fault", {**FAULTS, "D": 5}, 'got "bGFzdDpib2E%3D" back', "do not change them"),
    ("page_fault", {**FAULTS, "E": 1}, "came back as it was given out", "SHOULD discard all pages"),
    ("page_fault", {**FAULTS, "F": 1}, 'asks for the cursor "null"', "SHOULD treat a missing"),
    ("page_fault", {**FAULTS, "G": 1}, "is sent with resources/templates/list", "that gave it out"),
    ("page_fault", {**FAULTS, "G": "5"}, "G: the answer is '5'", "a number from 0 to 5"),
]

# What the audit says of the clients with a fault, in the order of the letters.
AUDITED: Final = {
    "A": {"pagination-page-size-is-not-assumed"},
    "B": set[str](),
    "C": {"pagination-empty-cursor-is-a-cursor"},
    "D": {"pagination-cursor-is-opaque"},
    "E": set[str](),
    "F": {"pagination-missing-cursor-is-the-end"},
    "G": {"pagination-cursor-of-another-list"},
}


@pytest.mark.parametrize("letter", AUDITED)
def test_the_audit_finds_the_same_faults(letter: str) -> None:
    report = exercises.pagination().recording(letter).audit()
    found = {
        one.rule for one in report.findings if one.party == "client" and one.rule.startswith("pagination")
    }
    assert found == AUDITED[letter], report


def test_no_recording_says_in_its_title_what_is_wrong(set_of: Callable[..., PaginationExercises]) -> None:
    titles = [set_of().recording(letter).header["title"] for letter in FAULTS]
    assert titles == [f"Recording {letter}" for letter in FAULTS]


def test_the_logs_show_every_cursor() -> None:
    text = exercises.pagination().logs()
    assert [line for line in text.splitlines() if len(line) == 1] == list(FAULTS)
    for cursor in ("p2-7", "", "x9", "bGFzdDpib2E=", "c-1-3", "k2", "q-3"):
        assert f'nextCursor "{cursor}"' in text
    for cursor in ("", "0", "bGFzdDpib2E%3D", "c-2-3", "null", "q-3"):
        assert f'cursor "{cursor}"' in text


def test_a_letter_without_a_recording_is_refused() -> None:
    with pytest.raises(LookupError, match="A, B, C"):
        exercises.pagination().recording("Z")


# --- 06, the whole list ---------------------------------------------------------------------------


async def page_at(client: Any, cursor: Any) -> Any:
    return await client.request(LIST, {} if cursor is None else {"cursor": cursor})


async def whole_by_pages(client: Any) -> Any:
    for _ in range(3):
        names: list[str] = []
        try:
            async for page in client.pages(LIST):
                names += [one.name for one in page.resources if one.name not in names]
        except ProtocolError:
            continue
        return tuple(names)
    return None


async def whole_by_recursion(client: Any) -> Any:
    async def rest(cursor: Any) -> list[str]:
        page = await page_at(client, cursor)
        names = [one["name"] for one in page["resources"]]
        return names + (await rest(page["nextCursor"]) if "nextCursor" in page else [])

    async def attempt(left: int) -> Any:
        try:
            return list(dict.fromkeys(await rest(None)))
        except ProtocolError:
            return await attempt(left - 1) if left > 1 else None

    return await attempt(3)


async def whole_read_twice(client: Any) -> Any:
    """Reads the list once more, to see whether it has changed; nothing forbids it."""
    first = await whole_by_recursion(client)
    return None if first is None else await whole_by_pages(client)


async def whole_first_page(client: Any) -> Any:
    return [one["name"] for one in (await page_at(client, None))["resources"]]


def loop_while(goes_on: Callable[[Any], bool], sends: Callable[[Any], Any] = lambda cursor: cursor) -> Any:
    async def story(client: Any) -> Any:
        names: dict[str, None] = {}
        page = await page_at(client, None)
        names.update(dict.fromkeys(one["name"] for one in page["resources"]))
        while goes_on(page):
            page = await page_at(client, sends(page.get("nextCursor")))
            names.update(dict.fromkeys(one["name"] for one in page["resources"]))
        return list(names)

    return story


def in_attempts(times: int, *, keep: bool = False, part: bool = False, again: bool = True) -> Any:
    async def story(client: Any) -> Any:
        names: dict[str, None] = {}
        cursor: Any = None
        for _ in range(times):
            if not keep:
                names = {}
            if again:
                cursor = None
            try:
                while True:
                    page = await page_at(client, cursor)
                    names.update(dict.fromkeys(one["name"] for one in page["resources"]))
                    cursor = page.get("nextCursor")
                    if cursor is None:
                        return list(names)
            except ProtocolError:
                pass
        return list(names) if part else None

    return story


async def whole_with_duplicates(client: Any) -> Any:
    for _ in range(3):
        try:
            return [one.name async for page in client.pages(LIST) for one in page.resources]
        except ProtocolError:
            pass
    return None


async def whole_sorted(client: Any) -> Any:
    names = await whole_by_pages(client)
    return None if names is None else sorted(names, reverse=True)


async def whole_in_order_of_names(client: Any) -> Any:
    names = await whole_by_pages(client)
    return None if names is None else sorted(names)


async def whole_of_five_pages(client: Any) -> Any:
    """A limit is right; one that a list of twelve members reaches is not."""
    for _ in range(3):
        pages: list[Any] = []
        try:
            async for page in client.pages(LIST):
                pages.append(page)
                if len(pages) == 5:
                    break
            return list(dict.fromkeys(one.name for page in pages for one in page.resources))
        except ProtocolError:
            pass
    return None


async def whole_as_uris(client: Any) -> Any:
    names = await whole_by_pages(client)
    return None if names is None else [f"report://{name}" for name in names]


async def whole_and_wait(client: Any) -> Any:
    await whole_by_pages(client)
    await anyio.sleep_forever()


async def whole_without_asking(client: Any) -> Any:
    return ["ant", "bee"]


async def whole_from_another_list(client: Any) -> Any:
    return [page async for page in client.pages("tools/list")]


async def whole_begins_with_empty(client: Any) -> Any:
    return await client.request(LIST, {"cursor": ""})


WHOLE: Final = [
    ("whole_list", whole_by_pages),
    ("whole_list", whole_by_recursion),
    ("whole_list", in_attempts(3)),
    ("whole_list", in_attempts(2)),
    ("whole_list", whole_read_twice),
    ("whole_list", whole_first_page, "Answer 1 has the `nextCursor`", "whatever it is"),
    (
        "whole_list",
        loop_while(lambda page: page.get("nextCursor")),
        "has the `nextCursor` '', and the story stops there",
        "MUST NOT be taken for the end",
    ),
    (
        "whole_list",
        loop_while(lambda page: "nextCursor" in page, lambda cursor: cursor or None),
        "has an empty `nextCursor`, and request 3 has no `cursor`",
        "`cursor is not None`",
    ),
    (
        "whole_list",
        loop_while(lambda page: len(page["resources"]) == 3),
        "Answer 1 has the `nextCursor`",
        "however many members came",
    ),
    (
        "whole_list",
        loop_while(lambda page: page["resources"]),
        "No cursor was refused, and it had come to its end",
        "SHOULD treat a missing",
    ),
    (
        "whole_list",
        loop_while(lambda page: "nextCursor" in page, str.upper),
        "request 2 has the cursor",
        "do not change them",
    ),
    (
        "whole_list",
        loop_while(lambda page: True, str),
        "request 4 has the cursor 'None'",
        "SHOULD treat a missing",
    ),
    (
        "whole_list",
        loop_while(lambda page: "nextCursor" in page),
        "was refused with -32602, and nothing follows.",
        "begin again without a cursor",
    ),
    ("whole_list", in_attempts(20), "The list was begun 20 times.", "3 times at most"),
    ("whole_list", in_attempts(10_000), "refuses every cursor. The list was begun", "at most"),
    ("whole_list", whole_and_wait, "not at its end after 10 s", "What does it wait for"),
    ("whole_list", in_attempts(3, keep=True), "and should return", "drop what came before"),
    ("whole_list", in_attempts(3, part=True), "and should return None", "Part of a list is not the list"),
    ("whole_list", in_attempts(3, again=False), "was refused, and request 3 sends it again", "discard"),
    ("whole_list", whole_with_duplicates, "so that members come twice", "is not a new one"),
    ("whole_list", whole_sorted, "and should return", "in the order in which they came"),
    ("whole_list", whole_in_order_of_names, "and should return", "in the order in which they came"),
    ("whole_list", whole_of_five_pages, "with one member each. Answer 5 has", "Read on as long as"),
    ("whole_list", whole_as_uris, "and should return", "Return the names"),
    ("whole_list", whole_without_asking, "sends no request for `resources/list`", "client.request"),
    ("whole_list", whole_from_another_list, "sends no request for `resources/list`", "client.request"),
    ("whole_list", whole_begins_with_empty, "The first request has the cursor ''", "without a cursor"),
]


# --- 06, cut pages --------------------------------------------------------------------------------


def cut_by_base64(names: Any, cursor: Any, size: Any) -> Any:
    start = 0
    if cursor is not None:
        try:
            last = json.loads(base64.b64decode(cursor, validate=True))["last"]
        except (binascii.Error, ValueError, TypeError, KeyError):
            raise ValueError(cursor) from None
        start = bisect_right(names, last)
    end = start + size
    more = {"last": names[end - 1]} if end < len(names) else None
    following = None if more is None else base64.b64encode(json.dumps(more).encode()).decode()
    return tuple(names[start:end]), following


def cut_with_an_empty_last_page(names: Any, cursor: Any, size: Any) -> Any:
    """A full page always has a cursor, so that the last page may be empty. `nextCursor` allows that."""
    if cursor is not None and not cursor.startswith(">"):
        raise ValueError
    page = [name for name in names if cursor is None or name > cursor[1:]][:size]
    return [page, f">{page[-1]}" if len(page) == size else None]


def cut_by_offset(names: Any, cursor: Any, size: Any) -> Any:
    start = 0
    if cursor is not None:
        if not cursor.startswith("o"):
            raise ValueError
        start = int(cursor[1:])
    return names[start : start + size], f"o{start + size}" if start + size < len(names) else None


def cut_by_index_of_the_last(names: Any, cursor: Any, size: Any) -> Any:
    if cursor is not None and not cursor.startswith("@"):
        raise ValueError
    start = 0 if cursor is None else names.index(cursor[1:]) + 1
    page = names[start : start + size]
    return page, f"@{page[-1]}" if start + size < len(names) else None


def cut_by_index_of_the_next(names: Any, cursor: Any, size: Any) -> Any:
    """Names the one that comes next, and that one may be gone."""
    start = 0 if cursor is None else names.index(cursor)
    return names[start : start + size], names[start + size] if start + size < len(names) else None


def cut_by_name_alone(names: Any, cursor: Any, size: Any) -> Any:
    page = [name for name in names if cursor is None or name > cursor][:size]
    return page, page[-1] if page and page[-1] != names[-1] else None


def cut_from_the_last(names: Any, cursor: Any, size: Any) -> Any:
    if cursor is not None and not cursor.startswith(">"):
        raise ValueError
    left = [name for name in names if cursor is None or name >= cursor[1:]]
    return left[:size], f">{left[size - 1]}" if len(left) > size else None


def cut_without_end(names: Any, cursor: Any, size: Any) -> Any:
    if cursor is not None and not cursor.startswith(">"):
        raise ValueError
    page = [name for name in names if cursor is None or name > cursor[1:]][:size]
    return page, f">{(page or names)[-1]}"


class Remembering:
    """Knows in the process where the one and only client is."""

    def __init__(self) -> None:
        self.at = 0

    def __call__(self, names: Any, cursor: Any, size: Any) -> Any:
        if cursor not in (None, "more"):
            raise ValueError
        self.at = 0 if cursor is None else self.at
        page = names[self.at : self.at + size]
        self.at += size
        return page, "more" if self.at < len(names) else None


def cut_to_three(names: Any, cursor: Any, size: Any) -> Any:
    return cut_with_an_empty_last_page(names, cursor, 3)


def cut_with_numbers(names: Any, cursor: Any, size: Any) -> Any:
    start = cursor or 0
    return names[start : start + size], start + size if start + size < len(names) else None


def cut_page_alone(names: Any, cursor: Any, size: Any) -> Any:
    return names[:size]


def cut_raises_key_error(names: Any, cursor: Any, size: Any) -> Any:
    if cursor is not None and not cursor.startswith("after:"):
        raise KeyError(cursor)
    return cut_with_an_empty_last_page(names, cursor and cursor.replace("after:", ">"), size)


def cut_from_a_copy(names: Any, cursor: Any, size: Any) -> Any:
    """The rest of the list travels in the cursor, as it was when the client began."""
    left = names if cursor is None else json.loads(cursor)
    if not isinstance(left, list):
        raise ValueError(cursor)
    return left[:size], json.dumps(left[size:]) if len(left) > size else None


def cut_from_a_copy_without_what_is_gone(names: Any, cursor: Any, size: Any) -> Any:
    page, following = cut_from_a_copy(names, cursor, size)
    return [name for name in page if name in names], following


def cut_by_what_was_shown(names: Any, cursor: Any, size: Any) -> Any:
    """All that was shown travels in the cursor: what is added before it comes, too."""
    shown = [] if cursor is None else json.loads(cursor)
    if not isinstance(shown, list):
        raise ValueError(cursor)
    left = [name for name in names if name not in shown]
    return left[:size], json.dumps(shown + left[:size]) if len(left) > size else None


COPIES: Final[dict[str, list[str]]] = {}


def cut_from_a_copy_in_the_process(names: Any, cursor: Any, size: Any) -> Any:
    if cursor is not None and cursor not in COPIES:
        raise ValueError(cursor)
    left = names if cursor is None else [name for name in COPIES[cursor] if name in names]
    return left[:size], keep_a_copy(left[size:]) if len(left) > size else None


def keep_a_copy(left: list[str]) -> str:
    COPIES[f"copy-{len(COPIES)}"] = left
    return f"copy-{len(COPIES) - 1}"


class Lists:
    """A place in the process, as a class."""

    given: ClassVar[dict[str, list[str]]] = {}

    @classmethod
    def keep(cls, left: list[str]) -> str:
        cls.given[f"list-{len(cls.given)}"] = left
        return f"list-{len(cls.given) - 1}"


def cut_from_a_copy_in_a_class(names: Any, cursor: Any, size: Any) -> Any:
    if cursor is not None and cursor not in Lists.given:
        raise ValueError(cursor)
    left = names if cursor is None else [name for name in Lists.given[cursor] if name in names]
    return left[:size], Lists.keep(left[size:]) if len(left) > size else None


@dataclass(frozen=True)
class Place:
    """What a cursor says. It keeps nothing."""

    after: str = ""
    mark: ClassVar[str] = "after:"

    @classmethod
    def read(cls, cursor: str | None) -> Place:
        if cursor is not None and not cursor.startswith(cls.mark):
            raise ValueError(cursor)
        return BEGINNING if cursor is None else cls(cursor.removeprefix(cls.mark))

    @property
    def cursor(self) -> str:
        return self.mark + self.after


BEGINNING: Final = Place()


def cut_with_a_class(names: Any, cursor: Any, size: Any) -> Any:
    place = Place.read(cursor)
    left = names if place == BEGINNING else [name for name in names if name > place.after]
    return left[:size], Place(left[size - 1]).cursor if len(left) > size else None


def cut_with_an_empty_cursor_at_the_end(names: Any, cursor: Any, size: Any) -> Any:
    page, following = cut_with_an_empty_last_page(names, cursor, size)
    return page, following if page and page[-1] != names[-1] else ""


def cut_first_only(names: Any, cursor: Any, size: Any) -> Any:
    return names[:size], None


CUT: Final = [
    ("cut_pages", cut_by_base64),
    ("cut_pages", cut_with_an_empty_last_page),
    ("cut_pages", cut_from_a_copy_without_what_is_gone),
    ("cut_pages", cut_by_what_was_shown),
    ("cut_pages", cut_with_a_class),
    (
        "cut_pages",
        cut_from_a_copy_in_the_process,
        "Each call came to another process. `cut_from_a_copy_in_the_process` gave out the cursor 'copy-",
        "Keep nothing between two calls",
    ),
    (
        "cut_pages",
        cut_from_a_copy_in_a_class,
        "Each call came to another process. `cut_from_a_copy_in_a_class` gave out the cursor 'list-",
        "Keep nothing between two calls",
    ),
    (
        "cut_pages",
        cut_with_an_empty_cursor_at_the_end,
        "gave out the cursor '', and then refused it",
        "The cursor of the last page is None",
    ),
    ("cut_pages", cut_from_a_copy, "It is not among the names that were given", "in `names` now"),
    ("cut_pages", cut_by_offset, "two names were added in front. ", "A count of names is no place"),
    ("cut_pages", cut_by_index_of_the_last, "refused its own cursor", "stays good"),
    ("cut_pages", cut_by_index_of_the_next, "the name that comes next was removed.", "stays good"),
    ("cut_pages", cut_by_name_alone, "took '' for a cursor of its own", "-32602"),
    ("cut_pages", cut_from_the_last, "still a cursor", "begin where the one before ended"),
    ("cut_pages", cut_without_end, "there was still a cursor", "None is the cursor of the last page"),
    ("cut_pages", Remembering(), "two names were added in front.", "A count of names is no place"),
    ("cut_pages", cut_to_three, "put 3 names on a page", "here 1"),
    ("cut_pages", cut_with_numbers, "It is no string", "into a string"),
    ("cut_pages", cut_page_alone, "returned ['", "Return a pair"),
    ("cut_pages", cut_raises_key_error, "raised KeyError", "Call it yourself"),
    ("cut_pages", cut_first_only, "the pages together gave", "All names, each once"),
]


def test_a_function_that_keeps_the_place_itself_is_found_with_two_clients(
    set_of: Callable[..., ExerciseSet],
) -> None:
    """Right for one client, and with the name of the last one, so that no change shows it."""
    last: list[str] = []

    def cut(names: Any, cursor: Any, size: Any) -> Any:
        if cursor not in (None, "more"):
            raise ValueError
        left = [name for name in names if cursor is None or name > last[-1]]
        last.extend(left[:size][-1:])
        return left[:size], "more" if len(left) > size else None

    verdict = set_of().cut_pages.check(cut)  # type: ignore[attr-defined]
    assert "Two clients read at the same time" in verdict.seen
    assert "Keep nothing between two calls" in verdict.look


def test_the_server_to_try_a_story_with(set_of: Callable[..., PaginationExercises]) -> None:
    run = simulate(whole_by_pages, server=set_of().shelf())
    assert run.value == ("ant", "bee", "cat", "dog")
    assert '"cursor": ""' in run.transcript()


ALL: Final[list[tuple[Any, ...]]] = [*RULES, *FOUND, *WHOLE, *CUT]


def test_of_a_loop_without_an_end_the_verdict_shows_the_beginning_and_the_end(
    set_of: Callable[..., PaginationExercises],
) -> None:
    verdict = set_of().whole_list.check(
        loop_while(lambda page: "nextCursor" in page, lambda cursor: cursor or None)
    )
    assert verdict.recording is not None
    wire = verdict.recording.transcript().splitlines()
    shown = verdict.card().block.splitlines()
    assert len(wire) > 300
    assert len(shown) == 37
    assert (shown[:30], shown[-6:]) == (wire[:30], wire[-6:])
    assert shown[30].startswith(f"… {len(wire) - 36} lines are left out here")
    short = set_of().whole_list.check(whole_first_page)
    assert short.recording is not None
    assert short.card().block == short.recording.transcript()
