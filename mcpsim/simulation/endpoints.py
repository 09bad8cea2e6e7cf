"""What the processes of a run serve: the server itself, or a gateway."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.gateway.serving import BreakableReply, GatewayServing
from mcpsim.server.dispatch import Tokens
from mcpsim.server.http import HttpServing
from mcpsim.server.server import Server
from mcpsim.transports.http import HttpRequest
from mcpsim.transports.streams import HttpTransport

SESSION: Final = "session"


class ServerEndpoint(HttpServing):
    """An endpoint that comes to an end with its process, or with the run.

    The server outlives it, and must not go on telling its sessions of what changes.

    Args:
        settings: as for `HttpServing`.
    """

    def __init__(self, server: Server, *, tokens: Tokens, **settings: Any) -> None:
        self._given: list[str] = []

        def give(purpose: str) -> str:
            token = tokens(purpose)
            if purpose == SESSION:
                self._given.append(token)
            return token

        super().__init__(server, tokens=give, **settings)

    async def serve(self, request: HttpRequest, reply: BreakableReply, client: str) -> None:
        """Answer a request."""
        await self.handle(request, reply)

    def close(self) -> None:
        """End all sessions, in order of their beginning."""
        for id in self._given:
            session = self._sessions.named(id)
            if session is not None:
                session.close()


@dataclass(frozen=True, slots=True)
class GatewayEndpoint:
    """A gateway in its process.

    Attributes:
        line: the gateway's connection to a server (the second argument) on behalf of a client (the first).
    """

    serving: GatewayServing
    line: Callable[[str, str], HttpTransport]

    async def serve(self, request: HttpRequest, reply: BreakableReply, client: str) -> None:
        """Pass a request on, or answer it."""

        def connect(server: str) -> HttpTransport:
            return self.line(client, server)

        await self.serving.handle(request, reply, connect)

    def close(self) -> None:
        """It keeps nothing open by itself."""
