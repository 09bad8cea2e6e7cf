"""`subscriptions/listen`: a request whose answer is a stream of changes (modern).

The request is served like any other: its handler acknowledges the filter, waits for changes at the server's
hub, tells of each, and returns a result when the server ends the subscription. The client ends it as it ends
any request. Whatever stops the handler takes the subscription with it, so that the server remembers one
exactly as long as its stream is open.

How a server ends a subscription is said on two pages. patterns/subscriptions#graceful-closure: it SHOULD
answer the request and then close the stream. patterns/cancellation: it MUST send `notifications/cancelled`
that names the request; the schema adds that this is so "on stdio". Both are kept: on stdio the notification
comes first, while the request is still in progress as a cancellation demands, and the result is the last
message; on HTTP the result and the closed stream are the end. (The official Python SDK 2.3 sends the result
alone. Its client takes the notification for an unexpected end, and so does it on stdio with this server.)

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Protocol

import anyio

from mcpsim.eras.capabilities import declares
from mcpsim.eras.modern import Visit
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError
from mcpsim.messages import RequestId
from mcpsim.messages.meta import SUBSCRIPTION_ID
from mcpsim.server.changes import Change, Changes
from mcpsim.server.context import Context
from mcpsim.server.operations.checking import check_params
from mcpsim.utilities.subscriptions import Filter, read_filter

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
CANCELLED: Final = "notifications/cancelled"

#: Published at a server's hub, this ends all its subscriptions in good order.
END_OF_SUBSCRIPTIONS: Final = Change(CANCELLED)

#: How many subscriptions may be open on a connection (stdio) or at an endpoint (HTTP).
MAX_OPEN: Final = 1_000
#: How many notifications may wait for a client that does not read. One more ends the subscription.
MAX_WAITING: Final = 10_000
#: How many subscriptions a recording shows as remembered at one time, and how many resources of each.
MAX_SHOWN: Final = 20


class Source(Protocol):
    """What a subscription needs to know about a server."""

    @property
    def changes(self) -> Changes:
        """Where changes are told."""
        ...

    def capabilities(self) -> dict[str, Any]:
        """What the server declares."""
        ...


@dataclass(slots=True, eq=False)
class Subscription:
    """One open subscription.

    Attributes:
        id: the id of the request that opened it.
        filter: what the server agreed to tell of.
        principal: who opened it, or "".
        waiting: the changes that are still to be told, the oldest first.
        ending: why the server ends it; None while it does not.
    """

    id: RequestId
    filter: Filter
    principal: str = ""
    waiting: deque[Change] = field(default_factory=deque[Change])
    ending: str | None = None
    _wake: anyio.Event = field(default_factory=anyio.Event)

    def take(self, change: Change) -> None:
        """Hear of a change."""
        if self.ending is not None:
            return
        if change == END_OF_SUBSCRIPTIONS:
            self.end("The server ends its subscriptions.")
        elif self.filter.wants(change.method, change.uri):
            if len(self.waiting) >= MAX_WAITING:
                self.end(f"More than {MAX_WAITING} notifications wait to be read.")
                return
            self.waiting.append(change)
            self._wake.set()

    def end(self, reason: str) -> None:
        """End it after what is waiting; the first reason counts."""
        if self.ending is None:
            self.ending = reason
            self._wake.set()

    async def next(self) -> Change | None:
        """The next change to tell of; None where the server ends the subscription."""
        while not self.waiting and self.ending is None:
            self._wake = anyio.Event()
            await self._wake.wait()
        return self.waiting.popleft() if self.waiting else None

    def remembers(self) -> dict[str, Any]:
        """The subscription as plain values, for a recording."""
        said: dict[str, Any] = {"principal": self.principal} if self.principal else {}
        more = len(self.filter.uris) - MAX_SHOWN
        if more > 0:
            said["more resources"] = more
        shown = Filter(self.filter.methods, self.filter.uris[:MAX_SHOWN])
        return {"id": self.id, "notifications": shown.to_json(), **said}


class OpenSubscriptions:
    """The subscriptions of one connection or endpoint, in the order in which they were opened.

    Args:
        announces: whether an end is announced with `notifications/cancelled` (stdio).
        changed: called whenever one was opened or is over.
    """

    def __init__(self, *, announces: bool, changed: Callable[[], None]) -> None:
        self.announces = announces
        self._changed = changed
        self._open: dict[Subscription, None] = {}

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def bind(self, visit: Visit) -> None:
        """Let an admitted request, if it is one to listen, be counted among these."""
        if isinstance(visit.route, Listen):
            visit.route = Listen(visit.route.source, self)

    def add(self, subscription: Subscription) -> None:
        """Count one more.

        Raises:
            ProtocolError: -32603, there are too many.
        """
        if len(self._open) >= MAX_OPEN:
            raise ProtocolError(INTERNAL_ERROR, f"There are {MAX_OPEN} subscriptions open already.")
        self._open[subscription] = None
        self._changed()

    def discard(self, subscription: Subscription) -> None:
        """Forget one."""
        del self._open[subscription]
        self._changed()

    def end_all(self, reason: str) -> int:
        """End all of them in good order; returns how many."""
        for subscription in self._open:
            subscription.end(reason)
        return len(self._open)

    def remembers(self) -> dict[str, Any]:
        """The open subscriptions as plain values, for a recording; nothing where there are none.

        Of very many only the first are shown: every one that opens writes them all down.
        """
        rows = [one.remembers() for one in islice(self._open, MAX_SHOWN)]
        more = len(self._open) - len(rows)
        return {
            **({"subscriptions": rows} if rows else {}),
            **({"more subscriptions": more} if more else {}),
        }


@dataclass(frozen=True, slots=True)
class Listen:
    """`subscriptions/listen`.

    A server that can tell of nothing acknowledges an empty filter: the method itself belongs to no
    capability, and the specification has what is not supported left out of the acknowledgement.

    Attributes:
        source: the server.
        among: where the subscription is counted; a list of its own where the transport gave none.
    """

    source: Source
    among: OpenSubscriptions | None = None

    def check(self, params: dict[str, Any], version: str) -> Filter:
        """Read the filter.

        Raises:
            ProtocolError: -32602, the filter or another parameter has not the right form.
        """
        try:
            wanted = read_filter(params.get("notifications"))
        except ValueError as error:
            raise ProtocolError(INVALID_PARAMS, f"{LISTEN}: {error}") from None
        check_params(LISTEN, params, version)
        return wanted

    def authorise(self, principal: str, arguments: Any) -> None:
        """Everybody may listen: a notification says that something changed, and nothing of what is in it."""

    async def run(self, context: Context, arguments: Filter) -> dict[str, Any]:
        """Tell of changes until the server ends the subscription."""
        declared: Mapping[str, Any] = self.source.capabilities()
        agreed = arguments.supported(lambda path: declares(declared, path))
        subscription = Subscription(context.id, agreed, context.principal)
        among = self.among
        if among is None:
            among = OpenSubscriptions(announces=False, changed=lambda: None)
        among.add(subscription)
        # Before the acknowledgement is on its way: a change in between must not be lost.
        listening = self.source.changes.listen(subscription.take)
        meta = {SUBSCRIPTION_ID: context.id}
        try:
            await context.notify(ACKNOWLEDGED, {"notifications": agreed.to_json(), "_meta": meta})
            while (change := await subscription.next()) is not None:
                about = {} if change.uri is None else {"uri": change.uri}
                await context.notify(change.method, {**about, "_meta": meta})
            if among.announces:
                await context.notify(
                    CANCELLED, {"requestId": context.id, "reason": subscription.ending, "_meta": meta}
                )
        finally:
            listening.close()
            among.discard(subscription)
        return {"_meta": meta}
