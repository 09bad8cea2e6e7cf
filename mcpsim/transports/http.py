"""The framing of Streamable HTTP: headers, requests as text, server-sent events. Bytes in, bytes out.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from mcpsim.errors import FramingError
from mcpsim.messages import DEFAULT_LIMITS, PROTOCOL_VERSION, Notification, Request, meta_of
from mcpsim.messages.envelopes import show_text

PROTOCOL_VERSION_HEADER: Final = "MCP-Protocol-Version"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
SESSION_ID_HEADER: Final = "MCP-Session-Id"
LAST_EVENT_ID_HEADER: Final = "Last-Event-ID"

JSON_TYPE: Final = "application/json"
EVENT_STREAM_TYPE: Final = "text/event-stream"

REASONS: Final[dict[int, str]] = {
    200: "OK",
    202: "Accepted",
    204: "No Content",
    301: "Moved Permanently",
    302: "Found",
    307: "Temporary Redirect",
    308: "Permanent Redirect",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    408: "Request Timeout",
    409: "Conflict",
    410: "Gone",
    411: "Length Required",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


class Headers:
    """The header lines of one request or response: in order, as they were spelled, never changed.

    Names are compared without regard to case, values with regard to it
    (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#case-sensitivity).
    Two `Headers` are equal when they have the same lines in the same order. Nothing is checked here: what
    a peer sent has to be shown as it is.

    Args:
        lines: a mapping of names to values, or pairs of name and value; a name may come more than once.
    """

    __slots__ = ("_first", "_lines")

    def __init__(self, lines: Headers | Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        if isinstance(lines, (Headers, Mapping)):
            pairs: Iterable[tuple[str, str]] = cast("Headers | Mapping[str, str]", lines).items()
        else:
            pairs = lines
        self._lines: tuple[tuple[str, str], ...] = tuple((name, value) for name, value in pairs)
        # Backwards, so that the first line of a name is the one that stays.
        self._first: dict[str, str] = {name.lower(): value for name, value in reversed(self._lines)}

    def get(self, name: str, default: str | None = None) -> str | None:
        """Give the value of the first line of that name, or `default`."""
        return self._first.get(name.lower(), default)

    def get_all(self, name: str) -> tuple[str, ...]:
        """Give the values of all lines of that name, in order."""
        wanted = name.lower()
        return tuple(value for other, value in self._lines if other.lower() == wanted)

    def items(self) -> tuple[tuple[str, str], ...]:
        """Give every line as (name as spelled, value), in order."""
        return self._lines

    def with_(self, name: str, value: str) -> Headers:
        """Make a copy where `name` has this one value, in the place of its first line, or at the end."""
        if name not in self:
            return Headers((*self._lines, (name, value)))
        wanted = name.lower()
        lines: list[tuple[str, str]] = []
        placed = False
        for line in self._lines:
            if line[0].lower() != wanted:
                lines.append(line)
            elif not placed:
                lines.append((name, value))
                placed = True
        return Headers(lines)

    def without(self, name: str) -> Headers:
        """Make a copy without any line of that name."""
        wanted = name.lower()
        return Headers(line for line in self._lines if line[0].lower() != wanted)

    def to_dict(self) -> dict[str, str]:
        """Give the headers as a dict, names as first spelled.

        Several lines of one name become one value with commas between, which HTTP says is the same
        (RFC 9110, section 5.3).
        """
        spelled: dict[str, str] = {}
        values: dict[str, list[str]] = {}
        for name, value in self._lines:
            values.setdefault(spelled.setdefault(name.lower(), name), []).append(value)
        return {name: ", ".join(several) for name, several in values.items()}

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._first

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self._folded() == other._folded()

    def __hash__(self) -> int:
        return hash(self._folded())

    def __repr__(self) -> str:
        return f"Headers({list(self._lines)!r})"

    def _folded(self) -> tuple[tuple[str, str], ...]:
        return tuple((name.lower(), value) for name, value in self._lines)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request: method, path with query, headers, and the body's bytes (may be empty)."""

    method: str
    path: str
    headers: Headers
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class HttpHead:
    """The head of an HTTP response: what comes before its body or its stream of events."""

    status: int
    headers: Headers


def http_text(message: HttpRequest | HttpHead, body: bytes = b"") -> bytes:
    """Write a request, or a response with this body, as HTTP/1.1 text, to be looked at.

    `Content-Length` is right wherever there is a body, also if the headers say something else; a request
    brings its own body. No `Host` is made up. Characters that would break a line are shown as escapes
    such as `\\x0a`, so that a hostile value cannot pass for a header of its own.
    """
    if isinstance(message, HttpRequest):
        start = f"{message.method} {message.path} HTTP/1.1"
        body = message.body
    else:
        start = f"HTTP/1.1 {message.status} {REASONS.get(message.status, '')}".rstrip()
    headers = message.headers
    if body:
        headers = headers.with_("Content-Length", str(len(body)))
    lines = [start, *(f"{name}: {value}" for name, value in headers.items())]
    head = "".join(_CONTROL.sub(_escape, line) + "\r\n" for line in lines)
    return head.encode("utf-8", "backslashreplace") + b"\r\n" + body


_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


# --- Values: plain, or in Base64 ------------------------------------------------------------------

_LEGAL_VALUE = re.compile(r"[\t\x20-\x7e]*")
_SENTINEL_START: Final = "=?base64?"
_SENTINEL_END: Final = "?="


def encode_header_value(value: str) -> str:
    """Write any text as a header value: as it is, or as `=?base64?...?=` where it must be.

    It must be where a character is not a tab or printable ASCII, where a blank or a tab stands at
    either end, and where the text itself starts and ends like the sentinel. The specification does not
    name the empty text. An empty value is legal HTTP, but some programs on the way drop a header
    without a value, and the server would then find it missing: so we write `=?base64??=`.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding

    Raises:
        FramingError: when the text holds half of a surrogate pair, which UTF-8 cannot carry.
    """
    plain = (
        value != ""
        and _LEGAL_VALUE.fullmatch(value)
        and value == value.strip()
        and not (value.startswith(_SENTINEL_START) and value.endswith(_SENTINEL_END))
    )
    if plain:
        return value
    try:
        encoded = base64.b64encode(value.encode("utf-8")).decode("ascii")
    except UnicodeEncodeError as error:
        raise FramingError(
            f"A header value holds half of a surrogate pair at character {error.start}; UTF-8 has none."
        ) from None
    return f"{_SENTINEL_START}{encoded}{_SENTINEL_END}"


def decode_header_value(text: str) -> str:
    """Read a header value that may be in Base64: the inverse of `encode_header_value`.

    Raises:
        FramingError: when the text holds a character that no header value may hold, or when what stands
            between `=?base64?` and `?=` is not Base64, or not Base64 of UTF-8. Base64 with padding that
            is missing or bits that mean nothing is refused: one value has one spelling, so that
            programs that compare it undecoded and programs that decode it agree.
    """
    if illegal := _illegal_character(text):
        raise FramingError(f"The header value {show_text(text)} holds {illegal}.")
    inner = text[len(_SENTINEL_START) : -len(_SENTINEL_END)]
    # `=?base64?=` has the start and the end, but they overlap: it is plain text.
    if text != f"{_SENTINEL_START}{inner}{_SENTINEL_END}":
        return text
    try:
        decoded = base64.b64decode(inner, validate=True)
    except (binascii.Error, ValueError):
        decoded = None
    if decoded is None or base64.b64encode(decoded).decode("ascii") != inner:
        raise FramingError(
            f"The header value {show_text(text)} is marked as Base64, and is not valid Base64."
        )
    try:
        return decoded.decode("utf-8")
    except UnicodeDecodeError:
        raise FramingError(
            f"The header value {show_text(text)} is Base64 of bytes that are not UTF-8."
        ) from None


def _illegal_character(text: str) -> str | None:
    match = _LEGAL_VALUE.match(text)
    end = match.end() if match else 0
    return (
        None if end == len(text) else f"the character U+{ord(text[end]):04X}, which HTTP does not allow there"
    )


# --- Headers that repeat the body -----------------------------------------------------------------

# Which member of params goes into Mcp-Name, by method. Other methods have no such header.
NAME_SOURCE: Final[dict[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}


class Mirrored(NamedTuple):
    """One header that repeats a value of the body.

    Attributes:
        header: its name.
        source: where in the body the value stands, for sentences.
        value: the value there, or None where the body has no such text.
        encoded: whether the header may use the Base64 form.
    """

    header: str
    source: str
    value: str | None
    encoded: bool


def mirrored(message: Request | Notification) -> tuple[Mirrored, ...]:
    """List the headers that have to repeat values of this message, in the order in which we send them.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata
    """
    version = meta_of(message.params).get(PROTOCOL_VERSION)
    rows = (
        Mirrored(PROTOCOL_VERSION_HEADER, f"params._meta[{PROTOCOL_VERSION!r}]", _text(version), False),
        Mirrored(METHOD_HEADER, "method", message.method, False),
    )
    member = NAME_SOURCE.get(message.method)
    if member is None:
        return rows
    name = (message.params or {}).get(member)
    return (*rows, Mirrored(NAME_HEADER, f"params.{member}", _text(name), True))


def modern_headers(
    message: Request | Notification, version: str | None = None, extra: Iterable[Mirrored] = ()
) -> Headers:
    """Make the headers of the POST that carries this message under the modern protocol.

    Headers for notifications are not defined by the specification; a notification gets the same ones.

    Args:
        version: the value of `MCP-Protocol-Version`; None takes it from the `_meta` of the message, and
            leaves the header out where it is not there.
        extra: more values to repeat, such as the arguments that a tool wants as `Mcp-Param-...`.

    Raises:
        FramingError: when the method or the version holds characters that a header value cannot have:
            for these two there is no Base64 form.
    """
    lines = [("Content-Type", JSON_TYPE), ("Accept", f"{JSON_TYPE}, {EVENT_STREAM_TYPE}")]
    for row in (*mirrored(message), *extra):
        value = version if row.header == PROTOCOL_VERSION_HEADER and version is not None else row.value
        if value is None:
            continue
        if row.encoded:
            value = encode_header_value(value)
        elif not _LEGAL_VALUE.fullmatch(value) or value != value.strip() or not value:
            raise FramingError(
                f"{row.header} cannot carry the {row.source} {show_text(value)}, and has no Base64 form."
            )
        lines.append((row.header, value))
    return Headers(lines)


def header_problems(headers: Headers, message: Request, extra: Iterable[Mirrored] = ()) -> list[str]:
    """Compare the headers of a modern request with its body, as a server has to.

    An empty list means that they agree. Otherwise the server answers HTTP 400 and -32020, and each entry
    is a sentence that names the header, its value and the body's value.

    A value that the body lacks is the body's fault (-32602), and not reported here. The same header
    twice is a problem even if both say the same: one reader takes the first, another the last, a third
    joins them with a comma.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation

    Args:
        extra: more values that headers have to repeat, such as `Mcp-Param-...`.
    """
    problems = (_problem(headers, row) for row in (*mirrored(message), *extra))
    return [problem for problem in problems if problem]


def _problem(headers: Headers, row: Mirrored) -> str | None:
    header, source, expected, encoded = row
    body = f"the body {'has none' if expected is None else 'says ' + show_text(expected)} ({source})"
    text, *others = headers.get_all(header) or (None,)
    if text is None:
        # Every modern POST has a version and a method; a name only where the body has one.
        if header in _ALWAYS and expected is None:
            return f"The header {header} is missing."
        return None if expected is None else f"The header {header} is missing; {body}."
    if others:
        shown = " and ".join(show_text(value or "") for value in (text, *others[:2]))
        return (
            f"The header {header} stands there {len(others) + 1} times ({shown}); it must stand there once."
        )
    # Blanks around a value are not part of it (RFC 9110, section 5.5), if the HTTP library left them.
    text = text.strip(" \t")
    if encoded:
        try:
            value = decode_header_value(text)
        except FramingError as error:
            return f"{header}: {str(error).removesuffix('.')}; {body}."
    elif illegal := _illegal_character(text):
        return f"{header}: The header value {show_text(text)} holds {illegal}; {body}."
    else:
        value = text
    if expected is None or value == expected:
        return None
    decoded = "" if value == text else f", which is {show_text(value)} decoded"
    return f"The header {header} says {show_text(text)}{decoded}, and {body}."


_ALWAYS: Final = (PROTOCOL_VERSION_HEADER, METHOD_HEADER)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


# --- Accept and Origin ----------------------------------------------------------------------------

_WEIGHT = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


def accepts(headers: Headers, media_type: str) -> bool:
    """Say whether the `Accept` header takes `media_type`, by the rules of HTTP (RFC 9110, section 12.5.1).

    The range that fits best decides: `text/event-stream` before `text/*` before `*/*`; `q=0` means no.
    Without the header everything is accepted; that an MCP client has to send it is another rule. Other
    parameters than `q` are not looked at, and a `q` that cannot be read counts as 1.
    """
    lines = headers.get_all("Accept")
    if not lines:
        return True
    wanted = media_type.lower()
    best = (-1, 0.0)
    ranks = {"*/*": 0, wanted.partition("/")[0] + "/*": 1, wanted: 2}
    for entry in ",".join(lines).split(","):
        name, *parameters = (part.strip() for part in entry.lower().split(";"))
        if name in ranks:
            best = max(best, (ranks[name], _weight(parameters)))
    return best[1] > 0


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q" and _WEIGHT.fullmatch(value.strip()):
            return float(value)
    return 1.0


_LOOPBACK = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)


def origin_allowed(headers: Headers, allowed: frozenset[str] = frozenset()) -> bool:
    """Say whether a request may come from where its `Origin` header says it comes from.

    Only browsers send the header, so a request without it passes. Otherwise it has to be one of
    `allowed`, or a page of this very machine: http or https, `localhost`, `127.0.0.1` or `[::1]`, any
    port. `null`, several headers and anything that is no origin are refused, and the server answers 403.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning and, unchanged,
    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http (section 1)
    """
    origin = headers.get("Origin")
    if origin is None:
        return True
    if len(headers.get_all("Origin")) > 1:
        return False
    return origin in allowed or _LOOPBACK.fullmatch(origin) is not None


# --- Server-sent events ---------------------------------------------------------------------------


def sse_event(
    data: bytes, *, event: str = "message", id: str | None = None, retry_ms: int | None = None
) -> bytes:
    """Write one server-sent event.

    Args:
        data: the message; each newline in it begins another `data` line.
        event: the event's type.
        id: the id for `Last-Event-ID` (legacy streams that can be resumed).
        retry_ms: how long a client shall wait before it reconnects, in milliseconds.

    Raises:
        FramingError: when the event could not be read back as it was: a carriage return in the data, a
            line break in the type or the id, a NUL in the id, a negative time, an empty type.
    """
    if b"\r" in data:
        raise FramingError("The data of an event holds a carriage return, which would be read as a newline.")
    _check_field("type", event, "\r\n")
    if not event:
        raise FramingError("The type of an event is empty, which would be read as 'message'.")
    lines = [f"event: {event}"]
    if id is not None:
        _check_field("id", id, "\r\n\0")
        lines.append(f"id: {id}")
    if retry_ms is not None:
        if retry_ms < 0:
            raise FramingError(f"The retry time of an event is {retry_ms} ms; it cannot be negative.")
        lines.append(f"retry: {retry_ms}")
    try:
        head = "".join(line + "\n" for line in lines).encode("utf-8")
    except UnicodeEncodeError:
        raise FramingError("The type or id of an event holds half of a surrogate pair.") from None
    return head + b"".join(b"data: " + line + b"\n" for line in data.split(b"\n")) + b"\n"


def sse_comment(text: str = "") -> bytes:
    """Write a comment, which readers ignore: it keeps a quiet connection open.

    Raises:
        FramingError: when the text holds a line break.
    """
    _check_field("text of a comment", text, "\r\n")
    return (f": {text}" if text else ":").encode("utf-8", "replace") + b"\n\n"


def _check_field(what: str, text: str, forbidden: str) -> None:
    for at, char in enumerate(text):
        if char in forbidden:
            raise FramingError(f"The {what} of an event holds U+{ord(char):04X} at character {at}.")


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One server-sent event as it was read.

    Attributes:
        event: its type; `message` where none was given.
        data: its data lines, joined by newlines. `b""` for an event that only primes the client with an id.
        id: the id that this event itself carries, or None.
        retry_ms: the reconnection time that this event carries, in milliseconds, or None.
    """

    event: str
    data: bytes
    id: str | None = None
    retry_ms: int | None = None


_BOM: Final = b"\xef\xbb\xbf"
_LONGEST_RETRY_MS: Final = 10**15


class SseReader:
    """Cuts a stream of bytes into server-sent events, however the stream was chopped into chunks.

    Follows the rules of https://html.spec.whatwg.org/multipage/server-sent-events.html: lines end with CR,
    LF or both; comments are ignored; one byte order mark at the very start is ignored; an event without
    any `data` line is not given out, but its id and retry time count. An event whose data is empty is
    given out: with an id it is the priming event of
    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server.

    Args:
        max_bytes: the largest event that is kept: the bytes of its lines without their ends.

    Attributes:
        last_event_id: the latest id of the stream, for `Last-Event-ID`; None before the first one.
        retry_ms: the latest reconnection time of the stream in milliseconds, or None.
    """

    __slots__ = (
        "_after_cr",
        "_data",
        "_discarding",
        "_event",
        "_id",
        "_line",
        "_max_bytes",
        "_retry_ms",
        "_size",
        "_start",
        "last_event_id",
        "retry_ms",
    )

    def __init__(self, max_bytes: int = DEFAULT_LIMITS.max_bytes) -> None:
        self._max_bytes = max_bytes
        self.last_event_id: str | None = None
        self.retry_ms: int | None = None
        self._start: bytes | None = b""  # the first bytes, until it is clear whether they are a BOM
        self._line = bytearray()  # a line whose end has not come yet
        self._after_cr = False
        self._discarding = False
        self._begin_event()

    def feed(self, chunk: bytes) -> list[SseEvent | FramingError]:
        """Take the next bytes; give the events that are now complete.

        An event of more than `max_bytes` gives one FramingError, as soon as it is too large, and the
        rest of it is thrown away. The work is in proportion to the bytes.
        """
        found: list[SseEvent | FramingError] = []
        if not chunk:
            return found
        if self._start is not None:
            chunk = self._start + chunk
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._start = chunk
                return found
            self._start = None
            chunk = chunk.removeprefix(_BOM)
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        # For bytes, splitlines knows CR, LF and CRLF, and nothing else.
        for piece in chunk.splitlines(keepends=True):
            line = piece.rstrip(b"\r\n")
            self._append(line, found)
            if len(line) < len(piece):
                self._end_line(found)
        self._after_cr = chunk.endswith(b"\r")
        return found

    def finish(self) -> bool:
        """Say that the stream has ended. An event that is not complete is thrown away.

        Returns:
            Whether there was one: a connection that was cut, or a last event without its blank line.
        """
        in_a_line = bool(self._line) and self._line[0] != _COLON
        left = bool(self._start) or self._size > 0 or in_a_line or self._discarding
        self._start = None
        self._line.clear()
        self._discarding = False
        self._begin_event()
        return left

    def _begin_event(self) -> None:
        self._size = 0
        self._event = ""
        self._data: list[bytes] = []
        self._id: str | None = None
        self._retry_ms: int | None = None

    def _append(self, piece: bytes, found: list[SseEvent | FramingError]) -> None:
        if self._discarding:
            # All that matters now is whether the line is blank.
            if not self._line:
                self._line += piece[:1]
            return
        self._line += piece
        if self._size + len(self._line) > self._max_bytes:
            del self._line[1:]
            self._begin_event()
            self._discarding = True
            found.append(
                FramingError(f"A server-sent event is larger than the limit of {self._max_bytes} bytes.")
            )

    def _end_line(self, found: list[SseEvent | FramingError]) -> None:
        line = bytes(self._line)
        self._line.clear()
        if self._discarding:
            self._discarding = bool(line)
        elif not line:
            self._dispatch(found)
        elif line[0] != _COLON:  # comments do not count: a stream may be kept alive by them for days
            self._size += len(line)
            name, _, value = line.partition(b":")
            self._field(name, value.removeprefix(b" "))

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            digits = value.lstrip(b"0")
            self._retry_ms = min(int(digits[:20] or b"0"), _LONGEST_RETRY_MS)

    def _dispatch(self, found: list[SseEvent | FramingError]) -> None:
        if self._id is not None:
            self.last_event_id = self._id
        if self._retry_ms is not None:
            self.retry_ms = self._retry_ms
        if self._data:
            event = self._event or "message"
            found.append(SseEvent(event, b"\n".join(self._data), self._id, self._retry_ms))
        self._begin_event()


_COLON: Final = ord(":")
