"""What the pagination explorer shows, as plain data: which item came with which page, and what is missed.

Pure functions. Each column of the picture is an item, each row something that happened, in order: so a gap
and an item that came twice are seen where they arise.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#interaction-with-pagination
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.eras.pages import spec_url
from mcpsim.widgets.text import one_line

MAX_CURSOR: Final = 80

BEGIN: Final = "begin"
PAGE: Final = "page"
REFUSED: Final = "refused"
ADDED: Final = "added"
REMOVED: Final = "removed"
SIZE: Final = "size"


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing that happened while a client read a list.

    Attributes:
        kind: "begin" (the client is about to ask for the first page), "page", "refused", "added", "removed"
            or "size".
        present: the keys of the items that are in the list after it, in order.
        size: the page size after it.
        ahead: the keys that the client would get from here on, if nothing changed any more.
        keys: what the page brought, or the one item that was added or removed.
        sent: the cursor that the client sent; None where it sent none.
        made_up: whether that cursor is none that the page before gave out.
        next: the `nextCursor` that came with the page; None where none came.
        inside: what the server hides in that one.
        why: what the server said when it refused.
    """

    kind: str
    present: tuple[int, ...]
    size: int
    ahead: tuple[int, ...]
    keys: tuple[int, ...] = ()
    sent: str | None = None
    made_up: bool = False
    next: str | None = None
    inside: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What has become of an item by now.

    Attributes:
        state: "once", "twice", "again" (seen, and it will come once more), "coming", "missed" (it was there
        all
            the time), "unseen" (it was added where the client had read already), "gone".
        sign: for the eye.
        text: in words.
    """

    state: str
    sign: str
    text: str


#: How each scheme is called, and what it hides in a cursor.
LABELS: Final[Mapping[str, str]] = {
    "keyset": "the last item that was shown",
    "offset": "how many items came before",
    "snapshot": "a copy of the list, kept by the server",
}
EXPLAINED: Final[Mapping[str, str]] = {
    "keyset": (
        "The next page begins behind that item, whether it is still there or not. What is in the list all "
        "the time comes exactly once. What is added before that place is not seen."
    ),
    "offset": (
        "The next page begins after so many items, whatever they are now. An item that goes away before "
        "that place moves the others up, and one is missed. One that is added there moves them down, and "
        "one comes twice."
    ),
    "snapshot": (
        "The next page comes from the list as it was at the first page. What was in it then comes exactly "
        "once, also what is gone since; what is added is not seen. The server has to keep the copy."
    ),
}
RULES: Final = (
    "What is inside of a cursor is this server's business: clients MUST treat it as opaque, and give it "
    "back as it is. The page size is the server's choice too. A page without `nextCursor` is the end; an "
    "empty cursor is a cursor, and not the end. Between pages there is no guarantee of consistency: "
    "whoever needs the whole list as it is at one moment SHOULD begin again, without a cursor."
)


def outcome_of(key: int, walk: Sequence[Turn]) -> Outcome:
    """What has become of an item in one walk through the list.

    Args:
        walk: what happened, from the first `begin` on.
    """
    now = walk[-1]
    seen = sum(key in turn.keys for turn in walk if turn.kind == PAGE)
    coming, here = key in now.ahead, key in now.present
    if seen > 1:
        return Outcome("twice", f"{seen}×", f"came {seen} times")
    if seen and coming:
        return Outcome("again", "1×+", "came once, and would come again")
    if seen:
        return Outcome("once", "✓", "came once" if here else "came once, and is gone since")
    if coming:
        return Outcome("coming", "…", "would still come" if here else "would still come, though it is gone")
    if here and key in walk[0].present:
        return Outcome("missed", "✗", "missed, though it was there all the time")
    if here:
        return Outcome("unseen", "○", "added since, and not seen")
    return Outcome("gone", "–", "gone before it was read")


def explorer_data(
    walk: Sequence[Turn], names: Mapping[int, str], *, scheme: str, number: int, undoable: bool
) -> dict[str, Any]:
    """The picture of one walk, as plain JSON values.

    Args:
        walk: what happened, from its `begin` on.
        names: the name of each item, by its key.
        scheme: what the server hides in cursors.
        number: which walk of the run it is, from 1.
        undoable: whether there is anything that could be taken back.
    """
    now = walk[-1]
    keys = sorted({key for turn in walk for key in (*turn.present, *turn.keys)})
    seen: dict[int, int] = {}
    rows: list[dict[str, Any]] = []
    pages = 0
    for turn in walk:
        pages += turn.kind == PAGE
        rows.append(
            {
                "kind": turn.kind,
                "head": _head(turn, pages, number),
                "cells": [_cell(turn, key, seen) for key in keys],
                "cursor": _cursor(turn),
            }
        )
        if turn.kind == PAGE:
            for key in turn.keys:
                seen[key] = seen.get(key, 0) + 1
    outcomes = {key: outcome_of(key, walk) for key in keys}
    return {
        "title": "Pagination explorer",
        "scheme": scheme,
        "explained": EXPLAINED.get(scheme, ""),
        "schemes": [[name, label] for name, label in LABELS.items()],
        "rules": RULES,
        "urls": [
            spec_url("modern", "server/utilities/pagination"),
            spec_url("modern", "server/utilities/caching#interaction-with-pagination"),
        ],
        "items": [names[key] for key in keys],
        "rows": rows,
        "outcomes": [[one.state, one.sign, one.text] for one in outcomes.values()],
        "present": [[names[key], names[key]] for key in now.present],
        "size": now.size,
        "cursor": _next_cursor(walk) or "",
        "ended": _ended(walk),
        "undoable": undoable,
        "status": " ".join((_said(now, names, walk), _verdict(outcomes, names, _ended(walk)))).strip(),
    }


def _next_cursor(walk: Sequence[Turn]) -> str | None:
    return next((turn.next for turn in reversed(walk) if turn.kind == PAGE), None)


def _ended(walk: Sequence[Turn]) -> bool:
    pages = [turn for turn in walk if turn.kind == PAGE]
    return bool(pages) and pages[-1].next is None


def _head(turn: Turn, pages: int, number: int) -> str:
    return {
        BEGIN: "The list" if number == 1 else f"The list, time {number}",
        PAGE: f"Page {pages}",
        REFUSED: "Refused",
        ADDED: "An item is added",
        REMOVED: "An item is removed",
        SIZE: f"Page size {turn.size}",
    }[turn.kind]


def _cell(turn: Turn, key: int, seen: Mapping[int, int]) -> list[str]:
    """The state of an item in a row, and that in words."""
    if key in turn.keys:
        if turn.kind != PAGE:
            return [turn.kind, turn.kind]
        return ["again", "came again"] if seen.get(key) else ["shown", "came with this page"]
    if key in turn.present:
        return ["here", "in the list"]
    return ["absent", "not in the list"]


def _cursor(turn: Turn) -> list[list[str]]:
    """What is said of cursors in a row: a label and a text each."""
    said: list[list[str]] = []
    if turn.kind in (PAGE, REFUSED):
        name = "sent, made up" if turn.made_up else "sent"
        said.append([name, "no cursor" if turn.sent is None else _quoted(turn.sent)])
    if turn.kind == PAGE:
        said.append(["nextCursor", "none: this is the end" if turn.next is None else _quoted(turn.next)])
    if turn.inside:
        said.append(["hidden in it", one_line(turn.inside, MAX_CURSOR)])
    if turn.why:
        said.append(["error", one_line(turn.why, 200)])
    return said


def _quoted(cursor: str) -> str:
    return f'"{one_line(cursor, MAX_CURSOR)}"'


def _said(turn: Turn, names: Mapping[int, str], walk: Sequence[Turn]) -> str:
    listed = ", ".join(names[key] for key in turn.keys)
    if turn.kind == BEGIN:
        return f"{len(turn.present)} items are in the list, at most {turn.size} on a page."
    if turn.kind == PAGE:
        brought = f"The page brought {listed}." if listed else "The page brought nothing."
        end = " It has no nextCursor: this is the end of the list." if turn.next is None else ""
        return brought + end
    if turn.kind == REFUSED:
        told = "The server refused the cursor, as it SHOULD."
        if turn.made_up:
            told += " Clients MUST treat cursors as opaque, and this one was made up."
        return told + (" The one that the last page gave is still good." if _next_cursor(walk) else "")
    if turn.kind == ADDED:
        return f"{listed} was added to the list. The client does not know."
    if turn.kind == REMOVED:
        return f"{listed} was removed from the list. The client does not know."
    return f"A page has at most {turn.size} items now. A client must not assume that pages have one size."


_LABELS: Final[Mapping[str, str]] = {
    "missed": "Missed",
    "twice": "Came twice",
    "again": "Will come again",
    "unseen": "Added since, and not seen",
}


def _verdict(outcomes: Mapping[int, Outcome], names: Mapping[int, str], ended: bool) -> str:
    of = {
        state: [names[key] for key, one in outcomes.items() if one.state == state]
        for state in ("missed", "twice", "again", "unseen")
    }
    told = [f"{label}: {', '.join(of[state])}." for state, label in _LABELS.items() if of[state]]
    if not told and ended:
        return "Everything that is in the list came, and came once."
    return " ".join(told)


_SIGNS: Final[Mapping[str, str]] = {
    "here": "·",
    "absent": " ",
    "shown": "●",
    "again": "◉",
    "added": "+",
    "removed": "×",
}


def explorer_text(data: Mapping[str, Any]) -> str:
    """The picture as text."""
    width = max(len(name) for name in data["items"]) + 1
    heads = [row["head"] for row in data["rows"]]
    left = max(len(head) for head in (*heads, "By now"))
    lines = [f"{data['title']}. In the cursor: {dict(data['schemes'])[data['scheme']]}."]
    lines.append(" " * left + "".join(name.rjust(width) for name in data["items"]))
    for row in data["rows"]:
        marks = "".join(_SIGNS[state].rjust(width) for state, _ in row["cells"])
        said = "; ".join(f"{name}: {text}" for name, text in row["cursor"])
        lines.append(f"{row['head'].ljust(left)}{marks}  {said}".rstrip())
    lines.append("By now".ljust(left) + "".join(sign.rjust(width) for _, sign, _ in data["outcomes"]))
    return "\n".join([*lines, data["status"]])


def explorer_html(data: Mapping[str, Any]) -> str:
    """The picture as a table that runs nothing."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in ("", *data["items"], "Cursor"))
    rows = "".join(
        f'<tr><th scope="row">{html.escape(row["head"])}</th>'
        + "".join(f"<td>{html.escape(_SIGNS[state])}</td>" for state, _ in row["cells"])
        + f"<td>{html.escape('; '.join(f'{name}: {text}' for name, text in row['cursor']))}</td></tr>"
        for row in data["rows"]
    )
    last = "".join(f"<td>{html.escape(text)}</td>" for _, _, text in data["outcomes"])
    return (
        f"<table><caption>{html.escape(data['title'])}. ●: came with the page, ◉: came again, +: added, "
        f"×: removed.</caption><thead><tr>{head}</tr></thead><tbody>{rows}"
        f'<tr><th scope="row">By now</th>{last}<td></td></tr></tbody></table>'
        f"<p>{html.escape(data['status'])}</p>"
    )
