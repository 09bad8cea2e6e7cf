"""Our client against the reference server that tries to have everything: a legacy server, in TypeScript."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from mcp_types import CreateMessageRequestParams, ElicitRequestFormParams

from mcpsim import Client, ProtocolError, Report
from mcpsim.live import ShutdownTimes, record
from mcpsim.recording import Recording

PACKAGE, VERSION = "@modelcontextprotocol/server-everything", "2026.8.31"
PATIENT_S = 60.0


@pytest.fixture(scope="session")
def everything(
    load_beside: Callable[[str], ModuleType], npm_package: Callable[[str, str], Path]
) -> Sequence[str]:
    """The command that starts the server."""
    script = npm_package(PACKAGE, VERSION) / "dist" / "index.js"
    return load_beside("npm.py").NODE, str(script), "stdio"


@pytest.fixture
def play(everything: Sequence[str], check_recording: Callable[[Recording], None]) -> Callable[..., Any]:
    """Play a story against the server; every message of it must be valid."""

    def play(story: Callable[[Client], Any], client: Client | None = None) -> Any:
        run = record(
            story,
            command=everything,
            client=client or Client(era="legacy", timeout_s=PATIENT_S),
            times=ShutdownTimes(exit_s=PATIENT_S),
            check=False,
        )
        check_recording(run.recording)
        assert run.error is None, run.transcript()
        assert_unbroken(run.audit())
        return run

    return play


# What this server does that the specification advises against.
RECOMMENDED = {
    "resource-not-found-code-legacy": "A resource that is not there gets -32602, as in 2026-07-28.",
}


def assert_unbroken(report: Report) -> None:
    """It breaks no rule, and of what is recommended only what is known."""
    assert report.skipped == ()
    assert report.broken == (), report
    assert {one.rule for one in report.of_level("SHOULD")} <= RECOMMENDED.keys(), report


def test_it_lists_what_it_has(play: Callable[..., Any]) -> None:
    async def story(client: Client) -> list[set[str]]:
        return [
            {tool.name for tool in (await client.list_tools()).tools},
            {one.uri for one in (await client.list_resources()).resources},
            {one.uri_template for one in (await client.list_resource_templates()).resource_templates},
            {prompt.name for prompt in (await client.list_prompts()).prompts},
        ]

    tools, resources, templates, prompts = play(story).value
    assert {"echo", "get-sum", "trigger-long-running-operation", "get-structured-content"} <= tools
    assert "demo://resource/static/document/features.md" in resources
    assert "demo://resource/dynamic/text/{resourceId}" in templates
    assert {"simple-prompt", "args-prompt", "completable-prompt"} <= prompts


def test_its_tools_bring_back_every_kind_of_content(play: Callable[..., Any]) -> None:
    async def story(client: Client) -> list[Any]:
        return [
            await client.call_tool("echo", {"message": "h\N{LATIN SMALL LETTER E WITH ACUTE}llo"}),
            await client.call_tool("get-sum", {"a": 19, "b": 23}),
            await client.call_tool("get-structured-content", {"location": "Chicago"}),
            await client.call_tool("get-tiny-image"),
            await client.call_tool("get-resource-links", {"count": 2}),
            await client.call_tool("get-annotated-message", {"messageType": "error"}),
            await client.call_tool("get-sum", {"a": "no number"}),
        ]

    echo, total, weather, image, links, annotated, wrong = play(story).value
    assert echo.content[0].text == "Echo: h\N{LATIN SMALL LETTER E WITH ACUTE}llo"
    assert "42" in total.content[0].text
    assert weather.structured_content == json.loads(weather.content[0].text)
    assert weather.structured_content["temperature"] == 36
    pictures = [block for block in image.content if block.type == "image"]
    assert base64.b64decode(pictures[0].data).startswith(b"\x89PNG")
    assert [block.type for block in links.content].count("resource_link") == 2
    assert annotated.content[0].annotations.priority == 1
    assert wrong.is_error


def test_a_long_operation_reports_its_progress(play: Callable[..., Any]) -> None:
    seen: list[tuple[float, float | None]] = []

    async def story(client: Client) -> Any:
        return await client.call_tool(
            "trigger-long-running-operation",
            {"duration": 0.3, "steps": 3},
            on_progress=lambda progress, total, message: seen.append((progress, total)),
        )

    assert "completed" in play(story).value.content[0].text
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_its_resources_can_be_read(play: Callable[..., Any]) -> None:
    async def story(client: Client) -> Any:
        text = await client.read_resource("demo://resource/dynamic/text/1")
        blob = await client.read_resource("demo://resource/dynamic/blob/2")
        with pytest.raises(ProtocolError) as caught:
            await client.read_resource("demo://resource/no/such/thing")
        await client.subscribe("demo://resource/dynamic/text/1")
        await client.unsubscribe("demo://resource/dynamic/text/1")
        return text.contents[0], blob.contents[0], caught.value

    text, blob, error = play(story).value
    assert text.uri == "demo://resource/dynamic/text/1"
    assert text.text.startswith("Resource 1")
    assert base64.b64decode(blob.blob).startswith(b"Resource 2")
    assert error.code in (-32002, -32602)


def test_its_prompts_can_be_filled_in_and_completed(play: Callable[..., Any]) -> None:
    async def story(client: Client) -> Any:
        reference = {"type": "ref/prompt", "name": "completable-prompt"}
        departments = await client.complete(reference, {"name": "department", "value": "S"})
        names = await client.complete(
            reference, {"name": "name", "value": ""}, context={"department": "Sales"}
        )
        prompt = await client.get_prompt("args-prompt", {"city": "Oslo"})
        return departments.completion.values, names.completion.values, prompt.messages[0].content.text

    departments, names, text = play(story).value
    assert departments == ["Sales", "Support"]
    assert names == ["David", "Eve", "Frank"]
    assert text == "What's weather in Oslo?"


def test_an_automatic_client_finds_out_that_it_is_legacy(play: Callable[..., Any]) -> None:
    async def story(client: Client) -> tuple[str, str]:
        await client.list_tools()
        return client.era, client.version

    client = Client(era="auto", timeout_s=PATIENT_S, probe_timeout_s=PATIENT_S)
    run = play(story, client)
    assert run.value == ("legacy", "2025-11-25")
    assert "server/discover #1" in run.transcript()


async def offers(client: Client, tool: str) -> None:
    """Wait until the server has the tool: some of them come only after the handshake."""
    with anyio.fail_after(PATIENT_S):
        while tool not in {one.name for one in (await client.list_tools()).tools}:
            await anyio.sleep(0.05)


def test_it_may_ask_the_user(play: Callable[..., Any]) -> None:
    asked: list[str] = []

    def elicit(params: ElicitRequestFormParams) -> Any:
        asked.append(params.message)
        return {"name": "Ada", "integer": 7} if len(asked) == 1 else "decline"

    async def story(client: Client) -> list[str]:
        await offers(client, "trigger-elicitation-request")
        results = [await client.call_tool("trigger-elicitation-request") for _ in range(2)]
        return ["\n".join(block.text for block in result.content) for result in results]

    filled_in, declined = play(story, Client(era="legacy", timeout_s=PATIENT_S, elicit=elicit)).value
    assert "- Name: Ada" in filled_in
    assert "- Favorite Integer: 7" in filled_in
    assert "User declined" in declined
    assert len(asked) == 2


def test_it_may_ask_a_model_and_for_roots(play: Callable[..., Any]) -> None:
    def sample(params: CreateMessageRequestParams) -> str:
        return f"I read: {params.messages[-1].content.text}"

    async def story(client: Client) -> tuple[str, str]:
        await offers(client, "trigger-sampling-request")
        await offers(client, "get-roots-list")
        sampled = await client.call_tool("trigger-sampling-request", {"prompt": "good morning"})
        roots = await client.call_tool("get-roots-list")
        return sampled.content[0].text, roots.content[0].text

    client = Client(era="legacy", timeout_s=PATIENT_S, sample=sample, roots=["file:///srv/desk"])
    sampled, roots = play(story, client).value
    assert "I read: " in sampled
    assert "good morning" in sampled
    assert "file:///srv/desk" in roots


def test_it_logs_what_the_client_wants_to_hear(play: Callable[..., Any]) -> None:
    heard: list[str] = []

    async def story(client: Client) -> None:
        await client.call_tool("toggle-simulated-logging")
        await client.set_log_level("emergency")
        await client.call_tool("toggle-simulated-logging")

    client = Client(
        era="legacy",
        timeout_s=PATIENT_S,
        log_level="debug",
        on_log=lambda level, data, logger: heard.append(level),
    )
    run = play(story, client)
    assert "logging/setLevel" in run.transcript()
    # The first message comes at once, at a level that the server draws.
    assert set(heard) <= {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
    assert heard
