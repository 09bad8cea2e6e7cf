"""Resources and resource templates: what a client may read.

https://modelcontextprotocol.io/specification/2026-07-28/server/resources
https://modelcontextprotocol.io/specification/2025-11-25/server/resources
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcpsim.eras.revisions import NO_RESOURCE_IS_INVALID_PARAMS, known_members
from mcpsim.errors import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    ProtocolError,
    RegistrationError,
    UriTemplateError,
)
from mcpsim.server.completion import Completer, completers_of
from mcpsim.server.contents import contents_of
from mcpsim.server.context import Context
from mcpsim.server.handlers import (
    CONTEXT_PARAMETER,
    description_of,
    hints_of,
    name_of,
    parameters_of,
    run_handler,
)
from mcpsim.utilities.uri_templates import UriTemplate, Values, read_template
from mcpsim.utilities.uris import is_uri, leads_up

CACHE_SCOPES: Final = ("public", "private")


@dataclass(frozen=True)
class Shown:
    """What a list shows of a resource or a template, beside its address.

    Attributes:
        name: the name; needs not be unique.
        title: for people, or "".
        description: for the model, or "".
        mime_type: the type of what is read, or "".
        size: the size in bytes, before any encoding, or None where it is not known.
        annotations: who it is for, how important it is, when it was changed last; as they go on the wire.
        icons: as they go on the wire.
        meta: the definition's `_meta`.
    """

    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    icons: Sequence[Mapping[str, Any]] = ()
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def members(self) -> dict[str, Any]:
        """As members of a definition."""
        optional = {
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
            "annotations": dict(self.annotations),
            "icons": [dict(icon) for icon in self.icons],
            "_meta": dict(self.meta),
        }
        sized = {} if self.size is None else {"size": self.size}
        return {"name": self.name, **{key: value for key, value in optional.items() if value}, **sized}


@dataclass(frozen=True)
class Hints:
    """How long clients may keep what they read, and for whom; None where the server's own word counts."""

    ttl_ms: int | None = None
    cache_scope: str | None = None


def check_hints(ttl_ms: int, cache_scope: str) -> None:
    """Raises ValueError where a hint for caches is out of its range."""
    given: Any = ttl_ms
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise ValueError(f"ttl_ms must be 0 or more whole milliseconds, not {ttl_ms!r}.")
    if cache_scope not in CACHE_SCOPES:
        raise ValueError(f"cache_scope must be one of {', '.join(CACHE_SCOPES)}, not {cache_scope!r}.")


@dataclass(frozen=True)
class Resource:
    """One resource of a server.

    Attributes:
        uri: its address.
        shown: what the list shows of it.
        handler: reads it; called with the context if it takes one.
        takes_context: whether the handler has a parameter for the context.
        hints: for how long, and for whom, what was read may be kept.
    """

    uri: str
    shown: Shown
    handler: Callable[..., Any]
    takes_context: bool
    hints: Hints = Hints()

    def definition(self, version: str) -> dict[str, Any]:
        """The resource as `resources/list` shows it in a revision."""
        return known_members("resource", {"uri": self.uri, **self.shown.members()}, version)

    async def read(self, context: Context) -> list[dict[str, Any]]:
        """Run the handler; returns the contents of the result.

        Raises:
            ResourceNotFound: the handler says so.
        """
        return await _read(self, self.uri, {}, context)


@dataclass(frozen=True)
class ResourceTemplate:
    """Many resources at once: one for each URI that the template can become.

    Attributes:
        template: the template of the URIs.
        shown: what the list shows of it.
        handler: reads one of them; called with the variables, and with the context if it takes one.
        takes_context: whether the handler has a parameter for the context.
        hints: for how long, and for whom, what was read may be kept.
        required: the variables that the handler cannot do without.
        completers: suggestions for the variables, by name.
    """

    template: UriTemplate
    shown: Shown
    handler: Callable[..., Any]
    takes_context: bool
    hints: Hints = Hints()
    required: frozenset[str] = frozenset()
    completers: Mapping[str, Completer] = field(default_factory=dict[str, Completer])

    @property
    def uri_template(self) -> str:
        """The template as it was written."""
        return self.template.text

    def definition(self, version: str) -> dict[str, Any]:
        """The template as `resources/templates/list` shows it in a revision."""
        members = {"uriTemplate": self.uri_template, **self.shown.members()}
        return known_members("resource template", members, version)

    def match(self, uri: str) -> Values | None:
        """The variables of this URI; None where it is not one of this template's resources.

        A path of files with a step upwards in it is none: it may lead out of the folder that is offered.
        https://modelcontextprotocol.io/specification/2026-07-28/server/resources#security-considerations
        """
        if uri[:5].lower() == "file:" and leads_up(uri):
            return None
        values = self.template.match(uri)
        return None if values is None or self.required - values.keys() else values

    async def read(self, uri: str, values: Values, context: Context) -> list[dict[str, Any]]:
        """Run the handler for a URI that matched; returns the contents of the result.

        Raises:
            ResourceNotFound: the handler says so.
        """
        return await _read(self, uri, values, context)


async def _read(
    source: Resource | ResourceTemplate, uri: str, values: Values, context: Context
) -> list[dict[str, Any]]:
    keywords: dict[str, Any] = dict(values)
    if source.takes_context:
        keywords[CONTEXT_PARAMETER] = context
    value = await run_handler(source.handler, keywords)
    return contents_of(value, uri, source.shown.mime_type, context.version)


def not_found(uri: str, version: str) -> ProtocolError:
    """The error for a URI that leads to no resource, by revision."""
    code = INVALID_PARAMS if version in NO_RESOURCE_IS_INVALID_PARAMS else RESOURCE_NOT_FOUND
    return ProtocolError(code, "Resource not found", {"uri": uri})


def resource_from_function(
    handler: Callable[..., Any],
    uri: str,
    *,
    name: str | None,
    description: str | None,
    hints: Hints,
    **more: Any,
) -> Resource:
    """Make a resource of a function.

    Raises:
        RegistrationError: the URI is none, or the function cannot be called without arguments.
    """
    whose = f"Resource {uri!r}"
    if not is_uri(uri):
        if "{" in uri:
            raise RegistrationError(
                f"{whose}: a URI has no variables; a template has them: @server.resource_template(...)."
            )
        raise RegistrationError(f"{whose}: this is no URI by RFC 3986: a scheme, a colon, and so on.")
    parameters = parameters_of(whose, handler)
    for parameter in parameters.values():
        if parameter.name != CONTEXT_PARAMETER and _is_needed(parameter):
            raise RegistrationError(
                f"{whose}: the function needs {parameter.name!r}, and nothing gives it. "
                "Only a resource template has variables."
            )
    shown = Shown(
        name_of("resource", name, handler), description=description_of(description, handler), **more
    )
    return Resource(uri, shown, handler, CONTEXT_PARAMETER in parameters, hints)


def template_from_function(
    handler: Callable[..., Any],
    uri_template: str,
    *,
    name: str | None,
    description: str | None,
    hints: Hints,
    complete: Mapping[str, Completer] | None,
    **more: Any,
) -> ResourceTemplate:
    """Make a resource template of a function whose parameters are the template's variables.

    Raises:
        RegistrationError: the text is no URI template, or the function does not fit its variables.
    """
    whose = f"Resource template {uri_template!r}"
    try:
        template = read_template(uri_template)
    except UriTemplateError as error:
        raise RegistrationError(f"{whose}: {error}") from None
    parameters = parameters_of(whose, handler)
    names = [variable.name for variable in template.variables]
    _check_variables(whose, template, parameters, hints_of(whose, handler))
    shown = Shown(
        name_of("resource template", name, handler),
        description=description_of(description, handler),
        **more,
    )
    required = frozenset(one for one in names if one in parameters and _is_needed(parameters[one]))
    return ResourceTemplate(
        template,
        shown,
        handler,
        CONTEXT_PARAMETER in parameters,
        hints,
        required,
        completers_of(whose, complete, names),
    )


def _check_variables(
    whose: str, template: UriTemplate, parameters: Mapping[str, Any], hints: Mapping[str, Any]
) -> None:
    takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    names = {variable.name for variable in template.variables}
    for variable in template.variables:
        if variable.name == CONTEXT_PARAMETER:
            raise RegistrationError(f"{whose}: {CONTEXT_PARAMETER!r} is the Context, and no variable.")
        if variable.name not in parameters and not takes_all:
            raise RegistrationError(f"{whose}: the function has no parameter for {variable.name!r}.")
        wanted: Any = list if variable.is_list else str
        hint = hints.get(variable.name, Any)
        if hint in (int, float, bool, bytes, list if wanted is str else str):
            raise RegistrationError(
                f"{whose}: {variable.name!r} is {'a list of strings' if variable.is_list else 'a string'}, "
                f"not {hint.__name__}."
            )
    for name, parameter in parameters.items():
        if name not in names and name != CONTEXT_PARAMETER and _is_needed(parameter):
            raise RegistrationError(f"{whose}: the function needs {name!r}, which is no variable of it.")


def _is_needed(parameter: Any) -> bool:
    return (
        parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and parameter.default is parameter.empty
    )
