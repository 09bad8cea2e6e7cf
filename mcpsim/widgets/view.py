"""A recording as plain JSON for the player.

`player_data` is pure: the same recording gives the same data. Its form is described there. A long recording
opens with a part of them, and the rest comes in pieces: see `Pieces`.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, overload

from mcpsim.audit.rule import MUST
from mcpsim.eras.pages import SPECIFICATION
from mcpsim.messages import Batch
from mcpsim.recording import Recording
from mcpsim.widgets.bars import Bar, bars_of
from mcpsim.widgets.bars_data import bars_data, deepest
from mcpsim.widgets.comparing import comparing
from mcpsim.widgets.in_flight import requests_of
from mcpsim.widgets.layout import Layout, lay_out
from mcpsim.widgets.memory import memory_of, nothing_of
from mcpsim.widgets.narration import Narrator
from mcpsim.widgets.observed import observed, transport_of
from mcpsim.widgets.outline import outline_of
from mcpsim.widgets.passing import passing_of
from mcpsim.widgets.prediction import predictions
from mcpsim.widgets.questions import HOST, USER
from mcpsim.widgets.reading import Conversation, read
from mcpsim.widgets.rows import Placing, Rows
from mcpsim.widgets.sealed import States, states_of
from mcpsim.widgets.steps import Steps, steps_of
from mcpsim.widgets.text import lane_name, one_line
from mcpsim.widgets.threads import threads_of

MAX_STEPS: Final = 20_000
#: A recording with at most so many steps is sent to the browser as a whole.
WHOLE: Final = 500
#: Of a longer one so many steps come with the picture, from the first and around the cursor. It is more than
#: a still picture shows.
FIRST: Final = 64
#: How many of them stand before the cursor: a step back shall find its message too.
BEFORE: Final = 24
#: How many messages the audit looks at without being asked: it must not be a wait.
MAX_AUDITED: Final = 3_000
#: How many bytes of them, and how many lines: a message can hold many others, or what looks like them.
MAX_AUDITED_BYTES: Final = 4_000_000
MAX_AUDITED_LINES: Final = 30_000

#: What comes later, by the names of its pieces.
REST: Final = "rest"
FINDINGS: Final = "findings"


def player_data(recording: Recording, *, findings: bool = True) -> dict[str, Any]:
    """What the player shows, as plain JSON values.

    Of a long recording that takes a while: `Pieces` makes what is looked at first.

    Args:
        findings: False to leave out what the audit finds, and what is asked before each message.

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
            `connection`, only where a trace has several between the same two parties;
            `what` (the sentence); `rule` (position in `texts`, or -1); `era`; `thread` (position in
            `threads`, or -1) and `part` (which round or page of it, from 1); `family` (the step of
            the request that it belongs to, before any gateway passed that on, or 0);
            and for frames `frame`, `exchange`, `y2` and `scaled2` (where it arrives, or None), `fate`
            ("delivered", "dropped", "in flight"), `took` (how long it travelled, for people, or "" where that
            is not known),
            `arrives` (the step during which it arrives, or None), `copy_of` (a step, or 0), `changed`
            (whether other bytes arrived), `about` (the step of the request that it belongs to, or 0), `json`
            (the body, indented, or None), `fields` (a list of [path, position in `texts`, line of `json` or
            -1]), `raw` (a list of [title, text]), `meta` (the first and the last line of each `_meta` in
            `json`), `state` (position in `states` of the request state that it carries, or -1) and
            `compared` (what is not the same as in a related message, as `Comparing.rows` gives it). `pins`
            (positions in `findings`) where the audit found something.
            And `asked` where a user or a host is asked, or answers: see `Asked.body`.
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
    return Pieces(recording, audited=findings).whole()


@contextmanager
def _uncollected() -> Generator[None]:
    """Hold the garbage collector off.

    What is made here is kept, and makes no cycles. The collector would go through all of the run again and
    again meanwhile, and find nothing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Pieces:
    """The data of one player: all of them, or what is looked at first and then the rest.

    Whatever the order in which the pieces are asked for, together they are what `player_data` gives; only
    `texts` may stand in another order. Each is made when it is asked for.

    Args:
        audited: whether the audit is asked. Without it there are no findings, and no predictions either: what
            they leave out says where something is wrong.

    Attributes:
        recording: what is shown.
        count: how many steps are shown.
    """

    def __init__(self, recording: Recording, *, audited: bool = True) -> None:
        self.recording = recording
        self._audited = audited
        with _uncollected():
            self._steps: Steps = steps_of(recording)
        self._shown = self._steps.all[:MAX_STEPS]
        self._until = self._steps.all[MAX_STEPS].index if len(self._steps.all) > MAX_STEPS else None
        self.count = len(self._shown)

    # ------------------------------------------------------------------------- what is known of all of it

    @cached_property
    def _conversation(self) -> Conversation:
        return read(self.recording)

    @cached_property
    def _passing(self):
        return passing_of(self.recording, self._conversation)

    @cached_property
    def _places(self):
        return threads_of(self.recording, self._conversation, self._passing)

    @cached_property
    def _even(self) -> Layout:
        return lay_out(self.recording, steps=self._steps, until=self._until)

    @cached_property
    def _scaled(self) -> Layout:
        return lay_out(self.recording, steps=self._steps, until=self._until, to_scale=True)

    @cached_property
    def _states(self) -> States:
        return states_of(self.recording, self._conversation, self._steps, self._passing)

    @cached_property
    def _bars(self) -> tuple[Bar, ...]:
        return bars_of(self.recording, self._steps, self._conversation, until=self._until)

    @cached_property
    def _placing(self) -> Placing:
        return Placing(self.recording, self._steps, self._shown, self._conversation, self._even, self._places)

    @cached_property
    def _rows(self) -> Rows:
        narrator = Narrator(self.recording, self._conversation, self._steps, self._passing, self._places)
        compared = comparing(self.recording, self._conversation, self._passing, self._places)
        return Rows(
            self._steps,
            self._conversation,
            self._placing,
            narrator,
            self._passing,
            compared,
            self._states,
            observed(self.recording),
        )

    @cached_property
    def _lanes(self) -> tuple[list[str], list[str]]:
        return lanes_of(self.recording, self._steps)

    @cached_property
    def _eras(self) -> list[str]:
        conversation = self._conversation
        found = {
            conversation.readings[step.frame.number].era
            if step.frame is not None
            else conversation.eras.get(step.event.connection, "")
            for step in self._shown
        }
        return sorted(found - {""})

    # ---------------------------------------------------------------------------------------- the data

    def whole(self) -> dict[str, Any]:
        """What `player_data` gives."""
        with _uncollected():
            rows = self._piece(1, self.count, rows=True, bodies=False)
            for row, step in zip(rows, self._shown, strict=True):
                row |= self._rows.body(step)
                row["scaled"], end = self._placing.scaled(step, self._scaled)
                if "y2" in row:
                    row["scaled2"] = end
            found = self._head() | {"steps": rows} | self._rest()
        audited = self.findings()
        for step, pins in audited.pop("pins"):
            rows[step - 1]["pins"] = pins
        return found | audited

    def opening(self, cursor: int) -> dict[str, Any]:
        """What is looked at first.

        Args:
            cursor: the step that is shown.

        Returns:
            As `player_data`, but of `steps` only the first ones, of `bars` and `waits` those beside them, and
            nothing of what `rest` and `findings` give. What it has beside that:
            `outline`: JSON text with the columns of `outline_of` for all other steps;
            `near`: the steps around the cursor, as `steps_from` gives them, or None where they are among the
            first;
            `deep`: for each lane, how many bars are on it and beside it at most;
            `coming`: which of `rest` and `findings` come later.
        """
        with _uncollected():
            # What comes soon after the cursor is looked at as well.
            last = self.count - FIRST + 1
            near = max(FIRST + 1, min(cursor - BEFORE, last))
            firsts = [1, near] if cursor + BEFORE > FIRST < self.count else [1]
            pieces = [self._piece(each, FIRST, rows=True, bodies=True) for each in firsts]
            places = (self._placing.placed(step) for step in self._shown[FIRST:])
            outline = outline_of(places, self._lanes[0])
            beside = [self._beside(each) for each in firsts]
            bars = [bar for bar in self._bars if any(_meets(bar, span) for span in beside)]
            waits = [wait for wait in _waits(self._even) if any(self._sees(span, wait) for span in beside)]
            return self._head() | {
                "steps": pieces[0],
                "outline": json.dumps(outline, separators=(",", ":")),
                "near": {"first": near, "steps": pieces[1]} if len(pieces) > 1 else None,
                "findings": [],
                "bars": bars_data(bars, self._steps, self._even, None),
                "deep": deepest(self._bars),
                "waits": waits,
                "coming": [REST, FINDINGS],
            }

    def steps_from(
        self, first: int, count: int, *, texts: int, rows: bool = True, bodies: bool = True
    ) -> dict[str, Any]:
        """Some steps.

        Args:
            first: the first of them, from 1.
            count: how many.
            texts: how many of the `texts` are known already.
            rows: with what they say; bodies: with the bodies of their messages.

        Returns:
            `first`; `steps`, a dict each, with the keys of `player_data`, but without the heights to scale
            and `pins`; `known`, as the argument `texts`, and `texts`, those that come after them.
        """
        with _uncollected():
            steps = self._piece(max(1, first), count, rows=rows, bodies=bodies)
        known = min(max(0, texts), len(self._rows.texts))
        return {"first": max(1, first), "steps": steps, "known": known, "texts": self._rows.texts[known:]}

    def rest(self) -> dict[str, Any]:
        """What goes on and is remembered, and the heights to scale.

        Returns:
            `bars`, `requests`, `memory`, `nothing`, `states`, `held`, `waits`, `breaks`, `scaled_height`,
            `us_per_px` as `player_data` has them; and `scale`: JSON text with two numbers a step, `scaled`
            (how far below the step before it) and `scaled2` (how far below `scaled`, or None).
        """
        with _uncollected():
            ends = [self._placing.scaled(step, self._scaled) for step in self._shown]
            tops = [0, *(y for y, _ in ends)]
            scale = {
                "scaled": [low - high for high, low in pairwise(tops)],
                "scaled2": [None if y2 is None else y2 - y for y, y2 in ends],
            }
            return self._rest() | {"scale": json.dumps(scale, separators=(",", ":"))}

    def findings(self) -> dict[str, Any]:
        """What the audit says.

        Returns:
            `findings` and `predictions` as `player_data` has them, and `pins`: a list of [step, positions in
            `findings`].
        """
        if not self._audited:
            asked = predictions((), self._conversation, broken=())
            return {"findings": [], "pins": [], "predictions": asked}
        findings, pins = self._found
        grave = {number for number, one in enumerate(findings) if one["level"] == MUST}
        broken = {step for step, numbers in pins.items() if not grave.isdisjoint(numbers)}
        with _uncollected():
            asked = predictions(self._shown, self._conversation, broken=broken)
        return {"findings": findings, "pins": list(pins.items()), "predictions": asked}

    @property
    def told(self) -> Sequence[dict[str, Any]]:
        """All steps as `steps_from` gives them, each of them made when it is looked at."""
        return _Told(self)

    # ------------------------------------------------------------------------------------------ its parts

    def _piece(self, first: int, count: int, *, rows: bool, bodies: bool) -> list[dict[str, Any]]:
        made = self._rows
        return [
            (made.row(step) if rows else {}) | (made.body(step) if bodies else {})
            for step in self._shown[first - 1 :][:count]
        ]

    def _head(self) -> dict[str, Any]:
        recording = self.recording
        lanes, beside = self._lanes
        return {
            "title": one_line(recording.title, 200),
            "transport": transport_of(recording),
            "source": one_line(str(recording.header.get("source", "")), 40),
            "eras": self._eras,
            "parties": lanes,
            "beside": beside,
            "texts": self._rows.texts,
            "threads": self._placing.threads,
            "height": self._even.height,
            "left_out": len(self._steps.all) - self.count,
            **({} if self._audited else {"audited": False}),
        }

    def _rest(self) -> dict[str, Any]:
        recording, conversation, states = self.recording, self._conversation, self._states
        return {
            "requests": list(requests_of(recording, conversation, self._steps, self.count)),
            "memory": memory_of(recording, self._steps),
            "nothing": nothing_of(recording, conversation, self._passing),
            "states": states.all,
            "held": [one for one in states.held if one["from"] <= self.count],
            "bars": bars_data(self._bars, self._steps, self._even, self._scaled),
            "waits": _waits(self._even),
            "breaks": _waits(self._scaled),
            "scaled_height": self._scaled.height,
            "us_per_px": self._scaled.us_per_px,
        }

    @cached_property
    def _found(self) -> tuple[list[dict[str, Any]], dict[int, list[int]]]:
        """The findings of the audit, and the positions of those that are pinned to each step."""
        if _is_much(self.recording):
            return [], {}
        report = self.recording.audit()
        pins: dict[int, list[int]] = {}
        for number, finding in enumerate(report.findings):
            step = self._steps.at(report.events[finding.index])
            if 0 < step <= self.count:
                pins.setdefault(step, []).append(number)
        found = [
            {
                "level": finding.level,
                "party": one_line(finding.party, 40),
                "rule": finding.rule,
                "message": one_line(finding.message, 600),
                "hint": one_line(finding.hint, 400),
                "url": f"{SPECIFICATION}/{finding.spec}",
            }
            for finding in report.findings
        ]
        return found, pins

    def _beside(self, first: int) -> tuple[int, int]:
        """The events of a step and of the last one that comes with it."""
        return self._shown[first - 1].index, self._shown[: first + FIRST][-1].index

    def _sees(self, span: tuple[int, int], wait: dict[str, Any]) -> bool:
        top, bottom = (self._even.y[index] for index in span)
        return wait["bottom"] >= top and wait["top"] <= bottom


class _Told(Sequence[dict[str, Any]]):
    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    def __len__(self) -> int:
        return self._pieces.count

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        places = range(len(self))[index]
        if isinstance(places, int):
            return self._pieces.steps_from(places + 1, 1, texts=0)["steps"][0]
        return [self[place] for place in places]


def _meets(bar: Bar, span: tuple[int, int]) -> bool:
    return bar.start <= span[1] and (bar.stop is None or bar.stop >= span[0])


def _is_much(recording: Recording) -> bool:
    frames = recording.frames
    if len(frames) > MAX_AUDITED or sum(len(frame.data) for frame in frames) > MAX_AUDITED_BYTES:
        return True
    lines = sum(frame.data.count(b"\n") for frame in frames)
    held = sum(len(frame.parsed.members) for frame in frames if isinstance(frame.parsed, Batch))
    return lines > MAX_AUDITED_LINES or held > MAX_AUDITED


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
