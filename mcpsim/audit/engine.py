"""Runs the rules over a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, get_args

from pydantic_core import to_json

from mcpsim.audit.model import (
    Call,
    Connection,
    Exchange,
    Item,
    Kind,
    Rounds,
    Session,
    Subscription,
    Trace,
    Walk,
)
from mcpsim.audit.occurring import TRANSPORTS, occurring
from mcpsim.audit.rule import ALL, MUST, Found, Level, Rule
from mcpsim.eras.pages import REFERENCE_REVISION
from mcpsim.eras.revisions import Era, era_of
from mcpsim.recording.interchange import INTERMEDIARIES

_MESSAGES: Final = frozenset({"request", "notification", "response", "error"})
_NOTHING: Final[frozenset[Any]] = frozenset()
_ERAS: Final[frozenset[Any]] = frozenset({*get_args(Era), None})
_PARTS: Final = (Call, Exchange, Session, Walk, Rounds, Subscription, Connection, Trace)


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


class _Group(NamedTuple):
    """Rules, and all parts that each of them is to be asked about."""

    rules: tuple[Rule, ...]
    parts: list[Any]


class SortedRules:
    """Rules by what they look at. For a short trace, to sort them and to choose among them takes longer than
    most else, so both are done once.

    Attributes:
        wanted: what some rule of a kind needs.
        methods: those that some rule is about.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_kind: dict[Any, list[Rule]] = {}
        wanted: dict[Any, set[Any]] = {}
        methods: set[str] = set()
        for rule in rules:
            methods.update(rule.on.methods)
            kinds = _MESSAGES if rule.on.kind == "message" else (rule.on.kind,)
            for kind in kinds:
                self._by_kind.setdefault(kind, []).append(rule)
                wanted.setdefault(kind, set()).update(rule.on.needs, rule.on.among)
        self.wanted: Mapping[Any, frozenset[Any]] = {kind: frozenset(names) for kind, names in wanted.items()}
        self.methods = frozenset(methods)
        self.of_part = lru_cache(maxsize=4096)(self._of_part)
        self.of_whole = lru_cache(maxsize=4096)(self._of_whole)

    def _of_part(self, kind: Any, method: str, revision: str, occurs: frozenset[Any]) -> tuple[Rule, ...]:
        """The rules of a method and of a revision that what occurs in a part can break."""
        return tuple(
            rule
            for rule in self._by_kind.get(kind, ())
            if (not rule.on.methods or method in rule.on.methods)
            and (revision in rule.revisions if revision else rule.revisions == ALL)
            and _has_what_it_needs(rule, occurs)
        )

    def _of_whole(self, kind: Any, occurs: frozenset[Any]) -> tuple[Rule, ...]:
        """The rules that a part can break which may hold several revisions."""
        return tuple(
            rule
            for rule in self._by_kind.get(kind, ())
            if _is_of_an_era(rule, occurs) and _has_what_it_needs(rule, occurs)
        )


class _Table:
    """The rules by what they look at. What was looked up once is remembered, for parts are much alike."""

    def __init__(self, rules: SortedRules) -> None:
        self._rules = rules
        self._found: dict[tuple[Any, str, str, frozenset[Any]], _Group] = {}
        self._of_whole: dict[tuple[Any, frozenset[Any]], _Group] = {}

    def wanted(self, kind: Any) -> frozenset[str]:
        """What some rule of this kind needs."""
        return self._rules.wanted.get(kind, _NOTHING)

    def of(self, kind: Any, method: str, revision: str, occurs: frozenset[Any] = _NOTHING) -> _Group:
        """The group for a part of this kind: the rules of its method and of its revision that what occurs in
        it can break."""
        key = kind, method, revision, occurs
        found = self._found.get(key)
        if found is None:
            # A trace may name any method, however long: what no rule is about is the same to all of them.
            method = method if method in self._rules.methods else ""
            rules = self._rules.of_part(kind, method, revision, occurs)
            found = self._found[key] = _Group(rules, [])
        return found

    def of_whole(self, kind: Any, occurs: set[Any]) -> _Group:
        """The group for a part that may hold several revisions: the rules that it can break."""
        key = kind, (self.wanted(kind) | _ERAS) & occurs
        found = self._of_whole.get(key)
        if found is None:
            found = self._of_whole[key] = _Group(self._rules.of_whole(*key), [])
        return found

    def groups(self) -> list[_Group]:
        """All groups so far: items first, and the whole trace last."""
        found = [(kind, group) for (kind, *_), group in (*self._found.items(), *self._of_whole.items())]
        found.sort(key=lambda one: _PARTS.index(one[0]) if one[0] in _PARTS else -1)
        return [group for _, group in found]


def _is_of_an_era(rule: Rule, occurs: frozenset[Any]) -> bool:
    # A rule of one era is about what belongs to that era, or to none that can be told.
    return rule.on.any_era or None in occurs or not occurs.isdisjoint(rule.pages)


def _has_what_it_needs(rule: Rule, occurs: frozenset[Any]) -> bool:
    on = rule.on
    return occurs.issuperset(on.needs) and (not on.among or not occurs.isdisjoint(on.among))


def known(item: Item) -> str:
    """The revision by which rules are chosen: "" where the one that is named is not known, or names another
    era than the message has."""
    return item.revision if item.era is not None and era_of(item.revision) == item.era else ""


def run(trace: Trace, rules: SortedRules, era: Era | None = None) -> tuple[list[Finding], list[Broken]]:
    """Ask every rule about every part that it is about.

    Args:
        era: of which era the pages are that are named where a connection does not show one.

    Returns:
        The findings in the order of the rows, and the checks that failed by their own fault.
    """
    runner = _Runner(_Table(rules), era)
    runner.items(trace.items)
    everything: set[Any] = set()
    for connection in trace.connections:
        occurs = connection.occurs
        everything |= occurs
        runner.parts(connection)
        runner.whole(Connection, connection, occurs)
    runner.whole(Trace, trace, everything)
    runner.ask()
    runner.found.sort(key=_place)
    return list(dict.fromkeys(runner.found)), runner.broken


class _Runner:
    def __init__(self, table: _Table, era: Era | None) -> None:
        self._table = table
        self._era: Era | None = era
        self.found: list[Finding] = []
        self.broken: list[Broken] = []

    def items(self, items: Sequence[Item]) -> None:
        """Put each item to its rules."""
        of, wanted = self._table.of, {kind: self._table.wanted(kind) for kind in get_args(Kind)}
        inside = {kind: tuple(one for one in wanted[kind] if one[0] == '"') for kind in wanted}
        for item in items:
            kind = item.kind
            names = wanted[kind]
            if names:
                names = names.intersection(
                    (*item.params, *item.result, *item.meta, TRANSPORTS[item.connection.is_http])
                )
            if inside[kind]:
                text = _text(item.value)
                item.may_hold_null = text is None or "null" in text
                deep = [name for name in inside[kind] if text is None or name in text]
                if deep:
                    names = names.union(deep)
            of(kind, item.method, known(item), names).parts.append(item)

    def parts(self, connection: Connection) -> None:
        """Put what a connection is made of to its rules."""
        of = self._table.of
        wanted, transport = self._table.wanted(Call), TRANSPORTS[connection.is_http]
        for call in connection.calls:
            request, answer = call.request, call.answer
            names: tuple[str, ...] = (transport, request.method, *request.params, *request.meta)
            if answer is not None:
                names = (*names, answer.kind, *answer.result)
            of(Call, request.method, known(request), wanted.intersection(names)).parts.append(call)
        for exchange in connection.exchanges:
            self.whole(Exchange, exchange, occurring(_items(exchange), is_http=True))
        for session in connection.sessions:
            of(Session, "", known(session.initialize.request)).parts.append(session)
        for walk in connection.walks:
            of(Walk, walk.method, known(walk.calls[0].request)).parts.append(walk)
        for rounds in connection.rounds:
            of(Rounds, rounds.method, known(rounds.calls[0].request)).parts.append(rounds)
        for subscription in connection.subscriptions:
            of(Subscription, "", known(subscription.call.request)).parts.append(subscription)

    def whole(self, kind: type[Any], part: Any, occurs: set[Any]) -> None:
        """Put a part to its rules that may hold several revisions, and in which this occurs."""
        self._table.of_whole(kind, occurs).parts.append(part)

    def ask(self) -> None:
        """Ask each rule about all its parts: that is faster than to ask about each part all its rules."""
        for rules, parts in self._table.groups():
            for rule in rules:
                check = rule.check
                for part in parts:
                    try:
                        for one in check(part):
                            if not _excused(rule, one):
                                self.found.append(_finding(rule, one, self._era))
                    except Exception as error:  # A fault of ours must not hide what else there is to say.
                        self.broken.append(Broken(rule.id, _index(part), f"{type(error).__name__}: {error}"))


def _text(value: Any) -> str | None:
    """A message as JSON: to look for a name in it is much faster than to walk through it, and in a text twice
    as fast as in bytes. None where it cannot be written."""
    try:
        return to_json(value).decode()
    except (ValueError, RecursionError):
        return None


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


def _finding(rule: Rule, found: Found, usual: Era | None) -> Finding:
    item = found.item
    era = _era_of(rule, item, usual)
    return Finding(
        rule.id,
        found.level or rule.level,
        found.party or _party(rule, item),
        item.index,
        f"{REFERENCE_REVISION[era]}/{rule.pages[era]}",
        found.message,
        found.hint,
    )


def _era_of(rule: Rule, item: Item, usual: Era | None) -> Era:
    # What nothing on the wire shows is known to whoever made the recording.
    for told in (usual if item.connection.is_guessed else None, item.era):
        if told is not None and told in rule.pages:
            return told
    return next(iter(rule.pages))


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
