"""A recording as plain JSON for the player: sent to the browser once, and never again.

`player_data` is pure: the same recording gives the same data. Its form is described there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.audit.rule import MUST
from mcpsim.eras.pages import SPECIFICATION
from mcpsim.errors import MalformedMessage
from mcpsim.messages import Batch, Notification, Request, read_json
from mcpsim.recording import Frame, Recording, events
from mcpsim.widgets.bars import bars_of
from mcpsim.widgets.bars_data import bars_data
from mcpsim.widgets.comparing import Comparing, comparing
from mcpsim.widgets.fields import explain
from mcpsim.widgets.in_flight import requests_of
from mcpsim.widgets.labels import kind_of, label_of, short_of
from mcpsim.widgets.layout import Layout, lay_out
from mcpsim.widgets.memory import memory_of, nothing_of
from mcpsim.widgets.narration import Narrator
from mcpsim.widgets.passing import Passing, passing_of
from mcpsim.widgets.prediction import predictions
from mcpsim.widgets.pretty import Path, meta_blocks, pretty
from mcpsim.widgets.questions import HOST, USER, Question
from mcpsim.widgets.raw import event_of, raw_of
from mcpsim.widgets.reading import Call, Conversation, Reading, headers_of, read
from mcpsim.widgets.sealed import States, states_of
from mcpsim.widgets.steps import Step, Steps, steps_of
from mcpsim.widgets.text import clock, compact_text, duration, lane_name, one_line
from mcpsim.widgets.threads import Place, Thread, threads_of

MAX_STEPS: Final = 20_000
#: How many messages the audit looks at without being asked: opening a player must not be a wait.
MAX_AUDITED: Final = 3_000
#: How many bytes of them, and how many lines: a message can hold many others, or what looks like them.
MAX_AUDITED_BYTES: Final = 4_000_000
MAX_AUDITED_LINES: Final = 30_000
HANDLERS: Final = frozenset({events.HANDLER_STARTED, events.HANDLER_FINISHED, events.HANDLER_CANCELLED})


def player_data(recording: Recording) -> dict[str, Any]:
    """What the player shows, as plain JSON values.

    Of a long recording that takes a while: `parted_data` leaves out what a click asks for.

    Returns:
        A dict with these keys; times are whole microseconds, heights are pixels, steps count from 1:

        `title`, `transport`, `eras` (a list), `source`: strings about the run as a whole.
        `parties`: the lanes, in order; `beside`: those of them that are not parties of the protocol.
        `steps`: one dict a step:
            `n`; `at_us`; `time` (the same for people); `kind` ("request", "response", "error",
            "notification", "batch", "malformed", "http", "stderr", "note", "closed", "handler", and between
            a client and its user or host "question" and "answer"); `label` and
            `gist` (what it is, in short); `short` (the label where there is little room);
            `from` and `to` (lanes; `to` is "" without an arrow); `y`, and `scaled` (the same to scale);
            `what` (the sentence); `rule` (position in `texts`, or -1); `era`; `thread` (position in
            `threads`, or -1) and `part` (which round or page of it, from 1); `family` (the step of
            the request that it belongs to, before any gateway passed that on, or 0);
            and for frames `frame`, `exchange`, `y2` and `scaled2` (where it arrives, or None), `fate`
            ("delivered", "dropped", "in flight"), `took` (how long it travelled, for people, or ""),
            `arrives` (the step during which it arrives, or None), `copy_of` (a step, or 0), `changed`
            (whether other bytes arrived), `about` (the step of the request that it belongs to, or 0), `json`
            (the body, indented, or None), `fields` (a list of [path, position in `texts`, line of `json` or
            -1]), `raw` (a list of [title, text]), `meta` (the first and the last line of each `_meta` in
            `json`), `state` (position in `states` of the request state that it carries, or -1) and
            `compared` (what is not the same as in a related message, as `Comparing.rows` gives it). `pins`
            (positions in `findings`) where the audit found something.
        `texts`: a list of [text, url], each of them once.
        `findings`: what the audit says: `level`, `party`, `rule` (its id), `message`, `hint`, `url`; empty
            where the recording has more than `MAX_AUDITED` messages, or is as large in another way.
        `threads`: what belongs together over several requests: `kind` ("rounds", "pages" or "subscription"),
            `label` (the request that it began with) and `parts` (how many rounds or pages, or 0 where
            the last of them is not here).
        `requests`: as `requests_of` gives them.
        `memory`: as `memory_of` gives it; `nothing`: for each party, in a sentence, what it means that it
            remembers nothing; `states` and `held`: the request states, as `States` describes them.
        `bars`: what goes on for a while, as `bars_data` gives it.
        `waits`, `height`: long waits (`y`, `text`, `top`, `bottom`), and the height of the diagram.
        `breaks`, `scaled_height`, `us_per_px`: the same to scale, with what is not; and the scale.
        `left_out`: how many steps are not here, because there are more than `MAX_STEPS`.
        `predictions`: what to ask before each message; see `mcpsim.widgets.prediction.predictions`.
    """
    return parted_data(recording, bodies=MAX_STEPS)[0]


def parted_data(recording: Recording, *, bodies: int) -> tuple[dict[str, Any], Bodies]:
    """The same, without the bodies of most messages, and where to get those.

    A step whose body is left out has none of the keys `json`, `fields`, `meta`, `compared` and `raw`.

    Args:
        recording: what is shown.
        bodies: of how many steps, from the first, the bodies are in the data.
    """
    steps = steps_of(recording)
    shown = steps.all[:MAX_STEPS]
    until = steps.all[MAX_STEPS].index if len(steps.all) > MAX_STEPS else None
    conversation = read(recording)
    passing = passing_of(recording, conversation)
    places = threads_of(recording, conversation, passing)
    narrator = Narrator(recording, conversation, steps, passing, places)
    states = states_of(recording, conversation, steps, passing)
    even, scaled = (
        lay_out(recording, steps=steps, until=until, to_scale=to_scale) for to_scale in (False, True)
    )
    builder = _Builder(
        recording,
        steps,
        conversation,
        (even, scaled),
        narrator,
        places,
        passing,
        comparing(recording, conversation, passing, places),
        states,
    )
    rows = [builder.row(step) for step in shown]
    for row, step in zip(rows[:bodies], shown, strict=False):
        row.update(builder.body(step))
    findings = list(_pinned(recording, steps, rows))
    lanes, beside = lanes_of(recording, steps)
    data: dict[str, Any] = {
        "title": one_line(recording.title, 200),
        "transport": one_line(str(recording.header.get("transport", "")), 40),
        "source": one_line(str(recording.header.get("source", "")), 40),
        "eras": sorted({row["era"] for row in rows if row["era"]}),
        "parties": lanes,
        "beside": beside,
        "steps": rows,
        "texts": builder.texts,
        "findings": findings,
        "threads": builder.threads,
        "requests": list(requests_of(recording, conversation, steps, len(shown))),
        "memory": memory_of(recording, steps),
        "nothing": nothing_of(recording, conversation, passing),
        "states": states.all,
        "held": [one for one in states.held if one["from"] <= len(shown)],
        "bars": bars_data(bars_of(recording, steps, conversation, until=until), steps, even, scaled),
        "waits": _waits(even),
        "breaks": _waits(scaled),
        "height": even.height,
        "scaled_height": scaled.height,
        "us_per_px": scaled.us_per_px,
        "left_out": len(steps.all) - len(shown),
        "predictions": predictions(shown, conversation, broken=_broken(rows, findings)),
    }
    return data, Bodies(builder, shown)


@dataclass(frozen=True, slots=True)
class Bodies:
    """The bodies of the messages that were left out of the data of a player."""

    _builder: _Builder
    _steps: Sequence[Step]

    def of(self, first: int, count: int, texts: int) -> dict[str, Any]:
        """The bodies of some steps, as plain JSON values.

        Args:
            first: the first step, from 1.
            count: how many steps.
            texts: how many of the `texts` are known already.

        Returns:
            `first`; `bodies`, one dict a step, with the keys of `player_data` that were left out, and {} for
            a step that is no message; `known`, as `texts` above, and `texts`, those that come after them.
        """
        bodies = [self._builder.body(step) for step in self._steps[max(0, first - 1) :][:count]]
        known = min(max(0, texts), len(self._builder.texts))
        return {
            "first": first,
            "bodies": bodies,
            "known": known,
            "texts": self._builder.texts[known:],
        }


def _broken(rows: list[dict[str, Any]], findings: list[dict[str, Any]]) -> set[int]:
    """The steps at which the audit found a broken rule."""
    grave = {number for number, one in enumerate(findings) if one["level"] == MUST}
    return {row["n"] for row in rows if not grave.isdisjoint(row.get("pins", ()))}


def _is_much(recording: Recording) -> bool:
    frames = recording.frames
    if len(frames) > MAX_AUDITED or sum(len(frame.data) for frame in frames) > MAX_AUDITED_BYTES:
        return True
    lines = sum(frame.data.count(b"\n") for frame in frames)
    held = sum(len(frame.parsed.members) for frame in frames if isinstance(frame.parsed, Batch))
    return lines > MAX_AUDITED_LINES or held > MAX_AUDITED


def _pinned(recording: Recording, steps: Steps, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Pin the findings of the audit to the steps where they happen, and give them in order."""
    if _is_much(recording):
        return
    report = recording.audit()
    for number, finding in enumerate(report.findings):
        step = steps.at(report.events[finding.index])
        if 0 < step <= len(rows):
            rows[step - 1].setdefault("pins", []).append(number)
        yield {
            "level": finding.level,
            "party": one_line(finding.party, 40),
            "rule": finding.rule,
            "message": one_line(finding.message, 600),
            "hint": one_line(finding.hint, 400),
            "url": f"{SPECIFICATION}/{finding.spec}",
        }


def _waits(layout: Layout) -> list[dict[str, Any]]:
    return [{"y": wait.y, "text": wait.text, "top": wait.top, "bottom": wait.bottom} for wait in layout.waits]


def lanes_of(recording: Recording, steps: Steps) -> tuple[list[str], list[str]]:
    """The lanes from left to right, and those of them that are beside the protocol: users and hosts.

    First the parties that the header names, and then any other that takes part. Whoever a client asks stands
    before it.
    """
    found = dict.fromkeys(recording.parties)
    for event in recording.events:
        found.setdefault(event.party)
        if event.peer:
            found.setdefault(event.peer)
    asked: dict[str, dict[str, str]] = {}
    for step in steps.all:
        if step.question is not None:
            asked.setdefault(step.event.party, {})[step.question.who] = lane_name(step.question.lane)
    lanes: list[str] = []
    for party in found or {"client": None, "server": None}:
        by_who = asked.get(party, {})
        lanes += [by_who[who] for who in (USER, HOST) if who in by_who]
        lanes.append(lane_name(party))
    beside = [lane for by_who in asked.values() for lane in by_who.values()]
    return list(dict.fromkeys(lanes)), sorted(set(beside))


class _Builder:
    def __init__(
        self,
        recording: Recording,
        steps: Steps,
        conversation: Conversation,
        layouts: tuple[Layout, Layout],
        narrator: Narrator,
        places: Mapping[int, Place],
        passing: Passing,
        compared: Comparing,
        states: States,
    ) -> None:
        self._states = states
        self._passing = passing
        self._comparing = compared
        self.threads: list[dict[str, Any]] = []
        self._places = places
        self._thread_of: dict[int, int] = {}
        self.texts: list[list[str]] = []
        self._even, self._scaled = layouts
        self._handled = {
            (call.receiver, call.connection, compact_text(call.request.id)): call
            for call in conversation.calls
        }
        self._positions: dict[tuple[str, str], int] = {}
        self._steps = steps
        self._conversation = conversation
        self._narrator = narrator
        self._step_of_frame = {step.frame.number: step.number for step in steps.all if step.frame}
        self._ends = {
            event.frame: index
            for index, event in enumerate(recording.events)
            if event.kind in (events.DELIVERED, events.DROPPED)
        }

    def row(self, step: Step) -> dict[str, Any]:
        reading = self._conversation.readings[step.frame.number] if step.frame else None
        narration = self._narrator.tell(step)
        label, gist = label_of(step, reading)
        row: dict[str, Any] = {
            "n": step.number,
            "at_us": step.event.at_us,
            "time": clock(step.event.at_us),
            "kind": kind_of(step, self._conversation),
            "label": label,
            "short": short_of(step, label),
            "gist": gist,
            "from": lane_name(step.event.party),
            "to": lane_name(step.event.peer) if step.frame else "",
            "y": self._even.y[step.index],
            "scaled": self._scaled.y[step.index],
            "what": narration.what,
            "rule": self._text(narration.rule, narration.url) if narration.rule else -1,
            "era": reading.era if reading else self._conversation.eras.get(step.event.connection, ""),
        }
        call = reading.call if reading else self._call_of(step)
        row["thread"], row["part"] = self._place(call)
        row["family"] = self._family(call)
        if step.question is not None:
            row.update(_asked(step, step.question, row))
        if step.frame is not None and reading is not None:
            row.update(self._frame(step.frame, reading))
        return row

    def _frame(self, frame: Frame, reading: Reading) -> dict[str, Any]:
        end = self._ends.get(frame.number)
        delivered = end is not None and frame.fate == "delivered"
        call = reading.call
        return {
            "frame": frame.number,
            "exchange": frame.exchange,
            "y2": self._even.y.get(end) if end is not None else None,
            "scaled2": self._scaled.y.get(end) if end is not None else None,
            "fate": frame.fate,
            "took": "" if frame.arrived_us is None else duration(frame.arrived_us - frame.sent_us),
            "arrives": self._steps.at(end) if delivered and end is not None else None,
            "copy_of": self._step_of_frame.get(frame.copy_of, 0),
            "about": self._about(call, frame),
            "changed": frame.arrived_data != frame.data,
            "state": self._states.of_frame.get(frame.number, -1),
        }

    def body(self, step: Step) -> dict[str, Any]:
        """What of a row only the pane of its message shows; {} where it is no message."""
        if step.frame is None:
            return {}
        frame, reading = step.frame, self._conversation.readings[step.frame.number]
        text, fields, lines, meta = self._body(frame, reading)
        return {
            "json": text,
            "fields": fields,
            "meta": meta,
            "compared": self._comparing.rows(frame, lines, self._step_of_frame),
            "raw": [[block.title, block.text] for block in raw_of(frame)],
        }

    def _place(self, call: Call | None) -> tuple[int, int]:
        place = self._places.get(call.frame) if call is not None else None
        if place is None:
            return -1, 0
        number = self._thread_of.setdefault(place.thread.call.frame, len(self.threads))
        if number == len(self.threads):
            self.threads.append(_thread(place.thread))
        return number, place.part

    def _call_of(self, step: Step) -> Call | None:
        """The request that a step without a frame is about."""
        if step.question is not None:
            return self._conversation.readings[step.question.frame].call
        closed = self._conversation.closings.get(step.index)
        handled = (step.event.party, step.event.connection, _text_of_id(step.event.detail))
        return closed or (self._handled.get(handled) if step.event.kind in HANDLERS else None)

    def _family(self, call: Call | None) -> int:
        """The step of the request that all this is about, before any gateway passed it on."""
        if call is None:
            return 0
        return self._step_of_frame.get(self._passing.origins.get(call.frame, call.frame), 0)

    def _about(self, call: Call | None, frame: Frame) -> int:
        if call is None or call.frame == frame.number:
            return 0
        return self._step_of_frame.get(call.frame, 0)

    def _body(
        self, frame: Frame, reading: Reading
    ) -> tuple[str | None, list[list[Any]], Mapping[Path, int], list[list[int]]]:
        headers = headers_of(frame.head)
        value, lines, text, meta = None, dict[Path, int](), None, list[list[int]]()
        if frame.body.strip() and not frame.channel:
            try:
                value = read_json(frame.body)
            except MalformedMessage:
                pass
            else:
                shown = pretty(value)
                lines, text = shown.lines, shown.text
                meta = [list(block) for block in meta_blocks(shown)]
        found = explain(value, self._method(frame, reading), reading.era, headers, event_of(frame))
        placed = [
            (lines.get(path, -1), _path_label(path), self._text(what, url)) for path, what, url in found
        ]
        # As they stand in the body, and then the headers.
        placed.sort(key=lambda field: (field[0] < 0, field[0]))
        return text, [[label, explanation, line] for line, label, explanation in placed], lines, meta

    def _method(self, frame: Frame, reading: Reading) -> str:
        if isinstance(frame.parsed, Request | Notification):
            return frame.parsed.method
        return reading.call.request.method if reading.call else ""

    def _text(self, text: str, url: str) -> int:
        position = self._positions.setdefault((text, url), len(self.texts))
        if position == len(self.texts):
            self.texts.append([text, url])
        return position


def _asked(step: Step, question: Question, row: dict[str, Any]) -> dict[str, Any]:
    """The members that only a step between a client and its user or host has."""
    if row["kind"] == "handler":
        return {}
    lanes = [lane_name(step.event.party), lane_name(question.lane)]
    sender, receiver = lanes if row["kind"] == "question" else reversed(lanes)
    arrives = {"y2": row["y"], "scaled2": row["scaled"], "fate": "delivered", "arrives": step.number}
    return {"from": sender, "to": receiver, **arrives}


def _text_of_id(detail: Mapping[str, Any] | None) -> str:
    return compact_text((detail or {}).get("id"))


def _thread(thread: Thread) -> dict[str, Any]:
    request = thread.call.request
    return {
        "kind": thread.kind,
        "label": f"{one_line(request.method, 60)} #{one_line(compact_text(request.id), 40)}",
        "parts": thread.parts if thread.ended else 0,
    }


def _path_label(path: Path) -> str:
    if path[0] == "header":
        return f"header {path[1]}"
    if path[0] == "event":
        return f"{path[1]} of the event"
    return ".".join(one_line(str(part), 60) for part in path)
