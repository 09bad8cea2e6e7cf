"""What the handlers of tools, resources and prompts have in common: parameters, hints, and being called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, cast, get_type_hints

from mcpsim.errors import RegistrationError

CONTEXT_PARAMETER: Final = "context"


def parameters_of(whose: str, handler: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a handler, the context included.

    Args:
        whose: who the handler belongs to, for the error, such as "Tool 'add'".

    Raises:
        RegistrationError: the handler cannot be called by keywords.
    """
    try:
        parameters = dict(inspect.signature(handler).parameters)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"{whose}: its parameters are not known: {error}.") from None
    for parameter in parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise RegistrationError(f"{whose}: the parameter {parameter.name!r} must be callable by keyword.")
    return parameters


def hints_of(whose: str, handler: Callable[..., Any]) -> dict[str, Any]:
    """The type hints of a handler, with what `Annotated` adds to them.

    Raises:
        RegistrationError: a hint names something that is not there.
    """
    target: Any = handler
    while isinstance(target, partial):
        target = cast("partial[Any]", target).func
    if not inspect.isroutine(target):
        # An object that can be called.
        target = type(target).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except Exception as error:
        raise RegistrationError(f"{whose}: a type hint cannot be resolved: {error}.") from None


def name_of(kind: str, name: str | None, handler: Callable[..., Any]) -> str:
    """The given name, or else the handler's own.

    Raises:
        RegistrationError: there is neither.
    """
    found = getattr(handler, "__name__", None) if name is None else name
    if found is None:
        raise RegistrationError(f"A {kind} needs a name, and this handler has none of its own.")
    return found


def description_of(description: str | None, handler: Callable[..., Any]) -> str:
    """The given description, or else the handler's docstring, or ""."""
    return inspect.getdoc(handler) or "" if description is None else description


async def run_handler(handler: Callable[..., Any], keywords: Mapping[str, Any], *positional: Any) -> Any:
    """Call a handler, which may be a coroutine function or a plain one."""
    value = handler(*positional, **keywords)
    return await value if inspect.isawaitable(value) else value
