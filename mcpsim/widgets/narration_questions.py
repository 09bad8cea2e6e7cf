"""What the player says where a client asks its user or its host: the same words in both eras.

What is between a client and whoever it asks is no part of MCP; the specification says how a client has to
behave there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from mcpsim.recording import events
from mcpsim.widgets.facts import party_facts, quote, the
from mcpsim.widgets.lines import Line
from mcpsim.widgets.questions import Question
from mcpsim.widgets.steps import Step

_ACTIONS: Final = "client/elicitation#response-actions"
_THREE: Final = (
    "A user can accept, decline, or close the question without a choice, which is `cancel`. A server gets "
    "one of these three."
)
_ELICIT: Final = "elicitation/create"
_SAMPLE: Final = "sampling/createMessage"

#: By method and by what came of it; "" where it is only asked.
LINES: Final[Mapping[tuple[str, str], Line]] = {
    (_ELICIT, ""): Line(
        "{Sender} asks {who}: {question}.",
        "A client MUST make clear which server asks, MUST offer clear ways to decline and to cancel, and "
        "MUST let users review what they filled in before it is sent.",
        "client/elicitation#user-interaction-model",
    ),
    (_ELICIT, "url"): Line(
        "{Sender} shows {who} an address and asks whether to open it: {question}.",
        "A client MUST show the whole URL, and MUST NOT open it without the user's consent.",
        "client/elicitation#safe-url-handling",
    ),
    (_ELICIT, "accept"): Line("{Who} accepts.", _THREE, _ACTIONS),
    (_ELICIT, "decline"): Line("{Who} declines.", _THREE, _ACTIONS),
    (_ELICIT, "cancel"): Line("{Who} closes the question without a choice.", _THREE, _ACTIONS),
    (_SAMPLE, ""): Line(
        "{Sender} asks {who} to let its model write: {question}.",
        "There SHOULD always be a human in the loop who can deny what a server wants of the model.",
        "client/sampling#user-interaction-model",
    ),
    (_SAMPLE, "result"): Line(
        "{Who} gives what its model wrote.",
        "What a model wrote SHOULD be presented for review before it is delivered.",
        "client/sampling#user-interaction-model",
    ),
    (_SAMPLE, "decline"): Line(
        "{Who} does not let its model write.",
        "There SHOULD always be a human in the loop who can deny what a server wants of the model.",
        "client/sampling#user-interaction-model",
    ),
    ("roots/list", ""): Line(
        "{Sender} asks {who} for the roots.",
        "A client SHOULD ask its user for consent before it exposes roots to a server.",
        "client/roots#implementation-guidelines",
    ),
    ("roots/list", "result"): Line(
        "{Who} names the roots.",
        "A client MUST expose only roots for which it has the permission, and MUST validate their URIs.",
        "client/roots#security-considerations",
    ),
}
_CANCELLED: Final = Line("{Sender} does not wait for {who} any more.", "", "")
_OTHER: Final = Line("{Who} gives no answer that can be sent.", "", "")

_ASKS: Final[Mapping[str, str]] = {
    _ELICIT: "asks",
    _SAMPLE: "asks the model",
    "roots/list": "asks for the roots",
}
_ANSWERS: Final[Mapping[tuple[str, str], str]] = {
    (_ELICIT, "accept"): "accepts",
    (_ELICIT, "decline"): "declines",
    (_ELICIT, "cancel"): "cancels",
    (_SAMPLE, "result"): "the model has written",
    (_SAMPLE, "decline"): "declines",
    ("roots/list", "result"): "names the roots",
}


def question_line(step: Step, question: Question) -> tuple[Line, dict[str, str]]:
    """The row for a step at which somebody is asked or answers, and its facts."""
    who = the(question.lane)
    facts = party_facts(step.event.party, question.lane)
    facts |= {
        "who": who,
        "Who": who[:1].upper() + who[1:],
        "question": quote(text_of(question), "nothing more"),
    }
    if step.event.kind == events.HANDLER_CANCELLED:
        return _CANCELLED, facts
    if step.event.kind == events.HANDLER_STARTED:
        by_url = question.method == _ELICIT and question.params.get("mode") == "url"
        return LINES[question.method, "url" if by_url else ""], facts
    return LINES.get((question.method, _outcome(step)), _OTHER), facts


def question_label(step: Step, question: Question) -> tuple[str, str]:
    """What is asked or answered, in short, and the text of it."""
    if step.event.kind == events.HANDLER_CANCELLED:
        return "does not ask any more", question.method
    if step.event.kind == events.HANDLER_STARTED:
        return _ASKS[question.method], text_of(question) or ""
    return _ANSWERS.get((question.method, _outcome(step)), "no answer"), ""


def text_of(question: Question) -> str | None:
    """What whoever is asked gets to read; None where there is no text."""
    params = question.params
    if question.method == _ELICIT:
        message, url = params.get("message"), params.get("url")
        shown = [one for one in (message, url) if isinstance(one, str)]
        return " — ".join(shown) or None
    messages: Any = params.get("messages")
    last: Any = cast("list[Any]", messages)[-1] if isinstance(messages, list) and messages else None
    content: Any = cast("dict[str, Any]", last).get("content") if isinstance(last, dict) else None
    text: Any = cast("dict[str, Any]", content).get("text") if isinstance(content, dict) else None
    return text if isinstance(text, str) else None


def _outcome(step: Step) -> str:
    return str((step.event.detail or {}).get("outcome", ""))
