"""Several clients at once, whose work begins at any time: nobody gets what belongs to somebody else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpsim import Client, Context, Gateway, McpSimError, Server, Stdio, StreamableHttp, simulate
from mcpsim.recording import Recording
from tests.support.checked import check_recording
from tests.support.invariants import (
    assert_nothing_after_a_cancellation,
    assert_ordered,
    assert_whole_handlers,
)
from tests.support.plans import assert_answered_once

FORM = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}


def desk() -> Server:
    """Every answer tells whose question it was."""
    server = Server("desk", subscribe=True, list_changed=True, logging=True)

    @server.tool()
    async def echo(context: Context, text: str, ms: int = 0) -> str:
        await anyio.sleep(ms / 1000)
        return text

    @server.tool()
    async def count(context: Context, text: str, ms: int = 0) -> str:
        for step in range(3):
            await context.report_progress(step + 1, 3, text)
            await anyio.sleep(ms / 3000)
        return text

    @server.tool()
    async def ask(context: Context, text: str, ms: int = 0) -> str:
        await anyio.sleep(ms / 2000)
        answer = await context.elicit(text, FORM)
        await anyio.sleep(ms / 2000)
        return f"{text} {(answer.content or {}).get('who')}"

    @server.resource_template("said://{text}")
    def said(text: str) -> str:
        return text

    @server.prompt()
    def letter(text: str) -> str:
        return text

    return server


class Piece(NamedTuple):
    """One piece of work.

    Attributes:
        client: the number of the client.
        at_ms, ms: when it begins, and how long the handler works.
        patience_ms: when it is given up; None for never.
    """

    client: int
    what: str
    at_ms: int
    ms: int
    patience_ms: int | None


pieces = st.builds(
    Piece,
    st.integers(0, 2),
    st.sampled_from(["echo", "count", "ask", "read", "prompt", "list"]),
    st.integers(0, 60),
    st.integers(0, 60),
    st.none() | st.integers(0, 80),
)


def described(name: str, era: Any) -> Client:
    return Client(name, era=era, principal=name, elicit=lambda asked: {"who": name})


async def do(client: Client, piece: Piece, text: str, progress: list[Any]) -> tuple[str, str]:
    """What came of a piece of work, and what should have come of it."""

    def heard(done: float, total: float | None, message: str | None) -> None:
        progress.append(message)

    if piece.what in ("echo", "count", "ask"):
        arguments = {"text": text, "ms": piece.ms}
        result = await client.call_tool(piece.what, arguments, on_progress=heard)
        expected = f"{text} {client.info['name']}" if piece.what == "ask" else text
        return getattr(result.content[0], "text", ""), expected
    if piece.what == "read":
        found = await client.read_resource(f"said://{text}")
        return getattr(found.contents[0], "text", ""), text
    if piece.what == "prompt":
        got = await client.get_prompt("letter", {"text": text})
        return getattr(got.messages[0].content, "text", ""), text
    return str(len((await client.list_tools()).tools)), "3"


def story_of(work: list[Piece], outcomes: list[str]) -> Callable[..., Awaitable[None]]:
    async def story(*clients: Client) -> None:
        async def one(number: int, piece: Piece) -> None:
            await anyio.sleep(piece.at_ms / 1000)
            progress: list[Any] = []
            text = f"text-{number}"
            with anyio.move_on_after(
                None if piece.patience_ms is None else piece.patience_ms / 1000
            ) as scope:
                try:
                    came, expected = await do(clients[piece.client], piece, text, progress)
                    assert came == expected
                    outcomes.append("result")
                except McpSimError as error:
                    outcomes.append(type(error).__name__)
            if scope.cancelled_caught:
                outcomes.append("given up")
            assert set(progress) <= {text}

        async with anyio.create_task_group() as tasks:
            for number, piece in enumerate(work):
                tasks.start_soon(one, number, piece)

    return story


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(pieces, min_size=1, max_size=10),
    st.lists(st.sampled_from(["modern", "legacy", "auto"]), min_size=3, max_size=3),
    st.sampled_from(["stdio", "http", "gateway", "replicas"]),
    st.sampled_from([0.0, 1.0, 30.0]),
    st.integers(0, 5),
)
def test_everybody_gets_what_they_asked_for(
    work: list[Piece], eras: list[Any], way: str, jitter_ms: float, seed: int
) -> None:
    outcomes: list[str] = []
    setting: dict[str, Any] = {}
    if way == "gateway":
        setting = {"gateway": Gateway(cache=True)}
    if way == "replicas":
        setting = {"gateway": Gateway(cache=False, sticky=True), "replicas": 2}
    kind = Stdio if way == "stdio" else StreamableHttp
    names = ("ada", "ben", "cy")
    run = simulate(
        story_of(work, outcomes),
        server=desk(),
        client={name: described(name, era) for name, era in zip(names, eras, strict=True)},
        transport=kind(latency_ms=2, jitter_ms=jitter_ms),
        seed=seed,
        **setting,
    )
    assert len(outcomes) == len(work)
    assert set(outcomes) <= {"result", "given up"}
    assert outcomes.count("given up") <= sum(piece.patience_ms is not None for piece in work)
    check_recording(run.recording)
    assert_ordered(run.recording)
    assert_whole_handlers(run.recording)
    assert_nothing_after_a_cancellation(run.recording)
    assert_answered_once(run.recording)
    assert Recording.from_jsonl(run.recording.to_jsonl()) == run.recording
