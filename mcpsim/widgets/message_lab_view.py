"""What the message lab shows, as plain data: what was sent, what each step said, and what came back. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple, cast

from mcpsim.eras.legacy import Phase
from mcpsim.messages import Batch, ErrorResponse, RequestId, Response
from mcpsim.recording import Event, Frame, Recording, events
from mcpsim.simulation.world import CLIENT_LANE
from mcpsim.transports.http import REASONS
from mcpsim.widgets.message_lab_known import Known
from mcpsim.widgets.message_lab_steps import (
    IGNORED,
    NOT_REACHED,
    PASSED,
    REFUSED,
    RUNNING,
    Check,
    Walked,
)
from mcpsim.widgets.message_lab_templates import Template
from mcpsim.widgets.steps import steps_of
from mcpsim.widgets.still import still_of
from mcpsim.widgets.text import clock, one_line

#: How many messages of an exchange are shown, and how many characters of them together.
MAX_SHOWN: Final = 40
MAX_CHARACTERS: Final = 300_000
MAX_FINDINGS: Final = 20
#: How many of the last exchanges a stored output holds.
MAX_STILL: Final = 3

MARKS: Final[Mapping[str, str]] = {
    PASSED: "✓",
    REFUSED: "✗",
    IGNORED: "–",
    RUNNING: "…",
    NOT_REACHED: "·",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was sent by hand.

    Attributes:
        number: from 1.
        text: the body, as it stood in the editor.
        begin: the position of the first event that belongs to it.
        walked: what the server makes of each message in it.
        left_out: how many more messages were in it.
        method, path, headers: of HTTP; "" and () on stdio.
        exchange: of HTTP, otherwise 0.
    """

    number: int
    text: str
    begin: int
    walked: tuple[Walked, ...]
    left_out: int = 0
    method: str = ""
    path: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    exchange: int = 0

    @property
    def label(self) -> str:
        """What it is, in short."""
        if not self.walked:
            return "nothing"
        more = len(self.walked) - 1 + self.left_out
        return one_line(self.walked[0].label, 80) + (f" and {more} more" if more else "")


class Outcome(NamedTuple):
    """How an exchange stands.

    Attributes:
        mark: "ok", "error", "open" (something is still to come) or "none" (nothing is due).
        short: in a word or two.
        sentence: in a sentence.
    """

    mark: str
    short: str
    sentence: str


def end_of(entries: Sequence[Entry], at: int, recording: Recording) -> int:
    """The position behind the last event that belongs to an exchange."""
    return entries[at + 1].begin if at + 1 < len(entries) else len(recording.events)


# ------------------------------------------------------------------------------------------- the steps


def finished(walked: Walked, entry: Entry, recording: Recording) -> tuple[Check, ...]:
    """The checks of a message, with what became of its handler."""
    if not walked.awaits:
        return walked.checks
    started, ended = _handler(walked.id, entry, recording.events)
    answer = answer_to(walked, entry, recording)
    first = next(at for at, check in enumerate(walked.checks) if check.outcome == NOT_REACHED)
    run = _run_check(walked.checks[first], started, ended, answer)
    after = walked.checks[first + 1 :]
    if ended is not None:
        after = tuple(one._replace(outcome=PASSED) for one in after)
    return (*walked.checks[:first], run, *after)


def _run_check(
    check: Check, started: Event | None, ended: Event | None, answer: Response | ErrorResponse | None
) -> Check:
    if isinstance(answer, ErrorResponse):
        said = one_line(answer.message, 400)
        if started is None:
            said = f"Refused before the handler ran: {said}"
        return check._replace(outcome=REFUSED, said=said, code=answer.code)
    if started is None:
        return check
    if ended is None:
        return check._replace(outcome=RUNNING, said=f"At work since {clock(started.at_us)}.")
    took = clock(ended.at_us - started.at_us)
    if ended.kind == events.HANDLER_CANCELLED:
        return check._replace(outcome=REFUSED, said=f"It was stopped after {took}. No answer is sent.")
    how = str((ended.detail or {}).get("outcome", ""))
    return check._replace(outcome=PASSED, said=f"It took {took}, and ended with: {one_line(how, 40)}.")


def _handler(id: RequestId | None, entry: Entry, found: Sequence[Event]) -> tuple[Event | None, Event | None]:
    """When the handler of a request started and ended."""
    started: Event | None = None
    for event in found[entry.begin :]:
        detail = event.detail or {}
        same = type(detail.get("id")) is type(id) and detail.get("id") == id
        if not same or event.exchange != entry.exchange:
            continue
        if event.kind == events.HANDLER_STARTED and started is None:
            started = event
        elif event.kind in (events.HANDLER_FINISHED, events.HANDLER_CANCELLED) and started is not None:
            return started, event
    return started, None


def answer_to(walked: Walked, entry: Entry, recording: Recording) -> Response | ErrorResponse | None:
    """The answer to a message of an exchange, if it has come."""
    # An error without an id answers what could not be read; on HTTP the exchange says what that was.
    unread = bool(entry.exchange) or (walked.id is None and walked.refused is not None)
    for frame in _frames(recording, entry):
        if frame.fate != "delivered":
            continue
        parsed = frame.parsed
        for message in parsed.members if isinstance(parsed, Batch) else (parsed,):
            if not isinstance(message, Response | ErrorResponse):
                continue
            same = type(message.id) is type(walked.id) and message.id == walked.id
            if unread if message.id is None else same:
                return message
    return None


def _frames(recording: Recording, entry: Entry) -> Iterator[Frame]:
    """What the server sent since then, and on HTTP in that exchange."""
    for frame in recording.frames:
        if frame.index >= entry.begin and frame.sender != CLIENT_LANE and frame.exchange == entry.exchange:
            yield frame


def outcome_of(entry: Entry, recording: Recording) -> Outcome:
    """How an exchange stands now."""
    if len(entry.walked) != 1 or entry.left_out:
        answers = [answer_to(one, entry, recording) for one in entry.walked]
        came = sum(answer is not None for answer in answers)
        count = len(entry.walked) + entry.left_out
        wrong = any(isinstance(answer, ErrorResponse) for answer in answers)
        sentence = f"{count} messages were sent, and {came} of them are answered."
        return Outcome("error" if wrong else "ok", f"{came} of {count} answered", sentence)
    walked = entry.walked[0]
    answer = answer_to(walked, entry, recording)
    if answer is not None:
        return _answered(walked, answer)
    return _unanswered(walked, entry, recording)


def _answered(walked: Walked, answer: Response | ErrorResponse) -> Outcome:
    if isinstance(answer, ErrorResponse):
        short = f"error {answer.code}"
        refused = walked.refused
        if refused is not None:
            where = f"{refused.title.rstrip('?')}: the server refuses it here"
            return Outcome("error", short, f"{where}, with error {answer.code}.")
        return Outcome("error", short, f"The server answered with error {answer.code}.")
    result = answer.result
    if result.get("resultType") == "input_required":
        sentence = "The server asks for input first: send the request again with answers, and its state."
        return Outcome("ok", "input required", sentence)
    if result.get("isError") is True:
        return Outcome("ok", "tool error", "The tool failed, and the result says how. For the model to read.")
    return Outcome("ok", "result", "The server answered with a result.")


def _unanswered(walked: Walked, entry: Entry, recording: Recording) -> Outcome:
    head = next((frame.head for frame in _frames(recording, entry) if frame.head is not None), None)
    status = (head or {}).get("status", 0)
    if status >= 400:
        reason = f"HTTP {status} {REASONS.get(status, '')}".rstrip()
        return Outcome("error", f"HTTP {status}", f"The server refused it: {reason}.")
    started, ended = _handler(walked.id, entry, recording.events) if walked.awaits else (None, None)
    if ended is not None and ended.kind == events.HANDLER_CANCELLED:
        return Outcome("none", "cancelled", "Its work was stopped, and no answer will come.")
    if started is not None and walked.label.startswith("subscriptions/listen "):
        return Outcome("open", "open", "The subscription is open: the server tells of changes from now on.")
    if started is not None or walked.awaits:
        return Outcome("open", "at work", "The server is still at work on it. Let time pass.")
    if status:
        reason = f"HTTP {status} {REASONS.get(status, '')}".rstrip()
        stands = walked.label == "HTTP GET" and not _is_over(entry, recording)
        said = "A stream is open now." if stands else "There is nothing to answer."
        return Outcome("open" if stands else "none", f"HTTP {status}", f"{reason}. {said}")
    if walked.refused is not None:
        return Outcome("error", "no answer", f"{walked.refused.title} {walked.refused.said}")
    ignored = next((one for one in walked.checks if one.outcome == IGNORED), None)
    if ignored is not None:
        return Outcome("none", "ignored", f"Nothing comes back. {ignored.said}")
    return Outcome(
        "none", "no answer", "It was taken in. It is no request, and so it has no answer of its own."
    )


def _is_over(entry: Entry, recording: Recording) -> bool:
    return any(
        event.kind == events.CLOSED and event.exchange == entry.exchange
        for event in recording.events[entry.begin :]
    )


# ------------------------------------------------------------------------------------------- as data


def entry_data(
    entries: Sequence[Entry], at: int, recording: Recording, data: Mapping[str, Any]
) -> dict[str, Any]:
    """One exchange.

    Args:
        data: what `player_data` made of the recording.

    Returns:
        A dict with these keys: `number`, `label`, `mark` and `verdict` (see `Outcome`); `messages`, one dict
        for each that was sent: `label`, `era`, `why`, `before`, `after`, `action` and `checks` (a list of
        [mark, outcome, title, what was said, url, code]); `left_out`; `sent` and `came`, the steps of
        the player that belong to it (see `_step`); `more`, how many are not shown; `findings`, a list of
        [level, whose, text, hint, url, step].
    """
    entry = entries[at]
    outcome = outcome_of(entry, recording)
    end = end_of(entries, at, recording)
    steps = [step.number for step in steps_of(recording).all if entry.begin <= step.index < end]
    rows = [data["steps"][number - 1] for number in steps if number <= len(data["steps"])]
    sent = [row for row in rows if row["from"] == CLIENT_LANE and "frame" in row]
    came = [row for row in rows if row["from"] != CLIENT_LANE or "frame" not in row]
    shown, budget = came[:MAX_SHOWN], [MAX_CHARACTERS]
    heads = {frame.number: _head(frame) for frame in recording.frames if frame.index >= entry.begin}
    return {
        "number": entry.number,
        "label": entry.label,
        "mark": outcome.mark,
        "verdict": outcome.sentence,
        "messages": [_message(one, entry, recording) for one in entry.walked],
        "left_out": entry.left_out,
        "sent": [_step(row, data, heads, budget) for row in sent[:MAX_SHOWN]],
        "came": [_step(row, data, heads, budget) for row in shown],
        "more": len(came) - len(shown),
        "findings": list(_findings(rows, data))[:MAX_FINDINGS],
    }


def _message(walked: Walked, entry: Entry, recording: Recording) -> dict[str, Any]:
    return {
        "label": one_line(walked.label, 80),
        "era": walked.era,
        "why": walked.why,
        "before": walked.before,
        "after": walked.after,
        "action": walked.action,
        "checks": [
            [MARKS[one.outcome], one.outcome, one.title, one_line(one.said, 600), one.url, one.code]
            for one in finished(walked, entry, recording)
        ],
    }


def _head(frame: Frame) -> str:
    """The first line of an HTTP request or response; "" where the frame has none."""
    head = frame.head or {}
    if "status" in head:
        return f"HTTP {head['status']} {REASONS.get(head['status'], '')}".rstrip()
    return one_line(f"{head['method']} {head.get('path', '')}", 60).strip() if "method" in head else ""


def _step(
    row: Mapping[str, Any], data: Mapping[str, Any], heads: Mapping[int, str], budget: list[int]
) -> dict[str, Any]:
    """A step of the player, with its texts in place; what is too much is left out.

    Keys: `n`, `time`, `kind`, `from`, `to`, `label`, `gist`, `what`, `head` (of HTTP, or ""),
    `rule` ([text, url] or None), `json`,
    `fields` (a list of [path, text, url, line]), `raw`, `cut` (whether something was left out).
    """
    texts = data["texts"]
    found: dict[str, Any] = {
        **{name: row[name] for name in ("n", "time", "kind", "from", "to", "label", "gist", "what")},
        "head": heads.get(row.get("frame", 0), ""),
        "rule": texts[row["rule"]] if row["rule"] >= 0 else None,
        "json": row.get("json"),
        "fields": [[path, *texts[position], line] for path, position, line in row.get("fields", ())],
        "raw": row.get("raw", []),
        "cut": False,
    }
    raw = sum(len(text) for _, text in found["raw"])
    budget[0] -= raw + len(found["json"] or "")
    if budget[0] < 0:
        found |= {"json": None, "fields": [], "raw": [], "cut": True}
    return found


def _findings(rows: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> Iterator[list[Any]]:
    for row in rows:
        for number in row.get("pins", ()):
            one = data["findings"][number]
            whose = "you" if one["party"] == CLIENT_LANE else one["party"]
            yield [one["level"], whose, one["message"], one["hint"], one["url"], row["n"]]


def history_data(entries: Sequence[Entry], recording: Recording) -> list[list[Any]]:
    """The exchanges so far: [number, label, mark, how it stands]."""
    found: list[list[Any]] = []
    for entry in entries:
        outcome = outcome_of(entry, recording)
        found.append([entry.number, entry.label, outcome.mark, outcome.short])
    return found


def templates_data(found: Sequence[Template]) -> list[dict[str, Any]]:
    """The templates, as plain values."""
    rows: list[dict[str, Any]] = []
    for one in found:
        row = asdict(one)
        row["headers"] = headers_text(one.headers)
        rows.append(row)
    return rows


def state_data(known: Known, *, sessions: int) -> dict[str, Any]:
    """Where the legacy session stands: `phases` (all of them), `phase` ("" where none is kept), `text`."""
    phases = [str(phase) for phase in Phase]
    if not known.legacy_versions:
        return {"phases": [], "phase": "", "text": "This server keeps no sessions: nothing is remembered."}
    speaks = f", which speaks {known.version}" if known.version else ""
    begun = known.phase and known.phase != Phase.NEW
    text = f"The legacy session{speaks}." if begun else "No legacy session is open."
    if sessions > 1:
        text = f"{sessions} legacy sessions are open. This is the one begun last{speaks}."
    # Before a session is begun, both transports stand where it would begin.
    return {"phases": phases, "phase": known.phase or str(Phase.NEW), "text": text}


def open_data(known: Known, exchanges: Sequence[int], entries: Sequence[Entry]) -> list[list[Any]]:
    """The response streams that can be closed: [exchange, what it answers]."""
    labels = {entry.exchange: entry.label for entry in entries if entry.exchange}
    return [[exchange, labels.get(exchange, "a request")] for exchange in exchanges]


def headers_text(headers: Sequence[tuple[str, str]]) -> str:
    """Header lines as text, one a line."""
    return "\n".join(f"{name}: {value}" for name, value in headers)


def read_headers(text: str) -> tuple[tuple[str, str], ...]:
    """Header lines from text. Blank lines count for nothing, nor do blanks around a value.

    Raises:
        ValueError: a line is no header; the text says which.
    """
    found: list[tuple[str, str]] = []
    for number, line in enumerate(text.replace("\r", "").split("\n"), start=1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise ValueError(f"Line {number} of the headers is no “Name: value”: {one_line(line, 60)}")
        found.append((name.strip(), value.strip(" \t")))
    return tuple(found)


# ------------------------------------------------------------------------------------------- still


def lab_text(title: str, entries: Sequence[Entry], recording: Recording) -> str:
    """The last exchanges as text: the same in every run."""
    lines = [title]
    if not entries:
        lines.append("Nothing was sent yet.")
    first = max(0, len(entries) - MAX_STILL)
    if first:
        lines.append(f"({first} before)")
    for entry in entries[first:]:
        outcome = outcome_of(entry, recording)
        lines += ["", f"{entry.number}. {entry.label}: {outcome.short}"]
        for walked in entry.walked:
            if len(entry.walked) > 1:
                lines.append(f"   {one_line(walked.label, 80)}")
            lines += [f"   {_check_line(one)}" for one in finished(walked, entry, recording)]
            if walked.before:
                lines.append(f"   session: {walked.before} → {walked.after}")
        lines.append(f"   {outcome.sentence}")
    return "\n".join(lines)


def _check_line(check: Check) -> str:
    said = f" ({check.code})" if check.code else ""
    said += f": {one_line(check.said, 200)}" if check.said else ""
    return f"{MARKS[check.outcome]} {check.title}{said}".replace("`", "")


def lab_html(title: str, entries: Sequence[Entry], recording: Recording, data: dict[str, Any]) -> str:
    """The last exchanges as HTML that runs nothing: the steps, and the diagram of all that was said."""
    parts = [f"<p><strong>{html.escape(title)}</strong></p>"]
    if not entries:
        return f"{parts[0]}<p>Nothing was sent yet.</p>"
    for entry in entries[-MAX_STILL:]:
        outcome = outcome_of(entry, recording)
        parts.append(f"<p>{entry.number}. {_code(entry.label)}: {html.escape(outcome.sentence)}</p>")
        for walked in entry.walked:
            rows = "".join(
                f"<li>{html.escape(_check_line(one))}</li>" for one in finished(walked, entry, recording)
            )
            moved = f"<li>session: {walked.before} → {walked.after}</li>" if walked.before else ""
            parts.append(f'<ul style="list-style:none">{rows}{moved}</ul>')
    return "".join(parts) + still_of(data)


def _code(text: str) -> str:
    return f"<code>{html.escape(text)}</code>"


def plain(value: Any) -> dict[str, Any]:
    """A value of the browser as a dict; {} where it is none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
