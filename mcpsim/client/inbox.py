"""What becomes of each message that reaches a client: whose answer it is, whose progress, or the client's."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeGuard

from mcpsim.client.wire import Answer, Arrived, Pending
from mcpsim.eras.revisions import BATCHING_REVISIONS, Era
from mcpsim.errors import METHOD_NOT_FOUND, MalformedMessage, McpSimError
from mcpsim.messages import (
    Batch,
    ErrorResponse,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    is_progress_token,
    read_batch,
    read_message,
)
from mcpsim.recording.scribe import Scribe

# Made once: a union in an `isinstance` is made anew each time.
ANSWERS: Final = (Response, ErrorResponse)

Answered = Callable[[Answer | None], Awaitable[None]]
"""Takes the answer to a request of the server; None where it was cancelled and there is none."""


class Owner(Protocol):
    """What an inbox needs of its client."""

    era: Era
    version: str

    async def notified(self, message: Notification) -> None:
        """A notification came that is not about one request's progress."""
        ...

    def questioned(self, request: Request, reply: Answered) -> bool:
        """A request of the server came; whether it will be answered in a task of its own, by `reply`."""
        ...

    async def reply(self, *answers: Answer, batch: bool = False) -> None:
        """Send the answer to a request of the server, or those to a batch of them as one array."""
        ...


@dataclass(slots=True)
class _Followed:
    """A request that carries a progress token, and the latest progress of it."""

    pending: Pending
    progress: float | None = None


class BatchReply:
    """Collects the answers to the requests of a batch, and sends them as one array when all are there.

    The answers stand in the order of the requests.
    https://modelcontextprotocol.io/specification/2025-03-26/basic/index#batching

    Args:
        send: sends the array.
        count: how many requests there are.
    """

    def __init__(self, send: Callable[[Sequence[Answer]], Awaitable[None]], count: int) -> None:
        self._send = send
        self._answers: dict[int, Answer | None] = {}
        self._count = count

    def member(self, index: int) -> Answered:
        """What takes the answer to the request at `index`."""

        async def take(answer: Answer | None) -> None:
            self._answers[index] = answer
            if len(self._answers) == self._count:
                answers = [one for _, one in sorted(self._answers.items()) if one is not None]
                if answers:
                    await self._send(answers)

        return take


class Inbox:
    """Hands out what arrives on one connection.

    Whatever cannot be used is noted and skipped: nothing that a server sends ends the client.

    An answer belongs to a request where its id is the same JSON value. An id is a string or an integer, so
    `1.0` is no id of ours, although some JSON libraries write 1 so: an answer under it is no message, the
    request goes on waiting on a pipe, and has come to nothing over HTTP. See `is_request_id`.
    """

    def __init__(self, owner: Owner, scribe: Scribe) -> None:
        self._owner = owner
        self._scribe = scribe
        self._pending: dict[RequestId, list[Pending]] = {}
        self._tokens: dict[str | int, _Followed] = {}

    def expect(self, pending: Pending) -> None:
        """Wait for the answers to what is about to be sent.

        Two may wait for the same id, where somebody sends one twice to see what happens. The server refuses
        the second at once, so that the first answer is for the one that was sent last.
        """
        for id in pending.ids:
            self._pending.setdefault(id, []).append(pending)
        if pending.token is not None:
            self._tokens[pending.token] = _Followed(pending)

    def waiting_for(self, id: RequestId) -> Pending | None:
        """What waits for the answer to this id, or None."""
        return next((one for one in reversed(self._pending.get(id, ())) if one.awaits(id)), None)

    def follows(self, token: str | int) -> bool:
        """Whether a request in flight carries this progress token."""
        return token in self._tokens

    def forget(self, pending: Pending) -> None:
        """Nobody waits for these answers any more."""
        for id in pending.ids:
            waiting = self._pending[id]
            waiting.remove(pending)
            if not waiting:
                del self._pending[id]
        if pending.token is not None:
            followed = self._tokens.get(pending.token)
            if followed is not None and followed.pending is pending:
                del self._tokens[pending.token]

    async def take(self, data: bytes, exchange: Pending | None) -> Arrived:
        """Take in the bytes of one message.

        Args:
            exchange: what was sent in the HTTP exchange on which the message came; None on a pipe.

        Returns:
            What it was, for whoever sent raw bytes and wants to see everything.
        """
        try:
            arrived = read_batch(data)
        except MalformedMessage as error:
            self._skip(error)
            return error
        if not isinstance(arrived, Batch):
            await self._take_message(arrived, exchange)
        elif self._owner.version not in BATCHING_REVISIONS:
            self._scribe.note(f"Skipped: an array of messages. There are none in {self._owner.version}.")
        else:
            await self._take_batch(arrived, exchange)
        return arrived

    def settle(self, data: bytes) -> Callable[[], None] | None:
        """What becomes of most answers on a pipe, the same as by `take`; None for whatever else it is."""
        try:
            answer = read_message(data)
        except MalformedMessage:
            return None
        if not isinstance(answer, ANSWERS) or answer.id is None:
            return None
        for pending in reversed(self._pending.get(answer.id, ())):
            if pending.awaits(answer.id):
                return partial(pending.settle, answer)
        return None

    async def _take_batch(self, batch: Batch, exchange: Pending | None) -> None:
        async def send(answers: Sequence[Answer]) -> None:
            await self._reply(*answers, batch=True)

        requests = [member for member in batch.members if isinstance(member, Request)]
        together = BatchReply(send, len(requests))
        places = iter(range(len(requests)))
        for member in batch.members:
            if isinstance(member, MalformedMessage):
                self._skip(member)
            elif isinstance(member, Request):
                await self._take_request(member, together.member(next(places)))
            else:
                await self._take_message(member, exchange)

    def _skip(self, error: MalformedMessage) -> None:
        self._scribe.note(f"Skipped what is not a message: {error.message}")

    async def _take_message(self, message: Message, exchange: Pending | None) -> None:
        if isinstance(message, ANSWERS):
            self._take_answer(message, exchange)
        elif isinstance(message, Request):
            await self._take_request(message, self._reply_to(message))
        elif message.method == "notifications/progress":
            await self._take_progress(message.params or {})
        else:
            await self._owner.notified(message)

    def _take_answer(self, answer: Answer, exchange: Pending | None) -> None:
        if answer.id is None:
            # On HTTP the exchange says which request the error is about; on a pipe nothing does.
            if exchange is not None and not exchange.done.is_set():
                exchange.settle(answer)
            elif exchange is None:
                self._scribe.note(f"An error that names no request: {answer.code} {answer.message}")
            return
        waiting = [one for one in self._pending.get(answer.id, ()) if one.awaits(answer.id)]
        if not waiting:
            self._scribe.note(f"Ignored: an answer to #{answer.id}, for which nobody waits.")
        elif exchange is None:
            waiting[-1].settle(answer)
        elif exchange in waiting:
            exchange.settle(answer)
        else:
            # An answer belongs on the stream of its own request.
            self._scribe.note(f"Ignored: an answer to #{answer.id} on the stream of another request.")

    async def _take_progress(self, params: Mapping[str, Any]) -> None:
        token: Any = params.get("progressToken")
        followed = self._tokens.get(token) if is_progress_token(token) else None
        # The answer may be here, and the request not yet awake: it is no longer in flight.
        if followed is None or followed.pending.done.is_set():
            self._scribe.note(
                f"Ignored: progress for the token {token!r}, which no request in flight carries."
            )
            return
        progress, total, message = params.get("progress"), params.get("total"), params.get("message")
        if not _is_number(progress) or not (total is None or _is_number(total)):
            self._scribe.note(f"Ignored: progress {progress!r} of {total!r}; both must be numbers.")
        elif not (message is None or isinstance(message, str)):
            self._scribe.note("Ignored: progress with a message that is no text.")
        elif followed.progress is not None and progress <= followed.progress:
            self._scribe.note(f"Ignored: progress {progress} after {followed.progress}; it must increase.")
        else:
            followed.progress = progress
            if followed.pending.on_progress is not None:
                await called(followed.pending.on_progress, progress, total, message)

    def _reply_to(self, request: Request) -> Answered:
        async def reply(answer: Answer | None) -> None:
            if answer is not None:
                await self._reply(answer)

        return reply

    async def _reply(self, *answers: Answer, batch: bool = False) -> None:
        try:
            await self._owner.reply(*answers, batch=batch)
        except McpSimError as error:
            ids = ", ".join(f"#{answer.id}" for answer in answers)
            self._scribe.note(f"The answer to the server's request {ids} could not be sent: {error}")

    async def _take_request(self, request: Request, reply: Answered) -> None:
        if self._owner.era == "modern":
            # A modern server must not send requests, and a modern client must not send responses.
            self._scribe.note(f"Ignored: the request {request.method}. A modern server sends none.")
            return
        if self._owner.questioned(request, reply):
            return
        answer: Answer
        if request.method == "ping":
            answer = Response(request.id, {})
        else:
            answer = ErrorResponse(request.id, METHOD_NOT_FOUND, f"Method not found: {request.method}")
        await reply(answer)


async def called(callback: Callable[..., object], *arguments: Any) -> None:
    """Call a plain or an async function."""
    outcome = callback(*arguments)
    if inspect.isawaitable(outcome):
        await _finish(outcome)


async def _finish(outcome: Awaitable[object]) -> None:
    await outcome


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
