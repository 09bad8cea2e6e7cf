"""The client that the official conformance suite tests.

    python tests/conformance/client.py URL

The suite says in the environment which scenario it plays and in which revision, and looks at what the client
sends. So this client makes a visit: it lists what the server has, calls every tool that it is offered, reads
every resource, gets every prompt, and says yes where it is asked. That serves every scenario; there is one
that wants a client whose first choice of a version is refused, so there it has such a choice.

Scenarios about OAuth are not for this client: it ends at once, and says so.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpsim import Client

NOT_FOR_US = 3
REVISION_WITHOUT_HANDSHAKE = "2026-07-28"
FIRST_CHOICE = {"request-metadata": "2099-01-01"}


def main(url: str) -> int:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    if scenario.startswith("auth/"):
        # Before the imports: the suite starts all scenarios at once, and most are these.
        print(f"{scenario}: this client has no OAuth.", file=sys.stderr)
        return NOT_FOR_US
    import anyio

    anyio.run(_visit, url, FIRST_CHOICE.get(scenario))
    return 0


async def _visit(url: str, first_choice: str | None) -> None:
    from mcpsim import Client
    from mcpsim.live import connect_http

    revision = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", REVISION_WITHOUT_HANDSHAKE)
    client = Client(
        "conformance-client",
        era="auto" if revision >= REVISION_WITHOUT_HANDSHAKE else "legacy",
        protocol_version=first_choice,
        elicit=_accept,
        sample=_say_something,
        roots=list,
        standing_stream=True,
        timeout_s=20.0,
        # While the suite starts fifty clients, no probe is answered soon.
        probe_timeout_s=20.0,
    )
    async with connect_http(url, client=client) as session:
        await visit(session.client)


async def visit(client: Client) -> None:
    """Use everything that the server declares."""
    declared = client.server_capabilities or {}
    if "tools" in declared:
        await _use_tools(client)
    else:
        await _try_tools(client)
    if "resources" in declared:
        for resource in (await client.list_resources()).resources:
            await client.read_resource(str(resource.uri))
    if "prompts" in declared:
        for prompt in (await client.list_prompts()).prompts:
            arguments = {one.name: "something" for one in prompt.arguments or []}
            await client.get_prompt(prompt.name, arguments)


async def _try_tools(client: Client) -> None:
    """A modern client may ask for what a server did not declare, and be told that there is nothing."""
    if client.era == "modern":
        await client.list_tools()


async def _use_tools(client: Client) -> None:
    """Call every tool: at the same time, so that one call can disturb another; with the suite's arguments
    where it hands some over."""
    import anyio

    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")).get("toolCalls", [])
    calls = [(one["name"], one["arguments"]) for one in given] or [
        (name, arguments_for(tool.input_schema, tools)) for name, tool in tools.items()
    ]
    async with anyio.create_task_group() as tasks:
        for name, arguments in calls:
            tasks.start_soon(_call, client, name, arguments)


async def _call(client: Client, name: str, arguments: dict[str, Any]) -> None:
    from mcpsim import ProtocolError

    try:
        await client.call_tool(name, arguments)
    except ProtocolError as error:
        print(f"{name}: {error}", file=sys.stderr)


def arguments_for(schema: dict[str, Any], tools: dict[str, Any]) -> dict[str, Any]:
    """Something for every required argument. An object is the first schema that was listed: an echo of it
    shows whether the client kept it whole."""
    samples: dict[str, Any] = {
        "string": "something",
        "integer": 2,
        "number": 2.5,
        "boolean": True,
        "array": [],
        "object": next(iter(tools.values())).input_schema,
    }
    properties = schema.get("properties", {})
    return {name: samples.get(properties.get(name, {}).get("type")) for name in schema.get("required", [])}


def _accept(asked: Any) -> dict[str, Any]:
    """Send the form as it is shown: filled in with its default values, and yes where it is a yes or no."""
    schema = asked.requested_schema
    fields = schema.get("properties", {})
    yes = {name: True for name, field in fields.items() if field.get("type") == "boolean"}
    return yes | {name: field["default"] for name, field in fields.items() if "default" in field}


def _say_something(asked: Any) -> str:
    return "Something."


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1]))
