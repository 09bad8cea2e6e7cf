"""Suggestions for the arguments of a prompt and for the variables of a resource template.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from mcpsim.errors import RegistrationError
from mcpsim.server.handlers import run_handler

MAX_VALUES: Final = 100

Completer = Callable[[str, Mapping[str, str]], Any]
"""Called with what the user has typed, and with the arguments that stand already; returns strings, the best
first. It may be a coroutine function."""


def completers_of(
    whose: str, complete: Mapping[str, Completer] | None, names: Iterable[str]
) -> dict[str, Completer]:
    """The completers, checked against the names of the arguments.

    Raises:
        RegistrationError: one is for an argument that is not there.
    """
    known = tuple(names)
    for name in complete or {}:
        if name not in known:
            raise RegistrationError(
                f"{whose}: complete names {name!r}, which is none of its arguments ({', '.join(known)})."
            )
    return dict(complete or {})


async def completion_result(
    completer: Completer | None, value: str, context_arguments: Mapping[str, str]
) -> dict[str, Any]:
    """The result of `completion/complete`: at most 100 values, how many there are, and whether that is all.

    Args:
        completer: None for an argument that has no suggestions.

    Raises:
        TypeError: the completer returned something else than strings.
    """
    values: Any = (
        () if completer is None else await run_handler(completer, {}, value, dict(context_arguments))
    )
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"a completer returns a list of strings, not {type(values).__name__}")
    found = list(cast("Iterable[Any]", values))
    for one in found:
        if not isinstance(one, str):
            raise TypeError(f"a completer returns strings, not {type(one).__name__}")
    return {
        "completion": {
            "values": found[:MAX_VALUES],
            "total": len(found),
            "hasMore": len(found) > MAX_VALUES,
        }
    }
