"""HTTP requests with their responses, as tools in a browser or a proxy save them, as rows.

Which of them are MCP is told by the address: one that gets or gives JSON-RPC messages with a method of the
protocol, or whose headers are those of Streamable HTTP. Everything else is counted and left out.

Secrets are not kept: an `Authorization` header, a cookie, a key becomes a label such as `principal-1`, the
same one wherever the same secret stands.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from mcpsim.eras.methods import METHODS
from mcpsim.recording.interchange import HTTP
from mcpsim.recording.lines import is_whole
from mcpsim.recording.readers.bodies import Body, body_of, is_jsonrpc
from mcpsim.recording.readers.log_lines import several
from mcpsim.recording.readers.model import Found
from mcpsim.recording.readers.times import Clock
from mcpsim.transports.http import (
    EVENT_STREAM_TYPE,
    JSON_TYPE,
    METHOD_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
    Headers,
    SseEvent,
    SseReader,
)

_METHODS: Final = frozenset(row.name for row in METHODS)
_MARKS: Final = (PROTOCOL_VERSION_HEADER, METHOD_HEADER, SESSION_ID_HEADER)
_HTTP_METHODS: Final = ("POST", "GET", "DELETE")
_BLANK_LINE: Final = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_SECRETS: Final = {
    "authorization": "principal",
    "proxy-authorization": "proxy-principal",
    "cookie": "cookie",
    "set-cookie": "cookie",
    "x-api-key": "key",
    "api-key": "key",
}
# What HTTP/2 has for the first line of a request.
_PSEUDO: Final = ":"
_ANSWERS: Final = (JSON_TYPE, EVENT_STREAM_TYPE)
_WAS: Final = ("was", "were")
_BODILESS: Final = frozenset({202, 204, 205, 304})


@dataclass(frozen=True, slots=True)
class HttpEntry:
    """One request with its response.

    Attributes:
        where: its place in the file, such as "entry 3".
        method, url: of the request.
        headers: of the request.
        body: of the request; None where it is not in the file.
        status: of the response; 0 where none came.
        response_headers: of the response.
        response: its body; None where it is not in the file.
        started_ms: when the request left; None where that is not known.
        answered_ms: when the response began.
        ended_ms: when it had come to its end.
        aborted: whether the client gave up.
    """

    where: str
    method: str
    url: str
    headers: Headers
    body: bytes | None
    status: int
    response_headers: Headers
    response: bytes | None
    started_ms: float | None = None
    answered_ms: float | None = None
    ended_ms: float | None = None
    aborted: bool = False


class _Row(NamedTuple):
    """A row that still has to find its place among those of other requests.

    Attributes:
        at_ms: where it belongs, or at least not before.
        timed: whether that is when it happened.
    """

    at_ms: float
    timed: bool
    row: dict[str, Any]
    where: str


def add_entries(entries: Sequence[HttpEntry], found: Found) -> None:
    """Add the rows of those entries that are MCP, in the order of their times."""
    ours, older = _addresses(entries), _older_transport(entries)
    several_servers = len(ours) > 1
    secrets = _Secrets()
    rows: list[_Row] = []
    left_out = 0
    streams = False
    start = 0.0
    for number, entry in enumerate(entries, start=1):
        # What has no time stands where it stands in the file.
        start = start if entry.started_ms is None else entry.started_ms
        address = _address(entry.url)
        if address in older:
            continue
        if address not in ours or not _can_be(entry):
            left_out += 1
            continue
        common: dict[str, Any] = {"transport": HTTP, "exchange": f"x{number}"}
        if several_servers:
            common["connection"] = address
        for row in _rows(entry, common, start, secrets, found):
            streams = streams or not row.timed
            rows.append(row)
    rows.sort(key=lambda one: one.at_ms)
    clock = Clock()
    for one in rows:
        when = clock.row(one.at_ms) if one.timed else {}
        found.add({"from": one.row["from"], **when, **one.row}, one.where)
    if left_out:
        found.note(
            several(left_out, "entry of the file is not MCP", "entries of the file are not MCP")
            + ": left out."
        )
    if older:
        found.note(
            "HTTP+SSE, the transport of the first revision, is not read: "
            f"{', '.join(older)} {_WAS[len(older) > 1]} left out."
        )
    if streams:
        found.note(
            "The file does not say when each event of a stream came. The events stand in their order; how "
            "they lie among the messages of other requests is not known."
        )
    if secrets.count:
        found.note("Secrets in headers were replaced by labels such as principal-1.")


def _addresses(entries: Sequence[HttpEntry]) -> dict[str, None]:
    """The addresses that speak MCP, in the order of appearance."""
    return dict.fromkeys(_address(entry.url) for entry in entries if _speaks(entry))


def _can_be(entry: HttpEntry) -> bool:
    """Whether a request to an address that speaks MCP is MCP. Not the CORS preflight of a browser, and not a
    person's visit."""
    if entry.method == "GET" and "text/html" in (entry.headers.get("accept") or ""):
        return False
    return entry.method in _HTTP_METHODS


def _older_transport(entries: Sequence[HttpEntry]) -> dict[str, None]:
    """The addresses of the transport that Streamable HTTP replaced: a stream whose first event names the
    address for requests, and that address. There answers come in another exchange than their requests."""
    found: dict[str, None] = {}
    for entry in entries:
        if entry.method != "GET" or not entry.response or _kind(entry) != EVENT_STREAM_TYPE:
            continue
        first = next(_BLANK_LINE.finditer(entry.response), None)
        events = SseReader().feed(entry.response[: first.end()] if first else entry.response)
        event = events[0] if events else None
        if isinstance(event, SseEvent) and event.event == "endpoint":
            stream = _address(entry.url)
            endpoint = event.data.decode("utf-8", "replace")
            host = stream.partition("/")[0]
            found[stream] = None
            found[_address(endpoint if "://" in endpoint else f"{host}/{endpoint.lstrip('/')}")] = None
    return found


def _kind(entry: HttpEntry) -> str:
    """The type of the response's body."""
    return (entry.response_headers.get("content-type") or "").split(";")[0].strip().lower()


def _address(url: str) -> str:
    """Host and path: what comes after may hold secrets, and does not make another server."""
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    return bare.partition("://")[2].rpartition("@")[2] or bare


def _speaks(entry: HttpEntry) -> bool:
    if entry.method not in _HTTP_METHODS:
        return False
    if any(name in entry.headers for name in _MARKS) or SESSION_ID_HEADER in entry.response_headers:
        return True
    return any(_has_method(body_of(body).value) for body in (entry.body, entry.response) if body)


def _has_method(value: Any) -> bool:
    members: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
    for one in members:
        method = cast("dict[str, Any]", one).get("method") if isinstance(one, dict) else None
        if isinstance(method, str) and method in _METHODS and is_jsonrpc(one):
            return True
    return False


@dataclass(slots=True)
class _Secrets:
    """A label for each secret."""

    labels: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    counts: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def count(self) -> int:
        return len(self.labels)

    def headers(self, headers: Headers) -> dict[str, Any]:
        """The headers as a row has them, several lines of one name as a list."""
        found: dict[str, Any] = {}
        for name, value in headers.items():
            if name.startswith(_PSEUDO):
                continue
            kind = _SECRETS.get(name.lower())
            shown = value if kind is None else self._label(kind, value)
            before = found.get(name)
            if before is None:
                found[name] = shown
            elif isinstance(before, list):
                cast("list[str]", before).append(shown)
            else:
                found[name] = [before, shown]
        return found

    def _label(self, kind: str, value: str) -> str:
        key = kind, value
        if key not in self.labels:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.labels[key] = f"{kind}-{self.counts[kind]}"
        return self.labels[key]


def _rows(
    entry: HttpEntry, common: dict[str, Any], start: float, secrets: _Secrets, found: Found
) -> Iterator[_Row]:
    timed = entry.started_ms is not None
    answered = entry.answered_ms if entry.answered_ms is not None else start
    ended = max(entry.ended_ms if entry.ended_ms is not None else answered, answered)
    request: dict[str, Any] = {"from": "client", **common}
    if entry.method != "POST":
        request["http_method"] = entry.method
    request["headers"] = secrets.headers(entry.headers)
    if entry.body is None and entry.method == "POST":
        found.skip(entry.where, "The body of the request is not in the file.")
    else:
        yield _Row(start, timed, {**request, **body_of(entry.body or b"").part}, entry.where)
    if entry.status:
        head = {
            "from": "server",
            **common,
            "status": entry.status,
            "headers": secrets.headers(entry.response_headers),
        }
        yield from _response(entry, head, answered, ended, timed, found)
    elif not entry.aborted:
        found.skip(entry.where, "The file has no response to this request.")
    if entry.aborted:
        event = {"from": "client", **common, "event": "client_aborted", "by": "client"}
        yield _Row(ended, timed, event, entry.where)


def _response(
    entry: HttpEntry, head: dict[str, Any], answered: float, ended: float, timed: bool, found: Found
) -> Iterator[_Row]:
    kind = _kind(entry)
    # Tools leave a body out, or empty, that they did not keep: an answer that is expected is not empty.
    kept = entry.response is not None and (
        entry.response.strip() or kind not in _ANSWERS or entry.status != 200
    )
    if entry.response is None or not kept:
        if entry.status in _BODILESS or (kind not in _ANSWERS and entry.status >= 300):
            yield _Row(ended, timed, head, entry.where)
        else:
            found.skip(entry.where, "The body of the response is not in the file.")
        return
    if kind != EVENT_STREAM_TYPE:
        yield _Row(ended, timed, {**head, **body_of(entry.response).part}, entry.where)
        return
    at = answered
    events = list(_events(entry.response))
    if not events:
        yield _Row(ended, timed, head, entry.where)
    for position, (part, is_answer) in enumerate(events):
        # An answer closes what it answers, so it comes at the end. Nothing tells when the rest came.
        at = max(at, ended) if is_answer else at
        known = timed and (position == 0 or (is_answer and position == len(events) - 1))
        yield _Row(at, known, {**head, **part}, entry.where)


def _events(data: bytes) -> Iterator[tuple[dict[str, Any], bool]]:
    """The events of a stream as parts of rows, and whether each is an answer."""
    for block in _blocks(data):
        one = next((event for event in SseReader().feed(block) if isinstance(event, SseEvent)), None)
        body = Body({}, None) if one is None or not one.data else body_of(one.data)
        # A comment, an event without data, a type of its own: only the text itself tells that.
        if one is None or one.event != "message" or one.retry_ms is not None or "message" not in body.part:
            yield {"raw": block.decode("utf-8", "replace")}, False
            continue
        value: Any = body.value
        answers = isinstance(value, dict) and "method" not in value
        yield {**body.part, **({} if one.id is None else {"sse_id": one.id})}, answers


def _blocks(data: bytes) -> Iterator[bytes]:
    """The events of a stream, each with the blank line that ends it. What is cut off at the end is left out
    where it is no event by itself: a file may end earlier than the stream did."""
    at = 0
    for match in _BLANK_LINE.finditer(data):
        if match.start() > at:
            yield data[at : match.end()]
        at = match.end()
    rest = data[at:].strip()
    if rest:
        event = SseReader().feed(rest + b"\n\n")
        if event and isinstance(event[0], SseEvent) and body_of(event[0].data).value is not None:
            yield rest + b"\n\n"


def as_headers(value: Any) -> Headers:
    """Headers from a list of objects with `name` and `value`, or from one object of names and values. What
    is neither has none."""
    if isinstance(value, dict):
        pairs = list(cast("dict[str, Any]", value).items())
    else:
        members = cast("list[Any]", value) if isinstance(value, list) else []
        objects = [cast("dict[str, Any]", one) for one in members if isinstance(one, dict)]
        pairs = [(one.get("name"), one.get("value")) for one in objects]
    return Headers((name, text) for name, text in pairs if isinstance(name, str) and isinstance(text, str))


def as_status(value: Any) -> int:
    """The status of a response; 0 where there is none."""
    return value if is_whole(value, 999) else 0


def as_bytes(value: Any) -> bytes | None:
    """The bytes of a body that stands in a file as text; None where there is none."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None


__all__ = ["HttpEntry", "add_entries", "as_bytes", "as_headers", "as_status"]
