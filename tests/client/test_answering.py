"""The client's half of a server's questions: callbacks that answer, and the loop of rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import mcp_types
import pytest
from checked import simulate_checked
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from talking import call, run

from mcpsim import Client, Context, Server, Stdio, StreamableHttp
from mcpsim.client.answering import Answerer, drive, input_required
from mcpsim.errors import InputDeclined, ProtocolError, TooManyRounds, UnexpectedResponse
from mcpsim.messages import ErrorResponse, Request, Response
from mcpsim.recording import Recorder
from mcpsim.recording.scribe import Scribe

MODERN, LEGACY = "2026-07-28", "2025-11-25"
VERSIONS = pytest.mark.parametrize("version", [MODERN, LEGACY])

FIELDS: dict[str, Any] = {
    "name": {"type": "string", "minLength": 2},
    "count": {"type": "integer", "default": 1},
    "size": {"type": "string", "enum": ["s", "l"], "default": "s"},
}
SCHEMA = {"type": "object", "properties": FIELDS, "required": ["name", "count"]}
FORM = {"message": "Your order?", "requestedSchema": SCHEMA}
HELLO = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}], "maxTokens": 9}
WRITTEN = {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}


def visit(version: str, **more: Any) -> dict[str, Any]:
    name = {"elicitationId": "v1"} if version == LEGACY else {}
    return {"mode": "url", "message": "Pay.", "url": "https://example.com/pay", **name, **more}


def answer(answerer: Answerer, method: str, params: Any = None, version: str = MODERN) -> dict[str, Any]:
    return run(lambda: answerer.answer(method, params, version))


def refused(answerer: Answerer, method: str, params: Any = None, version: str = MODERN) -> ProtocolError:
    with pytest.raises(ProtocolError) as raised:
        answer(answerer, method, params, version)
    return raised.value


@VERSIONS
@pytest.mark.parametrize("url", ["", "not a url", "https://", "http://[::1"])
def test_nobody_is_sent_to_what_is_no_url(version: str, url: str) -> None:
    asked: list[Any] = []
    error = refused(Answerer(elicit_url=asked.append), "elicitation/create", visit(version, url=url), version)
    assert (error.code, asked) == (-32602, [])


@VERSIONS
def test_a_priority_beyond_1_is_refused(version: str) -> None:
    params = {**HELLO, "modelPreferences": {"costPriority": 1.5}}
    error = refused(Answerer(sample=lambda params: "Hi"), "sampling/createMessage", params, version)
    assert error.code == -32602
    assert "costPriority" in error.message


# What is declared


@pytest.mark.parametrize(
    ("settings", "declared"),
    [
        ({}, {}),
        ({"elicit": len}, {"elicitation": {"form": {}}}),
        ({"elicit_url": len}, {"elicitation": {"url": {}}}),
        ({"elicit": len, "elicit_url": len}, {"elicitation": {"form": {}, "url": {}}}),
        ({"sample": len}, {"sampling": {}}),
        (
            {"sample": len, "sampling_tools": True, "sampling_context": True},
            {"sampling": {"tools": {}, "context": {}}},
        ),
        ({"sampling_tools": True}, {}),
        ({"roots": []}, {"roots": {}}),
    ],
    ids=str,
)
def test_what_is_given_is_declared(settings: Any, declared: Any) -> None:
    assert Answerer(**settings).capabilities == declared


# Forms


class Order(BaseModel):
    name: str
    count: int = 3


@VERSIONS
@pytest.mark.parametrize(
    ("given_", "response"),
    [
        ({"name": "Ada"}, {"action": "accept", "content": {"name": "Ada", "count": 1, "size": "s"}}),
        (
            {"size": "l", "name": "Ada"},
            {"action": "accept", "content": {"name": "Ada", "count": 1, "size": "l"}},
        ),
        (Order(name="Ada"), {"action": "accept", "content": {"name": "Ada", "count": 3, "size": "s"}}),
        (
            mcp_types.ElicitResult(action="accept", content={"name": "Ada", "count": 7}),
            {"action": "accept", "content": {"name": "Ada", "count": 7, "size": "s"}},
        ),
        (mcp_types.ElicitResult(action="decline"), {"action": "decline"}),
        ("decline", {"action": "decline"}),
        ("cancel", {"action": "cancel"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_form_is_filled_in(version: str, given_: Any, response: Any, is_async: bool) -> None:
    seen: list[Any] = []

    def plain(params: Any) -> Any:
        seen.append(params)
        return given_

    async def later(params: Any) -> Any:
        await anyio.sleep(1)
        return plain(params)

    answerer = Answerer(elicit=later if is_async else plain)
    assert answer(answerer, "elicitation/create", FORM, version) == response
    assert isinstance(seen[0], mcp_types.ElicitRequestFormParams)
    assert (seen[0].message, seen[0].requested_schema) == ("Your order?", SCHEMA)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({}, "name: is required"),
        ("accept", "name: is required"),
        ({"name": "A"}, "2 characters or more"),
        ({"name": "Ada", "count": "1"}, "count: must be a whole number"),
        ({"name": "Ada", "size": "xl"}, "size: must be one of 's', 'l'"),
        ({"name": "Ada", "more": 1}, "more: the form has no such field"),
        (None, "not NoneType"),
        (7, "not int"),
        ("yes", "one of accept, decline, cancel"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_not_sent(given_: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        answer(Answerer(elicit=lambda params: given_), "elicitation/create", FORM)


@given(
    st.dictionaries(
        st.sampled_from(["name", "count", "size", "x"]),
        st.text(max_size=3) | st.integers() | st.booleans() | st.none() | st.floats() | st.lists(st.text()),
    )
)
def test_what_is_sent_always_fits(content: dict[str, Any]) -> None:
    try:
        response = answer(Answerer(elicit=lambda params: content), "elicitation/create", FORM)
    except ValueError:
        return
    sent = response["content"]
    assert len(sent["name"]) >= 2
    assert isinstance(sent["count"], int | float)
    assert sent["size"] in ("s", "l")
    assert set(sent) == set(FIELDS)


@VERSIONS
@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"message": "?"},
        {"message": "?", "requestedSchema": {"type": "object"}},
        {"message": "?", "requestedSchema": {"type": "object", "properties": {"x": {"type": "object"}}}},
        {"message": 7, "requestedSchema": SCHEMA},
        {"message": "?", "mode": "voice", "requestedSchema": SCHEMA},
    ],
    ids=str,
)
def test_a_form_that_is_none_is_refused(version: str, params: Any) -> None:
    called: list[Any] = []
    assert refused(Answerer(elicit=called.append), "elicitation/create", params, version).code == -32602
    assert called == []


def test_an_older_client_does_not_know_of_modes() -> None:
    answerer = Answerer(elicit=lambda params: {"name": "Ada"})
    assert answer(answerer, "elicitation/create", FORM, "2025-06-18")["action"] == "accept"
    assert refused(answerer, "elicitation/create", FORM, "2025-03-26").code == -32601


# Visits


@VERSIONS
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_a_visit_is_put_to_the_user(version: str, action: str) -> None:
    seen: list[Any] = []

    def decide(params: Any) -> str:
        seen.append(params)
        return action

    assert answer(Answerer(elicit_url=decide), "elicitation/create", visit(version), version) == {
        "action": action
    }
    assert isinstance(seen[0], mcp_types.ElicitRequestURLParams)
    assert seen[0].url == "https://example.com/pay"


@VERSIONS
def test_a_mode_that_was_not_declared_is_refused(version: str) -> None:
    for answerer, params in (
        (Answerer(elicit=lambda params: {}), visit(version)),
        (Answerer(elicit_url=lambda params: "accept"), FORM),
    ):
        error = refused(answerer, "elicitation/create", params, version)
        assert (error.code, "did not declare the mode" in error.message) == (-32602, True)


def test_the_end_of_a_visit_is_heard_once_and_only_if_it_was_under_way() -> None:
    recorder = Recorder(lambda: 0)
    answerer = Answerer(elicit_url=lambda params: "accept", scribe=lambda: Scribe(recorder, "client"))
    done = {"elicitationId": "v1"}
    assert not answerer.completed(done)
    answer(answerer, "elicitation/create", visit(LEGACY), LEGACY)
    assert not answerer.completed({"elicitationId": "v2"})
    assert not answerer.completed({})
    assert not answerer.completed(None)
    assert not answerer.completed({"elicitationId": ["v1"]})
    assert answerer.completed(done)
    assert not answerer.completed(done)
    assert [event.kind for event in recorder.events].count("note") == 6


@pytest.mark.parametrize(
    ("callback", "outcome"),
    [
        (lambda params: {"name": "Ada"}, "accept"),
        (lambda params: "decline", "decline"),
        (lambda params: "cancel", "cancel"),
        (lambda params: 7, "error"),
        (lambda params: 1 / 0, "error"),
    ],
)
def test_it_is_written_down_what_a_user_is_asked_and_does(callback: Any, outcome: str) -> None:
    recorder = Recorder(lambda: 0)
    answerer = Answerer(elicit=callback, scribe=lambda: Scribe(recorder, "client"))
    run(lambda: answerer.respond(Request(4, "elicitation/create", FORM), LEGACY))
    found = [(each.kind, each.party, each.detail) for each in recorder.events if each.kind != "note"]
    named = {"name": "elicitation/create", "id": 4}
    assert found == [
        ("handler_started", "client", named),
        ("handler_finished", "client", {**named, "outcome": outcome}),
    ]


def test_nobody_is_asked_where_the_question_is_refused_or_the_answer_is_there_already() -> None:
    recorder = Recorder(lambda: 0)
    answerer = Answerer(elicit=lambda params: "accept", roots=["file:///a"], scribe=lambda: Scribe(recorder))
    refused(answerer, "elicitation/create", {"message": "?", "requestedSchema": {"type": "array"}})
    answer(answerer, "roots/list")
    assert recorder.events == []


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_in_a_run_each_question_names_its_request_or_its_key(era: Any) -> None:
    server = Server("desk", version="1.0.0")

    @server.tool()
    async def order(context: Context) -> str:
        """Ask, and say what came."""
        written = await context.elicit("Your order?", SCHEMA)
        return written.action

    async def story(client: Client) -> str:
        return (await client.call_tool("order")).content[0].text

    played = simulate_checked(
        story, server=server, client=Client(elicit=lambda params: {"name": "Ada"}, era=era)
    )
    asked = [event for event in played.recording.events if event.kind == "handler_started"]
    (question,) = [event for event in asked if event.party == "client"]
    frames = [frame for frame in played.recording.frames if frame.receiver == "client"]
    keys = [key for f in frames for key in getattr(f.parsed, "result", {}).get("inputRequests", ())]
    ids = [frame.parsed.id for frame in frames if isinstance(frame.parsed, Request)]
    assert [question.detail["id"]] == (keys if era == "modern" else ids)


def test_a_visit_that_was_declined_is_not_under_way() -> None:
    answerer = Answerer(elicit_url=lambda params: "decline")
    answer(answerer, "elicitation/create", visit(LEGACY), LEGACY)
    assert not answerer.completed({"elicitationId": "v1"})


def test_an_error_can_ask_for_visits() -> None:
    seen: list[str] = []

    def decide(params: Any) -> str:
        seen.append(params.elicitation_id)
        return "accept" if params.elicitation_id != "no" else "decline"

    answerer = Answerer(elicit_url=decide)

    def ask(*ids: Any, code: int = -32042, version: str = LEGACY) -> bool:
        listed = [visit(LEGACY, elicitationId=id) for id in ids]
        return run(lambda: answerer.visit(ProtocolError(code, "!", {"elicitations": listed}), version))

    assert ask("a", "b")
    assert not ask("c", "no", "d")
    assert seen == ["a", "b", "c", "no"]
    assert answerer.completed({"elicitationId": "b"})
    for ids in ((), (7,)):
        with pytest.raises((ProtocolError, UnexpectedResponse)):
            ask(*ids)
    with pytest.raises(ProtocolError):
        ask("a", version=MODERN)


@pytest.mark.parametrize(
    "data",
    [None, [], {}, {"elicitations": None}, {"elicitations": [7]}, {"elicitations": [{"mode": "form"}]}],
    ids=str,
)
def test_an_error_that_asks_for_no_visit_is_raised_again(data: Any) -> None:
    error = ProtocolError(-32042, "This request requires more information.", data)
    with pytest.raises(ProtocolError) as raised:
        run(lambda: Answerer(elicit_url=lambda params: "accept").visit(error, LEGACY))
    assert raised.value is error


# Sampling and roots


@VERSIONS
@pytest.mark.parametrize(
    "written",
    ["Hi", WRITTEN, mcp_types.CreateMessageResult.model_validate({**WRITTEN, "stopReason": "endTurn"})],
    ids=["text", "dict", "model"],
)
def test_a_model_writes(version: str, written: Any) -> None:
    response = answer(Answerer(sample=lambda params: written), "sampling/createMessage", HELLO, version)
    assert (response["role"], response["content"]) == ("assistant", {"type": "text", "text": "Hi"})
    assert response["model"]


@VERSIONS
def test_tools_need_to_be_declared(version: str) -> None:
    tools = [{"name": "t", "inputSchema": {"type": "object"}}]
    use = {
        **WRITTEN,
        "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}],
        "stopReason": "toolUse",
    }
    params = {**HELLO, "tools": tools}
    with_tools = Answerer(sample=lambda params: use, sampling_tools=True)
    assert answer(with_tools, "sampling/createMessage", params, version) == use
    error = refused(Answerer(sample=lambda params: use), "sampling/createMessage", params, version)
    assert (error.code, "sampling.tools" in error.message) == (-32602, True)


def result_of(id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "toolUseId": id, "content": [], **more}


USE = {"type": "tool_use", "id": "1", "name": "t", "input": {}}
TEXT = {"type": "text", "text": "x"}


@pytest.mark.parametrize(
    ("messages", "right"),
    [
        ([("user", TEXT), ("assistant", USE), ("user", result_of("1"))], True),
        ([("assistant", [USE, {**USE, "id": "2"}]), ("user", [result_of("2"), result_of("1")])], True),
        ([("assistant", [TEXT, USE]), ("user", [result_of("1")]), ("assistant", TEXT)], True),
        ([("assistant", USE)], False),
        ([("assistant", USE), ("user", TEXT)], False),
        ([("assistant", [USE, {**USE, "id": "2"}]), ("user", result_of("1"))], False),
        ([("assistant", USE), ("user", [result_of("1"), TEXT])], False),
        ([("assistant", USE), ("assistant", result_of("1"))], False),
        ([("user", result_of("1"))], False),
        ([("user", USE), ("user", result_of("1"))], False),
        ([("assistant", USE), ("user", [result_of("1"), result_of("1")])], False),
    ],
    ids=str,
)
def test_tool_uses_and_results_balance(messages: Any, right: bool) -> None:
    params = {"messages": [{"role": role, "content": content} for role, content in messages], "maxTokens": 9}
    answerer = Answerer(sample=lambda params: "Hi", sampling_tools=True)
    if right:
        assert answer(answerer, "sampling/createMessage", params)["role"] == "assistant"
    else:
        assert refused(answerer, "sampling/createMessage", params).code == -32602


@VERSIONS
@pytest.mark.parametrize(
    "roots",
    [
        ["file:///a"],
        [{"uri": "file:///a"}],
        [mcp_types.Root.model_validate({"uri": "file:///a"})],
        lambda: ["file:///a"],
        mcp_types.ListRootsResult.model_validate({"roots": [{"uri": "file:///a"}]}).roots,
    ],
    ids=["text", "dict", "model", "function", "result"],
)
def test_roots(version: str, roots: Any) -> None:
    assert answer(Answerer(roots=roots), "roots/list", None, version) == {"roots": [{"uri": "file:///a"}]}


@pytest.mark.parametrize("roots", [["https://a"], [7], "file:///a", 7, [{}], ["file:///a/../b"]], ids=str)
def test_roots_are_files(roots: Any) -> None:
    with pytest.raises(ValueError, match=r"root|Roots"):
        Answerer(roots=roots)
    with pytest.raises(ValueError, match=r"root|Roots"):
        answer(Answerer(roots=lambda: roots), "roots/list")


@pytest.mark.parametrize("uri", ["file:///home/..", "file:///home/%2E%2e/b", "file://host/a%5C../b"])
def test_no_root_leads_upwards(uri: str) -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/client/roots#security-considerations"""
    with pytest.raises(ValueError, match="leads straight to it"):
        Client(roots=[uri])
    with pytest.raises(ValueError, match="leads straight to it"):
        answer(Answerer(roots=lambda: [uri]), "roots/list")


@VERSIONS
@pytest.mark.parametrize(
    "method", ["elicitation/create", "sampling/createMessage", "roots/list", "tools/list", ""]
)
def test_what_there_is_no_callback_for_is_not_found(version: str, method: str) -> None:
    params: Any = {"elicitation/create": FORM, "sampling/createMessage": HELLO}.get(method)
    assert refused(Answerer(), method, params, version).code == -32601


# Answers to a legacy server


def respond(answerer: Answerer, method: str, params: Any) -> Response | ErrorResponse:
    return run(lambda: answerer.respond(Request(7, method, params), LEGACY))


def failing(error: Exception) -> Callable[[Any], Any]:
    def fail(params: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(
    ("answerer", "method", "params", "code"),
    [
        (Answerer(), "roots/list", None, -32601),
        (Answerer(elicit=len), "elicitation/create", {}, -32602),
        (Answerer(elicit=lambda params: {}), "elicitation/create", FORM, -32603),
        (Answerer(elicit=failing(OSError("the disk"))), "elicitation/create", FORM, -32603),
        (Answerer(elicit=failing(ProtocolError(-32000, "Not now."))), "elicitation/create", FORM, -32000),
        (Answerer(sample=failing(InputDeclined("no"))), "sampling/createMessage", HELLO, -1),
        (Answerer(sample=lambda params: 7), "sampling/createMessage", HELLO, -32603),
        (Answerer(sample=lambda params: {"role": "boss"}), "sampling/createMessage", HELLO, -32603),
    ],
)
def test_a_legacy_server_gets_an_error(answerer: Answerer, method: str, params: Any, code: int) -> None:
    response = respond(answerer, method, params)
    assert isinstance(response, ErrorResponse)
    assert (response.id, response.code) == (7, code)
    # What went wrong at the client is not for the server.
    assert "disk" not in response.message


def test_a_legacy_server_gets_a_result() -> None:
    assert respond(Answerer(roots=[]), "roots/list", None) == Response(7, {"roots": []})


# Rounds


def asks(*results: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A call that answers so, one after another, and what it was called with."""
    sent: list[Any] = []

    async def call_(params: Any) -> dict[str, Any]:
        sent.append(params)
        return results[min(len(sent), len(results)) - 1]

    return call_, sent


def ask(state: str | None = None, **requests: Any) -> dict[str, Any]:
    result: dict[str, Any] = {"resultType": "input_required"}
    if requests:
        result["inputRequests"] = requests
    return result if state is None else {**result, "requestState": state}


ROOTS = {"method": "roots/list"}
DONE = {"resultType": "complete", "content": []}
PARAMS = {"name": "x", "arguments": {"a": 1}}


def rounds(*results: dict[str, Any], params: Any = PARAMS, **more: Any) -> list[Any]:
    call_, sent = asks(*results)
    answerer = Answerer(roots=["file:///a"], sample=lambda params: "Hi")
    final = run(lambda: drive(call_, params, answerer, version=MODERN, **more))
    assert final is results[-1]
    return sent


R1 = {"roots": [{"uri": "file:///a"}]}


@pytest.mark.parametrize(
    ("results", "sent"),
    [
        ([DONE], [PARAMS]),
        ([{"content": []}], [PARAMS]),
        ([ask(r=ROOTS), DONE], [PARAMS, {**PARAMS, "inputResponses": {"r": R1}}]),
        ([ask("s", r=ROOTS), DONE], [PARAMS, {**PARAMS, "inputResponses": {"r": R1}, "requestState": "s"}]),
        ([ask("s"), DONE], [PARAMS, {**PARAMS, "requestState": "s"}]),
        ([ask(""), DONE], [PARAMS, {**PARAMS, "requestState": ""}]),
        (
            [ask("s", r=ROOTS), ask("t"), ask(q=ROOTS), DONE],
            [
                PARAMS,
                {**PARAMS, "inputResponses": {"r": R1}, "requestState": "s"},
                {**PARAMS, "requestState": "t"},
                {**PARAMS, "inputResponses": {"q": R1}},
            ],
        ),
    ],
    ids=str,
)
def test_each_round_carries_what_the_one_before_gave_and_nothing_else(results: Any, sent: Any) -> None:
    assert rounds(*results) == sent


def test_the_callers_parameters_stay_as_they_are() -> None:
    params = {"name": "x"}
    rounds(ask("s", r=ROOTS), DONE, params=params)
    assert params == {"name": "x"}
    # A round that the caller begins by hand is replaced by the next one.
    by_hand = {"name": "x", "requestState": "old", "inputResponses": {"old": {}}}
    assert rounds(ask(r=ROOTS), DONE, params=by_hand)[1] == {"name": "x", "inputResponses": {"r": R1}}


def test_requests_are_answered_in_their_order_one_after_another() -> None:
    log: list[str] = []

    async def write(params: Any) -> str:
        log.append("asked")
        await anyio.sleep(1)
        log.append("answered")
        return "Hi"

    call_, sent = asks(
        ask(
            b={"method": "sampling/createMessage", "params": HELLO},
            a={"method": "sampling/createMessage", "params": HELLO},
        ),
        DONE,
    )
    run(lambda: drive(call_, PARAMS, Answerer(sample=write), version=MODERN))
    assert log == ["asked", "answered"] * 2
    assert list(sent[1]["inputResponses"]) == ["b", "a"]


def test_the_number_of_rounds_has_a_limit() -> None:
    assert len(rounds(*[ask("s")] * 10, DONE)) == 11
    assert len(rounds(*[ask("s")] * 2, DONE, max_rounds=2)) == 3
    with pytest.raises(TooManyRounds, match="more than 10 rounds"):
        rounds(*[ask("s")] * 11, DONE)
    with pytest.raises(TooManyRounds):
        rounds(ask("s"), DONE, max_rounds=0)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (ask(), "neither inputRequests nor requestState"),
        ({"resultType": "input_required", "inputRequests": {}}, "neither inputRequests nor requestState"),
        ({"resultType": "input_required", "inputRequests": None, "requestState": None}, "neither"),
        ({"resultType": "input_required", "inputRequests": []}, "neither"),
        ({"resultType": "input_required", "inputRequests": [ROOTS]}, "must be an object"),
        ({"resultType": "input_required", "requestState": 7}, "must be a string"),
        (ask(r=7), "'r' is none"),
        (ask(r={}), "'r' is none"),
        (ask(r={"method": "roots/list", "params": []}), "'r' is none"),
        (ask(r={"method": "tools/list"}), "Method not found: tools/list"),
        (ask(r={"method": "elicitation/create", "params": FORM}), "only for what the client declared"),
        (ask(r={"method": "sampling/createMessage", "params": {}}), "sampling/createMessage"),
        (ask(r={"method": "sampling/createMessage", "params": {**HELLO, "tools": []}}), "sampling.tools"),
    ],
    ids=str,
)
def test_a_server_that_asks_wrongly_is_told_so_to_the_caller(result: Any, said: str) -> None:
    with pytest.raises(UnexpectedResponse, match=said):
        rounds(result, DONE)


@pytest.mark.parametrize(
    "error", [InputDeclined("The user says no."), OSError("the disk"), ProtocolError(-32000, "Not now.")]
)
def test_what_a_callback_raises_reaches_the_caller_and_nothing_is_sent_again(error: Exception) -> None:
    call_, sent = asks(ask(r={"method": "sampling/createMessage", "params": HELLO}), DONE)
    with pytest.raises(type(error)) as raised:
        run(lambda: drive(call_, PARAMS, Answerer(sample=failing(error)), version=MODERN))
    assert raised.value is error
    assert len(sent) == 1


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_any_result_is_read_or_refused(value: Any) -> None:
    for result in (value, {"inputRequests": value}, {"requestState": value}):
        if isinstance(result, dict):
            try:
                requests, state = input_required(result)
            except UnexpectedResponse:
                continue
            assert requests or state is not None


# Both halves together


async def order(context: Context, what: str) -> str:
    got = await context.ask({"who": context.form("Who?", SCHEMA), "where": context.roots()})
    await context.come_back()
    written = await context.sample("Say something.", max_tokens=9)
    return f"{what} for {got['who'].content['name']}: {written.content.text}"


@pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
def test_a_handler_and_callbacks(transport: Any) -> None:
    server = Server("desk")
    server.tool()(order)
    answerer = Answerer(
        elicit=lambda params: {"name": "Ada"}, roots=["file:///a"], sample=lambda params: "Hi"
    )

    async def story(client: Client) -> Any:
        return await drive(
            lambda params: client.request("tools/call", params),
            call("order", {"what": "tea"}),
            answerer,
            version=client.version,
        )

    client = Client(capabilities=answerer.capabilities)
    played = simulate_checked(story, server=server, client=client, transport=transport)
    assert played.value["content"][0]["text"] == "tea for Ada: Hi"
    ids = [frame.parsed.id for frame in played.recording.frames if isinstance(frame.parsed, Request)]
    assert len(ids) == len(set(ids)) == 4
