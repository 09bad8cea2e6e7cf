"""The help desk, written with the official SDK: its low-level server, which can page its lists.

python tests/interop/sdk_desk.py           on stdio
python tests/interop/sdk_desk.py --http    on a free port; the address is printed
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

sys.path.insert(0, str(Path(__file__).parent))

from desk import BOARD, PAGE_SIZE, TICKETS, TOOLS, hour_question, question, topics_beginning_with

Request = ServerRequestContext[Any]
Reply = types.CallToolResult | types.InputRequiredResult

bus = InMemorySubscriptionBus()
listening = ListenHandler(bus)
notes: list[str] = []
stopped: set[str] = set()
PARAMETERS: dict[str, dict[str, Any]] = {
    "export_report": {"parts": {"type": "integer"}},
    "find_ticket": {"number": {"type": "string"}},
    "pin_note": {"text": {"type": "string"}},
    "wait_long": {"name": {"type": "string"}},
    "was_stopped": {"name": {"type": "string"}},
}


def _text(text: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)


async def list_tools(context: Request, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    start = int(params.cursor) if params is not None and params.cursor is not None else 0
    end = start + PAGE_SIZE
    tools = [types.Tool(name=name, input_schema=_schema(name)) for name in TOOLS[start:end]]
    return types.ListToolsResult(tools=tools, next_cursor=str(end) if end < len(TOOLS) else None)


def _schema(name: str) -> dict[str, Any]:
    properties = PARAMETERS.get(name, {})
    return {"type": "object", "properties": properties, "required": list(properties)}


async def _ask(
    context: Request, params: types.CallToolRequestParams, key: str, message: str, known: dict[str, str]
) -> str | types.InputRequiredResult:
    """The answer to a question: known from an earlier round, come with this one, or asked for now."""
    schema: Any = question(key)
    if key in known:
        return known[key]
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        answer = await context.session.elicit_form(message, schema, related_request_id=context.request_id)
        return str((answer.content or {})[key])
    answer = (params.input_responses or {}).get(key)
    if isinstance(answer, types.ElicitResult) and answer.content is not None:
        return str(answer.content[key])
    form = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.InputRequiredResult(
        input_requests={key: types.ElicitRequest(params=form)}, request_state=json.dumps(known)
    )


async def book_slot(context: Request, params: types.CallToolRequestParams) -> Reply:
    day = await _ask(context, params, "day", "Which day?", {})
    return day if isinstance(day, types.InputRequiredResult) else _text(f"booked: {day}")


async def book_visit(context: Request, params: types.CallToolRequestParams) -> Reply:
    known: dict[str, str] = json.loads(params.request_state or "{}")
    day = await _ask(context, params, "day", "Which day?", known)
    if isinstance(day, types.InputRequiredResult):
        return day
    hour = await _ask(context, params, "hour", hour_question(day), {**known, "day": day})
    return hour if isinstance(hour, types.InputRequiredResult) else _text(f"visit: {day} at {hour}")


async def end_subscriptions(context: Request, params: types.CallToolRequestParams) -> Reply:
    listening.close()
    return _text("ended")


async def export_report(context: Request, params: types.CallToolRequestParams) -> Reply:
    parts = (params.arguments or {})["parts"]
    for part in range(1, parts + 1):
        await context.session.report_progress(part, parts, f"part {part}")
    return _text("report.pdf")


async def find_ticket(context: Request, params: types.CallToolRequestParams) -> Reply:
    number = (params.arguments or {})["number"]
    if number not in TICKETS:
        return _text(f"There is no ticket {number}.", is_error=True)
    return _text(TICKETS[number])


async def pin_note(context: Request, params: types.CallToolRequestParams) -> Reply:
    notes.append((params.arguments or {})["text"])
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        await bus.publish(ResourceUpdated(uri=BOARD))
    else:
        await context.session.send_resource_updated(BOARD)
    return _text("pinned")


async def wait_long(context: Request, params: types.CallToolRequestParams) -> Reply:
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        stopped.add((params.arguments or {})["name"])
        raise
    return _text("waited")


async def was_stopped(context: Request, params: types.CallToolRequestParams) -> Reply:
    return _text("yes" if (params.arguments or {})["name"] in stopped else "no")


HANDLERS: dict[str, Callable[[Request, types.CallToolRequestParams], Awaitable[Reply]]] = {
    "book_slot": book_slot,
    "book_visit": book_visit,
    "end_subscriptions": end_subscriptions,
    "export_report": export_report,
    "find_ticket": find_ticket,
    "pin_note": pin_note,
    "wait_long": wait_long,
    "was_stopped": was_stopped,
}


async def call_tool(context: Request, params: types.CallToolRequestParams) -> Reply:
    if params.name not in HANDLERS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return await HANDLERS[params.name](context, params)


async def list_resources(
    context: Request, params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri=BOARD, name="board")])


async def read_resource(
    context: Request, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    uri = str(params.uri)
    if uri != BOARD:
        # The low-level server leaves the code to whoever writes it: -32002 was the legacy one.
        modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        code = types.INVALID_PARAMS if modern else -32002
        raise MCPError(code, "Resource not found", {"uri": uri})
    text = "\n".join(notes)
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)]
    )


async def subscribe(context: Request, params: types.SubscribeRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def unsubscribe(context: Request, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def list_prompts(
    context: Request, params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    topic = types.PromptArgument(name="topic", required=True)
    return types.ListPromptsResult(prompts=[types.Prompt(name="letter", arguments=[topic])])


async def get_prompt(context: Request, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    text = f"Write a letter about {(params.arguments or {})['topic']}."
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(messages=[message])


async def complete(context: Request, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(
        completion=types.Completion(values=topics_beginning_with(params.argument.value))
    )


server = Server(
    "sdk-desk",
    version="1.0.0",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_subscriptions_listen=listening,
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
    on_completion=complete,
)
server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))


async def on_stdio() -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def on_http() -> None:
    open_socket = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(server.streamable_http_app(), log_level="error", timeout_graceful_shutdown=1)
    # It listens already: whoever comes now waits until uvicorn is ready.
    print(f"http://127.0.0.1:{open_socket.getsockname()[1]}/mcp", flush=True)
    await uvicorn.Server(config).serve([open_socket])


if __name__ == "__main__":
    anyio.run(on_http if "--http" in sys.argv else on_stdio)
