"""Ids of requests: not used twice at the same time (modern), or within one session (legacy)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcpsim.audit.building import SESSION_HEADER, Key, key_of
from mcpsim.audit.model import Call, Connection, Item
from mcpsim.audit.rule import LEGACY, MODERN, MUST, NOTE, Found, Rule, each
from mcpsim.audit.rules.envelopes import members
from mcpsim.recording.words import show

# HTTP refuses before anybody reads the message, or sends the client elsewhere with the same body.
_NOT_TAKEN: Final = frozenset({301, 302, 303, 307, 308, 401, 403, 407, 408, 429, 502, 503, 504})
#: The event of a stream that ended before its response had come.
BROKEN: Final = "response_stream_closed"
_HINT: Final = "Count the ids up, or take new random ones."


def _used_before(connection: Connection) -> Iterator[Found]:
    seen: dict[tuple[object, Key], Item] = {}
    for item in connection.items:
        if item.kind != "request" or item.era != "legacy" or item.disturbed:
            continue
        session = _session_of(item)
        key = key_of(item.sender, item.id)
        if session is None or key is None:
            continue
        before = seen.get((session, key))
        if before is None or _was_not_taken(before):
            seen[session, key] = item
            continue
        if _is_sent_again(before, item):
            yield Found(
                item,
                f"The id {show(item.id)} was used before, for the same request, whose answer never came. A "
                "second try is a request of its own and needs a new id.",
                level=NOTE,
            )
            continue
        yield Found(
            item,
            f"The id {show(item.id)} was used before in this session, for {show(before.method)}. Each "
            "request has an id of its own, also when the earlier one is answered.",
            hint=_HINT,
        )


def _session_of(item: Item) -> object:
    """What an id must be new in; None where that cannot be told."""
    session = item.session
    if session is not None:
        # Over HTTP, sessions without an id cannot be told apart where there are several.
        alike = item.is_http and not session.id and len(item.connection.sessions) > 1
        return None if alike else session
    if item.exchange is not None:
        return item.exchange.headers.get(SESSION_HEADER)
    # On a pipe whose beginning is not there, all is one session.
    return None if item.connection.sessions else ""


def _was_not_taken(before: Item) -> bool:
    exchange = before.exchange
    return exchange is not None and exchange.status in _NOT_TAKEN


def _is_sent_again(before: Item, again: Item) -> bool:
    exchange = before.exchange
    return (
        exchange is not None
        and exchange.status is None
        and not exchange.answers
        and before.value == again.value
    )


class _Open:
    """The requests of a connection that wait for their answer, by who asked and id."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str | None, Key], Call] = {}

    def swap(self, call: Call) -> Call | None:
        """Put in a new request; the one of the same id that still waits, or None."""
        key = key_of(call.asked_by, call.request.id)
        if key is None:
            return None
        before = self._calls.get((call.principal, key))
        self._calls[call.principal, key] = call
        return before

    def close(self, call: Call) -> None:
        """A request has its answer."""
        key = key_of(call.asked_by, call.request.id)
        if key is not None and self._calls.get((call.principal, key)) is call:
            del self._calls[call.principal, key]

    def close_named(self, item: Item) -> None:
        """Something that is no message names an id."""
        asker = "server" if item.sender == "client" else "client"
        key = key_of(asker, members(item.value).get("id"))
        principal = None if item.exchange is None else item.exchange.headers.get("authorization")
        if key is not None:
            self._calls.pop((principal, key), None)

    def clear(self) -> None:
        """Nothing will be answered any more."""
        self._calls.clear()


def _in_flight(connection: Connection) -> Iterator[Found]:
    # Where no id comes twice, and so nearly everywhere, there is nothing to follow.
    ids = [(call.asked_by, call.request.id) for call in connection.calls]
    if len(set(ids)) == len(ids):
        return
    waiting = _Open()
    for item in connection.items:
        call = item.call
        if item.kind == "request":
            if call is None or item.era != "modern" or item.disturbed:
                continue
            before = waiting.swap(call)
            if before is not None:
                yield _clash(item, before)
        elif item.kind in ("response", "error"):
            if call is not None:
                waiting.close(call)
        elif item.kind == "event":
            if item is connection.closed:
                waiting.clear()
        elif item.kind in ("malformed", "unreadable", "empty") and item.sender == "server":
            waiting.close_named(item)
            exchange = item.exchange
            if exchange is not None and (item.kind != "empty" or not exchange.is_stream):
                for one in exchange.calls:
                    waiting.close(one)


def _clash(item: Item, before: Call) -> Found:
    sentence = f"The id {show(item.id)} belongs to {show(before.method)} already, which has no answer yet."
    given_up = before.cancelled
    exchange = before.request.exchange
    if given_up is None and exchange is not None:
        given_up = exchange.closed
    if given_up is not None and given_up.index < item.index:
        if given_up.event == BROKEN and given_up.sender == "server" and before.request.value == item.value:
            return Found(
                item,
                f"{sentence} Its stream broke off in row {given_up.index}, and what was lost with it is "
                "asked for again with a new id.",
                hint=_HINT,
            )
        return Found(
            item,
            f"{sentence} It was given up, but an answer may still be on its way, and be taken for another.",
            hint=_HINT,
            level=NOTE,
        )
    if item.is_http and item.connection.client != "client":
        return Found(
            item,
            f"{sentence} Two clients behind the {item.connection.client} may each have chosen it; towards "
            "the server, the ids of one sender should differ.",
            level=NOTE,
        )
    return Found(item, f"{sentence} Requests that wait at the same time have different ids.", hint=_HINT)


IDS: Final[tuple[Rule, ...]] = (
    Rule(
        "request-id-is-not-in-use",
        MUST,
        "sender",
        MODERN,
        {"modern": "basic/index#requests"},
        "A request has another id than the requests of its sender that still wait for an answer.",
        on=each(Connection),
        check=_in_flight,
    ),
    Rule(
        "request-id-is-new-in-its-session-legacy",
        MUST,
        "sender",
        LEGACY,
        {"legacy": "basic/index#requests"},
        "No request of a session has an id that its sender used in that session before.",
        on=each(Connection),
        check=_used_before,
    ),
)
