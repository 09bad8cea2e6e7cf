"""A server on a byte stream of lines: stdio, or anything like it.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup

from mcpsim.eras import legacy, modern
from mcpsim.eras.legacy import Action
from mcpsim.eras.negotiation import choose_era_of_server
from mcpsim.errors import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ConnectionClosed,
    FramingError,
    MalformedMessage,
    ProtocolError,
)
from mcpsim.messages import (
    Batch,
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    read_batch,
    read_message,
    write_message,
)
from mcpsim.recording.scribe import Scribe
from mcpsim.server.dispatch import Answer, Dispatcher, Flight, Questions, Tokens, initialize_result
from mcpsim.server.server import Server
from mcpsim.transports.stdio import LineReader, frame
from mcpsim.transports.streams import ByteStream

Deliver = Callable[[bytes], Any]


class StdioServing:
    """Serves one connection until its input ends.

    Args:
        server: what to serve.
        stream: reads the client's lines, writes ours.
        scribe: where to write down what the server knows.
        tokens: makes unguessable names.
        principal: who started this process, or "".
    """

    def __init__(
        self, server: Server, stream: ByteStream, *, scribe: Scribe, tokens: Tokens, principal: str = ""
    ) -> None:
        self._server = server
        self._stream = stream
        self._scribe = scribe
        self._principal = principal
        self._session = legacy.Session(server.legacy_versions)
        self._questions = Questions()
        self._dispatcher = Dispatcher(server, scribe, tokens)

    async def run(self) -> None:
        """Serve until the client closes our input; then stop what is in work and close our output."""
        lines = LineReader()
        async with anyio.create_task_group() as tasks:
            while True:
                try:
                    chunk = await self._stream.receive()
                except (anyio.EndOfStream, ConnectionClosed):
                    break
                for line in lines.feed(chunk):
                    await self._take(tasks, line)
            leftover = lines.finish()
            if leftover:
                self._scribe.note(f"The input ended in the middle of a message of {len(leftover)} bytes.")
            if self._session.phase is not legacy.Phase.NEW:
                self._session.phase = legacy.Phase.CLOSED
                self._scribe.state({})
            self._dispatcher.cancel_all()
        await self._stream.aclose()

    async def _send(self, data: bytes) -> None:
        await self._stream.send(frame(data))

    async def _answer(self, answer: Answer | None) -> None:
        if answer is not None:
            await self._send(write_message(answer))

    async def _take(self, tasks: TaskGroup, line: bytes | FramingError) -> None:
        if isinstance(line, FramingError):
            await self._answer(ErrorResponse(None, INVALID_REQUEST, str(line)))
            return
        try:
            message = read_batch(line) if self._session.batches else read_message(line)
        except MalformedMessage as error:
            await self._refuse(line, error)
            return
        if isinstance(message, Batch):
            await self._take_batch(tasks, message)
        else:
            await self._take_message(tasks, message, line, self._answer)

    async def _refuse(self, line: bytes, error: MalformedMessage) -> None:
        if error.code == PARSE_ERROR or error.expects_answer:
            await self._answer(ErrorResponse(error.id, error.code, error.message, error.data))
        else:
            self._scribe.note(f"Not answered, because it is no request: {error.message}")

    async def _take_message(self, tasks: TaskGroup, message: Message, line: bytes, answer: Any) -> None:
        if self._era(message) == "modern":
            await self._take_modern(tasks, message, line, answer)
        else:
            await self._take_legacy(tasks, message, answer)

    def _era(self, message: Message) -> str:
        if self._server.era != "both":
            return self._server.era
        return choose_era_of_server(message, has_session=self._session.phase is not legacy.Phase.NEW)

    async def _take_modern(self, tasks: TaskGroup, message: Message, line: bytes, answer: Any) -> None:
        if isinstance(message, Notification):
            self._take_notification(message)
            return
        if not isinstance(message, Request):
            self._scribe.note("Ignored: a response. A modern server asks nothing, so nobody waits for one.")
            return
        visit = modern.Visit(self._server, line, None, self._principal, message)
        try:
            modern.admit(visit)
            flight = self._dispatcher.take_off(message.id)
        except ProtocolError as error:
            await answer(ErrorResponse(message.id, error.code, error.message, error.data))
            return
        tasks.start_soon(self._run_modern, visit, flight, answer, name=f"server: {message.method}")

    async def _run_modern(self, visit: modern.Visit, flight: Flight, answer: Any) -> None:
        await answer(await self._dispatcher.modern(visit, flight, self._send))

    def _take_notification(self, message: Notification) -> None:
        if message.method != "notifications/cancelled":
            return
        id = (message.params or {}).get("requestId")
        if not self._dispatcher.cancel(id):
            self._scribe.note(f"Nothing to cancel: no request with the id {id!r} is in work.")

    async def _take_legacy(self, tasks: TaskGroup, message: Message, answer: Any) -> None:
        session = self._session
        try:
            action = session.take(message)
            if isinstance(message, Request):
                await self._take_legacy_request(tasks, message, action, answer)
            elif isinstance(message, Notification):
                if action is Action.BEGIN:
                    self._scribe.state(session.remembers())
                elif action is Action.ACCEPT:
                    self._take_notification(message)
                else:
                    self._scribe.note(f"Ignored in the phase {session.phase}: {message.method}.")
            elif action is Action.IGNORE or not self._questions.take(message):
                self._scribe.note("Ignored: a response that nobody waits for.")
        except ProtocolError as error:
            id = message.id if isinstance(message, Request) else None
            await answer(ErrorResponse(id, error.code, error.message, error.data))

    async def _take_legacy_request(
        self, tasks: TaskGroup, request: Request, action: Action, answer: Any
    ) -> None:
        session = self._session
        if action is Action.ANSWER_INITIALIZE:
            session.open(request.params or {})
            self._scribe.state(session.remembers())
            await answer(Response(request.id, initialize_result(self._server, session)))
        elif action is Action.ANSWER_PING:
            await answer(Response(request.id, {}))
        else:
            flight = self._dispatcher.take_off(request.id)
            tasks.start_soon(self._run_legacy, request, flight, answer, name=f"server: {request.method}")

    async def _run_legacy(self, request: Request, flight: Flight, answer: Any) -> None:
        dispatcher = self._dispatcher
        await answer(
            await dispatcher.legacy(
                self._session, request, flight, self._send, self._questions, self._principal
            )
        )

    async def _take_batch(self, tasks: TaskGroup, batch: Batch) -> None:
        gathered = _Gathered(self._send, expected=sum(_is_answered(one) for one in batch.members))
        for member in batch.members:
            if isinstance(member, MalformedMessage):
                if member.expects_answer:
                    await gathered.add(ErrorResponse(member.id, member.code, member.message, member.data))
                continue
            await self._take_message(tasks, member, b"", gathered.add)


class _Gathered:
    """The answers to the members of a batch: sent as one array when the last one is there.
    https://modelcontextprotocol.io/specification/2025-03-26/basic/index#batching
    """

    def __init__(self, send: Callable[[bytes], Any], expected: int) -> None:
        self._send = send
        self._expected = expected
        self._answers: list[bytes] = []

    async def add(self, answer: Answer | None) -> None:
        if answer is None:
            self._expected -= 1
        else:
            self._answers.append(write_message(answer))
        if self._answers and len(self._answers) == self._expected:
            await self._send(b"[" + b",".join(self._answers) + b"]")


def _is_answered(member: Message | MalformedMessage) -> bool:
    if isinstance(member, MalformedMessage):
        return member.expects_answer
    return isinstance(member, Request)
