"""A run as text: one line a message, the same text on every machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from mcpsim.errors import MalformedMessage
from mcpsim.messages import Batch, ErrorResponse, Notification, Request, Response, describe
from mcpsim.recording import events
from mcpsim.recording.events import Event, Head
from mcpsim.recording.frames import Frame

if TYPE_CHECKING:
    from mcpsim.recording.recording import Recording

ELLIPSIS: Final = "…"


def transcript(recording: Recording, *, width: int) -> str:
    """The text form of a recording.

    Columns: when the message left (milliseconds), from whom to whom, what it is. A message that was
    lost says so at the end of its line. Notes and closed channels have lines of their own.
    """
    frames = {frame.index: frame for frame in recording.frames}
    rows = [
        row
        for index, event in enumerate(recording.events)
        if (row := _row(event, frames.get(index))) is not None
    ]
    lanes = max((len(row[1]) for row in rows), default=0)
    times = max((len(row[0]) for row in rows), default=0)
    lines = [f"{row[0]:>{times}} ms  {row[1]:<{lanes}}  {row[2]}".rstrip() for row in rows]
    return "\n".join(line if len(line) <= width else line[: width - 1] + ELLIPSIS for line in lines)


def _row(event: Event, frame: Frame | None) -> tuple[str, str, str] | None:
    at = f"{event.at_us / 1000:g}" if event.at_us % 1000 == 0 else f"{event.at_us / 1000:.3f}"
    detail: dict[str, Any] = event.detail or {}
    if frame is not None:
        return at, f"{frame.sender} → {frame.receiver}", _what(frame)
    if event.kind == events.NOTE:
        return at, event.party, f"note: {detail.get('text', '')}"
    if event.kind == events.CLOSED:
        what = "the response stream" if detail.get("what") == "exchange" else detail.get("what", "")
        return at, event.party, f"closes {what} ({detail.get('how', '')})"
    return None


def _what(frame: Frame) -> str:
    parts: list[str] = []
    if frame.head is not None:
        parts.append(head_label(frame.head))
    if frame.channel:
        parts.append(f"[{frame.channel}] {frame.body.decode('utf-8', 'replace')}")
    else:
        parts.append(body_label(frame))
    if frame.copy_of:
        parts.append(f"[copy of message {frame.copy_of}]")
    if frame.fate == "dropped":
        parts.append(f"✗ lost: {frame.why}")
    elif frame.arrived_data != frame.data:
        parts.append("✎ changed on the way")
    return " ".join(part for part in parts if part)


def head_label(head: Head) -> str:
    """The start line of an HTTP head in short: `POST`, or `HTTP 202`."""
    return f"HTTP {head['status']}" if "status" in head else head.get("method", "HTTP")


def body_label(frame: Frame) -> str:
    """What the body is, and the part of it that matters."""
    message = frame.parsed
    if message is None:
        return ""
    if isinstance(message, MalformedMessage):
        text = frame.body.decode("utf-8", "backslashreplace")
        return f"not a message ({message.message}) {json.dumps(text, ensure_ascii=False)}"
    if isinstance(message, Batch):
        return f"a batch of {len(message.members)}"
    gist = gist_of(message)
    return f"{describe(message)} {gist}".rstrip()


def gist_of(message: Request | Notification | Response | ErrorResponse) -> str:
    """The part of a message that tells it from others of its kind, as compact JSON."""
    if isinstance(message, ErrorResponse):
        return message.message
    if isinstance(message, Response):
        return _compact({key: value for key, value in message.result.items() if key != "_meta"})
    params = {key: value for key, value in (message.params or {}).items() if key != "_meta"}
    return _compact(params) if params else ""


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
