"""Prompts: messages made to order, and how a handler's value becomes them.

https://modelcontextprotocol.io/specification/2026-07-28/server/prompts
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, cast, get_args, get_origin

import mcp_types
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from mcpsim.eras.revisions import known_members
from mcpsim.errors import INVALID_PARAMS, ProtocolError, RegistrationError
from mcpsim.server.completion import Completer, completers_of
from mcpsim.server.context import Context
from mcpsim.server.handlers import (
    CONTEXT_PARAMETER,
    description_of,
    hints_of,
    name_of,
    parameters_of,
    run_handler,
)
from mcpsim.server.results import block_for_revision, plain_value

_MESSAGE: Final[TypeAdapter[Any]] = TypeAdapter(mcp_types.PromptMessage)


@dataclass(frozen=True)
class PromptArgument:
    """One argument of a prompt. Its values are strings.

    Attributes:
        name: its name.
        required: whether the prompt cannot be had without it.
        title: for people, or "".
        description: or "".
    """

    name: str
    required: bool
    title: str = ""
    description: str = ""

    def definition(self, version: str) -> dict[str, Any]:
        """The argument as `prompts/list` shows it in a revision."""
        shown: dict[str, Any] = {"name": self.name}
        if self.title:
            shown["title"] = self.title
        if self.description:
            shown["description"] = self.description
        return known_members("prompt argument", {**shown, "required": self.required}, version)


@dataclass(frozen=True)
class Prompt:
    """One prompt of a server.

    Attributes:
        name: what clients ask for it by.
        handler: makes the messages; called with the arguments, and with the context if it takes one.
        arguments: what it can be asked for with.
        takes_context: whether the handler has a parameter for the context.
        title: for people, or "".
        description: or "".
        completers: suggestions for the arguments, by name.
        icons: as they go on the wire.
        meta: the definition's `_meta`.
    """

    name: str
    handler: Callable[..., Any]
    arguments: tuple[PromptArgument, ...]
    takes_context: bool
    title: str = ""
    description: str = ""
    completers: Mapping[str, Completer] = field(default_factory=dict[str, Completer])
    icons: Sequence[Mapping[str, Any]] = ()
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def definition(self, version: str) -> dict[str, Any]:
        """The prompt as `prompts/list` shows it in a revision."""
        optional = {
            "title": self.title,
            "description": self.description,
            "arguments": [argument.definition(version) for argument in self.arguments],
            "icons": [dict(icon) for icon in self.icons],
            "_meta": dict(self.meta),
        }
        shown = {"name": self.name, **{key: value for key, value in optional.items() if value}}
        return known_members("prompt", shown, version)

    def check(self, arguments: Mapping[str, str]) -> None:
        """Raises ProtocolError (-32602) where an argument is missing, or is none of this prompt's."""
        missing = [one.name for one in self.arguments if one.required and one.name not in arguments]
        if missing:
            raise ProtocolError(INVALID_PARAMS, f"Prompt {self.name}: missing {', '.join(missing)}.")
        known = {one.name for one in self.arguments}
        unknown = [name for name in arguments if name not in known]
        if unknown:
            raise ProtocolError(
                INVALID_PARAMS,
                f"Prompt {self.name}: it has no argument named {', '.join(sorted(unknown)[:5])[:300]}.",
            )

    async def get(self, context: Context, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Run the handler and return the result of `prompts/get`."""
        keywords: dict[str, Any] = dict(arguments)
        if self.takes_context:
            keywords[CONTEXT_PARAMETER] = context
        value = await run_handler(self.handler, keywords)
        described = {"description": self.description} if self.description else {}
        return {**described, "messages": messages_of(value, context.version)}


def messages_of(value: Any, version: str) -> list[dict[str, Any]]:
    """What a handler returned, as messages.

    A string becomes one message of the user; a dictionary with `role` and `content` or a PromptMessage stays
    what it is, and a string in its place of `content` becomes text; a list may hold several of these.

    Raises:
        TypeError, ValueError: the value is none of these.
    """
    items = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    return [_message(item, version) for item in items]


def _message(value: Any, version: str) -> dict[str, Any]:
    if isinstance(value, str):
        value = {"role": "user", "content": value}
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not isinstance(value, Mapping):
        raise TypeError(f"the handler of a prompt returns text or messages, not {type(value).__name__}")
    message = cast("dict[str, Any]", plain_value(value))
    content = message.get("content")
    if isinstance(content, str):
        content.encode("utf-8")
        message["content"] = {"type": "text", "text": content}
    try:
        _MESSAGE.validate_python(message)
    except ValidationError:
        raise ValueError('a message has a role, "user" or "assistant", and one content block') from None
    block: dict[str, Any] = message["content"]
    if block["type"] == "resource" and not block["resource"].get("mimeType"):
        # The schema lets it out; the page on prompts does not.
        raise ValueError("a resource that is embedded in a prompt says its MIME type")
    return {**message, "content": block_for_revision(block, version)}


def prompt_from_function(
    handler: Callable[..., Any],
    *,
    name: str | None,
    description: str | None,
    complete: Mapping[str, Completer] | None,
    **more: Any,
) -> Prompt:
    """Make a prompt of a function whose parameters are its arguments. They are strings.

    `Annotated[str, "what it is"]` or `Annotated[str, Field(title=..., description=...)]` describes one.

    Raises:
        RegistrationError: a parameter cannot be an argument of a prompt.
    """
    named = name_of("prompt", name, handler)
    whose = f"Prompt {named!r}"
    parameters = parameters_of(whose, handler)
    hints = hints_of(whose, handler)
    arguments: list[PromptArgument] = []
    for parameter in parameters.values():
        if parameter.name == CONTEXT_PARAMETER:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise RegistrationError(f"{whose}: nothing tells which arguments {parameter} stands for.")
        title, text = _described(whose, parameter.name, hints.get(parameter.name, Any))
        required = parameter.default is parameter.empty
        arguments.append(PromptArgument(parameter.name, required, title, text))
    return Prompt(
        name=named,
        handler=handler,
        arguments=tuple(arguments),
        takes_context=CONTEXT_PARAMETER in parameters,
        description=description_of(description, handler),
        completers=completers_of(whose, complete, [argument.name for argument in arguments]),
        **more,
    )


def _described(whose: str, name: str, hint: Any) -> tuple[str, str]:
    """The title and the description that a hint gives an argument."""
    title = text = ""
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        for note in notes:
            if isinstance(note, str):
                text = note
            elif isinstance(note, FieldInfo):
                title, text = note.title or title, note.description or text
    if hint is not Any and hint is not str and str not in get_args(hint):
        raise RegistrationError(f"{whose}: the arguments of a prompt are strings, and {name!r} is {hint}.")
    return title, text
