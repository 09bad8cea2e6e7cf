"""Every client with every server: ours and the official SDK's, on stdio and HTTP, in both eras.

One story, told once; each client is a small adapter below it, each server a file of its own. Where one of the
four does something else than the rest, DEVIATIONS says what, by name, and the cell asserts that instead. The
cells of the SDK with itself show that the story asks for nothing strange.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import anyio
import mcp
import mcp_types as types
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.client.subscriptions import ResourceUpdated, SubscriptionLost

from mcpsim import Client, ConnectionClosed, Notification, ProtocolError, Request
from mcpsim.live import connect_http, connect_stdio
from mcpsim.recording import Recording
from tests.interop.desk import BOARD, HOURS, PAGE_SIZE, TOOLS
from tests.interop.serving import serving
from tests.support.checked import check_recording
from tests.support.warm_servers import Warm

HERE = Path(__file__).parent
PATIENT_S = 30.0
UNKNOWN_METHOD = "desk/nothing"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
ERAS = ("legacy", "modern", "auto")
TRANSPORTS = ("stdio", "http")
FILES = {"ours": "our_desk.py", "sdk": "sdk_desk.py"}
IMPORTS = {"ours": (), "sdk": ("mcp.server.mcpserver", "uvicorn")}


class Cell(NamedTuple):
    """One combination. `era` is what the client is told, `server_era` what the server speaks."""

    client: str
    server: str
    transport: str
    era: Literal["legacy", "modern", "auto"]
    server_era: str = "both"

    @property
    def name(self) -> str:
        return "-".join(self).removesuffix("-both")

    @property
    def version(self) -> str:
        """The revision that the two end up with."""
        return LEGACY if "legacy" in (self.era, self.server_era) else MODERN

    @property
    def command(self) -> list[str]:
        """What starts the server on stdio."""
        words = [] if self.server_era == "both" else [f"--{self.server_era}"]
        return [sys.executable, str(HERE / FILES[self.server]), *words]


CELLS = [Cell(*one) for one in product(FILES, FILES, TRANSPORTS, ERAS)]
# The SDK's servers always speak both.
OF_ONE_ERA = [
    Cell(client, "ours", transport, "auto", server_era)
    for client, transport, server_era in product(FILES, TRANSPORTS, ("legacy", "modern"))
]


# What a call brings: the text and whether it is a tool error; or the code and the data of a protocol error.
Outcome = tuple[str, bool] | tuple[int, Any]


class Peer(Protocol):
    """What the story needs of a client, whoever wrote it."""

    @property
    def version(self) -> str: ...

    async def page(self, cursor: str | None) -> tuple[list[str], str | None]:
        """The names of one page of the tools, and the cursor of the next."""
        ...

    async def call(
        self, name: str, arguments: dict[str, Any], on_progress: Callable[..., Any] | None = None
    ) -> Outcome: ...

    async def read(self, uri: str) -> Outcome: ...

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]: ...

    async def unknown(self, method: str) -> Outcome: ...

    def watching(self, uri: str) -> AbstractAsyncContextManager[Callable[[], Any]]:
        """Be told of updates of a resource: gives a function that waits for the next one's URI."""
        ...

    async def how_it_ends(self, uri: str, end: Callable[[], Any]) -> str:
        """Subscribe (modern), let the server end that, and say whether that was "ended" or "lost"."""
        ...


def answer_to(message: str) -> dict[str, str]:
    """What the user fills in: a day, or the hour that belongs to the day in the question."""
    day = next((day for day in HOURS if day in message), None)
    return {"day": "friday"} if day is None else {"hour": HOURS[day]}


@dataclass
class Ours:
    client: Client

    @property
    def version(self) -> str:
        return self.client.version

    async def page(self, cursor: str | None) -> tuple[list[str], str | None]:
        result = await self.client.list_tools(cursor)
        return [tool.name for tool in result.tools], result.next_cursor

    async def call(
        self, name: str, arguments: dict[str, Any], on_progress: Callable[..., Any] | None = None
    ) -> Outcome:
        try:
            result = await self.client.call_tool(name, arguments, on_progress=on_progress)
        except ProtocolError as error:
            return error.code, error.data
        return result.content[0].text, bool(result.is_error)

    async def read(self, uri: str) -> Outcome:
        try:
            result = await self.client.read_resource(uri)
        except ProtocolError as error:
            return error.code, error.data
        return result.contents[0].text, False

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        reference = types.PromptReference(name=prompt)
        result = await self.client.complete(reference, {"name": argument, "value": value})
        return result.completion.values

    async def unknown(self, method: str) -> Outcome:
        with pytest.raises(ProtocolError) as caught:
            await self.client.request(method)
        return caught.value.code, caught.value.data

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncGenerator[Callable[[], Any]]:
        if self.client.era == "modern":
            async with self.client.listen(resource_subscriptions=[uri]) as subscription:

                async def next_of_stream() -> str:
                    async for notification in subscription:
                        return notification.params["uri"]
                    raise AssertionError("The subscription ended without an update.")

                yield next_of_stream
            return
        seen, inbox = anyio.create_memory_object_stream[str](100)

        def take(notification: Any) -> None:
            if notification.method == "notifications/resources/updated":
                seen.send_nowait(notification.params["uri"])

        self.client.on_notification = take
        await self.client.subscribe(uri)
        yield inbox.receive
        await self.client.unsubscribe(uri)

    async def how_it_ends(self, uri: str, end: Callable[[], Any]) -> str:
        async with self.client.listen(resource_subscriptions=[uri]) as subscription:
            await end()
            try:
                return str([one.method async for one in subscription] or "ended")
            except ConnectionClosed:
                return "lost"


@dataclass
class Theirs:
    client: mcp.Client
    messages: Any

    @property
    def version(self) -> str:
        return self.client.protocol_version

    async def page(self, cursor: str | None) -> tuple[list[str], str | None]:
        result = await self.client.list_tools(cursor=cursor)
        return [tool.name for tool in result.tools], result.next_cursor

    async def call(
        self, name: str, arguments: dict[str, Any], on_progress: Callable[..., Any] | None = None
    ) -> Outcome:
        async def show(progress: float, total: float | None, message: str | None) -> None:
            assert on_progress is not None
            on_progress(progress, total, message)

        try:
            result = await self.client.call_tool(
                name, arguments, progress_callback=None if on_progress is None else show
            )
        except mcp.MCPError as error:
            return error.error.code, error.error.data
        return result.content[0].text, bool(result.is_error)

    async def read(self, uri: str) -> Outcome:
        try:
            result = await self.client.read_resource(uri)
        except mcp.MCPError as error:
            return error.error.code, error.error.data
        return result.contents[0].text, False

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        reference = types.PromptReference(name=prompt)
        result = await self.client.complete(reference, {"name": argument, "value": value})
        return result.completion.values

    async def unknown(self, method: str) -> Outcome:
        request = types.Request[types.RequestParams, str](method=method, params=types.RequestParams())
        with pytest.raises(mcp.MCPError) as caught:
            await self.client.session.send_request(request, types.Result)
        return caught.value.error.code, caught.value.error.data

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncGenerator[Callable[[], Any]]:
        if self.version == MODERN:
            async with self.client.listen(resource_subscriptions=[uri]) as subscription:

                async def next_of_stream() -> str:
                    async for event in subscription:
                        assert isinstance(event, ResourceUpdated)
                        return event.uri
                    raise AssertionError("The subscription ended without an update.")

                yield next_of_stream
            return

        async def next_message() -> str:
            while True:
                message = await self.messages.receive()
                if isinstance(message, types.ResourceUpdatedNotification):
                    return str(message.params.uri)

        await self.client.session.subscribe_resource(uri)
        yield next_message
        await self.client.session.unsubscribe_resource(uri)

    async def how_it_ends(self, uri: str, end: Callable[[], Any]) -> str:
        async with self.client.listen(resource_subscriptions=[uri]) as subscription:
            await end()
            try:
                return str([event async for event in subscription] or "ended")
            except SubscriptionLost:
                return "lost"


Seen = dict[str, Any]


async def the_story(peer: Peer, name: str) -> Seen:
    """What clients and servers do together; `name` is used for what the server remembers."""
    seen: Seen = {"version": peer.version}

    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        names, cursor = await peer.page(cursor)
        pages.append(names)
        if cursor is None:
            break
    seen["pages"] = pages

    steps: list[tuple[float, float | None, str | None]] = []
    report = await peer.call("export_report", {"parts": 3}, lambda *step: steps.append(step))
    seen["progress"] = (report, steps)

    with anyio.move_on_after(0.3) as scope:
        await peer.call("wait_long", {"name": name})
    seen["cancelled"] = (scope.cancelled_caught, await was_stopped(peer, name))

    seen["one question"] = await peer.call("book_slot", {})
    seen["two questions"] = await peer.call("book_visit", {})

    async with peer.watching(BOARD) as next_update:
        seen["update"] = await first_update(peer, next_update)

    if peer.version == MODERN:
        seen["end of a subscription"] = await peer.how_it_ends(
            BOARD, lambda: peer.call("end_subscriptions", {})
        )

    seen["resource not found"] = await peer.read("desk://nowhere")
    seen["tool error"] = await peer.call("find_ticket", {"number": "T-9"})
    seen["unknown method"] = (await peer.unknown(UNKNOWN_METHOD))[0]
    seen["completion"] = await peer.complete("letter", "topic", "p")
    seen["resource"] = (await peer.read(BOARD))[1]
    return seen


async def was_stopped(peer: Peer, name: str) -> bool:
    """Whether the server has given up on the wait: the news may take a moment."""
    for _ in range(20):
        if await peer.call("was_stopped", {"name": name}) == ("yes", False):
            return True
        await anyio.sleep(0.05)
    return False


async def first_update(peer: Peer, next_update: Callable[[], Any]) -> str | None:
    """The URI in the first update that comes after a change. A legacy HTTP client cannot know when the server
    has begun to use its GET stream, so there is a second change, and a third."""
    for attempt in range(10):
        await peer.call("pin_note", {"text": f"note {attempt}"})
        with anyio.move_on_after(1):
            return await next_update()
    return None


class Deviation(NamedTuple):
    """Where somebody does something else than the rest.

    Attributes:
        action: in what part of the story.
        holds: in which cells.
        instead: what comes out there.
    """

    action: str
    holds: Callable[[Cell], bool]
    instead: Any


DEVIATIONS = (
    # On stdio a server that ends a subscription must send notifications/cancelled (patterns/cancellation) and
    # should send a result (patterns/subscriptions#graceful-closure). Ours sends both, in this order; the
    # SDK's server the result alone. The SDK's client takes the notification for an unexpected end.
    Deviation(
        "end of a subscription",
        lambda cell: (cell.client, cell.server, cell.transport) == ("sdk", "ours", "stdio"),
        "lost",
    ),
)


def expected(cell: Cell) -> Seen:
    """What comes out, whoever plays."""
    modern = cell.version == MODERN
    code = -32602 if modern else -32002
    what: Seen = {
        "version": cell.version,
        "pages": [list(TOOLS[at : at + PAGE_SIZE]) for at in range(0, len(TOOLS), PAGE_SIZE)],
        "progress": (("report.pdf", False), [(part, 3, f"part {part}") for part in (1, 2, 3)]),
        "cancelled": (True, True),
        "one question": ("booked: friday", False),
        "two questions": ("visit: friday at 15", False),
        "update": BOARD,
        "resource not found": (code, {"uri": "desk://nowhere"}),
        "tool error": ("There is no ticket T-9.", True),
        "unknown method": -32601,
        "completion": ["parking", "passwords", "printers"],
        "resource": False,
    }
    if modern:
        what["end of a subscription"] = "ended"
    return what | {one.action: one.instead for one in DEVIATIONS if one.action in what and one.holds(cell)}


@asynccontextmanager
async def connected(
    cell: Cell, address: str | None, command: list[str], keep: Callable[[Any], None]
) -> AsyncGenerator[Peer]:
    """The cell's client, connected to the cell's server: at an address, or as a process of its own."""
    if cell.client == "ours":
        client = Client(
            "our-client",
            era=cell.era,
            elicit=lambda asked: answer_to(asked.message),
            timeout_s=PATIENT_S,
            probe_timeout_s=PATIENT_S,
            standing_stream=True,
        )
        made = (
            connect_stdio(command, client=client) if address is None else connect_http(address, client=client)
        )
        async with made as session:
            keep(session)
            yield Ours(session.client)
        return

    async def elicit(context: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={**answer_to(asked.message)})

    sending, messages = anyio.create_memory_object_stream[Any](1_000)

    async def take(message: Any) -> None:
        sending.send_nowait(message)

    server = StdioServerParameters(command=command[0], args=command[1:]) if address is None else address
    async with mcp.Client(
        server,
        mode=MODERN if cell.era == "modern" else cell.era,
        read_timeout_seconds=PATIENT_S,
        elicitation_callback=elicit,
        message_handler=take,
    ) as client:
        yield Theirs(client, messages)


@pytest.fixture(scope="session")
def address_of(warm: Warm) -> Iterator[Callable[[Cell], str]]:
    """The address of a cell's server on HTTP: one process for all cells that need the same."""
    running: dict[tuple[str, ...], str] = {}
    with ExitStack() as processes:

        def address_of(cell: Cell) -> str:
            command = (*cell.command, "--http")
            if command not in running:
                running[command] = processes.enter_context(serving(warm(command, *IMPORTS[cell.server])))
            return running[command]

        yield address_of


@pytest.mark.parametrize("cell", [*CELLS, *OF_ONE_ERA], ids=lambda cell: cell.name)
@pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed")
def test_client_and_server_understand_each_other(
    cell: Cell, address_of: Callable[[Cell], str], warm: Warm
) -> None:
    address = None if cell.transport == "stdio" else address_of(cell)
    command = warm(cell.command, *IMPORTS[cell.server])
    sessions: list[Any] = []

    async def play() -> Seen:
        with anyio.fail_after(2 * PATIENT_S):
            async with connected(cell, address, command, sessions.append) as peer:
                return await the_story(peer, cell.name)

    assert anyio.run(play) == expected(cell)
    assert len(sessions) == (cell.client == "ours")
    for session in sessions:
        check_recording(session.recording, broken=(UNKNOWN_METHOD,))
        assert_well_recorded(session.recording, cell)


# How the same things look on the wire: the questions, the retries that bring answers, and the cancellations
# (of the long call; and on stdio of the subscription too).
ON_THE_WIRE = {
    (LEGACY, "stdio"): {"elicitation/create": 3, "retries": 0, "notifications/cancelled": 1},
    (LEGACY, "http"): {"elicitation/create": 3, "retries": 0, "notifications/cancelled": 1},
    (MODERN, "stdio"): {"elicitation/create": 0, "retries": 3, "notifications/cancelled": 2},
    (MODERN, "http"): {"elicitation/create": 0, "retries": 3, "notifications/cancelled": 0},
}


def assert_well_recorded(recording: Recording, cell: Cell) -> None:
    notes = [event.detail["text"] for event in recording.events if event.kind == "note" and event.detail]
    assert not [note for note in notes if note.startswith(("Skipped", "Ignored", "An error that names"))]
    parsed = [(frame.sender, frame.parsed) for frame in recording.frames]
    said = [(sender, one) for sender, one in parsed if isinstance(one, Request | Notification)]
    found = {
        "elicitation/create": sum(one.method == "elicitation/create" for _, one in said),
        "retries": sum("inputResponses" in (one.params or {}) for _, one in said),
        "notifications/cancelled": sum(
            sender == "client" and one.method == "notifications/cancelled" for sender, one in said
        ),
    }
    assert found == ON_THE_WIRE[cell.version, cell.transport]
