"""What a server may ask of a client in each revision: one table.

How the questions travel is another matter: as requests of the server's own (legacy), or inside of an
`input_required` result (modern).

https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
https://modelcontextprotocol.io/specification/2026-07-28/client/sampling
https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import mcp_types
from pydantic import BaseModel

from mcpsim.eras.bodies import models
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN, LEGACY_REVISIONS, MODERN_REVISIONS
from mcpsim.errors import McpSimError


@dataclass(frozen=True, slots=True)
class AskingRules:
    """What one revision lets a server ask for.

    Attributes:
        forms: whether there is elicitation at all, by form.
        modes: whether an elicitation names its mode, and a client declares which modes it can do.
        defaults: whether every kind of field may have a default. Before, only a boolean could.
        choices: whether a form has titled and multiple choices (`oneOf`, arrays).
        url: whether there is elicitation by URL.
        elicitation_ids: whether an elicitation by URL has an id, `notifications/elicitation/complete`
            follows, and an error (-32042) can ask for the visit.
        sampling_tools: whether sampling may bring tools along, and a message may hold several contents.
        sampling_contents: the types of content that a message of sampling may hold.
        context_capability: whether `includeContext` is only for clients that declare `sampling.context`.
    """

    forms: bool = False
    modes: bool = False
    defaults: bool = False
    choices: bool = False
    url: bool = False
    elicitation_ids: bool = False
    sampling_tools: bool = False
    sampling_contents: frozenset[str] = frozenset({"text", "image", "audio"})
    context_capability: bool = False


_LATEST: Final = AskingRules(
    forms=True,
    modes=True,
    defaults=True,
    choices=True,
    url=True,
    sampling_tools=True,
    sampling_contents=frozenset({"text", "image", "audio", "tool_use", "tool_result"}),
    context_capability=True,
)

RULES: Final[Mapping[str, AskingRules]] = {
    "2024-11-05": AskingRules(sampling_contents=frozenset({"text", "image"})),
    "2025-03-26": AskingRules(),
    "2025-06-18": AskingRules(forms=True),
    "2025-11-25": replace(_LATEST, elicitation_ids=True),
    "2026-07-28": _LATEST,
}


def rules_of(version: str) -> AskingRules:
    """The rules of a revision; those of the latest one where nobody here knows it."""
    return RULES.get(version, RULES[LATEST_MODERN])


def needed_capabilities(method: str, params: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The client capabilities without which a question must not be put, as a capabilities object.

    Args:
        method, params: the question as it goes on the wire; "roots/list" and the like.

    Raises:
        McpSimError: the revision does not have it in this form.

    https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#capabilities
    https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#capabilities
    """
    rules = rules_of(version)
    if method == "elicitation/create":
        mode = "url" if params.get("mode") == "url" else "form"
        if mode == "url" and not rules.url:
            raise McpSimError(f"{version} has no elicitation by URL.")
        return {"elicitation": {mode: {}} if rules.modes else {}}
    if method == "sampling/createMessage":
        needed: dict[str, Any] = {}
        if "tools" in params or "toolChoice" in params:
            if not rules.sampling_tools:
                raise McpSimError(f"{version} has no tools in sampling.")
            needed["tools"] = {}
        if rules.context_capability and params.get("includeContext", "none") != "none":
            needed["context"] = {}
        return {"sampling": needed}
    return {"roots": {}} if method == "roots/list" else {}


def parse_question(method: str, version: str, params: Mapping[str, Any] | None) -> Any:
    """A question as a model of mcp-types, checked against the schema of its revision.

    Raises:
        KeyError: there is no such question in the revision.
        pydantic.ValidationError: its parameters are not valid.
    """
    if version in LEGACY_REVISIONS:
        return models().parse_server_request(method, version, params)
    # The modern revision has no such requests, only their bodies inside of results.
    body = {"method": method} if params is None else {"method": method, "params": params}
    return _QUESTIONS[method].model_validate(body, by_name=False)


def parse_response(method: str, version: str, response: Mapping[str, Any]) -> Any:
    """The response to a question as a model of mcp-types, checked in the same way.

    A modern response has the shape of the latest legacy result.

    Raises:
        KeyError: there is no such question in the revision.
        pydantic.ValidationError: the response is none to this question.
    """
    row = version if version in LEGACY_REVISIONS else LATEST_LEGACY
    return models().parse_client_result(method, row, response)


_QUESTIONS: Final[Mapping[str, type[BaseModel]]] = {
    "elicitation/create": mcp_types.ElicitRequest,
    "sampling/createMessage": mcp_types.CreateMessageRequest,
    "roots/list": mcp_types.ListRootsRequest,
}


assert RULES.keys() == {*LEGACY_REVISIONS, *MODERN_REVISIONS}
