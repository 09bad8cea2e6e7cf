"""What a client serves, it has declared: elicitation, sampling, roots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from mcpsim.audit.model import Call
from mcpsim.audit.questions import ASKERS, GROUPS, Json, answers, declared
from mcpsim.audit.rule import ALL, MODERN, MUST, Found, Rule, calls
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import ELICITING


def _served_undeclared(method: str) -> Callable[[Call], Iterator[Found]]:
    group = GROUPS[method]

    def check(call: Call) -> Iterator[Found]:
        known = declared(call)
        if known is None or declares(known, group):
            return
        for answer in answers(call):
            if answer.question.method == method and _is_served(method, answer.result):
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
        on=calls(*ASKERS, method),
        check=_served_undeclared(method),
    )


ASKING_DECLARED: Final[tuple[Rule, ...]] = tuple(_rule(method) for method in GROUPS)
