"""Who is there in a run beside the story: server processes, a gateway between, the wires of the clients."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from anyio.abc import TaskGroup

from mcpsim.client.client import Client
from mcpsim.client.http import HttpWire
from mcpsim.client.stdio import StdioWire
from mcpsim.client.wire import Wire
from mcpsim.gateway.gateway import Gateway
from mcpsim.gateway.serving import GatewayServing
from mcpsim.messages import RequestId
from mcpsim.recording import Scribe
from mcpsim.server.server import Server
from mcpsim.server.stdio import StdioServing
from mcpsim.simulation.endpoints import GatewayEndpoint, ServerEndpoint
from mcpsim.simulation.interventions import Answer
from mcpsim.simulation.process import Endpoint, HttpProcess, Line, Process, StdioProcess
from mcpsim.simulation.tokens import SeededTokens
from mcpsim.transports.faults import Crash
from mcpsim.transports.http import Headers
from mcpsim.transports.link import Stdio, StreamableHttp, Wiring, stdio_pair

SERVER_LANE: Final = "server"
CLIENT_LANE: Final = "client"
GATEWAY_LANE: Final = "gateway"
_US_PER_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Cast:
    """Who takes part in a run beside the clients.

    Attributes:
        server: the program; every replica is a process that runs it. What its handlers keep is shared, as by
            a database; so are its changes, as by a message bus, and the key of its request state and the
            list of the states that were used, as by the deployment. Sessions and subscriptions belong to one
            process.
        replicas: how many processes there are behind a gateway.

    Raises:
        ValueError: this is no deployment; the text says why.
    """

    server: Server
    transport: Stdio | StreamableHttp
    gateway: Gateway | None = None
    replicas: int = 1

    def __post_init__(self) -> None:
        if self.replicas < 1:
            raise ValueError(f"There must be one replica at least, not {self.replicas}.")
        if self.gateway is not None and not isinstance(self.transport, StreamableHttp):
            raise ValueError("A gateway stands between HTTP peers: transport=StreamableHttp().")
        if self.gateway is None and self.replicas > 1:
            raise ValueError("Several replicas need somebody who shares the work out: gateway=Gateway().")

    @property
    def servers(self) -> tuple[str, ...]:
        """The lanes of the server processes."""
        if self.replicas == 1:
            return (SERVER_LANE,)
        return tuple(f"{SERVER_LANE}-{number}" for number in range(1, self.replicas + 1))

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes beside those of the clients, from left to right."""
        return (*(() if self.gateway is None else (GATEWAY_LANE,)), *self.servers)

    def check_clients(self, lanes: Sequence[str]) -> None:
        """Raises ValueError where there is no client, or one has the lane of somebody else."""
        taken = [lane for lane in self.lanes if lane in lanes]
        if not lanes or taken:
            names = " or ".join(map(repr, taken or self.lanes))
            raise ValueError(f"There must be a client, and none may be named {names}.")

    def check_crashes(self, crashes: Sequence[Crash]) -> None:
        """Raises ValueError where a crash names a process that is not there, or a start that nobody makes."""
        for crash in crashes:
            if crash.process and crash.process not in self.lanes:
                raise ValueError(f"There is no process {crash.process!r}; there is {', '.join(self.lanes)}.")
            if crash.restart_after_ms is not None and isinstance(self.transport, Stdio):
                raise ValueError(
                    "On stdio only the host starts a server process again: leave restart_after_ms out, and "
                    "let the story do it with host.start_again(client)."
                )

    def describe(self) -> dict[str, object]:
        """What a recording's header says of the gateway and the replicas; nothing without a gateway."""
        if self.gateway is None:
            return {}
        return {"gateway": self.gateway.describe(), "replicas": self.replicas}


@dataclass(slots=True)
class World:
    """The processes of one run.

    Attributes:
        tasks: where they run.
        answers: what users and hosts answer in place of what the clients' callbacks say.
    """

    cast: Cast
    wiring: Wiring
    tokens: SeededTokens
    tasks: TaskGroup
    answers: tuple[Answer, ...] = ()
    _servers: dict[str, HttpProcess] = field(default_factory=dict[str, HttpProcess])
    _gateway: HttpProcess | None = None
    _pipes: list[StdioProcess] = field(default_factory=list[StdioProcess])
    _clients: list[Line] = field(default_factory=list[Line])
    _lines: dict[tuple[str, str], Line] = field(default_factory=dict[tuple[str, str], Line])
    _attached: dict[int, Client] = field(default_factory=dict[int, Client])

    def start(self) -> None:
        """Start what is there before any client comes, and prepare the deaths whose time is known."""
        cast = self.cast
        if isinstance(cast.transport, StreamableHttp):
            self._servers = {
                lane: HttpProcess(self.wiring, lane, self._serve_server) for lane in cast.servers
            }
            if cast.gateway is not None:
                self._gateway = HttpProcess(
                    self.wiring, GATEWAY_LANE, partial(self._serve_gateway, cast.gateway)
                )
        for crash in self.wiring.plan.crashes:
            if crash.at_ms is not None:
                self.wiring.set_alarm(round(crash.at_ms * _US_PER_MS), partial(self._die, crash))

    def wire(self, lane: str, client: Client) -> tuple[Wire, Scribe]:
        """A new connection of a client, and its pen. On stdio this starts a process."""
        wire, scribe = self._wire(lane, client)
        self._attached[scribe.connection] = client
        for one in self.answers:
            if one.connection == scribe.connection:
                client.answer_instead(one.nth, one.answer)
        return wire, scribe

    def stop(self, connection: int, id: RequestId) -> bool:
        """Press Stop: cancel a request of a client; whether it was in flight and can be cancelled."""
        client = self._attached.get(connection)
        return client is not None and client.stop(id)

    def die(self, crash: Crash) -> None:
        """Let a process die of a fault, here and now."""
        self._die(crash)

    def _wire(self, lane: str, client: Client) -> tuple[Wire, Scribe]:
        process = self._gateway or next(iter(self._servers.values()), None)
        if process is not None:
            line = Line(self.wiring, lane, process, self.tasks)
            self._clients.append(line)
            scribe = Scribe(self.wiring.recorder, lane, line.connection)
            return HttpWire(line, scribe, principal=client.principal), scribe
        ours, theirs, connection = stdio_pair(self.wiring, lane, SERVER_LANE)
        stream, pen = theirs, Scribe(self.wiring.recorder, SERVER_LANE, connection)
        if self.wiring.plan.crashes:
            stream = StdioProcess(self.wiring, SERVER_LANE, lane, theirs, connection)
            self._pipes.append(stream)
            pen = stream.scribe(connection)
        serving = StdioServing(
            self.cast.server, stream, scribe=pen, tokens=self.tokens, principal=client.principal
        )
        self.tasks.start_soon(serving.run, name=f"server: connection {connection}")
        scribe = Scribe(self.wiring.recorder, lane, connection)
        return StdioWire(ours, scribe), scribe

    def hang_up(self) -> None:
        """The clients are gone, and with them what was sent in their name without them."""
        for line in (*self._clients, *self._lines.values()):
            line.hang_up()

    def close(self) -> None:
        """The run is over: leave nothing of it with the server, which may serve others."""
        for process in self._servers.values():
            process.close()

    def _die(self, crash: Crash) -> None:
        lane = crash.process or self.cast.servers[0]
        process: Process | None
        if lane == GATEWAY_LANE:
            process = self._gateway
        else:
            process = self._servers.get(lane) or next((one for one in self._pipes if one.life.alive), None)
        if process is not None:
            process.die(crash)

    def _serve_server(self, scribe: Scribe) -> Endpoint:
        transport = self.cast.transport
        assert isinstance(transport, StreamableHttp)
        return ServerEndpoint(
            self.cast.server,
            scribe=scribe,
            tokens=self.tokens,
            principal_of=principal_of,
            keep_alive_s=transport.keep_alive_s,
            resumable=transport.resumable,
            retry_ms=transport.retry_ms,
        )

    def _serve_gateway(self, gateway: Gateway, scribe: Scribe) -> Endpoint:
        serving = GatewayServing(gateway, scribe=scribe, clock=self.wiring.clock, replicas=self.cast.servers)
        return GatewayEndpoint(serving, self._line)

    def _line(self, client: str, server: str) -> Line:
        """The gateway's connection to a server on behalf of a client; opened when it is first needed.

        Two clients may use the same ids at the same time, so each has connections of its own.
        """
        line = self._lines.get((client, server))
        if line is None:
            process = self._servers[server]
            line = Line(self.wiring, GATEWAY_LANE, process, self.tasks, behalf=client)
            self._lines[client, server] = line
        return line


class Host:
    """What the host program can do beside its clients. A story that takes a keyword-only `host` gets it."""

    def __init__(self, world: World, clients: Mapping[str, Client], *, connect: bool) -> None:
        self._world = world
        self._clients = clients
        self._connect = connect

    @asynccontextmanager
    async def start_again(self, client: Client) -> AsyncGenerator[Client]:
        """Start a new server process for a client (stdio), or open a new connection (HTTP).

        For the length of the `async with` block there is a fresh client of the same description at the new
        process. It is connected like the first one, and knows nothing that the first one knew.

        Args:
            client: one of the story's clients.

        Raises:
            ValueError: it is no client of this story.
            NegotiationFailed, RequestTimeout, ConnectionClosed: the connection cannot be opened.
        """
        lane = self._lane_of(client, "start_again")
        again = client.fresh()
        wire, scribe = self._world.wire(lane, again)
        again.server_is_modern = client.server_is_modern
        async with again.attached(wire, scribe):
            if self._connect:
                await again.connect()
            yield again

    def note(self, client: Client, text: str) -> None:
        """Write down what happens in the host beside the wire: what the user wants, what the model decides.

        It stands in the recording as a remark of the client, which is a part of the host. Nothing is sent.

        Args:
            client: one of the story's clients.
            text: one sentence.

        Raises:
            TypeError: the text is none.
            ValueError: it is no client of this story.
        """
        written: Any = text
        if not isinstance(written, str):
            raise TypeError(f"host.note takes a client and a text, not {written!r}.")
        self._world.wiring.recorder.note(self._lane_of(client, "note"), written)

    def _lane_of(self, client: Client, asked: str) -> str:
        for lane, one in self._clients.items():
            if one is client:
                return lane
        raise ValueError(f"host.{asked} takes one of the clients that the story was given.")


def principal_of(headers: Headers) -> str:
    """Who the headers say is asking: the bearer token, or ""."""
    return (headers.get("Authorization") or "").removeprefix("Bearer ")
