"""What the processes of a run serve: the server itself, or a gateway."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcpsim.gateway.serving import BreakableReply, GatewayServing
from mcpsim.server.http import HttpServing
from mcpsim.transports.http import HttpRequest
from mcpsim.transports.streams import HttpTransport


class ServerEndpoint(HttpServing):
    """A server in its process. The server itself outlives the process, and must not go on telling its
    sessions of what changes: `close` ends them.
    """

    async def serve(self, request: HttpRequest, reply: BreakableReply, client: str) -> None:
        """Answer a request."""
        await self.handle(request, reply)


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
