"""Two recordings side by side, as a Jupyter widget."""

from __future__ import annotations

from typing import Any

import traitlets

from mcpsim.recording import Recording
from mcpsim.recording.run import Run, recording_of
from mcpsim.widgets import scripts
from mcpsim.widgets.base import Picture
from mcpsim.widgets.compare_view import comparison_data, pairs_html, pairs_text
from mcpsim.widgets.text import one_line


class Comparison(Picture):
    """Shows two runs side by side: `Comparison(legacy, modern)` as the last line of a cell.

    They are aligned by what the story did: a call stands beside the same call, its answer beside the answer.
    What only one of them has stands alone, and is marked by its shape.

    Args:
        left, right: two runs, or recordings.
        names: the headings of the two columns. By default what tells them apart: the era, the transport,
            the faults, or the titles.

    Attributes:
        cursor: the row that is shown, from 1.

    Raises:
        TypeError: what is given is neither a run nor a recording.
    """

    _esm = scripts.script((*scripts.COMMON, "compare"), "{ render: renderComparison }")
    _css = scripts.style(*scripts.PLAYER_STYLES)

    data: Any = traitlets.Dict().tag(sync=True)
    cursor = traitlets.Int(1).tag(sync=True)

    def __init__(
        self, left: Run | Recording, right: Run | Recording, *, names: tuple[str, str] | None = None
    ) -> None:
        sides = recording_of(left), recording_of(right)
        called = None if names is None else (one_line(names[0], 60), one_line(names[1], 60))
        data = comparison_data(*sides, called)
        titles = dict.fromkeys(side["title"] for side in (data["left"], data["right"]))
        super().__init__(data={**data, "title": " — ".join(titles)})

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.data["rows"])

    @property
    def summary(self) -> str:
        """What the comparison comes to."""
        return str(self.data["summary"])

    @traitlets.validate("cursor")
    def _keep_cursor_within(self, proposal: Any) -> int:
        return max(1, min(int(proposal["value"]), max(1, len(self.data.get("rows", ())))))

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        return f"Comparison({self.data['names'][0]!r}, {self.data['names'][1]!r})"

    def still_text(self) -> str:
        """The rows as text."""
        return pairs_text(self.data)

    def still_html(self) -> str:
        """The rows as a table."""
        return pairs_html(self.data)
