"""The rows of a player, in three layers: where a step is, what it says, and the body of its message.

Each layer can be made without those above it, so that a long recording can be shown before all of it is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from mcpsim.errors import MalformedMessage
from mcpsim.messages import Notification, Request, read_json
from mcpsim.recording import Frame, Recording, events
from mcpsim.widgets.asked import Asked
from mcpsim.widgets.comparing import Comparing
from mcpsim.widgets.fields import explain
from mcpsim.widgets.labels import kind_of, label_of, short_of
from mcpsim.widgets.layout import Layout
from mcpsim.widgets.narration import Narrator
from mcpsim.widgets.observed import Observed
from mcpsim.widgets.passing import Passing
from mcpsim.widgets.pretty import Path, meta_blocks, pretty
from mcpsim.widgets.raw import event_of, raw_of
from mcpsim.widgets.reading import Call, Conversation, Reading, headers_of
from mcpsim.widgets.sealed import States
from mcpsim.widgets.steps import Step, Steps
from mcpsim.widgets.text import clock, compact_text, lane_name, one_line
from mcpsim.widgets.threads import Place, Thread

HANDLERS: Final = frozenset({events.HANDLER_STARTED, events.HANDLER_FINISHED, events.HANDLER_CANCELLED})


class Placed(NamedTuple):
    """Where a step is in the picture.

    Attributes:
        kind: as `player_data` names it.
        sender, receiver: the lanes; the receiver is "" without an arrow.
        y: its height; y2: where the arrow arrives, or None.
        fate: what becomes of the arrow; "" without one.
        arrives: the step during which it arrives, or None.
        exchange: the number of the HTTP exchange of a frame, or 0.
        thread: the position of its thread, or -1; part: which round or page of that, or 0.
    """

    kind: str
    sender: str
    receiver: str
    y: int
    y2: int | None
    fate: str
    arrives: int | None
    exchange: int
    thread: int
    part: int


class Placing:
    """Where the steps of a recording are.

    Attributes:
        threads: the threads, as plain values, in the order of the steps.
        ends: for the number of a frame, the event at which it arrives or is lost.
    """

    def __init__(
        self,
        recording: Recording,
        steps: Steps,
        shown: Sequence[Step],
        conversation: Conversation,
        even: Layout,
        places: Mapping[int, Place],
    ) -> None:
        self.threads: list[dict[str, Any]] = []
        self._thread_of: dict[int, int] = {}
        self._lanes: dict[str, str] = {}
        self._steps, self._conversation, self._even, self._places = steps, conversation, even, places
        self._handled = {
            (call.receiver, call.connection, compact_text(call.request.id)): call
            for call in conversation.calls
        }
        self.ends = {
            event.frame: index
            for index, event in enumerate(recording.events)
            if event.kind in (events.DELIVERED, events.DROPPED)
        }
        for step in shown if places else ():
            self._thread(self.call_of(step))

    def placed(self, step: Step) -> Placed:
        """Where one step is."""
        kind = kind_of(step, self._conversation)
        y = self._even.y[step.index]
        thread, part = self._thread(self.call_of(step)) if self._places else (-1, 0)
        frame, sender = step.frame, self._lane(step.event.party)
        if frame is not None:
            end = self.ends.get(frame.number)
            y2 = None if end is None else self._even.y.get(end)
            arrives = self._steps.at(end) if end is not None and frame.fate == "delivered" else None
            receiver = self._lane(step.event.peer)
            return Placed(kind, sender, receiver, y, y2, frame.fate, arrives, frame.exchange, thread, part)
        if step.question is None or kind == "handler":
            return Placed(kind, sender, "", y, None, "", None, 0, thread, part)
        lanes = [sender, self._lane(step.question.lane)]
        sender, receiver = lanes if kind == "question" else reversed(lanes)
        return Placed(kind, sender, receiver, y, y, "delivered", step.number, 0, thread, part)

    def scaled(self, step: Step, layout: Layout) -> tuple[int, int | None]:
        """The heights of a step to scale: where it begins, and where it arrives."""
        y = layout.y[step.index]
        if step.frame is not None:
            end = self.ends.get(step.frame.number)
            return y, None if end is None else layout.y.get(end)
        return y, y if step.question is not None else None

    def call_of(self, step: Step) -> Call | None:
        """The request that a step is about."""
        if step.frame is not None:
            return self._conversation.readings[step.frame.number].call
        if step.question is not None:
            return self._conversation.readings[step.question.frame].call
        closed = self._conversation.closings.get(step.index)
        handled = (step.event.party, step.event.connection, _text_of_id(step.event.detail))
        return closed or (self._handled.get(handled) if step.event.kind in HANDLERS else None)

    def _thread(self, call: Call | None) -> tuple[int, int]:
        place = self._places.get(call.frame) if call is not None else None
        if place is None:
            return -1, 0
        number = self._thread_of.setdefault(place.thread.call.frame, len(self.threads))
        if number == len(self.threads):
            self.threads.append(_thread(place.thread))
        return number, place.part

    def _lane(self, party: str) -> str:
        found = self._lanes.get(party)
        if found is None:
            found = self._lanes[party] = lane_name(party)
        return found


class Rows:
    """What the steps of a recording say, and the bodies of its messages.

    Attributes:
        texts: what the rows and bodies that were made so far refer to, each of them once.
    """

    def __init__(
        self,
        steps: Steps,
        conversation: Conversation,
        placing: Placing,
        narrator: Narrator,
        passing: Passing,
        compared: Comparing,
        states: States,
        observed: Observed,
    ) -> None:
        self.texts: list[list[str]] = []
        self._positions: dict[tuple[str, str], int] = {}
        self._conversation, self._placing, self._narrator = conversation, placing, narrator
        self._passing, self._comparing, self._states = passing, compared, states
        self._asked = Asked(steps, conversation)
        self._observed = observed
        self._step_of_frame = {step.frame.number: step.number for step in steps.all if step.frame}

    def row(self, step: Step) -> dict[str, Any]:
        """What one step says, without its heights to scale."""
        placed = self._placing.placed(step)
        reading = self._conversation.readings[step.frame.number] if step.frame else None
        narration = self._narrator.tell(step)
        label, gist = label_of(step, reading)
        call = self._placing.call_of(step)
        on = self._observed.connection(step.event)
        row: dict[str, Any] = {
            "n": step.number,
            "at_us": step.event.at_us,
            "time": clock(step.event.at_us),
            "kind": placed.kind,
            "label": label,
            "short": short_of(step, label),
            "gist": f"{on}, {gist}" if on and gist else on or gist,
            "from": placed.sender,
            "to": placed.receiver,
            "y": placed.y,
            "what": narration.what,
            "rule": self._text(narration.rule, narration.url) if narration.rule else -1,
            "era": reading.era if reading else self._conversation.eras.get(step.event.connection, ""),
            "thread": placed.thread,
            "part": placed.part,
            "family": self._family(call),
        }
        if on:
            row["connection"] = on
        if placed.fate:
            row |= {"y2": placed.y2, "fate": placed.fate, "arrives": placed.arrives}
        if step.frame is not None:
            row |= self._frame(step.frame, call)
        return row

    def _frame(self, frame: Frame, call: Call | None) -> dict[str, Any]:
        return {
            "frame": frame.number,
            "exchange": frame.exchange,
            "took": self._observed.took(frame),
            "copy_of": self._step_of_frame.get(frame.copy_of, 0),
            "about": self._about(call, frame),
            "changed": frame.arrived_data != frame.data,
            "state": self._states.of_frame.get(frame.number, -1),
        }

    def body(self, step: Step) -> dict[str, Any]:
        """What of a row only its pane shows; {} where there is nothing to show."""
        if step.question is not None and step.event.kind != events.HANDLER_CANCELLED:
            return {"asked": self._asked.body(step, step.question)}
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
