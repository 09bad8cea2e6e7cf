"""A server that a learner builds: made, and looked at from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any, Final

import mcp_types

from mcpsim.audit.rule import MUST, SHOULD
from mcpsim.course.exercises.handler import Advice
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.showing import cut, name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.recording import Recording
from mcpsim.recording.events import NOTE
from mcpsim.server import Server

SERVER: Final = "server"
_RAISED: Final = " raised "
_STANDS: Final = "progress must grow"
_NO_FORM: Final = "ElicitationSchemaError"

HELPS: Final = Rule(
    "What goes wrong in a tool belongs into the result, with `isError`, so that the model sees it and can "
    "correct itself.",
    "server/tools#error-handling",
)
REPORTS: Final = Rule(
    "The `progress` value MUST increase with each notification.", "basic/patterns/progress#progress-flow"
)
FIELDS: Final = Rule(
    "A form is flat: its fields are texts, numbers, booleans and choices.",
    "client/elicitation#requested-schema",
)
ANSWERS: Final = Rule(
    "Servers MUST handle that the user declines or dismisses a question, or that the client fails to put it.",
    "client/elicitation#error-handling",
)
STOPS: Final = Rule(
    "A server that gets a cancellation SHOULD stop processing the request and free what it held.",
    "basic/patterns/cancellation#behavior-requirements",
)


LOOK_FIRST: Final[Advice] = (
    HELPS,
    "Look before you take: `raise ToolError(...)` with a text that helps is for what the caller can change.",
)
UNANSWERED: Final[Advice] = (
    ANSWERS,
    'Only "accept" has content. Ask for `answer.action` before you look into `answer.content`.',
)
_COUNTS: Final[Advice] = (
    REPORTS,
    "Each report says how many are done by now: `await context.report_progress(done, total)`.",
)
#: What to say of errors that come of something that is known, by what stands in them.
_KNOWN: Final[Mapping[str, Advice]] = {
    _STANDS: _COUNTS,
    _NO_FORM: (FIELDS, "The error says what is wrong with the form."),
}


def made(answer: Any, learner: Learner, *arguments: Any) -> Server:
    """The learner's server.

    Raises:
        NotAttempted: the function returned `...`.
        NotYet: it is no function, it raised, or it returned something else.
    """
    server = learner.call(answer, *arguments)
    if is_placeholder(server):
        raise NotAttempted
    if not isinstance(server, Server):
        raise NotYet(
            f"{name_of(answer)} returned {show(server, 60)}. It should return a `Server`.",
            look='`server = Server("name")` at the beginning, `return server` at the end.',
        )
    return server


def require_no_fault(where: str, recording: Recording, advice: Advice = LOOK_FIRST) -> None:
    """No handler ended with an exception that was not meant for the client.

    Args:
        advice: the rule, and what to look at next, where one did.
    """
    for event in recording.events:
        text = str((event.detail or {}).get("text", ""))
        if event.kind == NOTE and event.party == SERVER and _RAISED in text:
            known = (said for sign, said in _KNOWN.items() if sign in text)
            rule, look = next(known, advice)
            raise NotYet(f"{where} {cut(text)}", rule, look, recording)


def require_counted(where: str, steps: Sequence[float], count: int, things: str, look: str) -> None:
    """The progress of `count` things came as 1, 2, 3 and so on."""
    wanted = list(range(1, count + 1))
    if list(steps) == wanted:
        return
    if len(steps) != count or any(a >= b for a, b in pairwise(steps)):
        raise NotYet(
            f"{where} of the progress of {count} {things}, a client could use {show(steps)}.", REPORTS, look
        )
    raise NotYet(
        f"{where} the progress of {count} {things} was {show(steps)}. It should be {show(wanted)}.",
        look=f"Say how many {things} are done. When the first one is, that is 1. {look}",
    )


def require_clean(where: str, recording: Recording) -> None:
    """The server broke no rule that the audit knows."""
    report = recording.audit()
    for level in (MUST, SHOULD):
        for finding in report.of_level(level):
            if finding.party == SERVER:
                rule = Rule(f"{finding.rule} ({level}).", *_page(finding.spec))
                raise NotYet(f"{where} {finding.message}", rule, finding.hint, recording)


def _page(spec: str) -> tuple[str, str]:
    revision, _, page = spec.partition("/")
    return page, revision


def text_of_result(result: mcp_types.CallToolResult) -> str:
    """The texts of a result."""
    return " ".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))


def words(rng: Random, count: int) -> list[str]:
    """Words that nobody can guess, all different, in no order."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3))] = None
    return list(found)


def listed(names: Sequence[str]) -> str:
    """Names for a sentence."""
    return ", ".join(names) if names else "nothing"
