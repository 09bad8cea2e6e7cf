"""What a client's user or host was asked, and what was answered: no message says it at that moment.

The question came with a message before it; the answer goes out with a message after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple, cast

from mcpsim.messages import ErrorResponse, Request, Response
from mcpsim.recording import events
from mcpsim.widgets.elicitation_form_view import form_data
from mcpsim.widgets.narration_questions import text_of
from mcpsim.widgets.pretty import pretty
from mcpsim.widgets.questions import Question
from mcpsim.widgets.reading import Conversation, Reading
from mcpsim.widgets.steps import Step, Steps
from mcpsim.widgets.text import compact_text, cut, one_line, visible

MAX_TEXT: Final = 2_000
_FORM: Final = "elicitation/create"


class _Answer(NamedTuple):
    step: Step
    value: Any


class Asked:
    """The bodies of the steps at which somebody is asked, or answers."""

    def __init__(self, steps: Steps, conversation: Conversation) -> None:
        self._steps, self._conversation = steps, conversation

    def body(self, step: Step, question: Question) -> dict[str, Any]:
        """What the pane of such a step shows.

        Returns:
            `text` (what whoever is asked gets to read, or ""); `fields` of a form, each [label, what may be
            filled in]; `json` (the question, or the answer, or ""); `carried` (the step of the message that
            brought the question, or takes the answer out, or 0).
        """
        if step.event.kind == events.HANDLER_STARTED:
            brought = self._step_of_frame.get(question.frame)
            return {
                "text": visible(cut(text_of(question) or "", MAX_TEXT)),
                "fields": list(_fields(question)),
                "json": pretty(question.params).text if question.params else "",
                "carried": brought.number if brought else 0,
            }
        answer = self._answer(step, question)
        return {
            "text": "",
            "fields": [],
            "json": pretty(answer.value).text if answer else "",
            "carried": answer.step.number if answer else 0,
        }

    @cached_property
    def _step_of_frame(self) -> Mapping[int, Step]:
        return {step.frame.number: step for step in self._steps.all if step.frame is not None}

    @cached_property
    def _answers(self) -> Mapping[tuple[str, Any], list[_Answer]]:
        """By who sends it, and which question it answers: the frame of a request, or the key of another."""
        found: dict[tuple[str, Any], list[_Answer]] = {}
        for step in self._steps.all:
            if step.frame is None:
                continue
            for what, value in _carried(step.frame.parsed, self._conversation.readings[step.frame.number]):
                found.setdefault((step.frame.sender, what), []).append(_Answer(step, value))
        return found

    def _answer(self, step: Step, question: Question) -> _Answer | None:
        key = compact_text((step.event.detail or {}).get("id"))
        asked = self._step_of_frame.get(question.frame)
        request = asked is not None and asked.frame is not None and isinstance(asked.frame.parsed, Request)
        what = question.frame if request else key
        sent = self._answers.get((step.event.party, what), ())
        return next((one for one in sent if one.step.index > step.index), None)


def _carried(message: object, reading: Reading) -> Iterator[tuple[Any, Any]]:
    """The answers that a message takes out."""
    if isinstance(message, Response) and reading.call is not None:
        yield reading.call.frame, message.result
    elif isinstance(message, ErrorResponse) and reading.call is not None:
        yield reading.call.frame, {"error": {"code": message.code, "message": message.message}}
    elif isinstance(message, Request):
        given: Any = (message.params or {}).get("inputResponses")
        for key, value in cast("dict[str, Any]", given if isinstance(given, dict) else {}).items():
            yield compact_text(key), value


def _fields(question: Question) -> Iterator[list[str]]:
    if question.method != _FORM or question.params.get("mode") == "url":
        return
    for field in form_data(question.params, "")["fields"]:
        options = ", ".join(label for _, label in field["options"])
        told = [field["description"], options, field["hint"], "required" if field["required"] else ""]
        yield [field["label"], one_line("; ".join(one for one in told if one), 300)]
