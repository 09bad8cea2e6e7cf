"""Listening for changes: `subscriptions/listen`, whose answer is a stream (modern).

The request is open for as long as the subscription is. What arrives for it is told apart by the subscription
id in its `_meta`, on every transport. A result, or `notifications/cancelled` that names the request, is the
server's end in good order (see `mcpsim.server.subscriptions` for why there are two signs); a stream that ends
without either has broken. A subscription is not taken up again by itself: what changed meanwhile would not be
told, so whoever listens has to look at everything anew.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import mcp_types

from mcpsim.client.methods import Methods
from mcpsim.client.wire import Pending
from mcpsim.errors import (
    ConnectionClosed,
    McpSimError,
    ProtocolError,
    RequestTimeout,
    UnexpectedResponse,
)
from mcpsim.messages import (
    ErrorResponse,
    Notification,
    Request,
    RequestId,
    is_request_id,
    meta_of,
    write_message,
)
from mcpsim.messages.meta import SUBSCRIPTION_ID
from mcpsim.utilities.subscriptions import RESOURCE_UPDATED, Filter, read_filter, wanted

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
CANCELLED: Final = "notifications/cancelled"

#: How long the result may take that follows the server's `notifications/cancelled`, in seconds.
LAST_RESULT_S: Final = 1.0
#: How many notifications may wait to be read. One more ends the subscription.
MAX_WAITING: Final = 10_000


class Subscription:
    """One open subscription: an async iterator over the notifications that it brings.

        async with client.listen(tools_list_changed=True) as subscription:
            async for notification in subscription:
                print(notification.method)

    The iteration ends where the server ends the subscription in good order, after everything that came
    before, and raises ConnectionClosed where the stream broke.

    Attributes:
        id: the id of the request that opened it, which every one of its messages carries.
    """

    def __init__(self, id: RequestId, requested: Filter) -> None:
        self.id = id
        self._requested = requested
        self._agreed: Filter | None = None
        self._waiting: deque[Notification] = deque()
        self._failure: Exception | None = None
        self._ended = False
        self._wake = anyio.Event()
        self._opened = anyio.Event()
        self.over = anyio.Event()
        self.scope = anyio.CancelScope()

    def __repr__(self) -> str:
        return f"<Subscription {self.id!r}: {self._agreed.to_json() if self._agreed else 'not acknowledged'}>"

    @property
    def acknowledged(self) -> mcp_types.SubscriptionFilter:
        """What the server agreed to tell of: all that was asked for, or less."""
        agreed = self._agreed or Filter()
        return mcp_types.SubscriptionFilter.model_validate(agreed.to_json())

    @property
    def missing(self) -> mcp_types.SubscriptionFilter:
        """What was asked for and the server does not tell of."""
        lacking = self._requested.without(self._agreed or Filter())
        return mcp_types.SubscriptionFilter.model_validate(lacking.to_json())

    @property
    def agreed(self) -> Filter | None:
        """The acknowledged filter in its plain form; None before the acknowledgement."""
        return self._agreed

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._ended

    @property
    def failure(self) -> Exception | None:
        """Why it ended, where that was not in good order."""
        return self._failure

    async def opened(self) -> None:
        """Wait until it is acknowledged, or over."""
        await self._opened.wait()

    def take(self, message: Notification) -> str:
        """Take in one of its notifications; returns what is wrong with it, or ""."""
        if self._ended:
            return "the subscription is over"
        if message.method == ACKNOWLEDGED:
            return self._acknowledge(message)
        if self._agreed is None:
            return "it came before the acknowledgement"
        if not self._is_agreed(message, self._agreed):
            return "the subscription is not about that"
        if len(self._waiting) >= MAX_WAITING:
            self.end(McpSimError(f"More than {MAX_WAITING} notifications wait to be read."))
            self.scope.cancel()
            return "too many wait to be read"
        self._waiting.append(message)
        self._wake.set()
        return ""

    def _acknowledge(self, message: Notification) -> str:
        if self._agreed is not None:
            return "the subscription was acknowledged before"
        try:
            self._agreed = read_filter((message.params or {}).get("notifications"))
        except ValueError as error:
            self.end(UnexpectedResponse(f"The acknowledgement of {LISTEN} cannot be read: {error}"))
            self.scope.cancel()
            return str(error)
        self._opened.set()
        return ""

    @staticmethod
    def _is_agreed(message: Notification, agreed: Filter) -> bool:
        if message.method != RESOURCE_UPDATED:
            return agreed.wants(message.method)
        # The URI may be that of a part of a resource that was named, so that it need not be in the list.
        return bool(agreed.uris) and isinstance((message.params or {}).get("uri"), str)

    def end(self, failure: Exception | None = None) -> None:
        """Nothing more will come; the first reason counts.

        Args:
            failure: None for an end in good order.
        """
        if not self._ended:
            self._ended, self._failure = True, failure
            self._wake.set()
            self._opened.set()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Notification:
        while not self._waiting and not self._ended:
            self._wake = anyio.Event()
            await self._wake.wait()
        if self._waiting:
            return self._waiting.popleft()
        if self._failure is not None:
            raise self._failure
        raise StopAsyncIteration


class Listener(Methods):
    """The part of a client that listens for changes.

    Attributes:
        standing_stream: whether to open a stream with GET in each new session (legacy, HTTP).
    """

    def __init__(self, *described: Any, standing_stream: bool, **more: Any) -> None:
        super().__init__(*described, **more)
        self.standing_stream = standing_stream
        self._subscriptions: dict[RequestId, Subscription] = {}

    async def _begin(self) -> None:
        await super()._begin()
        if self.standing_stream:
            await self._attached_wire().stand(self._headers(None))

    @asynccontextmanager
    async def listen(
        self,
        *,
        tools_list_changed: bool = False,
        prompts_list_changed: bool = False,
        resources_list_changed: bool = False,
        resource_subscriptions: Iterable[str] = (),
        timeout_s: float | None = None,
    ) -> AsyncGenerator[Subscription]:
        """Listen for changes for the length of an `async with` block (modern: `subscriptions/listen`).

        Entering waits for the server's acknowledgement, which may agree to less than was asked for: look at
        `subscription.acknowledged`. Leaving ends the subscription in the transport's own way.

        Args:
            tools_list_changed, prompts_list_changed, resources_list_changed: whether to hear when a list
                changes.
            resource_subscriptions: the URIs of resources whose updates are wanted.
            timeout_s: how long to wait for the acknowledgement, in seconds.

        Raises:
            TypeError: `resource_subscriptions` is one string.
            McpSimError: the connection is a legacy one. There it is `subscribe` for resources; changes of
                lists are told without being asked for.
            ProtocolError: the server refuses.
            RequestTimeout: no acknowledgement in time; the request was cancelled.
            ConnectionClosed, UnexpectedResponse: there is no subscription that could be used.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
        """
        requested = wanted(
            tools_list_changed=tools_list_changed,
            prompts_list_changed=prompts_list_changed,
            resources_list_changed=resources_list_changed,
            resource_subscriptions=resource_subscriptions,
        )
        if self.era != "modern":
            raise McpSimError(
                f"{LISTEN}: this connection speaks {self.version}, which has no such method. Use subscribe() "
                "for resources; changes of lists come without being asked for."
            )
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        try:
            subscription = await self._open(requested, limit_s)
        except ProtocolError as error:
            self._change_version(error)
            subscription = await self._open(requested, limit_s)
        except (RequestTimeout, UnexpectedResponse) as error:
            self._advise(error)
            raise
        self._answered_as_modern = True
        try:
            yield subscription
        finally:
            await self._close(subscription)

    async def _open(self, requested: Filter, limit_s: float) -> Subscription:
        self._attached_wire()
        id, self._next_id = self._next_id, self._next_id + 1
        subscription = self._subscriptions[id] = Subscription(id, requested)
        request = Request(id, LISTEN, self._params({"notifications": requested.to_json()}, None, None))
        if self._tasks is not None:
            self._tasks.start_soon(self._drive, request, subscription, name=f"client: {LISTEN} #{id}")
        try:
            with anyio.move_on_after(limit_s):
                await subscription.opened()
        except BaseException:
            await self._close(subscription)
            raise
        agreed = subscription.agreed
        if agreed is None:
            late = not subscription.ended
            await self._close(subscription)
            if late:
                raise RequestTimeout(
                    f"{LISTEN} #{id} was not acknowledged within {limit_s:g} s; it was cancelled."
                )
            raise subscription.failure or UnexpectedResponse(f"{LISTEN} was answered, not acknowledged.")
        missing = requested.without(agreed).to_json()
        if missing:
            self._scribe.note(
                f"The server does not tell of all that was asked for: not {', '.join(missing)}."
            )
        self._remember()
        return subscription

    async def _drive(self, request: Request, subscription: Subscription) -> None:
        """Hold the request open for as long as the subscription is."""
        pending = Pending((request.id,))
        self._inbox.expect(pending)
        wire = self._attached_wire()
        try:
            with subscription.scope:
                try:
                    await wire.request(write_message(request), self._headers(request), pending)
                except McpSimError as error:
                    subscription.end(error)
                except anyio.get_cancelled_exc_class():
                    if pending.answer is None and not subscription.ended:
                        await self._abandon(wire, request, timed_out=False)
                    raise
        finally:
            self._inbox.forget(pending)
            subscription.end(_failure_of(pending))
            subscription.over.set()

    async def _close(self, subscription: Subscription) -> None:
        # Where it has ended, the result may be right behind: see `_take_end`.
        if not subscription.ended:
            subscription.scope.cancel()
        with anyio.CancelScope(shield=True):
            await subscription.over.wait()
        del self._subscriptions[subscription.id]
        if subscription.agreed is not None:
            self._remember()

    async def notified(self, message: Notification) -> None:
        id: Any = meta_of(message.params).get(SUBSCRIPTION_ID)
        cancelled: Any = (message.params or {}).get("requestId") if message.method == CANCELLED else None
        if is_request_id(cancelled) and cancelled in self._subscriptions:
            self._take_end(self._subscriptions[cancelled])
        elif is_request_id(id):
            subscription = self._subscriptions.get(id)
            if message.method != ACKNOWLEDGED:
                # First of all whatever else depends on it, such as a cache: whoever listens may ask again.
                await super().notified(message)
            fault = "no such subscription is open" if subscription is None else subscription.take(message)
            if fault:
                self._scribe.note(f"Ignored: {message.method} for the subscription {id!r}: {fault}.")
        else:
            await super().notified(message)

    def _take_end(self, subscription: Subscription) -> None:
        subscription.end()
        # The result may be right behind it; it is waited for, so that it does not come to nobody.
        subscription.scope.deadline = anyio.current_time() + LAST_RESULT_S

    def _memory(self) -> dict[str, Any]:
        memory = super()._memory()
        rows = [
            {"id": one.id, "notifications": one.agreed.to_json()}
            for one in self._subscriptions.values()
            if one.agreed is not None
        ]
        return {**memory, "subscriptions": rows} if rows else memory


def _failure_of(pending: Pending) -> Exception | None:
    if isinstance(pending.answer, ErrorResponse):
        return ProtocolError(pending.answer.code, pending.answer.message, pending.answer.data)
    if pending.answer is None:
        return pending.failure or ConnectionClosed("The subscription was closed.")
    kind = pending.answer.result.get("resultType", "complete")
    if kind != "complete":
        return UnexpectedResponse(f"The result of {LISTEN} has the resultType {kind!r}, not 'complete'.")
    return None
