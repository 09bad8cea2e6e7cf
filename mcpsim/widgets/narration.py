"""One plain sentence for each step: what just happened, and which rule is at work.

The sentences are rows of tables: one an era, and one for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from mcpsim.eras.pages import LEGACY, MODERN, SPECIFICATION, spec_url
from mcpsim.messages import PROGRESS_TOKEN, ErrorResponse, Request, Response, meta_of
from mcpsim.recording import Event, Frame, Recording, events
from mcpsim.widgets import narration_legacy, narration_modern, narration_shared
from mcpsim.widgets.facts import SHORT, closed_thing, message_facts, party_facts, quote, target, the
from mcpsim.widgets.lines import Line
from mcpsim.widgets.narration_keys import keys_of, rules_of
from mcpsim.widgets.narration_questions import question_line
from mcpsim.widgets.passing import Passing
from mcpsim.widgets.questions import Question
from mcpsim.widgets.reading import CANCELLED, Call, Conversation, Reading, headers_of, params_of
from mcpsim.widgets.situation import Situation
from mcpsim.widgets.steps import Step, Steps
from mcpsim.widgets.text import compact_text, one_end, one_line
from mcpsim.widgets.threads import Place

LINES: Final[Mapping[str, Mapping[str, Line]]] = {
    MODERN: {**narration_shared.LINES, **narration_modern.LINES},
    LEGACY: {**narration_shared.LINES, **narration_legacy.LINES},
}


class Narration(NamedTuple):
    """What the player says at a step.

    Attributes:
        rule, url: "" where no rule is at work.
        row: the name of the row of the table that `what` comes from; "" for a note.
    """

    what: str
    rule: str
    url: str
    row: str = ""


class Narrator:
    """Tells the steps of one recording.

    Args:
        conversation: the recording as it was read.
        steps: its steps, for the numbers in sentences such as "a copy of step 3".
        passing: what goes through gateways.
        places: where each request stands in its thread, by the number of its frame.
    """

    def __init__(
        self,
        recording: Recording,
        conversation: Conversation,
        steps: Steps,
        passing: Passing,
        places: Mapping[int, Place],
    ) -> None:
        self._recording = recording
        self._conversation = conversation
        self._passing = passing
        self._places = places
        self._frames = {frame.number: frame for frame in recording.frames}
        self._step_of_frame = {step.frame.number: step.number for step in steps.all if step.frame}
        self._stdin_closed = {
            event.connection: index
            for index, event in reversed(tuple(enumerate(recording.events)))
            if event.kind == events.CLOSED and (event.detail or {}).get("what") == "stdin"
        }
        self._level_set = {
            call.connection: call.index
            for call in reversed(conversation.calls)
            if call.request.method == "logging/setLevel"
        }
        self._deaths = {
            (event.party, event.at_us)
            for event in recording.events
            if event.kind == events.NOTE
            and (event.detail or {}).get("text") == f"The process of {event.party} dies."
        }
        self._cancelled = {
            (call.receiver, call.connection, compact_text(call.request.id)): call.ended
            for call in conversation.calls
            if call.outcome == CANCELLED and call.ended is not None
        }

    def tell(self, step: Step) -> Narration:
        """The sentence and the rule of one step."""
        if step.frame is not None:
            return self._frame(step.frame, self._conversation.readings[step.frame.number])
        if step.question is not None:
            return self._question(step, step.question)
        if step.event.kind == events.NOTE:
            text = str((step.event.detail or {}).get("text", ""))
            what = f"Note by {the(step.event.party)}: {one_line(text, 400)}{self._about(step)}"
            return Narration(one_end(what), "", "")
        if step.event.kind == events.CLOSED:
            return self._closed(step)
        return self._stopped(step)

    def _about(self, step: Step) -> str:
        """Which message is ignored: the note says it right after that has arrived."""
        if not str((step.event.detail or {}).get("text", "")).startswith("Ignored"):
            return ""
        for index in range(step.index - 1, -1, -1):
            event = self._recording.events[index]
            if event.at_us != step.event.at_us or event.kind == events.NOTE:
                break
            number = self._step_of_frame.get(event.frame)
            if event.kind == events.DELIVERED and event.party == step.event.party and number:
                return f" It is the message of step {number}, which arrives now."
        return ""

    def _question(self, step: Step, question: Question) -> Narration:
        era = self._conversation.readings[question.frame].era
        line, facts = question_line(step, question)
        return Narration(_sentence(line.what, facts), line.rule, url_of(era, line) if line.rule else "")

    def _stopped(self, step: Step) -> Narration:
        event = step.event
        detail = event.detail or {}
        era = self._conversation.eras.get(event.connection, MODERN)
        facts = party_facts(event.party, event.peer)
        id = detail.get("id")
        number = f" #{one_line(compact_text(id), 40)}" if isinstance(id, str | int) else ""
        facts["name"] = f"{quote(detail.get('name'), 'a request')}{number}"
        key = "handler stopped"
        ended = self._cancelled.get((event.party, event.connection, compact_text(detail.get("id"))))
        if (event.party, event.at_us) in self._deaths:
            key = "handler died"
        elif ended is not None and ended <= step.index:
            key = "handler cancelled"
        return _narration(era, (key,), facts)

    def _frame(self, frame: Frame, reading: Reading) -> Narration:
        at = self._situation(frame, reading)
        facts = message_facts(at)
        told = _narration(rules_of(frame, reading), keys_of(at), facts)
        more = "".join(self._fate(frame, reading, at.origin is not None))
        if frame.fate == "dropped" and frame.parsed is not None:
            line = LINES[reading.era][_lost(frame, reading)]
            return Narration(one_end(told.what + more), line.rule, url_of(reading.era, line), told.row)
        return told._replace(what=one_end(told.what + more))

    def _situation(self, frame: Frame, reading: Reading) -> Situation:
        passing = self._passing
        origin = self._frames.get(passing.origins.get(frame.number, 0))
        call = reading.call
        behind = asker = ""
        if frame.receiver in passing.gateways:
            servers = passing.behind.get(frame.receiver, ())
            if reading.from_server:
                asker = self._asker(frame, call)
            else:
                # Which of several servers it will be is not known yet.
                named = [server for server in servers if not server.startswith("server")]
                behind = named[0] if len(named) == 1 else "server"
        level_set = self._level_set.get(frame.connection)
        return Situation(
            frame,
            reading,
            opening=self._conversation.openings.get(frame.exchange),
            place=self._places.get(call.frame) if call is not None else None,
            origin=origin,
            own=frame.number in passing.own,
            replicas=len(passing.behind.get(frame.sender, ())),
            asker=asker,
            behind=behind,
            level_set=level_set is not None and level_set < frame.index,
        )

    def _asker(self, frame: Frame, call: Call | None) -> str:
        opening = self._conversation.openings.get(frame.exchange)
        sent = call.frame if call is not None else opening.number if opening is not None else 0
        origin = self._frames.get(self._passing.origins.get(sent, 0))
        return origin.sender if origin is not None else ""

    def _fate(self, frame: Frame, reading: Reading, passed_on: bool) -> Iterator[str]:
        token = meta_of(params_of(frame.parsed)).get(PROGRESS_TOKEN)
        if isinstance(frame.parsed, Request) and token is not None and not passed_on:
            yield f" It wants progress reports under the token {quote(token)}."
        if frame.copy_of:
            original = self._step_of_frame.get(frame.copy_of)
            which = f"step {original}" if original else "an earlier message"
            yield f" This is a copy of {which}: a fault sent it twice."
        if frame.arrived_data != frame.data:
            yield " A fault changes it on the way: look at the raw bytes."
        if frame.fate == "dropped":
            yield f" It is lost on the way{f': {one_line(frame.why, SHORT)}' if frame.why else ''}."
        elif frame.fate == "in flight":
            yield " It has not arrived when the recording ends."

    def _closed(self, step: Step) -> Narration:
        event = step.event
        detail = event.detail or {}
        what, how = str(detail.get("what", "")), str(detail.get("how", ""))
        call = self._conversation.closings.get(step.index)
        era = call.era if call else self._conversation.eras.get(event.connection, MODERN)
        facts = party_facts(event.party, event.peer)
        facts["what"] = closed_thing(what)
        facts["target"] = target(call)
        streams = self._conversation.streams
        streaming = event.exchange in streams and streams[event.exchange] < step.index
        facts["stream"] = "the response stream" if streaming else "the HTTP exchange"
        facts["reason"] = f" ({one_line(how, SHORT)})" if how and how not in ("closed", "aborted") else ""
        if what == "stdout" and (event.party, event.at_us) in self._deaths:
            return _narration(era, ("closed stdout died",), facts)
        if what == "stdout" and self._stdin_closed.get(event.connection, step.index) < step.index:
            return _narration(era, ("closed stdout at shutdown",), facts)
        if what != "exchange":
            return _narration(era, (f"closed {what}", "closed"), facts)
        return _narration(era, tuple(self._ended(event, call, how, streaming)), facts)

    def _ended(self, event: Event, call: Call | None, how: str, streaming: bool) -> Iterator[str]:
        """The rows for the end of an HTTP exchange, the most telling one first."""
        opening = self._conversation.openings.get(event.exchange)
        head = opening.head if opening is not None else None
        # A GET that takes up a broken response stream opens no standing one.
        standing = (head or {}).get("method") == "GET" and "last-event-id" not in headers_of(head)
        listens = call is not None and call.request.method == "subscriptions/listen"
        # Who answers and then closes has ended the stream in order, though both are still on their way.
        told = call is not None and event.party != call.sender and call.answers > 0
        waiting = call is not None and call.ended is None and not told
        if how == "cut":
            if standing:
                yield "closed exchange cut standing"
            elif waiting and call is not None:
                yield f"closed exchange cut {call.request.method}"
                yield "closed exchange cut"
            else:
                yield "closed exchange cut late"
        if standing:
            yield "closed exchange standing"
        if waiting and how == "timed out":
            yield "closed exchange timeout"
        if waiting and call is not None:
            by = "client" if event.party == call.sender else "server"
            if call.request.method in ("initialize", "subscriptions/listen"):
                yield f"closed exchange by {by} {call.request.method}"
            yield f"closed exchange by {by}"
        if call is not None and call.outcome == CANCELLED and not listens and event.party == call.sender:
            yield "closed exchange cancelled"
        yield "closed exchange" if streaming else "closed exchange without stream"


def _lost(frame: Frame, reading: Reading) -> str:
    """The row with the rule for a message that is lost."""
    if "closed the" in frame.why:
        call = reading.call
        opens = reading.era == LEGACY and call is not None and call.request.method == "initialize"
        return "lost at closing initialize" if opens else "lost at closing"
    if "cut" in frame.why and reading.from_server and frame.is_http:
        resumable = any(line.startswith(b"id:") for line in frame.data.splitlines())
        return "lost resumable" if resumable else "lost with its stream"
    waits = isinstance(frame.parsed, Request | Response | ErrorResponse)
    return "lost request" if waits else "lost notification"


def url_of(era: str, line: Line) -> str:
    """The address of the page where the rule of a line stands."""
    return f"{SPECIFICATION}/{line.revision}/{line.page}" if line.revision else spec_url(era, line.page)


def _narration(era: str, keys: tuple[str, ...], facts: Mapping[str, str]) -> Narration:
    lines = LINES[era]
    row = next(key for key in keys if key in lines)
    line = lines[row]
    url = url_of(era, line) if line.rule else ""
    return Narration(_sentence(line.what, facts), line.rule.format_map(facts), url, row)


def _sentence(what: str, facts: Mapping[str, str]) -> str:
    # What is quoted may end its own sentence.
    return one_end(what.format_map(facts).rstrip())
