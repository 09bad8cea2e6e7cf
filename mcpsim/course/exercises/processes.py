"""A learner's function as another process would have it: the same code, with data of its own.

What a function keeps outside of itself is there in one process and not in the next: a dict of the notebook, a
default value, a variable of the function around it, an attribute, also one of a class, a cache of functools.
"""

from __future__ import annotations

import contextlib
import copy
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any, Final, cast

_CONTAINERS: Final = (dict, list, set, bytearray, deque)
_METHODS: Final[tuple[Any, ...]] = (classmethod, staticmethod)
_CACHED: Final = type(lru_cache(len))


class _Empty:
    """Has what each class has by itself."""

    name: str


_OF_EACH_CLASS: Final = frozenset(vars(_Empty))


def in_another_process(answer: Any) -> Any:
    """The answer, with copies of the data that it can reach and change; what cannot be copied stays shared.

    Args:
        answer: what the learner wrote: a function, or an object that can be called.
    """
    return _Process(answer).own(answer)


class _Process:
    """Copies, each made once: two functions that share a dict share its copy."""

    def __init__(self, answer: Any) -> None:
        # An object has that of its class.
        self._module = getattr(answer, "__module__", None)
        self._functions: dict[FunctionType, FunctionType] = {}
        self._caches: dict[Any, Any] = {}
        self._classes: dict[type[Any], type[Any]] = {}
        # Of each module its variables, here and there. There are few, and a dict can be no key.
        self._globals: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._copies: dict[int, Any] = {}

    def own(self, value: Any) -> Any:
        """The value as this process has it."""
        if isinstance(value, FunctionType):
            return self._functions[value] if value in self._functions else self._function(value)
        if isinstance(value, type):
            return self._class(cast("type[Any]", value))
        if isinstance(value, _CACHED):
            return self._cached(value)
        kind = cast("type[Any]", type(value))
        return self._copied(value) if self._is_mine(kind) else value

    def _is_mine(self, kind: type[Any]) -> bool:
        return issubclass(kind, _CONTAINERS) or kind.__module__ == self._module

    def _copied(self, value: Any) -> Any:
        try:
            made = copy.deepcopy(value, self._copies)
        except Exception:
            # What was copied before it failed is no good.
            self._copies.clear()
            return value
        # With all that it holds.
        for each in list(self._copies.values()):
            kind = cast("type[Any]", type(each))
            own = self._class(kind)
            if own is not kind:
                with contextlib.suppress(TypeError):
                    # A frozen object refuses any other way.
                    object.__setattr__(each, "__class__", own)
        return made

    def _cached(self, value: Any) -> Any:
        """A function that remembers its results, with none."""
        if value not in self._caches:
            self._caches[value] = lru_cache(**value.cache_parameters())(self.own(value.__wrapped__))
        return self._caches[value]

    def _class(self, kind: type[Any]) -> type[Any]:
        """A class as this process has it: below the learner's, with the same methods and data of its own."""
        if kind in self._classes:
            return self._classes[kind]
        # Known before its parts are looked at: its methods may reach it.
        self._classes[kind] = kind
        if type(kind) is not type or kind.__module__ != self._module:
            return kind
        bases = [own for base in kind.__bases__ if (own := self._class(base)) is not base]
        if not bases and not _keeps_data(kind):
            return kind
        # No more slots: so what is an object of the one can become one of the other.
        names = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
        try:
            made = type(kind.__name__, (kind, *bases), names)
        except Exception:
            # The learner's own code may have a say in it.
            return kind
        self._classes[kind] = made
        for name, value in _values_of(kind).items():
            if (own := self._attribute(value)) is not value:
                setattr(made, name, own)
        return made

    def _attribute(self, value: Any) -> Any:
        for kind in _METHODS:
            if isinstance(value, kind):
                return kind(self._attribute(value.__func__))
        if type(value) is property:
            return property(*map(self._attribute, (value.fget, value.fset, value.fdel)))
        # Where a method asks for `super()`, that is the class above the one it was written in.
        asks_above = isinstance(value, FunctionType) and "__class__" in value.__code__.co_freevars
        return value if asks_above else self.own(value)

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


def _keeps_data(kind: type[Any]) -> bool:
    """Whether there is data in the class itself, or nothing at all: then it is there to be written to."""
    values = _values_of(kind).values()
    return not values or not all(isinstance(value, FunctionType) for value in values)


def _values_of(kind: type[Any]) -> dict[str, Any]:
    return {name: value for name, value in vars(kind).items() if name not in _OF_EACH_CLASS}


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
