"""A handler asks its client: the same handler in both eras, on both transports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal

import anyio
import pytest
from checked import simulate_checked
from hypothesis import given
from hypothesis import strategies as st
from playing import ALL, FORM, WRITTEN, NoAnswer, Played, accept, answering, play
from pydantic import BaseModel, Field
from talking import Endpoint, call, legacy, modern, opening, run, talk

from mcpsim import Client, Context, Server, Stdio, StreamableHttp
from mcpsim.errors import (
    INVALID_PARAMS,
    CapabilityMissing,
    ElicitationSchemaError,
    FramingError,
    InputFailed,
    McpSimError,
    ProtocolError,
)
from mcpsim.gateway.gateway import Gateway
from mcpsim.messages import DEFAULT_LIMITS

ERAS = pytest.mark.parametrize("era", ["modern", "legacy"])
BOTH = pytest.mark.parametrize("transport", ["stdio", "http"])

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


def desk(handler: Callable[..., Any], **settings: Any) -> Server:
    """A server with one tool, one prompt and one resource that all do the same."""
    server = Server("desk", **settings)
    server.tool("ask")(handler)
    return server


def ask(handler: Callable[..., Any], era: str, transport: str, answers: Any, **more: Any) -> Played:
    return play(desk(handler), era, transport, "tools/call", call("ask"), answers, **more)


async def greet(context: Context) -> str:
    answer = await context.elicit("Your name?", NAME)
    return f"{answer.action} {answer.content}"


# One question, and what the user does with it


@ERAS
@BOTH
@pytest.mark.parametrize(
    ("response", "text"),
    [
        (accept(name="Ada"), "accept {'name': 'Ada'}"),
        ({"action": "decline"}, "decline None"),
        ({"action": "cancel"}, "cancel None"),
    ],
    ids=["accept", "decline", "cancel"],
)
def test_a_form(era: str, transport: str, response: Any, text: str) -> None:
    played = ask(greet, era, transport, answering(create=response))
    assert played.text == text
    params = {"mode": "form", "message": "Your name?", "requestedSchema": NAME}
    assert played.questions == [("elicitation/create", params)]


@ERAS
@BOTH
def test_sampling_and_roots(era: str, transport: str) -> None:
    async def both(context: Context) -> str:
        written = await context.sample("Capital of France?", max_tokens=5, temperature=0.5)
        found = await context.list_roots()
        return f"{written.content.text} {written.model} {found.roots[0].uri}"

    roots = {"roots": [{"uri": "file:///home/me"}]}
    played = ask(both, era, transport, answering(createMessage=WRITTEN, list=roots))
    assert played.text == "Paris test file:///home/me"
    message = {"role": "user", "content": {"type": "text", "text": "Capital of France?"}}
    assert played.questions == [
        ("sampling/createMessage", {"messages": [message], "temperature": 0.5, "maxTokens": 5}),
        ("roots/list", None),
    ]


@BOTH
@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
@ERAS
def test_prompts_and_resources_ask_too(era: str, transport: str, method: str) -> None:
    server = Server("desk")
    server.prompt("ask")(greet)
    server.resource("test://ask", ttl_ms=60_000, cache_scope="public")(greet)
    params = {"name": "ask"} if method == "prompts/get" else {"uri": "test://ask"}
    played = play(server, era, transport, method, params, answering(create=accept(name="Ada")))
    assert "Ada" in str(played.result)
    if era == "modern":
        first = played.answers[0]["result"]
        assert set(first) == {"resultType", "inputRequests", "requestState", "_meta"}


@ERAS
@BOTH
def test_several_questions_at_once(era: str, transport: str) -> None:
    async def several(context: Context) -> str:
        got = await context.ask(
            {
                "who": context.form("Your name?", NAME),
                "say": context.sampling("Hello", max_tokens=9),
                "where": context.roots(),
                "pay": context.url("Pay, please.", "https://example.com/pay"),
            }
        )
        return f"{list(got)} {got['who'].content} {got['say'].model} {got['where'].roots} {got['pay'].action}"

    answers = answering(
        create=[accept(name="Ada"), {"action": "accept"}], createMessage=WRITTEN, list={"roots": []}
    )
    played = ask(several, era, transport, answers)
    assert played.text == "['who', 'say', 'where', 'pay'] {'name': 'Ada'} test [] accept"
    assert [method for method, _ in played.questions] == [
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
        "elicitation/create",
    ]
    if era == "modern":
        assert [key for key, _, _ in played.asked] == ["who", "say", "where", "pay"]
        assert len(played.answers) == 2
    assert ("elicitationId" in played.questions[3][1]) == (era == "legacy")


@ERAS
@BOTH
def test_several_rounds(era: str, transport: str) -> None:
    async def several(context: Context) -> str:
        first = await context.elicit("First?", NAME)
        second = await context.elicit(f"{first.content['name']}, and then?", NAME, key="then")
        third = await context.elicit("Last?", NAME)
        return "".join(one.content["name"] for one in (first, second, third))

    played = ask(several, era, transport, answering(create=[accept(name=one) for one in "abc"]))
    assert played.text == "abc"
    assert [params["message"] for _, params in played.questions] == ["First?", "a, and then?", "Last?"]
    if era == "modern":
        assert [key for key, _, _ in played.asked] == ["1", "then", "2"]
        states = [answer["result"].get("requestState") for answer in played.answers]
        assert states[-1] is None
        assert len(set(states)) == 4


@ERAS
@BOTH
def test_what_a_handler_remembers_and_when_it_only_wants_the_client_back(era: str, transport: str) -> None:
    async def wait(context: Context) -> str:
        if context.remembered is None:
            context.remember({"basket": [1, 2]})
        await context.come_back()
        await context.come_back()
        await context.elicit("Sure?", OK)
        return str(context.remembered)

    played = ask(wait, era, transport, answering(create=accept(ok=True)))
    assert played.text == "{'basket': [1, 2]}"
    if era == "modern":
        kinds = [sorted(answer["result"].keys() - {"_meta"}) for answer in played.answers]
        assert kinds[:2] == [["requestState", "resultType"]] * 2
        assert kinds[2] == ["inputRequests", "requestState", "resultType"]


@ERAS
@BOTH
def test_what_is_too_large_to_be_remembered_is_the_handlers_fault(era: str, transport: str) -> None:
    async def keep(context: Context) -> str:
        with pytest.raises(FramingError, match="cannot be remembered"):
            context.remember("x" * DEFAULT_LIMITS.max_bytes)
        return str(context.remembered)

    assert ask(keep, era, transport, answering()).text == "None"


@BOTH
def test_a_handler_begins_anew_in_each_round(transport: str) -> None:
    runs: list[str] = []

    async def counted(context: Context) -> str:
        runs.append("begun")
        try:
            await context.elicit("Sure?", OK)
        finally:
            runs.append("ended")
        return "done"

    played = ask(counted, "modern", transport, answering(create=accept()))
    assert played.text == "done"
    assert runs == ["begun", "ended", "begun", "ended"]


@BOTH
def test_nothing_that_catches_exceptions_holds_a_round_up(transport: str) -> None:
    async def careless(context: Context) -> str:
        try:
            await context.elicit("Sure?", OK)
        except Exception:
            return "swallowed"
        return "asked"

    assert ask(careless, "modern", transport, answering(create=accept())).text == "asked"


@ERAS
def test_questions_from_tasks_of_the_handler(era: str) -> None:
    async def spread(context: Context) -> str:
        got: dict[str, Any] = {}

        async def one(key: str) -> None:
            got[key] = (await context.elicit(f"{key}?", NAME, key=key)).content

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, "a")
            tasks.start_soon(one, "b")
        return str(sorted(got))

    assert ask(spread, era, "stdio", answering(create=accept(name="x"))).text == "['a', 'b']"


def test_a_pause_beside_a_failure_is_a_failure() -> None:
    async def spread(context: Context) -> str:
        async def asks() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await context.elicit("Sure?", OK)

        async def fails() -> None:
            await anyio.sleep(1)
            raise OSError("the disk")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asks)
            tasks.start_soon(fails)
        return "never"

    played = ask(spread, "modern", "stdio", answering(create=accept()))
    assert played.error["code"] == -32603
    assert "disk" not in str(played.error)


# What the client answers badly, or not at all


@BOTH
def test_what_is_missing_is_asked_for_again(transport: str) -> None:
    async def two(context: Context) -> str:
        got = await context.ask({"a": context.form("A?", NAME), "b": context.form("B?", NAME)})
        return f"{got['a'].content['name']}{got['b'].content['name']}"

    # The first round answers only "a", the second leaves "b" without what it needs.
    turns = [accept(name="x"), NoAnswer, accept(), accept(name="y")]
    played = ask(two, "modern", transport, answering(create=turns))
    assert played.text == "xy"
    assert [key for key, _, _ in played.asked] == ["a", "b", "b", "b"]
    assert any("asked for again" in note for note in played.notes)


@BOTH
def test_what_nobody_asked_for_is_ignored(transport: str) -> None:
    def more(params: dict[str, Any]) -> dict[str, Any]:
        responses = {**params["inputResponses"], "extra": accept(x=1)}
        return {**params, "inputResponses": responses}

    played = ask(greet, "modern", transport, answering(create=accept(name="Ada")), on_round=more)
    assert played.text == "accept {'name': 'Ada'}"
    assert any("'extra'" in note for note in played.notes)


@pytest.mark.parametrize(
    ("response", "where"),
    [
        (accept(name=7), "inputResponses.1"),
        (accept(name="x", more=True), "inputResponses.1"),
        ({"roots": []}, "inputResponses.1"),
        (WRITTEN, "inputResponses.1"),
        ({"action": "agree"}, "nputResponses"),
        (7, "nputResponses"),
        (None, "nputResponses"),
        ([], "nputResponses"),
    ],
    ids=str,
)
@BOTH
def test_a_response_that_does_not_fit_is_refused(transport: str, response: Any, where: str) -> None:
    played = ask(greet, "modern", transport, lambda method, params: response)
    assert played.error["code"] == -32602
    assert where in played.error["message"]


@pytest.mark.parametrize("member", ["inputResponses", "requestState"])
@pytest.mark.parametrize("value", [None, 7, [], "x", True], ids=str)
def test_members_of_another_kind_are_refused(member: str, value: Any) -> None:
    server = desk(greet)
    message = modern(1, "tools/call", {**call("ask"), member: value}, capabilities=FORM)
    assert talk(server, message).answer(1)["error"]["code"] == -32602
    assert run(lambda: Endpoint(server).modern(message)).status == 400


@BOTH
@pytest.mark.parametrize(
    ("response", "said"),
    [
        ({"error": {"code": -32000, "message": "The dialog broke."}}, "The dialog broke."),
        (accept(name=7), "must be a text"),
        (accept(), "lacks name"),
        ({"action": "agree"}, "not valid"),
    ],
    ids=["error", "wrong", "missing", "no result"],
)
def test_a_legacy_answer_of_no_use_is_a_tool_error(transport: str, response: Any, said: str) -> None:
    played = ask(greet, "legacy", transport, answering(create=response))
    assert played.result["isError"] is True
    assert said in played.text


def test_a_handler_may_go_on_without_a_legacy_answer() -> None:
    async def careful(context: Context) -> str:
        try:
            await context.list_roots()
        except InputFailed as failed:
            return f"none: {failed.error.code if failed.error else ''}"
        return "some"

    error = {"error": {"code": -32603, "message": "Internal error"}}
    assert ask(careful, "legacy", "stdio", answering(list=error)).text == "none: -32603"


def test_an_answer_without_the_state_of_its_question_counts() -> None:
    # The client is who answers, with or without the state; what the state protects is the server's own.
    message = modern(
        1, "tools/call", {**call("ask"), "inputResponses": {"1": accept(name="Ada")}}, capabilities=FORM
    )
    result = talk(desk(greet), message).answer(1)["result"]
    assert result["content"][0]["text"] == "accept {'name': 'Ada'}"


def test_a_question_that_changed_is_asked_again() -> None:
    prices = [10, 20, 20]

    async def buy(context: Context) -> str:
        price = prices.pop(0)
        answer = await context.elicit(f"Buy for {price}?", OK)
        return f"{answer.action} {price}"

    played = ask(buy, "modern", "stdio", answering(create=accept(ok=True)))
    assert played.text == "accept 20"
    assert [params["message"] for _, params in played.questions] == ["Buy for 10?", "Buy for 20?"]
    assert any("another one now" in note for note in played.notes)


def test_an_answer_of_an_earlier_round_counts_for_its_own_question_only() -> None:
    prices = [10, 10, 20, 20, 20]

    async def buy(context: Context) -> str:
        price = prices.pop(0)
        bought = await context.elicit(f"Buy for {price}?", OK, key="buy")
        gift = await context.elicit("As a gift?", OK, key="gift")
        return f"{bought.action} {gift.action} {price}"

    # The price changed after the first question was answered; its old answer must not buy at the new one.
    turns = [accept(ok=True), accept(), {"action": "decline"}]
    played = ask(buy, "modern", "stdio", answering(create=turns))
    assert [params["message"] for _, params in played.questions][:3] == [
        "Buy for 10?",
        "As a gift?",
        "Buy for 20?",
    ]
    assert played.text.startswith("decline")


# What the client can do


CASES: list[tuple[Any, str, Any]] = [
    ({}, "form", {"elicitation": {"form": {}}}),
    ({"elicitation": {"url": {}}}, "form", {"elicitation": {"form": {}}}),
    ({"elicitation": {}}, "url", {"elicitation": {"url": {}}}),
    ({"elicitation": {"form": {}}}, "url", {"elicitation": {"url": {}}}),
    ({}, "sample", {"sampling": {}}),
    ({"sampling": {}}, "tools", {"sampling": {"tools": {}}}),
    ({"sampling": {"tools": {}}}, "context", {"sampling": {"context": {}}}),
    ({}, "roots", {"roots": {}}),
]


async def by_kind(context: Context, kind: str) -> str:
    if kind == "form":
        await context.elicit("?", OK)
    elif kind == "url":
        await context.elicit_url("?", "https://example.com/")
    elif kind == "roots":
        await context.list_roots()
    else:
        more: dict[str, Any] = {"tools": {"tools": []}, "context": {"includeContext": "thisServer"}}.get(
            kind, {}
        )
        await context.sample("?", max_tokens=1, **more)
    return "asked"


@ERAS
@BOTH
@pytest.mark.parametrize(("declared", "kind", "missing"), CASES, ids=str)
def test_nothing_is_asked_that_the_client_did_not_declare(
    era: str, transport: str, declared: Any, kind: str, missing: Any
) -> None:
    server = desk(by_kind)
    played = play(
        server, era, transport, "tools/call", call("ask", {"kind": kind}), answering(), capabilities=declared
    )
    assert played.asked == []
    if era == "modern":
        assert played.error["code"] == -32021
        assert played.error["data"] == {"requiredCapabilities": missing}
    else:
        assert played.error["code"] == -32600


@ERAS
@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ({"elicitation": {}}, "form"),
        ({"elicitation": {"form": {}}}, "form"),
        ({"elicitation": {"url": {}}}, "url"),
        ({"sampling": {}}, "sample"),
        ({"sampling": {"tools": {}}}, "tools"),
        ({"sampling": {"context": {}}}, "context"),
        ({"roots": {}}, "roots"),
    ],
    ids=str,
)
def test_what_it_declared_is_asked(era: str, declared: Any, kind: str) -> None:
    answers = answering(create={"action": "cancel"}, createMessage=WRITTEN, list={"roots": []})
    params = call("ask", {"kind": kind})
    assert (
        play(desk(by_kind), era, "stdio", "tools/call", params, answers, capabilities=declared).text
        == "asked"
    )


@ERAS
def test_a_handler_can_do_without(era: str) -> None:
    async def careful(context: Context) -> str:
        can = [context.can_elicit(), context.can_elicit("url"), context.can_sample, context.can_list_roots]
        try:
            await context.elicit("?", OK)
        except CapabilityMissing as missing:
            return f"{can} {missing.required} {context.can_sample_with_tools}"
        return "asked"

    declared = {"elicitation": {"url": {}}, "sampling": {"tools": {}}}
    played = ask(careful, era, "stdio", answering(), capabilities=declared)
    assert played.text == "[False, True, True, False] {'elicitation': {'form': {}}} True"


@ERAS
def test_everything_that_is_missing_is_named_at_once(era: str) -> None:
    async def several(context: Context) -> str:
        await context.ask(
            {
                "a": context.form("?", OK),
                "b": context.url("?", "https://example.com/"),
                "c": context.roots(),
                "d": context.sampling("?", max_tokens=1, tools=[]),
            }
        )
        return "asked"

    error = ask(several, era, "stdio", answering(), capabilities={"sampling": {}}).error
    assert "elicitation.form, elicitation.url, roots, sampling.tools" in error["message"]
    if era == "modern":
        assert error["data"]["requiredCapabilities"] == {
            "elicitation": {"form": {}, "url": {}},
            "roots": {},
            "sampling": {"tools": {}},
        }


# What a revision has


@pytest.mark.parametrize(
    ("version", "kind", "sent"),
    [
        ("2024-11-05", "form", None),
        ("2025-03-26", "form", None),
        ("2025-06-18", "form", {"message": "?", "requestedSchema": OK}),
        ("2025-11-25", "form", {"mode": "form", "message": "?", "requestedSchema": OK}),
        ("2025-06-18", "url", None),
        ("2025-06-18", "tools", None),
    ],
)
def test_older_revisions_have_less(version: str, kind: str, sent: Any) -> None:
    params = call("ask", {"kind": kind})
    answers = answering(create=accept())
    played = play(
        desk(by_kind), "legacy", "stdio", "tools/call", params, answers, capabilities=ALL, version=version
    )
    if sent is None:
        assert played.result["isError"] is True
        assert any(f"{version} has no" in note for note in played.notes)
    else:
        assert played.questions == [("elicitation/create", sent)]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18"])
def test_context_needed_no_capability_before_there_was_one(version: str) -> None:
    params = call("ask", {"kind": "context"})
    played = play(
        desk(by_kind),
        "legacy",
        "stdio",
        "tools/call",
        params,
        answering(createMessage=WRITTEN),
        capabilities={"sampling": {}},
        version=version,
    )
    assert played.questions[0][1]["includeContext"] == "thisServer"


@BOTH
def test_a_visit_has_a_name_in_one_revision_and_is_told_when_it_is_done(transport: str) -> None:
    async def pay(context: Context) -> str:
        id = context.tokens("payment")
        answer = await context.elicit_url("Pay.", "https://example.com/pay", elicitation_id=id)
        await context.elicitation_complete(id)
        return answer.action

    legacy_ = ask(pay, "legacy", transport, answering(create={"action": "accept"}))
    id = legacy_.questions[0][1]["elicitationId"]
    assert [(one["method"], one["params"]) for one in legacy_.said] == [
        ("notifications/elicitation/complete", {"elicitationId": id})
    ]
    modern_ = ask(pay, "modern", transport, answering(create={"action": "accept"}))
    assert modern_.questions == [
        ("elicitation/create", {"mode": "url", "message": "Pay.", "url": "https://example.com/pay"})
    ]
    assert (modern_.text, modern_.said) == ("accept", [])


@pytest.mark.parametrize(
    "url", ["", "example.com", "/pay", "https://exa mple.com", "https:", "https://", "http://[::1"]
)
def test_a_visit_needs_a_url(url: str) -> None:
    with pytest.raises(ValueError, match="valid URL"):
        Context.url("Pay.", url)


def test_the_url_of_a_visit_lets_nobody_in() -> None:
    with pytest.raises(ValueError, match="must not let in") as raised:
        Context.url("Pay.", "https://ann:secret@example.com/pay")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("name", ["costPriority", "speedPriority", "intelligencePriority"])
@pytest.mark.parametrize("value", [-0.1, 1.1, 5])
def test_the_priorities_of_a_model_are_from_0_to_1(name: str, value: float) -> None:
    async def write(context: Context) -> str:
        with pytest.raises(ValueError, match=f"{name} must be from 0 to 1"):
            await context.sample("Hi", max_tokens=5, modelPreferences={name: value})
        await context.sample("Hi", max_tokens=5, modelPreferences={name: 1})
        return "written"

    assert ask(write, "modern", "stdio", answering(createMessage=WRITTEN)).text == "written"


@BOTH
def test_a_required_visit_is_an_error_in_one_revision_and_a_question_since(transport: str) -> None:
    async def connect(context: Context) -> str:
        answer = await context.require_url("Connect first.", "https://example.com/connect")
        return answer.action

    error = ask(connect, "legacy", transport, answering()).error
    assert error["code"] == -32042
    (visit,) = error["data"]["elicitations"]
    assert visit.pop("elicitationId")
    assert visit == {"mode": "url", "message": "Connect first.", "url": "https://example.com/connect"}
    assert ask(connect, "modern", transport, answering(create={"action": "accept"})).text == "accept"


@ERAS
def test_a_required_visit_needs_a_client_that_can(era: str) -> None:
    async def connect(context: Context) -> str:
        await context.require_url("Connect first.", "https://example.com/connect")
        return "never"

    error = ask(connect, era, "stdio", answering(), capabilities={"elicitation": {}}).error
    assert error["code"] == (-32021 if era == "modern" else -32600)


# Handlers that ask wrongly learn it by an exception


@ERAS
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            lambda context: context.elicit("?", {"type": "object", "properties": {"x": {}}}), id="schema"
        ),
        pytest.param(lambda context: context.sample([], max_tokens="many"), id="tokens"),
        pytest.param(lambda context: context.sample([{"role": "boss"}], max_tokens=1), id="role"),
        pytest.param(
            lambda context: context.sample(
                [{"role": "user", "content": {"type": "tool_result", "toolUseId": "1", "content": []}}],
                max_tokens=1,
            ),
            id="tool result",
        ),
        pytest.param(lambda context: context.elicit(7, OK), id="message"),
    ],
)
def test_wrong_questions_are_not_sent(era: str, wrong: Any) -> None:
    raised: list[Exception] = []

    async def asks(context: Context) -> str:
        try:
            await wrong(context)
        except Exception as error:
            raised.append(error)
        return "asked wrongly"

    played = ask(asks, era, "stdio", answering())
    assert played.asked == []
    assert isinstance(raised[0], ValueError)


@ERAS
def test_a_key_stands_for_one_question(era: str) -> None:
    async def twice(context: Context) -> str:
        await context.elicit("?", OK, key="a")
        try:
            await context.elicit("!", OK, key="a")
        except ValueError as error:
            return str(error)
        return "twice"

    assert "stands for another question" in ask(twice, era, "stdio", answering(create=accept())).text


def test_only_three_methods_can_ask_in_the_modern_era() -> None:
    kept: list[Context] = []

    async def keep(context: Context) -> str:
        kept.append(context)
        return "kept"

    ask(keep, "modern", "stdio", answering())
    context = kept[0]
    context.silent = False
    context.method = "tools/list"
    with pytest.raises(McpSimError, match="while tools/list is served"):
        run(lambda: context.elicit("?", OK))


@ERAS
def test_a_request_that_is_over_asks_nothing(era: str) -> None:
    kept: list[Context] = []

    async def keep(context: Context) -> str:
        kept.append(context)
        return "kept"

    ask(keep, era, "stdio", answering())
    with pytest.raises(McpSimError, match="over"):
        run(lambda: kept[0].elicit("?", OK))


def test_input_responses_of_other_methods_are_left_aside() -> None:
    said = talk(desk(greet), modern(1, "tools/list", {"inputResponses": {}, "requestState": "x"}))
    assert "result" in said.answer(1)


# Models as forms


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Order(BaseModel):
    name: Annotated[str, Field(min_length=2, description="Who it is for")]
    size: Size = Size.SMALL
    count: Annotated[int, Field(ge=1, le=9)] = 1
    price: float | None = None
    extras: list[Literal["milk", "sugar"]] = []
    gift: bool = False


@ERAS
def test_a_model_is_a_form(era: str) -> None:
    async def order(context: Context) -> str:
        answer = await context.elicit("Your order?", Order)
        return str(Order.model_validate(answer.content))

    content = {"name": "Ada", "size": "l", "count": 2, "extras": ["milk"]}
    played = ask(order, era, "stdio", answering(create={"action": "accept", "content": content}))
    assert "size=<Size.LARGE: 'l'> count=2 price=None extras=['milk'] gift=False" in played.text
    assert played.questions[0][1]["requestedSchema"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2, "title": "Name", "description": "Who it is for"},
            "size": {"type": "string", "enum": ["s", "l"], "default": "s"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "title": "Count", "default": 1},
            "price": {"type": "number", "title": "Price"},
            "extras": {
                "type": "array",
                "items": {"type": "string", "enum": ["milk", "sugar"]},
                "title": "Extras",
                "default": [],
            },
            "gift": {"type": "boolean", "title": "Gift", "default": False},
        },
        "required": ["name"],
    }


def test_a_model_with_more_than_a_form_can_hold_is_refused() -> None:
    class Deep(BaseModel):
        order: Order

    async def order(context: Context) -> str:
        try:
            await context.elicit("Your order?", Deep)
        except ElicitationSchemaError as error:
            return str(error)
        return "asked"

    assert "A form is flat" in ask(order, "modern", "stdio", answering()).text


# Through the simulator, with every message checked by the official models


@pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
def test_a_round_by_hand_is_what_the_models_say(transport: Any) -> None:
    async def story(client: Client) -> Any:
        first = await client.request("tools/call", call("ask"))
        responses = {key: accept(name="Ada") for key in first["inputRequests"]}
        retry = {**call("ask"), "inputResponses": responses, "requestState": first["requestState"]}
        return await client.request("tools/call", retry)

    server = desk(greet)
    runs = [
        simulate_checked(story, server=server, client=Client(capabilities=FORM), transport=transport)
        for _ in range(2)
    ]
    assert runs[0].value["content"][0]["text"] == "accept {'name': 'Ada'}"
    assert runs[0].recording.sha256() == runs[1].recording.sha256()


# Whatever comes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["1", "2", "action", "content", "name", "roots", "role"]), inner)
    ),
    max_leaves=8,
)
RESPONSES = st.dictionaries(
    st.sampled_from(["1", "2", "x"]),
    JSON
    | st.fixed_dictionaries(
        {"action": st.sampled_from(["accept", "decline", "cancel"]) | JSON},
        optional={"content": JSON | st.dictionaries(st.sampled_from(["name", "x"]), JSON)},
    ),
)


@given(JSON | RESPONSES, JSON, st.booleans())
def test_any_retry_has_one_answer_and_is_no_fault_of_the_server(
    responses: Any, state: Any, has_state: bool
) -> None:
    params = {**call("ask"), "inputResponses": responses}
    if has_state:
        params["requestState"] = state
    said = talk(desk(greet), modern(1, "tools/call", params, capabilities=FORM))
    answer = said.answer(1)
    assert answer.get("error", {"code": -32602})["code"] == -32602
    if has_state:
        assert "error" in answer


@given(JSON | RESPONSES | st.fixed_dictionaries({"action": st.just("accept"), "content": JSON}))
def test_any_legacy_answer_ends_in_one_result(result: Any) -> None:
    response = {"jsonrpc": "2.0", "id": 1, "result": result}
    said = talk(
        desk(greet),
        *opening(capabilities=FORM),
        legacy(5, "tools/call", call("ask")),
        1.0,
        response,
        wait=90.0,
    )
    answer = said.answer(5)["result"]
    fits = isinstance(result, dict) and result.get("action") in ("accept", "decline", "cancel")
    assert fits or answer["isError"] is True


# The client of the project at the other end


async def everything(context: Context, what: str) -> str:
    found = await context.list_roots() if context.can_list_roots else None
    got = await context.ask(
        {"who": context.form("Who?", NAME), "say": context.sampling("Say something.", max_tokens=9)}
    )
    await context.come_back()
    visit = await context.elicit_url("Pay.", "https://example.com/pay") if context.can_elicit("url") else None
    last = await context.elicit("Sure?", OK)
    parts = [what, got["who"].content["name"], got["say"].content.text, last.action]
    return " ".join([*parts, visit.action if visit else "no visit", str(len(found.roots) if found else 0)])


@pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
@pytest.mark.parametrize(
    ("era", "version"),
    [("modern", None), ("legacy", None), ("legacy", "2025-06-18"), ("auto", None)],
)
def test_a_handler_and_a_client_in_every_era(era: Any, version: Any, transport: Any) -> None:
    forms: list[str] = []

    def fill_in(params: Any) -> Any:
        forms.append(params.message)
        return {"name": "Ada"} if params.message == "Who?" else "decline"

    client = Client(
        era=era,
        protocol_version=version,
        elicit=fill_in,
        elicit_url=lambda params: "accept",
        sample=lambda params: "Hi",
        roots=["file:///a", "file:///b"],
    )

    async def story(client: Client) -> str:
        result = await client.call_tool("ask", {"what": "tea"})
        return result.content[0].text

    played = simulate_checked(story, server=desk(everything), client=client, transport=transport)
    visit = "no visit" if version == "2025-06-18" else "accept"
    assert played.value == f"tea Ada Hi decline {visit} 2"
    assert forms == ["Who?", "Sure?"]


@pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_the_user_stops_while_a_question_is_open(era: Any, transport: Any) -> None:
    log: list[str] = []

    async def patient(context: Context) -> str:
        log.append("begun")
        try:
            await context.elicit("Sure?", OK)
        finally:
            log.append("ended")
        return "sure"

    async def think(params: Any) -> str:
        try:
            await anyio.sleep(100)
        except anyio.get_cancelled_exc_class():
            log.append("the form is closed")
            raise
        return "accept"

    async def story(client: Client) -> bool:
        with anyio.move_on_after(5) as scope:
            await client.call_tool("ask")
        await anyio.sleep(5)
        return scope.cancelled_caught

    client = Client(era=era, elicit=think)
    played = simulate_checked(story, server=desk(patient), client=client, transport=transport)
    assert played.value is True
    # A modern round is over before the user sees the form; a legacy handler waits for the answer.
    ended = ["ended", "the form is closed"]
    assert log[0] == "begun"
    assert log[1:] == ended if era == "modern" else sorted(log[1:]) == ended


@pytest.mark.parametrize("single_use", [False, True])
def test_every_round_may_reach_another_replica(single_use: bool) -> None:
    async def two(context: Context) -> str:
        first = await context.elicit("First?", NAME)
        second = await context.elicit("Second?", NAME)
        return f"{first.content['name']} {second.content['name']}"

    async def story(client: Client) -> str:
        return (await client.call_tool("ask")).content[0].text

    played = simulate_checked(
        story,
        server=desk(two, single_use_state=single_use),
        client=Client(elicit=lambda params: {"name": params.message[:-1]}),
        gateway=Gateway(),
        replicas=3,
    )
    assert played.value == "First Second"
    served = {event.party for event in played.recording.events if event.kind == "handler_started"}
    assert len(served - {"client"}) == 3


# A handler that does not let the pause out


async def caught(context: Context) -> str:
    try:
        return f"{await context.elicit('Your name?', NAME)}"
    except BaseException as error:
        return f"caught {error!r}"


async def caught_and_failed(context: Context) -> str:
    try:
        return f"{await context.elicit('Your name?', NAME)}"
    except BaseException as error:
        raise RuntimeError("no name") from error


async def gathered(context: Context) -> str:
    asked = (context.elicit("Your name?", NAME), context.elicit("Your name, again?", NAME))
    found = await asyncio.gather(*asked, return_exceptions=True)
    return " ".join(str(one) for one in found)


async def gathered_and_asked(context: Context) -> str:
    found = await asyncio.gather(context.elicit("Your name?", NAME), return_exceptions=True)
    return f"{found[0]} {await context.elicit('Your name, again?', NAME)}"


@BOTH
@pytest.mark.parametrize(
    ("handler", "questions", "swallows"),
    [(caught, 1, True), (caught_and_failed, 1, True), (gathered, 2, True), (gathered_and_asked, 2, False)],
)
def test_a_question_that_was_asked_is_put_to_the_client_whatever_the_handler_does_then(
    handler: Callable[..., Any], questions: int, swallows: bool, transport: str
) -> None:
    played = ask(handler, "modern", transport, answering(create=accept(name="Ada")))
    assert [message for _, message in played.questions] == [
        {"mode": "form", "message": text, "requestedSchema": NAME}
        for text in ("Your name?", "Your name, again?")[:questions]
    ]
    assert played.text.count("Ada") == questions
    assert "Pause" not in played.text
    assert len(played.answers) == 2
    assert any("swallowed the pause" in note for note in played.notes) == swallows


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
def test_a_swallowed_pause_of_a_prompt_or_a_resource(method: str) -> None:
    server = Server("desk")
    server.prompt("ask")(caught_and_failed)
    server.resource("desk://ask")(caught_and_failed)
    params = {"name": "ask"} if method == "prompts/get" else {"uri": "desk://ask"}
    played = play(server, "modern", "stdio", method, params, answering(create=accept(name="Ada")))
    assert len(played.questions) == 1
    assert "Ada" in str(played.result)


def test_a_client_that_was_sent_away_by_a_handler_that_went_on() -> None:
    async def impatient(context: Context) -> str:
        try:
            await context.come_back()
        except BaseException:
            return "too soon"
        return "back"

    played = ask(impatient, "modern", "stdio", answering())
    assert "inputRequests" not in played.answers[0]["result"]
    assert played.text == "back"


def test_a_protocol_error_after_a_swallowed_pause_is_the_answer() -> None:
    async def refusing(context: Context) -> str:
        try:
            return f"{await context.elicit('Your name?', NAME)}"
        except BaseException:
            raise ProtocolError(INVALID_PARAMS, "Without a name nothing goes.") from None

    played = ask(refusing, "modern", "stdio", answering(create=accept(name="Ada")))
    assert played.error["message"] == "Without a name nothing goes."
    assert played.questions == []


# What is larger than any reader takes

LARGE = "x" * DEFAULT_LIMITS.max_bytes


@BOTH
def test_a_question_that_nobody_would_read_is_not_sent_to_a_legacy_client(transport: str) -> None:
    async def asking(context: Context) -> str:
        for large in (
            lambda: context.elicit(LARGE, NAME),
            lambda: context.sample(LARGE, max_tokens=5),
            lambda: context.request("elicitation/create", {"message": LARGE, "requestedSchema": NAME}),
            lambda: context.ask({"a": context.form("Small", NAME), "b": context.form(LARGE, NAME)}),
        ):
            with pytest.raises(FramingError, match="readers take 4000000 at most"):
                await large()
        return f"{(await context.elicit('Your name?', NAME)).content}"

    played = ask(asking, "legacy", transport, answering(create=accept(name="Ada")))
    assert played.text == "{'name': 'Ada'}"
    # Of the two that were asked at once, neither has gone out.
    assert [params["message"] for _, params in played.questions] == ["Your name?"]


@BOTH
@pytest.mark.parametrize("remembers", [False, True])
def test_an_input_required_result_that_nobody_would_read_is_an_error(transport: str, remembers: bool) -> None:
    async def asking(context: Context) -> str:
        if remembers:
            context.remember("x" * (DEFAULT_LIMITS.max_bytes - 1000))
        await context.elicit("Your name?" if remembers else LARGE, NAME)
        return "never"

    played = ask(asking, "modern", transport, answering(create=accept(name="Ada")))
    assert played.error["code"] == -32603
    assert "the limit is 4000000" in played.error["message"]
    assert len(played.answers) == 1
