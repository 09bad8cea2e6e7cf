"""Clients that misbehave in what they answer, and in what they bring back."""

from __future__ import annotations

from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Edit,
    Json,
    change_answer,
    change_params,
    dropped,
    set_in_params,
)
from mcpsim.course.misbehaving.lifecycle_parts import modern
from mcpsim.course.servers import travel_desk
from mcpsim.course.stories.asking import (
    ask_for_folders,
    ask_the_model,
    declining,
    obliging,
    one_question,
    rooted,
    state_without_a_question,
    user_declines,
    writing,
)
from mcpsim.errors import INTERNAL_ERROR
from mcpsim.messages import Response
from mcpsim.messages.meta import CLIENT_CAPABILITIES
from mcpsim.server import Context, Server
from mcpsim.transports.twists import MakeTwist

CALL: Final = "tools/call"
SAMPLE: Final = "sampling/createMessage"
DAY: Final[Json] = {"action": "accept", "content": {"day": "2026-09-01"}}
SEAT: Final[Json] = {"action": "accept", "content": {"seat": "aisle", "bags": 1}}
LOOK_UP: Final[Json] = {"name": "look_up", "inputSchema": {"type": "object"}}


def word_desk() -> Server:
    """A server that lets the client's model write, with a tool that it must not, or need not, use."""
    desk = Server("word-desk")

    @desk.tool()
    async def write(context: Context, choice: str = "auto") -> str:
        """Let the model write a line."""
        tools: Json = {"tools": [LOOK_UP], "toolChoice": {"mode": choice}}
        written = await context.sample("Write a line about rivers.", max_tokens=20, key="line", **tools)
        return "Thank you" if written.model else ""

    return desk


def tooled(era: Any) -> Client:
    """A client with a model that may use tools."""
    return Client(era=era, sample=lambda asked: "Rivers run.", sampling_tools=True)


async def write_without_tools(client: Client) -> Any:
    """Let the model write where it must not use a tool."""
    return await client.call_tool("write", {"choice": "none"})


async def write_as_you_like(client: Client) -> Any:
    """Let the model write where it may use a tool."""
    return await client.call_tool("write", {"choice": "auto"})


async def plan(client: Client, *rounds: Json) -> Any:
    """Plan a trip by hand: the day and the seat are asked for at the same time."""
    call: Json = {"name": "plan_trip", "arguments": {"city": "Pau"}}
    result = await client.request(CALL, call)
    for answers in rounds:
        retry: Json = {**call, "inputResponses": answers, "requestState": result["requestState"]}
        result = await client.request(CALL, retry)
    return result


async def one_answer_after_the_other(client: Client) -> Any:
    """Answer one of two questions, and then the other."""
    return await plan(client, {"day": DAY}, {"seat": SEAT})


async def both_answers_at_once(client: Client) -> Any:
    """Answer both questions."""
    return await plan(client, {"day": DAY, "seat": SEAT})


async def ask_for_a_seat(client: Client) -> Json:
    """Ask for a seat, by hand."""
    return await client.request(CALL, {"name": "choose_seat", "arguments": {"train": "IC 31"}})


async def state_for_another_tool(client: Client) -> Any:
    """Send the state of one tool with the call of another."""
    asked = await ask_for_a_seat(client)
    other: Json = {"name": "count_rounds", "arguments": {"rounds": 1}}
    return await client.request(CALL, {**other, "requestState": asked["requestState"]})


async def answers_for_another_tool(client: Client) -> Any:
    """Send the answers to one tool's questions with the call of another."""
    await ask_for_a_seat(client)
    other: Json = {"name": "count_rounds", "arguments": {"rounds": 1}}
    return await client.request(CALL, {**other, "inputResponses": {"seat": SEAT}})


async def answers_for_the_same_tool(client: Client) -> Any:
    """Send the answers to the tool that asked."""
    asked = await ask_for_a_seat(client)
    call: Json = {"name": "choose_seat", "arguments": {"train": "IC 31"}}
    return await client.request(
        CALL, {**call, "inputResponses": {"seat": SEAT}, "requestState": asked["requestState"]}
    )


def count_by_hand(*ids: str) -> Any:
    """A story that sends a call that has no questions, and its retry, with these ids."""

    async def send_by_hand(client: Client) -> None:
        call: Json = {"name": "count_rounds", "arguments": {"rounds": 1}}
        for id in ids:
            reply = await client.send_raw(modern(id, CALL, **call))
            answer = reply.answer
            if isinstance(answer, Response):
                call["requestState"] = answer.result.get("requestState", "")

    return send_by_hand


async def folders_before_and_after(client: Client) -> None:
    """Look at the folders, change them, look again, and do something else."""
    await client.call_tool("pack_documents")
    await client.set_roots(["file:///home/user/work"])
    await client.call_tool("pack_documents")
    for _ in range(3):
        await client.ping()


# --- What they do wrong ------------------------------------------------------------------------------


def in_retry(edit: Edit) -> MakeTwist:
    """Change the params of calls that bring answers or a state."""

    def only_retries(params: Json) -> Json | None:
        return edit(params) if params.keys() & {"inputResponses", "requestState"} else None

    return change_params(CALL, only_retries)


def in_answers(edit: Edit) -> MakeTwist:
    """Change each answer that a retry brings."""

    def each(params: Json) -> None:
        answers = params.get("inputResponses", {})
        for key in list(answers):
            edited = edit(answers[key])
            answers[key] = answers[key] if edited is None else edited

    return in_retry(each)


def _with(**members: Any) -> Edit:
    return lambda held: held.update(members)


def _instead(answer: Json) -> Edit:
    return lambda held: dict(answer)


def _without_state(params: Json) -> None:
    del params["requestState"]


def _with_another_state(params: Json) -> None:
    state = params["requestState"]
    params["requestState"] = state[:-1] + ("A" if state[-1] != "A" else "B")


def _with_more_answers(params: Json) -> None:
    params["inputResponses"]["weather"] = {"action": "accept", "content": {}}


def _without_capabilities(params: Json) -> None:
    params["_meta"][CLIENT_CAPABILITIES] = {}


def _refused(message: Json) -> Json:
    error: Json = {"code": INTERNAL_ERROR, "message": "The user rejected the request"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def _roots(*uris: str) -> Edit:
    return _instead({"roots": [{"uri": uri} for uri in uris]})


_USE: Final[Json] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "use-1", "name": "look_up", "input": {}}],
    "model": "model-1",
    "stopReason": "toolUse",
}
_STRANGE_USE: Final[Json] = {
    **_USE,
    "content": [{"type": "tool_use", "id": "use-1", "name": "look_down", "input": {}}],
}
_LONG: Final[Json] = {"type": "text", "text": "river " * 600}


def _client(
    name: str, rule: str, sentence: str, story: Any, clients: Any, twist: MakeTwist | None, **more: Any
) -> Misbehaviour:
    more = {"server": travel_desk, "era": "modern", "way": "stdio", **more}
    return Misbehaviour(name, "client", rule, sentence, story, clients=clients, twist=twist, **more)


def _with_roots(name: str, rule: str, sentence: str, edit: Edit) -> Misbehaviour:
    """A client that answers a question for its roots, wrongly."""
    return _client(name, rule, sentence, ask_for_folders, rooted, in_answers(edit))


def _undeclared(name: str, rule: str, sentence: str, story: Any, clients: Any) -> Misbehaviour:
    """A client that declares nothing in its retry."""
    return _client(name, rule, sentence, story, clients, in_retry(_without_capabilities))


ANSWERING: Final[tuple[Misbehaviour, ...]] = (
    _client(
        "client-loses-the-state",
        "mrtr-state-echoed",
        "The client does not bring the request state back.",
        one_question,
        obliging,
        in_retry(_without_state),
    ),
    _client(
        "client-changes-the-state",
        "mrtr-state-unchanged",
        "The client brings back another request state than it was given.",
        state_without_a_question,
        None,
        in_retry(_with_another_state),
    ),
    _client(
        "client-uses-a-state-for-another-tool",
        "mrtr-state-for-its-own-request",
        "The client sends the request state of one tool with the call of another.",
        state_for_another_tool,
        obliging,
        None,
        good_story=answers_for_the_same_tool,
    ),
    _client(
        "client-answers-another-tool",
        "mrtr-answers-for-their-own-request",
        "The client sends the answers to one tool's questions with the call of another.",
        answers_for_another_tool,
        obliging,
        None,
        good_story=answers_for_the_same_tool,
    ),
    _client(
        "client-takes-an-id-again",
        "mrtr-retry-has-a-new-id",
        "The client sends the retry under the id of the request that it repeats.",
        count_by_hand("call-1", "call-1"),
        None,
        None,
        good_story=count_by_hand("call-1", "call-2"),
        way="http",
    ),
    _client(
        "client-answers-in-part",
        "mrtr-all-answered",
        "The client answers one of two questions, and comes back.",
        one_answer_after_the_other,
        obliging,
        None,
        good_story=both_answers_at_once,
    ),
    _client(
        "client-answers-more-than-was-asked",
        "mrtr-answers-only-what-was-asked",
        "The client brings an answer that nobody asked for.",
        one_question,
        obliging,
        in_retry(_with_more_answers),
    ),
    _client(
        "client-answers-another-question",
        "mrtr-answer-fits-its-question",
        "The client answers a form with a list of roots.",
        one_question,
        obliging,
        in_answers(_instead({"roots": []})),
    ),
    _undeclared(
        "client-elicits-undeclared",
        "elicitation-supported-is-declared",
        "The client brings what its user entered, and no longer declares elicitation.",
        one_question,
        obliging,
    ),
    _undeclared(
        "client-samples-undeclared",
        "sampling-supported-is-declared",
        "The client brings what its model wrote, and no longer declares sampling.",
        ask_the_model,
        writing,
    ),
    _undeclared(
        "client-lists-roots-undeclared",
        "roots-supported-is-declared",
        "The client brings its roots, and no longer declares them.",
        ask_for_folders,
        rooted,
    ),
    _client(
        "client-declares-no-mode",
        "elicitation-names-a-mode",
        "The client declares elicitation, and neither form nor url.",
        one_question,
        obliging,
        set_in_params(CALL, "_meta", CLIENT_CAPABILITIES, to={"elicitation": {"voice": {}}}),
    ),
    _client(
        "client-does-not-check-the-form",
        "elicitation-answer-fits-the-form",
        "The client sends what the form does not allow.",
        one_question,
        obliging,
        in_answers(_with(content={"seat": "roof", "bags": 1})),
    ),
    _client(
        "client-declines-with-content",
        "elicitation-answer-is-tidy",
        "The client sends what was entered, although the user declined.",
        user_declines,
        declining,
        in_answers(_with(content={"seat": "aisle", "bags": 1})),
    ),
    _client(
        "client-uses-a-tool-that-it-must-not",
        "sampling-tool-choice-is-kept",
        "The client's model uses a tool where it must use none.",
        write_without_tools,
        tooled,
        in_answers(_instead(_USE)),
        server=word_desk,
    ),
    _client(
        "client-uses-a-tool-that-there-is-not",
        "sampling-uses-offered-tools",
        "The client's model uses a tool that nobody offered.",
        write_as_you_like,
        tooled,
        in_answers(_instead(_STRANGE_USE)),
        server=word_desk,
    ),
    _client(
        "client-writes-too-much",
        "sampling-max-tokens-is-kept",
        "The client's model writes far more than it may.",
        ask_the_model,
        writing,
        in_answers(_with(content=_LONG)),
    ),
    _client(
        "client-hides-the-refusal",
        "sampling-error-codes",
        "The client reports the user's refusal as an error of its own.",
        ask_the_model,
        writing,
        change_answer(SAMPLE, _refused),
        era="legacy",
    ),
    _with_roots(
        "client-offers-a-site-as-a-root",
        "roots-are-file-uris",
        "The client offers a web site as a root.",
        _roots("https://travel.example/documents"),
    ),
    _with_roots(
        "client-offers-a-root-that-leads-out",
        "roots-are-checked",
        "The client offers a root that leads out of its folder.",
        _roots("file:///home/user/travel/../../kim"),
    ),
    _with_roots(
        "client-offers-a-root-twice",
        "roots-are-unique",
        "The client offers the same root twice.",
        _roots("file:///home/user/travel", "file:///home/user/travel"),
    ),
    _client(
        "client-changes-its-roots-in-silence",
        "roots-change-is-told",
        "The client has other roots than before, and does not tell.",
        folders_before_and_after,
        rooted,
        dropped("notifications/roots/list_changed"),
        era="legacy",
    ),
)
