"""What a rule is: one row of the audit's table.

A rule is bound to a part of the trace (a message, a request with all that belongs to it, an HTTP exchange, a
session ...) and to the revisions that have it. Its check looks at one such part and yields what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from mcpsim.audit.model import (
    Call,
    Item,
    Kind,
    Trace,
    Walk,
)
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS, Era

Level = Literal["MUST", "SHOULD", "note"]
Bound = Literal["client", "server", "gateway", "sender"]

#: What the specification requires, or forbids: MUST, MUST NOT, SHALL, REQUIRED, and what its schema demands.
MUST: Final = "MUST"
#: What it recommends, or advises against.
SHOULD: Final = "SHOULD"
#: What it says without such a word, what two of its pages say differently, and hints.
NOTE: Final = "note"

#: The revisions that a rule holds in.
LEGACY: Final = frozenset(LEGACY_REVISIONS)
MODERN: Final = frozenset(MODERN_REVISIONS)
#: Also for a revision that is not known here.
ALL: Final = LEGACY | MODERN


class On(NamedTuple):
    """What a check is given: every part of the trace of this kind, of these methods (or of any), in which the
    right things occur.

    What occurs in a part is "http" or "stdio", the kinds, methods and events of its items, and the names of
    the members of their params, results and `_meta`; in a message also what `inside` names. A rule that says
    what it is about is not asked where there is none of it: that is much faster, and finds the same. Of
    sessions, walks, rounds and subscriptions nothing is told.

    Attributes:
        kind: of an item, or the type of another part.
        methods: of an item, a call, a walk or rounds: its method is one of these.
        needs: all of these occur.
        among: one of these occurs.
        any_era: of a connection, an exchange or the trace: also where nothing of the eras of the rule's pages
            occurs.
    """

    kind: str | type[Any]
    methods: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    among: tuple[str, ...] = ()
    any_era: bool = False


Names = tuple[str, ...]


def inside(*names: str) -> Names:
    """For `needs` and `among` of a message: it has a member of that name somewhere, however deep."""
    return tuple(f'"{name}"' for name in names)


def messages(*, needs: Names = (), among: Names = ()) -> On:
    """Every request, notification, result and error."""
    return On("message", (), needs, among)


def requests(*methods: str, needs: Names = (), among: Names = ()) -> On:
    """Every request of these methods, or of any."""
    return On("request", methods, needs, among)


def notifications(*methods: str, needs: Names = (), among: Names = ()) -> On:
    """Every notification of these methods, or of any."""
    return On("notification", methods, needs, among)


def results(*methods: str, needs: Names = (), among: Names = ()) -> On:
    """Every result of a request of these methods; of any, also one that answers nothing known."""
    return On("response", methods, needs, among)


def errors(*methods: str, needs: Names = ()) -> On:
    """Every error that answers a request of these methods; of any, also one that answers nothing known."""
    return On("error", methods, needs)


def items(kind: Kind) -> On:
    """Every item of a kind that is no message, such as "unreadable", "batch" or "event"."""
    return On(kind)


def calls(*methods: str, needs: Names = (), among: Names = ()) -> On:
    """Every request of these methods with all that belongs to it, when the whole trace was read. What occurs
    in it: its method, the members of its params, the kind and the members of its answer."""
    return On(Call, methods, needs, among)


def each(part: type[Any], *methods: str, needs: Names = (), among: Names = (), any_era: bool = False) -> On:
    """Every `Exchange`, `Session`, `Walk`, `Rounds`, `Subscription` or `Connection`, or the `Trace` itself;
    a walk or rounds of these methods, or of any."""
    return On(part, methods, needs, among, any_era)


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found.

    Attributes:
        item: where; the finding's index is its row.
        message: one or two sentences: what is there, and what would be right. Texts of the trace in it are
            cut and escaped (`show`).
        hint: what to do about it, or "".
        party: who did it, by name; "" for the one whom the rule binds.
        level: where the check can tell less than the rule says; None for the rule's own.
    """

    item: Item
    message: str
    hint: str = ""
    party: str = ""
    level: Level | None = None


Check = Callable[[Any], Iterable[Found]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One row.

    Attributes:
        id: stable, in lower case with hyphens, such as "pagination-empty-cursor-is-a-cursor".
        level: how strict the specification is.
        bound: who has to keep it. "sender" for both sides.
        revisions: where it holds.
        pages: for each era in which it holds, the page of the specification and the anchor.
        sentence: the rule in our own words, one sentence.
        on: what the check is given.
        check: yields what is wrong.
    """

    id: str
    level: Level
    bound: Bound
    revisions: frozenset[str]
    pages: Mapping[Era, str]
    sentence: str
    on: On
    check: Check


__all__ = [
    "ALL",
    "LEGACY",
    "MODERN",
    "MUST",
    "NOTE",
    "SHOULD",
    "Bound",
    "Check",
    "Found",
    "Level",
    "On",
    "Rule",
    "Trace",
    "Walk",
    "calls",
    "each",
    "errors",
    "inside",
    "items",
    "messages",
    "notifications",
    "requests",
    "results",
]
