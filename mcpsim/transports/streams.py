"""What a peer needs of the thing that carries its bytes. In a simulation it is the link; in the real world a
process's pipes or an HTTP connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

from mcpsim.transports.http import HttpHead, HttpRequest


class ByteStream(Protocol):
    """Two directions of bytes, as of a process's pipes."""

    async def send(self, data: bytes) -> None:
        """Raises ConnectionClosed where nobody reads any more."""
        ...

    async def receive(self) -> bytes:
        """The next bytes, however cut. Raises anyio.EndOfStream at the end."""
        ...

    async def aclose(self) -> None:
        """Close our sending direction. May be called twice."""
        ...


Look = Callable[[bytes], Callable[[], None] | None]
"""Looks at bytes that are about to arrive, and changes nothing; returns what takes them, or None."""


class QuickStream(ByteStream, Protocol):
    """A byte stream that can tell more: the one of a simulation. With it a call takes half the time."""

    def send_now(self, data: bytes) -> bool:
        """Send without waiting; False, and nothing is sent, where `send` would have to wait or to raise."""
        ...

    def take_at_once(self, look: Look) -> None:
        """Let `look` take what arrives in place of `receive`, where nothing else can happen in between.

        It is asked only while somebody waits in `receive`, whom it spares being woken.
        """
        ...

    def is_quiet(self) -> bool:
        """Whether nothing else can happen at this moment, and nothing is on its way here.

        What a task of its own would do at once, and without waiting, can as well be done by whoever asks.
        """
        ...


def quick(stream: ByteStream) -> QuickStream | None:
    """The stream, where it is one that can tell more."""
    return cast("QuickStream", stream) if hasattr(stream, "send_now") else None


class HttpReply(Protocol):
    """The way back of one HTTP exchange, seen from the server."""

    @property
    def exchange(self) -> int:
        """The exchange's number in the recording, or 0."""
        ...

    async def send(self, head: HttpHead | None, body: bytes) -> None:
        """Send the head (the first time) and a piece of the body.

        After the client has gone this does nothing.
        """
        ...

    async def end(self) -> None:
        """Finish the response."""
        ...

    def on_abort(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the client goes away before the end."""
        ...


class HttpExchange(Protocol):
    """One HTTP exchange, seen from the client."""

    async def head(self) -> HttpHead:
        """The response's head. Raises ConnectionClosed where none will come."""
        ...

    async def receive(self) -> bytes:
        """The next piece of the body. Raises anyio.EndOfStream at its end, ConnectionClosed where the
        connection broke."""
        ...

    def abort(self) -> None:
        """Go away: close the response stream."""
        ...


class HttpTransport(Protocol):
    """Carries HTTP requests to one MCP endpoint."""

    async def open(self, request: HttpRequest) -> HttpExchange:
        """Send a request. Raises ConnectionClosed where the endpoint cannot be reached."""
        ...
