"""The bytes of a frame as text, framing and all."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

from mcpsim.recording import Frame, Head
from mcpsim.transports.http import Headers, HttpHead, HttpRequest, http_text
from mcpsim.widgets.reading import is_event_stream
from mcpsim.widgets.text import ELLIPSIS, NEWLINE_MARK, decoded, visible

MAX_RAW: Final = 6_000


class Raw(NamedTuple):
    """One block of raw text with its title."""

    title: str
    text: str


def raw_of(frame: Frame) -> list[Raw]:
    """What was on the wire: a line with its newline, an HTTP request or response with its head, an event."""
    found = [Raw(_title(frame, len(frame.data)), _text(frame, frame.data))]
    if frame.arrived_data != frame.data:
        title = f"As it arrived, after the fault: {_bytes(len(frame.arrived_data))}"
        found.append(Raw(title, _text(frame, frame.arrived_data)))
    return found


def _title(frame: Frame, size: int) -> str:
    if frame.channel:
        return f"A line on standard error: {_bytes(size)}"
    if not frame.is_http:
        return f"A line on stdio, {_bytes(size)} with the newline"
    head = frame.head
    if head is None:
        return f"A piece of the response stream: {_bytes(size)}"
    kind = "response" if "status" in head else "request"
    return f"An HTTP {kind}, {_bytes(size)} in the body"


def _bytes(size: int) -> str:
    return f"{size:,} byte{'' if size == 1 else 's'}"


def _text(frame: Frame, data: bytes) -> str:
    body = _marked(data)
    if frame.head is None or not frame.is_http:
        return body
    return _head_text(frame.head, data) + body


def _head_text(head: Head, body: bytes) -> str:
    headers = Headers(_pairs(head))
    stream = "text/event-stream" in headers.get("content-type", "").lower()  # type: ignore[union-attr]
    # A stream has no length of its own, so its body is kept from http_text.
    content = b"" if stream else body
    if "status" in head:
        text = http_text(HttpHead(head["status"], headers), content)
    elif "method" in head:
        path = head.get("path", "/mcp")
        text = http_text(HttpRequest(head["method"], path, headers, content))
    else:
        text = http_text(HttpHead(0, headers), content).replace(
            b"HTTP/1.1 0", b"(the trace has no status here)", 1
        )
    return visible(decoded(text.removesuffix(content) if content else text).replace("\r\n", "\n"))


def _pairs(head: Head) -> list[tuple[str, str]]:
    lines: list[Any] = cast("list[Any]", head.get("headers", []))
    return [(str(line[0]), str(line[1])) for line in lines]


def _marked(data: bytes) -> str:
    text = decoded(data[:MAX_RAW])
    if len(data) > MAX_RAW:
        # The cut may go through a character; what is left of it is no error of the sender.
        text = data[:MAX_RAW].decode("utf-8", "ignore") if _readable(data) else text
        text = f"{text}{ELLIPSIS} ({len(data):,} bytes)"
    lines = visible(text.replace("\r\n", "\n")).split("\n")
    return f"{NEWLINE_MARK}\n".join(lines).removesuffix("\n")


def _readable(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def event_of(frame: Frame) -> dict[str, str]:
    """The fields of the event that a stream's frame carries, but for its data: its id, and when to retry."""
    if not frame.is_http or "method" in (frame.head or {}):
        return {}
    if frame.head is not None and not is_event_stream(frame.head):
        return {}
    found: dict[str, str] = {}
    for line in frame.data.splitlines():
        name, colon, value = line.partition(b":")
        if colon and name in (b"id", b"retry"):
            found[name.decode()] = decoded(value.strip())
    return found
