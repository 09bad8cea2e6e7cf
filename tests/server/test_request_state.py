"""Request state: sealed, bound to who asked for what and until when, and good for one use where told so."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import FORM, accept, answering, play
from talking import Endpoint, Feed, call, modern, run, talk, tokens

from mcpsim import Client, Context, Server, StreamableHttp, simulate
from mcpsim.errors import (
    RequestStateError,
    StateExpired,
    StateOfAnotherPrincipal,
    StateOfAnotherRequest,
    StateReplayed,
    StateTampered,
)
from mcpsim.recording import Recorder, Scribe
from mcpsim.server import StdioServing
from mcpsim.utilities.request_state import (
    Binding,
    UsedStates,
    digest_of,
    digest_of_request,
    seal,
    unseal,
)

KEY = b"a key of thirty-two bytes, or so"
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
OWN = Binding("ada", "tools/call", "digest")
BOTH = pytest.mark.parametrize("transport", ["stdio", "http"])

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


# The seal by itself


@given(payload=JSON, nonce=st.text(max_size=5), principal=st.text(max_size=5), expires=st.integers(1, 2**60))
def test_what_goes_in_comes_out(payload: Any, nonce: str, principal: str, expires: int) -> None:
    binding = Binding(principal, "tools/call", "x")
    state = seal(payload, KEY, binding, expires_ms=expires, nonce=nonce)
    opened = unseal(state, KEY, binding, now_ms=expires - 1)
    assert (opened.payload, opened.expires_ms, opened.nonce) == (payload, expires, nonce)
    assert set(state) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")


@given(payload=JSON, data=st.data())
def test_a_flipped_bit_is_noticed(payload: Any, data: st.DataObject) -> None:
    state = seal(payload, KEY, OWN, expires_ms=1000)
    at, bit = data.draw(st.integers(0, len(state) - 1)), data.draw(st.integers(0, 6))
    changed = state[:at] + chr(ord(state[at]) ^ (1 << bit)) + state[at + 1 :]
    with pytest.raises(StateTampered):
        unseal(changed, KEY, OWN, now_ms=0)


def test_every_single_bit_is_noticed() -> None:
    # Also those of the last character, which base64 leaves unused.
    state = seal({"n": 1}, KEY, OWN, expires_ms=1000)
    for at in range(len(state)):
        for bit in range(8):
            changed = state[:at] + chr(ord(state[at]) ^ (1 << bit)) + state[at + 1 :]
            with pytest.raises(StateTampered):
                unseal(changed, KEY, OWN, now_ms=0)


@given(st.text() | st.from_regex(r"\A[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{43}\Z"))
def test_whatever_comes_is_refused_and_never_breaks_anything(text: str) -> None:
    with pytest.raises(StateTampered):
        unseal(text, KEY, OWN, now_ms=0)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state + "=",
        lambda state: state + "-TAMPERED",
        lambda state: state[:-1],
        lambda state: " " + state,
        lambda state: state.replace(".", ""),
        lambda state: state.partition(".")[0],
        lambda state: "." + state,
        lambda state: "",
        lambda state: "\ud800",
    ],
    ids=range(9),
)
def test_other_spellings_are_refused(change: Callable[[str], str]) -> None:
    with pytest.raises(StateTampered):
        unseal(change(seal(1, KEY, OWN, expires_ms=1000)), KEY, OWN, now_ms=0)


def test_the_key_of_somebody_else_does_not_open_it() -> None:
    with pytest.raises(StateTampered):
        unseal(seal(1, b"another key", OWN, expires_ms=1000), KEY, OWN, now_ms=0)


@pytest.mark.parametrize(("now_ms", "open_"), [(0, True), (999, True), (1000, False), (5000, False)])
def test_it_expires(now_ms: int, open_: bool) -> None:
    state = seal(1, KEY, OWN, expires_ms=1000)
    if open_:
        assert unseal(state, KEY, OWN, now_ms=now_ms).payload == 1
    else:
        with pytest.raises(StateExpired, match=f"{now_ms - 1000} ms ago"):
            unseal(state, KEY, OWN, now_ms=now_ms)


@pytest.mark.parametrize(
    ("binding", "error"),
    [
        (Binding("bob", "tools/call", "digest"), StateOfAnotherPrincipal),
        (Binding("", "tools/call", "digest"), StateOfAnotherPrincipal),
        (Binding("ada", "prompts/get", "digest"), StateOfAnotherRequest),
        (Binding("ada", "tools/call", "other"), StateOfAnotherRequest),
    ],
)
def test_it_belongs_to_one_caller_and_one_request(binding: Binding, error: type[RequestStateError]) -> None:
    with pytest.raises(error):
        unseal(seal(1, KEY, OWN, expires_ms=1000), KEY, binding, now_ms=0)


def test_the_digest_leaves_out_what_changes_from_try_to_try() -> None:
    first = {"name": "a", "arguments": {"x": 1, "y": 2}, "_meta": {"progressToken": 1, "com.example/t": "x"}}
    again = {
        "_meta": {"com.example/t": "x", "traceparent": "00-1", "progressToken": 2},
        "arguments": {"y": 2, "x": 1},
        "name": "a",
        "inputResponses": {"1": {}},
        "requestState": "...",
    }
    assert digest_of_request("desk", first) == digest_of_request("desk", again)
    others = [
        {**first, "name": "b"},
        {**first, "arguments": {"x": 1}},
        {**first, "arguments": {"x": True, "y": 2}},
        {**first, "_meta": {"com.example/t": "y"}},
    ]
    assert len({digest_of_request("desk", one) for one in [first, *others]}) == 5
    assert digest_of_request("desk", first) != digest_of_request("other", first)
    assert digest_of_request("desk", None) == digest_of_request("desk", {})


@given(JSON, JSON)
def test_digests_tell_values_apart(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest_of(one) == digest_of(other)) == same


def test_a_name_is_used_once() -> None:
    used = UsedStates()
    used.use("a", 1000, 0)
    used.use("b", 1000, 0)
    with pytest.raises(StateReplayed, match="used before"):
        used.use("a", 1000, 1)
    with pytest.raises(StateReplayed, match="no name"):
        used.use("", 1000, 1)


def test_used_names_are_forgotten_when_they_expire_and_never_before() -> None:
    used = UsedStates(limit=2)
    used.use("a", 1000, 0)
    used.use("b", 2000, 0)
    with pytest.raises(StateReplayed, match="More than 2"):
        used.use("c", 3000, 999)
    used.use("c", 3000, 1000)
    assert len(used) == 2
    with pytest.raises(StateReplayed, match="used before"):
        used.use("b", 2000, 1000)


# A server with it


async def greet(context: Context) -> str:
    answer = await context.elicit("Your name?", NAME)
    return f"Hello, {answer.content}"


def desk(**settings: Any) -> Server:
    server = Server("desk", **settings)
    server.tool("greet")(greet)
    server.tool("other")(greet)
    server.prompt("greet")(greet)
    return server


def params_of(name: str = "greet", **arguments: Any) -> dict[str, Any]:
    return call(name, arguments)


def retry(state: Any, **more: Any) -> dict[str, Any]:
    return {**params_of(), "inputResponses": {"1": accept(name="Ada")}, "requestState": state, **more}


def first_state(endpoint: Endpoint, **headers: str) -> Callable[[], Any]:
    async def ask() -> Any:
        reply = await endpoint.modern(modern(1, "tools/call", params_of(), capabilities=FORM), **headers)
        return reply.value["result"]["requestState"]

    return ask


def principal_of(headers: Any) -> str:
    return headers.get("Authorization") or ""


Send = Callable[[str, Any], Any]


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("tampered", "changed, or was sealed by somebody else"),
        ("expired", "expired 1 ms ago"),
        ("foreign", "was sealed for 'ada', and 'bob' presents it"),
        ("other tool", "belongs to a request with other parameters"),
        ("other arguments", "belongs to a request with other parameters"),
        ("other method", "belongs to a request to tools/call"),
    ],
)
def test_each_is_refused_alike_and_the_recording_says_why(why: str, said: str) -> None:
    async def main() -> Any:
        endpoint = Endpoint(desk(state_ttl_ms=1000), principal_of=principal_of)
        state = await first_state(endpoint, Authorization="ada")()
        method, params, caller = "tools/call", retry(state), "ada"
        if why == "tampered":
            params = retry(state + "-TAMPERED")
        elif why == "expired":
            await anyio.sleep(1.001)
        elif why == "foreign":
            caller = "bob"
        elif why == "other tool":
            params = {**params, "name": "other"}
        elif why == "other arguments":
            params = {**params, "arguments": {"x": 1}}
        else:
            method, params = "prompts/get", {**params, "arguments": {}}
        message = modern(2, method, params, capabilities=FORM)
        return await endpoint.modern(message, Authorization=caller), endpoint

    reply, endpoint = run(main)
    error = reply.value["error"]
    assert (reply.status, error["code"]) == (400, -32602)
    assert error["message"].startswith("The requestState is not valid for this request. To begin again")
    assert "data" not in error
    assert [note for note in endpoint.notes if said in note] == [f"Refused: {endpoint.notes[-1][9:]}"]


@BOTH
def test_the_right_one_is_accepted_until_it_expires(transport: str) -> None:
    played = play(
        desk(), "modern", transport, "tools/call", params_of(), answering(create=accept(name="Ada"))
    )
    assert played.text == "Hello, {'name': 'Ada'}"


def test_a_state_may_be_used_again_where_nobody_minds() -> None:
    async def main() -> Any:
        endpoint = Endpoint(desk())
        state = await first_state(endpoint)()
        return [
            (await endpoint.modern(modern(id, "tools/call", retry(state), capabilities=FORM))).value
            for id in (2, 3)
        ]

    assert all("result" in answer for answer in run(main))


def test_or_once_only() -> None:
    async def main() -> Any:
        endpoint = Endpoint(desk(single_use_state=True))
        state = await first_state(endpoint)()
        answers = [
            (await endpoint.modern(modern(id, "tools/call", retry(state), capabilities=FORM))).value
            for id in (2, 3)
        ]
        return answers, endpoint.notes

    (first, second), notes = run(main)
    assert "result" in first
    assert second["error"]["code"] == -32602
    assert any("used before" in note for note in notes)


def test_two_retries_at_the_same_time_use_a_state_once() -> None:
    async def main() -> Any:
        endpoint = Endpoint(desk(single_use_state=True))
        state = await first_state(endpoint)()
        answers: list[Any] = []

        async def ask(id: int) -> None:
            reply = await endpoint.modern(modern(id, "tools/call", retry(state), capabilities=FORM))
            answers.append(reply.value)

        async with anyio.create_task_group() as tasks:
            for id in range(2, 7):
                tasks.start_soon(ask, id)
        return answers

    assert ["result" in answer for answer in run(main)].count(True) == 1


def test_where_a_state_is_good_once_an_answer_without_one_does_not_count() -> None:
    params = {**params_of(), "inputResponses": {"1": accept(name="Ada")}}
    said = talk(desk(single_use_state=True), modern(1, "tools/call", params, capabilities=FORM))
    assert said.answer(1)["result"]["resultType"] == "input_required"
    assert any("left aside" in note for note in said.notes)


def test_servers_that_stand_in_for_one_another_share_a_key() -> None:
    key = b"0123456789abcdef"

    async def main(second: Server) -> Any:
        state = await first_state(Endpoint(desk(state_key=key)))()
        message = modern(2, "tools/call", retry(state), capabilities=FORM)
        return (await Endpoint(second).modern(message)).value

    assert "result" in run(lambda: main(desk(state_key=key)))
    assert "error" in run(lambda: main(desk(state_key=b"fedcba9876543210")))
    assert "error" in run(lambda: main(desk()))
    # The same key under another name is no way in.
    other = Server("other", state_key=key)
    other.tool("greet")(greet)
    assert "error" in run(lambda: main(other))


@pytest.mark.parametrize(("late_ms", "known"), [(299_999, "result"), (300_000, "error")])
def test_state_expires_by_a_clock_that_servers_share(late_ms: int, known: str) -> None:
    key = b"0123456789abcdef"
    now_ms = [1_000_000]

    def endpoint() -> Endpoint:
        return Endpoint(desk(state_key=key), state_clock=lambda: now_ms[0])

    # Each run has a loop of its own, whose time begins at 0.
    state = run(first_state(endpoint()))
    now_ms[0] += late_ms
    message = modern(2, "tools/call", retry(state), capabilities=FORM)
    assert known in run(lambda: endpoint().modern(message)).value


@pytest.mark.parametrize(("late_ms", "known"), [(299_999, "result"), (300_000, "error")])
def test_so_it_does_for_a_process_that_is_started_again(late_ms: int, known: str) -> None:
    now_ms = [1_000_000]

    def answer(message: Any) -> Any:
        feed = Feed([message, 1.0])
        serving = StdioServing(
            desk(state_key=b"0123456789abcdef"),
            feed,
            scribe=Scribe(Recorder(lambda: 0)),
            tokens=tokens(),
            state_clock=lambda: now_ms[0],
        )
        run(serving.run)
        return feed.values[0]

    first = answer(modern(1, "tools/call", params_of(), capabilities=FORM))
    now_ms[0] += late_ms
    again = modern(2, "tools/call", retry(first["result"]["requestState"]), capabilities=FORM)
    assert known in answer(again)


def test_what_is_remembered_can_be_read_but_not_changed() -> None:
    async def discount(context: Context) -> str:
        if context.remembered is None:
            context.remember({"percent": 5})
        await context.elicit("Go on?", {"type": "object", "properties": {}})
        return f"{context.remembered['percent']} %"

    server = Server("desk")
    server.tool("discount")(discount)

    def greedy(params: dict[str, Any]) -> dict[str, Any]:
        text, _, signature = params["requestState"].partition(".")
        content = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        assert content["payload"]["remembered"] == {"percent": 5}
        content["payload"]["remembered"] = {"percent": 95}
        forged = base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
        return {**params, "requestState": f"{forged}.{signature}"}

    answers = answering(create=[accept(), accept()])
    params = call("discount")
    assert play(server, "modern", "stdio", "tools/call", params, answers).text == "5 %"
    assert (
        play(server, "modern", "stdio", "tools/call", params, answers, on_round=greedy).error["code"]
        == -32602
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"state_ttl_ms": 0}, "state_ttl_ms"),
        ({"state_ttl_ms": -1}, "state_ttl_ms"),
        ({"state_key": b"short"}, "state_key must have 16 bytes"),
        ({"progress_interval_ms": -1}, "progress_interval_ms"),
    ],
)
def test_settings_out_of_range(settings: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Server("desk", **settings)


def test_runs_of_one_server_do_not_know_of_each_other() -> None:
    server = desk(single_use_state=True)

    async def story(client: Client) -> Any:
        first = await client.request("tools/call", params_of())
        return await client.request("tools/call", retry(first["requestState"]))

    def play_it(seed: int) -> Any:
        client = Client(capabilities=FORM)
        return simulate(story, server=server, client=client, transport=StreamableHttp(), seed=seed)

    first, second, third = play_it(1), play_it(2), play_it(1)
    assert "content" in first.value
    assert "content" in second.value
    assert first.recording.sha256() == third.recording.sha256() != second.recording.sha256()
