"""The client's methods with a server of this project: both eras, both transports, every message checked."""

from __future__ import annotations

import inspect
from typing import Any

import anyio
import pytest
from checked import simulate_checked

from mcpsim import Cache, Client, Context, ProtocolError, Server, Stdio, StreamableHttp

ways = pytest.mark.parametrize(
    ("era", "transport"),
    [
        (era, transport)
        for era in ("modern", "legacy", "auto")
        for transport in (Stdio(latency_ms=5), StreamableHttp(latency_ms=5))
    ],
    ids=str,
)


def desk(**settings: Any) -> Server:
    """A server with five of each thing."""
    server = Server("desk", **settings)
    for n in range(5):

        @server.tool(f"tool-{n}")
        def tool(text: str = "") -> str:
            return text

        @server.resource(f"file:///{n}", name=f"resource-{n}")
        def resource() -> str:
            return "text"

        @server.resource_template(f"file:///{n}/{{part}}", name=f"template-{n}")
        def template(part: str) -> str:
            return part

        @server.prompt(f"prompt-{n}", complete={"city": lambda value, context: [f"{value}is", f"{value}ma"]})
        def prompt(city: str) -> str:
            return f"Write about {city}."

    return server


def simulate(story: Any, server: Server, era: Any, transport: Any, **described: Any) -> Any:
    client = Client(era=era, **described)
    return simulate_checked(story, server=server, client=client, transport=transport)


LISTS = {
    "tools/list": ("tools", "tool"),
    "resources/list": ("resources", "resource"),
    "resources/templates/list": ("resource_templates", "template"),
    "prompts/list": ("prompts", "prompt"),
}


@ways
@pytest.mark.parametrize("page_size", [None, 1, 2, 5])
def test_every_list_page_by_page(era: str, transport: Any, page_size: int | None) -> None:
    async def story(client: Client) -> dict[str, list[str]]:
        seen: dict[str, list[str]] = {}
        for method, (members, _) in LISTS.items():
            seen[method] = []
            async for page in client.pages(method):
                assert page_size is None or len(getattr(page, members)) <= page_size
                seen[method] += [member.name for member in getattr(page, members)]
        return seen

    found = simulate(story, desk(page_size=page_size), era, transport).value
    assert found == {method: [f"{name}-{n}" for n in range(5)] for method, (_, name) in LISTS.items()}


@ways
def test_reading_prompting_and_completing(era: str, transport: Any) -> None:
    async def story(client: Client) -> list[Any]:
        read = await client.read_resource("file:///3")
        part = await client.read_resource("file:///3/a%20b")
        prompt = await client.get_prompt("prompt-1", {"city": "Paris"})
        ref = {"type": "ref/prompt", "name": "prompt-1"}
        completed = await client.complete(ref, ("city", "Par"))
        again = await client.complete(ref, {"name": "city", "value": "Ro"}, {"country": "Italy"})
        return [
            read.contents[0].text,
            part.contents[0].text,
            prompt.messages[0].content.text,
            completed.completion.values,
            again.completion.values,
        ]

    found = simulate(story, desk(), era, transport).value
    assert found == ["text", "a b", "Write about Paris.", ["Paris", "Parma"], ["Rois", "Roma"]]


@ways
def test_what_the_server_does_not_have(era: str, transport: Any) -> None:
    async def story(client: Client) -> list[int]:
        codes: list[int] = []
        for ask in (
            lambda: client.read_resource("file:///none"),
            lambda: client.get_prompt("none"),
            lambda: client.list_tools("no cursor of this server"),
        ):
            with pytest.raises(ProtocolError) as caught:
                await ask()
            codes.append(caught.value.code)
        return codes

    found = simulate(story, desk(), era, transport).value
    assert found == [-32602 if era != "legacy" else -32002, -32602, -32602]


@ways
def test_a_question_in_either_era(era: str, transport: Any) -> None:
    server = Server("asking")

    @server.tool()
    async def greet(context: Context) -> str:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        answer = await context.elicit("Who are you?", schema)
        return f"Hello {(answer.content or {}).get('name')}, {answer.action}"

    async def answer(params: Any) -> Any:
        assert params.message == "Who are you?"
        await anyio.sleep(1)
        return {"name": "Ann"}

    async def story(client: Client) -> str:
        return (await client.call_tool("greet")).content[0].text

    assert simulate(story, server, era, transport, elicit=answer).value == "Hello Ann, accept"


@ways
def test_arguments_that_belong_in_headers(era: str, transport: Any) -> None:
    server = Server("headers")
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

    @server.tool(input_schema=schema)
    def query(region: str = "") -> str:
        return region

    async def story(client: Client) -> list[str]:
        # Not listed before: on HTTP the modern server refuses, and the client looks.
        first = await client.call_tool("query", {"region": "Zürich"})
        second = await client.call_tool("query", {"region": " eu "})
        return [first.content[0].text, second.content[0].text]

    assert simulate(story, server, era, transport).value == ["Zürich", " eu "]


@pytest.mark.parametrize("transport", [Stdio(latency_ms=5), StreamableHttp(latency_ms=5)], ids=str)
def test_a_cache_is_invalidated_by_what_a_subscription_brings(transport: Any) -> None:
    server = desk(list_changed=True, subscribe=True, ttl_ms=60_000, cache_scope="public")

    async def story(client: Client) -> list[int]:
        counts: list[int] = []
        async with client.listen(tools_list_changed=True) as subscription:
            for _ in range(2):
                counts.append(len((await client.list_tools()).tools))
            server.remove_tool("tool-0")
            async for _ in subscription:
                break
            for _ in range(2):
                counts.append(len((await client.list_tools()).tools))
        return counts

    run = simulate(story, server, "modern", transport, cache=Cache())
    assert run.value == [5, 5, 4, 4]
    asked = [frame for frame in run.recording.frames if b'"tools/list"' in frame.data]
    assert len(asked) == 2


@pytest.mark.parametrize("transport", [Stdio(latency_ms=5), StreamableHttp(latency_ms=5)], ids=str)
def test_a_legacy_subscription(transport: Any) -> None:
    server = desk(subscribe=True)

    async def story(client: Client) -> list[Any]:
        await client.subscribe("file:///1")
        server.resource_updated("file:///1")
        server.resource_updated("file:///2")
        await anyio.sleep(1)
        await client.unsubscribe("file:///1")
        server.resource_updated("file:///1")
        await anyio.sleep(1)
        return [(one.method, one.params) for one in client.notifications]

    run = simulate(story, server, "legacy", transport, standing_stream=True)
    assert run.value == [("notifications/resources/updated", {"uri": "file:///1"})]


@pytest.mark.parametrize("transport", [Stdio(latency_ms=5), StreamableHttp(latency_ms=5)], ids=str)
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_log_messages(era: str, transport: Any) -> None:
    server = Server("logging", logging=True)
    seen: list[Any] = []

    @server.tool()
    async def work(context: Context) -> str:
        await context.log("debug", "too little")
        await context.log("warning", {"left": 1}, "disk")
        return "done"

    async def story(client: Client) -> None:
        await client.call_tool("work")

    described: dict[str, Any] = {"log_level": "info", "on_log": lambda *what: seen.append(what)}
    simulate(story, server, era, transport, **described)
    assert seen == [("warning", {"left": 1}, "disk")]


def test_a_run_with_a_cache_is_the_same_run_every_time() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        await client.list_tools()

    def play() -> str:
        server = desk(ttl_ms=1000)
        return simulate(story, server, "modern", Stdio(), cache=Cache()).recording.transcript()

    assert play() == play()


# The description


OPTIONS: dict[str, Any] = {
    "version": "9",
    "era": "legacy",
    "protocol_version": "2025-06-18",
    "capabilities": {"experimental": {}},
    "timeout_s": 1.0,
    "max_timeout_s": 2.0,
    "probe_timeout_s": 3.0,
    "anonymous": True,
    "principal": "ann",
    "log_level": "info",
    "on_log": print,
    "cache": Cache(),
    "stale_if_error": True,
    "standing_stream": True,
    "elicit": lambda params: "cancel",
    "elicit_url": lambda params: "cancel",
    "sample": lambda params: "text",
    "roots": ["file:///a"],
    "sampling_tools": True,
    "sampling_context": True,
    "max_rounds": 3,
}


def test_a_fresh_client_has_every_option_of_the_first() -> None:
    named = set(inspect.signature(Client.__init__).parameters) - {"self", "name"}
    assert named == OPTIONS.keys()
    first = Client("one", **OPTIONS)
    again = first.fresh()
    for name, value in OPTIONS.items():
        if name in ("version", "capabilities"):
            continue
        attribute = {
            "era": "preferred_era",
            "protocol_version": "preferred_version",
            "log_level": "preferred_log_level",
        }.get(name, name)
        assert getattr(again, attribute) is value, name
    assert again.info == first.info == {"name": "one", "version": "9"}
    assert again.capabilities == first.capabilities
    assert again.given_capabilities == {"experimental": {}}


def test_what_is_given_beats_what_the_callbacks_declare() -> None:
    client = Client(elicit=lambda params: "cancel", capabilities={"elicitation": {}, "x": {}})
    assert client.capabilities == {"elicitation": {}, "x": {}}
