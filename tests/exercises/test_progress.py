"""Exercises 08: progress. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import anyio
import pytest

from mcpsim.course import exercises
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.set_08_progress.bar import expected
from mcpsim.course.exercises.set_08_progress.traces import TRACES
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

METHOD: Final = "notifications/progress"

# --- 08, faulty -----------------------------------------------------------------------------------

FAULTS: Final = {letter: trace.word for letter, trace in TRACES.items()}

FAULTY: Final = [
    ("faulty", dict(reversed(FAULTS.items()))),
    ("faulty", {**FAULTS, "A": "fine"}, "7 of 8 are right. A is not 'fine'", "MUST increase"),
    ("faulty", {**FAULTS, "B": "does not rise"}, "B is not 'does not rise'", "even if the total is unknown"),
    ("faulty", {**FAULTS, "C": "fine"}, "a text are two values", "came in an active request"),
    ("faulty", {**FAULTS, "D": "does not rise"}, "5 of 4 looks odd", "it is optional"),
    ("faulty", {**FAULTS, "E": "unknown token"}, "answered before the last", "stop after completion"),
    ("faulty", {**FAULTS, "F": "shared token"}, "is answered. Then it is free", "all active requests"),
    ("faulty", {**FAULTS, "G": "fine"}, "not answered yet", "all active requests"),
    ("faulty", {**FAULTS, "H": "does not rise"}, "the total changes", "greater than the one before"),
    ("faulty", {**FAULTS, "H": "unknown token"}, "The token is an empty text", "which tokens are active"),
    ("faulty", {**FAULTS, "D": "unknown token"}, "The token is 0", "which tokens are active"),
    ("faulty", dict.fromkeys(FAULTS, "fine"), "4 of 8 are right", "which tokens are active"),
    ("faulty", {**FAULTS, "H": "good"}, "H: 'good' is none of the words", "The words are"),
    ("faulty", {**FAULTS, "H": ...}, "7 of 8 are answered", "Still open: H"),
]

# --- 08, tokens -----------------------------------------------------------------------------------


def token_of_all(active: Any) -> Any:
    return max((token for token in active if type(token) is int), default=0) + 1


def token_longer_than_all(active: Any) -> Any:
    return "t" * (1 + max((len(str(token)) for token in active), default=0))


def token_counted(active: Any, numbers: Any = itertools.count(1_000)) -> Any:  # noqa: B008
    return next(numbers)


def token_not_unique_later(active: Any, calls: list[int] = []) -> Any:  # noqa: B006
    """Right as long as it is asked in one go, and then, on the wire, not any more."""
    calls.append(0)
    return f"token-{min(len(calls), 185)}-of-mine"


TOKENS: Final = [
    ("tokens", token_of_all),
    ("tokens", token_longer_than_all),
    ("tokens", token_counted),
    ("tokens", lambda active: str(uuid.uuid4())),
    ("tokens", lambda active: len(active), "That one is in use", "how many there are"),
    ("tokens", lambda active: f"token-{len(active)}", "That one is in use", "across all active requests"),
    ("tokens", lambda active: "report", "returned 'report' for the active tokens", "what you gave before"),
    ("tokens", lambda active: 1.5, "which is of type float", "a string or an integer"),
    ("tokens", lambda active: float(token_of_all(active)), "of type float", "a string or an integer"),
    ("tokens", lambda active: True, "which is of type bool", "a string or an integer"),
    ("tokens", lambda active: None, "of type NoneType", "JSON tells"),
    ("tokens", lambda active: [len(active)], "which is of type list", "a string or an integer"),
    ("tokens", lambda active: max(active) + 1, "raised ValueError", "Call it yourself"),
    ("tokens", lambda active: active[-1], "raised IndexError", "Call it yourself"),
    ("tokens", token_not_unique_later, "That one is in use", "across all active requests"),
]

# --- 08, bar --------------------------------------------------------------------------------------


def bar_by_cases(shown: Any, progress: Any, total: Any) -> Any:
    if not total or total < 0:
        return shown
    if progress >= total:
        return 1
    share = progress / total if progress > 0 else 0
    return share if shown is None or share > shown else shown


def bar_in_fractions(shown: Any, progress: Any, total: Any) -> Any:
    share = expected(shown, progress, total)
    return None if share is None else Fraction(share)


def bar_goes_back(shown: Any, progress: Any, total: Any) -> Any:
    return shown if not total or total < 0 else min(max(progress / total, 0), 1)


def bar_over_the_end(shown: Any, progress: Any, total: Any) -> Any:
    return shown if not total else max(shown or 0, progress / total)


def bar_of_any_total(shown: Any, progress: Any, total: Any) -> Any:
    return shown if not total else max(shown or 0, min(progress / total, 1))


def bar_of_two_negatives(shown: Any, progress: Any, total: Any) -> Any:
    if not total:
        return shown
    share = min(max(progress / total, 0), 1)
    return (share or None) if shown is None and total < 0 else max(shown or 0, share)


def bar_longer_than_itself(shown: Any, progress: Any, total: Any) -> Any:
    return shown if not total or total < 0 else max(shown or 0, progress / total)


def bar_shorter_than_nothing(shown: Any, progress: Any, total: Any) -> Any:
    if not total or total < 0:
        return shown
    share = min(progress / total, 1)
    return share if shown is None else max(shown, share)


def bar_needs_a_total(shown: Any, progress: Any, total: Any) -> Any:
    return max(shown or 0, min(progress / total, 1))


def bar_in_percent(shown: Any, progress: Any, total: Any) -> Any:
    return shown if not total else max(shown or 0, min(100 * progress / total, 100))


def bar_begins_at_zero(shown: Any, progress: Any, total: Any) -> Any:
    return max(shown or 0, min(progress / total, 1) if total else 0)


def bar_empties_without_a_total(shown: Any, progress: Any, total: Any) -> Any:
    return None if not total else expected(shown, progress, total)


def bar_full_without_a_total(shown: Any, progress: Any, total: Any) -> Any:
    return expected(shown, progress, total or progress)


def bar_until_tired(shown: Any, progress: Any, total: Any, calls: list[int] = []) -> Any:  # noqa: B006
    calls.append(0)
    return expected(shown, progress, total) if len(calls) < 107 else 0.0


BARS: Final = [
    ("bar", bar_by_cases),
    ("bar", bar_in_fractions),
    ("bar", bar_goes_back, "A notification whose total has grown: shown=0.5", "what is shown stays"),
    ("bar", bar_over_the_end, "The first notification, with a total below 0", "no share can be calculated"),
    ("bar", bar_of_any_total, "The first notification, with a total below 0", "MAY omit it"),
    (
        "bar",
        bar_of_two_negatives,
        "A notification with a total below 0, and progress below that",
        "what is shown stays",
    ),
    ("bar", bar_longer_than_itself, "A notification that has more than the total", "between 0 and 1"),
    ("bar", bar_shorter_than_nothing, "whose progress is still below 0", "between 0 and 1"),
    ("bar", bar_needs_a_total, "raised TypeError", "servers MAY omit it"),
    ("bar", bar_in_percent, "returned 25.0, and 0.25 was expected", "the share that is done"),
    ("bar", bar_begins_at_zero, "returned 0, and None was expected", "no share can be calculated"),
    ("bar", bar_empties_without_a_total, "while the bar shows something", "no share can be calculated"),
    ("bar", bar_full_without_a_total, "The first notification, without a total", "MAY omit it"),
    ("bar", bar_until_tired, "In a call over", "the same question every time"),
    ("bar", lambda shown, progress, total: f"{progress} of {total}", "returned '2 of 8'", "the share"),
    ("bar", lambda shown, progress: 0.5, "raised TypeError", "Call it yourself"),
]

# --- 08, report -----------------------------------------------------------------------------------


async def copies_with_the_context(context: Any, sizes: Any) -> Any:
    done = 0
    for size in sizes:
        await anyio.sleep(size / 10)
        if size:
            done += size
            await context.report_progress(done, sum(sizes), f"Copied {done:g} MB")
    return f"{len(sizes)} files"


async def copies_from_zero(context: Any, sizes: Any) -> Any:
    """Reports the beginning as well."""

    async def tell(done: float) -> None:
        if "progressToken" in context.meta:
            token = context.meta["progressToken"]
            await context.notify(
                METHOD, {"message": "Copying", "progressToken": token, "progress": done, "total": sum(sizes)}
            )

    last = -1.0
    for n in range(len(sizes) + 1):
        done = sum(sizes[:n])
        if n:
            await anyio.sleep(sizes[n - 1] / 10)
        if done > last:
            await tell(done)
            last = done
    return str(len(sizes)) + " files"


def copies(
    tell: Callable[[Any, float, Any], Any],
    *,
    when: Callable[[Any, float], bool] = lambda context, size: (
        context.progress_token is not None and size > 0
    ),
    adds_up: bool = True,
    method: str = METHOD,
) -> Any:
    """A handler that differs in one thing."""

    async def copy_files(context: Any, sizes: Any) -> Any:
        done = 0.0
        for size in sizes:
            await anyio.sleep(size / 10)
            done = done + size if adds_up else size
            if when(context, size):
                await context.notify(method, tell(context, done, sizes))
        return f"{len(sizes)} files"

    return copy_files


def told(context: Any, done: float, sizes: Any) -> dict[str, Any]:
    return {"progressToken": context.progress_token, "progress": done, "total": sum(sizes)}


async def copies_all_then_reports(context: Any, sizes: Any) -> Any:
    await anyio.sleep(sum(sizes) / 10)
    done = 0
    for size in sizes:
        done += size
        if size and context.progress_token is not None:
            await context.notify(METHOD, told(context, done, sizes))
    return f"{len(sizes)} files"


async def copies_in_silence(context: Any, sizes: Any) -> Any:
    await anyio.sleep(sum(sizes) / 10)
    return f"{len(sizes)} files"


async def copies_and_says_nothing(context: Any, sizes: Any) -> Any:
    await copies_with_the_context(context, sizes)


async def copies_for_ever(context: Any, sizes: Any) -> Any:
    await anyio.sleep_forever()


REPORTS: Final = [
    ("report", copies_with_the_context),
    ("report", copies_from_zero),
    ("report", copies(told)),
    (
        "report",
        copies(told, when=lambda context, size: context.progress_token is not None),
        "after",
        "An empty file adds nothing",
    ),
    (
        "report",
        copies(told, when=lambda context, size: bool(context.progress_token) and size > 0),
        "The request has the token 0",
        "Report after each file",
    ),
    (
        "report",
        copies(told, when=lambda context, size: size > 0),
        "The request has no token",
        "Ask for None itself",
    ),
    ("report", copies(told, adds_up=False), "The progress is", "Report how much is done altogether"),
    (
        "report",
        copies(lambda context, done, sizes: {**told(context, done, sizes), "progressToken": "copy"}),
        "The request has the token 0, and the sizes are",
        "`context.progress_token` is the token",
    ),
    (
        "report",
        copies(lambda context, done, sizes: {**told(context, done, sizes), "progressToken": context.id}),
        "A notification names the token",
        "same type",
    ),
    (
        "report",
        copies(lambda context, done, sizes: {"progressToken": context.progress_token, "percent": 50}),
        "and no `progress`",
        "`progress` is required",
    ),
    (
        "report",
        copies(lambda context, done, sizes: {**told(context, done, sizes), "total": len(sizes)}),
        "MB altogether",
        "the sum of all sizes",
    ),
    (
        "report",
        copies(lambda context, done, sizes: {**told(context, done, sizes), "progress": f"{done} MB"}),
        "`progress` is '",
        "Both are numbers",
    ),
    (
        "report",
        copies(told, method="notifications/message"),
        "A notification 'notifications/message' was sent",
        "Its name is",
    ),
    ("report", copies_all_then_reports, "was reported after", "Copy one file"),
    ("report", copies_for_ever, "was not at its end when the client gave up", "which loop goes on"),
    ("report", copies_in_silence, "no notification says so", "Report after each file"),
    ("report", copies_and_says_nothing, "returned 'None'", "files'"),
    ("report", lambda context, sizes: sizes["first"], "raised TypeError", "Put it into a server"),
]


ALL: Final = [*FAULTY, *TOKENS, *BARS, *REPORTS]


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.progress


RULES: Final = {
    "does not rise": "progress-rises",
    "unknown token": "progress-names-a-token",
    "too late": "progress-stops-at-completion",
    "shared token": "progress-token-is-unique",
}


@pytest.mark.parametrize("letter", TRACES)
def test_the_audit_finds_in_a_trace_what_the_exercise_says(letter: str) -> None:
    trace = TRACES[letter]
    found = {finding.rule for finding in trace.recording.audit().findings}
    assert found == ({RULES[trace.word]} if trace.word in RULES else set())


def test_what_is_shown_of_a_wrong_tool_does_not_say_that_its_token_is_unknown() -> None:
    answer = copies(lambda context, done, sizes: {**told(context, done, sizes), "total": len(sizes)})
    verdict = exercises.progress().report.check(answer)
    assert not verdict.passed
    assert verdict.recording is not None
    assert "no request in flight" not in verdict.recording.transcript()
