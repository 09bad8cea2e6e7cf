"""What a notebook's cells show, in a plain page: a click in a widget is the same there as in JupyterLab.

The kernel is a function; see `in_page`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from playwright.sync_api import Browser, Locator, Route

from mcpsim.widgets import Bench
from mcpsim.widgets.base import Picture
from tests.browser.in_page import Shown, Stage, listening
from tests.browser.lab.by_hand import LEDGER
from tests.browser.lab.in_lab import LEAVE, PERMISSIONS, elsewhere

#: Where each hand is at work. What JupyterLab interferes with is the keyboard.
HANDS: Final = {"mouse": "plain_desk", "keyboard": "desk", "mouse in JupyterLab": "desk"}
#: A page needs an address to read the clipboard; the browser never asks for it in the network.
ADDRESS: Final = "http://localhost/"


class PlainDesk:
    """Cells without a notebook: each widget has the page for itself. Used as a `Desk` is.

    Attributes:
        wrong: what went wrong in a script of a widget, and what it wrote to the console.
    """

    def __init__(self, stage: Stage, first: str, cells: Mapping[str, str]) -> None:
        self.page = stage.page
        self.wrong: list[str] = []
        self._stage = stage
        self._cells = cells
        self._names: dict[str, Any] = {}
        exec(first, self._names)

    def run(self, name: str, *, alone: bool = True) -> Locator:
        """Show what a cell shows."""
        assert alone
        value = eval(self._cells[name], self._names)
        self._stage.shown = Shown(self.page, value if isinstance(value, Picture) else Bench.of(value))
        self.page.mouse.move(0, 0)
        self.page.goto(ADDRESS)
        return self.page.locator("#here")

    def answer(self, route: Route) -> None:
        """Let the browser read the page."""
        assert self._stage.shown is not None
        route.fulfill(body=self._stage.shown.html(), content_type="text/html; charset=utf-8")

    def state(self) -> object:
        """What a click in a widget must leave alone."""
        return [page.url for page in self.page.context.pages]

    def leave(self) -> None:
        """Put away what a failed test left behind; the next widget has another page of the same address,
        which needs no other process."""
        self.page.evaluate(LEAVE)
        self._stage.shown = None


@contextmanager
def at_plain_desk(browser: Browser, first: str, cells: Mapping[str, str]) -> Iterator[PlainDesk]:
    """Open a page for cells that are named.

    Args:
        first: what all of them need.
        cells: the source of each, by name; its value is a widget or a bench.
    """
    stage = Stage(browser)
    desk = PlainDesk(stage, first, cells)
    context = desk.page.context
    context.grant_permissions(PERMISSIONS, origin=ADDRESS)
    context.add_init_script(LEDGER)
    context.route("https://**/*", elsewhere)
    context.route(ADDRESS, desk.answer)
    with listening(
        desk.page,
        pageerror=lambda error: desk.wrong.append(str(error)),
        console=lambda message: desk.wrong.append(message.text),
    ):
        yield desk
    stage.close()
