"""What a client serves, it has declared (elicitation, sampling, roots); and what is on its way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from mcpsim.audit.model import Call, Connection
from mcpsim.audit.questions import ASKERS, GROUPS, HOLDING, Json, Question, answers, declared, questions
from mcpsim.audit.rule import ALL, MODERN, MUST, NOTE, SHOULD, Found, Rule, calls, each
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import ELICITING


def _served_undeclared(method: str) -> Callable[[Call], Iterator[Found]]:
    group = GROUPS[method]

    def check(call: Call) -> Iterator[Found]:
        known = declared(call)
        if known is None or declares(known, group):
            return
        for answer in answers(call, method):
            if _is_served(method, answer.result):
                yield Found(
                    answer.item,
                    f"{answer.name} shows that the client supports {group}, and it has not declared it.",
                    hint=f"Declare {group} in every request."
                    if call.era == "modern"
                    else f"Declare {group} in initialize.",
                )
                return

    return check


def _is_served(method: str, result: Json) -> bool:
    """Whether somebody did what was asked, rather than fend it off."""
    if method == "elicitation/create":
        return result.get("action") == "accept"
    return bool(result.get("roots")) if method == "roots/list" else "model" in result


def _rule(method: str) -> Rule:
    group = GROUPS[method]
    page = f"client/{group}#capabilities"
    return Rule(
        f"{group}-supported-is-declared",
        MUST,
        "client",
        ELICITING | MODERN if group == "elicitation" else ALL,
        {"modern": page, "legacy": page},
        f"A client that supports {group} declares it.",
        on=calls(*ASKERS, method, among=HOLDING),
        check=_served_undeclared(method),
    )


def _deprecated(method: str) -> Callable[[Connection], Iterator[Found]]:
    group, instead = _DEPRECATED[method]

    def check(connection: Connection) -> Iterator[Found]:
        for call in connection.calls:
            if any(question.method == method for question in _modern_questions(call)):
                assert call.answer is not None
                yield Found(
                    call.answer,
                    f"This asks for {group}, which is deprecated in this revision. New programs should not "
                    f"begin to use it, others should move on to {instead}.",
                    level=NOTE,
                )
                return

    return check


def _modern_questions(call: Call) -> tuple[Question, ...]:
    return questions(call) if call.method in ASKERS and call.era == "modern" else ()


_DEPRECATED: Final[Mapping[str, tuple[str, str]]] = {
    "sampling/createMessage": ("sampling", "asking a model's provider themselves"),
    "roots/list": ("roots", "tool parameters, resource URIs or their configuration"),
}

CLIENT_FEATURES: Final[tuple[Rule, ...]] = (
    *(_rule(method) for method in GROUPS),
    *(
        Rule(
            f"{group}-use-is-deprecated",
            SHOULD,
            "server",
            MODERN,
            {"modern": f"client/{group}"},
            f"New programs do not use {group}.",
            on=each(Connection, needs=("inputRequests",)),
            check=_deprecated(method),
        )
        for method, (group, _) in _DEPRECATED.items()
    ),
)
