"""What closes the workbook: an index of methods, of error codes and of fields, made from the tables that
client, server and audit run on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from mcpsim.course.lessons import LESSONS, Lesson
from mcpsim.course.table import Cell, Table
from mcpsim.eras.methods import METHODS, Method
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS
from mcpsim.errors import ERROR_CODES

ALL: Final[tuple[str, ...]] = (*LEGACY_REVISIONS, *MODERN_REVISIONS)

#: Which lesson is the one on a part of the protocol, by its number. A method that has a lesson of its own
#: stands in `_LESSON_OF_METHOD`.
_LESSON_OF_GROUP: Final[Mapping[str, str]] = {
    "lifecycle": "03",
    "tools": "00",
    "resources": "00",
    "prompts": "00",
    "completion": "00",
    "logging": "05",
    "progress": "08",
    "cancellation": "09",
    "subscriptions": "11",
    "sampling": "10",
    "roots": "10",
    "elicitation": "10",
}
_LESSON_OF_METHOD: Final[Mapping[str, str]] = {
    "server/discover": "04",
    "notifications/elicitation/complete": "05",
    "notifications/tools/list_changed": "11",
    "notifications/prompts/list_changed": "11",
    "notifications/resources/list_changed": "11",
    "notifications/resources/updated": "11",
    "notifications/roots/list_changed": "05",
    "resources/subscribe": "11",
    "resources/unsubscribe": "11",
}
_DIRECTIONS: Final = {"to_server": "client", "to_client": "server", "both": "both"}


def method_index() -> Table:
    """Every method of the core protocol: who sends it, in which revisions, what has to be declared for it,
    and the lesson on it. An *input request* is not sent by itself: it stands in a result.

    https://modelcontextprotocol.io/specification/2026-07-28/schema
    """
    rows = [
        (
            Cell(method.name, code=True),
            Cell(method.kind),
            Cell(_DIRECTIONS[method.direction]),
            Cell(span(sorted(method.revisions))),
            Cell(_needs(method)),
            _lesson(lesson_of(method)),
        )
        for method in METHODS
    ]
    return Table(
        "The methods, in the order of the parts of the protocol",
        ("method", "kind", "sent by", "revisions", "needs", "lesson"),
        tuple(rows),
    )


def error_index() -> Table:
    """Every error code that the specification gives a meaning: the era, the HTTP status where a page names
    one, and what it means.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes
    """
    rows = [
        (
            Cell(str(row.code), code=True),
            Cell(row.name),
            Cell(row.eras[0] if len(row.eras) == 1 else "both"),
            Cell(row.meaning.replace("`", "")),
        )
        for row in sorted(ERROR_CODES.values(), key=lambda row: row.code)
    ]
    return Table("The error codes, by number", ("code", "name", "era", "what it means"), tuple(rows))


def lesson_of(method: Method) -> Lesson:
    """The lesson that a method is explained in."""
    number = _LESSON_OF_METHOD.get(method.name, _LESSON_OF_GROUP[method.group])
    return next(lesson for lesson in LESSONS if lesson.number == number)


def span(revisions: Sequence[str]) -> str:
    """Revisions in words, such as "until 2025-11-25": each run of neighbours as one.

    Args:
        revisions: some of those that we know, in order of time.
    """
    if tuple(revisions) == ALL:
        return "all"
    return ", ".join(_run_in_words(run) for run in _runs(revisions))


def _runs(revisions: Sequence[str]) -> Iterator[list[str]]:
    places = [ALL.index(revision) for revision in revisions]
    for _, run in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
        yield [ALL[place] for _, place in run]


def _run_in_words(run: Sequence[str]) -> str:
    first, last = run[0], run[-1]
    if last == ALL[-1]:
        return f"from {first}"
    if first == last:
        return f"{first} only"
    return f"until {last}" if first == ALL[0] else f"{first} to {last}"


def _needs(method: Method) -> str:
    return f"{method.declared_by}: {method.capability}" if method.capability else ""


def _lesson(lesson: Lesson) -> Cell:
    return Cell(f"{lesson.number} {lesson.title}", lesson.file)
