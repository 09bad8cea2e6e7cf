"""What every widget is: a script and a style of its own, and a stand-in for where nothing runs."""

from __future__ import annotations

from typing import Any, Protocol, cast

import anywidget


class _Bundled(Protocol):
    def __call__(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None: ...


class Picture(anywidget.AnyWidget):
    """A widget that also stores what it shows as text and as still HTML, for readers without a kernel.

    A subclass gives `_esm` (see `mcpsim.widgets.scripts`), `_css`, and the two methods below. What comes from
    the browser comes in one trait, and what goes back in one more, so that whatever a user does is one round
    trip.
    """

    def still_text(self) -> str:
        """What it shows, as text: the same in every run, for nbval compares it."""
        raise NotImplementedError

    def still_html(self) -> str:
        """What it shows, as HTML that runs nothing."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        # A widget whose view is switched off has no bundle at all.
        bundle_of = cast("_Bundled", super()._repr_mimebundle_)  # pyright: ignore[reportUnknownMemberType]
        bundle, metadata = bundle_of(**kwargs) or ({}, {})
        return {**bundle, "text/plain": self.still_text(), "text/html": self.still_html()}, metadata
