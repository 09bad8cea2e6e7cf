"""Exercises 09: cancellation and timeouts. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import anyio
import pytest

from mcpsim import RequestTimeout
from mcpsim.course import exercises, text_of
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_09_cancellation.late import _played, expected
from mcpsim.course.exercises.set_09_cancellation.signals import SITUATIONS
from mcpsim.course.exercises.worlds import every_world
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

# --- 09, signals ----------------------------------------------------------------------------------

SIGNALS: Final = {letter: one.word for letter, one in SITUATIONS.items()}


def signals(**changes: Any) -> dict[str, Any]:
    return {**SIGNALS, **changes}


SIGNALLED: Final = [
    ("signals", dict(reversed(SIGNALS.items()))),
    (
        "signals",
        signals(A="close"),
        "8 of 9 are right. A is not 'close'",
        "MUST send `notifications/cancelled`",
    ),
    ("signals", signals(B="notification"), "a response stream of its own", "No message is required"),
    ("signals", signals(C="close"), "its end says nothing", "SHOULD NOT be taken for a cancellation"),
    ("signals", signals(D="notification"), "gives the connection up", "MUST NOT be cancelled by clients"),
    ("signals", signals(E="notification"), "still at work is the task", "`tasks/cancel` MUST be used"),
    ("signals", signals(F="nothing"), "a request that stays open", "closing the stream"),
    ("signals", signals(G="notification"), "not in progress any more", "still in progress"),
    ("signals", signals(H="nothing"), "the server's own request", "in the same direction"),
    ("signals", signals(I="notification"), "answer with an error", "MUST NOT send"),
    ("signals", dict.fromkeys(SIGNALS, "notification"), "3 of 9 are right", "which transport"),
    ("signals", signals(A="cancelled"), "A: 'cancelled' is none of the words", "The words are"),
    ("signals", signals(I=...), "8 of 9 are answered", "Still open: I"),
]

# --- 09, late -------------------------------------------------------------------------------------


def take_by_turning_round(message: Any, waiting: Any, cancelled: Any) -> Any:
    def turned(requests: Any) -> Any:
        return {repr(token): id for id, token in requests.items() if token is not None}

    if "method" in message:
        token = repr(message["params"]["progressToken"])
        if token in turned(waiting):
            return ["progress", turned(waiting)[token]]
        return ["late", turned(cancelled)[token]] if token in turned(cancelled) else ["unknown", None]
    if "id" not in message:
        return ["unknown", None]
    word = "answer" if message["id"] in waiting else "late" if message["id"] in cancelled else "unknown"
    return [word, None if word == "unknown" else message["id"]]


def taking(**differences: Callable[..., Any]) -> Any:
    """A function that is right, but for some of the messages."""

    def take(message: Any, waiting: Any, cancelled: Any) -> Any:
        for change in differences.values():
            wrong = change(message, waiting, cancelled)
            if wrong is not None:
                return wrong
        return expected(message, waiting, cancelled)

    return take


def results_only(message: Any, waiting: Any, cancelled: Any) -> Any:
    return ("unknown", None) if "error" in message else None


def late_answers_count(message: Any, waiting: Any, cancelled: Any) -> Any:
    return ("answer", message["id"]) if "result" in message and message["id"] in cancelled else None


def progress_by_id(message: Any, waiting: Any, cancelled: Any) -> Any:
    token = message.get("params", {}).get("progressToken")
    return ("progress", token) if token in waiting and token is not None else None


def ids_as_texts(message: Any, waiting: Any, cancelled: Any) -> Any:
    same = [id for id in waiting if "result" in message and str(id) == str(message["id"])]
    return ("answer", same[0]) if same else None


def only_true_tokens(message: Any, waiting: Any, cancelled: Any) -> Any:
    params = message.get("params")
    return ("unknown", None) if params and not params["progressToken"] else None


def late_progress_counts(message: Any, waiting: Any, cancelled: Any) -> Any:
    if "params" not in message:
        return None
    return expected(message, {**waiting, **cancelled}, {})


def take_the_id(message: Any, waiting: Any, cancelled: Any) -> Any:
    return "answer" if message["id"] in waiting else "late"


def drop_without_a_word(message: Any, waiting: Any, cancelled: Any) -> Any:
    found = expected(message, waiting, cancelled)
    return None if found[0] == "unknown" else found


def take_until_tired(message: Any, waiting: Any, cancelled: Any, calls: list[int] = []) -> Any:  # noqa: B006
    """Right on made-up messages, and then, on those of a run, not any more."""
    calls.append(0)
    return expected(message, waiting, cancelled) if len(calls) < 60 else ("unknown", None)


LATE: Final = [
    ("late", take_by_turning_round),
    ("late", taking()),
    ("late", taking(wrong=results_only), "What comes is an error for a request in flight", "an answer too"),
    (
        "late",
        taking(wrong=late_answers_count),
        "a result for a cancelled request",
        "SHOULD ignore any response",
    ),
    ("late", taking(wrong=late_progress_counts), "progress of a cancelled request", "SHOULD ignore any"),
    ("late", taking(wrong=progress_by_id), "which is not its token", "names the token"),
    ("late", taking(wrong=ids_as_texts), "the id of a request, as a text", "are two ids"),
    ("late", taking(wrong=only_true_tokens), "progress for the token 0", "told by their id"),
    ("late", take_the_id, "the returned value is 'answer'", "Return a pair"),
    ("late", lambda message, waiting, cancelled: ("answer", message["id"]), "a result for a cancelled", ""),
    ("late", drop_without_a_word, "the returned value is None", "Return a pair"),
    (
        "late",
        lambda message, waiting, cancelled: expected(message, waiting, cancelled) if message["id"] else None,
        "raised KeyError",
        "names the token",
    ),
    ("late", take_until_tired, "What comes is a message of a run", "SHOULD ignore any"),
]

# --- 09, clean_up ---------------------------------------------------------------------------------


async def brew_and_raise_again(context: Any, machine: Any, seconds: Any) -> Any:
    try:
        await machine.heat()
        await anyio.sleep(seconds)
        machine.pour()
    except BaseException:
        with anyio.CancelScope(shield=True):
            await machine.cool()
        raise
    with anyio.CancelScope(shield=True):
        await machine.cool()
    return "Coffee"


async def brew_in_a_scope_of_its_own(context: Any, machine: Any, seconds: Any) -> Any:
    """Cools in a task group that is shielded."""
    try:
        await machine.heat()
        with anyio.move_on_after(seconds):
            await anyio.sleep_forever()
        machine.pour()
        return "Coffee"
    finally:
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(machine.cool)


async def brew_with_a_limit_on_cooling(context: Any, machine: Any, seconds: Any) -> Any:
    try:
        await machine.heat()
        await anyio.sleep(seconds)
        machine.pour()
        return "Coffee"
    finally:
        with anyio.move_on_after(1, shield=True):
            await machine.cool()


async def brew_without_finally(context: Any, machine: Any, seconds: Any) -> Any:
    await machine.heat()
    await anyio.sleep(seconds)
    machine.pour()
    await machine.cool()
    return "Coffee"


async def brew_without_a_shield(context: Any, machine: Any, seconds: Any) -> Any:
    try:
        await machine.heat()
        await anyio.sleep(seconds)
        machine.pour()
    finally:
        await machine.cool()
    return "Coffee"


async def brew_under_a_shield(context: Any, machine: Any, seconds: Any) -> Any:
    with anyio.CancelScope(shield=True):
        try:
            return await brew_without_a_shield(context, machine, seconds)
        finally:
            pass


async def brew_heats_before_try(context: Any, machine: Any, seconds: Any) -> Any:
    await machine.heat()
    try:
        await anyio.sleep(seconds)
        machine.pour()
    finally:
        with anyio.CancelScope(shield=True):
            await machine.cool()
    return "Coffee"


async def brew_pours_first(context: Any, machine: Any, seconds: Any) -> Any:
    try:
        machine.pour()
        await machine.heat()
        await anyio.sleep(seconds)
    finally:
        with anyio.CancelScope(shield=True):
            await machine.cool()
    return "Coffee"


async def brew_pours_last(context: Any, machine: Any, seconds: Any) -> Any:
    """Pours what has gone cold, also after a Stop."""
    try:
        await machine.heat()
        await anyio.sleep(seconds)
    finally:
        with anyio.CancelScope(shield=True):
            await machine.cool()
    machine.pour()
    return "Coffee"


async def brew_does_not_wait(context: Any, machine: Any, seconds: Any) -> Any:
    try:
        await machine.heat()
        machine.pour()
    finally:
        with anyio.CancelScope(shield=True):
            await machine.cool()
    return "Coffee"


async def brew_pours_in_finally(context: Any, machine: Any, seconds: Any) -> Any:
    try:
        await machine.heat()
        await anyio.sleep(seconds)
    finally:
        with anyio.CancelScope(shield=True):
            machine.pour()
            await machine.cool()
    return "Coffee"


async def brew_swallows(context: Any, machine: Any, seconds: Any) -> Any:
    try:
        await machine.heat()
        await anyio.sleep(seconds)
        machine.pour()
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await machine.cool()
        return "Stopped"
    with anyio.CancelScope(shield=True):
        await machine.cool()
    return "Coffee"


async def brew_catches_errors_only(context: Any, machine: Any, seconds: Any) -> Any:
    try:
        await machine.heat()
        await anyio.sleep(seconds)
        machine.pour()
    except Exception:
        await machine.cool()
        raise
    await machine.cool()
    return "Coffee"


async def brew_hides_errors(context: Any, machine: Any, seconds: Any) -> Any:
    try:
        await machine.heat()
        await anyio.sleep(seconds)
        machine.pour()
    except Exception:
        pass
    finally:
        with anyio.CancelScope(shield=True):
            await machine.cool()
    return "Coffee"


async def brew_forgets_when_it_fails(context: Any, machine: Any, seconds: Any) -> Any:
    try:
        await machine.heat()
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await machine.cool()
        raise
    machine.pour()
    with anyio.CancelScope(shield=True):
        await machine.cool()
    return "Coffee"


async def brew_tea(context: Any, machine: Any, seconds: Any) -> Any:
    await brew_and_raise_again(context, machine, seconds)
    return "Tea"


async def brew_for_ever(context: Any, machine: Any, seconds: Any) -> Any:
    await anyio.sleep_forever()


async def brew_nothing(context: Any, machine: Any, seconds: Any) -> Any:
    return "Coffee"


BREWS: Final = [
    ("clean_up", brew_and_raise_again),
    ("clean_up", brew_in_a_scope_of_its_own),
    ("clean_up", brew_with_a_limit_on_cooling),
    ("clean_up", brew_without_finally, "while the coffee is brewed", "Cool down in `finally`"),
    ("clean_up", brew_without_a_shield, "the machine is still hot", "cancelled at each `await`"),
    ("clean_up", brew_under_a_shield, "one cup is poured. There should be none", "the cleaning up alone"),
    ("clean_up", brew_heats_before_try, "while the machine heats up", "from the first `await` on"),
    ("clean_up", brew_pours_first, "a cup is poured from a cold machine", "only then cool down"),
    ("clean_up", brew_pours_last, "a cup is poured from a cold machine", "only then cool down"),
    ("clean_up", brew_does_not_wait, "0.2 s after heating began, and not after 2.2 s", "sleep for `seconds`"),
    ("clean_up", brew_pours_in_finally, "one cup is poured. There should be none", "free what it held"),
    ("clean_up", brew_swallows, "went on after the cancellation and returned 'Stopped'", "needs a `raise`"),
    ("clean_up", brew_catches_errors_only, "the machine is still hot", "Cool down in `finally`"),
    ("clean_up", brew_hides_errors, "the answer is a result like any other", "Let the error of `pour` out"),
    ("clean_up", brew_forgets_when_it_fails, "there is no cup", "Cool down in `finally`"),
    ("clean_up", brew_tea, "the answer says 'Tea'", 'Return "Coffee"'),
    ("clean_up", brew_for_ever, "was not at its end when the client gave up", "which loop goes on"),
    ("clean_up", brew_nothing, "no cup is poured. There should be one", "pour, in this order"),
    ("clean_up", lambda context, machine, seconds: machine.brew(), "raised AttributeError", "Put it into"),
]

# --- 09, patience ---------------------------------------------------------------------------------


async def call_with_the_clients_own(
    client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any
) -> Any:
    with anyio.move_on_after(at_most_s):
        try:
            result = await client.call_tool(tool, arguments, timeout_s=quiet_s, reset_on_progress=True)
        except RequestTimeout:
            return None
        return result.content[0].text


async def call_with_the_loops_own(
    client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any
) -> Any:
    call = client.call_tool(tool, arguments, timeout_s=quiet_s, reset_on_progress=True)
    try:
        return text_of(await asyncio.wait_for(call, at_most_s))
    except (TimeoutError, RequestTimeout):
        return None


async def call_and_watch(client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any) -> Any:
    """A second task looks at the clock."""
    answers: list[Any] = []
    began = last = anyio.current_time()

    def note(*step: Any) -> None:
        nonlocal last
        last = anyio.current_time()

    async def watch(scope: Any) -> None:
        while True:
            end = min(last + quiet_s, began + at_most_s)
            if anyio.current_time() >= end:
                scope.cancel()
                return
            await anyio.sleep(end - anyio.current_time())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch, tasks.cancel_scope)
        answers.append(text_of(await client.call_tool(tool, arguments, on_progress=note)))
        tasks.cancel_scope.cancel()
    return answers[0] if answers else None


async def call_without_an_end(client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any) -> Any:
    return text_of(await client.call_tool(tool, arguments))


async def call_at_most(client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any) -> Any:
    with anyio.move_on_after(at_most_s):
        return text_of(await client.call_tool(tool, arguments))


async def call_and_ignore_progress(
    client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any
) -> Any:
    with anyio.move_on_after(min(quiet_s, at_most_s)):
        return text_of(await client.call_tool(tool, arguments))


async def call_without_a_maximum(client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any) -> Any:
    with anyio.CancelScope(deadline=anyio.current_time() + quiet_s) as scope:

        def wait_on(*step: Any) -> None:
            scope.deadline = anyio.current_time() + quiet_s

        return text_of(await client.call_tool(tool, arguments, on_progress=wait_on))


async def call_and_let_it_run(client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any) -> Any:
    """Stops waiting, and shields the call: nobody tells the server."""
    async with anyio.create_task_group() as tasks:
        answers: list[Any] = []

        async def call() -> None:
            with anyio.CancelScope(shield=True):
                answers.append(text_of(await client.call_tool(tool, arguments)))

        tasks.start_soon(call)
        await anyio.sleep(quiet_s)
    return answers[0] if len(answers) > 1 else None


async def call_and_raise(client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any) -> Any:
    result = await client.call_tool(tool, arguments, timeout_s=quiet_s, reset_on_progress=True)
    return text_of(result)


async def call_and_fail(client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any) -> Any:
    with anyio.fail_after(at_most_s), anyio.move_on_after(quiet_s) as quiet:

        def wait_on(*step: Any) -> None:
            quiet.deadline = anyio.current_time() + quiet_s

        return text_of(await client.call_tool(tool, arguments, on_progress=wait_on))


async def call_and_return_the_result(
    client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any
) -> Any:
    with anyio.fail_after(at_most_s):
        return await client.call_tool(tool, arguments)


async def call_and_say_timeout(client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any) -> Any:
    found = await call_with_the_clients_own(client, tool, arguments, quiet_s, at_most_s)
    return "timeout" if found is None else found


async def call_twice(client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any) -> Any:
    found = await call_with_the_clients_own(client, tool, arguments, quiet_s, at_most_s)
    return found or await call_with_the_clients_own(client, tool, arguments, quiet_s, at_most_s)


async def call_nobody(client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any) -> Any:
    return None


async def call_from_the_end_of_progress(
    client: Any, tool: Any, arguments: Any, quiet_s: Any, at_most_s: Any
) -> Any:
    """Begins the maximum anew as well."""
    with anyio.CancelScope(deadline=anyio.current_time() + min(quiet_s, at_most_s)) as scope:

        def wait_on(*step: Any) -> None:
            scope.deadline = anyio.current_time() + min(quiet_s, at_most_s)

        return text_of(await client.call_tool(tool, arguments, on_progress=wait_on))


PATIENCE: Final = [
    ("patience", call_with_the_clients_own),
    ("patience", call_with_the_loops_own),
    ("patience", call_and_watch),
    ("patience", call_without_an_end, "The server is silent", "Leave the call when its time is over"),
    ("patience", call_at_most, "The last news was 0 ms after the call", "SHOULD cancel the request"),
    ("patience", call_and_ignore_progress, "the answer would have come in time", "begins the time"),
    ("patience", call_without_a_maximum, "reports without an end", "always enforce a maximum"),
    ("patience", call_from_the_end_of_progress, "reports without an end", "always enforce a maximum"),
    ("patience", call_and_let_it_run, "should return 'Done at the pace", "the text of the result"),
    ("patience", call_and_raise, "raised RequestTimeout", "Return None where you give up"),
    ("patience", call_and_fail, "raised TimeoutError", "`anyio.move_on_after` ends its block"),
    ("patience", call_and_return_the_result, "returned CallToolResult", "the text of the result"),
    ("patience", call_and_say_timeout, "should return None and returned 'timeout'", "None where you gave up"),
    ("patience", call_twice, "The tool was called 2 times", "Call it once"),
    ("patience", call_nobody, "The tool was called 0 times", "Call it once"),
]


ALL: Final = [*SIGNALLED, *LATE, *BREWS, *PATIENCE]


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.cancellation


def test_what_is_played_has_messages_that_come_too_late() -> None:
    words = [
        case.expected[0]
        for world in every_world()
        if not world.is_http
        for case in _played(expected, Learner(), world)
    ]
    assert words.count("late") >= 4
    assert words.count("answer") >= 4
    assert words.count("progress") >= 20


def test_what_is_shown_of_a_call_without_a_maximum_is_short() -> None:
    verdict = exercises.cancellation().patience.check(call_without_a_maximum)
    assert verdict.recording is not None
    assert len(verdict.recording.transcript().splitlines()) < 25
