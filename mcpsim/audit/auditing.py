"""From anything that was recorded to a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Any, Final, cast, get_args

from mcpsim.audit.annotating import annotate
from mcpsim.audit.building import Key, build, key_of
from mcpsim.audit.completeness import gaps
from mcpsim.audit.engine import Finding, SortedRules, run
from mcpsim.audit.model import Call, Trace
from mcpsim.audit.report import Incomplete, Report, Skipped
from mcpsim.audit.rule import MUST, NOTE, SHOULD, Level
from mcpsim.audit.rules import RULES
from mcpsim.audit.rules.result_types import ABSENT as IN_DOUBT
from mcpsim.audit.schema import ID as SCHEMA
from mcpsim.audit.wire import Wire
from mcpsim.eras.revisions import LEGACY_REVISIONS, Era
from mcpsim.recording import Recording
from mcpsim.recording.collecting import without_collecting
from mcpsim.recording.exporting import to_numbered_interchange
from mcpsim.recording.readers import ReadTrace

_EVERY_RULE: Final = SortedRules(RULES)


def audit(source: Recording | ReadTrace | Iterable[Mapping[str, Any]]) -> Report:
    """Say of a trace what each message is, and which rules of the specification it breaks.

    A trace may be cut off at both ends, hold several connections, both eras, and anything that is no message
    at all: there is a report in any case.

    Args:
        source: a recording; what `mcpsim.recording.readers.read_trace` read; or the rows of a trace in the
            interchange form, as dicts.
    """
    with without_collecting():
        if isinstance(source, Recording):
            return _of_recording(source)
        if isinstance(source, ReadTrace):
            return _of_trace(source)
        return _report(*_objects(list(enumerate(source))))


def _of_trace(trace: ReadTrace) -> Report:
    before = tuple(Skipped(one.where, one.why) for one in trace.skipped)
    if trace.recording is not None:
        report = _of_recording(trace.recording)
        return replace(report, skipped=(*before, *report.skipped), notes=trace.notes)
    numbered: list[tuple[int, Mapping[str, Any]]] = [
        (index, row) for index, (row, _) in zip(trace.indices, trace.rows, strict=True)
    ]

    def where() -> Mapping[int, str]:
        return dict(zip(trace.indices, (place for _, place in trace.rows), strict=True))

    return _report(numbered, (), skipped=before, notes=trace.notes, where=where)


def _of_recording(recording: Recording) -> Report:
    rows: list[tuple[int, Mapping[str, Any]]] = []
    seen: list[int] = []
    disturbed: set[int] = set()
    copies: set[int] = set()
    wire = Wire.of(recording.frames)
    by_number = {frame.number: frame for frame in recording.frames}
    for index, (seen_at, row) in enumerate(to_numbered_interchange(recording.events)):
        event = recording.events[seen_at]
        frame = by_number.get(event.frame) if "event" not in row else None
        rows.append((index, row))
        # A step of its own has the moment when a message left, and not the one when it arrived.
        seen.append(seen_at if frame is None else frame.index)
        if frame is None:
            if wire.broke(event):
                disturbed.add(index)
            continue
        # What a server sent is seen when it arrives.
        if wire.disturbed(frame, may_overtake=row["from"] == "server"):
            disturbed.add(index)
        if frame.copy_of:
            copies.add(index)
    era = _only_era(recording)
    return _report(rows, (), disturbed=disturbed, copies=copies, events=tuple(seen), era=era)


def _only_era(recording: Recording) -> Era | None:
    """The era of all its clients, where whoever recorded it knew it, and it is one."""
    told = recording.header.get("era")
    eras = list(cast("Mapping[str, Any]", told).values()) if isinstance(told, Mapping) else []
    return next((one for one in get_args(Era) if eras and all(each == one for each in eras)), None)


def _report(
    rows: list[tuple[int, Mapping[str, Any]]],
    refused: Iterable[Skipped],
    *,
    disturbed: Iterable[int] = (),
    copies: Iterable[int] = (),
    skipped: tuple[Skipped, ...] = (),
    notes: tuple[str, ...] = (),
    where: Callable[[], Mapping[int, str]] | None = None,
    events: tuple[int, ...] = (),
    era: Era | None = None,
) -> Report:
    disturbed, copies = frozenset(disturbed), frozenset(copies)
    trace, bad = build(rows, disturbed=disturbed, copies=copies)
    findings, broken = run(trace, _EVERY_RULE, era)
    guessed = {item.index for one in trace.connections if one.is_guessed for item in one.items}
    if guessed:
        findings = _in_every_revision(rows, disturbed, copies, findings, guessed)
    places: Mapping[int, str] = where() if where is not None and bad else {}
    left_out = [
        *skipped,
        *refused,
        *(Skipped(places.get(one.row, f"row {one.row}"), one.why) for one in bad),
        *(Skipped(f"row {one.index}", f"The rule {one.rule} failed: {one.why}") for one in broken),
    ]
    report = Report(
        findings=tuple(_without_echoes(findings, trace)),
        annotations=tuple(annotate(trace)),
        incomplete=tuple(Incomplete(gap.kind, gap.item.index, gap.message) for gap in gaps(trace)),
        skipped=tuple(left_out),
        notes=notes,
        messages=sum(item.message is not None for item in trace.items),
        events=events,
    )
    _let_go(trace)
    return report


def _let_go(trace: Trace) -> None:
    """Undo what ties the parts of a trace to each other: so they end at once, and the collector need not look
    for them."""
    for item in trace.items:
        item.call = item.session = item.exchange = None
    for connection in trace.connections:
        connection.items.clear()
        connection.calls.clear()
        connection.worked_out.clear()
    trace.worked_out.clear()


def _in_every_revision(
    rows: list[tuple[int, Mapping[str, Any]]],
    disturbed: frozenset[int],
    copies: frozenset[int],
    findings: list[Finding],
    guessed: Set[int],
) -> list[Finding]:
    """Where a trace does not show of which legacy revision it is: nobody is accused of what is no breach, or
    a lesser one, in a revision that it may be."""
    for revision in LEGACY_REVISIONS[:-1]:
        doubted = {one.rule for one in findings if one.level != NOTE and one.index in guessed}
        if not doubted:
            break
        other, _ = build(rows, disturbed=disturbed, copies=copies, assumed=revision)
        levels: dict[tuple[str, str, int], int] = {}
        for one in run(other, SortedRules(rule for rule in RULES if rule.id in doubted))[0]:
            key = one.rule, one.party, one.index
            levels[key] = min(_RANKS.index(one.level), levels.get(key, len(_RANKS)))
        findings = [
            _at_most(one, levels.get((one.rule, one.party, one.index), 0)) if one.index in guessed else one
            for one in findings
        ]
    return findings


_RANKS: Final[tuple[Level, ...]] = (NOTE, SHOULD, MUST)
_DOUBT: Final = " The trace does not show which revision this is, and not every one demands it."


def _at_most(finding: Finding, rank: int) -> Finding:
    if _RANKS.index(finding.level) <= rank:
        return finding
    message = finding.message.removesuffix(_DOUBT) + _DOUBT
    return replace(finding, level=_RANKS[rank], message=message)


def _objects(
    rows: list[tuple[int, Any]],
) -> tuple[list[tuple[int, Mapping[str, Any]]], list[Skipped]]:
    good: list[tuple[int, Mapping[str, Any]]] = []
    refused: list[Skipped] = []
    for index, row in rows:
        if isinstance(row, Mapping):
            good.append((index, cast("Mapping[str, Any]", row)))
        else:
            refused.append(Skipped(f"row {index}", "It is no object."))
    return good, refused


def _without_echoes(findings: list[Finding], trace: Trace) -> Iterator[Finding]:
    """The schema says once more, in general, what a rule has said in particular. And where it is in doubt
    which revision a result is of, or which request, the schema of one of them says nothing."""
    said = {
        one.index for one in findings if one.rule == IN_DOUBT or (one.level == MUST and one.rule != SCHEMA)
    }
    if any(one.rule == SCHEMA and one.index not in said for one in findings):
        said |= _of_either(trace)
    return (one for one in findings if one.rule != SCHEMA or one.index not in said)


def _of_either(trace: Trace) -> set[int]:
    """The answers whose id two requests had that both waited for one."""
    found: set[int] = set()
    for connection in trace.connections:
        latest: dict[tuple[str, Key], Call] = {}
        for call in connection.calls:
            key = key_of(call.asked_by, call.request.id)
            if key is None:
                continue
            before = latest.get((call.principal or "", key))
            latest[call.principal or "", key] = call
            if before is not None and (before.answer is None or before.answer.index > call.request.index):
                both = (before.answer, *before.more_answers, call.answer, *call.more_answers)
                found.update(answer.index for answer in both if answer is not None)
    return found
