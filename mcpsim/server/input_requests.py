"""What a handler may ask the client for, described once for both eras.

`form`, `url`, `sampling` and `roots` make the descriptions; `Context.ask` puts them to the client.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#inputrequests
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import BaseModel, ValidationError

from mcpsim.eras.asking import AskingRules, parse_question, parse_response, rules_of
from mcpsim.errors import McpSimError
from mcpsim.utilities.elicitation import (
    check_form,
    faults_of_content,
    form_of,
    is_url,
    missing_fields,
    names_user,
)
from mcpsim.utilities.sampling import fault_of_content, fault_of_sampling

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
LIST_ROOTS: Final = "roots/list"


@dataclass(frozen=True, slots=True)
class InputRequest:
    """One question to the client.

    Attributes:
        method: "elicitation/create", "sampling/createMessage" or "roots/list".
        params: its parameters, as every revision has them.
        requires: the client capabilities without which it may not be asked, as a capabilities object.
    """

    method: str
    params: Mapping[str, Any] | None
    requires: Mapping[str, Any]

    @property
    def is_url(self) -> bool:
        """Whether it sends the user to a URL."""
        return self.params is not None and self.params.get("mode") == "url"

    @property
    def is_form(self) -> bool:
        """Whether it is an elicitation by form."""
        return self.method == ELICIT and not self.is_url

    def check(self, version: str) -> None:
        """Check that it may be asked in a revision, whoever the client is.

        Raises:
            McpSimError: the revision does not have it.
            ElicitationSchemaError: the form's schema is not allowed.
            ValueError: the parameters are not valid.
        """
        rules, params = rules_of(version), self.params or {}
        if self.method == ELICIT and not (rules.url if self.is_url else rules.forms):
            mode = "by URL" if self.is_url else "by form"
            raise McpSimError(f"{version} has no elicitation {mode}.")
        if self.is_form:
            check_form(params["requestedSchema"], rules)
        if self.method == SAMPLE:
            if not rules.sampling_tools and ("tools" in params or "toolChoice" in params):
                raise McpSimError(f"{version} has no tools in sampling.")
            fault = fault_of_sampling(params, rules)
            if fault:
                raise ValueError(f"sampling: {fault}")
        try:
            parse_question(self.method, version, self.wire_params(rules))
        except KeyError:
            raise McpSimError(f"{version} has no {self.method}.") from None
        except ValidationError as error:
            raise ValueError(f"{self.method}: {first_fault(error)}") from None

    def required(self, rules: AskingRules) -> Mapping[str, Any]:
        """The capabilities that it needs in a revision."""
        if self.method == ELICIT and not rules.modes:
            # Before there were modes, any declaration stands for the form.
            return {"elicitation": {}}
        if self.method != SAMPLE or rules.context_capability:
            return self.requires
        # Before the sub-capability came, every client with sampling could be asked for context.
        inner = {name: value for name, value in self.requires["sampling"].items() if name != "context"}
        return {"sampling": inner}

    def wire_params(self, rules: AskingRules) -> dict[str, Any] | None:
        """The parameters as they go on the wire."""
        if self.params is None:
            return None
        dropped = set[str]() if rules.modes else {"mode"}
        if self.is_url and not rules.elicitation_ids:
            dropped.add("elicitationId")
        return {key: value for key, value in self.params.items() if key not in dropped}

    def parse(self, response: Any, version: str) -> Any:
        """The client's response as a model of mcp-types.

        Raises:
            Incomplete: a form came back without a field that it needs.
            ValueError: it is no response to this question; the text says why.
        """
        if not isinstance(response, dict):
            raise ValueError(f"The response to {self.method} must be an object.")
        members = cast("dict[str, Any]", response)
        try:
            result = parse_response(self.method, version, members)
        except ValidationError as error:
            raise ValueError(f"The response to {self.method} is not valid: {first_fault(error)}") from None
        unknown = fault_of_content(members, rules_of(version)) if self.method == SAMPLE else ""
        if unknown:
            raise ValueError(f"The response to {self.method} {unknown}.")
        if self.is_form and members.get("action") == "accept":
            content: Any = members.get("content")
            given = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
            schema: Mapping[str, Any] = (self.params or {})["requestedSchema"]
            faults = faults_of_content(schema, given)
            if faults:
                raise ValueError(f"The content does not fit the form. {' '.join(faults[:3])}")
            missing = missing_fields(schema, given)
            if missing:
                raise Incomplete(f"The content lacks {', '.join(missing)}.")
            result.content = given
        return result


class Incomplete(ValueError):
    """A response lacks something that the question said it needs."""


def form(message: str, schema: Mapping[str, Any] | type[BaseModel]) -> InputRequest:
    """Ask the user to fill in a form.

    Args:
        message: why, for the user.
        schema: a flat JSON Schema object of primitive fields, or a pydantic model class with such fields.

    Raises:
        ElicitationSchemaError: the model has no such schema.

    https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#form-mode-elicitation-requests
    """
    params = {"mode": "form", "message": message, "requestedSchema": form_of(schema)}
    return InputRequest(ELICIT, params, {"elicitation": {"form": {}}})


def url(message: str, url: str, *, elicitation_id: str = "") -> InputRequest:
    """Ask the user to visit a URL, for what must not pass through the client.

    Args:
        message: why, for the user.
        url: an absolute URL. It must hold no secret and give no access to whoever has it.
        elicitation_id: its name, for the one revision that has these (2025-11-25); made where it is empty.

    Raises:
        ValueError: that is no URL, or one with a user and perhaps a password in it.

    https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests
    https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#safe-url-handling
    """
    if not is_url(url):
        raise ValueError(f"An elicitation by URL needs a valid URL, not {url!r}.")
    if names_user(url):
        # What is in front of the @ is not repeated: this text may end up in a log.
        raise ValueError("The URL of an elicitation must not let in whoever has it: leave out the user.")
    params = {"mode": "url", "message": message, "url": url}
    if elicitation_id:
        params["elicitationId"] = elicitation_id
    return InputRequest(ELICIT, params, {"elicitation": {"url": {}}})


def sampling(messages: str | Sequence[Mapping[str, Any]], *, max_tokens: int, **params: Any) -> InputRequest:
    """Ask the client to let its model write. Deprecated in 2026-07-28: talk to a model's provider yourself.

    Args:
        messages: the conversation so far, or one text of the user.
        max_tokens: how many tokens the answer may have at most.
        params: more members of `sampling/createMessage`, with the names that they have there, such as
            `systemPrompt`, `tools` or `modelPreferences`.

    https://modelcontextprotocol.io/specification/2026-07-28/client/sampling
    """
    if isinstance(messages, str):
        messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
    needs: dict[str, Any] = {}
    if "tools" in params or "toolChoice" in params:
        needs["tools"] = {}
    if params.get("includeContext", "none") != "none":
        needs["context"] = {}
    told = {"messages": [dict(one) for one in messages], **params, "maxTokens": max_tokens}
    return InputRequest(SAMPLE, told, {"sampling": needs})


def roots() -> InputRequest:
    """Ask the client for its roots. Deprecated in 2026-07-28: take folders as arguments of a tool.

    https://modelcontextprotocol.io/specification/2026-07-28/client/roots
    """
    return InputRequest(LIST_ROOTS, None, {"roots": {}})


def first_fault(error: ValidationError) -> str:
    """The first fault that pydantic found, in one line."""
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {fault['msg']}" if where else str(fault["msg"])
