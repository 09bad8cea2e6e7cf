"""Subscriptions: what was granted, how they end, and how they begin again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcpsim.audit.model import Connection, Subscription
from mcpsim.audit.rule import MODERN, MUST, NOTE, SHOULD, Found, Rule, each
from mcpsim.audit.rules.http_streams import closed_by_server
from mcpsim.audit.rules.subscriptions import ACKNOWLEDGED, CHANGES, MEMBER_OF, filter_of, wants
from mcpsim.recording.words import show
from mcpsim.utilities.subscriptions import Filter

CANCELLED: Final = "notifications/cancelled"


def _more_than_asked(subscription: Subscription) -> Iterator[Found]:
    item = subscription.acknowledged
    wanted = filter_of(subscription.call.request)
    granted = None if item is None else filter_of(item)
    if item is None or wanted is None or granted is None:
        return
    more = granted.without(wanted)
    if more != Filter():
        yield Found(
            item,
            f"The acknowledgement names {show(more.to_json())}, which the subscription"
            f" {show(subscription.call.request.id)} did not ask for.",
            hint="Acknowledge the part of the filter that you honour.",
        )


def _more_than_granted(subscription: Subscription) -> Iterator[Found]:
    acknowledged = subscription.acknowledged
    wanted = filter_of(subscription.call.request)
    granted = None if acknowledged is None else filter_of(acknowledged)
    if acknowledged is None or wanted is None or granted is None:
        return
    for item in subscription.notifications:
        if item.method not in CHANGES or item.index <= acknowledged.index:
            continue
        if wants(wanted, item) and not wants(granted, item):
            yield Found(
                item,
                f"The acknowledgement in row {acknowledged.index} left `{MEMBER_OF[item.method]}` out, and"
                " here such a change is told of.",
                hint="Acknowledge what you will send.",
            )
            return


def _ended_without_notice(connection: Connection) -> Iterator[Found]:
    if connection.is_http or not connection.subscriptions:
        return
    cancelled = {
        item.call
        for item in connection.items
        if item.kind == "notification" and item.method == CANCELLED and item.call is not None
    }
    for subscription in connection.subscriptions:
        end = subscription.call.answer
        if end is None or end.kind != "response" or subscription.call in cancelled:
            continue
        yield Found(
            end,
            f"The {end.party} ends the subscription {show(subscription.call.request.id)} by a result alone."
            " The pages differ: basic/patterns/subscriptions#graceful-closure wants this result;"
            " basic/patterns/cancellation says that a `notifications/cancelled` with the id of the request"
            " must be sent.",
            hint="Clients should take either for the end, and both.",
        )


def _ended_without_result(connection: Connection) -> Iterator[Found]:
    if not connection.subscriptions:
        return
    last_result = max((item.index for item in connection.items if item.kind == "response"), default=-1)
    for subscription in connection.subscriptions:
        call = subscription.call
        if call.answer is not None or call.cancelled is not None:
            continue
        end = subscription.end
        if end is not None and end.kind == "notification" and end.sender == "server":
            yield Found(
                end,
                f"The {end.party} ends the subscription {show(call.request.id)} by a cancellation alone. The"
                " pages differ: basic/patterns/cancellation wants this;"
                " basic/patterns/subscriptions#graceful-closure says that it should answer the request with a"
                " result.",
                hint="Clients should take either for the end, and both.",
                level=NOTE,
            )
        elif end is not None and closed_by_server(end):
            if end.index > last_result:
                # Perhaps the whole server ended.
                continue
            yield Found(
                end,
                f"The {end.party} closed the stream of the subscription {show(call.request.id)} without a"
                " result, and went on serving. If the connection did not break by itself, it should have"
                " answered the request first.",
                hint="Answer `subscriptions/listen` with a result before the stream is closed.",
                level=NOTE,
            )


def _not_opened_again(connection: Connection) -> Iterator[Found]:
    if connection.is_http or not connection.subscriptions:
        return
    ends = [item for item in connection.items if item.event == "stdout_closed"]
    if not ends:
        return
    end = ends[0]
    left = [
        one
        for one in connection.subscriptions
        if one.call.request.index < end.index and (one.end is None or one.end.index >= end.index)
    ]
    again = any(one.call.request.index > end.index for one in connection.subscriptions)
    after = next(
        (item for item in connection.items if item.kind == "request" and item.index > end.index), None
    )
    if not left or again or after is None or after.sender != "client":
        return
    yield Found(
        after,
        f"The {connection.server} ended in row {end.index} and was started again, and the subscription"
        f" {show(left[0].call.request.id)} was not opened again. A new process knows nothing of it; if the"
        f" {connection.client} still wants to hear of changes, it must ask once more.",
        hint="Send `subscriptions/listen` again after each start of the server.",
        # Perhaps it does not want to hear of changes any more.
        level=NOTE,
    )


def _acknowledged_twice(subscription: Subscription) -> Iterator[Found]:
    several = [
        item for item in subscription.notifications if item.method == ACKNOWLEDGED and not item.disturbed
    ]
    for item in several[1:]:
        yield Found(
            item,
            f"The subscription {show(subscription.call.request.id)} was acknowledged before, in row"
            f" {several[0].index}.",
            hint="One acknowledgement is enough.",
        )


SUBSCRIPTION_ENDS: Final[tuple[Rule, ...]] = (
    Rule(
        "subscription-acknowledgement-is-a-part",
        NOTE,
        "server",
        MODERN,
        {"modern": "basic/patterns/subscriptions#acknowledgment"},
        "An acknowledgement names a part of what was asked for.",
        on=each(Subscription),
        check=_more_than_asked,
    ),
    Rule(
        "subscription-acknowledged-once",
        NOTE,
        "server",
        MODERN,
        {"modern": "basic/patterns/subscriptions#acknowledgment"},
        "A subscription is acknowledged once.",
        on=each(Subscription),
        check=_acknowledged_twice,
    ),
    Rule(
        "subscription-keeps-to-its-acknowledgement",
        NOTE,
        "server",
        MODERN,
        {"modern": "basic/patterns/subscriptions#acknowledgment"},
        "What the acknowledgement leaves out is not sent.",
        on=each(Subscription),
        check=_more_than_granted,
    ),
    Rule(
        "subscription-end-by-cancellation",
        NOTE,
        "server",
        MODERN,
        {"modern": "basic/patterns/cancellation"},
        "A server that ends a subscription says so by `notifications/cancelled`.",
        on=each(Connection, needs=("subscriptions/listen",)),
        check=_ended_without_notice,
    ),
    Rule(
        "subscription-end-by-result",
        SHOULD,
        "server",
        MODERN,
        {"modern": "basic/patterns/subscriptions#graceful-closure"},
        "A server that ends a subscription answers its request with a result.",
        on=each(Connection, needs=("subscriptions/listen",)),
        check=_ended_without_result,
    ),
    Rule(
        "subscription-opened-again-after-restart",
        MUST,
        "client",
        MODERN,
        {"modern": "basic/patterns/subscriptions#graceful-closure"},
        "After a restart of its server a client opens its subscriptions again.",
        on=each(Connection, needs=("subscriptions/listen",)),
        check=_not_opened_again,
    ),
)
