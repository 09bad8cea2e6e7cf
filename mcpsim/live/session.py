"""One connection of a client to a real server, and the recording of it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from mcpsim.client import Client, Wire
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import NegotiationFailed, RequestTimeout
from mcpsim.live.groups import plain_errors
from mcpsim.live.process import CLIENT_LANE, SERVER_LANE
from mcpsim.recording import Recorder, Recording, Scribe


class Session(ABC):
    """A client that is connected to a server for the length of an `async with` block.

    Made by `connect_stdio` or `connect_http`. It can be entered once.

    Attributes:
        client: the connected client.
    """

    def __init__(self, *, client: Client, transport: str, connect: bool, title: str) -> None:
        self.client = client.fresh()
        self._connect = connect
        self._recorder = Recorder(_microseconds_from_now())
        self._opened: AbstractAsyncContextManager[None] | None = None
        self._header: dict[str, Any] = {
            "title": title,
            "parties": [CLIENT_LANE, SERVER_LANE],
            "transport": transport,
            "era": {CLIENT_LANE: client.preferred_era},
            "source": "live",
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.client!r}: {len(self.recording.frames)} messages>"

    @property
    def recording(self) -> Recording:
        """What has happened so far; after the block: everything, with the end of the connection."""
        return self._recorder.recording(self._header)

    async def __aenter__(self) -> Self:
        if self._opened is not None:
            raise RuntimeError("A session is for one connection; make a new one.")
        self._opened = self._open()
        await self._opened.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        assert self._opened is not None
        return await self._opened.__aexit__(kind, error, traceback)

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[None]:
        with plain_errors():
            async with self._connection():
                yield

    @abstractmethod
    def _connection(self) -> AbstractAsyncContextManager[None]:
        """Reach the server, attach the client, and end both after the block."""

    @asynccontextmanager
    async def _attached(self, wire: Wire, connection: int, seen: Callable[[], str]) -> AsyncGenerator[None]:
        async with self.client.attached(wire, Scribe(self._recorder, CLIENT_LANE, connection)):
            try:
                if self._connect:
                    await self.client.connect()
                yield
            except (RequestTimeout, NegotiationFailed) as error:
                # The client knows that no good answer came; why, the other side may have told.
                error.args = (f"{error} {seen()}",)
                raise


def described(client: Client | None, era: ClientEra | None) -> Client:
    """The client that a caller means by these two arguments.

    Raises:
        ValueError: both are given.
    """
    if client is not None and era is not None:
        raise ValueError("Say the era in the client's description: Client(era=...).")
    return client if client is not None else Client(era=era or "modern")


def _microseconds_from_now() -> Callable[[], int]:
    begin = time.monotonic_ns()
    return lambda: (time.monotonic_ns() - begin) // 1000
