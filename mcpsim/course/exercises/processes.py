"""A learner's function as another process would have it: the same code, with data of its own.

What a function keeps outside of itself is there in one process and not in the next: a dict of the notebook, a
default value, a variable of the function around it, an attribute.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any, Final, cast

_CONTAINERS: Final = (dict, list, set, bytearray, deque)


def in_another_process(answer: Any) -> Any:
    """The answer, with copies of the data that it can reach and change; what cannot be copied stays shared.

    Args:
        answer: what the learner wrote: a function, or an object that can be called.
    """
    return _Process(answer).own(answer)


class _Process:
    """Copies, each made once: two functions that share a dict share its copy."""

    def __init__(self, answer: Any) -> None:
        written_in = answer if isinstance(answer, FunctionType) else cast("type[Any]", type(answer))
        self._module = written_in.__module__
        self._functions: dict[FunctionType, FunctionType] = {}
        # Of each module its variables, here and there. There are few, and a dict can be no key.
        self._globals: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._copies: dict[int, Any] = {}

    def own(self, value: Any) -> Any:
        """The value as this process has it."""
        if isinstance(value, FunctionType):
            return self._functions[value] if value in self._functions else self._function(value)
        kind = cast("type[Any]", type(value))
        return self._copied(value) if self._is_mine(kind) else value

    def _is_mine(self, kind: type[Any]) -> bool:
        return issubclass(kind, _CONTAINERS) or kind.__module__ == self._module

    def _copied(self, value: Any) -> Any:
        try:
            return copy.deepcopy(value, self._copies)
        except Exception:
            # What was copied before it failed is no good.
            self._copies.clear()
            return value

    def _function(self, function: FunctionType) -> FunctionType:
        names = self._names(function.__globals__)
        around = function.__closure__ or ()
        cells = tuple(CellType() for _ in around)
        made = FunctionType(function.__code__, names, function.__name__, None, cells or None)
        # Known before its parts are looked at: a function may reach itself.
        self._functions[function] = made
        made.__module__ = function.__module__
        if function.__defaults__ is not None:
            made.__defaults__ = tuple(map(self.own, function.__defaults__))
        given: dict[str, Any] | None = function.__kwdefaults__
        made.__kwdefaults__ = cast("Any", None if given is None else self._all(given))
        made.__dict__.update(self._all(function.__dict__))
        for cell, theirs in zip(cells, around, strict=True):
            if _is_set(theirs):
                cell.cell_contents = self.own(theirs.cell_contents)
        for name in _names_in(function.__code__):
            if name in function.__globals__:
                names[name] = self.own(function.__globals__[name])
        return made

    def _names(self, theirs: dict[str, Any]) -> dict[str, Any]:
        for known, names in self._globals:
            if known is theirs:
                return names
        names = dict(theirs)
        self._globals.append((theirs, names))
        return names

    def _all(self, values: dict[str, Any]) -> dict[str, Any]:
        return {name: self.own(value) for name, value in values.items()}


def _is_set(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _names_in(code: CodeType) -> Iterator[str]:
    """The names that a function, and what is defined in it, looks up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
