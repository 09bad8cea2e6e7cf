"""What a bench shows, as plain data: where its knobs stand, what each run came to, and what is different.

Pure functions: the widget is a thin shell over them. The knobs themselves are described in
`mcpsim.simulation.knobs`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from mcpsim.audit.rule import MUST, NOTE, SHOULD
from mcpsim.errors import MalformedMessage
from mcpsim.messages import Batch
from mcpsim.recording import Frame, Recording, events
from mcpsim.recording.run import Run
from mcpsim.simulation.knobs import Knob, Settings, Values
from mcpsim.transports.faults import Fault
from mcpsim.widgets.text import compact_text, duration, one_line

#: How many runs the table holds.
MAX_ROWS: Final = 8
MAX_OUTCOME: Final = 160
#: How long what is said of a knob may be, in characters.
MAX_TOLD: Final = 400
# Clients and gateways say it in these words.
_CACHE_HIT: Final = " is answered from the cache"
#: What stands for the first run, for which nothing was turned.
AS_TOLD: Final = "as the story has it"
_NOT_AUDITED: Final = "not audited"


@dataclass(frozen=True, slots=True)
class Row:
    """What one run came to.

    Attributes:
        number: which run of the bench it was, from 1.
        settings: where the knobs stood.
        changed: which knobs were turned since the run before, a text for each; None for the first run.
        messages: how many JSON-RPC messages were sent, copies and lost ones included.
        size: how many bytes were sent for that: bodies, framing and HTTP header lines.
        took_us: how long it took on the virtual clock, in microseconds.
        cache_hits: how often a client or a gateway answered out of its cache.
        must, should, notes: how many findings of the audit there are of each level; None where it did not
            look, because there are too many messages.
        outcome: what the story returned or raised, in few words.
        failed: whether it raised.
        idle: the faults that changed nothing, in few words.
    """

    number: int
    settings: Settings
    changed: tuple[str, ...] | None
    messages: int
    size: int
    took_us: int
    cache_hits: int
    must: int | None
    should: int | None
    notes: int | None
    outcome: str
    failed: bool
    idle: tuple[str, ...] = ()


class Cell(NamedTuple):
    """One cell of the table.

    Attributes:
        text: what is in it.
        change: how it differs from the run before, as a sign and a number, or "changed"; "" where it does
            not.
        said: the same in words, for who does not see signs.
    """

    text: str
    change: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table.

    Attributes:
        heading: what stands above it.
        value: what of a row it shows.
        text: that for people.
    """

    heading: str
    value: Callable[[Row], int | str | None]
    text: Callable[[Any], str]


def _count(value: int | None) -> str:
    return _NOT_AUDITED if value is None else f"{value:,}"


COLUMNS: Final[tuple[Column, ...]] = (
    Column("Messages", lambda row: row.messages, _count),
    Column("Bytes", lambda row: row.size, _count),
    Column("Virtual time", lambda row: row.took_us, duration),
    Column("Cache hits", lambda row: row.cache_hits, _count),
    Column("Broken (MUST)", lambda row: row.must, _count),
    Column("Advice (SHOULD)", lambda row: row.should, _count),
    Column("Notes", lambda row: row.notes, _count),
    Column("Outcome", lambda row: row.outcome, str),
)


def row_of(
    run: Run,
    knobs: Sequence[Knob],
    settings: Settings,
    *,
    levels: Sequence[str] | None,
    before: Row | None = None,
) -> Row:
    """What a run came to.

    Args:
        run: the run.
        knobs: what could be turned.
        settings: where the knobs stood.
        levels: the level of each finding of the audit, or None where it did not look.
        before: the run before it, or None.
    """
    recording = run.recording
    counts = [None if levels is None else levels.count(level) for level in (MUST, SHOULD, NOTE)]
    return Row(
        number=1 if before is None else before.number + 1,
        settings=dict(settings),
        changed=None if before is None else turned(knobs, before.settings, settings),
        messages=sum(_messages_in(frame) for frame in recording.frames),
        size=sum(_size_of(frame) for frame in recording.frames),
        took_us=recording.events[-1].at_us if recording.events else 0,
        cache_hits=_cache_hits(recording),
        must=counts[0],
        should=counts[1],
        notes=counts[2],
        outcome=_outcome(run),
        failed=run.error is not None,
        idle=tuple(_fault_text(fault) for fault in run.unused_faults if isinstance(fault, Fault)),
    )


def _messages_in(frame: Frame) -> int:
    message = frame.parsed
    if message is None or isinstance(message, MalformedMessage):
        return 0
    return len(message.members) if isinstance(message, Batch) else 1


def _size_of(frame: Frame) -> int:
    headers: Sequence[Sequence[str]] = (frame.head or {}).get("headers", ())
    # Colon, space and the end of the line.
    return len(frame.data) + sum(len(name.encode()) + len(value.encode()) + 4 for name, value in headers)


def _cache_hits(recording: Recording) -> int:
    notes = (event.detail or {} for event in recording.events if event.kind == events.NOTE)
    return sum(_CACHE_HIT in str(note.get("text", "")) for note in notes)


def _outcome(run: Run) -> str:
    if run.error is not None:
        return error_text(run.error)
    if run.value is None:
        return "finished"
    text = _listed(run.value) or compact_text(run.value)
    # Whatever is no JSON: its text may hold an address.
    return one_line(text, MAX_OUTCOME) if not text.startswith("(a value of type") else "finished"


def _listed(value: object) -> str:
    """What a list of texts holds, without the marks around them; "" for anything else."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    if not all(isinstance(one, str) for one in items):
        return ""
    return "; ".join(compact_text(one).removeprefix('"').removesuffix('"') for one in items)


def error_text(error: BaseException) -> str:
    """An error on one line: its kind and its text."""
    return one_line(f"{type(error).__name__}: {error}", 2 * MAX_OUTCOME)


def _fault_text(fault: Fault) -> str:
    told = fault.describe()
    nth = f", number {told['nth']}" if told.get("nth", 1) > 1 else ""
    return one_line(f"{told['fault']} {told.get('message', '')}{nth}".strip(), 80)


def turned(knobs: Sequence[Knob], before: Settings, after: Settings) -> tuple[str, ...]:
    """What of the settings is different, a text for each knob that matters: "Latency: 20 ms → 200 ms"."""
    found: list[str] = []
    for knob in knobs:
        was, now = before.get(knob.name), after.get(knob.name)
        mattered = knob.matters(before)
        if not knob.matters(after) or (mattered and was == now):
            continue
        old = f"{knob.text(was, before)} → " if mattered else ""
        found.append(_told(f"{knob.label}: {old}{knob.text(now, after)}"))
    return tuple(found)


def cells_of(row: Row, before: Row | None) -> tuple[Cell, ...]:
    """The cells of a row, each with what differs from the run before it."""
    return tuple(_cell(column, row, before) for column in COLUMNS)


def _cell(column: Column, row: Row, before: Row | None) -> Cell:
    value = column.value(row)
    text = column.text(value)
    if before is None or column.value(before) == value:
        return Cell(text)
    old = column.value(before)
    if not isinstance(value, int) or not isinstance(old, int):
        return Cell(text, "changed", f"before: {column.text(old)}")
    size = column.text(abs(value - old))
    more = value > old
    return Cell(
        text, f"{'▲' if more else '▼'} {size}", f"{size} {'more' if more else 'less'} than in the run before"
    )


def sentence(row: Row, before: Row | None) -> str:
    """A run in a few sentences: what it came to, and what its faults did not do."""
    messages = "1 message" if row.messages == 1 else f"{row.messages:,} messages"
    ended = "It ended with an error." if row.failed else "It ended well."
    parts = [f"Run {row.number}: {messages}, {row.size:,} bytes, {duration(row.took_us)}. {ended}"]
    if before is not None and not any(cell.change for cell in cells_of(row, before)):
        parts.append("All that is in the table is as in the run before.")
    parts.extend(f"Without effect, because its message never came: {fault}." for fault in row.idle)
    return " ".join(parts)


def rows_data(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The table for the browser: at most `MAX_ROWS` runs.

    Args:
        rows: the runs, the oldest first.

    Returns:
        A dict for each run, the newest first: `number`; `changed` (a text for each knob that was turned;
        empty for the first run of a bench); `cells` (for each column the `text`, the `change` and what is
        `said` of it); `failed`; `settings`.
    """
    pairs = list(zip((None, *rows), rows, strict=False))[-MAX_ROWS:]
    return [
        {
            "number": row.number,
            "changed": [AS_TOLD] if row.changed is None else list(row.changed),
            "cells": [cell._asdict() for cell in cells_of(row, before)],
            "failed": row.failed,
            "settings": dict(row.settings),
        }
        for before, row in reversed(pairs)
    ]


def knobs_data(knobs: Sequence[Knob], settings: Settings) -> list[dict[str, Any]]:
    """The knobs for the browser, where they stand, and what there is to choose.

    Returns:
        A dict for each knob: `name`, `label`, `kind`, `low`, `high`, `step`, `unit`, `none`, `group`, `hint`;
        `value`; `choices` (a list of [value, text]); and whether it `matters` beside the others.
    """
    return [_knob_data(knob, settings) for knob in knobs]


def _knob_data(knob: Knob, settings: Settings) -> dict[str, Any]:
    matters = knob.matters(settings)
    value = settings[knob.name]
    # What there is to choose may take a run to find out: only where it matters.
    choices: Values = knob.choices(settings) if matters or not callable(knob.values) else {}
    return {
        "name": knob.name,
        "label": _told(knob.label),
        "kind": knob.kind,
        "low": knob.low,
        "high": knob.high,
        "step": knob.step,
        "unit": _told(knob.unit),
        "none": _told(knob.none),
        "group": _told(knob.group),
        "hint": _told(knob.hint),
        "value": value,
        "choices": [[value, _told(text)] for value, text in choices.items()],
        "matters": matters,
    }


def _told(text: str) -> str:
    # What there is to choose can be what a server called its tools.
    return one_line(text, MAX_TOLD)


#: What makes two steps the same. Times may differ, and so may sealed state, which holds one.
_SAME: Final = ("kind", "label", "gist", "from", "to", "fate", "changed", "copy_of")
_SEALED: Final = re.compile(r'"requestState": "[^"]*"')


def place(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], cursor: int) -> int:
    """Where a player stands when another run takes the place of the one that it shows.

    Where both runs have the same steps up to the cursor, it stays; otherwise it goes to the first step that
    is different, which is what was changed. The same message at another time is the same step.

    Args:
        before, after: the `steps` of the data of both players.
        cursor: where it stood, from 0 (before the first step).
    """
    alike = 0
    for old, new in zip(before, after, strict=False):
        if alike == cursor or _step(old) != _step(new):
            break
        alike += 1
    return cursor if alike == cursor else min(alike + 1, len(after))


def _step(step: Mapping[str, Any]) -> tuple[Any, ...]:
    body = _SEALED.sub("", step.get("json") or "")
    return (body, *(step.get(name) for name in _SAME))


def runs_text(rows: Sequence[Row]) -> str:
    """The table as text, the newest run first."""
    return "\n".join(line for row in rows_data(rows) for line in _text_row(row))


def _text_row(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"Run {row['number']} ({'; '.join(row['changed']) or 'nothing turned'})"
    cells = zip(COLUMNS, row["cells"], strict=True)
    yield "    " + ", ".join(f"{column.heading} {_cell_text(cell)}" for column, cell in cells)


def _cell_text(cell: Mapping[str, str]) -> str:
    return f"{cell['text']} ({cell['change']})" if cell["change"] else cell["text"]


def runs_html(rows: Sequence[Row]) -> str:
    """The table as HTML, the newest run first; for where nothing can be turned."""
    heads = ("Run", "What was turned", *(column.heading for column in COLUMNS))
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in heads)
    body = "".join(_html_row(row) for row in rows_data(rows))
    return (
        f"<table><caption>The last runs of this bench</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _html_row(row: Mapping[str, Any]) -> str:
    cells = ("; ".join(row["changed"]), *(_cell_text(cell) for cell in row["cells"]))
    texts = "".join(f"<td>{html.escape(text)}</td>" for text in cells)
    return f'<tr><th scope="row">{row["number"]}</th>{texts}</tr>'


def settings_text(knobs: Sequence[Knob], settings: Settings) -> str:
    """Where the knobs stand that matter, on one line."""
    return "; ".join(
        _told(f"{knob.label}: {knob.text(settings[knob.name], settings)}")
        for knob in knobs
        if knob.matters(settings)
    )
