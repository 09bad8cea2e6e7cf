"""A client that is connected to a server's HTTP endpoint."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

import anyio

from mcpsim.client import Client, HttpWire
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import McpSimError
from mcpsim.live.process import CLIENT_LANE
from mcpsim.live.session import Session, described
from mcpsim.recording import Scribe

TITLE: Final = "A server's HTTP endpoint"


class HttpSession(Session):
    """A client that is connected to a server's HTTP endpoint. Made by `connect_http`.

    Attributes:
        url: the endpoint.
    """

    def __init__(
        self, url: SplitResult, *, client: Client, headers: Mapping[str, str], connect: bool, title: str
    ) -> None:
        super().__init__(client=client, transport="http", connect=connect, title=title)
        self.url = url.geturl()
        self._parts = url
        self._headers = headers

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[None]:
        # Here and not above: only who speaks HTTP needs the library.
        try:
            from mcpsim.live.http_endpoint import HttpEndpoint, http_client
        except ModuleNotFoundError as error:
            if error.name != "httpx2":
                raise
            raise McpSimError(
                'A client on HTTP needs httpx2, which is not installed: pip install "mcpsim[live]"'
            ) from None
        async with (
            http_client(environment=not _is_this_machine(self._parts.hostname or "")) as http,
            anyio.create_task_group() as tasks,
        ):
            endpoint = HttpEndpoint(self._parts, http, self._recorder, tasks, self._headers)
            wire = HttpWire(
                endpoint,
                Scribe(self._recorder, CLIENT_LANE, endpoint.connection),
                path=self._parts.path or "/",
                principal=self.client.principal,
            )
            try:
                async with self._attached(wire, endpoint.connection, endpoint.seen):
                    yield
            finally:
                with anyio.CancelScope(shield=True):
                    await endpoint.aclose()


def connect_http(
    url: str,
    *,
    client: Client | None = None,
    era: ClientEra | None = None,
    headers: Mapping[str, str] | None = None,
    connect: bool = True,
    title: str = TITLE,
) -> HttpSession:
    """Connect a client to a server's HTTP endpoint, and record what crosses.

        async with connect_http("http://localhost:8000/mcp", era="auto") as session:
            await session.client.list_tools()
        print(session.recording.transcript())

    The client's principal is sent as a bearer token. Tokens, cookies and the values of `headers` are not in
    the recording. Redirects are not followed. At the end of the block the client ends its session, where it
    has one, and closes what is still open.

    Args:
        url: the endpoint.
        client: the client's description; None for a plain one.
        era: the era of a plain client: "modern" (the default), "legacy" or "auto". Not beside `client`.
        headers: more headers for every request, such as a key of the server's own making.
        connect: whether the client opens the connection (handshake or probe) at the start of the block.
        title: what the recording shows.

    Raises:
        ValueError: an argument cannot be used.

    Entering the block raises:
        McpSimError: httpx2 is not installed.
        ConnectionClosed: the endpoint could not be reached.
        RequestTimeout: it did not answer.
        NegotiationFailed: client and server have no version in common.
        UnexpectedResponse: what answered is no MCP endpoint.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
    """
    return HttpSession(
        _checked(url),
        client=described(client, era),
        headers=dict(headers or {}),
        connect=connect,
        title=title,
    )


def _checked(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no URL of an endpoint, such as http://localhost:8000/mcp.")
    if parts.username is not None or parts.password is not None:
        raise ValueError("There is a user name or a password in the URL. A token is the client's principal.")
    if parts.fragment:
        raise ValueError(f"{url!r} has a fragment (#{parts.fragment}), which no endpoint ever sees.")
    _ = parts.port  # raises where it is no port
    return parts


def _is_this_machine(host: str) -> bool:
    # A proxy that the environment names is for other machines.
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
