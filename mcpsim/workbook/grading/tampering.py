"""Whether what the exercises are made of is still what it was."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter, is_
from types import FunctionType, ModuleType, NoneType
from typing import Any, Final, cast

# Where a check runs apart, what runs it is `__main__`.
WATCHED: Final = frozenset({"__main__", "builtins", "inspect", "json", "mcpsim", "random"})
# What Python itself writes into classes when they are used.
_ITS_OWN: Final = frozenset({"__abstractmethods__", "__annotations__", "__doc__", "_abc_impl"})

# Nothing can be exchanged within one of these: most of what there is needs no closer look.
_WHOLE: Final = frozenset({bool, bytes, float, frozenset, int, ModuleType, NoneType, str, tuple, type})

_PARTS_OF_FUNCTIONS: Final = tuple(map(attrgetter, ("__code__", "__defaults__", "__kwdefaults__")))

Mark = tuple[Any, ...]


class Marks:
    """Every function, class and table of the watched modules, as they are now."""

    def __init__(self) -> None:
        self._modules = frozenset(sys.modules)
        self._marks = dict(_marks())
        self._all = _All(self._modules, self._marks.values())

    def change(self) -> str:
        """The name of something that is no longer as it was, or "" where all of it is.

        What was imported since is new, and no change.
        """
        if self._all.is_as_it_was():
            return ""
        now = dict(_marks(self._modules))
        for name, mark in self._marks.items():
            if not _same(mark, now.get(name)):
                return name
        for name, mark in now.items():
            if name not in self._marks and not (mark and isinstance(mark[0], ModuleType)):
                return name
        return ""


class _All:
    """All of it in one row without names: it is gone through in a tenth of the time.

    Args:
        modules: the names of those that were imported.
        marks: what is in them.
    """

    def __init__(self, modules: frozenset[str], marks: Iterable[Mark]) -> None:
        self._modules = modules
        known = dict(_watched(modules))
        builtins = vars(sys.modules["builtins"])
        # Much of it has several names, and one look is enough.
        functions: dict[FunctionType, None] = {}
        classes: dict[type, None] = {}
        self._lists: list[list[Any]] = []
        self._tables: list[Mapping[Any, Any]] = [vars(module) for module in known.values()]
        for value, *_ in marks:
            if (inner := _function_in(value)) is not None:
                functions[inner] = None
            elif isinstance(value, type) and value.__module__ in known:
                classes[value] = None
            elif type(value) is list:
                self._lists.append(cast("list[Any]", value))
            elif isinstance(value, Mapping) and value is not builtins:
                self._tables.append(cast("Mapping[Any, Any]", value))
        self._tables += map(vars, classes)
        self._functions = tuple(functions)
        self._seen = [*self._found(), self]
        self._bounds = self._bounds_now()

    def is_as_it_was(self) -> bool:
        """Whether nothing at all has changed. Something that was imported since is a change, too."""
        return self._bounds_now() == self._bounds and all(map(is_, chain(self._found(), (self,)), self._seen))

    def _bounds_now(self) -> list[str | int]:
        # The row alone tells neither the names of modules nor where a table ends and the next one begins.
        names = (name for name, _ in _watched(self._modules))
        return [*names, *map(len, chain(self._tables, self._lists))]

    def _found(self) -> Iterator[Any]:
        return chain(
            (module for _, module in _watched(self._modules)),
            chain.from_iterable(self._tables),
            chain.from_iterable(table.values() for table in self._tables),
            chain.from_iterable(self._lists),
            *(map(part, self._functions) for part in _PARTS_OF_FUNCTIONS),
        )


def _same(before: Mark, now: Mark | None) -> bool:
    return now is not None and len(before) == len(now) and all(map(is_, before, now))


def _watched(names: frozenset[str] | None) -> Iterator[tuple[str, ModuleType]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in WATCHED and (names is None or name in names):
            yield name, module


def _marks(names: frozenset[str] | None = None) -> Iterator[tuple[str, Mark]]:
    builtins = vars(sys.modules["builtins"])
    for name, module in _watched(names):
        yield name, (module,)
        for key, value in list(vars(module).items()):
            # Every module has this one, and it is by far the largest: it is looked at in its own.
            yield f"{name}.{key}", (value,) if value is builtins else _mark(value)
            if isinstance(value, type) and value.__module__ == name:
                yield from _of_class(f"{name}.{key}", value)


def _of_class(name: str, cls: type) -> Iterator[tuple[str, Mark]]:
    for key, value in list(vars(cls).items()):
        if key not in _ITS_OWN:
            yield f"{name}.{key}", _mark(value)


def _function_in(value: Any) -> FunctionType | None:
    """The function that this one is, or that it is made of, as a method or a property is."""
    kind = cast("type[Any]", type(value))
    if kind in _WHOLE:
        return None
    inner = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
    return inner if isinstance(inner, FunctionType) else None


def _mark(value: Any) -> Mark:
    """The objects that have to be the same for this one to be the same."""
    kind = cast("type[Any]", type(value))
    if kind in _WHOLE:
        return (value,)
    inner = value if kind is FunctionType else _function_in(value)
    if inner is not None:
        return (value, inner.__code__, inner.__defaults__, inner.__kwdefaults__)
    if type(value) is list:
        items = cast("list[Any]", value)
        return (items, *items)
    if isinstance(value, Mapping):
        table = cast("Mapping[Any, Any]", value)
        return (table, *(item for pair in list(table.items()) for item in pair))
    return (value,)
