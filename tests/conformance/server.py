"""The server that the official conformance suite tests: one member for each thing that a scenario asks for.

    python tests/conformance/server.py --port PORT

Everything here is plain use of mcpsim's public API. The names and texts are the suite's; that is all that is
special about them. Port 0, the default, takes a free one; the server prints its address.
"""

from __future__ import annotations

import argparse
import base64
import json
import struct
import zlib
from typing import Any

import anyio

from mcpsim import Context, Server, ToolError
from mcpsim.live import run_http

server = Server("conformance-server", list_changed=True, subscribe=True, logging=True)


def _png() -> str:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    return _base64(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def _wav() -> str:
    """One sample of silence."""
    form = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    data = form + b"data" + struct.pack("<I", 1) + b"\x80"
    return _base64(b"RIFF" + struct.pack("<I", len(data)) + data)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


IMAGE = {"type": "image", "data": _png(), "mimeType": "image/png"}
PAUSE_S = 0.05


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _embedded(uri: str, text: str, mime_type: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


def _form(**properties: dict[str, Any]) -> dict[str, Any]:
    """A form that asks for all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _told(answer: Any) -> str:
    content = json.dumps(answer.content or {}, ensure_ascii=False)
    return f"Elicitation completed: action={answer.action}, content={content}"


# Results of every kind


@server.tool()
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@server.tool()
def test_image_content() -> dict[str, Any]:
    """Return an image."""
    return IMAGE


@server.tool()
def test_audio_content() -> dict[str, Any]:
    """Return a sound."""
    return {"type": "audio", "data": _wav(), "mimeType": "audio/wav"}


@server.tool()
def test_embedded_resource() -> dict[str, Any]:
    """Return the contents of a resource."""
    return _embedded("test://embedded-resource", "This is an embedded resource content.")


@server.tool()
def test_multiple_content_types() -> list[dict[str, Any]]:
    """Return a text, an image and the contents of a resource."""
    data = json.dumps({"test": "data", "value": 123})
    return [
        _text("Multiple content types test:"),
        IMAGE,
        _embedded("test://mixed-content-resource", data, "application/json"),
    ]


@server.tool()
def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


# What a handler sends meanwhile


@server.tool()
async def test_tool_with_logging(context: Context) -> str:
    """Log three messages."""
    await context.log("info", "Tool execution started")
    await anyio.sleep(PAUSE_S)
    await context.log("info", "Tool processing data")
    await anyio.sleep(PAUSE_S)
    await context.log("info", "Tool execution completed")
    return "Logged three messages."


@server.tool()
async def test_logging_tool(context: Context) -> str:
    """Log one message, which a client gets that asks for it."""
    await context.log("info", "Logged while a tool ran")
    return "Logged one message."


@server.tool()
async def test_tool_with_progress(context: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        await context.report_progress(done, 100)
        await anyio.sleep(PAUSE_S)
    return "Reported progress."


@server.tool()
async def test_reconnection(context: Context) -> str:
    """Close the stream of this call, and answer when the client has taken it up again."""
    await context.close_stream()
    await anyio.sleep(PAUSE_S)
    return "The call has outlived the connection."


# Questions to the client, asked in either era's way


@server.tool()
async def test_sampling(context: Context, prompt: str) -> str:
    """Ask the client's model."""
    answer = await context.sample(prompt, max_tokens=100)
    return f"LLM response: {answer.content.text}"


@server.tool()
async def test_elicitation(context: Context, message: str) -> str:
    """Ask the user for a name and an address."""
    answer = await context.elicit(
        message,
        _form(
            username={"type": "string", "description": "User's response"},
            email={"type": "string", "description": "User's email address"},
        ),
    )
    return f"User response: {_told(answer)}"


@server.tool()
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Ask with a default value of every kind."""
    fields = _form(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return _told(await context.elicit("Please review the values.", {**fields, "required": []}))


@server.tool()
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Ask for a choice in each of the five ways."""

    def titled(*titles: str) -> list[dict[str, str]]:
        return [{"const": f"value{number}", "title": title} for number, title in enumerate(titles, 1)]

    plain = ["option1", "option2", "option3"]
    fields = _form(
        untitledSingle={"type": "string", "enum": plain},
        titledSingle={"type": "string", "oneOf": titled("First Option", "Second Option", "Third Option")},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": plain}},
        titledMulti={
            "type": "array",
            "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")},
        },
    )
    return _told(await context.elicit("Please choose.", fields))


@server.tool(requires={"sampling": {}})
def test_missing_capability() -> str:
    """Serve clients that offer sampling, and nobody else."""
    return "The client offers sampling."


@server.tool()
async def test_streaming_elicitation(context: Context) -> str:
    """Ask in the middle of a call."""
    answer = await context.elicit("Please confirm.", _form(ok={"type": "boolean"}))
    return _told(answer)


# Multi round-trip requests


@server.tool()
async def test_input_required_result_elicitation(context: Context) -> str:
    """Ask for a name."""
    answer = await context.elicit("What is your name?", _form(name={"type": "string"}), key="user_name")
    return f"Hello, {(answer.content or {}).get('name', 'nobody')}!"


@server.tool()
async def test_input_required_result_sampling(context: Context) -> str:
    """Ask the client's model for a capital."""
    question = "What is the capital of France?"
    answer = await context.sample(question, max_tokens=100, key="capital_question")
    return str(answer.content.text)


@server.tool()
async def test_input_required_result_list_roots(context: Context) -> str:
    """Ask for the client's roots."""
    answer = await context.list_roots(key="client_roots")
    return ", ".join(str(root.uri) for root in answer.roots)


@server.tool()
async def test_input_required_result_request_state(context: Context) -> str:
    """Ask, and keep something in the request state until the answer comes."""
    context.remember("state-ok")
    await context.elicit("Please confirm", _form(ok={"type": "boolean"}), key="confirm")
    return f"Confirmed, with the state: {context.remembered}"


@server.tool()
async def test_input_required_result_tampered_state(context: Context) -> str:
    """Ask, and keep something in the request state that nobody else may change."""
    context.remember("sealed")
    await context.elicit("Please confirm", _form(ok={"type": "boolean"}), key="confirm")
    return f"Confirmed, with the state: {context.remembered}"


@server.tool()
async def test_input_required_result_multiple_inputs(context: Context) -> str:
    """Ask three things at once."""
    context.remember("three questions")
    answers = await context.ask(
        {
            "user_name": context.form("What is your name?", _form(name={"type": "string"})),
            "greeting": context.sampling("Generate a greeting", max_tokens=50),
            "client_roots": context.roots(),
        }
    )
    return f"{len(answers)} answers"


@server.tool()
async def test_input_required_result_multi_round(context: Context) -> str:
    """Ask one thing after the other."""
    name = await context.elicit("Step 1: What is your name?", _form(name={"type": "string"}), key="step1")
    colour = await context.elicit(
        "Step 2: What is your favorite color?", _form(color={"type": "string"}), key="step2"
    )
    return f"{name.content} likes {colour.content}"


@server.tool()
async def test_input_required_result_capabilities(context: Context) -> str:
    """Ask whatever this client can be asked."""
    questions: dict[str, Any] = {}
    if context.can_elicit("form"):
        questions["user_name"] = context.form("What is your name?", _form(name={"type": "string"}))
    if context.can_sample:
        questions["greeting"] = context.sampling("Generate a greeting", max_tokens=50)
    if not questions:
        return "This client cannot be asked anything."
    return f"{len(await context.ask(questions))} answers"


# Members that come and go


def _come_or_go(name: str, is_there: bool) -> None:
    if is_there:
        server.remove_tool(name)
    else:
        server.tool(name, description="Come and go.")(lambda: "I am here.")


@server.tool()
def test_trigger_tool_change() -> str:
    """Change the list of tools."""
    name = "test_dynamic_tool"
    _come_or_go(name, server.tool_named(name) is not None)
    return "The list of tools has changed."


@server.tool()
def test_trigger_prompt_change(context: Context) -> str:
    """Change the list of prompts."""
    name = f"test_dynamic_prompt_{context.tokens('prompt')}"
    server.prompt(name, description="Come and go.")(lambda: "I am here.")
    server.remove_prompt(name)
    return "The list of prompts has changed, twice."


# Schemas


@server.tool(
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }
)
def json_schema_2020_12_tool(**arguments: Any) -> str:
    """Take arguments that a rich schema describes."""
    return ", ".join(sorted(arguments))


@server.tool(
    input_schema={
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    }
)
def test_parameter_header(region: str) -> str:
    """Take an argument that HTTP clients mirror into a header."""
    return region


# Resources


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text that stays the same."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image that stays the same."""
    return base64.b64decode(IMAGE["data"])


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """A text that clients can subscribe to."""
    return "Watched."


@server.resource_template("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> str:
    """Data for every id."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


# Prompts


def _message(content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _beginning_with(value: str, arguments: Any) -> list[str]:
    return [word for word in ("paris", "park", "party", "test", "testing") if word.startswith(value)]


@server.prompt()
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt(complete={"arg1": _beginning_with})
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[dict[str, Any]]:  # noqa: N803
    """A prompt with the contents of a resource."""
    contents = _embedded(resourceUri, "Embedded resource content for testing.")
    return [_message(contents), _message(_text("Please process the embedded resource above."))]


@server.prompt()
def test_prompt_with_image() -> list[dict[str, Any]]:
    """A prompt with an image."""
    return [_message(IMAGE), _message(_text("Please analyze the image above."))]


@server.prompt()
async def test_input_required_result_prompt(context: Context) -> str:
    """A prompt that asks for its context."""
    answer = await context.elicit(
        "What context should the prompt use?", _form(context={"type": "string"}), key="user_context"
    )
    return f"Work in this context: {(answer.content or {}).get('context', '')}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="the port on the loopback address")
    port = parser.parse_args().port
    run_http(server, port=port, resumable=True, on_ready=lambda url: print(url, flush=True))
