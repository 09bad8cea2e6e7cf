"""Progress, in both eras on both transports."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from checked import simulate_checked
from talking import Endpoint, call, legacy, modern, opening, run, talk

from mcpsim import Client, Context, Server, Stdio, StreamableHttp
from mcpsim.messages import Notification

ERAS = pytest.mark.parametrize("era", ["modern", "legacy"])
TRANSPORTS = pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])


def desk() -> Server:
    server = Server("desk")
    kept: list[Context] = []

    @server.tool()
    async def count(context: Context, to: int, start: float = 0.5) -> str:
        for n in range(to):
            await anyio.sleep(1)
            await context.report_progress(start + n, to, f"part {n}")
        kept.append(context)
        return "counted"

    @server.tool()
    async def haunt(context: Context) -> str:
        # Uses the context of a request that was answered long ago.
        await kept[-1].report_progress(1000)
        return "boo"

    @server.tool()
    async def report(context: Context, values: list[Any]) -> str:
        for value in values:
            await context.report_progress(value)
        return "reported"

    return server


def ask(id: Any, name: str, arguments: dict[str, Any], era: str, **meta: Any) -> dict[str, Any]:
    if era == "modern":
        return modern(id, "tools/call", call(name, arguments), meta=meta)
    params = call(name, arguments)
    return legacy(id, "tools/call", {**params, "_meta": meta} if meta else params)


def said_by(era: str, *lines: Any) -> Any:
    return talk(desk(), *(opening() if era == "legacy" else []), *lines)


def progress_of(said: Any) -> list[Any]:
    return [value["params"] for value in said.values if value.get("method") == "notifications/progress"]


@ERAS
@pytest.mark.parametrize("token", [0, "", 7, "7", -1, 2**60, "ü"])
def test_every_string_and_integer_is_a_token(era: str, token: Any) -> None:
    said = said_by(era, ask(1, "count", {"to": 2}, era, progressToken=token))
    assert progress_of(said) == [
        {"progressToken": token, "progress": 0.5, "total": 2, "message": "part 0"},
        {"progressToken": token, "progress": 1.5, "total": 2, "message": "part 1"},
    ]
    assert all(type(one["progressToken"]) is type(token) for one in progress_of(said))
    assert said.values[-1]["id"] == 1


@ERAS
def test_the_same_over_http_is_a_stream(era: str) -> None:
    async def main() -> Any:
        endpoint = Endpoint(desk())
        with_token = ask(1, "count", {"to": 2}, era, progressToken=0)
        without = ask(2, "count", {"to": 2}, era)
        if era == "modern":
            return await endpoint.modern(with_token), await endpoint.modern(without)
        headers = await endpoint.open()
        return await endpoint.ask(with_token, headers), await endpoint.ask(without, headers)

    streamed, plain = run(main)
    assert streamed.header("X-Accel-Buffering") == "no"
    assert [value.get("method") for value in streamed.values] == ["notifications/progress"] * 2 + [None]
    assert streamed.ended
    assert (plain.is_stream, len(plain.values)) == (False, 1)


@ERAS
def test_without_a_token_nothing_is_sent(era: str) -> None:
    assert progress_of(said_by(era, ask(1, "count", {"to": 2}, era))) == []


@ERAS
@pytest.mark.parametrize(
    ("values", "sent"),
    [
        ([1, 2, 2.5, 1e9], 4),
        ([-5, 0], 2),
        ([1, 1], 1),
        ([2, 1], 1),
        ([float("inf")], 0),
        ([10**399], 0),
        (["1"], 0),
        ([None], 0),
    ],
    ids=str,
)
def test_progress_must_grow_and_be_a_number(era: str, values: list[Any], sent: int) -> None:
    if values == [float("inf")]:
        server = Server("desk")
        server.tool("report")(_report_infinity)
        said = talk(
            server, *(opening() if era == "legacy" else []), ask(1, "report", {}, era, progressToken=1)
        )
    else:
        said = said_by(era, ask(1, "report", {"values": values}, era, progressToken=1))
    assert [one["progress"] for one in progress_of(said)] == values[:sent]
    # A handler that breaks the rule learns it by an exception, and the recording says which.
    failed = said.answer(1)["result"].get("isError", False)
    assert failed == (sent < len(values))
    assert any("report raised" in note for note in said.notes) == failed


async def _report_infinity(context: Context) -> str:
    await context.report_progress(float("inf"))
    return ""


@ERAS
@pytest.mark.parametrize(("progress", "total"), [(True, None), (1, True), ("1", None), (None, 2)])
def test_what_is_no_number_is_not_sent(era: str, progress: Any, total: Any) -> None:
    server = Server("desk")

    @server.tool()
    async def report(context: Context) -> str:
        with pytest.raises(ValueError, match="finite numbers"):
            await context.report_progress(progress, total)
        return "refused"

    opened = [] if era == "modern" else opening()
    said = talk(server, *opened, ask(1, "report", {}, era, progressToken="t"))
    assert said.answer(1)["result"]["content"][0]["text"] == "refused"
    assert progress_of(said) == []


@ERAS
def test_the_rule_holds_without_a_token_too(era: str) -> None:
    # Otherwise the fault would show only for clients that want progress.
    said = said_by(era, ask(1, "report", {"values": [2, 1]}, era))
    assert said.answer(1)["result"]["isError"] is True


@ERAS
def test_nothing_after_the_answer(era: str) -> None:
    said = said_by(
        era,
        ask(1, "count", {"to": 1}, era, progressToken="t"),
        5.0,
        ask(2, "haunt", {}, era, progressToken="u"),
    )
    assert said.answer(2)["result"]["content"][0]["text"] == "boo"
    assert [one["progress"] for one in progress_of(said)] == [0.5]


@ERAS
def test_several_in_flight_are_told_apart_by_their_tokens(era: str) -> None:
    said = said_by(
        era,
        ask(1, "count", {"to": 3}, era, progressToken="a"),
        ask(2, "count", {"to": 2, "start": 10}, era, progressToken="b"),
        ask(3, "count", {"to": 2}, era),
    )
    assert [one["progress"] for one in progress_of(said) if one["progressToken"] == "a"] == [0.5, 1.5, 2.5]
    assert [one["progress"] for one in progress_of(said) if one["progressToken"] == "b"] == [10, 11]
    assert len(progress_of(said)) == 5


@ERAS
@TRANSPORTS
def test_the_client_calls_back_for_its_own_requests_only(era: Any, transport: Any) -> None:
    async def story(client: Client) -> dict[str, list[Any]]:
        seen: dict[str, list[Any]] = {"a": [], "b": [], "c": []}

        async def call_it(name: str, to: int, **more: Any) -> None:
            await client.call_tool("count", {"to": to}, **more)

        async def later(*what: Any) -> None:
            await anyio.lowlevel.checkpoint()
            seen["b"].append(what)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: call_it("a", 2, on_progress=lambda *what: seen["a"].append(what)))
            tasks.start_soon(lambda: call_it("b", 1, on_progress=later))
            tasks.start_soon(lambda: call_it("c", 2))
        return seen

    played = simulate_checked(story, server=desk(), era=era, transport=transport)
    assert played.value == {
        "a": [(0.5, 2, "part 0"), (1.5, 2, "part 1")],
        "b": [(0.5, 1, "part 0")],
        "c": [],
    }
    sent = [
        frame.parsed.params["progressToken"]
        for frame in played.recording.frames
        if isinstance(frame.parsed, Notification) and frame.parsed.method == "notifications/progress"
    ]
    assert len(sent) == 3
    assert len(set(sent)) == 2


@TRANSPORTS
def test_the_caller_may_choose_the_token(transport: Any) -> None:
    async def story(client: Client) -> list[float]:
        seen: list[float] = []
        await client.request(
            "tools/call",
            call("count", {"to": 1}),
            on_progress=lambda progress, total, message: seen.append(progress),
            meta={"progressToken": 0},
        )
        return seen

    assert simulate_checked(story, server=desk(), transport=transport).value == [0.5]


# Rate limiting


def limited(interval_ms: int) -> Server:
    server = Server("desk", progress_interval_ms=interval_ms)

    @server.tool()
    async def run_(context: Context, pause: float, total: float | None = None) -> str:
        for n in range(1, 11):
            await context.report_progress(n, total)
            await anyio.sleep(pause)
        return "done"

    return server


@ERAS
@pytest.mark.parametrize(
    ("interval_ms", "pause", "total", "sent"),
    [
        (0, 0.0, None, list(range(1, 11))),
        (100, 0.1, None, list(range(1, 11))),
        (100, 0.05, None, [1, 3, 5, 7, 9]),
        (100, 0.05, 10, [1, 3, 5, 7, 9, 10]),
        (100, 0.01, 10, [1, 10]),
        (100, 0.0, None, [1]),
        (10_000, 0.1, 100, [1]),
    ],
)
def test_what_comes_too_soon_is_left_out_but_never_the_last(
    era: str, interval_ms: int, pause: float, total: float | None, sent: list[int]
) -> None:
    arguments = {"pause": pause} if total is None else {"pause": pause, "total": total}
    said = talk(
        limited(interval_ms),
        *(opening() if era == "legacy" else []),
        ask(1, "run_", arguments, era, progressToken=1),
    )
    assert [one["progress"] for one in progress_of(said)] == sent
    assert said.answer(1)["result"]["content"][0]["text"] == "done"


@ERAS
def test_requests_have_limits_of_their_own(era: str) -> None:
    said = talk(
        limited(100),
        *(opening() if era == "legacy" else []),
        ask(1, "run_", {"pause": 0.0, "total": 10}, era, progressToken="a"),
        ask(2, "run_", {"pause": 0.0, "total": 10}, era, progressToken="b"),
    )
    assert [(one["progressToken"], one["progress"]) for one in progress_of(said)] == [
        ("a", 1),
        ("b", 1),
        ("a", 10),
        ("b", 10),
    ]


@ERAS
def test_the_rule_that_progress_grows_holds_for_what_is_left_out_too(era: str) -> None:
    server = Server("desk", progress_interval_ms=1000)

    @server.tool()
    async def back(context: Context) -> str:
        for value in (1, 5, 3):
            await context.report_progress(value)
        return "never"

    said = talk(server, *(opening() if era == "legacy" else []), ask(1, "back", {}, era, progressToken=1))
    assert said.answer(1)["result"]["isError"] is True


def test_each_round_reports_progress_under_the_token_of_its_own_request() -> None:
    server = Server("desk")

    @server.tool()
    async def build(context: Context) -> str:
        await context.report_progress(1)
        await context.elicit("Go on?", {"type": "object", "properties": {}})
        await context.report_progress(2)
        return "built"

    declared = {"elicitation": {}}
    first = modern(1, "tools/call", call("build"), capabilities=declared, meta={"progressToken": "a"})
    retry = modern(
        2,
        "tools/call",
        {**call("build"), "inputResponses": {"1": {"action": "accept", "content": {}}}},
        capabilities=declared,
        meta={"progressToken": "b"},
    )
    said = talk(server, first, 0.1, retry)
    assert [(one["progressToken"], one["progress"]) for one in progress_of(said)] == [
        ("a", 1),
        ("b", 1),
        ("b", 2),
    ]
    assert said.answer(1)["result"]["resultType"] == "input_required"
    assert said.answer(2)["result"]["resultType"] == "complete"
