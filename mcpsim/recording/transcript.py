"""A run as text: one line a message, the same text on every machine."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from mcpsim.errors import MalformedMessage
from mcpsim.messages import Batch, ErrorResponse, Notification, Request, Response, describe
from mcpsim.recording import events
from mcpsim.recording.events import Event, Head
from mcpsim.recording.frames import Frame
from mcpsim.transports.http import LAST_EVENT_ID_HEADER, Headers, SseEvent, SseReader

if TYPE_CHECKING:
    from mcpsim.recording.recording import Recording

ELLIPSIS: Final = "…"
# What is left of a message in a line that is cut, before what became of it is cut too.
SHORTEST: Final = 30
# What would break a line, or turn its letters around. Not str.isprintable(): that depends on the version of
# Python.
_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def transcript(recording: Recording, *, width: int) -> str:
    """The text form of a recording.

    Columns: when the message left (milliseconds), from whom to whom, what it is. What became of it, where it
    did not just arrive, stands at the end of its line. Notes and closed channels have lines of their own.
    """
    frames = {frame.index: frame for frame in recording.frames}
    rows = [
        row
        for index, event in enumerate(recording.events)
        if (row := _row(event, frames.get(index))) is not None
    ]
    lanes = max((len(row[1]) for row in rows), default=0)
    times = max((len(row[0]) for row in rows), default=0)
    return "\n".join(
        _line(f"{at:>{times}} ms  {lane:<{lanes}}  ", what, fate, width) for at, lane, what, fate in rows
    )


def _line(start: str, what: str, fate: str, width: int) -> str:
    start, what = safe(start), safe(what)
    end = f" {safe(fate)}" if fate else ""
    room = max(width - len(start) - len(end), SHORTEST)
    if len(what) > room:
        what = what[: room - 1] + ELLIPSIS
    line = (start + what + end).rstrip()
    return line if len(line) <= width else line[: width - 1] + ELLIPSIS


def safe(text: str) -> str:
    """A text on one line, whose letters run one way."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _row(event: Event, frame: Frame | None) -> tuple[str, str, str, str] | None:
    at = events.milliseconds(event.at_us)
    if frame is not None:
        return at, f"{frame.sender} → {frame.receiver}", frame_label(frame), fate_label(frame)
    aside = aside_label(event)
    return None if aside is None else (at, event.party, aside, "")


def aside_label(event: Event) -> str | None:
    """What a note says, or what was closed; None for any other event."""
    detail: dict[str, Any] = event.detail or {}
    if event.kind == events.NOTE:
        return f"note: {detail.get('text', '')}"
    if event.kind == events.CLOSED:
        how = detail.get("how", "")
        if how == "cut":
            return "the connection is cut"
        what = "the response stream" if detail.get("what") == "exchange" else detail.get("what", "")
        return f"closes {what} ({how})"
    return None


def frame_label(frame: Frame) -> str:
    """What a frame is: the start line of its head, and its body."""
    parts: list[str] = []
    if frame.head is not None:
        parts.append(head_label(frame.head))
    if frame.channel:
        parts.append(f"[{frame.channel}] {frame.body.decode('utf-8', 'backslashreplace')}")
    else:
        parts.append(body_label(frame))
    return " ".join(part for part in parts if part)


def fate_label(frame: Frame) -> str:
    """What became of a frame, where it did not just arrive; otherwise ""."""
    parts: list[str] = []
    if frame.copy_of:
        parts.append(f"[copy of message {frame.copy_of}]")
    if frame.fate == "dropped":
        parts.append(f"✗ lost: {frame.why}")
    elif frame.fate == "in flight":
        parts.append("⋯ on its way")
    elif frame.arrived_data != frame.data:
        parts.append("✎ changed on the way")
    return " ".join(parts)


def head_label(head: Head) -> str:
    """The start line of an HTTP head in short: `POST`, or `HTTP 202`; of a GET also after which event."""
    if "status" in head:
        return f"HTTP {head['status']}"
    method = head.get("method", "HTTP")
    last = Headers((name, value) for name, value in head.get("headers", ())).get(LAST_EVENT_ID_HEADER)
    return method if last is None else f"{method} after event {last}"


def body_label(frame: Frame) -> str:
    """What the body is, and the part of it that matters."""
    message = frame.parsed
    if message is None:
        return _stream_label(frame)
    if isinstance(message, MalformedMessage):
        return f"not a message ({message.message}) {_quoted(frame.body)}"
    if isinstance(message, Batch):
        return f"a batch of {len(message.members)}"
    gist = gist_of(message)
    return f"{describe(message)} {gist}".rstrip()


def _stream_label(frame: Frame) -> str:
    """What an event stream carries beside messages: a comment, or an event that has an id and no data."""
    if not frame.is_http or not frame.data:
        return ""
    found = [one for one in SseReader().feed(frame.data) if isinstance(one, SseEvent)]
    if not found:
        return "(a comment)" if frame.data.startswith(b":") else ""
    id = "" if found[0].id is None else f" {found[0].id}"
    retry = "" if found[0].retry_ms is None else f", retry after {found[0].retry_ms} ms"
    return f"(event{id} without data{retry})"


def gist_of(message: Request | Notification | Response | ErrorResponse) -> str:
    """The part of a message that tells it from others of its kind, as compact JSON."""
    if isinstance(message, ErrorResponse):
        return message.message
    if isinstance(message, Response):
        return _compact({key: value for key, value in message.result.items() if key != "_meta"})
    params = {key: value for key, value in (message.params or {}).items() if key != "_meta"}
    return _compact(params) if params else ""


def _quoted(data: bytes) -> str:
    try:
        return json.dumps(data.decode("utf-8"), ensure_ascii=False)
    except UnicodeDecodeError:
        # Each byte that is no text stands as \\xff; it is not escaped once more.
        return json.dumps(data.decode("utf-8", "backslashreplace"), ensure_ascii=False).replace(
            "\\\\x", "\\x"
        )


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
