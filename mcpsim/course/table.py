"""A small table to show in a notebook, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

GAP = "  "


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell.

    Attributes:
        text: the words.
        link: where they lead, or "": an address, or a file beside the notebook.
        code: whether it is something from the wire, and set as code.
    """

    text: str
    link: str = ""
    code: bool = False

    def html(self) -> str:
        """The cell's content; every text is escaped."""
        text = escape(self.text)
        text = f"<code>{text}</code>" if self.code and text else text
        return f'<a href="{escape(self.link)}">{text}</a>' if self.link else text


@dataclass(frozen=True)
class Table:
    """Rows under headings.

    Attributes:
        title: what the table is about, one sentence.
        headings: one for each column.
        rows: each as long as the headings.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __repr__(self) -> str:
        texts = [self.headings, *(tuple(cell.text for cell in row) for row in self.rows)]
        widths = [max(len(text) for text in column) for column in zip(*texts, strict=True)]
        lines = [
            GAP.join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
            for row in texts
        ]
        return "\n".join([self.title, "", *lines])

    def _repr_html_(self) -> str:
        style = 'style="text-align:left;vertical-align:top"'
        head = "".join(f'<th scope="col" {style}>{escape(text)}</th>' for text in self.headings)
        rows = "".join(
            "<tr>" + "".join(f"<td {style}>{cell.html()}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        caption = f'<caption style="text-align:left">{escape(self.title)}</caption>'
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
