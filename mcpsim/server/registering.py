"""Decorators: a function becomes a tool, a resource, a resource template or a prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from mcpsim.server.completion import Completer
from mcpsim.server.offer import Offer
from mcpsim.server.prompts import prompt_from_function
from mcpsim.server.resources import Hints, check_hints, resource_from_function, template_from_function
from mcpsim.server.tools import tool_from_function

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Registering(Offer):
    """The part of a server that takes functions in."""

    def tool(
        self,
        name: str | None = None,
        *,
        description: str | None = None,
        title: str = "",
        input_schema: Mapping[str, Any] | None = None,
        requires: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | Literal[True] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a function as a tool. A parameter named `context` gets the Context.

        Args:
            name: the tool's name; the function's by default.
            description: for the model; the function's docstring by default.
            title: for people.
            input_schema: a JSON Schema with `"type": "object"` at its root; by default it comes from the
                function's type hints.
            requires: the client capabilities without which a call is refused (modern: -32021), as a
                capabilities object such as `{"elicitation": {}}`.
            annotations: hints about the tool's behaviour, as they go on the wire.
            output_schema: a JSON Schema for the structured result, which every result is then checked
                against; True makes it from the hint of what the function returns. With one, the result of
                the function is always structured content; a CallToolResult may say what the text is.
            icons: as they go on the wire.
            meta: the `_meta` of the definition.

        Raises:
            RegistrationError: the name is taken or not usable, or a schema is not valid, or its
                `x-mcp-header` annotations break a rule.
            TypeError: the decorator stands without parentheses.
        """
        _check_called("tool()", name)

        def register(handler: Handler) -> Handler:
            tool = tool_from_function(
                handler,
                name=name,
                description=description,
                input_schema=input_schema,
                title=title,
                requires=dict(requires or {}),
                annotations=dict(annotations or {}),
                output_schema=output_schema,
                icons=tuple(icons or ()),
                meta=dict(meta or {}),
            )
            self.add_tool(tool)
            return handler

        return register

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str = "",
        description: str | None = None,
        mime_type: str = "",
        size: int | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
        ttl_ms: int | None = None,
        cache_scope: str | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a function as a resource. A parameter named `context` gets the Context.

        The function returns text (str), a blob (bytes), or contents as dictionaries, one or several. It may
        raise ResourceNotFound.
        https://modelcontextprotocol.io/specification/2026-07-28/server/resources

        Args:
            uri: the resource's address.
            name: its name; the function's by default.
            title: for people.
            description: for the model; the function's docstring by default.
            mime_type: the type of what is read, or "".
            size: in bytes before any encoding; None where it is not known.
            annotations: who it is for, how important it is, when it was changed last; as they go on the wire.
            icons: as they go on the wire.
            meta: the `_meta` of the definition.
            ttl_ms: for how long clients may take what they read for fresh, in milliseconds; None: as the
                server says for its lists.
            cache_scope: "private" or "public"; None: as the server says for its lists.

        Raises:
            RegistrationError: the URI is taken or none, or the function cannot be called without arguments.
            TypeError: the decorator stands without parentheses.
            ValueError: a hint for caches is out of its range.
        """
        _check_called('resource("scheme://path")', uri)
        hints = _hints(ttl_ms, cache_scope)

        def register(handler: Handler) -> Handler:
            resource = resource_from_function(
                handler,
                uri,
                name=name,
                description=description,
                hints=hints,
                title=title,
                mime_type=mime_type,
                size=size,
                annotations=dict(annotations or {}),
                icons=tuple(icons or ()),
                meta=dict(meta or {}),
            )
            self.add_resource(resource)
            return handler

        return register

    def resource_template(
        self,
        uri_template: str,
        *,
        name: str | None = None,
        title: str = "",
        description: str | None = None,
        mime_type: str = "",
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
        ttl_ms: int | None = None,
        cache_scope: str | None = None,
        complete: Mapping[str, Completer] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a function as a resource template. It gets the variables by keyword, as decoded strings;
        they come from whoever sent the URI, and may hold `/` and `..`.

        https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource-templates

        Args:
            uri_template: the URIs, as RFC 6570 has it.
            complete: suggestions for variables, by name: each a function of what was typed and of the
                variables that stand already, which returns a list of strings.
            name, title, description, mime_type, annotations, icons, meta, ttl_ms, cache_scope: as for
                `resource`.

        Raises:
            RegistrationError: the template is taken or none, or does not fit the function's parameters.
            TypeError: the decorator stands without parentheses.
            ValueError: a hint for caches is out of its range.
        """
        _check_called('resource_template("scheme://{variable}")', uri_template)
        hints = _hints(ttl_ms, cache_scope)

        def register(handler: Handler) -> Handler:
            template = template_from_function(
                handler,
                uri_template,
                name=name,
                description=description,
                hints=hints,
                complete=complete,
                title=title,
                mime_type=mime_type,
                annotations=dict(annotations or {}),
                icons=tuple(icons or ()),
                meta=dict(meta or {}),
            )
            self.add_resource_template(template)
            return handler

        return register

    def prompt(
        self,
        name: str | None = None,
        *,
        title: str = "",
        description: str | None = None,
        complete: Mapping[str, Completer] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a function as a prompt. Its parameters are the prompt's arguments, which are strings; one
        without a default is required. A parameter named `context` gets the Context.

        The function returns text (a message of the user), messages as dictionaries with `role` and
        `content`, or PromptMessages, one or several.
        https://modelcontextprotocol.io/specification/2026-07-28/server/prompts

        Args:
            name: the prompt's name; the function's by default.
            title: for people.
            description: the function's docstring by default.
            complete: suggestions for arguments, by name: each a function of what was typed and of the
                arguments that stand already, which returns a list of strings.
            icons: as they go on the wire.
            meta: the `_meta` of the definition.

        Raises:
            RegistrationError: the name is taken or not usable, or a parameter cannot be an argument.
            TypeError: the decorator stands without parentheses.
        """
        _check_called("prompt()", name)

        def register(handler: Handler) -> Handler:
            prompt = prompt_from_function(
                handler,
                name=name,
                description=description,
                complete=complete,
                title=title,
                icons=tuple(icons or ()),
                meta=dict(meta or {}),
            )
            self.add_prompt(prompt)
            return handler

        return register


def _check_called(right: str, given: object) -> None:
    """Without parentheses Python calls the decorator with the function, and nothing would be registered."""
    if callable(given):
        raise TypeError(f"This decorator needs parentheses: @server.{right}.")


def _hints(ttl_ms: int | None, cache_scope: str | None) -> Hints:
    check_hints(0 if ttl_ms is None else ttl_ms, "private" if cache_scope is None else cache_scope)
    return Hints(ttl_ms, cache_scope)
