"""A small bar chart to show in a notebook, as text and as HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Final

LONGEST: Final = 40
BLOCK: Final = "█"


@dataclass(frozen=True)
class Chart:
    """Horizontal bars with their numbers.

    Attributes:
        title: what is counted, one sentence.
        values: a number, 0 or more, for each label, in order.

    Raises:
        ValueError: a value is negative, infinite, or not a number.
    """

    title: str
    values: Mapping[str, float]

    def __post_init__(self) -> None:
        for label, value in self.values.items():
            if not 0 <= value < math.inf:
                raise ValueError(f"A bar has a finite length of 0 or more; {label} has {value:g}.")

    def _share(self, value: float) -> float:
        return value / (max(self.values.values(), default=0) or 1)

    def __repr__(self) -> str:
        wide = max(map(len, self.values), default=0)
        numbers = {label: f"{value:,g}" for label, value in self.values.items()}
        long = max(map(len, numbers.values()), default=0)
        bars = {label: BLOCK * round(LONGEST * self._share(value)) for label, value in self.values.items()}
        lines = [f"{label:<{wide}}  {numbers[label]:>{long}}  {bar}".rstrip() for label, bar in bars.items()]
        return "\n".join([self.title, "", *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left;font-weight:400">{escape(label)}</th>'
            f'<td style="text-align:right">{value:,g}</td>'
            f'<td style="width:24em;text-align:left"><div aria-hidden="true" style="height:1em;'
            f"width:{100 * self._share(value):.1f}%;min-width:1px;"
            f'background:var(--jp-brand-color1, #1565c0)"></div></td></tr>'
            for label, value in self.values.items()
        )
        caption = f'<caption style="text-align:left">{escape(self.title)}</caption>'
        return f"<table>{caption}<tbody>{rows}</tbody></table>"
