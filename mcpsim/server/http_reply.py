"""How an answer goes back over HTTP: as one JSON body, or as a stream of server-sent events.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages
"""

from __future__ import annotations

from typing import Final

from mcpsim.errors import ERROR_CODES, INVALID_PARAMS, INVALID_REQUEST
from mcpsim.messages import ErrorResponse, RequestId, write_message
from mcpsim.recording.scribe import Scribe
from mcpsim.server.dispatch import Answer, write_answer
from mcpsim.transports.http import Headers, HttpHead, sse_event
from mcpsim.transports.streams import HttpReply

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
OK: Final = 200
ACCEPTED: Final = 202
BAD_REQUEST: Final = 400
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
METHOD_NOT_ALLOWED: Final = 405
NOT_ACCEPTABLE: Final = 406
UNSUPPORTED_MEDIA_TYPE: Final = 415


class Refusal(Exception):
    """The transport refuses: a status, and a JSON-RPC error where there is something to say."""

    def __init__(self, status: int, text: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(status, text)
        self.id: RequestId | None = None
        self.status = status
        self.text = text
        self.headers = headers or {}

    async def send(self, reply: HttpReply) -> None:
        """Answer so."""
        body = write_message(ErrorResponse(self.id, INVALID_REQUEST, self.text)) if self.text else b""
        await send_json(reply, self.status, body, self.headers)


class AnswerStream:
    """The answer to one request: plain JSON where nothing comes before it, an event stream otherwise."""

    def __init__(self, reply: HttpReply, scribe: Scribe) -> None:
        self._reply = reply
        self._scribe = scribe
        self._streaming = False

    async def __call__(self, data: bytes) -> None:
        """The same as `event`: a stream is what a handler sends its messages with."""
        await self.event(data)

    async def event(self, data: bytes) -> None:
        """Send a message that comes before the answer."""
        head = None
        if not self._streaming:
            self._streaming = True
            head = stream_head()
        await self._reply.send(head, sse_event(data))

    async def answer(
        self, answer: Answer | None, *, status: int = OK, headers: dict[str, str] | None = None
    ) -> None:
        """Send the answer and finish; None for a request that was cancelled.

        Args:
            status, headers: for the head of the response, where it was not sent yet.
        """
        if answer is None:
            await self.abandon()
        else:
            await self.finish(write_answer(answer, self._scribe), status, headers)

    async def finish(self, data: bytes, status: int = OK, headers: dict[str, str] | None = None) -> None:
        """Send the bytes of the answer and finish."""
        if self._streaming:
            await self._reply.send(None, sse_event(data))
            await self._reply.end()
        else:
            await send_json(self._reply, status, data, headers)

    async def accept(self) -> None:
        """Say that what came was taken in, and that it has no answer."""
        await send_json(self._reply, ACCEPTED)

    async def abandon(self) -> None:
        """Finish without an answer: a client that still listens (legacy) sees the stream end."""
        if not self._streaming:
            await self._reply.send(stream_head(), b"")
        await self._reply.end()


def stream_head() -> HttpHead:
    """The head of a response that is an event stream."""
    # The second header asks reverse proxies not to hold events back.
    return HttpHead(OK, Headers({"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no"}))


def modern_status(answer: Answer | None) -> int:
    """The HTTP status of an answer under the modern protocol.

    The specification fixes 400 for -32602 only where `_meta` lacks a required field. One status for one code
    is simpler to rely on, and the official SDK does the same. It fixes none for -32603; what went wrong is
    inside the server's handler and HTTP itself worked, so it is 200.
    """
    if not isinstance(answer, ErrorResponse):
        return OK
    if answer.code == INVALID_PARAMS:
        return BAD_REQUEST
    row = ERROR_CODES.get(answer.code)
    return row.http_status if row is not None and row.http_status is not None else OK


async def send_json(
    reply: HttpReply, status: int, body: bytes = b"", headers: dict[str, str] | None = None
) -> None:
    """Send a complete response."""
    named = {"Content-Type": JSON, **(headers or {})} if body else dict(headers or {})
    await reply.send(HttpHead(status, Headers(named)), body)
    await reply.end()
