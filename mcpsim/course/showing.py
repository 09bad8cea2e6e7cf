"""Text for the lessons: one message in full, two runs beside each other, the state machine as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from mcpsim.eras.legacy import Arrival, Phase, next_step
from mcpsim.errors import MalformedMessage
from mcpsim.messages import (
    Batch,
    ErrorResponse,
    Notification,
    Request,
    RequestId,
    Response,
    describe,
    read_json,
)
from mcpsim.recording import Frame, Recording
from mcpsim.recording.run import Run, recording_of
from mcpsim.transports.faults import RESULT_OF

INDENT: Final = 2
GAP: Final = "   "


def show(run: Run | Recording, message: str, *, nth: int = 1) -> None:
    """Print one message of a run in full: who sent it and when, the HTTP head where it has one, and the body
    as indented JSON.

    Args:
        run: a run, or its recording.
        message: a method, such as "tools/call"; or "result of tools/call" for what came back on it, be it a
            result or an error.
        nth: which one of them, from 1.

    Raises:
        TypeError: it is neither.
        LookupError: the run has no such message; the text says which it has.
    """
    recording = recording_of(run)
    named = list(_named(recording))
    found = [frame for name, frame in named if name == message]
    if not 1 <= nth <= len(found):
        known = ", ".join(dict.fromkeys(name for name, _ in named)) or "none at all"
        raise LookupError(f"There is no message {nth} of the name {message!r}. The messages are: {known}.")
    print("\n".join(_lines(found[nth - 1])))


def side_by_side(**runs: Run | Recording) -> str:
    """The messages of two runs in two columns, one line a message; what both have stands on one line.

    Ids are shown, but two messages that differ in their ids alone count as the same.

    Args:
        runs: two runs or recordings, by the heading of their column.

    Raises:
        TypeError: one of them is neither.
        ValueError: there are not exactly two.
    """
    if len(runs) != 2:
        raise ValueError(f"side_by_side takes two runs, not {len(runs)}.")
    columns = [list(_named(recording_of(run))) for run in runs.values()]
    texts = [[_arrow(frame) for _, frame in column] for column in columns]
    width = max(len(text) for text in (*texts[0], *_headings(runs, columns)))
    rows = [(*_headings(runs, columns),), *_aligned(columns, texts)]
    return "\n".join(f"{left:<{width}}{GAP}{right}".rstrip() for left, right in rows)


def phase_table() -> str:
    """The state machine of a legacy session, as our servers have it: for each phase and each kind of message
    what the server does, and the phase that follows where it is another one.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle
    """
    rows: list[str] = []
    for phase in Phase:
        if phase is Phase.CLOSED:
            continue
        rows.append(str(phase))
        for arrival in Arrival:
            action, after = next_step(phase, arrival)
            change = "" if after is phase else f"→ {after}"
            rows.append(f"    {arrival:<26}{action:<30}{change}".rstrip())
    return "\n".join(rows)


def _named(recording: Recording) -> Iterator[tuple[str, Frame]]:
    """The frames that carry a message, each with its name."""
    methods: dict[tuple[int, str, RequestId], str] = {}
    for frame in recording.frames:
        message = frame.parsed
        if isinstance(message, Request | Notification):
            if isinstance(message, Request):
                methods[frame.connection, frame.sender, message.id] = message.method
            yield message.method, frame
        elif isinstance(message, Response | ErrorResponse):
            asked = (
                "" if message.id is None else methods.get((frame.connection, frame.receiver, message.id), "")
            )
            yield RESULT_OF + (asked or "something unknown"), frame
        elif isinstance(message, Batch):
            yield "a batch", frame
        elif isinstance(message, MalformedMessage):
            yield "not a message", frame


def _lines(frame: Frame) -> Iterator[str]:
    yield f"{frame.sender} → {frame.receiver}, {frame.sent_us / 1000:g} ms"
    head = frame.head
    if head is not None:
        yield f"HTTP {head['status']}" if "status" in head else f"{head.get('method')} {head.get('path')}"
        yield from (f"{name}: {value}" for name, value in head.get("headers", ()))
        yield ""
    try:
        yield json.dumps(read_json(frame.body), indent=INDENT, ensure_ascii=False)
    except MalformedMessage:
        yield frame.body.decode("utf-8", "backslashreplace")


def _arrow(frame: Frame) -> str:
    message = frame.parsed
    arrow = "→" if frame.receiver == "server" else "←"
    if isinstance(message, Request | Notification | Response | ErrorResponse):
        return f"{arrow} {describe(message)}"
    return f"{arrow} a batch" if isinstance(message, Batch) else f"{arrow} not a message"


def _headings(runs: dict[str, Run | Recording], columns: list[list[tuple[str, Frame]]]) -> tuple[str, str]:
    left, right = (f"{name}: {len(column)} messages" for name, column in zip(runs, columns, strict=True))
    return left, right


def _aligned(columns: list[list[tuple[str, Frame]]], texts: list[list[str]]) -> Iterator[tuple[str, str]]:
    left, right = ([name for name, _ in column] for column in columns)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for kind, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(texts[0][left_from:left_to], texts[1][right_from:right_to], strict=True)
        else:
            yield from ((text, "") for text in texts[0][left_from:left_to])
            yield from (("", text) for text in texts[1][right_from:right_to])
