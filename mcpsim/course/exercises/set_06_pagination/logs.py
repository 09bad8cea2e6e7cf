"""Recordings of clients that each wanted to read a whole list, some of them with a fault."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.exercises.set_06_pagination.paging import LIST, PagedServer, Turn, uri_of
from mcpsim.course.exercises.traffic import Exchange, exchanges
from mcpsim.errors import InvalidCursor, ProtocolError
from mcpsim.recording import Recording
from mcpsim.simulation import simulate

CHANGED, EMPTY, SHORT, PAST_THE_END, OTHER_LIST, NO_FAULT = 1, 2, 3, 4, 5, 0
TEMPLATES: Final = "resources/templates/list"

_MEMBERS: Final[Mapping[str, str]] = {LIST: "resources", TEMPLATES: "resourceTemplates"}

Cells = Mapping[str | None, tuple[tuple[str, ...], str | None]]


@dataclass(frozen=True, slots=True)
class Log:
    """What a client did with a list.

    Attributes:
        pages: the pages of the server, by cursor: what is on them, and the next cursor.
        story: what the client does.
        fault: the number of its fault.
        seen: where it shows, in a sentence.
    """

    pages: Cells
    story: Callable[[Client], Awaitable[None]]
    fault: int
    seen: str

    def play(self) -> Recording:
        """The recording; the same every time."""
        names = [name for page, _ in self.pages.values() for name in page]
        server = PagedServer(by_table(self.pages), names, ttl_ms=60_000)
        # Templates, so that there is a second list.
        server.resource_template("report://of/{year}", name="of a year")(_of_a_year)
        return simulate(self.story, server=server, era="modern", check=False).recording


def _of_a_year(year: str) -> str:
    return f"The reports of {year}."


def by_table(pages: Cells) -> Turn:
    """Gives out the pages of a table."""

    def turn(cursor: str | None) -> tuple[tuple[str, ...], str | None]:
        if cursor not in pages:
            raise InvalidCursor("no such page")
        return pages[cursor]

    return turn


async def _ask(client: Client, *cursors: str | None, method: str = LIST) -> None:
    for cursor in cursors:
        try:
            await client.request(method, {} if cursor is None else {"cursor": cursor})
        except ProtocolError:
            return


async def _short(client: Client) -> None:
    """Stop at a short page, and go on with what was found"""
    await _ask(client, None, "p2-7")
    await client.read_resource(uri_of("ant"))


async def _odd_but_right(client: Client) -> None:
    """Follow every cursor"""
    await _ask(client, None, "", "0")


async def _empty(client: Client) -> None:
    """Ask for the truth of a cursor"""
    await _ask(client, None, "x9", None)


async def _encoded(client: Client) -> None:
    """Encode a cursor as if it stood in a URL"""
    await _ask(client, None, "bGFzdDpib2E%3D")


async def _anew(client: Client) -> None:
    """Begin again after a cursor was refused"""
    await _ask(client, None, "c-1-3")
    await _ask(client, None, "c-2-3")


async def _past_the_end(client: Client) -> None:
    """Send the word for nothing"""
    await _ask(client, None, "k2", "null")


async def _other_list(client: Client) -> None:
    """Read the templates with the cursor of the resources"""
    await _ask(client, None)
    await _ask(client, "q-3", method=TEMPLATES)
    await _ask(client, "q-3")


class _Restarting(dict[str | None, tuple[tuple[str, ...], str | None]]):
    """A server that was restarted after its first answer: cursors have other names now."""

    def __init__(self) -> None:
        first, later = ("ant", "bee", "cat"), ("dog", "eel")
        super().__init__({None: (first, "c-1-3"), "c-2-3": (later, None)})
        self._asked = 0

    def __getitem__(self, cursor: str | None) -> tuple[tuple[str, ...], str | None]:
        names, following = super().__getitem__(cursor)
        self._asked += 1
        return names, "c-2-3" if self._asked > 1 and following else following


def _logs() -> dict[str, Log]:
    return {
        "A": Log(
            {None: (("ant", "bee", "cat"), "p2-7"), "p2-7": (("dog",), "p3-1"), "p3-1": (("eel",), None)},
            _short,
            SHORT,
            "The second page has one member where the first had three, and a nextCursor. Nobody asks for "
            "the page behind it.",
        ),
        "B": Log(
            {None: (("ant", "bee"), ""), "": ((), "0"), "0": (("cat", "dog"), None)},
            _odd_but_right,
            NO_FAULT,
            "An empty cursor is sent back, an empty page is no end, and the page without nextCursor is.",
        ),
        "C": Log(
            {None: (("ant", "bee"), "x9"), "x9": (("cat", "dog"), ""), "": (("eel",), None)},
            _empty,
            EMPTY,
            'The second page came with the cursor "", and the client asks for the first page again.',
        ),
        "D": Log(
            {None: (("ant", "bee"), "bGFzdDpib2E="), "bGFzdDpib2E=": (("cat",), None)},
            _encoded,
            CHANGED,
            'The server gave out "bGFzdDpib2E=", and got "bGFzdDpib2E%3D" back.',
        ),
        "E": Log(
            _Restarting(),
            _anew,
            NO_FAULT,
            "The cursor came back as it was given out, and was refused. Then the client began anew, without "
            "one.",
        ),
        "F": Log(
            {None: (("ant", "bee"), "k2"), "k2": (("cat",), None)},
            _past_the_end,
            PAST_THE_END,
            'The second page had no nextCursor, and the client asks for the cursor "null".',
        ),
        "G": Log(
            {None: (("ant", "bee"), "q-3"), "q-3": (("cat",), None)},
            _other_list,
            OTHER_LIST,
            f"The cursor came with {LIST}, and is sent with {TEMPLATES}.",
        ),
    }


LOGS: Final[Callable[[], dict[str, Log]]] = _logs
LETTERS: Final = tuple(_logs())


def in_words(recording: Recording) -> Iterator[str]:
    """The requests and the answers, a line each, with what matters for pages."""
    for one in exchanges(recording):
        yield f"→ {one.request.method}{_params(one)}"
        yield f"← {_answer(one)}"


def _params(one: Exchange) -> str:
    params: dict[str, Any] = one.request.params or {}
    shown = [f'{key} "{params[key]}"' for key in ("cursor", "uri") if key in params]
    return f", {shown[0]}" if shown else ", no cursor" if one.request.method.endswith("/list") else ""


def _answer(one: Exchange) -> str:
    if one.result is None:
        return f"error {one.code}"
    if not one.request.method.endswith("/list"):
        return "the text of the report"
    members: list[Any] = one.result[_MEMBERS[one.request.method]]
    count = f"{len(members)} member{'' if len(members) == 1 else 's'}"
    following = one.result.get("nextCursor")
    return f"{count}, no nextCursor" if following is None else f'{count}, nextCursor "{following}"'
