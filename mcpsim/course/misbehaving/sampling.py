"""Servers that misbehave when they ask the client's model."""

from __future__ import annotations

from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import Edit, Json
from mcpsim.course.misbehaving.questioning import asking_server, in_question, members_with
from mcpsim.course.stories.asking import ask_the_model, writing

LOOK_UP: Final[Json] = {"name": "look_up", "inputSchema": {"type": "object"}}


def tooled(era: Any) -> Client:
    """A client with a model that may use tools, and see what other servers say."""
    return Client(era=era, sample=lambda asked: "Hello.", sampling_tools=True, sampling_context=True)


def _in_order(*messages: Json) -> Edit:
    return members_with(messages=list(messages), tools=[LOOK_UP])


def _said(role: str, *content: Json) -> Json:
    return {"role": role, "content": list(content)}


_TEXT: Final[Json] = {"type": "text", "text": "What is the river called?"}
_USE: Final[Json] = {"type": "tool_use", "id": "use-1", "name": "look_up", "input": {}}
_RESULT: Final[Json] = {"type": "tool_result", "toolUseId": "use-1", "content": []}


def _sampling(name: str, rule: str, sentence: str, clients: Any, edit: Edit) -> Misbehaviour:
    """A server that asks the client's model, wrongly."""
    return asking_server(name, rule, sentence, ask_the_model, clients, in_question(edit))


SAMPLING: Final[tuple[Misbehaviour, ...]] = (
    _sampling(
        "server-brings-tools-undeclared",
        "sampling-tools-are-declared",
        "The server brings tools for sampling, and the client has not declared that.",
        writing,
        members_with(tools=[LOOK_UP]),
    ),
    _sampling(
        "server-asks-for-context-undeclared",
        "sampling-context-is-declared",
        "The server asks for the context of all servers, and the client has not declared that.",
        writing,
        members_with(includeContext="allServers"),
    ),
    _sampling(
        "server-asks-for-context",
        "sampling-context-is-avoided",
        "The server asks for context by includeContext, which it should do without.",
        tooled,
        members_with(includeContext="thisServer"),
    ),
    _sampling(
        "server-sends-a-system-message",
        "sampling-message-has-role-and-content",
        "The server gives a message for the model the role system, which there is not.",
        writing,
        members_with(messages=[_said("system", _TEXT)]),
    ),
    _sampling(
        "server-wants-it-three-times-as-cheap",
        "sampling-priorities-go-from-0-to-1",
        "The server gives a model preference the priority 3, where 1 is the highest.",
        writing,
        members_with(modelPreferences={"costPriority": 3}),
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
        "The server lets the model go on without the result of the tool that it used.",
        tooled,
        _in_order(_said("user", _TEXT), _said("assistant", _USE), _said("user", _TEXT)),
    ),
)
