"""A server on a byte stream of lines: stdio, or anything like it.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from mcpsim.eras import legacy, modern
from mcpsim.eras.negotiation import choose_era_of_server
from mcpsim.errors import PARSE_ERROR, ConnectionClosed, FramingError, MalformedMessage, ProtocolError
from mcpsim.messages import Batch, ErrorResponse, Message, Notification, Request, read_batch, read_message
from mcpsim.recording.scribe import Scribe
from mcpsim.server.asking import Clock
from mcpsim.server.context import ASK_TIMEOUT_S
from mcpsim.server.dispatch import (
    ANSWERS,
    Answer,
    Dispatcher,
    ExitAs,
    Flight,
    Tokens,
    current_ms,
    write_answer,
)
from mcpsim.server.server import Server
from mcpsim.server.sessions import ServedSession, Taken, answer_batch
from mcpsim.server.subscriptions import OpenSubscriptions
from mcpsim.transports.stdio import LineReader, frame
from mcpsim.transports.streams import ByteStream, QuickStream, quick

#: How many messages that belong to no request may wait for a client that does not read (legacy).
MAX_WAITING: Final = 10_000
#: How many answers may wait for a client that does not read, before nothing more is read of it either.
MAX_UNWRITTEN: Final = 10_000


class StdioServing:
    """Serves one connection until its input ends.

    Args:
        server: what to serve.
        stream: reads the client's lines, writes ours.
        scribe: where to write down what the server knows.
        tokens: makes unguessable names.
        principal: who started this process, or "".
        state_clock: the time by which request state expires, in whole milliseconds. A server that is started
            again needs the same; by default it is the event loop's.
        exit_as: makes what goes up in the place of a handler's SystemExit; None: itself does.
    """

    def __init__(
        self,
        server: Server,
        stream: ByteStream,
        *,
        scribe: Scribe,
        tokens: Tokens,
        principal: str = "",
        state_clock: Clock = current_ms,
        exit_as: ExitAs | None = None,
    ) -> None:
        self._server = server
        self._stream = stream
        self._quick = quick(stream)
        self._scribe = scribe
        self._principal = principal
        self._dispatcher = Dispatcher(server, scribe, tokens, state_clock=state_clock, exit_as=exit_as)
        self._session = legacy.Session(server.legacy_versions)
        self._served = ServedSession(self._session, self._dispatcher, self._send_unrelated, principal)
        self._subscriptions = OpenSubscriptions(announces=True, changed=self._note_state)
        self._tasks: TaskGroup | None = None
        self._unsent: deque[bytes] = deque()
        self._loses = False
        self._unwritten = 0
        self._unread = False
        self._written = anyio.Event()

    def end_subscriptions(self, reason: str = "The server ends its subscriptions.") -> int:
        """End all subscriptions of this connection in good order (modern); returns how many.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure
        """
        return self._subscriptions.end_all(reason)

    async def ask(
        self, method: str, params: dict[str, Any] | None = None, *, timeout_s: float = ASK_TIMEOUT_S
    ) -> dict[str, Any]:
        """Send a request that belongs to none of the client's requests (legacy), and wait for its result.

        Args:
            timeout_s: how long to wait, in seconds.

        Raises:
            McpSimError, RequestTimeout, ProtocolError: as `Context.request`.
        """
        return await self._served.ask(method, params, timeout_s=timeout_s)

    async def run(self) -> None:
        """Serve until the client closes our input; then stop what is in work and close our output."""
        try:
            await self._read()
        finally:
            # Also where somebody stops us: a session that listens on would be told of changes for ever.
            self._served.close()
        await self._stream.aclose()

    async def _read(self) -> None:
        lines = LineReader()
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            while not self._unread:
                try:
                    chunk = await self._stream.receive()
                except (anyio.EndOfStream, ConnectionClosed):
                    break
                taken = lines.feed(chunk)
                for line in taken:
                    if self._unread:
                        break
                    while self._unwritten >= MAX_UNWRITTEN:
                        self._written = anyio.Event()
                        await self._written.wait()
                    await self._take(tasks, line, alone=len(taken) == 1)
            leftover = lines.finish()
            if leftover and not self._unread:
                self._scribe.note(f"The input ended in the middle of a message of {len(leftover)} bytes.")
            remembered = self._session.phase is not legacy.Phase.NEW or len(self._subscriptions) > 0
            self._served.close()
            self._tasks = None
            if remembered:
                self._scribe.state({})

    async def _send(self, data: bytes) -> None:
        await self._stream.send(frame(data))

    def _send_unrelated(self, data: bytes) -> None:
        # Whoever tells of a change must not wait for it to be sent; the lines still keep their order.
        if len(self._unsent) >= MAX_WAITING:
            if not self._loses:
                self._scribe.note("Messages are lost: too many wait, and the client does not read.")
            self._loses = True
            return
        self._loses = False
        self._unsent.append(data)
        if len(self._unsent) == 1 and self._tasks is not None:
            self._tasks.start_soon(self._send_waiting, name="server: what belongs to no request")

    async def _send_waiting(self) -> None:
        while self._unsent:
            await self._write(self._unsent[0])
            self._unsent.popleft()

    async def _answer(self, answer: Answer | None) -> None:
        if answer is not None:
            await self._write(write_answer(answer, self._scribe))

    async def _write(self, data: bytes) -> None:
        self._unwritten += 1
        try:
            await self._send(data)
        except ConnectionClosed:
            self._stop_unread()
        finally:
            self._unwritten -= 1
            self._written.set()

    def _stop_unread(self) -> None:
        """Whoever does not read our answers gets none: what is in work stops, and no more lines are taken."""
        if not self._unread:
            self._unread = True
            self._scribe.note("An answer could not be sent: nobody reads any more.")
            self._dispatcher.cancel_all(unread=True)

    async def _take(self, tasks: TaskGroup, line: bytes | FramingError, *, alone: bool) -> None:
        if isinstance(line, FramingError):
            await self._answer(ErrorResponse(None, PARSE_ERROR, str(line)))
            return
        try:
            message = read_batch(line) if self._session.batches else read_message(line)
        except MalformedMessage as error:
            if error.expects_answer:
                await self._answer(ErrorResponse(error.id, error.code, error.message, error.data))
            else:
                self._scribe.note(f"Not answered, because it is no request: {error.message}")
            return
        if isinstance(message, Batch):
            before = self._session.mark
            members = self._served.take_batch(message, self._send)
            self._note_change(before)
            tasks.start_soon(self._run_batch, members, name="server: batch")
        elif self._era(message) == "modern":
            left = self._take_modern(tasks, message, line, alone=alone)
            if left is not None:
                await self._write(left)
        else:
            await self._take_legacy(tasks, message)

    def _era(self, message: Message) -> str:
        if self._server.era != "both":
            return self._server.era
        return choose_era_of_server(message, has_session=self._session.phase is not legacy.Phase.NEW)

    def _take_modern(self, tasks: TaskGroup, message: Message, line: bytes, *, alone: bool) -> bytes | None:
        """Returns the answer that is there at once, where it is still to be sent."""
        if not isinstance(message, Request):
            if not isinstance(message, Notification):
                self._scribe.note(
                    "Ignored: a response. A modern server asks nothing, so nobody waits for one."
                )
            elif message.method == "notifications/cancelled":
                self._dispatcher.cancel(message)
            return None
        visit = modern.Visit(self._server, line, None, self._principal, message)
        try:
            flight = self._dispatcher.admit(visit)
        except ProtocolError as error:
            refusal = ErrorResponse(message.id, error.code, error.message, error.data)
            return write_answer(refusal, self._scribe)
        pipe = self._quick
        if alone and pipe is not None and self._dispatcher.is_plain(visit, flight) and pipe.is_quiet():
            return self._work_now(tasks, pipe, visit, flight)
        self._subscriptions.bind(visit)

        async def work() -> Answer | None:
            return await self._dispatcher.modern(visit, flight, self._send)

        tasks.start_soon(self._run, work, name=f"server: {message.method}")
        return None

    def _work_now(
        self, tasks: TaskGroup, pipe: QuickStream, visit: modern.Visit, flight: Flight
    ) -> bytes | None:
        """Let a plain function answer before the next line is read: nothing could come in between.

        Returns the answer where it could not be sent without waiting.
        """
        method = visit.request.method
        begun = self._dispatcher.begin(visit, flight, self._send)
        if not isinstance(begun, ANSWERS):

            async def work() -> Answer | None:
                return await begun

            tasks.start_soon(self._run, work, name=f"server: {method}")
            return None
        data = write_answer(begun, self._scribe)
        return None if pipe.send_now(frame(data)) else data

    async def _take_legacy(self, tasks: TaskGroup, message: Message) -> None:
        before = self._session.mark
        taken = self._served.take(message, self._send)
        self._note_change(before)
        await self._answer(taken.answer)
        if taken.work is not None:
            method = message.method if isinstance(message, Request) else ""
            tasks.start_soon(self._run, taken.work, name=f"server: {method}")

    def _note_change(self, before: object) -> None:
        if self._session.mark != before:
            self._note_state()

    def _note_state(self) -> None:
        phase = self._session.phase
        if phase is legacy.Phase.CLOSED:
            # What was remembered went with the connection, and the recording says so already.
            return
        session = {} if phase is legacy.Phase.NEW else self._session.remembers()
        self._scribe.state({**session, **self._subscriptions.remembers()})

    async def _run(self, work: Callable[[], Awaitable[Answer | None]]) -> None:
        await self._answer(await work())

    async def _run_batch(self, members: Sequence[Taken]) -> None:
        answers = await answer_batch(members, self._dispatcher)
        if answers is not None:
            await self._write(answers)
