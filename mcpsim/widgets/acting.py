"""A picture that does what its user asks for: one wish of the browser, one answer to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from mcpsim.widgets.base import Picture
from mcpsim.widgets.bench_view import error_text


class Acting(Picture):
    """What the small widgets share: `asked` comes from the browser, and `shown` goes back, in one round trip.

    A subclass gives `_act`, which takes a wish, and `_data`, which says what is to be seen. An error of a
    wish is shown as text, and everything stays as it was before: so `_act` changes nothing before it is sure.

    Attributes:
        error: why the last wish could not be fulfilled, or "".
    """

    # From the browser: {"n": which wish of the browser it is, "do": what, and whatever belongs to it}.
    asked: Any = traitlets.Dict().tag(sync=True)
    # To the browser: `n` of what it answers to, `error`, and what `_data` says.
    shown: Any = traitlets.Dict().tag(sync=True)

    def __init__(self) -> None:
        self.error = ""
        super().__init__(shown={"n": 0, "error": "", **self._data()})

    def _act(self, wish: Mapping[str, Any]) -> None:
        """Do what a user asks for. What comes from a browser may be anything.

        Raises:
            Exception: it cannot be done; the text says why.
        """
        raise NotImplementedError

    def _data(self) -> dict[str, Any]:
        """What is to be seen now, as plain JSON values."""
        raise NotImplementedError

    @traitlets.observe("asked")
    def _on_asked(self, change: Any) -> None:
        # An error here would be lost: ipywidgets shows none.
        self.error = _error_of(lambda: self._act(change["new"]))
        self._show()

    def _show(self) -> None:
        n: Any = self.asked.get("n", 0)
        self.shown = {"n": n if isinstance(n, int) else 0, "error": self.error, **self._data()}

    def _do(self, act: Callable[[], None]) -> None:
        """Do what a cell asks for: an error is the cell's."""
        act()
        self.error = ""
        self._show()


def _error_of(act: Callable[[], None]) -> str:
    try:
        act()
    except ValueError as error:
        # Ours: a sentence for people.
        return str(error)
    except (Exception, KeyboardInterrupt) as error:
        # Whoever interrupts the kernel still waits for an answer.
        return error_text(error)
    return ""


def text_in(wish: Mapping[str, Any], name: str, limit: int) -> str:
    """A text of a wish.

    Raises:
        ValueError: it is none, or longer than `limit` characters.
    """
    value: Any = wish.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text.")
    if len(value) > limit:
        raise ValueError(f"{name} has {len(value):,} characters; at most {limit} will do here.")
    return value


def whole_in(wish: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """A whole number of a wish.

    Raises:
        ValueError: it is none, or not between `low` and `high`.
    """
    value: Any = wish.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}.")
    return value
