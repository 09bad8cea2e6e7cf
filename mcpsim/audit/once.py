"""What several rules have to work out of the same part of a trace is worked out once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Concatenate, ParamSpec, TypeVar

from mcpsim.audit.model import Connection, Trace

Part = TypeVar("Part", Connection, Trace)
Made = TypeVar("Made")
More = ParamSpec("More")


def once(
    make: Callable[Concatenate[Part, More], Made],
) -> Callable[Concatenate[Part, More], Made]:
    """Make a function remember what it makes of a connection or a trace, for as long as that lives.

    What else it takes must be hashable, and nobody may change what it gives.
    """

    def made(part: Part, *more: More.args, **named: More.kwargs) -> Made:
        key: Hashable = (make, more) if more else make
        known = part.worked_out
        if key not in known:
            known[key] = make(part, *more, **named)
        return known[key]

    return made
