"""A learner's function as another process would have it: the same code, with data of its own.

What a function keeps outside of itself is there in one process and not in the next: a dict of the notebook, a
default value, a variable of the function around it, an attribute, a cache of functools. A class is the same
everywhere, so that its objects are what they were; what is kept in it comes and goes with each call.
"""

from __future__ import annotations

import copy
from abc import ABCMeta
from collections import deque
from collections.abc import Iterator
from functools import lru_cache, update_wrapper
from types import CellType, CodeType, FunctionType
from typing import Any, Final, cast

_CONTAINERS: Final = (dict, list, set, bytearray, deque, tuple, frozenset)
_CACHED: Final = type(lru_cache(len))
_WRAPPING: Final = (classmethod, staticmethod, property)
#: The kinds of class that know nothing of their attributes but what a class knows.
_PLAIN: Final = (type, ABCMeta)


def in_another_process(answer: Any) -> Any:
    """The answer, with copies of the data that it can reach and change; what cannot be copied stays shared.

    Args:
        answer: what the learner wrote: a function, or an object that can be called.
    """
    process = _Process(answer)
    own = process.own(answer)
    process.know_all()
    return _Entered(own, process.kept) if process.kept and callable(own) else own


class _Entered:
    """A function whose process is there for as long as it runs: with that process's data in the classes.

    Args:
        function: the function.
        kept: the classes, and their data in this process.
    """

    def __init__(self, function: Any, kept: list[tuple[type[Any], dict[str, Any]]]) -> None:
        update_wrapper(self, function, updated=())
        self._function = function
        self._kept = kept

    def __call__(self, *arguments: Any) -> Any:
        outside = [(kind, _data_of(kind)) for kind, _ in self._kept]
        _put(self._kept)
        try:
            return self._function(*arguments)
        finally:
            self._kept = [(kind, _data_of(kind)) for kind, _ in self._kept]
            _put(outside)


def _put(kept: list[tuple[type[Any], dict[str, Any]]]) -> None:
    for kind, data in kept:
        now = _data_of(kind)
        for name in now.keys() - data.keys():
            type.__delattr__(kind, name)
        for name, value in data.items():
            if name not in now or now[name] is not value:
                type.__setattr__(kind, name, value)


def _data_of(kind: type[Any]) -> dict[str, Any]:
    """What is kept in the class itself: no methods, and nothing that is asked when it is looked up."""
    return {name: value for name, value in vars(kind).items() if _is_data(name, value)}


def _is_data(name: str, value: Any) -> bool:
    if name.startswith("__") and name.endswith("__"):
        return False
    return not isinstance(value, type) and not hasattr(cast("type[Any]", type(value)), "__get__")


class _Process:
    """Copies, each made once: two functions that share a dict share its copy.

    Attributes:
        kept: the learner's classes, and their data in this process.
    """

    def __init__(self, answer: Any) -> None:
        # An object has that of its class.
        self._module = getattr(answer, "__module__", None)
        self.kept: list[tuple[type[Any], dict[str, Any]]] = []
        self._functions: dict[FunctionType, FunctionType] = {}
        self._caches: dict[Any, Any] = {}
        # A class may say itself what it is equal to, and then it can be no key.
        self._known: list[type[Any]] = []
        # Of each module its variables, here and there. There are few, and a dict can be no key.
        self._globals: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._copies: dict[int, Any] = {}

    def own(self, value: Any) -> Any:
        """The value as this process has it."""
        if isinstance(value, FunctionType):
            return self._functions[value] if value in self._functions else self._function(value)
        if isinstance(value, type):
            self._know(cast("type[Any]", value))
            return cast("Any", value)
        if isinstance(value, _CACHED):
            return self._cached(value)
        kind = cast("type[Any]", type(value))
        return self._copied(value) if self._is_mine(kind) else value

    def know_all(self) -> None:
        """Find the classes of the objects that were copied, too."""
        for value in list(self._copies.values()):
            self._know(cast("type[Any]", type(value)))

    def _is_mine(self, kind: type[Any]) -> bool:
        return issubclass(kind, _CONTAINERS) or kind.__module__ == self._module

    def _copied(self, value: Any) -> Any:
        try:
            return copy.deepcopy(value, self._copies)
        except Exception:
            # What was copied before it failed is no good.
            self._copies.clear()
            return value

    def _cached(self, value: Any) -> Any:
        """A function that remembers its results, with none."""
        if value not in self._caches:
            self._caches[value] = lru_cache(**value.cache_parameters())(self.own(value.__wrapped__))
        return self._caches[value]

    def _know(self, kind: type[Any]) -> None:
        """Note what a class of the learner's keeps, and look at what its methods reach."""
        if any(known is kind for known in self._known):
            return
        self._known.append(kind)
        if type(kind) not in _PLAIN or vars(kind).get("__module__") != self._module:
            return
        for base in kind.__bases__:
            self._know(base)
        self.kept.append((kind, {name: self.own(value) for name, value in _data_of(kind).items()}))
        for value in vars(kind).values():
            for function in _functions_of(value):
                for name in _names_in(function.__code__):
                    found = function.__globals__.get(name)
                    if isinstance(found, type):
                        self._know(cast("type[Any]", found))

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


def _functions_of(value: Any) -> Iterator[FunctionType]:
    """The functions of an attribute of a class: a method of any kind, or a property."""
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, _WRAPPING):
        for name in ("__func__", "fget", "fset", "fdel"):
            yield from _functions_of(getattr(cast("Any", value), name, None))


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
