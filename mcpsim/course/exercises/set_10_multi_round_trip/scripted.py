"""A server whose answers to `tools/call` come from a function: it may do what ours never would."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mcpsim.eras.modern import Route
from mcpsim.server import Server

CALL: Final = "tools/call"
TOOL: Final = "plan_trip"

Json: TypeAlias = dict[str, Any]
Turn: TypeAlias = Callable[[Json, str], Json]
"""Gets the parameters of a call and the principal; gives the result, or raises ProtocolError."""


class ScriptedServer(Server):
    """A server with one tool.

    Args:
        turn: gives the results of its calls.
    """

    def __init__(self, turn: Turn) -> None:
        super().__init__("travel-desk", era="modern")
        self.tool(TOOL, description="Plan a trip.")(_never_runs)
        self._turn = turn

    def route(self, method: str) -> Route | None:
        found = super().route(method)
        return _Scripted(found, self._turn) if method == CALL and found is not None else found


def _never_runs(city: str) -> str:
    return city


@dataclass(frozen=True, slots=True)
class _Scripted:
    plain: Route
    turn: Turn

    def check(self, params: Json, version: str) -> Json:
        self.plain.check(params, version)
        given = dict(params)
        # The server would look for its own seal in what the script made.
        for member in ("requestState", "inputResponses"):
            params.pop(member, None)
        return given

    def authorise(self, principal: str, arguments: Json) -> None:
        """Everybody may."""

    async def run(self, context: Any, arguments: Json) -> Json:
        return self.turn(arguments, context.principal)


def as_json(value: object) -> str | None:
    """What a learner's value is on the wire, with its members in order; None where JSON cannot carry it.

    Two values are compared by this: what a learner wrote may claim to equal everything.
    """
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def asks(questions: Json | None, state: str | None) -> Json:
    """An `input_required` result."""
    result: Json = {"resultType": "input_required"}
    if questions is not None:
        result["inputRequests"] = questions
    if state is not None:
        result["requestState"] = state
    return result


def says(text: str) -> Json:
    """A complete result."""
    return {"resultType": "complete", "content": [{"type": "text", "text": text}]}


def form(message: str, **fields: Json) -> Json:
    """A question with a form whose fields are all required."""
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}
