"""Peers that take a fault of the other side in the wrong way: here both misbehave.

Who is asked what must not be asked, or gets what it must not take, has to refuse it. These do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.answering import ELICIT, LOOK_UP, SAMPLE, tooled, word_desk
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Json,
    add_before,
    change_answer,
    change_error,
    change_params,
    change_result,
    response_status,
    set_in_result,
)
from mcpsim.course.misbehaving.in_a_row import Story, answered, text
from mcpsim.course.misbehaving.lifecycle_parts import modern, plain, with_code
from mcpsim.course.misbehaving.questioning import (
    CALL,
    error_instead,
    in_question,
    on_retry,
)
from mcpsim.course.misbehaving.retrying import DAY, SEAT, plan
from mcpsim.course.servers import archive, help_desk, notice_board, travel_desk
from mcpsim.course.stories.asking import ask_the_model, obliging, one_question, writing
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS, McpSimError
from mcpsim.messages import CLIENT_CAPABILITIES, Response
from mcpsim.messages.meta import LOG_LEVEL
from mcpsim.server import Server
from mcpsim.transports.twists import MakeTwist

RESOURCES: Final = "resources/list"
TICKET: Final[Json] = {"name": "find_ticket", "arguments": {"number": "T-1001"}}
_WRITTEN: Final[Json] = {
    "role": "assistant",
    "model": "model-1",
    "content": {"type": "text", "text": "Rivers run."},
}
SEAT_IN_A_TRAIN: Final[Json] = {"name": "choose_seat", "arguments": {"train": "IC 31"}}


# --- Stories: the client asks for what must be refused -------------------------------------------------


def find_a_ticket(**meta: Any) -> Story:
    """A story that asks what the server can do, and calls a tool with other metadata than usual."""

    async def story(client: Client) -> None:
        await client.discover()
        with suppress(McpSimError):
            await client.request(CALL, TICKET, meta=meta, timeout_s=5)

    return story


def set_level(level: str) -> Story:
    """A story that sets the level of the log messages of a session."""

    async def story(client: Client) -> None:
        with suppress(McpSimError):
            await client.request("logging/setLevel", {"level": level})

    return story


def choose_with(answers: Mapping[str, Any]) -> Story:
    """A story that asks for a seat, and brings these answers."""

    async def story(client: Client) -> None:
        first = await client.request(CALL, SEAT_IN_A_TRAIN)
        more = {"inputResponses": answers, "requestState": first["requestState"]}
        with suppress(McpSimError):
            await client.request(CALL, {**SEAT_IN_A_TRAIN, **more})

    return story


def plan_with(answers: Json) -> Story:
    """A story that plans a trip, and brings these answers."""

    async def story(client: Client) -> None:
        with suppress(McpSimError):
            await plan(client, answers)

    return story


def go_on_with(edit: Callable[[str], str], tool: str = "count_rounds", **arguments: Any) -> Story:
    """A story that begins a call without questions, and goes on with the state as `edit` makes it."""

    async def story(client: Client) -> None:
        asked = await client.request(CALL, {"name": "count_rounds", "arguments": {"rounds": 1}})
        more = {"requestState": edit(asked["requestState"])}
        with suppress(McpSimError):
            await client.request(CALL, {"name": tool, "arguments": arguments, **more})

    return story


def _as_it_is(state: str) -> str:
    return state


def _another(state: str) -> str:
    return state[:-1] + ("A" if state[-1] != "A" else "B")


# --- Stories: the client goes on with what it must not take --------------------------------------------


async def two_pages(client: Client) -> None:
    """List the resources, and go on with the cursor, whatever kind of result it came in."""
    first = await client.send_raw(modern("page-1", RESOURCES))
    if isinstance(first.answer, Response):
        await client.send_raw(modern("page-2", RESOURCES, cursor=first.answer.result["nextCursor"]))


async def write_by_hand(client: Client) -> None:
    """Let the model write, and bring what it wrote."""
    call: Json = {"name": "write", "arguments": {"choice": "auto"}}
    first = await client.request(CALL, call)
    (key,) = first["inputRequests"]
    retry: Json = {**call, "inputResponses": {key: _WRITTEN}}
    if "requestState" in first:
        retry["requestState"] = first["requestState"]
    await client.request(CALL, retry)


def _without_its_type(result: Json) -> None:
    if result["resultType"] == "input_required":
        del result["resultType"]


def _tools_in_sampling(params: Json) -> None:
    params["tools"] = [LOOK_UP]


def _a_result_of_nothing(params: Json) -> None:
    used: Json = {"type": "tool_result", "toolUseId": "use-1", "content": []}
    params["messages"].append({"role": "user", "content": [used]})


def _as_a_visit(params: Json) -> None:
    params.clear()
    params.update(mode="url", message="Sign in to go on.", elicitationId="visit-1")
    params["url"] = "https://travel.example/sign-in"


# --- What they make of it --------------------------------------------------------------------------------


def instead(**result: Any) -> Callable[[Json], Json]:
    """This result in the place of whatever the answer is."""
    return lambda message: {"jsonrpc": "2.0", "id": message["id"], "result": result}


_FOUND: Final = answered(CALL, **text("The printer on floor 2 prints blank pages."))
_RESERVED: Final = instead(resultType="complete", **text("IC 31: reserved"))
_COUNTED: Final = change_answer(CALL, lambda message: _RESERVED(message) if "error" in message else message)
_ASK_FOR_ROOTS: Final = add_before(CALL, lambda letter: plain("folders", "roots/list"))


def _server(
    name: str,
    rule: str,
    sentence: str,
    story: Story,
    good_story: Story,
    twist: MakeTwist,
    server: Callable[[], Server],
    **more: Any,
) -> Misbehaviour:
    """A server that takes what a story sends, and must not."""
    more = {"era": "modern", "way": "stdio", **more}
    return Misbehaviour(
        name, "server", rule, sentence, story, server, twist=twist, good_story=good_story, **more
    )


def _client(
    name: str,
    rule: str,
    sentence: str,
    story: Story,
    provocation: MakeTwist,
    twist: MakeTwist | None,
    era: ClientEra = "legacy",
    **more: Any,
) -> Misbehaviour:
    """A client that takes what the travel desk sends, or another server that `more` says, and must not."""
    more = {"server": travel_desk, "way": "stdio", **more}
    return Misbehaviour(
        name, "client", rule, sentence, story, era=era, provocation=provocation, twist=twist, **more
    )


_SERVERS: Final = (
    _server(
        "server-serves-without-capabilities",
        "incomplete-request-is-refused",
        "The server answers a request that does not say what the client can do.",
        find_a_ticket(**{CLIENT_CAPABILITIES: None}),
        find_a_ticket(),
        _FOUND,
        help_desk,
    ),
    _server(
        "server-refuses-with-200-what-is-incomplete",
        "incomplete-request-is-refused-with-400",
        "The server refuses a request that does not say what the client can do, and the HTTP status is 200.",
        find_a_ticket(**{CLIENT_CAPABILITIES: None}),
        find_a_ticket(),
        response_status(200, CALL, "error"),
        help_desk,
        way="http",
    ),
    _server(
        "server-takes-any-level",
        "log-level-is-checked",
        "The server answers a request that asks for a log level that there is not.",
        find_a_ticket(**{LOG_LEVEL: "loud"}),
        find_a_ticket(**{LOG_LEVEL: "info"}),
        _FOUND,
        help_desk,
    ),
    _server(
        "server-sets-any-level",
        "log-level-is-checked-legacy",
        "The server sets a log level that there is not.",
        set_level("loud"),
        set_level("info"),
        change_answer("logging/setLevel", instead()),
        notice_board,
        era="legacy",
    ),
    _server(
        "server-gives-up-when-an-answer-is-missing",
        "mrtr-asks-again",
        "The server gets one of two answers, and fails, although it could ask again.",
        plan_with({"day": DAY}),
        plan_with({"day": DAY, "seat": SEAT}),
        on_retry(error_instead(INVALID_PARAMS, "The answer seat is missing.")),
        travel_desk,
        clients=obliging,
    ),
    _server(
        "server-reads-nothing-out-of-an-answer",
        "mrtr-invalid-answers-refused",
        "The server asks for a form, gets a list of roots, and goes on.",
        choose_with({"seat": {"roots": []}}),
        choose_with({"seat": SEAT}),
        on_retry(_RESERVED),
        travel_desk,
        clients=obliging,
    ),
    _server(
        "server-takes-a-changed-state",
        "mrtr-changed-state-refused",
        "The server goes on with a request state that the client has changed.",
        go_on_with(_another, rounds=1),
        go_on_with(_as_it_is, rounds=1),
        _COUNTED,
        travel_desk,
    ),
    _server(
        "server-takes-a-state-for-another-tool",
        "mrtr-state-bound-to-request",
        "The server goes on with the request state that it gave for another tool.",
        go_on_with(_as_it_is, "choose_seat", train="IC 31"),
        go_on_with(_as_it_is, rounds=1),
        _COUNTED,
        travel_desk,
    ),
)

_CLIENTS: Final = (
    _client(
        "client-answers-in-an-undeclared-mode",
        "elicitation-undeclared-mode-refused",
        "The client can only show forms, is asked to open a page, and says that the user declined.",
        one_question,
        change_params(ELICIT, _as_a_visit),
        change_answer(ELICIT, instead(action="decline")),
        clients=obliging,
    ),
    _client(
        "client-refuses-roots-in-its-own-words",
        "roots-unsupported-is-method-not-found",
        "The client has no roots, is asked for them, and refuses as if it had failed.",
        one_question,
        _ASK_FOR_ROOTS,
        change_error("roots/list", with_code(INTERNAL_ERROR)),
        clients=obliging,
    ),
    _client(
        "client-samples-with-undeclared-tools",
        "sampling-tools-served-are-declared",
        "The client has not declared tools in sampling, and samples with them.",
        ask_the_model,
        change_params(SAMPLE, _tools_in_sampling),
        change_answer(
            SAMPLE,
            instead(**_WRITTEN),
        ),
        clients=writing,
    ),
    _client(
        "client-does-not-read-before-it-samples",
        "sampling-messages-are-checked",
        "The client lets its model go on from the result of a tool that nobody has used.",
        write_by_hand,
        in_question(_a_result_of_nothing),
        None,
        era="modern",
        server=word_desk,
        clients=tooled,
    ),
    _client(
        "client-goes-on-from-what-it-does-not-know",
        "unknown-resulttype-is-not-used",
        "The client goes on from a page whose kind of result it does not know.",
        two_pages,
        set_in_result(RESOURCES, "resultType", to="partial"),
        None,
        era="modern",
        server=archive,
    ),
    _client(
        "client-answers-a-complete-result",
        "absent-resulttype-means-complete",
        "The client answers the questions of a result that counts as complete.",
        choose_with({"seat": SEAT}),
        change_result(CALL, _without_its_type),
        None,
        era="modern",
        clients=obliging,
    ),
)

PROVOKED: Final[tuple[Misbehaviour, ...]] = (*_SERVERS, *_CLIENTS)
