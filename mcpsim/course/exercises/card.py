"""What an exercise says, as text and as HTML: one small frame for verdicts, hints and solutions.

The text is what a test compares and what a screen reader or a terminal gets; the HTML says the same. Every
text in it is escaped: a learner's answer, or a message from a stranger, can never run.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Final, Literal

from mcpsim.course.exercises.showing import inline, wrap

Tone = Literal["good", "open", "plain"]

# JupyterLab's own colours, so that both themes fit; the second value is for pages without JupyterLab.
_EDGES: Final = {
    "good": "var(--jp-success-color1, #2e7d32)",
    "open": "var(--jp-warn-color1, #e65100)",
    "plain": "var(--jp-border-color1, #757575)",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One labelled part of a card.

    Attributes:
        label: one word, such as "Rule".
        text: what stands in backticks is shown as code.
        link: an address below the text, or "".
    """

    label: str
    text: str
    link: str = ""


@dataclass(frozen=True)
class Card:
    """Something to show in a notebook.

    Attributes:
        heading: the first line.
        parts: the labelled parts, in order.
        block: a text to show as it is, line by line, such as code or a transcript, or "".
        block_title: what the block is; with a title it is folded away in HTML.
        tone: which colour the edge has. The heading says the same in words and with a mark.
    """

    heading: str
    parts: tuple[Part, ...] = ()
    block: str = ""
    block_title: str = ""
    tone: Tone = "plain"

    def __repr__(self) -> str:
        lines = [self.heading]
        for part in self.parts:
            lines.append(wrap(part.label, part.text))
            if part.link:
                lines.append(f"        {part.link}")
        if self.block:
            if self.block_title:
                lines.append(f"  {self.block_title}:")
            lines += [f"    {line}".rstrip() for line in self.block.splitlines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(_row(part) for part in self.parts)
        block = f'<pre style="margin:0;overflow-x:auto">{html.escape(self.block)}</pre>' if self.block else ""
        if block and self.block_title:
            block = f"<details><summary>{html.escape(self.block_title)}</summary>{block}</details>"
        return (
            f'<div style="border-left:4px solid {_EDGES[self.tone]};padding:2px 12px;max-width:60em">'
            f"<strong>{inline(self.heading)}</strong>{rows}{block}</div>"
        )


def _row(part: Part) -> str:
    link = ""
    if part.link:
        address = html.escape(part.link)
        link = f'<br><a href="{address}" target="_blank" rel="noopener">{address}</a>'
    return f'<div style="margin:4px 0"><em>{html.escape(part.label)}:</em> {inline(part.text)}{link}</div>'
