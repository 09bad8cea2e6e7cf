"""What can be changed after a step, as plain JSON; and a change that comes from the browser, read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from mcpsim.errors import FramingError, MalformedMessage, RequestStopped
from mcpsim.messages import Request, Response, read_json, write_json
from mcpsim.recording import Recording
from mcpsim.simulation.branching import (
    AnswerOtherwise,
    Branch,
    Change,
    CrashServer,
    DelayNext,
    DropNext,
    DuplicateNext,
    EditNext,
    Moment,
    PressStop,
    Question,
    moment,
)
from mcpsim.widgets.compare_view import align, name_of, rows_data, side_data, summary
from mcpsim.widgets.pretty import pretty
from mcpsim.widgets.reading import read
from mcpsim.widgets.steps import Steps, steps_of
from mcpsim.widgets.text import cut, one_line, visible
from mcpsim.widgets.view import player_data

#: The longest message that is offered for editing, in characters.
MAX_TEXT: Final = 100_000
NAMES: Final = ("first run", "branch")
#: So much of what a story prints is shown.
MAX_PRINTED: Final = 4_000


def events_before(recording: Recording, step: int) -> int:
    """How many events there are up to the one of a step, with it; 0 before the first step.

    Raises:
        ValueError: there is no such step.
    """
    steps: Steps = steps_of(recording)
    if not 0 <= step <= len(steps.all):
        raise ValueError(f"There is no step {step}; there are {len(steps.all):,}.")
    return steps.indexes[step - 1] + 1 if step else 0


def choices_data(recording: Recording, step: int) -> dict[str, Any]:
    """What can be changed after a step.

    Returns:
        `step`; `next` (the next message in a few words, or ""); and `choices`: `id`, `label`, `why` (why it
        is not possible, or ""), and `fields`: what is to be filled in, each with `name`, `label`, `type`
        ("number", "text", "switch" or "choice"), `value`, and `values` of a choice.
    """
    here = moment(recording, events_before(recording, step))
    return {"step": step, "next": _next(recording, here), "choices": _choices(recording, here)}


def _choices(recording: Recording, here: Moment) -> list[dict[str, Any]]:
    found = [
        _choice("drop", "Lose the next message", DropNext().refusal(here)),
        _choice(
            "delay",
            "Delay the next message",
            DelayNext().refusal(here),
            _field("ms", "Milliseconds", "number", 1000),
        ),
        _choice("duplicate", "Deliver the next message twice", DuplicateNext().refusal(here)),
        _edit(here),
    ]
    found += _stops(here)
    found += _answers(recording, here)
    return [*found, *_crashes(here)]


def _choice(id: str, label: str, why: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, "label": label, "why": why, "fields": [] if why else list(fields)}


def _field(
    name: str, label: str, type: str, value: Any, values: Mapping[str, str] | None = None
) -> dict[str, Any]:
    given = {} if values is None else {"values": list(map(list, values.items()))}
    return {"name": name, "label": label, "type": type, "value": value, **given}


def _edit(here: Moment) -> dict[str, Any]:
    why = EditNext(b"").refusal(here)
    fields: list[dict[str, Any]] = []
    if not why and here.next is not None:
        text = _text(here.next.body)
        if len(text) > MAX_TEXT:
            why = f"The next message has {len(text):,} characters; {MAX_TEXT:,} can be edited here."
        fields.append(_field("text", "Message (JSON, or anything else: it is sent as it is)", "text", text))
        if "method" in (here.next.head or {}):
            fields.append(_field("headers", "Let the HTTP headers repeat the new message", "switch", True))
    return _choice("edit", "Edit the next message", why, *fields)


def _stops(here: Moment) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for frame in here.in_flight:
        message = frame.parsed
        if isinstance(message, Request):
            id = f"stop {frame.connection} {json.dumps(message.id)}"
            what = f"{one_line(message.method, 60)} #{one_line(str(message.id), 40)}"
            whose = (
                f" of {one_line(frame.sender, 40)}" if len({one.sender for one in here.in_flight}) > 1 else ""
            )
            why = PressStop(frame.connection, message.id).refusal(here)
            found.append(_choice(id, f"Press Stop: cancel {what}{whose}", why))
    return found or [_choice("stop", "Press Stop", "No request of a client is in flight at this step.")]


def _answers(recording: Recording, here: Moment) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for question in here.questions:
        asked = one_line(str(question.params.get("message", question.method)), 60)
        does = {
            one: f"{one}" + (" (as before)" if one == question.outcome else "") for one in question.actions
        }
        first = next((one for one in question.actions if one != question.outcome), question.actions[0])
        fields = [_field("action", "Answer", "choice", first, does)]
        if question.method != "elicitation/create":
            fields.append(_field("content", "What the model writes, for accept", "text", ""))
        elif not question.by_url:
            content = json.dumps(_filled_in(recording, question), indent=2, ensure_ascii=False)
            fields.append(_field("content", "What is filled in, for accept (JSON)", "text", content))
        id = f"answer {question.connection} {question.nth}"
        found.append(_choice(id, f"Answer differently: {asked}", "", *fields))
    none = "No question is open at this step: nobody was asked, or the answer is given."
    return found or [_choice("answer", "Answer differently", none)]


def _filled_in(recording: Recording, question: Question) -> Any:
    """What the client answered in the first run; {} where it filled nothing in."""
    for frame in recording.frames:
        message, content = frame.parsed, None
        if frame.connection != question.connection or frame.sender != question.party:
            continue
        if isinstance(message, Response) and message.id == question.id:
            content = message.result.get("content")
        elif isinstance(message, Request):
            content = _member(_member(_member(message.params, "inputResponses"), str(question.id)), "content")
        if isinstance(content, dict):
            return cast("dict[str, Any]", content)
    return {}


def _member(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


def _crashes(here: Moment) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for lane in (*here.alive, *here.dead):
        again = _field("restart", "Started again after so many milliseconds (empty: never)", "number", "")
        fields = () if here.stdio else (again,)
        label = f"Crash the process of {one_line(lane, 40)}"
        found.append(_choice(f"crash {lane}", label, CrashServer(lane).refusal(here), *fields))
    return found


def _next(recording: Recording, here: Moment) -> str:
    if here.next is None:
        return ""
    steps = steps_of(recording)
    number = steps.at(here.next.index)
    what = name_of(steps.all[number - 1], read(recording))
    return f"step {number}, {one_line(here.next.sender, 40)} → {one_line(here.next.receiver, 40)}: {what}"


def _text(body: bytes) -> str:
    try:
        return pretty(read_json(body)).text
    except MalformedMessage:
        return body.decode("utf-8", "replace")


# What comes from the browser


def change_of(value: object) -> tuple[Change, str]:
    """Read a change that a user chose, and what there is to say about the reading, or "".

    Args:
        value: {"id": of the choice, and the value of each of its fields by name}.

    Raises:
        ValueError: there is no such change, or a field has no value that makes sense; the text says which.
    """
    if not isinstance(value, dict):
        raise ValueError("A change is an object with an `id`.")
    given = cast("dict[str, Any]", value)
    name, _, rest = str(given.get("id", "")).partition(" ")
    read = _READ.get(name)
    if read is None:
        raise ValueError(f"There is no change {one_line(name, 40)!r}; there is {', '.join(_READ)}.")
    return read(rest, given)


def _read_edit(_: str, given: Mapping[str, Any]) -> tuple[Change, str]:
    text = given.get("text")
    if not isinstance(text, str):
        raise ValueError("The text of the message is missing.")
    told = ""
    try:
        data = write_json(read_json(text.encode("utf-8", "surrogatepass")))
    except (MalformedMessage, FramingError):
        data = text.encode("utf-8", "surrogatepass")
        told = "What is sent is not JSON, and goes out as it was typed."
    return EditNext(data, fit_headers=given.get("headers") is not False), told


def _read_stop(rest: str, given: Mapping[str, Any]) -> tuple[Change, str]:
    connection, _, id = rest.partition(" ")
    try:
        read: Any = json.loads(id)
        number = int(connection)
    except ValueError:
        raise ValueError("Stop needs a request that is in flight.") from None
    if not isinstance(read, str | int) or isinstance(read, bool):
        raise ValueError("Stop needs a request that is in flight.")
    return PressStop(number, read), ""


def _read_answer(rest: str, given: Mapping[str, Any]) -> tuple[Change, str]:
    connection, _, nth = rest.partition(" ")
    if not (connection.isdecimal() and nth.isdecimal()):
        raise ValueError("An answer needs a question that is open.")
    action, text = str(given.get("action", "")), given.get("content")
    content: Any = text
    if action == "accept" and isinstance(text, str) and text.lstrip().startswith(("{", "[")):
        try:
            content = read_json(text.encode("utf-8", "surrogatepass"))
        except MalformedMessage as error:
            raise ValueError(f"What is filled in is not JSON: {error.message}") from None
    return AnswerOtherwise(int(connection), int(nth), action, content), ""


def _read_crash(rest: str, given: Mapping[str, Any]) -> tuple[Change, str]:
    restart = given.get("restart")
    return CrashServer(rest, None if restart in (None, "") else _number("restart", restart)), ""


def _number(name: str, value: object) -> float:
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(cast("Any", value))
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be a number of milliseconds, not {one_line(str(value), 40)!r}."
        ) from None


_READ: Final[Mapping[str, Callable[[str, Mapping[str, Any]], tuple[Change, str]]]] = {
    "drop": lambda _, given: (DropNext(), ""),
    "delay": lambda _, given: (DelayNext(_number("ms", given.get("ms"))), ""),
    "duplicate": lambda _, given: (DuplicateNext(), ""),
    "edit": _read_edit,
    "stop": _read_stop,
    "answer": _read_answer,
    "crash": _read_crash,
}


def branch_data(
    branch: Branch, step: int, note: str = "", printed: str = "", *, findings: bool = True
) -> dict[str, Any]:
    """A branch beside the run that it comes from, for the player, which has that run already.

    Args:
        step: the step after which the change comes.
        note: what there is to say about the change beside what it is.
        printed: what the story printed while it was played again.
        findings: whether the other run has what the audit finds.

    Returns:
        `names`, `summary`, `right` and `rows` as `comparison_data` has them; `told` (the change), `warning`,
        `ended` (how the run ended early, or ""), `wanted` (whether that is what the change is for),
        `printed`, and `start` (the row of the change, or 0).
    """
    first, second = branch.first.recording, branch.run.recording
    forced = _forced(first, second, branch)
    rows = rows_data(first, second, align(first, second, forced=forced))
    start = next((n for n, row in enumerate(rows, 1) if row["left"] > step or row["right"] > step), 0)
    wanted = isinstance(branch.change, PressStop) and isinstance(branch.run.error, RequestStopped)
    return {
        "names": list(NAMES),
        "summary": summary(first, second, rows, NAMES),
        "right": side_data(player_data(second, findings=findings)),
        "rows": rows,
        "told": " ".join(one for one in (branch.told, note) if one),
        "warning": branch.warning,
        "ended": _end_of(branch.run.error, wanted=wanted),
        "wanted": wanted,
        "printed": visible(cut(printed.rstrip(), MAX_PRINTED)),
        "start": start,
    }


def _end_of(error: BaseException | None, *, wanted: bool) -> str:
    if error is None:
        return ""
    if wanted:
        return "The story ended there, as the user's Stop wants it: it did not catch the RequestStopped."
    return f"The story ended with an error. {type(error).__name__}: {one_line(str(error), 300)}"


def _forced(first: Recording, second: Recording, branch: Branch) -> int:
    """How many steps from the first are the same ones: those before the change, and the changed message."""
    ours, theirs = steps_of(first), steps_of(second)
    count = ours.at(branch.common - 1) if branch.common else 0
    here, there = ours.all[count : count + 1], theirs.all[count : count + 1]
    if here and there and here[0].frame is not None and there[0].frame is not None:
        before, after = here[0].frame, there[0].frame
        same_place = (before.sender, before.receiver, before.connection, before.number) == (
            *(after.sender, after.receiver, after.connection, after.number),
        )
        if same_place and isinstance(branch.change, EditNext):
            return count + 1
    return count
