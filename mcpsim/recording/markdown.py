"""A run as Markdown, for a handout, a wiki or an issue.

What comes from peers and files stands in code, inline or fenced, with a fence longer than any that it holds
itself: so it is text and nothing else. No table: there, a vertical bar would end a cell even in code. The
title and notes are prose, in which every character that could mean something stands as an entity.

https://spec.commonmark.org/0.31.2/#code-spans
https://spec.commonmark.org/0.31.2/#fenced-code-blocks
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from mcpsim.errors import MalformedMessage
from mcpsim.messages import ErrorResponse, Notification, Request, Response, describe, read_json
from mcpsim.recording.events import NOTE, Event, Head, milliseconds
from mcpsim.recording.frames import Frame
from mcpsim.recording.transcript import ELLIPSIS, aside_label, fate_label, frame_label, safe

if TYPE_CHECKING:
    from mcpsim.recording.recording import Recording

#: How many characters of one body are written, and how many of a header.
MAX_BODY: Final = 20_000
MAX_HEADER: Final = 500
NOTHING: Final = "(nothing)"

# Letters, digits and spaces are harmless, and so are these signs inside of a line.
_MEANS_SOMETHING: Final = re.compile(r"[^\w\s.,;'\"()/?=-]|_|(?<=www)\.", re.ASCII | re.IGNORECASE)


def markdown(recording: Recording, *, width: int) -> str:
    """The document of a recording: its title, what there is to say about the run as a whole, and then each
    message and note under a heading of its own, in the order in which they were sent."""
    frames = {frame.index: frame for frame in recording.frames}
    blocks = [f"# {prose(recording.title.strip()) or 'Recording'}", _facts(recording)]
    number = 0
    for index, event in enumerate(recording.events):
        frame = frames.get(index)
        aside = aside_label(event)
        if frame is None and aside is None:
            continue
        number += 1
        blocks.append(_heading(number, event))
        blocks += _message(frame, width) if frame is not None else [_aside(event, aside or "", width)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def prose(text: str) -> str:
    """A text that Markdown shows as it is, on one line, and in which it reads nothing."""
    line = " ".join(safe(text).split())
    return _MEANS_SOMETHING.sub(lambda found: _entity(found[0]), line)


def _entity(character: str) -> str:
    # Letters of other alphabets mean nothing.
    return character if character.isalnum() else f"&#{ord(character)};"


def code(text: str, width: int | None = None) -> str:
    """A text as code in a line.

    Args:
        width: cut it after this many characters.
    """
    line = safe(text).strip() or NOTHING
    if width is not None and len(line) > width:
        line = line[: width - 1] + ELLIPSIS
    fence = "`" * (_longest_run(line) + 1)
    # A space on both sides is taken away when it is shown; it keeps a backtick at the edge from the fence.
    space = " " if "`" in (line[0], line[-1]) else ""
    return f"{fence}{space}{line}{space}{fence}"


def fenced(text: str, language: str) -> str:
    """A text as a block of code: its lines as they are, with what cannot be seen made visible."""
    shown = text if len(text) <= MAX_BODY else f"{text[:MAX_BODY]}{ELLIPSIS}"
    lines = "\n".join(safe(line) for line in shown.split("\n"))
    fence = "`" * max(3, _longest_run(lines) + 1)
    left_out = len(text) - MAX_BODY
    more = f"\n\n{left_out:,} more characters are not shown here." if left_out > 0 else ""
    return f"{fence}{language}\n{lines}\n{fence}{more}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _facts(recording: Recording) -> str:
    header = recording.header
    lanes = ", ".join(code(name, 60) for name in recording.parties)
    rows: list[tuple[str, Any]] = [
        ("Between", lanes),
        ("Transport", _fact(header.get("transport"))),
        ("Era", _fact(header.get("era"))),
        ("Seed", _fact(header.get("seed"))),
        ("Faults", _fact(header.get("faults") or None)),
    ]
    return "\n".join(f"- {name}: {value}" for name, value in rows if value)


def _fact(value: Any) -> str:
    if value is None or value == "":
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return code(text, 300)


def _heading(number: int, event: Event) -> str:
    route = code(event.party, 60) + (f" → {code(event.peer, 60)}" if event.peer else "")
    return f"## {number}. {milliseconds(event.at_us)} ms, {route}"


def _aside(event: Event, aside: str, width: int) -> str:
    if event.kind != NOTE:
        return code(aside, width)
    return f"Note: {prose(str((event.detail or {}).get('text', '')))}"


def _message(frame: Frame, width: int) -> Iterator[str]:
    fate = fate_label(frame)
    yield code(_label(frame), width) + (f" {code(fate, width)}" if fate else "")
    if frame.head is not None:
        yield fenced("\n".join(_head_lines(frame.head)), "http")
    # What another channel says stands in the line already.
    if frame.body.strip() and not frame.channel:
        yield _body(frame.body)


def _label(frame: Frame) -> str:
    message = frame.parsed
    if frame.channel or not isinstance(message, Request | Notification | Response | ErrorResponse):
        return frame_label(frame) or "an empty line"
    described = describe(message)
    head = "" if frame.head is None else _start_line(frame.head)
    return f"{described} (in {head})" if head else described


def _start_line(head: Head) -> str:
    return f"HTTP {head['status']}" if "status" in head else f"HTTP {head.get('method', '')}".strip()


def _head_lines(head: Head) -> Iterator[str]:
    yield f"HTTP {head['status']}" if "status" in head else f"{head.get('method', '')} {head.get('path', '')}"
    for name, value in head.get("headers", ()):
        line = safe(f"{name}: {value}")
        yield line if len(line) <= MAX_HEADER else line[: MAX_HEADER - 1] + ELLIPSIS


def _body(body: bytes) -> str:
    try:
        # What will be cut is no JSON any more, and indenting it takes long.
        value = read_json(body) if len(body) <= MAX_BODY else None
    except MalformedMessage:
        value = None
    if value is None:
        return fenced(body.decode("utf-8", "backslashreplace").rstrip("\r\n"), "text")
    return fenced(json.dumps(value, ensure_ascii=False, indent=2), "json")
