"""How long a client waits, what it does when it gives up, and what comes after that.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
"""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from far_ends import EVERYTHING, both_ways, heard, initialized, progress, result, talk_to
from talking import FakeEndpoint, FakeServer, Response, json_response, play, stream

from mcpsim import Client, RequestTimeout
from mcpsim.transports.http import HttpRequest

DONE = {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}


def token_of(message: Any) -> Any:
    return ((message.get("params") or {}).get("_meta") or {}).get("progressToken")


def call(**more: Any) -> Any:
    async def story(client: Client) -> Any:
        return await client.call_tool("a", **more)

    return story


def working(seconds: float, steps: int, *, ends: bool = True, same: bool = False) -> Any:
    """A tool that reports progress every `seconds`, and answers after `steps` of them."""

    def answer(message: Any) -> list[Any]:
        items: list[Any] = []
        for step in range(1, steps + 1):
            items += [seconds, progress(token_of(message), 1 if same else step)]
        return [*items, result(message, **DONE)] if ends else items

    return answer


def cancellations(far: Any) -> list[Any]:
    return [one["params"] for one in heard(far, "notifications/cancelled")]


# Giving up


@both_ways
@pytest.mark.parametrize(("described", "asked", "limit_s"), [(3, None, 3), (3, 1.5, 1.5), (3, 8, 8)])
def test_the_timeout_of_a_client_and_of_one_request(
    era: str, transport: str, described: float, asked: float | None, limit_s: float
) -> None:
    played, far = talk_to(
        call(timeout_s=asked), lambda message: [], era, transport, timeout_s=described, name="c"
    )
    assert isinstance(played.error, RequestTimeout)
    assert f"within {limit_s:g} s" in str(played.error)
    assert played.took_s == limit_s
    (request,) = heard(far, "tools/call")
    if era == "modern" and transport == "http":
        # The closed stream is the signal, and no message is expected.
        assert isinstance(far, FakeEndpoint)
        assert cancellations(far) == []
        assert far.exchanges[-1].aborted
    else:
        assert [one["requestId"] for one in cancellations(far)] == [request["id"]]


@both_ways
def test_the_maximum_holds_for_every_request(era: str, transport: str) -> None:
    played, _ = talk_to(call(timeout_s=50), lambda message: [], era, transport, max_timeout_s=4)
    assert isinstance(played.error, RequestTimeout)
    assert played.took_s == 4
    assert "within 4 s" in str(played.error)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_initialize_is_never_cancelled(transport: str) -> None:
    deaf = FakeServer(lambda message: [])
    far = deaf if transport == "stdio" else FakeEndpoint(lambda request, value: stream(hangs=True))
    played = play(call(), far, client=Client(era="legacy", timeout_s=2))
    assert isinstance(played.error, RequestTimeout)
    assert "cancelled" not in str(played.error)
    assert cancellations(far) == []


@pytest.mark.parametrize(
    ("taken", "took_s"), [(Response(202), 1), (Response(202, [3.0]), 4), (Response(0), 6)], ids=str
)
def test_a_session_ends_after_the_cancellations_that_were_begun_in_it(taken: Response, took_s: float) -> None:
    """A client gives up and leaves at once. The endpoint takes the cancellation at once, or slowly, or never
    says so; then the client does not wait for it for ever."""
    at: list[tuple[str, float]] = []

    def respond(request: HttpRequest, message: Any) -> Response:
        method = request.method if message is None else message["method"]
        at.append((method, anyio.current_time()))
        if method == "initialize":
            return json_response(initialized(message, EVERYTHING, "2025-11-25"), MCP_Session_Id="s")
        if method == "tools/call":
            return stream(hangs=True)
        return taken if method == "notifications/cancelled" else Response(202)

    endpoint = FakeEndpoint(respond)
    client = Client(era="legacy", standing_stream=False, timeout_s=60)
    played = play(call(timeout_s=1), endpoint, client=client)
    assert isinstance(played.error, RequestTimeout)
    assert at[-2:] == [("notifications/cancelled", 1), ("DELETE", took_s)]


@both_ways
def test_several_in_flight_and_only_the_slow_one_is_cancelled(era: str, transport: str) -> None:
    def answer(message: Any) -> list[Any]:
        name = message["params"]["name"]
        return [] if name == "slow" else [0.5, result(message, **DONE)]

    async def story(client: Client) -> list[str]:
        seen: list[str] = []

        async def ask(name: str) -> None:
            try:
                await client.call_tool(name, timeout_s=2)
                seen.append(name)
            except RequestTimeout:
                seen.append(f"{name}: timeout")

        async with anyio.create_task_group() as tasks:
            for name in ("slow", "one", "two"):
                tasks.start_soon(ask, name)
        return seen

    played, far = talk_to(story, answer, era, transport)
    assert sorted(played.value) == ["one", "slow: timeout", "two"]
    slow = next(one for one in heard(far, "tools/call") if one["params"]["name"] == "slow")
    if not (era == "modern" and transport == "http"):
        assert [one["requestId"] for one in cancellations(far)] == [slow["id"]]


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_an_answer_that_comes_too_late_is_ignored_and_noted(era: str) -> None:
    def answer(message: Any) -> list[Any]:
        if message["params"]["name"] == "late":
            return [3.0, progress(token_of(message), 1), result(message, **DONE)]
        return [result(message, **DONE)]

    async def story(client: Client) -> Any:
        seen: list[Any] = []
        with pytest.raises(RequestTimeout):
            await client.call_tool("late", timeout_s=1, on_progress=lambda *what: seen.append(what))
        await anyio.sleep(5)
        return (await client.call_tool("b")).content[0].text, seen

    played, _ = talk_to(story, answer, era, "stdio")
    assert played.value == ("done", [])
    assert any("an answer to #" in note and "nobody waits" in note for note in played.notes)
    assert any("progress for the token" in note for note in played.notes)


# Progress renews the timeout where it is asked to


@both_ways
@pytest.mark.parametrize("listens", [True, False])
def test_progress_renews_the_timeout(era: str, transport: str, listens: bool) -> None:
    seen: list[Any] = []
    more = {"on_progress": lambda *what: seen.append(what[0])} if listens else {}
    story = call(timeout_s=2, reset_on_progress=True, **more)
    played, far = talk_to(story, working(1.5, 5), era, transport)
    assert played.error is None
    assert played.took_s == 7.5
    assert seen == ([1, 2, 3, 4, 5] if listens else [])
    assert token_of(heard(far, "tools/call")[0]) is not None


@both_ways
def test_without_being_asked_progress_renews_nothing(era: str, transport: str) -> None:
    story = call(timeout_s=2, on_progress=lambda *what: None)
    played, _ = talk_to(story, working(1.5, 5), era, transport)
    assert isinstance(played.error, RequestTimeout)
    assert "within 2 s;" in str(played.error)


@both_ways
@pytest.mark.parametrize(("max_timeout_s", "took_s"), [(5.0, 5), (None, 20), (2.0, 2), (1.0, 1)])
def test_no_progress_keeps_a_request_alive_for_ever(
    era: str, transport: str, max_timeout_s: float | None, took_s: float
) -> None:
    story = call(timeout_s=2, reset_on_progress=True)
    played, far = talk_to(story, working(1.5, 100, ends=False), era, transport, max_timeout_s=max_timeout_s)
    assert isinstance(played.error, RequestTimeout)
    # The fake server goes on for as long as it has something to say.
    assert played.took_s >= took_s
    assert f"{took_s:g} s" in str(played.error)
    if not (era == "modern" and transport == "http"):
        assert len(cancellations(far)) == 1


def test_when_the_maximum_is_over_to_the_microsecond() -> None:
    async def story(client: Client) -> float:
        begun = anyio.current_time()
        with pytest.raises(RequestTimeout):
            await client.call_tool("a", timeout_s=2, reset_on_progress=True)
        return anyio.current_time() - begun

    played, _ = talk_to(story, working(1.5, 100), "modern", "stdio", max_timeout_s=5.5)
    assert played.value == 5.5


@both_ways
def test_progress_that_does_not_grow_renews_nothing_and_is_noted(era: str, transport: str) -> None:
    seen: list[Any] = []
    story = call(timeout_s=2, reset_on_progress=True, on_progress=lambda *what: seen.append(what[0]))
    played, _ = talk_to(story, working(1.5, 9, same=True), era, transport)
    assert isinstance(played.error, RequestTimeout)
    assert seen == [1]
    assert any("progress 1 after 1; it must increase" in note for note in played.notes)


@pytest.mark.parametrize(
    ("values", "heard_values"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([1, 1, 2], [1, 2]),
        ([2, 1, 3], [2, 3]),
        ([0, 0.5, 0.25, 1], [0, 0.5, 1]),
        ([-1, 0], [-1, 0]),
        ([1, 1.0, 10**300], [1, 10**300]),
    ],
    ids=str,
)
def test_progress_only_goes_up(values: list[Any], heard_values: list[Any]) -> None:
    seen: list[Any] = []

    def answer(message: Any) -> list[Any]:
        return [*(progress(token_of(message), value) for value in values), result(message, **DONE)]

    story = call(on_progress=lambda *what: seen.append(what[0]))
    played, _ = talk_to(story, answer, "modern", "stdio")
    assert played.error is None
    assert seen == heard_values
    assert sum("must increase" in note for note in played.notes) == len(values) - len(heard_values)


# Tokens


@both_ways
@pytest.mark.parametrize("token", [0, 7, -1, "", "a", "0", 2**53])
def test_a_token_of_ones_own(era: str, transport: str, token: Any) -> None:
    seen: list[Any] = []

    async def story(client: Client) -> None:
        meta = {"progressToken": token}
        await client.request("tools/call", {"name": "a"}, meta=meta, on_progress=lambda *w: seen.append(w[0]))

    played, far = talk_to(story, working(0.1, 2), era, transport)
    assert played.error is None
    assert token_of(heard(far, "tools/call")[0]) == token
    assert seen == [1, 2]


def test_progress_reaches_only_the_request_of_exactly_that_token() -> None:
    seen: list[Any] = []

    def answer(message: Any) -> list[Any]:
        others = [progress(other, 1) for other in (str(token_of(message)), 99, 1.0, True, None, [1])]
        return [*others, {"jsonrpc": "2.0", "method": "notifications/progress"}, result(message, **DONE)]

    played, _ = talk_to(call(on_progress=lambda *w: seen.append(w)), answer, "modern", "stdio")
    assert played.error is None
    assert seen == []
    assert sum("which no request in flight carries" in note for note in played.notes) == 7


@both_ways
def test_a_token_that_nobody_listens_for_belongs_to_its_request_all_the_same(
    era: str, transport: str
) -> None:
    call: dict[str, Any] = {"name": "a"}

    async def story(client: Client) -> None:
        await client.request("tools/call", call, meta={"progressToken": "copy"})

    played, far = talk_to(story, working(0.1, 2), era, transport)
    assert played.error is None
    assert token_of(heard(far, "tools/call")[0]) == "copy"
    assert not [note for note in played.notes if "Ignored" in note]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_token_among_the_parameters_of_a_legacy_request_is_its_own_too(transport: str) -> None:
    call: dict[str, Any] = {"name": "a", "_meta": {"progressToken": "copy"}}

    async def story(client: Client) -> None:
        await client.request("tools/call", call)

    played, far = talk_to(story, working(0.1, 2), "legacy", transport)
    assert played.error is None
    assert token_of(heard(far, "tools/call")[0]) == "copy"
    assert not [note for note in played.notes if "Ignored" in note]


@both_ways
def test_who_listens_goes_on_to_hear_where_another_request_has_the_same_token(
    era: str, transport: str
) -> None:
    seen: list[Any] = []
    call: dict[str, Any] = {"name": "a"}

    async def story(client: Client) -> None:
        async with anyio.create_task_group() as tasks:

            async def listens() -> None:
                meta = {"progressToken": "x"}
                await client.request("tools/call", call, meta=meta, on_progress=lambda *w: seen.append(w[0]))

            tasks.start_soon(listens)
            await anyio.sleep(0.05)
            await client.send_raw(
                {"jsonrpc": "2.0", "id": 90, "method": "ping", "params": {"_meta": {"progressToken": "x"}}}
            )

    played, _ = talk_to(story, working(0.1, 2), era, transport)
    assert played.error is None
    assert seen == [1, 2]


def test_a_token_in_raw_bytes_belongs_to_their_request() -> None:
    params = {"name": "a", "_meta": {"progressToken": 7}}

    async def story(client: Client) -> None:
        await client.send_raw({"jsonrpc": "2.0", "id": 90, "method": "tools/call", "params": params})

    played, _ = talk_to(story, working(0.1, 2), "modern", "stdio")
    assert played.error is None
    assert not [note for note in played.notes if "Ignored" in note]


def test_tokens_in_flight_are_all_different() -> None:
    waiting: list[Any] = []

    def answer(message: Any) -> list[Any]:
        waiting.append(message)
        if len(waiting) < 3:
            return []
        return [result(one, **DONE) for one in waiting]

    async def story(client: Client) -> None:
        async def ask(token: Any) -> None:
            meta = {} if token is None else {"progressToken": token}
            await client.request("x/y", meta=meta, on_progress=lambda *w: None)

        async with anyio.create_task_group() as tasks:
            for token in (2, None, None):
                tasks.start_soon(ask, token)

    assert talk_to(story, answer, "modern", "stdio")[0].error is None
    tokens = [token_of(one) for one in waiting]
    assert len({(type(one), one) for one in tokens}) == 3


# An id is a string or an integer, and 1.0 is neither


@pytest.mark.parametrize("echo", [1.0, True, [1], "1", None])
def test_an_id_that_comes_back_as_something_else_answers_nothing_on_a_pipe(echo: Any) -> None:
    """JSON-RPC wants the same value back, and MCP a string or an integer. A reader that takes 1.0 for 1 would
    disagree with one that does not about who was answered."""

    def answer(message: Any) -> list[Any]:
        return [{**result(message, **DONE), "id": echo}]

    played, _ = talk_to(call(timeout_s=2), answer, "modern", "stdio")
    assert isinstance(played.error, RequestTimeout)
    assert played.notes != []


@pytest.mark.parametrize("echo", [1.0, True, "1"])
def test_an_id_that_comes_back_as_something_else_ends_its_exchange_over_http(echo: Any) -> None:
    def respond(request: Any, message: Any) -> Any:
        return json_response({**result(message, **DONE), "id": echo})

    played = play(call(timeout_s=2), FakeEndpoint(respond))
    assert "with something that is no answer" in str(played.error)
    assert played.took_s == 0
