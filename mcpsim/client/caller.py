"""Sending a request and waiting for its answer: ids, metadata, headers, tokens, timeouts, cancellation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from mcpsim.client.inbox import Answered, Inbox, called
from mcpsim.client.patience import Patience
from mcpsim.client.wire import CLOSE_TIMEOUT_S, Answer, OnProgress, Pending, Reply, Wire
from mcpsim.eras import modern
from mcpsim.eras.revisions import VERSION_HEADER_REVISIONS, Era
from mcpsim.errors import (
    ConnectionClosed,
    MalformedMessage,
    McpSimError,
    ProtocolError,
    RequestStopped,
    RequestTimeout,
)
from mcpsim.messages import (
    Batch,
    ErrorResponse,
    Message,
    Notification,
    Request,
    RequestId,
    from_object,
    is_progress_token,
    meta_of,
    read_batch,
    write_json,
    write_message,
)
from mcpsim.messages.meta import LOG_LEVEL, PROGRESS_TOKEN
from mcpsim.recording.scribe import Scribe
from mcpsim.transports.http import PROTOCOL_VERSION_HEADER, Headers, Mirrored, modern_headers

# How many times its own timeout a request may take where progress renews it and nobody set a maximum.
MOST_RENEWALS: Final = 10

RawData = bytes | str | Mapping[str, Any] | list[Any]


class Caller:
    """The part of a client that knows one connection, and nothing about what the methods mean.

    Attributes:
        era, version: how requests are written at the moment.
        timeout_s, max_timeout_s: how long to wait for an answer, in seconds; and at most, however much
            progress there is.
        log_level: the level that modern requests ask log messages of, or None for no such messages.
        notifications: what the server sent without being asked, in order.
        on_notification: called with each of these, or None. It must not wait for the server: on stdio the
            next message is read only when it is done.
    """

    def __init__(
        self,
        info: Mapping[str, Any],
        capabilities: Mapping[str, Any],
        *,
        era: Era,
        version: str,
        timeout_s: float,
        max_timeout_s: float | None,
        anonymous: bool,
        log_level: str | None,
    ) -> None:
        self.info = info
        self.capabilities = capabilities
        self.era: Era = era
        self.version = version
        self.timeout_s = timeout_s
        self.max_timeout_s = max_timeout_s
        self.anonymous = anonymous
        self.log_level = log_level
        self.notifications: list[Notification] = []
        self.on_notification: Any = None
        self._wire: Wire | None = None
        self._tasks: TaskGroup | None = None
        self._scribe = Scribe(None, "client")
        self._inbox = Inbox(self, self._scribe)
        self._next_id = 1
        self._cancelling: set[anyio.Event] = set()

    def _attach(self, wire: Wire, scribe: Scribe, tasks: TaskGroup) -> None:
        self._wire, self._scribe, self._tasks = wire, scribe, tasks
        self._inbox = Inbox(self, scribe)
        wire.keep_session(self.era == "legacy")
        wire.start(tasks, self._inbox.take, self._inbox.settle)

    def _attached_wire(self) -> Wire:
        if self._wire is None:
            raise ConnectionClosed("This client is attached to no server: use it inside a story.")
        return self._wire

    async def notified(self, message: Notification) -> None:
        """Take in a notification of the server."""
        self.notifications.append(message)
        if self.on_notification is not None:
            await called(self.on_notification, message)

    def questioned(self, request: Request, reply: Answered) -> bool:
        """Begin to answer a request of the server (legacy); False where nobody here can."""
        return False

    async def reply(self, *answers: Answer, batch: bool = False) -> None:
        """Answer a request of the server (legacy), or a batch of them."""
        written = b",".join(map(write_message, answers))
        await self._post("The answer", b"[" + written + b"]" if batch else written, self._headers(None))

    async def _call(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        on_progress: OnProgress | None,
        timeout_s: float | None,
        meta: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        reset_on_progress: bool = False,
    ) -> dict[str, Any]:
        """Send one request and wait for its answer; see `Client.request`."""
        wire = self._attached_wire()
        id = self._next_id
        self._next_id = id + 1
        follows = on_progress is not None or reset_on_progress
        token = self._token(id, meta) if follows else None
        request = Request(id, method, self._params(params, token, meta))
        if not follows:
            token = self._unheard(request)
        pending = Pending((id,), token, on_progress)
        if method != "initialize":
            # https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements
            pending.stop = pending.done.give_up
        patience = self._patience(timeout_s, reset_on_progress)
        self._inbox.expect(pending)
        try:
            data = write_message(request)
            if reset_on_progress or not await self._exchange_now(wire, request, data, pending, patience):
                with anyio.move_on_after(patience.first_s) as scope:
                    if pending.stop is not None:
                        pending.stop = scope.cancel
                    if reset_on_progress:
                        pending.on_progress = patience.renewing(scope, on_progress)
                    try:
                        await wire.request(data, self._headers(request, headers), pending)
                    except anyio.get_cancelled_exc_class():
                        if pending.answer is None:
                            timed_out = scope.cancel_called and not pending.stopped
                            await self._abandon(wire, request, timed_out=timed_out)
                        raise
        finally:
            self._inbox.forget(pending)
        return self._outcome(request, pending, patience)

    async def _exchange_now(
        self, wire: Wire, request: Request, data: bytes, pending: Pending, patience: Patience
    ) -> bool:
        """Send a request and wait for its answer without a cancel scope, where sending needs no waiting.

        It is the same to everybody else, and takes a good part of the time. False: nothing was sent.
        """
        if wire.is_http:
            return False
        done = pending.done
        done.expire_after(patience.first_s)
        if not wire.send_now(data, pending):
            done.expire_never()
            return False
        try:
            try:
                await done.waiting()
            finally:
                done.waited()
                wire.forget(pending)
        except anyio.get_cancelled_exc_class():
            if pending.answer is None:
                await self._abandon(wire, request, timed_out=done.expired)
            raise
        if done.expired and pending.answer is None:
            await self._abandon(wire, request, timed_out=not pending.stopped)
        return True

    def stop(self, id: RequestId) -> bool:
        """Cancel a request in flight from outside, as a host does where its user presses Stop.

        The server is told in the way of the transport, and whoever waits for the answer gets
        `RequestStopped`. To be called where the connection's tasks run.

        Returns:
            Whether there was such a request, and it can be cancelled: `initialize` can not.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
        """
        pending = self._inbox.waiting_for(id)
        if pending is None or pending.stop is None:
            return False
        pending.stopped = True
        pending.stop()
        return True

    def _patience(self, timeout_s: float | None, renewed: bool) -> Patience:
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        max_s = self.max_timeout_s
        if max_s is None:
            # Progress must not keep a request alive for ever, also where nobody set a bound.
            max_s = limit_s * MOST_RENEWALS if renewed else limit_s
        return Patience(limit_s, max_s)

    def _token(self, id: RequestId, meta: Mapping[str, Any] | None) -> str | int:
        """The progress token of a request: the caller's; or its own id, where no other request has that."""
        chosen = _token_in(meta)
        if chosen is not None:
            return chosen
        return f"progress-{id}" if self._inbox.follows(id) else id

    def _unheard(self, request: Request) -> str | int | None:
        """The progress token in a request whose progress nobody wants to hear of.

        None also where another request in flight has it: that one may be listened to.
        """
        token = _token_in(meta_of(request.params))
        return None if token is None or self._inbox.follows(token) else token

    def _outcome(self, request: Request, pending: Pending, patience: Patience) -> dict[str, Any]:
        answer = pending.answer
        if answer is None:
            if pending.failure is not None:
                raise pending.failure
            if pending.stopped:
                raise RequestStopped(f"{request.method} #{request.id} was stopped; it was cancelled.")
            raise RequestTimeout(
                f"No answer to {request.method} #{request.id} within {patience}"
                + ("." if request.method == "initialize" else "; it was cancelled.")
            )
        if isinstance(answer, ErrorResponse):
            raise ProtocolError(answer.code, answer.message, answer.data)
        return answer.result

    async def _abandon(self, wire: Wire, request: Request, *, timed_out: bool) -> None:
        # On HTTP the modern signal is the closed stream, and the wire has closed it. Elsewhere it is a
        # notification. A legacy `initialize` must never be cancelled.
        if request.method == "initialize" or (wire.is_http and self.era == "modern"):
            return
        params: dict[str, Any] = {"requestId": request.id}
        if timed_out:
            params["reason"] = "The answer took too long."
        if wire.is_http and self._tasks is not None:
            # Nobody waits for what the endpoint says to it: who cancels wants to go on.
            sent = anyio.Event()
            self._cancelling.add(sent)
            self._tasks.start_soon(self._cancel_aside, params, sent, name="client: cancellation")
        else:
            await self._send_cancellation(params)

    async def _cancel_aside(self, params: dict[str, Any], sent: anyio.Event) -> None:
        try:
            await self._send_cancellation(params)
        finally:
            self._cancelling.discard(sent)
            sent.set()

    async def _end_cancelling(self) -> None:
        """Wait for the cancellations that are on their way: after the session's end nobody takes them."""
        with anyio.move_on_after(CLOSE_TIMEOUT_S):
            for sent in tuple(self._cancelling):
                await sent.wait()

    async def _send_cancellation(self, params: dict[str, Any]) -> None:
        with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
            try:
                await self._notify("notifications/cancelled", params)
            except McpSimError as error:
                self._scribe.note(f"The cancellation could not be sent: {error}")

    async def _notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        message = Notification(method, dict(params) if params is not None else None)
        await self._post(method, write_message(message), self._headers(message))

    async def _post(self, what: str, data: bytes, headers: Headers) -> None:
        """Send what has no answer. On HTTP the endpoint says all the same whether it took it."""
        wire = self._attached_wire()
        with anyio.move_on_after(self.timeout_s) as scope:
            await wire.post(data, headers)
        if scope.cancelled_caught:
            raise RequestTimeout(f"{what} was not taken in within {self.timeout_s:g} s.")

    async def send_raw(
        self, data: RawData, *, headers: Mapping[str, str] | None = None, timeout_s: float = 1.0
    ) -> Reply:
        """Send exactly these bytes (or this JSON value) as one message, and collect what comes back.

        On stdio the answer is the response with the message's id, or an error without an id. Where the
        answer does not come in time, the reply holds what came until then, often nothing.

        Args:
            headers: HTTP headers to set over the ones that would be right; an empty value takes one out.
            timeout_s: how long to wait, in seconds.
        """
        raw = _as_bytes(data)
        message = _as_message(raw)
        wire = self._attached_wire()
        is_answered = message is None or isinstance(message, Request | Batch)
        if not wire.is_http and not is_answered:
            await wire.post(raw, Headers())
            return Reply(None, Headers(), ())
        known = message if isinstance(message, Request | Notification) else None
        token = self._unheard(message) if isinstance(message, Request) else None
        pending = Pending(_ids(raw, message), token, arrived=[])
        self._inbox.expect(pending)
        try:
            with anyio.move_on_after(timeout_s):
                await wire.raw(raw, self._headers(known, headers), pending)
        finally:
            self._inbox.forget(pending)
        if pending.failure is not None:
            raise pending.failure
        return Reply(pending.status, pending.headers, tuple(pending.arrived or ()))

    def _params(
        self, params: Mapping[str, Any] | None, token: str | int | None, extra: Mapping[str, Any] | None
    ) -> dict[str, Any] | None:
        meta: dict[str, Any] = {}
        if self.era == "modern":
            meta = modern.request_meta(self.version, self.capabilities, None if self.anonymous else self.info)
            if self.log_level is not None:
                meta[LOG_LEVEL] = self.log_level
        if token is not None:
            meta[PROGRESS_TOKEN] = token
        if extra is not None:
            for key, value in extra.items():
                if value is None:
                    meta.pop(key, None)
                else:
                    meta[key] = value
        if not meta:
            return None if params is None else dict(params)
        return {**(params or {}), "_meta": meta}

    def _repeated_arguments(self, request: Request) -> Iterable[Mirrored]:
        """What the headers of a modern request repeat of its body, beside the standard headers."""
        return ()

    def _headers(
        self, message: Request | Notification | None, changes: Mapping[str, str] | None = None
    ) -> Headers:
        wire = self._wire
        if wire is None or not wire.is_http:
            return _NO_HEADERS
        if self.era == "modern" and isinstance(message, Request):
            headers = modern_headers(message, None, self._repeated_arguments(message))
        elif self.era == "modern" and isinstance(message, Notification):
            headers = modern_headers(message, self.version)
        else:
            headers = _LEGACY_HEADERS
            first = isinstance(message, Request) and message.method == "initialize"
            if not first and self.version in VERSION_HEADER_REVISIONS:
                headers = headers.with_(PROTOCOL_VERSION_HEADER, self.version)
        for name, value in (changes or {}).items():
            headers = headers.with_(name, value) if value else headers.without(name)
        return headers


_NO_HEADERS: Final = Headers()
_LEGACY_HEADERS: Final = Headers(
    {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
)


def _token_in(meta: Mapping[str, Any] | None) -> str | int | None:
    """The progress token that the caller chose, or None."""
    chosen: Any = (meta or {}).get(PROGRESS_TOKEN)
    return chosen if is_progress_token(chosen) else None


def _as_bytes(data: RawData) -> bytes:
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    return write_json(data)


def _as_message(raw: bytes) -> Message | Batch | None:
    try:
        return read_batch(raw)
    except MalformedMessage:
        return None


def _ids(raw: bytes, message: Message | Batch | None) -> tuple[RequestId, ...]:
    """The ids under which the answers to raw bytes may come."""
    if isinstance(message, Request):
        return (message.id,)
    if isinstance(message, Batch):
        members = [one.id for one in message.members if isinstance(one, Request | MalformedMessage)]
        return tuple(dict.fromkeys(id for id in members if id is not None))
    loose = _loose_id(raw) if message is None else None
    return () if loose is None else (loose,)


def _loose_id(raw: bytes) -> RequestId | None:
    """The id of something that is no well-formed request but may still be answered under its id."""
    try:
        from_object(json.loads(raw))
    except MalformedMessage as error:
        return error.id
    except (ValueError, RecursionError):
        return None
    return None
