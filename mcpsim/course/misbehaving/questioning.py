"""Servers that misbehave in what they ask, and in what they make of the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Edit,
    Json,
    Letter,
    add_before,
    change_answer,
    change_params,
    change_result,
    on_message,
    on_nth,
    one_after_the_other,
    raw_bytes,
)
from mcpsim.course.servers import travel_desk
from mcpsim.course.stories.asking import (
    ask_the_model,
    declining,
    nobody_to_ask,
    obliging,
    one_question,
    state_without_a_question,
    two_questions_at_once,
    user_declines,
    visit_a_page,
    visiting,
    writing,
)
from mcpsim.transports.twists import MakeTwist

CALL: Final = "tools/call"
COMPLETE: Final = "notifications/elicitation/complete"
ELICIT: Final = "elicitation/create"
LOOK_UP: Final[Json] = {"name": "look_up", "inputSchema": {"type": "object"}}


def tooled(era: Any) -> Client:
    """A client with a model that may use tools, and see what other servers say."""
    return Client(era=era, sample=lambda asked: "Hello.", sampling_tools=True, sampling_context=True)


async def look_at_the_tools(client: Client) -> Any:
    """List the tools."""
    return await client.list_tools()


async def two_visits(client: Client) -> list[Any]:
    """Send the user to a page twice."""
    return [await client.call_tool("open_account"), await client.call_tool("open_account")]


async def choose_with(client: Client, seat: Any, more: Mapping[str, Any]) -> Any:
    """Ask for a seat and answer by hand."""
    call: Json = {"name": "choose_seat", "arguments": {"train": "IC 31"}}
    first = await client.request(CALL, call)
    answers = {"seat": {"action": "accept", "content": {"seat": seat, "bags": 1}}, **more}
    return await client.request(
        CALL, {**call, "inputResponses": answers, "requestState": first["requestState"]}
    )


async def an_answer_too_many(client: Client) -> Any:
    """Answer what was asked, and something else."""
    return await choose_with(client, "aisle", {"meal": {"action": "accept", "content": {"meal": "soup"}}})


async def an_answer_that_does_not_fit(client: Client) -> Any:
    """Choose a seat that there is not."""
    return await choose_with(client, "roof", {})


async def a_good_answer(client: Client) -> Any:
    """Choose a seat that there is."""
    return await choose_with(client, "aisle", {})


async def the_same_state_twice(client: Client) -> list[Any]:
    """Send one request state twice."""
    call: Json = {"name": "count_rounds", "arguments": {"rounds": 1}}
    first = await client.request(CALL, call)
    again = {**call, "requestState": first["requestState"]}
    return [await client.request(CALL, again), await client.request(CALL, again)]


async def each_state_once(client: Client) -> list[Any]:
    """Send each request state once."""
    call: Json = {"name": "count_rounds", "arguments": {"rounds": 1}}
    seen: list[Any] = []
    for _ in range(2):
        first = await client.request(CALL, call)
        seen.append(await client.request(CALL, {**call, "requestState": first["requestState"]}))
    return seen


# --- What they do wrong ------------------------------------------------------------------------------


def input_required(edit: Edit) -> MakeTwist:
    """Change the results that ask for input."""

    def only_asking(result: Json) -> Json | None:
        return edit(result) if result.get("resultType") == "input_required" else None

    return change_result(CALL, only_asking)


def in_question(edit: Edit) -> MakeTwist:
    """Change the params of each input request."""

    def each(result: Json) -> None:
        for one in result.get("inputRequests", {}).values():
            edit(one["params"])

    return input_required(each)


def _with(**members: Any) -> Edit:
    return lambda params: params.update(members)


def _without(*names: str) -> Edit:
    def leave_out(members: Json) -> None:
        for name in names:
            members.pop(name, None)

    return leave_out


def _with_fields(fields: Json, *required: str) -> Edit:
    def more(params: Json) -> None:
        schema = params["requestedSchema"]
        schema["properties"].update(fields)
        schema["required"] = [*schema["required"], *required]

    return more


def _come_back(result: Json) -> Json:
    return {**result, "resultType": "input_required", "requestState": "later"}


def _as_a_visit(params: Json) -> None:
    params.clear()
    params.update(mode="url", message="Sign in to go on.", url="https://travel.example/sign-in")


def _another_kind(result: Json) -> None:
    for one in result["inputRequests"].values():
        one["method"] = "ping"


def _ask_all_the_same(message: Json) -> Json:
    asked: Json = {
        "resultType": "input_required",
        "inputRequests": {"folders": {"method": "roots/list"}},
        "requestState": "later",
    }
    return {"jsonrpc": "2.0", "id": message["id"], "result": asked}


def _two_of_one_name(data: bytes) -> bytes:
    return data.replace(b'"day":{"method"', b'"seat":{"method"')


def _error(code: int, text: str, data: Any = None) -> Callable[[Json], Json]:
    def make(message: Json) -> Json:
        error: Json = {"code": code, "message": text}
        if data is not None:
            error["data"] = data
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}

    return make


def _go_on(message: Json) -> Json:
    result: Json = {"resultType": "complete", "content": [{"type": "text", "text": "IC 31: reserved"}]}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _show_token(message: Json) -> Json:
    result: Json = {
        "resultType": "complete",
        "content": [{"type": "text", "text": "access_token: 7c1f09ab33d2"}],
    }
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def on_retry(make: Callable[[Json], Json]) -> MakeTwist:
    """Another answer to a call that brings answers itself."""

    def change(letter: Letter) -> Any:
        if "inputResponses" not in letter.request.get("params", {}):
            return None
        return letter.out.with_message(make(letter.message))

    return on_message(change, "result", "error", method=CALL)


def _complete(id: str) -> Json:
    return {"jsonrpc": "2.0", "method": COMPLETE, "params": {"elicitationId": id}}


_PAGE: Final[Json] = {
    "mode": "url",
    "message": "Sign in to go on.",
    "url": "https://travel.example/sign-in",
    "elicitationId": "visit-1",
}
_NAMED: Final = change_params(ELICIT, _with(elicitationId="visit-1"))


def _in_order(*messages: Json) -> Edit:
    return _with(messages=list(messages), tools=[LOOK_UP])


def _said(role: str, *content: Json) -> Json:
    return {"role": role, "content": list(content)}


_TEXT: Final[Json] = {"type": "text", "text": "What is the river called?"}
_USE: Final[Json] = {"type": "tool_use", "id": "use-1", "name": "look_up", "input": {}}
_RESULT: Final[Json] = {"type": "tool_result", "toolUseId": "use-1", "content": []}


def _server(
    name: str, rule: str, sentence: str, story: Any, clients: Any, twist: MakeTwist | None, **more: Any
) -> Misbehaviour:
    more = {"server": travel_desk, "era": "modern", "way": "stdio", **more}
    return Misbehaviour(name, "server", rule, sentence, story, clients=clients, twist=twist, **more)


def _asking(name: str, rule: str, sentence: str, edit: Edit) -> Misbehaviour:
    """A server that asks for a seat, wrongly."""
    return _server(name, rule, sentence, one_question, obliging, in_question(edit))


def _sending(name: str, rule: str, sentence: str, edit: Edit) -> Misbehaviour:
    """A server that sends its user to a page, wrongly."""
    return _server(name, rule, sentence, visit_a_page, visiting, in_question(edit))


def _sampling(name: str, rule: str, sentence: str, clients: Any, edit: Edit) -> Misbehaviour:
    """A server that asks the client's model, wrongly."""
    return _server(name, rule, sentence, ask_the_model, clients, in_question(edit))


def _by_url(name: str, rule: str, sentence: str, twist: MakeTwist, story: Any = visit_a_page) -> Misbehaviour:
    """A legacy server that sends its user to a page, and misbehaves around that."""
    return _server(name, rule, sentence, story, visiting, twist, era="legacy")


QUESTIONING: Final[tuple[Misbehaviour, ...]] = (
    _server(
        "server-asks-where-it-may-not",
        "mrtr-only-where-allowed",
        "The server answers tools/list by input_required.",
        look_at_the_tools,
        None,
        change_result("tools/list", _come_back),
    ),
    _server(
        "server-asks-for-nothing",
        "mrtr-input-required-brings-something",
        "The server wants the client to come back, and gives neither a question nor a state.",
        state_without_a_question,
        None,
        input_required(_without("inputRequests", "requestState")),
    ),
    _server(
        "server-asks-with-another-method",
        "mrtr-input-request-kinds",
        "The server puts a ping among its input requests.",
        one_question,
        obliging,
        input_required(_another_kind),
    ),
    _server(
        "server-gives-two-questions-one-key",
        "mrtr-keys-are-unique",
        "The server asks two things under the same key.",
        two_questions_at_once,
        obliging,
        raw_bytes(CALL, _two_of_one_name),
        way="http",
    ),
    _server(
        "server-asks-undeclared",
        "mrtr-asks-only-what-is-declared",
        "The server asks for roots, and the client has declared nothing.",
        nobody_to_ask,
        None,
        change_answer(CALL, _ask_all_the_same),
    ),
    _server(
        "server-does-not-seal-its-state",
        "mrtr-state-readable",
        "The server puts its state into the result as plain JSON.",
        one_question,
        obliging,
        input_required(_with(requestState='{"train": "IC 31", "paid": false}')),
    ),
    _server(
        "server-takes-a-state-twice",
        "mrtr-state-replayed",
        "The server goes on twice with the same request state.",
        the_same_state_twice,
        None,
        None,
        good_story=each_state_once,
    ),
    _server(
        "server-refuses-an-answer-too-many",
        "mrtr-unknown-answers-ignored",
        "The server refuses a retry because of an answer that it does not know.",
        an_answer_too_many,
        obliging,
        on_retry(_error(-32602, "There is no question for the answer meal.")),
    ),
    _server(
        "server-asks-in-an-undeclared-mode",
        "elicitation-mode-is-declared",
        "The server sends to a page a user whose client can only show forms.",
        one_question,
        obliging,
        in_question(_as_a_visit),
    ),
    _server(
        "server-fails-when-the-user-declines",
        "elicitation-refusal-is-handled",
        "The server counts on a yes, and fails at a no.",
        user_declines,
        declining,
        on_retry(_error(-32603, "Internal error")),
    ),
    _asking(
        "server-asks-without-a-message",
        "elicitation-has-its-params",
        "The server asks, and does not say why.",
        _without("message"),
    ),
    _asking(
        "server-nests-its-form",
        "elicitation-form-is-flat",
        "The server asks for an object inside of the form.",
        _with_fields({"guest": {"type": "object", "properties": {"name": {"type": "string"}}}}),
    ),
    _asking(
        "server-requires-a-field-that-is-not-there",
        "elicitation-form-makes-sense",
        "The server requires a field that its form does not have.",
        _with_fields({}, "meal"),
    ),
    _asking(
        "server-asks-for-a-password",
        "elicitation-form-asks-no-secrets",
        "The server asks for a password in a form, and the client sees it.",
        _with_fields({"password": {"type": "string"}}),
    ),
    _asking(
        "server-puts-a-link-into-a-form",
        "elicitation-form-has-no-links",
        "The server sends its user to a page by the text of a form.",
        _with(message="Please open https://travel.example/seats and say which seat you want."),
    ),
    _server(
        "server-does-not-check-the-form",
        "elicitation-answer-is-checked",
        "The server goes on with an answer that its form does not allow.",
        an_answer_that_does_not_fit,
        obliging,
        on_retry(_go_on),
        good_story=a_good_answer,
    ),
    _sending(
        "server-sends-to-no-address",
        "elicitation-url-is-valid",
        "The server sends its user to something that is no URL.",
        _with(url="travel.example/sign-in"),
    ),
    _sending(
        "server-sends-to-an-open-page",
        "elicitation-url-is-https",
        "The server sends its user to a page without TLS.",
        _with(url="http://travel.example/sign-in"),
    ),
    _sending(
        "server-puts-a-password-into-the-url",
        "elicitation-url-tells-no-secret",
        "The server sends a URL that lets anybody in.",
        _with(url="https://ann:opensesame@travel.example/account"),
    ),
    _server(
        "server-hands-the-token-on",
        "elicitation-url-credentials-stay",
        "The server shows the client what the user got at the page.",
        visit_a_page,
        visiting,
        on_retry(_show_token),
    ),
    _by_url(
        "server-requires-a-visit-and-names-none",
        "elicitation-error-lists-elicitations",
        "The server answers with -32042, and does not say which page.",
        change_answer(CALL, _error(-32042, "Sign in first.")),
    ),
    _by_url(
        "server-requires-a-visit-by-another-code",
        "elicitation-error-has-its-code",
        "The server lists a page to visit in an error with another code.",
        change_answer(CALL, _error(-32603, "Sign in first.", {"elicitations": [_PAGE]})),
    ),
    _server(
        "server-requires-a-visit-undeclared",
        "elicitation-error-to-a-client-with-url-mode",
        "The server answers with -32042 a client that can only show forms.",
        one_question,
        obliging,
        change_answer(CALL, _error(-32042, "Sign in first.", {"elicitations": [_PAGE]})),
        era="legacy",
    ),
    _by_url(
        "server-ends-an-unknown-visit",
        "elicitation-complete-is-of-a-known-id",
        "The server tells of the end of a visit that there never was.",
        add_before(CALL, lambda letter: _complete("visit-9")),
    ),
    _by_url(
        "server-ends-a-visit-twice",
        "elicitation-completes-once",
        "The server tells twice that a visit is over.",
        one_after_the_other(
            _NAMED,
            add_before(CALL, lambda letter: _complete("visit-1")),
            add_before(CALL, lambda letter: _complete("visit-1")),
        ),
    ),
    _by_url(
        "server-gives-two-visits-one-id",
        "elicitation-ids-are-unique",
        "The server sends its user to two pages under one id.",
        one_after_the_other(
            _NAMED, on_nth(2, change_params(ELICIT, _with(url="https://travel.example/payment")))
        ),
        story=two_visits,
    ),
    _sampling(
        "server-brings-tools-undeclared",
        "sampling-tools-are-declared",
        "The server brings tools for a model that cannot use any.",
        writing,
        _with(tools=[LOOK_UP]),
    ),
    _sampling(
        "server-asks-for-context-undeclared",
        "sampling-context-is-declared",
        "The server wants the model to know other servers, and the client has not declared that.",
        writing,
        _with(includeContext="allServers"),
    ),
    _sampling(
        "server-asks-for-context",
        "sampling-context-is-avoided",
        "The server still uses includeContext.",
        tooled,
        _with(includeContext="thisServer"),
    ),
    _sampling(
        "server-sends-a-system-message",
        "sampling-message-has-role-and-content",
        "The server puts a message of the system among the messages.",
        writing,
        _with(messages=[_said("system", _TEXT)]),
    ),
    _sampling(
        "server-wants-it-three-times-as-cheap",
        "sampling-priorities-go-from-0-to-1",
        "The server gives a priority of 3.",
        writing,
        _with(modelPreferences={"costPriority": 3}),
    ),
    _sampling(
        "server-mixes-results-with-text",
        "sampling-tool-results-stand-alone",
        "The server puts a text beside the results of tools.",
        tooled,
        _in_order(_said("user", _TEXT), _said("assistant", _USE), _said("user", _RESULT, _TEXT)),
    ),
    _sampling(
        "server-forgets-a-tool-result",
        "sampling-tool-uses-are-answered",
        "The server goes on after a tool use without its result.",
        tooled,
        _in_order(_said("user", _TEXT), _said("assistant", _USE), _said("user", _TEXT)),
    ),
)
