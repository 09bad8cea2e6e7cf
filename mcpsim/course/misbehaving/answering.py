"""Clients that misbehave in what they answer, and in what they declare."""

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
from mcpsim.course.servers import travel_desk
from mcpsim.course.stories.asking import (
    ask_for_folders,
    ask_the_model,
    declining,
    obliging,
    one_question,
    rooted,
    user_declines,
    writing,
)
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS
from mcpsim.messages.meta import CLIENT_CAPABILITIES
from mcpsim.server import Context, Server
from mcpsim.transports.twists import MakeTwist

CALL: Final = "tools/call"
ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
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


def answer_instead(answer: Json) -> Edit:
    """Another answer in its place."""
    return lambda held: dict(answer)


def leave_out(name: str) -> Edit:
    """Leave a member out."""

    def without(held: Json) -> None:
        held.pop(name, None)

    return without


def _mode_is_missing(message: Json) -> Json:
    error: Json = {"code": INVALID_PARAMS, "message": "mode is missing"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def _without_capabilities(params: Json) -> None:
    params["_meta"][CLIENT_CAPABILITIES] = {}


def _refused(message: Json) -> Json:
    error: Json = {"code": INTERNAL_ERROR, "message": "The user rejected the request"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def _roots(*uris: str) -> Edit:
    return answer_instead({"roots": [{"uri": uri} for uri in uris]})


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


def answering_client(
    name: str, rule: str, sentence: str, story: Any, clients: Any, twist: MakeTwist | None, **more: Any
) -> Misbehaviour:
    """A client of the travel desk that misbehaves, or of another server that `more` says."""
    more = {"server": travel_desk, "era": "modern", "way": "stdio", **more}
    return Misbehaviour(name, "client", rule, sentence, story, clients=clients, twist=twist, **more)


def _with_roots(name: str, rule: str, sentence: str, edit: Edit) -> Misbehaviour:
    """A client that answers a question for its roots, wrongly."""
    return answering_client(name, rule, sentence, ask_for_folders, rooted, in_answers(edit))


def _undeclared(name: str, rule: str, sentence: str, story: Any, clients: Any) -> Misbehaviour:
    """A client that declares nothing in its retry."""
    return answering_client(name, rule, sentence, story, clients, in_retry(_without_capabilities))


ANSWERING: Final[tuple[Misbehaviour, ...]] = (
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
    answering_client(
        "client-declares-no-mode",
        "elicitation-names-a-mode",
        "The client declares elicitation, and neither form nor url.",
        one_question,
        obliging,
        set_in_params(CALL, "_meta", CLIENT_CAPABILITIES, to={"elicitation": {"voice": {}}}),
    ),
    answering_client(
        "client-insists-on-a-mode",
        "elicitation-mode-may-be-left-out",
        "The client refuses a form because it does not say that it is one.",
        one_question,
        obliging,
        change_answer(ELICIT, _mode_is_missing),
        era="legacy",
        scenery=change_params(ELICIT, leave_out("mode")),
    ),
    answering_client(
        "client-does-not-check-the-form",
        "elicitation-answer-fits-the-form",
        "The client sends an answer that the form does not allow.",
        one_question,
        obliging,
        in_answers(_with(content={"seat": "roof", "bags": 1})),
    ),
    answering_client(
        "client-declines-with-content",
        "elicitation-answer-is-tidy",
        "The client sends what was entered, although the user declined.",
        user_declines,
        declining,
        in_answers(_with(content={"seat": "aisle", "bags": 1})),
    ),
    answering_client(
        "client-uses-a-tool-that-it-must-not",
        "sampling-tool-choice-is-kept",
        "The client's model uses a tool where it must use none.",
        write_without_tools,
        tooled,
        in_answers(answer_instead(_USE)),
        server=word_desk,
    ),
    answering_client(
        "client-uses-a-tool-that-there-is-not",
        "sampling-uses-offered-tools",
        "The client's model uses a tool that nobody offered.",
        write_as_you_like,
        tooled,
        in_answers(answer_instead(_STRANGE_USE)),
        server=word_desk,
    ),
    answering_client(
        "client-writes-too-much",
        "sampling-max-tokens-is-kept",
        "The client's model writes far more than it may.",
        ask_the_model,
        writing,
        in_answers(_with(content=_LONG)),
    ),
    answering_client(
        "client-hides-the-refusal",
        "sampling-error-codes",
        "The client reports the user's refusal by the code for its own faults.",
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
    answering_client(
        "client-changes-its-roots-in-silence",
        "roots-change-is-told",
        "The client has other roots than before, and does not tell.",
        folders_before_and_after,
        rooted,
        dropped("notifications/roots/list_changed"),
        era="legacy",
    ),
)
