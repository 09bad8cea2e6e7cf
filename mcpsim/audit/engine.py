"""Runs the rules over a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from mcpsim.audit.model import Call, Connection, Exchange, Item, Rounds, Session, Subscription, Trace, Walk
from mcpsim.audit.rule import ALL, MUST, Found, Level, Rule
from mcpsim.eras.pages import REFERENCE_REVISION
from mcpsim.eras.revisions import Era, era_of
from mcpsim.recording.interchange import INTERMEDIARIES

_MESSAGES: Final = frozenset({"request", "notification", "response", "error"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule, in one place.

    Attributes:
        rule: the id of the rule.
        level: "MUST", "SHOULD" or "note".
        party: who broke it: "client", "server", or the intermediary by its name.
        index: the 0-based row of the interchange form.
        spec: revision, page and anchor, such as "2026-07-28/basic/index#meta".
        message: what is there, and what would be right.
        hint: what to do about it, or "".
    """

    rule: str
    level: Level
    party: str
    index: int
    spec: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A check that could not be carried out: a fault of the audit, and not of the trace."""

    rule: str
    index: int
    why: str


class _Table:
    """The rules by what they look at."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._by_kind: dict[Any, list[Rule]] = {}
        for rule in rules:
            kinds = _MESSAGES if rule.on.kind == "message" else (rule.on.kind,)
            for kind in kinds:
                self._by_kind.setdefault(kind, []).append(rule)
        self._found: dict[tuple[Any, str, str], tuple[Rule, ...]] = {}
        self._of_whole: dict[tuple[Any, frozenset[Any]], tuple[Rule, ...]] = {}
        named = (name for rule in rules for name in (*rule.on.methods, *rule.on.needs))
        self._wanted: frozenset[Any] = frozenset(named).union(get_args(Era), (None,))

    def of(self, kind: Any, method: str, revision: str) -> tuple[Rule, ...]:
        """The rules for a part of this kind: those of its method and of its revision."""
        key = kind, method, revision
        found = self._found.get(key)
        if found is None:
            found = tuple(
                rule
                for rule in self._by_kind.get(kind, ())
                if (not rule.on.methods or method in rule.on.methods)
                and (revision in rule.revisions if revision else rule.revisions == ALL)
            )
            self._found[key] = found
        return found

    def of_whole(self, kind: Any, occurs: set[Any]) -> tuple[Rule, ...]:
        """The rules for a part that may hold several revisions: those that what occurs in it can break."""
        key = kind, self._wanted & occurs
        found = self._of_whole.get(key)
        if found is None:
            found = tuple(rule for rule in self._by_kind.get(kind, ()) if _may_break(rule, occurs))
            self._of_whole[key] = found
        return found


def _may_break(rule: Rule, occurs: set[Any]) -> bool:
    # A rule of one era is about what belongs to that era, or to none that can be told.
    return (
        (rule.on.any_era or None in occurs or not occurs.isdisjoint(rule.pages))
        and (not rule.on.methods or not occurs.isdisjoint(rule.on.methods))
        and occurs.issuperset(rule.on.needs)
    )


def _occurs(items: Iterable[Item]) -> set[Any]:
    """What occurs in a part of the trace (see `On`)."""
    found: set[Any] = set()
    for item in items:
        found.add(item.kind)
        found.add(item.method)
        found.add(item.era)
        found.update(item.params)
        found.update(item.result)
    return found


def known(item: Item) -> str:
    """The revision by which rules are chosen: "" where the one that is named is not known, or names another
    era than the message has."""
    return item.revision if item.era is not None and era_of(item.revision) == item.era else ""


def run(trace: Trace, rules: Sequence[Rule]) -> tuple[list[Finding], list[Broken]]:
    """Ask every rule about every part that it is about.

    Returns:
        The findings in the order of the rows, and the checks that failed by their own fault.
    """
    runner = _Runner(_Table(rules))
    runner.items(trace.items)
    everything: set[Any] = set()
    for connection in trace.connections:
        occurs = _occurs(connection.items)
        occurs.add("http" if connection.is_http else "stdio")
        everything |= occurs
        runner.parts(connection)
        runner.whole(Connection, connection, occurs)
    runner.whole(Trace, trace, everything)
    runner.found.sort(key=_place)
    return list(dict.fromkeys(runner.found)), runner.broken


class _Runner:
    def __init__(self, table: _Table) -> None:
        self._table = table
        self.found: list[Finding] = []
        self.broken: list[Broken] = []

    def items(self, items: Sequence[Item]) -> None:
        """Ask about each item."""
        of = self._table.of
        for item in items:
            self._ask(of(item.kind, item.method, known(item)), item)

    def parts(self, connection: Connection) -> None:
        """Ask about what a connection is made of."""
        of = self._table.of
        for call in connection.calls:
            rules = of(Call, call.method, known(call.request))
            if rules:
                self._ask(rules, call)
        for exchange in connection.exchanges:
            self.whole(Exchange, exchange, _occurs(_items(exchange)))
        for session in connection.sessions:
            self._ask(of(Session, "", known(session.initialize.request)), session)
        for walk in connection.walks:
            self._ask(of(Walk, walk.method, known(walk.calls[0].request)), walk)
        for rounds in connection.rounds:
            self._ask(of(Rounds, rounds.method, known(rounds.calls[0].request)), rounds)
        for subscription in connection.subscriptions:
            self._ask(of(Subscription, "", known(subscription.call.request)), subscription)

    def whole(self, kind: type[Any], part: Any, occurs: set[Any]) -> None:
        """Ask about a part that may hold several revisions, and in which this occurs."""
        self._ask(self._table.of_whole(kind, occurs), part)

    def _ask(self, rules: tuple[Rule, ...], part: Any) -> None:
        for rule in rules:
            try:
                for one in rule.check(part):
                    if not _excused(rule, one):
                        self.found.append(_finding(rule, one))
            except Exception as error:  # A fault of ours must not hide what else there is to say.
                self.broken.append(Broken(rule.id, _index(part), f"{type(error).__name__}: {error}"))


def _items(exchange: Exchange) -> Iterator[Item]:
    if exchange.request is not None:
        yield exchange.request
    yield from exchange.answers
    if exchange.closed is not None:
        yield exchange.closed


_ORDER: Final = {MUST: 0, "SHOULD": 1, "note": 2}


def _place(finding: Finding) -> tuple[int, int]:
    return finding.index, _ORDER[finding.level]


def _index(part: Any) -> int:
    if isinstance(part, Item):
        return part.index
    return part.request.index if isinstance(part, Call) else 0


def _excused(rule: Rule, found: Found) -> bool:
    """Whether the wire is at fault, and nobody else: it lost, doubled or changed something here. Or whether
    the message is of a revision that is not known here, for which the rule may not hold."""
    item = found.item
    if item.disturbed or (rule.revisions != ALL and _is_of_unknown(item)):
        return True
    call = item.call
    return call is not None and call.request is not item and call.request.disturbed


def _is_of_unknown(item: Item) -> bool:
    return bool(item.revision) and item.era is not None and era_of(item.revision) is None


def _finding(rule: Rule, found: Found) -> Finding:
    item = found.item
    era = item.era if item.era is not None and item.era in rule.pages else next(iter(rule.pages))
    return Finding(
        rule.id,
        found.level or rule.level,
        found.party or _party(rule, item),
        item.index,
        f"{REFERENCE_REVISION[era]}/{rule.pages[era]}",
        found.message,
        found.hint,
    )


def _party(rule: Rule, item: Item) -> str:
    connection = item.connection
    if rule.bound == "client":
        return connection.client
    if rule.bound == "server":
        return connection.server
    if rule.bound == "gateway":
        between = [one for one in (connection.server, connection.client) if one in INTERMEDIARIES]
        return between[0] if between else item.party
    return item.party
