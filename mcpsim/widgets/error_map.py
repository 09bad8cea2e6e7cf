"""The map of errors: each code of both eras, who reads it, and a run in which it really happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mcpsim.client.client import Client
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    URL_ELICITATION_REQUIRED,
    ToolError,
)
from mcpsim.messages import PROTOCOL_VERSION
from mcpsim.recording.run import Run
from mcpsim.server.context import Context
from mcpsim.server.server import Server
from mcpsim.simulation.simulate import Story, simulate
from mcpsim.transports.link import StreamableHttp
from mcpsim.widgets import scripts
from mcpsim.widgets.acting import text_in
from mcpsim.widgets.acting_player import ActingPlayer
from mcpsim.widgets.error_map_view import (
    ENTRIES,
    ERAS,
    READERS,
    TOOL_ERROR,
    Wanted,
    eras_of,
    errors_data,
    errors_html,
    errors_text,
    name_of,
)
from mcpsim.widgets.still import still_of

_ERAS: Final[Mapping[str, ClientEra]] = {"modern": "modern", "legacy": "legacy"}


class ErrorMap(ActingPlayer):
    """The errors of both eras, with an example of each: `ErrorMap()` as the last line of a cell.

    Attributes:
        wanted: what is shown.
        run: the example, played over Streamable HTTP.
        error: why the last wish could not be fulfilled, or "".

    https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes
    """

    _esm = scripts.script(
        (*scripts.PLAYER, "acting", "acting_player", "errors"), "{ initialize, render: renderErrors }"
    )
    _css = scripts.style(*scripts.PLAYER_STYLES, "acting", "acting_player", "errors")

    def __init__(self) -> None:
        self.wanted = Wanted()
        super().__init__(example(self.wanted.code, self.wanted.example_era))

    def filter(self, *, era: str = "all", reader: str = "all") -> None:
        """Show some of the errors only.

        Args:
            era: "all", "modern" or "legacy".
            reader: "all", "client", "host" or "model".

        Raises:
            ValueError: there is no such era or reader.
        """
        self._do(lambda: self._filter(era, reader))

    def choose(self, code: int) -> None:
        """Play the example of an error; 0 is the tool error, which has no code.

        Raises:
            ValueError: there is no such error here.
        """
        self._do(lambda: self._choose(code))

    def _act(self, wish: Mapping[str, Any]) -> None:
        if wish.get("do") == "filter":
            self._filter(text_in(wish, "era", 20), text_in(wish, "reader", 20))
        elif wish.get("do") == "choose":
            self._choose(wish.get("code"))
        else:
            raise ValueError(f"There is nothing like {wish.get('do')!r:.40} to do here.")

    def _filter(self, era: str, reader: str) -> None:
        if era not in ERAS:
            raise ValueError(f"era must be one of {', '.join(ERAS)}, not {era!r:.40}.")
        if reader not in ("all", *READERS):
            raise ValueError(f"reader must be one of all, {', '.join(READERS)}, not {reader!r:.40}.")
        self._play(replace(self.wanted, era=era, reader=reader))

    def _choose(self, code: object) -> None:
        if not isinstance(code, int) or isinstance(code, bool) or code not in ENTRIES:
            raise ValueError(f"There is no error {code!r:.40} here.")
        self._play(replace(self.wanted, code=code))

    def _play(self, wanted: Wanted) -> None:
        """Play the example in the era that is looked at, where it has the error."""
        eras = eras_of(wanted.code)
        era = wanted.era if wanted.era in eras else eras[-1]
        if (wanted.code, era) != (self.wanted.code, self.wanted.example_era):
            self.run = example(wanted.code, era)
        self.wanted = replace(wanted, example_era=era)

    def _data(self) -> dict[str, Any]:
        return errors_data(self.wanted, self.recording)

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        return "ErrorMap()"

    def still_text(self) -> str:
        return f"{errors_text(self.shown)}\n\n{super().still_text()}"

    def still_html(self) -> str:
        return errors_html(self.shown) + still_of(self.data)


def example(code: int, era: str) -> Run:
    """A run in which an error really happens.

    Args:
        code: the code of the error; 0 for the tool error.
        era: an era that has it.
    """
    return simulate(
        _STORIES[code],
        server=_server(),
        client=Client(era=_ERAS[era], elicit_url=_decline) if code == URL_ELICITATION_REQUIRED else None,
        era=None if code == URL_ELICITATION_REQUIRED else _ERAS[era],
        transport=StreamableHttp(),
        title=f"Example: {name_of(code)}",
        check=False,
    )


def _decline(question: object) -> dict[str, str]:
    return {"action": "decline"}


def _server() -> Server:
    server = Server("error-desk")

    @server.tool()
    async def divide(a: float, b: float) -> float:
        """Divide a by b."""
        if b == 0:
            raise ToolError("b must not be 0. Give another number.")
        return a / b

    @server.tool()
    async def ask_for_a_name(context: Context) -> str:
        """Ask the user for a name."""
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        return (await context.elicit("What is your name?", form)).action

    @server.tool()
    async def sign_in(context: Context) -> str:
        """Let the user sign in elsewhere."""
        await context.require_url("Please sign in.", "https://example.com/sign-in")
        return "signed in"

    @server.resource("notes://today")
    async def today() -> str:
        """Today's note."""
        return "Buy bread."

    @server.prompt()
    async def broken() -> str:
        """A prompt whose handler fails."""
        raise RuntimeError("the database is gone")

    return server


async def _no_json(client: Client) -> Any:
    return await client.send_raw(b'{"jsonrpc": "2.0", oops')


async def _no_request(client: Client) -> Any:
    return await client.send_raw({"jsonrpc": "2.0", "id": 7})


async def _no_method(client: Client) -> Any:
    return await client.request("tools/dance")


async def _no_tool(client: Client) -> Any:
    return await client.call_tool("no-such-tool")


async def _broken(client: Client) -> Any:
    return await client.get_prompt("broken")


async def _two_methods(client: Client) -> Any:
    return await client.request("tools/list", headers={"Mcp-Method": "prompts/list"})


async def _cannot_ask(client: Client) -> Any:
    return await client.call_tool("ask_for_a_name")


async def _other_version(client: Client) -> Any:
    unknown = "1900-01-01"
    return await client.request(
        "tools/list", meta={PROTOCOL_VERSION: unknown}, headers={"MCP-Protocol-Version": unknown}
    )


async def _no_resource(client: Client) -> Any:
    return await client.read_resource("notes://tomorrow")


async def _visit_first(client: Client) -> Any:
    return await client.request("tools/call", {"name": "sign_in"})


async def _by_zero(client: Client) -> Any:
    return await client.call_tool("divide", {"a": 1, "b": 0})


_STORIES: Final[Mapping[int, Story]] = {
    PARSE_ERROR: _no_json,
    INVALID_REQUEST: _no_request,
    METHOD_NOT_FOUND: _no_method,
    INVALID_PARAMS: _no_tool,
    INTERNAL_ERROR: _broken,
    HEADER_MISMATCH: _two_methods,
    MISSING_CLIENT_CAPABILITY: _cannot_ask,
    UNSUPPORTED_VERSION: _other_version,
    RESOURCE_NOT_FOUND: _no_resource,
    URL_ELICITATION_REQUIRED: _visit_first,
    TOOL_ERROR: _by_zero,
}
