"""Whether what the exercises are made of is still what it was."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from operator import is_
from types import FunctionType, ModuleType, NoneType
from typing import Any, Final, cast

# Where a check runs apart, what runs it is `__main__`.
WATCHED: Final = frozenset({"__main__", "builtins", "inspect", "json", "mcpsim", "random"})
# What Python itself writes into classes when they are used.
_ITS_OWN: Final = frozenset({"__abstractmethods__", "__annotations__", "__doc__", "_abc_impl"})

# Nothing can be exchanged within one of these: most of what there is needs no closer look.
_WHOLE: Final = frozenset({bool, bytes, float, frozenset, int, ModuleType, NoneType, str, tuple, type})

Mark = tuple[Any, ...]


class Marks:
    """Every function, class and table of the watched modules, as they are now."""

    def __init__(self) -> None:
        self._marks = dict(_marks())
        self._modules = frozenset(sys.modules)

    def change(self) -> str:
        """The name of something that is no longer as it was, or "" where all of it is.

        What was imported since is new, and no change.
        """
        now = dict(_marks(self._modules))
        for name, mark in self._marks.items():
            if not _same(mark, now.get(name)):
                return name
        for name, mark in now.items():
            if name not in self._marks and not (mark and isinstance(mark[0], ModuleType)):
                return name
        return ""


def _same(before: Mark, now: Mark | None) -> bool:
    return now is not None and len(before) == len(now) and all(map(is_, before, now))


def _marks(names: frozenset[str] | None = None) -> Iterator[tuple[str, Mark]]:
    builtins = vars(sys.modules["builtins"])
    of_builtins = _mark(builtins)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in WATCHED and (names is None or name in names):
            yield name, (module,)
            for key, value in list(vars(module).items()):
                # Every module has this one, and it is by far the largest.
                yield f"{name}.{key}", of_builtins if value is builtins else _mark(value)
                if isinstance(value, type) and value.__module__ == name:
                    yield from _of_class(f"{name}.{key}", value)


def _of_class(name: str, cls: type) -> Iterator[tuple[str, Mark]]:
    for key, value in list(vars(cls).items()):
        if key not in _ITS_OWN:
            yield f"{name}.{key}", _mark(value)


def _mark(value: Any) -> Mark:
    """The objects that have to be the same for this one to be the same."""
    kind = cast("type[Any]", type(value))
    if kind in _WHOLE:
        return (value,)
    if kind is FunctionType:
        return (value, value.__code__, value.__defaults__, value.__kwdefaults__)
    inner = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
    if isinstance(inner, FunctionType):
        return (value, inner.__code__, inner.__defaults__, inner.__kwdefaults__)
    if type(value) is list:
        items = cast("list[Any]", value)
        return (items, *items)
    if isinstance(value, Mapping):
        table = cast("Mapping[Any, Any]", value)
        return (table, *(item for pair in list(table.items()) for item in pair))
    return (value,)
