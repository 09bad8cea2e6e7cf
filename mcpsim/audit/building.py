"""From the rows of the interchange form to a trace: items, and what belongs together.

Three passes over the rows, each linear: read and link (which answer to which request), tell the eras (a
message that does not say its revision has that of its session, of its request, or of what stands around it),
and gather (pages, rounds, subscriptions).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from mcpsim.audit.eras import tell_eras
from mcpsim.audit.gathering import gather
from mcpsim.audit.model import EMPTY, NO_HEADERS, Call, Connection, Exchange, Item, Kind, Session, Side, Trace
from mcpsim.audit.occurring import occurring
from mcpsim.audit.rows import BadRow, body_of, names_of, text_of, time_of
from mcpsim.eras.revisions import LATEST_LEGACY
from mcpsim.errors import PARSE_ERROR, MalformedMessage
from mcpsim.messages import Notification, Request, Response
from mcpsim.messages.checks import from_object
from mcpsim.messages.meta import PROGRESS_TOKEN, PROTOCOL_VERSION, SUBSCRIPTION_ID
from mcpsim.messages.reading import read_json
from mcpsim.recording.interchange import CLOSINGS
from mcpsim.transports.http import EVENT_STREAM_TYPE, Headers, SseEvent, SseReader

SESSION_HEADER: Final = "mcp-session-id"
Key = tuple[Side, str, "str | int"]


class Refused(NamedTuple):
    """A row that could not be taken, and why."""

    row: int
    why: str


def build(
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    *,
    disturbed: Collection[int] = (),
    copies: Collection[int] = (),
    assumed: str = LATEST_LEGACY,
) -> tuple[Trace, tuple[Refused, ...]]:
    """Read the rows of a trace.

    Args:
        rows: each with its index.
        disturbed: the rows whose frames the transport lost, changed, doubled or put in another order.
        copies: those of them that nobody sent: the transport made them.
        assumed: the revision of what is legacy, and where nothing shows of which revision.

    Returns:
        The trace, and the rows that are not of the form.
    """
    builder = _Builder(disturbed, copies)
    skipped: list[Refused] = []
    for index, row in rows:
        try:
            builder.add(index, row)
        except BadRow as error:
            skipped.append(Refused(index, str(error)))
    trace = builder.trace
    tell_eras(trace, assumed)
    gather(trace)
    for connection in trace.connections:
        connection.occurs = occurring(connection.items, is_http=connection.is_http)
    return trace, tuple(skipped)


def key_of(side: Side, id: object) -> Key | None:
    """Where the request of a side with this id is found; 1 and "1" are two different ids."""
    if isinstance(id, str):
        return side, "string", id
    if isinstance(id, bool) or not isinstance(id, int | float):
        return None
    # 1.0 is 1 for JSON; that it is written differently is for a rule to say.
    whole = int(id) if isinstance(id, int) or id.is_integer() else None
    return None if whole is None else (side, "number", whole)


_OTHER: Final[Mapping[Side, Side]] = {"client": "server", "server": "client"}


class _Named:
    """Requests by their ids or tokens. Over HTTP two sessions of one connection may use the same ones."""

    __slots__ = ("_all", "_of_session")

    def __init__(self) -> None:
        self._all: dict[Key, Call] = {}
        self._of_session: dict[tuple[str, Key], Call] = {}

    def put(self, key: Key, call: Call) -> None:
        """From now on the key is that of this request."""
        self._all[key] = call
        exchange = call.request.exchange
        session = None if exchange is None else exchange.headers.get(SESSION_HEADER)
        if session:
            self._of_session[session, key] = call

    def get(self, key: Key, exchange: Exchange | None) -> Call | None:
        """The request of a key, as somebody in this exchange means it."""
        session = None if exchange is None else exchange.headers.get(SESSION_HEADER)
        found = self._of_session.get((session, key)) if session else None
        return found or self._all.get(key)


class _Wires:
    """What is open on a connection while it is read."""

    __slots__ = ("calls", "carried", "exchanges", "sessions", "tokens")

    def __init__(self) -> None:
        self.calls = _Named()
        self.carried: dict[tuple[Exchange, Key], Call] = {}
        self.tokens = _Named()
        self.exchanges: dict[str, Exchange] = {}
        self.sessions: dict[str, Session] = {}


class _Builder:
    def __init__(self, disturbed: Collection[int], copies: Collection[int]) -> None:
        self.trace = Trace()
        self._disturbed = frozenset(disturbed)
        self._copies = frozenset(copies)
        self._connections: dict[tuple[str, str, bool], tuple[Connection, _Wires]] = {}

    def add(self, index: int, row: Mapping[str, Any]) -> None:
        side, is_http, key, hop, client, server = names_of(row)
        at_ms = time_of(row)
        found = self._connections.get((key, hop, is_http))
        if found is None:
            connection = Connection(key, hop, client, server, is_http)
            found = self._connections[key, hop, is_http] = connection, _Wires()
            self.trace.connections.append(connection)
        connection, wires = found
        if "event" in row:
            self._event(index, row, side, at_ms, connection, wires)
            return
        exchange = _exchange_of(row, side, connection, wires) if is_http else None
        for kind, value, raw, fault, sse_id in _bodies(row, side, exchange):
            party = client if side == "client" else server
            item = Item(index, side, party, at_ms, connection, exchange, kind, row, value, None, fault, raw)
            item.disturbed = index in self._disturbed
            item.sse_id = sse_id
            self._place(item, wires)
            if kind == "batch":
                for member in cast("list[Any]", value):
                    one = Item(
                        index,
                        side,
                        party,
                        at_ms,
                        connection,
                        exchange,
                        "malformed",
                        row,
                        member,
                        batch=item,
                        disturbed=item.disturbed,
                    )
                    self._place(one, wires)

    def _place(self, item: Item, wires: _Wires) -> None:
        self.trace.items.append(item)
        item.connection.items.append(item)
        exchange = item.exchange
        if exchange is not None:
            if item.sender == "client":
                if exchange.request is None:
                    exchange.request = item
            else:
                exchange.answers.append(item)
        if item.kind == "malformed":
            _read(item)
        if item.kind in _LINKS:
            _LINKS[item.kind](item, wires, item.index in self._copies)
        elif item.kind == "malformed":
            item.method = _method_of(item.value)
        _join_session(item, wires)

    def _event(
        self,
        index: int,
        row: Mapping[str, Any],
        side: Side,
        at_ms: float | None,
        connection: Connection,
        wires: _Wires,
    ) -> None:
        name = row["event"]
        if not isinstance(name, str) or not name:
            raise BadRow("`event` must be a name.")
        by = row.get("by", side)
        if by not in ("client", "server"):
            raise BadRow('`by` must be "client" or "server".')
        named = row.get("exchange")
        exchange = None
        if connection.is_http and isinstance(named, str | int):
            exchange = wires.exchanges.get(text_of(named))
        item = Item(
            index=index,
            sender=by,
            party=connection.client if by == "client" else connection.server,
            at_ms=at_ms,
            connection=connection,
            exchange=exchange,
            kind="event",
            row=row,
            disturbed=index in self._disturbed,
            event=name,
        )
        self.trace.items.append(item)
        connection.items.append(item)
        first = None if exchange is None else exchange.request
        item.session = wires.sessions.get("") if not connection.is_http else first.session if first else None
        if name not in CLOSINGS:
            return
        if exchange is None:
            connection.closed = connection.closed or item
            return
        exchange.closed = exchange.closed or item
        item.call = exchange.calls[0] if exchange.calls else None


def _exchange_of(row: Mapping[str, Any], side: Side, connection: Connection, wires: _Wires) -> Exchange:
    name = row.get("exchange", "")
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise BadRow("`exchange` must be a name or a number.")
    name = text_of(name)
    exchange = wires.exchanges.get(name) if name else _unnamed(row, side, wires)
    if exchange is not None and side == "client" and exchange.answers and _begins_anew(row):
        # The same name once more, after an answer: another exchange.
        exchange = None
    if exchange is None:
        exchange = Exchange(name or f"#{len(connection.exchanges)}", connection)
        connection.exchanges.append(exchange)
    wires.exchanges[name] = exchange
    if side == "client":
        if exchange.request is None:
            method = row.get("http_method", "POST")
            if not isinstance(method, str):
                raise BadRow("`http_method` must be a name.")
            exchange.http_method = method.upper()
            exchange.headers = _headers(row)
    else:
        status = row.get("status")
        if exchange.status is None and isinstance(status, int) and not isinstance(status, bool):
            exchange.status = status
        if not exchange.answers:
            exchange.response_headers = _headers(row)
    return exchange


def _begins_anew(row: Mapping[str, Any]) -> bool:
    return any(key in row for key in ("message", "raw", "raw_b64", "http_method", "headers"))


def _unnamed(row: Mapping[str, Any], side: Side, wires: _Wires) -> Exchange | None:
    """The exchange of a row that names none: an answer's is that of its request, or the one before it."""
    if side == "client":
        return None
    message = row.get("message")
    last = wires.exchanges.get("")
    if isinstance(message, dict):
        members = cast("dict[str, Any]", message)
        key = key_of("client", members.get("id")) if "method" not in members else None
        call = None if key is None else wires.calls.get(key, None)
        if call is not None:
            return call.request.exchange
        if "method" in members and last is not None and _is_done(last):
            # What a server sends by itself comes on another stream.
            return None
    return last


def _is_done(exchange: Exchange) -> bool:
    """Whether everything has come back that belongs to a request."""
    if exchange.request is None or exchange.http_method == "GET" or not exchange.answers:
        return False
    return all(call.answer is not None for call in exchange.calls)


def _headers(row: Mapping[str, Any]) -> Headers:
    headers = row.get("headers")
    if headers is None:
        return NO_HEADERS
    if not isinstance(headers, dict):
        raise BadRow("`headers` must be an object of names and values.")
    lines: list[tuple[str, str]] = []
    for name, value in cast("dict[Any, Any]", headers).items():
        if not isinstance(name, str):
            raise BadRow("`headers` must have names.")
        values = cast("list[Any]", value) if isinstance(value, list) else [value]
        for one in values:
            if isinstance(one, bool) or not isinstance(one, str | int | float):
                raise BadRow("`headers` must hold texts.")
            lines.append((name, text_of(one)))
    return Headers(lines)


Body = tuple[Kind, Any, "bytes | None", "MalformedMessage | None", "str | None"]


#: How a server-sent event begins, where no head tells that it is one.
_SSE_FIELDS: Final = (b":", b"data:", b"event:", b"id:", b"retry:")


def _bodies(row: Mapping[str, Any], side: Side, exchange: Exchange | None) -> Iterator[Body]:
    if row.get("channel") == "stderr":
        yield "stderr", None, body_of(row), None, None
        return
    named = row.get("sse_id")
    sse_id = text_of(named) if isinstance(named, str | int) and not isinstance(named, bool) else None
    if "message" in row:
        value = row["message"]
        yield ("batch" if isinstance(value, list) and value else "malformed"), value, None, None, sse_id
        return
    raw = body_of(row)
    if raw is None:
        yield "empty", None, None, None, sse_id
        return
    if exchange is not None and side == "server":
        told = exchange.response_headers.get("content-type")
        is_stream = exchange.is_stream or sse_id is not None or _says_stream(row)
        if is_stream or (told is None and raw.startswith(_SSE_FIELDS)):
            yield from _events(raw, sse_id)
            return
    yield _read_raw(raw, raw, sse_id)


def _says_stream(row: Mapping[str, Any]) -> bool:
    """Whether the head of a row by itself says that a stream begins."""
    said = _headers(row).get("content-type") or ""
    return said.split(";")[0].strip().lower() == EVENT_STREAM_TYPE


def _read_raw(data: bytes, raw: bytes, sse_id: str | None) -> Body:
    if not data.strip():
        return "empty", None, raw, None, sse_id
    try:
        value = read_json(data)
    except MalformedMessage as error:
        return "unreadable", None, raw, error, sse_id
    kind: Kind = "batch" if isinstance(value, list) and value else "malformed"
    return kind, cast("Any", value), raw, None, sse_id


def _events(raw: bytes, sse_id: str | None) -> Iterator[Body]:
    """The server-sent events in a text; what is not ended yet counts as ended."""
    found = SseReader().feed(raw.rstrip(b"\r\n") + b"\n\n")
    if not found:
        yield "comment", None, raw, None, sse_id
    for event in found:
        if not isinstance(event, SseEvent):
            yield "unreadable", None, raw, MalformedMessage(PARSE_ERROR, str(event)), sse_id
            continue
        named = sse_id if event.id is None else event.id
        if event.data.strip():
            yield _read_raw(event.data, raw, named)
        else:
            yield "comment", None, raw, None, named


def _read(item: Item) -> None:
    """Tell what a JSON value is."""
    value = item.value
    try:
        message = from_object(value)
    except MalformedMessage as error:
        again = _with_whole_id(value)
        if again is None:
            item.fault = error
            return
        try:
            message = from_object(again)
        except MalformedMessage:
            item.fault = error
            return
    item.message = message
    if isinstance(message, Request):
        item.kind, item.id, item.method = "request", message.id, message.method
        if message.params is not None:
            item.params = message.params
            item.meta = _meta(message.params)
    elif isinstance(message, Notification):
        item.kind, item.method = "notification", message.method
        if message.params is not None:
            item.params = message.params
            item.meta = _meta(message.params)
    elif isinstance(message, Response):
        item.kind, item.id, item.result = "response", message.id, message.result
        item.meta = _meta(message.result)
    else:
        item.kind, item.id, item.code = "error", message.id, message.code


def _method_of(value: Any) -> str:
    """The method that something names which is no message."""
    method = cast("dict[str, Any]", value).get("method") if isinstance(value, dict) else None
    return method if isinstance(method, str) else ""


def _with_whole_id(value: Any) -> dict[str, Any] | None:
    """A message whose id is written as a number with a fraction of nothing, with the id that it means."""
    if not isinstance(value, dict):
        return None
    id = cast("dict[str, Any]", value).get("id")
    if isinstance(id, float) and id.is_integer() and abs(id) < 2**53:
        return {**cast("dict[str, Any]", value), "id": int(id)}
    return None


def _meta(body: Mapping[str, Any]) -> Mapping[str, Any]:
    found = body.get("_meta")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else EMPTY


def _request(item: Item, wires: _Wires, is_copy: bool) -> None:
    call = item.call = Call(item, item.sender)
    item.connection.calls.append(call)
    exchange = item.exchange
    key = key_of(item.sender, item.id)
    if exchange is not None:
        if item.sender == "client":
            exchange.calls.append(call)
            if key is not None:
                wires.carried.setdefault((exchange, key), call)
        elif exchange.calls:
            call.parent = exchange.calls[0]
    if is_copy:
        return
    if key is not None:
        wires.calls.put(key, call)
    if PROGRESS_TOKEN in item.meta:
        token = key_of(item.sender, item.meta[PROGRESS_TOKEN])
        if token is not None:
            wires.tokens.put(token, call)


def _answer(item: Item, wires: _Wires, is_copy: bool) -> None:
    asker = _OTHER[item.sender]
    call: Call | None = None
    key = key_of(asker, item.id)
    exchange = item.exchange
    if key is None:
        # An error without an id: on HTTP the exchange says which request it is about.
        if (
            item.kind == "error"
            and exchange is not None
            and item.sender == "server"
            and len(exchange.calls) == 1
        ):
            call = exchange.calls[0]
    else:
        if exchange is not None and item.sender == "server":
            call = wires.carried.get((exchange, key))
        if call is None:
            call = wires.calls.get(key, exchange)
    if call is None:
        return
    item.call = call
    item.method = call.method
    if is_copy:
        return
    if call.answer is None:
        call.answer = item
    else:
        call.more_answers.append(item)


def _notification(item: Item, wires: _Wires, is_copy: bool) -> None:
    call = _about(item, wires)
    if call is None:
        return
    item.call = call
    if is_copy:
        return
    call.notifications.append(item)
    if item.method == "notifications/cancelled" and item.sender == call.asked_by and call.cancelled is None:
        call.cancelled = item


def _about(item: Item, wires: _Wires) -> Call | None:
    """The request that a notification is about."""
    other = _OTHER[item.sender]
    method = item.method
    if method == "notifications/progress":
        token = key_of(other, item.params.get("progressToken"))
        return None if token is None else wires.tokens.get(token, item.exchange)
    if method == "notifications/cancelled":
        id = item.params.get("requestId")
        for side in (item.sender, other):
            key = key_of(side, id)
            call = None if key is None else wires.calls.get(key, item.exchange)
            # A server speaks of the client's requests only to end a subscription.
            if call is not None and (side == item.sender or call.method == "subscriptions/listen"):
                return call
        return None
    if SUBSCRIPTION_ID in item.meta:
        key = key_of("client", item.meta[SUBSCRIPTION_ID])
        call = None if key is None else wires.calls.get(key, item.exchange)
        if call is not None:
            return call
    exchange = item.exchange
    if exchange is not None and item.sender == "server" and len(exchange.calls) == 1:
        return exchange.calls[0]
    return None


_LINKS: Final = {
    "request": _request,
    "notification": _notification,
    "response": _answer,
    "error": _answer,
}


def _join_session(item: Item, wires: _Wires) -> None:
    """Begin a session, or find the one that an item belongs to."""
    exchange = item.exchange
    opens = item.method == "initialize" and item.sender == "client" and PROTOCOL_VERSION not in item.meta
    if opens and item.kind == "request" and item.call is not None:
        proposed = item.params.get("protocolVersion")
        session = Session(item.call, item.connection, proposed if isinstance(proposed, str) else "")
        item.connection.sessions.append(session)
        wires.sessions[""] = session
        item.session = session
        session.items.append(item)
        return
    session = _session_of(item, exchange, wires)
    if session is None:
        return
    item.session = session
    session.items.append(item)
    if item.kind == "notification" and item.method == "notifications/initialized" and item.sender == "client":
        session.initialized = session.initialized or item
    if item.call is session.initialize and item.kind == "response":
        version = item.result.get("protocolVersion")
        if isinstance(version, str):
            session.revision = version
        if exchange is not None:
            session.id = exchange.response_headers.get(SESSION_HEADER) or ""
            if session.id:
                wires.sessions[session.id] = session
    if exchange is not None and exchange.headers.get(SESSION_HEADER):
        if item.sender == "server" and exchange.status == 404 and session.lost is None:
            session.lost = item
        if item.sender == "client" and exchange.http_method == "DELETE" and session.deleted is None:
            session.deleted = exchange


def _session_of(item: Item, exchange: Exchange | None, wires: _Wires) -> Session | None:
    if item.kind in ("stderr", "event"):
        return None
    if exchange is None:
        return wires.sessions.get("")
    first = exchange.request
    named = exchange.headers.get(SESSION_HEADER)
    # A stream of GET may be older than the session, as in the transport of the first revision.
    begins = exchange.http_method == "GET" and not named
    if first is not None and first is not item and first.session is not None and not begins:
        return first.session
    return wires.sessions.get(named) if named else wires.sessions.get("")
