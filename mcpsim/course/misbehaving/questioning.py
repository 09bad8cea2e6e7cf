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
    change_answer,
    change_result,
    on_message,
    raw_bytes,
)
from mcpsim.course.servers import travel_desk
from mcpsim.course.stories.asking import (
    declining,
    nobody_to_ask,
    obliging,
    one_question,
    rooted,
    state_without_a_question,
    two_questions_at_once,
    user_declines,
)
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS
from mcpsim.server import Context, Server
from mcpsim.transports.twists import MakeTwist

CALL: Final = "tools/call"


async def look_at_the_tools(client: Client) -> Any:
    """List the tools."""
    return await client.list_tools()


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


def kim_and_lee(era: Any) -> dict[str, Client]:
    """Two clients of two users."""
    return {name: Client(name, era=era, principal=name) for name in ("kim", "lee")}


async def lee_brings_the_state_of_kim(kim: Client, lee: Client) -> Any:
    """One user begins a call, and another one goes on with it."""
    return await begin_and_go_on(kim, lee)


async def kim_brings_the_state_of_kim(kim: Client, lee: Client) -> Any:
    """One user begins a call and goes on with it."""
    return await begin_and_go_on(kim, kim)


async def begin_and_go_on(one: Client, other: Client) -> Any:
    """Send a call that has no questions, and its retry."""
    call: Json = {"name": "count_rounds", "arguments": {"rounds": 1}}
    first = await one.request(CALL, call)
    return await other.request(CALL, {**call, "requestState": first["requestState"]})


def document_desk(place: str) -> Server:
    """A server that asks for roots, and lists a document in a folder."""
    desk = Server("document-desk")

    @desk.tool()
    async def look_around(context: Context) -> str:
        """Ask where the client's folders are."""
        found = await context.list_roots(key="folders")
        return f"{len(found.roots)} folders"

    @desk.resource(f"file://{place}/plan.txt", mime_type="text/plain")
    def plan() -> str:
        """The plan of a journey."""
        return "Lyon, Pau, Pisa"

    return desk


def desk_outside() -> Server:
    """Its document is in none of the client's roots."""
    return document_desk("/home/kim")


def desk_inside() -> Server:
    """Its document is in a root of the client."""
    return document_desk("/home/user/travel")


async def look_and_list(client: Client) -> Any:
    """Let the server ask for roots, and list its resources."""
    await client.call_tool("look_around")
    return await client.list_resources()


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


def members_with(**members: Any) -> Edit:
    """Set these members."""
    return lambda params: params.update(members)


def members_without(*names: str) -> Edit:
    """Leave these members out."""

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


def error_instead(code: int, text: str, data: Any = None) -> Callable[[Json], Json]:
    """An error in the place of whatever the answer is."""

    def make(message: Json) -> Json:
        error: Json = {"code": code, "message": text}
        if data is not None:
            error["data"] = data
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}

    return make


def _go_on(message: Json) -> Json:
    result: Json = {"resultType": "complete", "content": [{"type": "text", "text": "IC 31: reserved"}]}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _if_refused(message: Json) -> Json:
    return _go_on(message) if "error" in message else message


def on_retry(make: Callable[[Json], Json]) -> MakeTwist:
    """Another answer to a call that brings answers itself."""

    def change(letter: Letter) -> Any:
        if "inputResponses" not in letter.request.get("params", {}):
            return None
        return letter.out.with_message(make(letter.message))

    return on_message(change, "result", "error", method=CALL)


def asking_server(
    name: str, rule: str, sentence: str, story: Any, clients: Any, twist: MakeTwist | None, **more: Any
) -> Misbehaviour:
    """A server that misbehaves, the travel desk unless `more` says another."""
    more = {"server": travel_desk, "era": "modern", "way": "stdio", **more}
    return Misbehaviour(name, "server", rule, sentence, story, clients=clients, twist=twist, **more)


def _asking(name: str, rule: str, sentence: str, edit: Edit) -> Misbehaviour:
    """A server that asks for a seat, wrongly."""
    return asking_server(name, rule, sentence, one_question, obliging, in_question(edit))


QUESTIONING: Final[tuple[Misbehaviour, ...]] = (
    asking_server(
        "server-asks-where-it-may-not",
        "mrtr-only-where-allowed",
        "The server answers tools/list by input_required.",
        look_at_the_tools,
        None,
        change_result("tools/list", _come_back),
    ),
    asking_server(
        "server-asks-for-nothing",
        "mrtr-input-required-brings-something",
        "The server wants the client to come back, and gives neither a question nor a state.",
        state_without_a_question,
        None,
        input_required(members_without("inputRequests", "requestState")),
    ),
    asking_server(
        "server-asks-with-another-method",
        "mrtr-input-request-kinds",
        "The server puts a ping among its input requests.",
        one_question,
        obliging,
        input_required(_another_kind),
    ),
    asking_server(
        "server-gives-two-questions-one-key",
        "mrtr-keys-are-unique",
        "The server asks two things under the same key.",
        two_questions_at_once,
        obliging,
        raw_bytes(CALL, _two_of_one_name),
        way="http",
    ),
    asking_server(
        "server-asks-undeclared",
        "mrtr-asks-only-what-is-declared",
        "The server asks for roots, and the client has declared nothing.",
        nobody_to_ask,
        None,
        change_answer(CALL, _ask_all_the_same),
    ),
    asking_server(
        "server-does-not-seal-its-state",
        "mrtr-state-readable",
        "The server puts its state into the result as plain JSON.",
        one_question,
        obliging,
        input_required(members_with(requestState='{"train": "IC 31", "paid": false}')),
    ),
    asking_server(
        "server-takes-a-state-twice",
        "mrtr-state-replayed",
        "The server goes on twice with the same request state.",
        the_same_state_twice,
        None,
        None,
        good_story=each_state_once,
    ),
    asking_server(
        "server-takes-a-state-from-anybody",
        "mrtr-state-bound-to-principal",
        "The server goes on for one user with the state that it gave to another.",
        lee_brings_the_state_of_kim,
        kim_and_lee,
        change_answer(CALL, _if_refused),
        good_story=kim_brings_the_state_of_kim,
        way="http",
    ),
    asking_server(
        "server-looks-outside-of-the-roots",
        "roots-are-respected",
        "The server works with a file that is in none of the client's roots.",
        look_and_list,
        rooted,
        None,
        server=desk_outside,
        good_server=desk_inside,
    ),
    asking_server(
        "server-refuses-an-answer-too-many",
        "mrtr-unknown-answers-ignored",
        "The server refuses a retry because of an answer that it does not know.",
        an_answer_too_many,
        obliging,
        on_retry(error_instead(INVALID_PARAMS, "There is no question for the answer meal.")),
    ),
    asking_server(
        "server-asks-in-an-undeclared-mode",
        "elicitation-mode-is-declared",
        "The server sends the user to a page, and the client has declared forms only.",
        one_question,
        obliging,
        in_question(_as_a_visit),
    ),
    asking_server(
        "server-fails-when-the-user-declines",
        "elicitation-refusal-is-handled",
        "The server fails with an internal error when the user declines.",
        user_declines,
        declining,
        on_retry(error_instead(INTERNAL_ERROR, "Internal error")),
    ),
    _asking(
        "server-asks-without-a-message",
        "elicitation-has-its-params",
        "The server asks by a form without a message that says what for.",
        members_without("message"),
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
        members_with(message="Please open https://travel.example/seats and say which seat you want."),
    ),
    asking_server(
        "server-does-not-check-the-form",
        "elicitation-answer-is-checked",
        "The server goes on with an answer that its form does not allow.",
        an_answer_that_does_not_fit,
        obliging,
        on_retry(_go_on),
        good_story=a_good_answer,
    ),
)
