"""Streams that go on after their connection has ended: event ids, `Last-Event-ID`, `retry`. Legacy.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from mcpsim.audit.model import Connection, Exchange, Item, Session
from mcpsim.audit.order import elapsed_ms
from mcpsim.audit.rule import LEGACY, MUST, SHOULD, Bound, Found, Level, Rule, each
from mcpsim.audit.rules.http_common import (
    LEGACY_PAGE,
    MESSAGES,
    STREAMABLE,
    first_of,
    is_resumption,
    shows_head,
)
from mcpsim.audit.rules.http_streams import PROGRESS, closed_by_server
from mcpsim.eras.revisions import POLLED_STREAM_REVISIONS
from mcpsim.recording.words import show
from mcpsim.transports.http import LAST_EVENT_ID_HEADER, SseReader

#: How exactly, in milliseconds, a client and a trace measure the time until a reconnection.
_EXACT_MS: Final = 20.0


@dataclass(slots=True, eq=False)
class Stream:
    """One stream of events, over all connections that carried a part of it.

    Attributes:
        root: the exchange that began it.
        last: the last event with an id that came on it, or None.
        closed: the end of its last connection, where the server closed that before the response had come.
        retry_ms: the last reconnection time that the server named, in milliseconds, or None.
    """

    root: Exchange
    last: Item | None = None
    closed: Item | None = None
    retry_ms: int | None = None


@dataclass(slots=True, eq=False)
class Resumption:
    """A GET with `Last-Event-ID`.

    Attributes:
        exchange: it.
        named: the event that the header names.
        last: the last event that had come on that stream before.
        closed: how the connection before it had ended.
        retry_ms: the reconnection time that held then.
    """

    exchange: Exchange
    stream: Stream
    named: str
    last: Item | None
    closed: Item | None
    retry_ms: int | None


@dataclass(slots=True)
class Story:
    """The legacy streams of a connection.

    Attributes:
        streams: by the exchange that carries a part of it.
        resumptions: in order.
        interrupted: the closings by the server of streams whose response was still to come.
    """

    streams: dict[Exchange, Stream] = field(default_factory=dict[Exchange, Stream])
    resumptions: list[Resumption] = field(default_factory=list[Resumption])
    interrupted: list[tuple[Stream, Item]] = field(default_factory=list[tuple[Stream, Item]])


def _story(connection: Connection) -> Story:
    story = Story()
    if not connection.is_http:
        return story
    owners: dict[tuple[Session | None, str], Stream] = {}
    raw: bytes | None = None
    for item in connection.items:
        exchange = item.exchange
        if exchange is None or item.era != "legacy":
            continue
        if item is exchange.request:
            _begin(item, exchange, story, owners)
        elif item is exchange.closed:
            stream = story.streams.get(exchange)
            if stream is not None and closed_by_server(item):
                stream.closed = item
                if _is_interrupted(stream):
                    story.interrupted.append((stream, item))
        elif item.sender == "server" and exchange.is_stream:
            stream = story.streams.setdefault(exchange, Stream(exchange))
            if item.raw is not raw:
                # All events of one row have the same text.
                raw = item.raw
                stream.retry_ms = _retry(raw, stream.retry_ms)
            if item.sse_id is not None:
                owners.setdefault((item.session, item.sse_id), stream)
                stream.last = item
    return story


def _begin(
    item: Item, exchange: Exchange, story: Story, owners: dict[tuple[Session | None, str], Stream]
) -> None:
    named = exchange.headers.get(LAST_EVENT_ID_HEADER)
    if exchange.http_method != "GET" or named is None:
        return
    stream = owners.get((item.session, named))
    if stream is None:
        return
    story.streams[exchange] = stream
    story.resumptions.append(Resumption(exchange, stream, named, stream.last, stream.closed, stream.retry_ms))
    stream.closed = None


def _is_interrupted(stream: Stream) -> bool:
    closed = stream.closed
    calls = stream.root.calls
    if closed is None or stream.last is None or not calls:
        return False
    return any(call.answer is None or call.answer.index > closed.index for call in calls)


def _retry(raw: bytes | None, before: int | None) -> int | None:
    if raw is None or b"retry" not in raw:
        return before
    reader = SseReader()
    reader.feed(raw.rstrip(b"\r\n") + b"\n\n")
    return before if reader.retry_ms is None else reader.retry_ms


def _ids(connection: Connection) -> Iterator[Found]:
    if not connection.is_http:
        return
    seen: dict[tuple[Session | None, str], Item] = {}
    for item in connection.items:
        exchange, named = item.exchange, item.sse_id
        if exchange is None or named is None or item.sender != "server" or item.revision not in STREAMABLE:
            continue
        first = seen.setdefault((item.session, named), item)
        if first is item or item.disturbed:
            continue
        # What is sent once more after a disconnection has the id that it had. So may the event that primes.
        again = exchange.http_method == "GET" and is_resumption(exchange) is not False
        if again and (item.kind == "comment" or _same(item, first)):
            continue
        yield Found(
            item,
            f"The event id {show(named)} was used before (row {first.index}), for another event; ids are "
            "unique within all streams of a session.",
        )


def _same(item: Item, other: Item) -> bool:
    return item.kind == other.kind and item.value == other.value


def _by_post(exchange: Exchange) -> Iterator[Found]:
    item = first_of(exchange)
    if item is None or item.era != "legacy" or exchange.http_method != "POST" or not shows_head(item):
        return
    named = exchange.headers.get(LAST_EVENT_ID_HEADER)
    if named is not None:
        yield Found(
            item,
            f"This POST has {LAST_EVENT_ID_HEADER}: {show(named)}; every stream is resumed by GET.",
        )


def _not_the_last(connection: Connection) -> Iterator[Found]:
    for one in _story(connection).resumptions:
        item, last = one.exchange.request, one.last
        if item is not None and last is not None and last.sse_id != one.named and not last.disturbed:
            yield Found(
                item,
                f"{LAST_EVENT_ID_HEADER} is {show(one.named)}; the last event that came on that stream has "
                f"the id {show(last.sse_id)} (row {last.index}).",
                hint="Otherwise what came in between comes once more.",
            )


def _of_another_stream(connection: Connection) -> Iterator[Found]:
    story = _story(connection)
    if not story.resumptions:
        return
    carried: dict[tuple[Session | None, str], Stream] = {}
    for one in story.streams.values():
        for item in one.root.answers:
            if item.sse_id is not None:
                carried.setdefault((item.session, item.sse_id), one)
    for one in story.resumptions:
        root = one.stream.root
        for item in one.exchange.answers:
            if item.disturbed or item.kind == "comment":
                continue
            call = item.call
            elsewhere = None
            if item.sse_id is not None:
                elsewhere = carried.get((item.session, item.sse_id), one.stream)
            foreign = item.kind in ("response", "error") or (item.method == PROGRESS and bool(root.calls))
            is_foreign = foreign and call is not None and call.asked_by == "client" and call not in root.calls
            if is_foreign or (elsewhere is not None and elsewhere is not one.stream):
                yield Found(
                    item,
                    f"This came after {LAST_EVENT_ID_HEADER}: {show(one.named)}, and belongs to another "
                    "stream than that event; only what belongs to the same stream is sent once more.",
                )


def _without_retry(connection: Connection) -> Iterator[Found]:
    story = _story(connection)
    for stream, closed in story.interrupted:
        yield from _no_retry(stream, closed)
    for one in story.resumptions:
        # That a stream of GET goes on tells that only its connection had ended.
        if one.closed is not None and not one.stream.root.calls and one.exchange.is_stream:
            yield from _no_retry(one.stream, one.closed)


def _no_retry(stream: Stream, closed: Item) -> Iterator[Found]:
    if closed.revision not in POLLED_STREAM_REVISIONS or stream.retry_ms is not None:
        return
    # A trace that shows no event but messages does not show a retry time either.
    exchange = closed.exchange
    if exchange is not None and any(one.raw is not None for one in exchange.answers):
        yield Found(
            closed,
            "The server closes the connection before the stream has ended, and has not said with `retry` "
            "when to come back.",
        )


def _too_early(connection: Connection) -> Iterator[Found]:
    for one in _story(connection).resumptions:
        item = one.exchange.request
        if item is None or one.closed is None or one.retry_ms is None:
            continue
        if item.revision not in POLLED_STREAM_REVISIONS:
            continue
        waited = elapsed_ms(one.closed, item)
        if waited is not None and waited < one.retry_ms - _EXACT_MS:
            yield Found(
                item,
                f"The client comes back after {waited:g} ms; the server had asked for {one.retry_ms} ms "
                "(`retry`).",
            )


def _not_polled(connection: Connection) -> Iterator[Found]:
    story = _story(connection)
    if not story.interrupted:
        return
    last = {one.stream: one.exchange.request for one in story.resumptions}
    for stream, closed in story.interrupted:
        session = closed.session or (stream.root.request and stream.root.request.session)
        ending = session.deleted.request if session and session.deleted else None
        again = last.get(stream)
        if ending is None or ending.index < closed.index or closed.revision not in POLLED_STREAM_REVISIONS:
            continue
        if again is not None and again.index > closed.index:
            continue
        if closed.exchange is not stream.root and not _brings(closed.exchange):
            # It came back for nothing, and nobody has to do that for ever.
            continue
        waiting = [call for call in stream.root.calls if call.answer is None and call.cancelled is None]
        if waiting:
            yield Found(
                closed,
                f"The server closed the connection before the response to {show(waiting[0].request.id)}, and "
                f"the client never came back for it; it should, by GET with {LAST_EVENT_ID_HEADER}.",
                party=connection.client,
            )


def _brings(exchange: Exchange | None) -> bool:
    return exchange is not None and any(item.kind in MESSAGES for item in exchange.answers)


def _rule(
    id: str,
    bound: Bound,
    anchor: str,
    sentence: str,
    check: Callable[[Connection], Iterator[Found]],
    level: Level = MUST,
) -> Rule:
    page = f"{LEGACY_PAGE}#{anchor}"
    return Rule(
        id,
        level,
        bound,
        LEGACY,
        {"legacy": page},
        sentence,
        on=each(Connection, needs=("http",)),
        check=check,
    )


_RESUMING: Final = "resumability-and-redelivery"
_SENDING: Final = "sending-messages-to-the-server"

HTTP_RESUMING: Final[tuple[Rule, ...]] = (
    _rule(
        "http-event-ids-are-unique",
        "server",
        _RESUMING,
        "The ids of events are unique within all streams of a session.",
        _ids,
    ),
    Rule(
        "http-stream-is-resumed-by-get",
        SHOULD,
        "client",
        LEGACY,
        {"legacy": f"{LEGACY_PAGE}#{_RESUMING}"},
        "A stream is resumed by GET, however it began.",
        on=each(Exchange),
        check=_by_post,
    ),
    _rule(
        "http-resumption-names-the-last-event",
        "client",
        _RESUMING,
        "Last-Event-ID names the last event that came.",
        _not_the_last,
        SHOULD,
    ),
    _rule(
        "http-replay-keeps-to-its-stream",
        "server",
        _RESUMING,
        "After Last-Event-ID comes what belongs to that stream, and nothing else.",
        _of_another_stream,
    ),
    _rule(
        "http-interruption-says-retry",
        "server",
        _SENDING,
        "A server that closes the connection of a stream says with `retry` when to come back.",
        _without_retry,
        SHOULD,
    ),
    _rule(
        "http-retry-is-respected",
        "client",
        _SENDING,
        "A client waits as long as `retry` says before it comes back.",
        _too_early,
    ),
    _rule(
        "http-interrupted-stream-is-polled",
        "client",
        _SENDING,
        "A client comes back for a stream whose connection was closed before its response.",
        _not_polled,
        SHOULD,
    ),
)
