"""The pagination explorer: a list that changes while a client reads it, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

import anyio

from mcpsim.client.client import Client
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import ProtocolError
from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.simulation.simulate import simulate
from mcpsim.widgets import scripts
from mcpsim.widgets.acting import Acting, text_in, whole_in
from mcpsim.widgets.pagination_explorer_view import (
    ADDED,
    BEGIN,
    PAGE,
    REFUSED,
    REMOVED,
    SIZE,
    Turn,
    explorer_data,
    explorer_html,
    explorer_text,
)
from mcpsim.widgets.pagination_schemes import LIST, SCHEMES, ListingServer, Scheme, key_of, uri_of

Place = Literal["front", "middle", "end"]

MAX_ITEMS: Final = 30
MAX_ACTIONS: Final = 100
MAX_CURSOR: Final = 200
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PLACES: Final[tuple[Place, ...]] = get_args(Place)
# Between two items there is room for more.
GAP: Final = 1_000


class Action(NamedTuple):
    """What was pressed: "next", "again", "add" (`text`: the place), "remove" (`text`: the name), "size"
    (`number`) or "cursor" (`text`: what is sent)."""

    do: str
    text: str = ""
    number: int = 0


class PaginationExplorer(Acting):
    """Reads a list page by page, while it changes: `PaginationExplorer()` as the last line of a cell.

    Everything that is pressed is played from the start again, by a real client and a real server on the
    virtual clock; `run` and `recording` hold what crossed the wire.

    Args:
        items: how many items the list has at first, from 1 to 30.
        page_size: how many of them a page has at most.
        scheme: what this server hides in a cursor: "keyset" (the last key that was shown, as every `Server`
            of this workbook does it), "offset" (how many items came before) or "snapshot" (which copy of the
            list it keeps, and how far the client is).
        era: the client's era.

    Attributes:
        run: what was played.
        turns: what happened in it, in order.
        error: why the last wish could not be fulfilled, or "".

    Raises:
        ValueError: an argument is out of its range.

    https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
    """

    _esm = scripts.script((*scripts.COMMON, "acting", "pagination"), "{ render: renderPagination }")
    _css = scripts.style("acting", "pagination")

    def __init__(
        self,
        items: int = 12,
        page_size: int = 4,
        scheme: Scheme = "keyset",
        *,
        era: ClientEra = "modern",
    ) -> None:
        if not 1 <= items <= MAX_ITEMS:
            raise ValueError(f"items must be a number from 1 to {MAX_ITEMS}, not {items}.")
        self._items = items
        self._page_size = page_size
        self._era: ClientEra = era
        self._play(scheme, ())
        super().__init__()

    @property
    def recording(self) -> Recording:
        """What crossed the wire."""
        return self.run.recording

    def next_page(self) -> None:
        """Let the client ask for the next page, with the cursor that it was given.

        Raises:
            ValueError: the list is at its end.
        """
        self._do(lambda: self._add(Action("next")))

    def add(self, place: Place = "front") -> None:
        """Add an item to the list: at its front, in its middle, or at its end.

        Raises:
            ValueError: there is no room for more, or no such place.
        """
        self._do(lambda: self._add(Action("add", place)))

    def remove(self, name: str) -> None:
        """Remove an item from the list, by its name, such as "3" or "A".

        Raises:
            ValueError: the list has no such item.
        """
        self._do(lambda: self._add(Action("remove", name)))

    def set_page_size(self, size: int) -> None:
        """Change how many items the server puts on a page at most.

        Raises:
            ValueError: it is not from 1 to 30.
        """
        self._do(lambda: self._add(Action("size", number=size)))

    def send_cursor(self, cursor: str) -> None:
        """Let the client send a cursor that it made up; the empty one is one too.

        Raises:
            ValueError: it is longer than 200 characters.
        """
        self._do(lambda: self._add(Action("cursor", cursor)))

    def start_again(self) -> None:
        """Let the client begin at the first page, without a cursor. The list stays as it is now."""
        self._do(lambda: self._add(Action("again")))

    def undo(self) -> None:
        """Take back what was pressed last."""
        self._do(lambda: self._play(self.scheme, self._actions[:-1]))

    def use(self, scheme: Scheme) -> None:
        """Do the same again with a server that hides something else in its cursors.

        Raises:
            ValueError: there is no such scheme.
        """
        self._do(lambda: self._play(scheme, self._actions))

    def _act(self, wish: Mapping[str, Any]) -> None:
        do = wish.get("do")
        if do == "undo":
            self._play(self.scheme, self._actions[:-1])
        elif do == "scheme":
            self._play(text_in(wish, "scheme", 20), self._actions)
        elif do == "reset":
            self._play(self.scheme, ())
        elif do == "size":
            self._add(Action("size", number=whole_in(wish, "size", 1, MAX_ITEMS)))
        elif do in ("add", "remove", "cursor"):
            self._add(Action(do, text_in(wish, "text", MAX_CURSOR)))
        elif do in ("next", "again"):
            self._add(Action(do))
        else:
            raise ValueError(f"There is nothing like {do!r:.40} to do here.")

    def _add(self, action: Action) -> None:
        if len(self._actions) >= MAX_ACTIONS:
            raise ValueError(f"That is enough: {MAX_ACTIONS} steps are played at most. Begin anew.")
        self._play(self.scheme, (*self._actions, action))

    def _play(self, scheme: str, actions: tuple[Action, ...]) -> None:
        """Play the actions from the start. Nothing changes where they cannot be played."""
        if scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, not {scheme!r:.40}.")
        known: Scheme = scheme
        walk = _Walk(known, self._items, self._page_size)

        async def read_a_changing_list(client: Client) -> None:
            """Read a list page by page, while it changes."""
            for action in actions:
                await walk.take(client, action)
                await anyio.sleep(1)

        self.run: Run = simulate(
            read_a_changing_list,
            server=walk.server,
            era=self._era,
            title="A list that changes while it is read",
        )
        self.scheme: Scheme = known
        self.turns: tuple[Turn, ...] = tuple(walk.turns)
        self._names = walk.names
        self._actions = actions

    def _data(self) -> dict[str, Any]:
        begins = [index for index, turn in enumerate(self.turns) if turn.kind == BEGIN]
        return explorer_data(
            self.turns[begins[-1] :],
            self._names,
            scheme=self.scheme,
            number=len(begins),
            undoable=bool(self._actions),
        )

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        return f"PaginationExplorer({self._items}, {self._page_size}, {self.scheme!r})"

    def still_text(self) -> str:
        return explorer_text(self.shown)

    def still_html(self) -> str:
        return explorer_html(self.shown)


class _Walk:
    """A server with a list, and what happens while a client reads it."""

    def __init__(self, scheme: Scheme, items: int, page_size: int) -> None:
        self.server = ListingServer(scheme, page_size)
        self.names: dict[int, str] = {}
        self._cursor: str | None = None
        self._given: set[str] = set()
        self._asked = False
        self._ended = False
        for number in range(1, items + 1):
            self._put(GAP * number, str(number))
        self.turns: list[Turn] = []
        self._note(BEGIN)

    def _put(self, key: int, name: str) -> None:
        self.server.put(key, name)
        self.names[key] = name

    def _note(self, kind: str, **more: Any) -> None:
        keys = self.server.keys
        ahead = keys if not self._asked else self.server.pages.ahead(self._cursor)
        self.turns.append(Turn(kind, keys, self.server.page_size or 0, ahead, **more))

    async def take(self, client: Client, action: Action) -> None:
        """Let one thing happen."""
        if action.do == "next":
            if self._ended:
                raise ValueError("The last page had no nextCursor: the list is at its end. Start again.")
            await self._ask(client, self._cursor, made_up=False)
        elif action.do == "cursor":
            await self._ask(client, action.text, made_up=action.text not in self._given)
        elif action.do == "again":
            self._cursor, self._asked, self._ended = None, False, False
            self._note(BEGIN)
        elif action.do == "add":
            self._enter(action.text)
        elif action.do == "remove":
            self._remove(action.text)
        else:
            if not 1 <= action.number <= MAX_ITEMS:
                raise ValueError(f"A page has 1 to {MAX_ITEMS} items, not {action.number}.")
            self.server.page_size = action.number
            self._note(SIZE)

    async def _ask(self, client: Client, cursor: str | None, *, made_up: bool) -> None:
        params = {} if cursor is None else {"cursor": cursor}
        try:
            result = await client.request(LIST, params)
        except ProtocolError as error:
            self._note(REFUSED, sent=cursor, made_up=made_up, why=f"{error.code}: {error.message}")
            return
        self._cursor = result.get("nextCursor")
        self._asked, self._ended = True, self._cursor is None
        if self._cursor is not None:
            self._given.add(self._cursor)
        keys = tuple(key_of(one["uri"]) for one in result["resources"])
        inside = "" if self._cursor is None else self._in_words(self.server.pages.inside(self._cursor))
        self._note(PAGE, keys=keys, sent=cursor, made_up=made_up, next=self._cursor, inside=inside)

    def _in_words(self, inside: str) -> str:
        if inside.isdecimal():
            return f"{inside} items came before"
        copy, _, count = inside.rpartition(":")
        if copy.isdecimal():
            return f"copy {copy} of the list, {count} items came before"
        return f"behind {self.names[key_of(inside)]}"

    def _enter(self, place: str) -> None:
        if place not in PLACES:
            raise ValueError(f"An item is added at one of {', '.join(PLACES)}, not at {place!r:.40}.")
        added = len(self.names) - sum(name.isdecimal() for name in self.names.values())
        if added >= len(LETTERS):
            raise ValueError(f"At most {len(LETTERS)} items can be added.")
        key = self._free_key(place)
        self._put(key, LETTERS[added])
        self._note(ADDED, keys=(key,))

    def _free_key(self, place: str) -> int:
        # Keys that were used are not used again: another item would stand in the column of the old one.
        known = sorted(self.names)
        if place == "end":
            return known[-1] + GAP
        here = self.server.keys
        before = here[len(here) // 2 - 1] if place == "middle" and len(here) > 1 else 0
        above = next((key for key in known if key > before), before + 2 * GAP)
        if above - before < 2:
            raise ValueError(f"There is no room for one more item at the {place}.")
        return (before + above) // 2

    def _remove(self, name: str) -> None:
        key = next((key for key in self.server.keys if self.names[key] == name), None)
        if key is None:
            raise ValueError(f"There is no item {name!r:.40} in the list.")
        if len(self.server.keys) == 1:
            raise ValueError("The last item stays: an empty list has nothing to show.")
        self.server.remove_resource(uri_of(key))
        self._note(REMOVED, keys=(key,))
