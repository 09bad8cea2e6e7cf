"""Stories of what a server offers beside plain tools: resources, prompts, completion, results, logging."""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.servers import notice_board, writing_desk
from mcpsim.course.stories.keeping import read
from mcpsim.course.stories.story import ALL, BOTH, Story, text_of, told
from mcpsim.errors import ProtocolError


async def read_a_notice(client: Client) -> list[str]:
    """List the resources and the templates, read one resource, and one by filling in a template."""
    listed = await client.list_resources()
    templates = await client.list_resource_templates()
    seen = [str(one.uri) for one in listed.resources]
    seen += [one.uri_template for one in templates.resource_templates]
    seen.append(await read(client, "notice://monday"))
    return seen


async def no_such_notice(client: Client) -> str:
    """A resource that is not there: the code of the error depends on the revision."""
    try:
        return await read(client, "notice://sunday")
    except ProtocolError as error:
        return str(error)


async def a_letter_from_a_prompt(client: Client) -> str:
    """List the prompts, and get the messages of one."""
    prompts = await client.list_prompts()
    name = prompts.prompts[0].name
    found = await client.get_prompt(name, {"city": "Pau", "country": "france"})
    return " ".join(getattr(message.content, "text", "") for message in found.messages)


async def complete_as_you_type(client: Client) -> list[list[str]]:
    """Complete what was typed so far; what is filled in already narrows the choice."""
    prompt = {"type": "ref/prompt", "name": "letter"}
    anywhere = await client.complete(prompt, ("city", "P"))
    in_france = await client.complete(prompt, ("city", "P"), {"country": "france"})
    return [anywhere.completion.values, in_france.completion.values]


async def complete_a_template(client: Client) -> list[str]:
    """Complete the variable of a resource template."""
    found = await client.complete({"type": "ref/resource", "uri": "notice://{day}"}, ("day", "m"))
    return found.completion.values


async def a_result_with_a_schema(client: Client) -> Any:
    """A tool that declares the schema of its result: the client gets values, and text beside them."""
    await client.list_tools()
    result = await client.call_tool("count", {"text": "Write to me soon"})
    return result.structured_content


async def every_kind_of_content(client: Client) -> list[str]:
    """A result with a text, an image, a sound, a link and an embedded resource."""
    result = await client.call_tool("samples")
    return [block.type for block in result.content]


async def log_from_warnings_on(client: Client) -> list[str]:
    """The client wants log messages from warnings on: modern in each request, legacy for the session."""
    await client.set_log_level("warning")
    seen: list[str] = []
    client.on_log = lambda level, data, logger: seen.append(f"{level}: {data}")
    await client.call_tool("pin_slowly", {"day": "monday", "text": "Stew again."})
    await anyio.sleep(0.1)
    return seen


async def nothing_is_logged_unasked(client: Client) -> list[str]:
    """Without a level a modern server sends no log messages; a legacy server may choose one."""
    text = text_of(await client.call_tool("pin", {"day": "monday", "text": "Stew again."}))
    return [text, *(one.method for one in client.notifications)]


OFFERING: Final[tuple[Story, ...]] = (
    told(read_a_notice, notice_board, ALL),
    told(no_such_notice, notice_board, BOTH),
    told(a_letter_from_a_prompt, writing_desk, ALL),
    told(complete_as_you_type, writing_desk, BOTH),
    told(complete_a_template, notice_board, BOTH),
    told(a_result_with_a_schema, writing_desk, BOTH),
    told(every_kind_of_content, writing_desk, BOTH),
    told(log_from_warnings_on, notice_board, BOTH),
    told(nothing_is_logged_unasked, notice_board, BOTH),
)
