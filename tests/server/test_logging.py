"""Log messages of a handler: sent where they are wanted, and nowhere else."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from checked import simulate_checked
from talking import Endpoint, call, legacy, modern, opening, run, talk

from mcpsim import Client, Context, Server, Stdio, StreamableHttp
from mcpsim.errors import FramingError
from mcpsim.messages import DEFAULT_LIMITS, LOG_LEVEL

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
BOTH = pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])


def desk(**settings: Any) -> Server:
    server = Server("desk", **{"logging": True, **settings})
    kept: list[Context] = []

    @server.tool()
    async def speak(context: Context) -> str:
        for level in LEVELS:
            await context.log(level, {"said": level}, "desk")
        await context.log("emergency", "no logger")
        kept.append(context)
        return str(context.log_level)

    @server.tool()
    async def haunt(context: Context) -> str:
        await kept[-1].log("emergency", "boo")
        return "haunted"

    @server.tool()
    async def shout(context: Context, level: str) -> str:
        await context.log(level, "!")
        return "shouted"

    return server


def levels_of(values: list[Any]) -> list[str]:
    return [value["params"]["level"] for value in values if value.get("method") == "notifications/message"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_modern_request_says_from_which_level_on(level: str) -> None:
    message = modern(1, "tools/call", call("speak"), meta={LOG_LEVEL: level})
    said = talk(desk(), message)
    assert levels_of(said.values) == [*LEVELS[LEVELS.index(level) :], "emergency"]
    assert said.values[-1]["result"]["content"][0]["text"] == level
    reply = run(lambda: Endpoint(desk()).modern(message))
    assert levels_of(reply.values) == levels_of(said.values)


def test_a_modern_request_that_says_nothing_gets_nothing() -> None:
    message = modern(1, "tools/call", call("speak"))
    assert levels_of(talk(desk(), message).values) == []
    assert not run(lambda: Endpoint(desk()).modern(message)).is_stream


def test_what_stands_in_a_message() -> None:
    said = talk(desk(), modern(1, "tools/call", call("speak"), meta={LOG_LEVEL: "emergency"}))
    assert [value["params"] for value in said.values[:-1]] == [
        {"level": "emergency", "logger": "desk", "data": {"said": "emergency"}},
        {"level": "emergency", "data": "no logger"},
    ]


@pytest.mark.parametrize("level", ["loud", "", 7, None, "INFO"])
def test_a_level_that_does_not_exist_is_refused(level: Any) -> None:
    message = modern(1, "tools/call", call("speak"), meta={LOG_LEVEL: level})
    assert talk(desk(), message).answer(1)["error"]["code"] == -32602
    said = talk(desk(), *opening(), legacy(2, "logging/setLevel", {"level": level}))
    assert said.answer(2)["error"]["code"] == -32602


@pytest.mark.parametrize("level", LEVELS)
def test_a_legacy_session_says_it_once_for_all(level: str) -> None:
    said = talk(
        desk(),
        *opening(),
        legacy(1, "tools/call", call("speak")),
        0.1,
        legacy(2, "logging/setLevel", {"level": level}),
        0.1,
        legacy(3, "tools/call", call("speak")),
    )
    assert said.answer(2)["result"] == {}
    before, after = split(said.values, 2)
    # Before anything was said the server decides.
    assert levels_of(before) == [*LEVELS[1:], "emergency"]
    assert levels_of(after) == [*LEVELS[LEVELS.index(level) :], "emergency"]


def split(values: list[Any], id: Any) -> tuple[list[Any], list[Any]]:
    at = next(index for index, value in enumerate(values) if value.get("id") == id)
    return values[:at], values[at:]


def test_a_legacy_request_does_not_say_it() -> None:
    params = {**call("speak"), "_meta": {LOG_LEVEL: "emergency"}}
    said = talk(desk(), *opening(), legacy(1, "tools/call", params))
    assert levels_of(said.values) == [*LEVELS[1:], "emergency"]


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_nothing_after_the_answer(era: str) -> None:
    def ask(id: int, name: str) -> Any:
        if era == "legacy":
            return legacy(id, "tools/call", call(name))
        return modern(id, "tools/call", call(name), meta={LOG_LEVEL: "debug"})

    said = talk(desk(), *(opening() if era == "legacy" else []), ask(1, "speak"), 0.1, ask(2, "haunt"))
    assert levels_of(split(said.values, 1)[1]) == []
    assert said.answer(2)["result"]["content"][0]["text"] == "haunted"


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize(
    ("settings", "level", "said"),
    [({}, "loud", "A log level is one of debug"), ({"logging": False}, "error", "declares it")],
)
def test_a_handler_that_logs_wrongly_learns_it(era: str, settings: Any, level: str, said: str) -> None:
    params = call("shout", {"level": level})
    ask = modern(1, "tools/call", params) if era == "modern" else legacy(1, "tools/call", params)
    heard = talk(desk(**settings), *(opening() if era == "legacy" else []), ask)
    assert heard.answer(1)["result"]["isError"] is True
    assert any(said in note for note in heard.notes)


def test_logging_is_declared_where_it_is_offered() -> None:
    for server, declared in ((desk(), True), (desk(logging=False), False)):
        said = talk(
            server, *opening(), modern(2, "server/discover"), legacy(3, "logging/setLevel", {"level": "info"})
        )
        assert ("logging" in said.answer("open")["result"]["capabilities"]) == declared
        assert ("logging" in said.answer(2)["result"]["capabilities"]) == declared
        assert ("result" in said.answer(3)) == declared


@BOTH
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_messages_stand_before_the_answer_of_their_request(era: Any, transport: Any) -> None:
    async def story(client: Client) -> Any:
        if era == "legacy":
            await client.request("logging/setLevel", {"level": "error"})
        meta = {LOG_LEVEL: "error"} if era == "modern" else None
        result = await client.request("tools/call", call("speak"), meta=meta)
        return result, [message.params for message in client.notifications]

    made = simulate_checked(story, server=desk(), era=era, transport=transport)
    result, heard = made.value
    assert result["content"][0]["text"] == "error"
    assert [params["level"] for params in heard] == ["error", "critical", "alert", "emergency", "emergency"]


def chatty(limit: int | None) -> Server:
    server = Server("desk", logging=True, log_limit_per_s=limit)

    @server.tool()
    async def chat(context: Context, pauses: list[float]) -> str:
        for number, pause in enumerate(pauses):
            await anyio.sleep(pause)
            await context.log("debug", "not wanted")
            await context.log("error", number)
        return "said"

    return server


@pytest.mark.parametrize(
    ("limit", "pauses", "heard", "dropped"),
    [
        (None, [0.0] * 50, list(range(50)), 0),
        (2, [0.0, 0.0], [0, 1], 0),
        (2, [0.0] * 10, [0, 1], 1),
        (2, [0.0, 0.9, 0.05, 0.0, 0.05, 0.0, 0.0], [0, 1, 4, 5], 2),
        (1, [5.0, 1.0, 0.999, 0.001], [0, 1, 3], 1),
    ],
)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_more_than_the_server_allows_within_a_second_is_dropped_and_noted(
    era: str, limit: int | None, pauses: list[float], heard: list[int], dropped: int
) -> None:
    params = call("chat", {"pauses": pauses})
    lines = (
        [modern(1, "tools/call", params, meta={LOG_LEVEL: "info"})]
        if era == "modern"
        else [*opening(), legacy(1, "tools/call", params)]
    )
    said = talk(chatty(limit), *lines)
    logged = [value["params"]["data"] for value in said.values if "method" in value]
    assert logged == heard
    note = f"Log messages are dropped: tools/call sends more than {limit} within a second."
    assert said.notes == [note] * dropped
    assert said.answer(1)["result"]["content"][0]["text"] == "said"


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_leaves_room_for_one_message_at_least(limit: int) -> None:
    with pytest.raises(ValueError, match="log_limit_per_s must be 1 or more"):
        Server("desk", log_limit_per_s=limit)


@pytest.mark.parametrize("era", ["modern", "legacy"])
@BOTH
def test_what_no_reader_would_take_is_not_sent_but_raised_in_the_handler(
    era: Any, transport: Stdio | StreamableHttp
) -> None:
    server = Server("desk", logging=True)
    large = "x" * DEFAULT_LIMITS.max_bytes

    @server.tool()
    async def speak(context: Context) -> str:
        for send in (
            lambda: context.log("error", large),
            lambda: context.log("error", "small", large),
            lambda: context.notify("notifications/message", {"level": "error", "data": large}),
            lambda: context.report_progress(1, message=large),
        ):
            with pytest.raises(FramingError, match="readers take 4000000 at most"):
                await send()
        await context.log("error", large[:-1000])
        return "spoken"

    heard: list[Any] = []

    async def story(client: Client) -> Any:
        result = await client.call_tool("speak", on_progress=heard.append)
        sizes = [len((message.params or {})["data"]) for message in client.notifications]
        assert sizes == [len(large) - 1000]
        return result

    client = Client(era=era, log_level="error")
    run_ = simulate_checked(story, server=server, client=client, transport=transport)
    assert run_.value.content[0].text == "spoken"
    assert heard == []
