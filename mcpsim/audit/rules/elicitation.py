"""Elicitation: which modes may be asked for, and how a client refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcpsim.audit.model import Call, Connection, Item
from mcpsim.audit.questions import ASKING, HOLDING, Json, Question, answers, mapping, questions
from mcpsim.audit.rule import MODERN, MUST, SHOULD, Found, Rule, calls, each
from mcpsim.eras.asking import rules_of
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import URL_ELICITING
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS
from mcpsim.messages.meta import CLIENT_CAPABILITIES
from mcpsim.recording.words import show

METHOD: Final = "elicitation/create"
MODES: Final = ("form", "url")


def page(anchor: str) -> Mapping[Any, str]:
    """The page of elicitation, which has the same anchors in both eras."""
    return {"modern": f"client/elicitation#{anchor}", "legacy": f"client/elicitation#{anchor}"}


def elicitations(call: Call, mode: str = "") -> Iterator[Question]:
    """The elicitations among the questions of a call, of one mode or of any."""
    for question in questions(call):
        if question.method == METHOD and mode in ("", mode_of(question.params)):
            yield question


def mode_of(params: Json) -> str:
    """The mode of an elicitation; "" for what is none."""
    mode = params.get("mode", "form")
    return mode if isinstance(mode, str) else ""


def _may_ask(capabilities: Json, mode: str) -> bool:
    """Whether a client has declared a mode. Whoever names no mode at all can do forms."""
    found = mapping(capabilities.get("elicitation"))
    if not any(name in found for name in MODES):
        return mode == "form"
    return declares(capabilities, f"elicitation.{mode}")


# --- Modes -------------------------------------------------------------------------------------------


def _mode_declared(call: Call) -> Iterator[Found]:
    for question in elicitations(call):
        mode, known = mode_of(question.params), question.capabilities
        if known is None or mode not in MODES or not declares(known, "elicitation"):
            continue
        if not _may_ask(known, mode):
            said = show(known.get("elicitation"))
            yield Found(
                question.item,
                f"{question.name} asks in {mode} mode, and the client has declared {said}.",
                hint="An empty elicitation capability stands for form mode; url mode must be named.",
            )


def _names_a_mode(connection: Connection) -> Iterator[Found]:
    said: set[str] = set()
    for call in connection.calls:
        found = mapping(mapping(_declaration(call.request)).get("elicitation"))
        if not found or any(found.get(mode) is not None for mode in MODES):
            continue
        if call.asked_by != "client" or not rules_of(call.revision).modes:
            continue
        text = show(found)
        if text not in said:
            said.add(text)
            yield Found(
                call.request,
                f"The client declares elicitation as {text}: neither form nor url. It must support one of "
                "them, and an empty object stands for form; what this stands for is not said.",
                hint="Declare form, url, or both.",
                level=SHOULD,
            )


def _declaration(request: Item) -> Any:
    if request.era == "modern":
        return request.meta.get(CLIENT_CAPABILITIES)
    return request.params.get("capabilities") if request.method == "initialize" else None


def _undeclared_mode_refused(call: Call) -> Iterator[Found]:
    answer = call.answer
    if call.asked_by != "server" or answer is None or answer.disturbed:
        return
    for question in elicitations(call):
        mode, known = mode_of(question.params), question.capabilities
        if known is None or mode not in MODES or not declares(known, "elicitation") or _may_ask(known, mode):
            continue
        if answer.code != INVALID_PARAMS:
            given = "a result" if answer.code is None else f"error {answer.code}"
            yield Found(
                answer,
                f"The client answers an elicitation in {mode} mode, which it has not declared, with {given}; "
                f"it must be error {INVALID_PARAMS} (invalid params).",
            )


def _mode_may_be_left_out(call: Call) -> Iterator[Found]:
    answer = call.answer
    if call.asked_by != "server" or answer is None or answer.code != INVALID_PARAMS:
        return
    text = mapping(mapping(answer.value).get("error")).get("message")
    if not isinstance(text, str) or _MODE_WORD.search(text) is None:
        return
    for question in elicitations(call, "form"):
        known = question.capabilities
        if "mode" in question.params or known is None or not declares(known, "elicitation"):
            continue
        if _may_ask(known, "form"):
            yield Found(
                answer,
                f"The client refuses an elicitation without mode: {show(text)}. One without mode is a form.",
            )


_MODE_WORD: Final = re.compile(r"\bmode\b", re.IGNORECASE)


# --- Refusals ----------------------------------------------------------------------------------------


def _refusal_handled(call: Call) -> Iterator[Found]:
    refused = next(
        (answer for answer in answers(call, METHOD) if answer.result.get("action") in ("decline", "cancel")),
        None,
    )
    outcome = call if call.asked_by == "client" else call.parent
    if refused is None or outcome is None or outcome.answer is None:
        return
    answer = outcome.answer
    if answer.code == INTERNAL_ERROR and answer.index > refused.item.index:
        yield Found(
            answer,
            f"The user chose {refused.result['action']}, and the server fails with an internal error, "
            "probably because of that.",
            hint="Decline and cancel are answers like others: go on without, or say what is missing.",
            level=SHOULD,
        )


_MODERN_AND_URL: Final = MODERN | URL_ELICITING
ELICITATION: Final[tuple[Rule, ...]] = (
    Rule(
        "elicitation-mode-is-declared",
        MUST,
        "server",
        _MODERN_AND_URL,
        page("capabilities"),
        "A server asks in a mode that the client has declared.",
        on=calls(*ASKING, among=HOLDING),
        check=_mode_declared,
    ),
    Rule(
        "elicitation-names-a-mode",
        MUST,
        "client",
        _MODERN_AND_URL,
        page("capabilities"),
        "A client that declares elicitation supports form mode, url mode, or both.",
        on=each(Connection),
        check=_names_a_mode,
    ),
    Rule(
        "elicitation-undeclared-mode-refused",
        MUST,
        "client",
        URL_ELICITING,
        {"legacy": "client/elicitation#error-handling"},
        "A client answers an elicitation in a mode that it has not declared with error -32602.",
        on=calls(METHOD, among=HOLDING),
        check=_undeclared_mode_refused,
    ),
    Rule(
        "elicitation-mode-may-be-left-out",
        MUST,
        "client",
        URL_ELICITING,
        {"legacy": "client/elicitation#elicitation-requests"},
        "A client takes an elicitation without mode for a form.",
        on=calls(METHOD, among=HOLDING),
        check=_mode_may_be_left_out,
    ),
    Rule(
        "elicitation-refusal-is-handled",
        MUST,
        "server",
        MODERN,
        {"modern": "client/elicitation#error-handling"},
        "A server can do with a user who declines or cancels.",
        on=calls(*ASKING, among=HOLDING),
        check=_refusal_handled,
    ),
)
