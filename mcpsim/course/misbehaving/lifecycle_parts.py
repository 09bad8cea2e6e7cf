"""What the peers of `handshakes` and `versions` are made of: messages by hand, stories, changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, cast

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour, Party
from mcpsim.course.misbehaving.changing import (
    Json,
    Letter,
    change_result,
    on_message,
    set_in_result,
)
from mcpsim.course.servers import help_desk
from mcpsim.course.stories.story import Way
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN, LEGACY_REVISIONS, ClientEra
from mcpsim.errors import METHOD_NOT_FOUND, UNSUPPORTED_VERSION, McpSimError
from mcpsim.messages import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION
from mcpsim.server import Server
from mcpsim.transports.twists import MakeTwist

Story = Callable[..., Any]

INFO: Final[Mapping[str, Any]] = {"name": "by-hand", "version": "1.0.0"}
FUTURE: Final = "2099-01-01"
PAST: Final = LEGACY_REVISIONS[-2]
OLDEST: Final = LEGACY_REVISIONS[0]
LIST: Final = "tools/list"
DISCOVER: Final = "server/discover"
INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"


def old_help_desk() -> Server:
    """A help desk of the legacy era."""
    return help_desk(era="legacy")


def new_help_desk() -> Server:
    """A help desk of the modern era."""
    return help_desk(era="modern")


def with_roots(era: ClientEra) -> Client:
    """A client with one folder."""
    return Client(era=era, roots=["file:///home/user/desk"])


# --- Messages made by hand ---------------------------------------------------------------------------


def two_clients(era: ClientEra) -> Mapping[str, Client]:
    """Two clients that run the same program, each with a server of its own."""
    return {name: Client(name, era=era) for name in ("first", "second")}


def plain(id: str, method: str, params: Json | None = None) -> Json:
    """A request without metadata."""
    message: Json = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def modern(id: str, method: str, version: str = LATEST_MODERN, **params: Any) -> Json:
    """A modern request."""
    meta = {PROTOCOL_VERSION: version, CLIENT_INFO: INFO, CLIENT_CAPABILITIES: {}}
    return plain(id, method, {**params, "_meta": meta})


def hello(version: str = LATEST_LEGACY, id: str = "hello") -> Json:
    """An `initialize`."""
    return plain(id, INITIALIZE, {"protocolVersion": version, "capabilities": {}, "clientInfo": INFO})


def note(method: str) -> Json:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method}


# --- Stories -----------------------------------------------------------------------------------------


async def list_the_tools(client: Client) -> None:
    """List the tools."""
    await client.request(LIST, timeout_s=5)


def sends(*messages: Json) -> Story:
    """A story that sends these messages as they are, and nothing else."""

    async def send_by_hand(client: Client) -> None:
        for message in messages:
            await client.send_raw(message)

    return send_by_hand


def then_sends(*messages: Json | list[Json]) -> Story:
    """A story that lists the tools in the usual way, and then sends these messages as they are."""

    async def list_and_send(client: Client) -> None:
        await list_the_tools(client)
        for message in messages:
            await client.send_raw(message)

    return list_and_send


def probe_twice(*after_the_second: Json) -> Story:
    """A story in which the first client probes its server and falls back, and the second one probes, and then
    sends these messages."""

    async def probe(first: Client, second: Client) -> None:
        for message in (modern("look", DISCOVER), *HANDS):
            await first.send_raw(message)
        for message in (modern("look", DISCOVER), *after_the_second):
            await second.send_raw(message)

    return probe


async def ping_once(client: Client) -> None:
    """Ping the server, and list the tools."""
    await client.ping()
    await list_the_tools(client)


async def ping_often(client: Client) -> None:
    """Ping the server again and again."""
    for _ in range(30):
        await client.ping()


async def ping_patiently(client: Client) -> None:
    """Ping the server, wait long for the answer, and list the tools."""
    with suppress(McpSimError):
        await client.request("ping", timeout_s=45)
    await list_the_tools(client)


async def discover_and_list(client: Client) -> None:
    """Ask the server what it is, and list its tools."""
    with suppress(McpSimError):
        await client.discover()
    with suppress(McpSimError):
        await list_the_tools(client)


async def list_with_a_future_version(client: Client) -> None:
    """Ask the server what it is, and then for its tools in a version that it does not have."""
    await client.discover()
    with suppress(McpSimError):
        await client.request(LIST, meta={PROTOCOL_VERSION: FUTURE}, timeout_s=5)


async def list_with_it_again(client: Client) -> None:
    """The same, and once more."""
    await list_with_a_future_version(client)
    with suppress(McpSimError):
        await client.request(LIST, meta={PROTOCOL_VERSION: FUTURE}, timeout_s=5)


async def use_an_extension(client: Client) -> None:
    """Ask the server what it is, and use an extension that it does not have."""
    await client.discover()
    with suppress(McpSimError):
        await client.request("tasks/get", {"taskId": "t-1"}, timeout_s=5)


# --- Changes -----------------------------------------------------------------------------------------


def refusal(code: int, text: str, **data: Any) -> Callable[[Json], Json]:
    """Turns an answer into an error."""

    def edit(message: Json) -> Json:
        error = {"code": code, "message": text, **({"data": data} if data else {})}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}

    return edit


def offers(version: str) -> MakeTwist:
    """The server offers another version than the proposed one."""
    return set_in_result(INITIALIZE, "protocolVersion", to=version)


def forgets(capability: str) -> MakeTwist:
    """The result of `server/discover` without one capability, and with another one."""

    def edit(result: Json) -> None:
        declared: Json = result["capabilities"]
        declared.pop(capability, None)
        declared["logging"] = {}

    return change_result(DISCOVER, edit)


def with_code(code: int) -> Callable[[Json], None]:
    """Gives an error another code."""

    def edit(error: Json) -> None:
        error["code"] = code

    return edit


def without_data(error: Json) -> None:
    """Leaves the data of an error out."""
    error.pop("data", None)


def bare(error: Json) -> None:
    """Makes an error say nothing but that the method is not there."""
    error.clear()
    error.update(code=METHOD_NOT_FOUND, message="Method not found")


def serves_anyway(message: Json) -> Json | None:
    """Turns the refusal of a version into a result."""
    error = cast("Json", message.get("error", {}))
    if error.get("code") != UNSUPPORTED_VERSION:
        return None
    result: Json = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "public"}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def renamed(method: str) -> Callable[[Json], None]:
    """Gives a message another method."""

    def edit(message: Json) -> None:
        message["method"] = method

    return edit


def says_before(kind: Any, method: str, line: bytes) -> MakeTwist:
    """Writes a line that is no message before what it sends."""

    def change(letter: Letter) -> Any:
        return [letter.out.beside({}).with_raw(line), letter.out]

    return on_message(change, kind, method=method)


# --- The table ---------------------------------------------------------------------------------------


def _peer_does(
    party: Party,
    name: str,
    rule: str,
    sentence: str,
    twist: MakeTwist,
    era: ClientEra = "legacy",
    story: Story = list_the_tools,
    server: Callable[[], Server] = help_desk,
    way: Way = "stdio",
    **more: Any,
) -> Misbehaviour:
    """A client or a server that misbehaves by a twist."""
    return Misbehaviour(name, party, rule, sentence, story, server, era, way, twist=twist, **more)


client_does: Final = partial(_peer_does, "client")
server_does: Final = partial(_peer_does, "server")


def client_by_hand(
    name: str,
    rule: str,
    sentence: str,
    story: Story,
    good_story: Story,
    era: ClientEra = "modern",
    server: Callable[[], Server] = help_desk,
    way: Way = "stdio",
) -> Misbehaviour:
    """A client that misbehaves by its story."""
    return Misbehaviour(name, "client", rule, sentence, story, server, era, way, good_story=good_story)


HANDS: Final = (hello(), note(INITIALIZED))
