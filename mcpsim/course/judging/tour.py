"""The stories that are played with a server that nobody has seen before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import anyio
import mcp_types

from mcpsim.client import Client
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import McpSimError, ProtocolError

#: The lists, with the capability that has to be declared for each, and where its members and their names are.
LISTS: Final = (
    ("tools/list", "tools", "tools", "name"),
    ("resources/list", "resources", "resources", "uri"),
    ("resources/templates/list", "resources", "resource_templates", "uri_template"),
    ("prompts/list", "prompts", "prompts", "name"),
)
PATIENCE_S: Final = 120.0
MORE_S: Final = 3.0
AFTERWARDS_S: Final = 30.0


class NobodySaid(McpSimError):
    """A tool has to be called with arguments, and nobody said with which."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the server is tried.

    Attributes:
        calls: what each tool is called with, by the tool's name.
        answers: what the user puts into the fields of forms, by the field's name.
    """

    calls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    answers: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def arguments(self, tool: mcp_types.Tool) -> dict[str, Any]:
        """What to call a tool with.

        Raises:
            NobodySaid: it has required arguments, and the plan does not have it.
        """
        if tool.name in self.calls:
            return dict(self.calls[tool.name])
        required = tool.input_schema.get("required")
        if required:
            raise NobodySaid(
                f"The tool {tool.name} has to be given {', '.join(map(str, required))}. Say what it shall be "
                f"called with: calls={{{tool.name!r}: {{...}}}}."
            )
        return {}

    def fill_in(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """A form filled in: with the answers of this plan, else with the defaults, else with what fits."""
        fields = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))
        return {
            name: self.answers[name] if name in self.answers else _value(of) for name, of in fields.items()
        }


def _value(schema: Mapping[str, Any]) -> Any:
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if "oneOf" in schema:
        return schema["oneOf"][0].get("const")
    match schema.get("type"):
        case "boolean":
            return True
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "array":
            items = schema.get("items", {})
            choices = items.get("enum") or [one.get("const") for one in items.get("anyOf", ())]
            return choices[: max(1, schema.get("minItems", 1))]
        case _:
            return _TEXTS.get(schema.get("format", ""), "text".ljust(schema.get("minLength", 0), "."))


_TEXTS: Final[Mapping[str, str]] = {
    "email": "reader@example.org",
    "uri": "https://example.org/",
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
}


class User:
    """Who answers the questions of the server, always in the same way.

    Args:
        plan: what is filled in.
        reply: "accept", "decline" or "cancel".

    Attributes:
        asked: the messages of the questions, in order.
    """

    def __init__(self, plan: Plan, reply: str = "accept") -> None:
        self._plan = plan
        self._reply = reply
        self.asked: list[str] = []

    def client(self, era: ClientEra) -> Client:
        """A client whose questions this user answers."""
        return Client(
            "judge",
            era=era,
            elicit=self._form,
            elicit_url=self._visit,
            sample=lambda asked: "A text that a model wrote.",
            roots=[],
            timeout_s=PATIENCE_S,
        )

    def _form(self, asked: Any) -> Any:
        self.asked.append(asked.message)
        return self._plan.fill_in(asked.requested_schema) if self._reply == "accept" else self._reply

    def _visit(self, asked: Any) -> str:
        self.asked.append(asked.message)
        return self._reply


@dataclass(frozen=True, slots=True)
class Called:
    """What came of one call of a tool.

    Attributes:
        text: the texts of the result; or what went wrong.
        failed: whether it is a tool error, or no result at all.
        seconds: how long it took, in simulated seconds.
        questions: how many there were.
        steps: how many times progress came.
    """

    text: str
    failed: bool
    seconds: float
    questions: int
    steps: int


@dataclass(frozen=True, slots=True)
class Tour:
    """What a client sees that looks at everything.

    Attributes:
        pages: the names on each page, by list.
        read: the resources that were read.
        called: what came of each call, by tool.
    """

    pages: dict[str, tuple[tuple[str, ...], ...]]
    read: tuple[str, ...]
    called: dict[str, Called]

    def names(self, method: str) -> tuple[str, ...]:
        """All names of a list."""
        return tuple(name for page in self.pages.get(method, ()) for name in page)

    @property
    def lists(self) -> dict[str, tuple[str, ...]]:
        """All names of each list."""
        return {method: self.names(method) for method in self.pages}


async def look_at_everything(client: Client, plan: Plan, user: User) -> Tour:
    """Read all lists and all resources, and call every tool."""
    if client.era == "modern":
        await client.discover()
    pages: dict[str, tuple[tuple[str, ...], ...]] = {}
    tools: list[mcp_types.Tool] = []
    for method, capability, members, key in LISTS:
        if capability not in (client.server_capabilities or {}):
            continue
        found: list[tuple[str, ...]] = []
        async for page in client.pages(method):
            listed = getattr(page, members)
            found.append(tuple(str(getattr(one, key)) for one in listed))
            tools += listed if method == "tools/list" else []
        pages[method] = tuple(found)
    addresses = tuple(name for page in pages.get("resources/list", ()) for name in page)
    for address in addresses:
        await client.read_resource(address)
    return Tour(pages, addresses, {tool.name: await _call(client, plan, user, tool) for tool in tools})


async def _call(client: Client, plan: Plan, user: User, tool: mcp_types.Tool) -> Called:
    steps: list[float] = []
    asked_before, began = len(user.asked), anyio.current_time()
    failed = True
    try:
        result = await client.call_tool(
            tool.name,
            plan.arguments(tool),
            on_progress=lambda progress, total, message: steps.append(progress),
        )
    except (ProtocolError, NobodySaid) as error:
        text = str(error)
    else:
        text = " ".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))
        failed = bool(result.is_error)
    seconds = anyio.current_time() - began
    return Called(text, failed, seconds, len(user.asked) - asked_before, len(steps))


async def call_once(client: Client, name: str, arguments: Mapping[str, Any]) -> str:
    """Call one tool, and say what came: "result", "tool error", or the code of an error."""
    try:
        result = await client.call_tool(name, arguments)
    except ProtocolError as error:
        return str(error.code)
    return "tool error" if result.is_error else "result"


def _hear(progress: float, total: float | None, message: str | None) -> None:
    """Progress is wanted, so that it is sent."""


async def stop_it(client: Client, name: str, arguments: Mapping[str, Any], after_s: float) -> float:
    """Call a tool, press Stop, and wait. Returns when Stop was pressed, in seconds."""
    with anyio.move_on_after(after_s):
        await client.call_tool(name, arguments, on_progress=_hear)
    stopped = anyio.current_time()
    await anyio.sleep(AFTERWARDS_S)
    return stopped


async def get_by(client: Client, calls: Mapping[str, Mapping[str, Any]], seconds: Mapping[str, float]) -> int:
    """Call the tools one after the other, and wait little longer than each of them takes.

    Returns how many answers came.
    """
    answers = 0
    for name, arguments in calls.items():
        try:
            await client.call_tool(name, arguments, timeout_s=seconds[name] + MORE_S)
        except McpSimError:
            continue
        answers += 1
    await anyio.sleep(AFTERWARDS_S)
    return answers
