"""What belongs together over several requests: pages, rounds, subscriptions, and what was declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from mcpsim.audit.model import Call, Item, Rounds, Subscription, Trace, Walk
from mcpsim.messages.meta import CLIENT_CAPABILITIES, SUBSCRIPTION_ID

LISTS: Final = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})
LISTEN: Final = "subscriptions/listen"
INPUT_REQUIRED: Final = "input_required"
MOST_WAITING: Final = 100


def gather(trace: Trace) -> None:
    """Fill in walks, rounds, subscriptions and capabilities.

    Over HTTP a modern request may go by any connection, and so what a client follows is followed over all
    connections of a hop; a pipe is a server of its own.
    """
    gatherers: dict[tuple[str, str], _Gatherer] = {}
    for item in trace.items:
        connection = item.connection
        key = ("http", connection.hop) if connection.is_http else (connection.key, connection.hop)
        gatherer = gatherers.get(key)
        if gatherer is None:
            gatherer = gatherers[key] = _Gatherer()
        gatherer.take(item)


def _capabilities(value: Any) -> Mapping[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _subject(call: Call) -> str:
    params = call.request.params
    named = params.get("name", params.get("uri"))
    return named if isinstance(named, str) else ""


def _place(call: Call) -> tuple[object, str | None]:
    """Which server a request goes to, as far as can be told, and in whose name."""
    exchange = call.request.exchange
    host = None if exchange is None else exchange.headers.get("host")
    return host or call.connection, call.principal


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


class _Gatherer:
    def __init__(self) -> None:
        # By who asked, and where: a server may have more for some than for others, and two clients may have
        # two servers.
        self._declared: dict[tuple[object, str | None], Mapping[str, Any]] = {}
        self._walks: dict[tuple[str, str | None, str], Walk] = {}
        # Rounds that wait for their next call: by what is asked, and by the state that it must bring.
        self._waiting: dict[tuple[str, str], list[Rounds]] = {}
        self._by_state: dict[tuple[str, str], Rounds] = {}

    def take(self, item: Item) -> None:
        """Take the next item."""
        call = item.call
        if call is None:
            return
        if item.kind == "request":
            self._asked(call)
        elif item.kind == "response" and call.answer is item:
            self._answered(item, call)
        if call.subscription is not None:
            self._heard(item, call.subscription)

    def _asked(self, call: Call) -> None:
        item = call.request
        session = item.session
        if item.era == "modern":
            call.server_capabilities = self._declared.get(_place(call))
            call.capabilities = _capabilities(item.meta.get(CLIENT_CAPABILITIES)) or {}
        elif session is not None:
            call.server_capabilities = session.server_capabilities
            call.capabilities = session.client_capabilities
        if item.sender != "client":
            return
        if item.method in LISTS:
            self._list(call)
        elif item.method == LISTEN:
            call.subscription = Subscription(call)
            call.connection.subscriptions.append(call.subscription)
        if "inputResponses" in item.params or "requestState" in item.params:
            self._retry(call)

    def _list(self, call: Call) -> None:
        cursor = call.request.params.get("cursor")
        walk = None
        if isinstance(cursor, str):
            walk = self._walks.get((call.method, call.principal, cursor))
        if walk is None:
            walk = Walk(call.connection, [call])
            call.connection.walks.append(walk)
        else:
            walk.calls.append(call)
        call.walk = walk

    def _retry(self, call: Call) -> None:
        subject = call.method, _subject(call)
        waiting = self._waiting.get(subject, [])
        state = _text(call.request.params.get("requestState"))
        rounds = None if state is None else self._by_state.get((call.method, state))
        if rounds is None or rounds not in waiting:
            # Not what any of them gave: the one that waits longest on this connection is meant, most likely.
            same = [one for one in waiting if one.calls[-1].connection is call.connection]
            rounds = same[0] if same else rounds
        if rounds is None:
            return
        if rounds in waiting:
            waiting.remove(rounds)
        call.round = len(rounds.calls)
        rounds.calls.append(call)
        call.rounds = rounds

    def _answered(self, item: Item, call: Call) -> None:
        result = item.result
        if call.method == "server/discover":
            declared = _capabilities(result.get("capabilities"))
            if item.disturbed:
                # What came may not be what the server said.
                self._declared.pop(_place(call), None)
            elif declared is not None:
                self._declared[_place(call)] = declared
        if call.walk is not None:
            cursor = result.get("nextCursor")
            if isinstance(cursor, str):
                self._walks[call.method, call.principal, cursor] = call.walk
        if result.get("resultType") == INPUT_REQUIRED and call.asked_by == "client":
            rounds = call.rounds
            if rounds is None:
                rounds = call.rounds = Rounds(call.connection, [call])
                call.connection.rounds.append(rounds)
            waiting = self._waiting.setdefault((call.method, _subject(call)), [])
            # Most are never taken up again: what is waiting must not grow without bounds.
            del waiting[:-MOST_WAITING]
            waiting.append(rounds)
            state = _text(result.get("requestState"))
            if state is not None:
                self._by_state[call.method, state] = rounds

    def _heard(self, item: Item, subscription: Subscription) -> None:
        if item is subscription.call.request:
            return
        if item.kind == "notification" and item.sender == "server" and SUBSCRIPTION_ID in item.meta:
            subscription.notifications.append(item)
            if (
                item.method == "notifications/subscriptions/acknowledged"
                and subscription.acknowledged is None
            ):
                subscription.acknowledged = item
            return
        ends = item.kind in ("response", "error", "event") or item.method == "notifications/cancelled"
        if ends and subscription.end is None:
            subscription.end = item
