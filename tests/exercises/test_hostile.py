"""Code that raises, never ends, or lies: the learner gets a verdict, not a traceback and not a hang."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from mcpsim.course import exercises
from mcpsim.course.exercises import Outcome, Verdict

PATIENCE_S = 0.4
STORIES = ("future", "retry", "capabilities", "nameless")


def check(name: str, answer: Any, patience_s: float = 10) -> Verdict:
    for make in (exercises.messages, exercises.stateless):
        ex = make(patience_s=patience_s)
        if hasattr(ex, name):
            return getattr(ex, name).check(answer)
    raise LookupError(name)


class Rude(BaseException):
    """Not even an Exception."""


class Speechless(Exception):
    """An error that raises when it is asked what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Secretive:
    """A value that raises when it is shown, compared or asked for anything."""

    def __repr__(self) -> str:
        raise RuntimeError("no look")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")


class Closed:
    """An object that raises whatever it is asked, even which class it has."""

    def __getattribute__(self, name: str) -> Any:
        raise Rude(name)


def deep(*arguments: Any) -> Any:
    return deep(*arguments)


def raises(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    def raising(*arguments: Any) -> Any:
        raise error

    return raising


RAISED = {
    "ValueError": raises(ValueError("what is this?")),
    "an error without words": raises(ValueError),
    "Rude": raises(Rude("no")),
    "SystemExit": raises(SystemExit(3)),
    "GeneratorExit": raises(GeneratorExit),
    "StopIteration": raises(StopIteration),
    "Speechless": raises(Speechless),
    "RecursionError": deep,
    "MemoryError": raises(MemoryError),
    "an address": raises(ValueError(f"no {object()}")),
    "a long text": raises(ValueError("x" * 100_000)),
    "half of a surrogate pair": raises(ValueError("\ud800 \0 \x1b[31m")),
    "many lines": raises(ValueError("one\ntwo\n" * 100)),
}


@pytest.mark.parametrize("function", RAISED.values(), ids=RAISED)
@pytest.mark.parametrize("name", ["classifier", "order", "cache", *STORIES])
def test_what_is_raised_is_told(name: str, function: Callable[..., Any]) -> None:
    verdict = check(name, function)
    assert verdict.outcome is Outcome.NOT_YET
    assert " raised " in verdict.seen
    assert verdict.seen.isprintable()
    assert len(verdict.seen) < 700
    assert "\n" not in verdict.seen
    assert " at 0x" not in repr(verdict)


def test_the_line_of_the_learners_own_code_is_told() -> None:
    def classify(data: bytes) -> str:
        return helper(data)

    def helper(data: bytes) -> str:
        return {}["nothing here"]

    seen = check("classifier", classify).seen
    assert "`classify` raised KeyError: 'nothing here' (in `helper`, line " in seen
    assert '`return {}["nothing here"]`)' in seen


def test_the_line_is_that_of_the_learner_where_mcpsim_raises() -> None:
    async def story(client: Any) -> Any:
        return await client.request("tools/list", {"cursor": {1, 2}})

    seen = check("future", story).seen
    assert seen.startswith("`story` raised FramingError: ")
    assert "(in `story`, line " in seen
    assert '`return await client.request("tools/list", {"cursor": {1, 2}})`)' in seen


def test_without_source_there_is_still_the_number_of_the_line() -> None:
    names: dict[str, Any] = {}
    exec("def classify(data):\n\n    return 1 / 0\n", names)
    assert "(in `classify`, line 3)" in check("classifier", names["classify"]).seen


class Callable_:  # noqa: N801
    """An object that can be called."""

    def __call__(self, *arguments: Any) -> Any:
        raise LookupError("from the object")


@pytest.mark.parametrize(
    "function",
    [
        functools.partial(raises(LookupError("inner")), 1),
        Callable_(),
        Callable_().__call__,
        functools.partial(len),
    ],
    ids=["partial", "object", "method", "built in"],
)
def test_other_things_that_can_be_called_are_taken_too(function: Any) -> None:
    verdict = check("classifier", function)
    assert verdict.outcome is Outcome.NOT_YET
    assert "LookupError" in verdict.seen or "returned" in verdict.seen


VALUES = [
    Secretive(),
    [Secretive()],
    {Secretive: 1},
    iter([]),
    (n for n in [1]),
    10**5000,
    "\ud800",
    b"\xff",
    print,
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
@pytest.mark.parametrize("name", ["classifier", "order", "cache", "future"])
def test_odd_values_are_shown_and_refused(name: str, value: Any) -> None:
    verdict = check(name, lambda *arguments: value)
    assert verdict.outcome is Outcome.NOT_YET
    assert repr(verdict)
    assert verdict._repr_html_().encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
@pytest.mark.parametrize(
    ("name", "letters"), [("classify", "ABCDEFGHIJKL"), ("repair", "EGHIL"), ("scope", "ABCD")]
)
def test_odd_values_in_a_dict_are_shown_and_refused(name: str, letters: str, value: Any) -> None:
    verdict = check(name, dict.fromkeys(letters, value))
    assert verdict.outcome is Outcome.NOT_YET
    assert repr(verdict)


def loops(*arguments: Any) -> Any:
    while True:
        pass


def naps(*arguments: Any) -> Any:
    """As endless as a loop that is busy all the time, and others can work meanwhile."""
    while True:
        time.sleep(0.005)


def naps_and_catches(*arguments: Any) -> Any:
    for _ in range(3):
        try:
            while True:
                time.sleep(0.005)
        except:  # noqa: E722
            pass


def dawdles(*arguments: Any) -> Any:
    time.sleep(0.05)
    return "request"


async def loops_in_a_story(*arguments: Any) -> Any:
    while True:
        pass


async def naps_in_a_story(*arguments: Any) -> Any:
    while True:
        time.sleep(0.005)


async def loops_with_sleep_0(*arguments: Any) -> Any:
    while True:
        await anyio.sleep(0)


async def waits_for_ever(*arguments: Any) -> Any:
    await anyio.Event().wait()


async def sleeps_on_and_on(*arguments: Any) -> Any:
    while True:
        await anyio.sleep(1)


async def asks_on_and_on(client: Any, *arguments: Any) -> Any:
    while True:
        await client.list_tools()


async def swallows_the_end(*arguments: Any) -> Any:
    for _ in range(3):
        try:
            while True:
                await anyio.sleep(10)
        except BaseException:
            pass


TOO_LONG = "did not come to its end within 0.4 s"
NO_CONTROL = "without giving control back: an endless loop"
ENDLESS: list[tuple[str, Any, str]] = [
    ("classifier", loops, TOO_LONG),
    ("future", loops, NO_CONTROL),
    ("future", loops_in_a_story, NO_CONTROL),
    *((name, naps, TOO_LONG) for name in ("classifier", "order", "cache")),
    *((name, naps, NO_CONTROL) for name in STORIES),
    ("classifier", naps_and_catches, TOO_LONG),
    ("classifier", dawdles, TOO_LONG),
    *((name, naps_in_a_story, NO_CONTROL) for name in STORIES),
]

# What the simulated clock or the number of steps ends, however fast the machine is.
ENDLESS_IN_SIMULATED_TIME: list[tuple[Any, str]] = [
    (loops_with_sleep_0, "The clock stands still"),
    (waits_for_ever, "after an hour of simulated time"),
    (sleeps_on_and_on, "after an hour of simulated time"),
    (swallows_the_end, "It sends no request"),
]


@pytest.mark.parametrize(
    ("name", "answer", "seen"), ENDLESS, ids=[f"{row[0]}-{row[1].__name__}" for row in ENDLESS]
)
def test_what_never_ends_is_ended(name: str, answer: Any, seen: str) -> None:
    start = time.monotonic()
    verdict = check(name, answer, PATIENCE_S)
    assert time.monotonic() - start < 30
    assert verdict.outcome is Outcome.NOT_YET
    assert seen in verdict.seen


@pytest.mark.parametrize(
    ("story", "seen"), ENDLESS_IN_SIMULATED_TIME, ids=[row[0].__name__ for row in ENDLESS_IN_SIMULATED_TIME]
)
def test_what_never_ends_in_simulated_time_is_ended(story: Any, seen: str) -> None:
    verdict = check("future", story, patience_s=60)
    assert verdict.outcome is Outcome.NOT_YET
    assert seen in verdict.seen


def test_a_story_may_not_send_messages_without_end() -> None:
    verdict = check("retry", asks_on_and_on, patience_s=60)
    assert verdict.outcome is Outcome.NOT_YET
    assert "1000 messages and was not at its end" in verdict.seen


def test_after_a_loop_that_was_ended_all_works_as_before() -> None:
    ex = exercises.stateless(patience_s=PATIENCE_S)
    for _ in range(3):
        assert ex.future.check(naps_in_a_story).outcome is Outcome.NOT_YET
        time.sleep(PATIENCE_S * 1.5)
        assert ex.required.check(dict.fromkeys("ABCDEF", "MUST")).outcome is Outcome.NOT_YET


@pytest.mark.parametrize("name", ["classifier", "future"])
def test_the_stop_button_stops_the_check_without_a_traceback(name: str) -> None:
    verdict = check(name, raises(KeyboardInterrupt))
    assert verdict.outcome is Outcome.NOT_YET
    assert verdict.seen == "The check was stopped before it was done."


def test_a_check_works_inside_of_a_running_loop() -> None:
    async def story(client: Any) -> Any:
        return []

    async def in_a_notebook() -> Verdict:
        return check("future", story)

    assert anyio.run(in_a_notebook).outcome is Outcome.NOT_YET


def test_a_story_that_opens_the_real_world_is_told_so() -> None:
    async def story(client: Any) -> Any:
        return await anyio.connect_tcp("localhost", 9)

    verdict = check("future", story)
    assert verdict.outcome is Outcome.NOT_YET
    assert "real I/O" in verdict.seen


def test_what_the_function_does_to_its_arguments_does_not_matter() -> None:
    def in_order(tools: Any) -> Any:
        listed = sorted((dict(tool) for tool in tools), key=lambda tool: tool["name"])
        for tool in tools:
            tool.clear()
        tools.clear()
        return listed

    assert check("order", in_order).passed


@pytest.mark.parametrize(
    ("name", "seen"), [("future", "not a story: it is of type int"), ("order", "not a function: it is of")]
)
def test_what_cannot_be_called_is_told_so(name: str, seen: str) -> None:
    assert seen in check(name, 7).seen


def test_a_function_that_is_async_by_mistake_is_told_so() -> None:
    async def classify(data: bytes) -> str:
        return "request"

    verdict = check("classifier", classify)
    assert "`classify` is an `async def`" in verdict.seen


def test_the_recursion_limit_is_left_alone() -> None:
    before = sys.getrecursionlimit()
    check("classifier", deep)
    assert sys.getrecursionlimit() == before


ALL_EXERCISES = [
    pytest.param(make, exercise.task.name, id=f"{make.__name__}-{exercise.task.name}")
    for make in exercises.SETS
    for exercise in make().exercises
]


@pytest.mark.parametrize(("make", "name"), ALL_EXERCISES)
def test_what_cannot_be_looked_at_is_refused_in_a_sentence(make: exercises.Maker, name: str) -> None:
    exercise = getattr(make(), name)
    given: list[Any] = [Closed(), {"A": Closed()}, lambda *_: Closed(), lambda *_: [Closed()]]
    rows: dict[str, Any] = {"__name__": "__main__", "ex": make()}
    exec("\n".join(exercise.task.solution), rows)
    right = rows[exercise.task.answer]
    if isinstance(right, dict):
        given += [dict.fromkeys(right, 10**5_000), dict.fromkeys(right, "\ud800")]
    for answer in given:
        verdict = exercise.check(answer)
        assert verdict.outcome is Outcome.NOT_YET
        assert (repr(verdict) + verdict._repr_html_()).encode()
