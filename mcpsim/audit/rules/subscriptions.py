"""Subscriptions: what is delivered, to whom, and with which id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from mcpsim.audit.building import Key, key_of
from mcpsim.audit.model import Call, Connection, Item, Subscription, Trace
from mcpsim.audit.order import ways_with
from mcpsim.audit.rule import MODERN, MUST, SHOULD, Found, Rule, each, results
from mcpsim.messages.meta import SUBSCRIPTION_ID
from mcpsim.recording.words import show
from mcpsim.utilities.subscriptions import (
    LIST_CHANGES,
    RESOURCE_SUBSCRIPTIONS,
    RESOURCE_UPDATED,
    Filter,
    read_filter,
)

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
CHANGES: Final = frozenset({*(kind.method for kind in LIST_CHANGES), RESOURCE_UPDATED})
MEMBER_OF: Final = {
    **{kind.method: kind.member for kind in LIST_CHANGES},
    RESOURCE_UPDATED: RESOURCE_SUBSCRIPTIONS,
}


def filter_of(item: Item) -> Filter | None:
    """The filter that a request asks for, or an acknowledgement grants; None where it cannot be read."""
    try:
        return read_filter(item.params.get("notifications"))
    except ValueError:
        return None


def wants(wanted: Filter, item: Item) -> bool:
    """Whether a filter has the kind of change that a notification tells of."""
    return bool(wanted.uris) if item.method == RESOURCE_UPDATED else item.method in wanted.methods


class Asked(NamedTuple):
    """A subscription, and its filter where that can be read."""

    subscription: Subscription
    wanted: Filter | None

    @property
    def id(self) -> Any:
        """The id of its request, which is its own."""
        return self.subscription.call.request.id


class _Open:
    """What is open on a connection, while it is read.

    Attributes:
        by_key: the last subscription of each id.
        asking: those that asked for a kind of change, by its method.
        everything: a filter could not be read: whatever comes may have been asked for.
        hidden: there may be subscriptions that are not known here.
    """

    __slots__ = ("asking", "by_key", "everything", "hidden")

    def __init__(self) -> None:
        self.by_key: dict[Key, Asked] = {}
        self.asking: dict[str, list[Asked]] = {method: [] for method in sorted(CHANGES)}
        self.everything = False
        self.hidden = False

    def add(self, subscription: Subscription) -> None:
        request = subscription.call.request
        asked = Asked(subscription, filter_of(request))
        key = key_of("client", request.id)
        if key is not None:
            self.by_key[key] = asked
        wanted = asked.wanted
        if wanted is None:
            self.everything = True
            return
        for method, several in self.asking.items():
            if method in wanted.methods or (method == RESOURCE_UPDATED and wanted.uris):
                several.append(asked)

    def find(self, id: Any) -> Asked | None:
        key = key_of("client", id)
        return None if key is None else self.by_key.get(key)

    def asking_for(self, item: Item) -> Asked | None:
        """One that has asked for such a change and was not ended by the server before."""
        several = self.asking[item.method]
        while several and not item.is_http and ended_by_server(several[-1].subscription, item):
            several.pop()
        return several[-1] if several else None


def ended_by_server(subscription: Subscription, item: Item) -> bool:
    """Whether the server had ended a subscription before it sent this, as far as the order tells."""
    end = subscription.end
    if end is None or end.sender != "server" or end.index >= item.index or end.disturbed:
        return False
    return not item.is_http or end.exchange is item.exchange


def _deliveries(connection: Connection) -> Iterator[tuple[Item, _Open]]:
    """Each change that a modern server tells of, and what is open then."""
    told = CHANGES | {ACKNOWLEDGED}
    if not connection.subscriptions and told.isdisjoint(connection.occurs):
        return
    now = _Open()
    for item in connection.items:
        if item.kind == "request" and item.call is not None and item.call.subscription is not None:
            now.add(item.call.subscription)
        elif item.kind == "notification" and item.sender == "server" and item.era == "modern":
            yield item, now
        elif item.kind in ("malformed", "unreadable") and item.sender == "client":
            # It may be a subscription that the server could read.
            now.everything = now.hidden = True


def stream_of(item: Item) -> Call | None:
    """The `subscriptions/listen` in whose HTTP stream this comes, or None."""
    calls = () if item.exchange is None else item.exchange.calls
    return calls[0] if len(calls) == 1 and calls[0].method == LISTEN else None


def _unasked(trace: Trace) -> Iterator[Found]:
    for way in ways_with(trace, CHANGES):
        # Over HTTP a subscription may be on another connection.
        wanted = _wanted_on(way) if len(way) > 1 else frozenset[str]()
        for connection in way:
            for item, now in _deliveries(connection):
                if item.method not in CHANGES:
                    continue
                if SUBSCRIPTION_ID in item.meta:
                    found = _of_named(item, now)
                else:
                    found = None if item.method in wanted else _of_bare(item, now)
                if found is not None:
                    yield found


def _wanted_on(way: tuple[Connection, ...]) -> frozenset[str]:
    """The kinds of change that any subscription asks for."""
    filters = [filter_of(one.call.request) for connection in way for one in connection.subscriptions]
    if None in filters:
        return CHANGES
    uris = {RESOURCE_UPDATED for one in filters if one is not None and one.uris}
    return frozenset(uris).union(*(one.methods for one in filters if one is not None))


def _of_named(item: Item, now: _Open) -> Found | None:
    asked = now.find(item.meta[SUBSCRIPTION_ID])
    if asked is None:
        return None
    subscription, wanted = asked
    request = subscription.call.request
    if ended_by_server(subscription, item) and subscription.end is not None:
        return Found(
            item,
            f"The {item.party} had ended the subscription {show(request.id)} itself in row"
            f" {subscription.end.index}, and still sends for it.",
            hint="Send nothing for a subscription after its end.",
        )
    if wanted is None:
        return None
    if not wants(wanted, item):
        return Found(
            item,
            f"The subscription {show(request.id)} did not ask for `{item.method}`: its filter in row"
            f" {request.index} has no `{MEMBER_OF[item.method]}`.",
            hint="Send only the kinds that the filter names.",
        )
    uri = item.params.get("uri")
    if item.method == RESOURCE_UPDATED and isinstance(uri, str) and not _is_near(uri, wanted.uris):
        return Found(
            item,
            f"The subscription {show(request.id)} did not name the resource {show(uri)}, which probably is"
            " not a part of one that it named either.",
            hint="Send updates of the resources that the filter names, and of their parts.",
            level=SHOULD,
        )
    return None


def _is_near(uri: str, named: tuple[str, ...]) -> bool:
    return any(uri.startswith(one.rstrip("/")) for one in named)


def _of_bare(item: Item, now: _Open) -> Found | None:
    if stream_of(item) is not None or now.everything or now.asking_for(item) is not None:
        return None
    if item.connection.began_late:
        return None
    return Found(
        item,
        f"The {item.party} sends `{item.method}`, and no subscription has asked for it.",
        hint="Send changes only on a `subscriptions/listen` whose filter names them.",
    )


def _without_id(connection: Connection) -> Iterator[Found]:
    for item, now in _deliveries(connection):
        if SUBSCRIPTION_ID in item.meta:
            continue
        stream = stream_of(item)
        if item.method in CHANGES and stream is None and not item.is_http:
            asking = now.asking_for(item)
            if asking is None:
                continue
            id = asking.id
        elif stream is not None and (item.method in CHANGES or item.method == ACKNOWLEDGED):
            id = stream.request.id
        elif item.method == ACKNOWLEDGED and not item.is_http and now.by_key:
            id = next(reversed(now.by_key.values())).id
        else:
            continue
        yield Found(
            item,
            f"This `{item.method}` does not say to which subscription it belongs.",
            hint=f"Put the id of the `subscriptions/listen`, here {show(id)}, into `_meta` under"
            f" `{SUBSCRIPTION_ID}`.",
        )


def _foreign_id(connection: Connection) -> Iterator[Found]:
    for item, now in _deliveries(connection):
        if SUBSCRIPTION_ID not in item.meta:
            continue
        id = item.meta[SUBSCRIPTION_ID]
        stream = stream_of(item)
        if stream is not None:
            if key_of("client", id) != key_of("client", stream.request.id):
                yield Found(
                    item,
                    f"This comes in the stream of the subscription {show(stream.request.id)} and says that it"
                    f" belongs to {show(id)}.",
                    hint="The id is that of the `subscriptions/listen` request, of the same type.",
                )
            continue
        if now.find(id) is not None or now.hidden or connection.began_late:
            continue
        yield Found(
            item,
            f"This says that it belongs to the subscription {show(id)}, and no `subscriptions/listen` with"
            " that id has been sent here.",
            hint="The id is that of the `subscriptions/listen` request, of the same type.",
        )


def _result_id(item: Item) -> Iterator[Found]:
    if item.call is None:
        return
    id = item.meta.get(SUBSCRIPTION_ID)
    if SUBSCRIPTION_ID not in item.meta or key_of("client", id) != key_of("client", item.id):
        what = (
            f"names the subscription {show(id)}" if SUBSCRIPTION_ID in item.meta else "names no subscription"
        )
        yield Found(
            item,
            f"This result ends the request {show(item.id)} and {what}.",
            hint=f"Put {show(item.id)} into `_meta` under `{SUBSCRIPTION_ID}`.",
        )


def _not_first(subscription: Subscription) -> Iterator[Found]:
    request = subscription.call.request
    first = subscription.notifications[0] if subscription.notifications else None
    end = subscription.end
    if first is not None and not first.disturbed:
        if first.method != ACKNOWLEDGED:
            yield Found(
                first,
                f"The first message of the subscription {show(request.id)} is `{show(first.method)[1:-1]}`."
                " It must be the acknowledgement.",
                hint=f"Send `{ACKNOWLEDGED}` before anything else.",
            )
    elif first is None and end is not None and end.kind == "response":
        yield Found(
            end,
            f"The subscription {show(request.id)} was ended by a result and never acknowledged.",
            hint=f"Send `{ACKNOWLEDGED}` first; refuse a subscription with an error.",
        )


SUBSCRIPTIONS: Final[tuple[Rule, ...]] = (
    Rule(
        "subscription-brings-what-was-asked",
        MUST,
        "server",
        MODERN,
        {"modern": "basic/patterns/subscriptions#opening-a-stream"},
        "A server tells of a change only where a subscription has asked for that kind.",
        on=each(Trace, among=tuple(CHANGES)),
        check=_unasked,
    ),
    Rule(
        "subscription-acknowledged-first",
        MUST,
        "server",
        MODERN,
        {"modern": "basic/patterns/subscriptions#acknowledgment"},
        "The first message of a subscription is its acknowledgement.",
        on=each(Subscription),
        check=_not_first,
    ),
    Rule(
        "subscription-id-on-notifications",
        MUST,
        "server",
        MODERN,
        {"modern": "basic/index#meta"},
        "Each notification of a subscription carries its id.",
        on=each(Connection, needs=("notification",)),
        check=_without_id,
    ),
    Rule(
        "subscription-id-is-that-of-the-request",
        MUST,
        "server",
        MODERN,
        {"modern": "basic/patterns/subscriptions#receiving-notifications"},
        "The id of a subscription is the id of the request that opened it.",
        on=each(Connection, needs=("notification",)),
        check=_foreign_id,
    ),
    Rule(
        "subscription-result-names-its-id",
        MUST,
        "server",
        MODERN,
        {"modern": "schema#subscriptionslistenresultmetaobject"},
        "The result that ends a subscription names that subscription.",
        on=results(LISTEN),
        check=_result_id,
    ),
)
