"""What lists of tools, resources and prompts have in common: they are answered, they are the same on every
connection, and a change is announced.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools#capabilities
https://modelcontextprotocol.io/specification/2025-11-25/server/tools#capabilities
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from mcpsim.audit.model import Call, Connection, Item, Trace
from mcpsim.audit.occurring import connections_with
from mcpsim.audit.rule import ALL, MODERN, MUST, SHOULD, Found, Rule, each, errors
from mcpsim.audit.rules.listed import PROMPTS, RESOURCES, TOOLS, Feature, Listing, listings
from mcpsim.eras.capabilities import declares
from mcpsim.errors import METHOD_NOT_FOUND
from mcpsim.messages.meta import CLIENT_CAPABILITIES, SERVER_INFO

#: How long a server may take until it announces a change, in milliseconds.
PATIENCE_MS: Final = 1_000

_FEATURES: Final = (TOOLS, RESOURCES, PROMPTS)
_ESSENTIAL: Final[Mapping[str, tuple[str, ...]]] = {
    TOOLS.method: ("inputSchema", "outputSchema"),
    RESOURCES.method: (),
    PROMPTS.method: ("arguments",),
}


def _not_answered(capability: str) -> Callable[[Item], Iterator[Found]]:
    def check(item: Item) -> Iterator[Found]:
        call = item.call
        if item.code != METHOD_NOT_FOUND or call is None or call.server_capabilities is None:
            return
        if declares(call.server_capabilities, capability):
            yield Found(
                item,
                f"The server declared the capability {capability} and does not know {call.method}; it must "
                "answer with the list, which may be empty.",
            )

    return check


class _Sighting(NamedTuple):
    """Which set of a list a connection saw."""

    connection: Connection
    names: frozenset[str]
    item: Item


def _sightings(trace: Trace, feature: Feature) -> Mapping[tuple[Any, ...], list[_Sighting]]:
    """Whole lists of the same server, asked for in the same way, by what could make them differ."""
    found: dict[tuple[Any, ...], list[_Sighting]] = {}
    for connection in connections_with(trace, (feature.method,)):
        # On stdio each connection is a process of its own, and may have been started otherwise.
        if not connection.is_http:
            continue
        for listing in listings(connection, feature):
            call = listing.walk.calls[0]
            key = _circumstances(call, listing.last)
            if key is not None and listing.complete:
                seen = _Sighting(connection, frozenset(listing.entries), listing.last)
                found.setdefault(key, []).append(seen)
    for several in found.values():
        several.sort(key=lambda one: one.item.index)
    return found


def _circumstances(call: Call, item: Item) -> tuple[Any, ...] | None:
    exchange = call.request.exchange
    info: Any = item.meta.get(SERVER_INFO)
    if call.era != "modern" or exchange is None or not exchange.headers.items() or not isinstance(info, dict):
        return None
    return (
        json.dumps(info, sort_keys=True),
        exchange.headers.get("host"),
        call.principal,
        exchange.headers.get("cookie"),
        json.dumps(call.request.meta.get(CLIENT_CAPABILITIES), sort_keys=True),
        call.connection.hop,
    )


# "Nor as a side effect of other requests on the connection": read as what a connection has stored about
# itself, because the page sets it against credentials, which are "not connection state". A report that a tool
# files for good, and that everybody sees from then on, is a change over time, whoever asked for it.
def _per_connection(feature: Feature) -> Callable[[Trace], Iterator[Found]]:
    def check(trace: Trace) -> Iterator[Found]:
        for seen in _sightings(trace, feature).values():
            changes = [(before, after) for before, after in pairwise(seen) if before.names != after.names]
            back = [one for one in changes[1:] if one[0].connection is not one[1].connection]
            # Once there and back, each time with the connection: no change over time looks like that.
            if len({one.names for one in seen}) == 2 and len(changes) >= 3 and len(back) == len(changes) - 1:
                yield Found(
                    changes[-1][1].item,
                    f"The set of {feature.noun}s goes back and forth between two, and each time with the "
                    "connection that asks. It probably depends on the connection, or on what was asked there "
                    "before; it must not.",
                    hint="Let it depend on what the request brings: its authorization, and nothing else.",
                    level=SHOULD,
                )

    return check


def _unannounced(feature: Feature) -> Callable[[Connection], Iterator[Found]]:
    def check(connection: Connection) -> Iterator[Found]:
        told = listings(connection, feature)
        changes = [
            one for one in told if one.following is not None and _has_changed(one, one.following, feature)
        ]
        if not changes:
            return
        ears = _Ears(connection, feature)
        for listing in changes:
            later = listing.following
            assert later is not None
            call = later.walk.calls[0]
            if not declares(call.server_capabilities or {}, f"{feature.capability}.listChanged"):
                continue
            if ears.could_hear(listing, later) and not ears.heard(listing) and ears.waited(later):
                yield Found(
                    later.last,
                    f"The list of {feature.noun}s is another one than before (row {listing.last.index}), and "
                    f"no {feature.changed} came, although the server declared listChanged.",
                    hint="Send the notification when the list changes: clients rely on it.",
                )

    return check


def _has_changed(listing: Listing, later: Listing, feature: Feature) -> bool:
    same_way = listing.walk.calls[0].capabilities == later.walk.calls[0].capabilities
    if not (listing.complete and later.complete and same_way and listing.walk.era == later.walk.era):
        return False
    return _essence(listing, feature) != _essence(later, feature)


def _essence(listing: Listing, feature: Feature) -> dict[str, list[Any]]:
    """What makes a list the list that it is: a text, a size or a date may change without that."""
    members = _ESSENTIAL[feature.method]
    definitions = ((name, listing.definition(name) or {}) for name in listing.entries)
    return {name: [definition.get(member) for member in members] for name, definition in definitions}


class _Ears:
    """When a client of a connection could hear of changes, and when it did."""

    def __init__(self, connection: Connection, feature: Feature) -> None:
        self._subscriptions = [
            one for one in connection.subscriptions if _asks_for(one.acknowledged, feature.filter)
        ]
        self._is_http = connection.is_http
        self._streams = [
            one for one in connection.exchanges if one.http_method == "GET" and one.is_stream and one.answers
        ]
        self._heard = max(
            (
                item.index
                for item in connection.items
                if item.kind == "notification" and item.method == feature.changed
            ),
            default=-1,
        )
        self._moment = max((item.at_ms for item in connection.items if item.at_ms is not None), default=None)
        self._answered = max(
            (
                call.request.index
                for call in connection.calls
                if call.answer is not None and call.asked_by == "client"
            ),
            default=-1,
        )

    def heard(self, listing: Listing) -> bool:
        """Whether a notification came after a list was asked for, at whatever time."""
        return self._heard > listing.walk.calls[0].request.index

    def could_hear(self, listing: Listing, later: Listing) -> bool:
        """Whether the client was listening all the time between two lists."""
        start, end = listing.first.index, later.last.index
        if later.walk.era == "modern":
            return any(
                one.acknowledged is not None
                and one.acknowledged.index < start
                and (one.end is None or one.end.index > end)
                and one.call.principal == later.walk.calls[0].principal
                for one in self._subscriptions
            )
        return not self._is_http or any(
            one.answers[0].index < start and (one.closed is None or one.closed.index > end)
            for one in self._streams
        )

    def waited(self, later: Listing) -> bool:
        """Whether the trace goes on long enough: the notification may have been under way."""
        since = later.last.at_ms
        if since is not None and self._moment is not None:
            return self._moment >= since + PATIENCE_MS
        return self._answered > later.last.index


def _asks_for(acknowledged: Item | None, member: str) -> bool:
    wanted: Any = None if acknowledged is None else acknowledged.params.get("notifications")
    return isinstance(wanted, dict) and wanted.get(member) is True  # pyright: ignore[reportUnknownMemberType]


def _rules() -> Iterator[Rule]:
    for feature in _FEATURES:
        capability = feature.capability
        yield Rule(
            f"{capability}-list-answered",
            MUST,
            "server",
            MODERN,
            {"modern": f"server/{capability}#capabilities"},
            f"A server that declares {capability} answers {feature.method} with the list.",
            on=errors(feature.method),
            check=_not_answered(capability),
        )
        yield Rule(
            f"{capability}-list-not-per-connection",
            MUST,
            "server",
            MODERN,
            {"modern": f"server/{capability}#capabilities"},
            f"The set of {capability} does not depend on the connection or on what was asked there before.",
            on=each(Trace, needs=("http", feature.method)),
            check=_per_connection(feature),
        )
        yield Rule(
            f"{capability}-list-changed-sent",
            SHOULD,
            "server",
            ALL,
            {
                "modern": f"server/{capability}#list-changed-notification",
                "legacy": f"server/{capability}#list-changed-notification",
            },
            f"A server that declared listChanged announces that the list of {capability} has changed.",
            on=each(Connection, needs=(feature.method,)),
            check=_unannounced(feature),
        )


FEATURES: Final[tuple[Rule, ...]] = (*_rules(),)
