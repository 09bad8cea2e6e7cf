"""Read a learner's values as exact plain ones: a subclass of `str` may lie about what it equals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from mcpsim.course.exercises.learner import is_placeholder
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet


def as_text(value: object) -> str | None:
    """The value as an exact string, or None where it is none."""
    return str.__str__(value) if isinstance(value, str) else None


def as_integer(value: object) -> int | None:
    """The value as an exact integer, or None where it is none. True and False are none."""
    return int.__int__(value) if isinstance(value, int) and not isinstance(value, bool) else None


def items_of(value: object) -> list[Any] | None:
    """The items of a list or a tuple, or None where it is neither."""
    return list(cast("Iterable[Any]", value)) if isinstance(value, list | tuple) else None


def texts_of(value: object) -> list[str | None] | None:
    """The items of a list or a tuple as exact strings; None for an item that is none."""
    items = items_of(value)
    return None if items is None else [as_text(item) for item in items]


def integers_of(value: object) -> list[int | None] | None:
    """The items of a list or a tuple as exact integers; None for an item that is none."""
    items = items_of(value)
    return None if items is None else [as_integer(item) for item in items]


def filled_in(answer: object, keys: tuple[str, ...], name: str) -> dict[str, Any]:
    """The answers by letter, as an exact dict, without those that are still `...`.

    Args:
        keys: the letters that the task asks for.
        name: what the starter calls the answer.

    Raises:
        NotAttempted: all of them are still `...`.
        NotYet: it is no dict, or has other keys.
    """
    wanted = f"`{name}` is a dict with the keys {', '.join(keys)}."
    if not isinstance(answer, dict):
        raise NotYet(f"The answer is {show(answer)}.", look=wanted)
    given = dict(cast("Mapping[Any, Any]", answer).items())
    strange = [key for key in given if as_text(key) not in keys]
    if strange:
        raise NotYet(f"The answer has a key {show(strange[0])}.", look=wanted)
    missing = [key for key in keys if key not in given]
    if missing:
        raise NotYet(f"The answer has no key {', '.join(missing)}.", look=wanted)
    filled = {key: given[key] for key in keys if not is_placeholder(given[key])}
    if not filled:
        raise NotAttempted
    return filled


def require_complete(filled: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Every letter has an answer.

    Raises:
        NotYet: naming those that are still `...`.
    """
    still = [key for key in keys if key not in filled]
    if still:
        raise NotYet(
            f"{len(filled)} of {len(keys)} are answered, and they are right.",
            look=f"Still open: {', '.join(still)}.",
        )
