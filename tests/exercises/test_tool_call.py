"""Exercises 13: one tool call, whole. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import anyio
import pytest
from mcp_types.methods import parse_server_result

from mcpsim import CapabilityMissing, ProtocolError, simulate
from mcpsim.course import ScriptedModel, exercises, help_desk, text_of
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.set_13_one_tool_call.host import MOST, SCENES
from mcpsim.course.exercises.set_13_one_tool_call.reads import CASES, MARKS, SEEDS, cases
from mcpsim.course.exercises.set_13_one_tool_call.sees import PIECES
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

# --- 13, sees -------------------------------------------------------------------------------------

SEES: Final = {letter: one.word for letter, one in PIECES.items()}


def sees(**changes: Any) -> dict[str, Any]:
    return {**SEES, **changes}


SEEN: Final = [
    ("sees", dict(reversed(SEES.items()))),
    ("sees", sees(A="peers"), "9 of 10 are right. A is not 'peers'", "the whole conversation"),
    ("sees", sees(B="peers"), "By what else should a model choose", "model-controlled"),
    ("sees", sees(C="user"), "Nobody has to read it", "notifications repeat it"),
    ("sees", sees(D="model"), "It comes while the call runs", "SHOULD be readable for humans"),
    ("sees", sees(E="peers"), "The call itself looks the same", "a human who can deny a call"),
    ("sees", sees(F="model"), "The server asks the user", "through the client"),
    ("sees", sees(G="model"), "The server wrote it for itself", "MUST NOT look into it"),
    ("sees", sees(H="peers"), "the model wrote the arguments", "SHOULD give tool execution errors"),
    ("sees", sees(I="user"), "The call is over by then", "stays with the host"),
    ("sees", sees(J="model"), "whether it may ask something", "Every request carries"),
    ("sees", dict.fromkeys(SEES, "not sent"), "3 of 10 are right", "who has to read it"),
    ("sees", sees(A="host"), "A: 'host' is none of the words", "The words are"),
    ("sees", sees(J=...), "9 of 10 are answered", "Still open: J"),
]

# --- 13, reads ------------------------------------------------------------------------------------


def right_block(block: Any) -> str:
    match block:
        case {"annotations": {"audience": [*audience]}} if "assistant" not in audience:
            return ""
        case {"text": text}:
            return text
        case {"uri": uri}:
            return f"[link to {uri}]"
        case {"resource": {"text": text}}:
            return text
        case {"resource": {"uri": uri}}:
            return f"[file at {uri}]"
        case {"mimeType": mime}:
            return f"[{mime}]"
        case _:
            raise AssertionError(block)


def tell(outcome: Any) -> str:
    """In one piece, by patterns, with the marks in front."""
    match outcome:
        case {"stopped": _}:
            return "Stopped: by the user."
        case {"error": {"message": message}}:
            return "Refused:\n" + message
        case {"result": result}:
            found = [text for block in result["content"] if (text := right_block(block))]
            found += [repr(result[key]) for key in result if key == "structuredContent"]
            return ("Failed: " if result.get("isError", False) else "") + ("; ".join(found) or "(nothing)")
    raise AssertionError(outcome)


def telling(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Right, but where `change` says something else than None."""

    def text_for_model(outcome: Any) -> Any:
        wrong = change(outcome)
        return tell(outcome) if wrong is None else wrong

    return text_for_model


def of_texts_alone(outcome: Any) -> Any:
    """Forgets all blocks that are none of text."""
    if "result" not in outcome or outcome["result"].get("isError"):
        return None
    result = outcome["result"]
    texts = [block for block in result["content"] if block["type"] == "text"]
    return tell({"result": {**result, "content": texts}})


def of_the_first_block(outcome: Any) -> Any:
    if "result" not in outcome or not outcome["result"]["content"]:
        return None
    return tell({"result": {**outcome["result"], "content": outcome["result"]["content"][:1]}})


def backwards(outcome: Any) -> Any:
    if "result" not in outcome:
        return None
    return tell({"result": {**outcome["result"], "content": outcome["result"]["content"][::-1]}})


def hides_failures(outcome: Any) -> Any:
    return "" if "result" in outcome and outcome["result"].get("isError") else None


def forgets_to_say_failed(outcome: Any) -> Any:
    if "result" in outcome and outcome["result"].get("isError"):
        return tell(outcome).removeprefix("Failed: ")
    return None


def fails_by_the_key(outcome: Any) -> Any:
    if "isError" in outcome.get("result", {}):
        return tell({"result": {**outcome["result"], "isError": True}})
    return None


def fails_by_the_text(outcome: Any) -> Any:
    return f"Failed: {tell(outcome)}" if "Error" in str(outcome.get("result")) else None


def structured_if_true(outcome: Any) -> Any:
    result = outcome.get("result", {})
    return "Nothing." if result.get("structuredContent", True) in (0, None) else None


def structured_only_without_blocks(outcome: Any) -> Any:
    result = outcome.get("result", {})
    if result.get("content") and "structuredContent" in result:
        return tell({"result": {"content": result["content"]}})
    return None


def without_structured(outcome: Any) -> Any:
    result = dict(outcome.get("result", {}))
    if "structuredContent" not in result:
        return None
    del result["structuredContent"]
    return tell({"result": result})


def with_the_data(outcome: Any) -> Any:
    blocks = outcome.get("result", {}).get("content", [])
    return str(blocks) if any("data" in block for block in blocks) else None


def with_the_blob(outcome: Any) -> Any:
    blocks = outcome.get("result", {}).get("content", [])
    return str(blocks) if any("blob" in block.get("resource", {}) for block in blocks) else None


def whole_error(outcome: Any) -> Any:
    return f"Refused: {json.dumps(outcome['error'])}" if "error" in outcome else None


def code_alone(outcome: Any) -> Any:
    return f"Refused: {outcome['error']['code']}" if "error" in outcome else None


def for_everybody(outcome: Any) -> Any:
    if "result" not in outcome:
        return None
    blocks = [
        {key: value for key, value in block.items() if key != "annotations"}
        for block in outcome["result"]["content"]
    ]
    return tell({"result": {**outcome["result"], "content": blocks}})


def only_for_the_model(outcome: Any) -> Any:
    """Takes an audience of both for one of the user."""
    if "result" not in outcome:
        return None
    blocks = [
        block
        for block in outcome["result"]["content"]
        if "user" not in block.get("annotations", {}).get("audience", [])
    ]
    return tell({"result": {**outcome["result"], "content": blocks}})


def with_the_meta(outcome: Any) -> Any:
    return json.dumps(outcome["result"]) if "_meta" in outcome.get("result", {}) else None


def silent_after_stop(outcome: Any) -> Any:
    return "" if "stopped" in outcome else None


def structured_first(outcome: Any) -> Any:
    result = outcome.get("result", {})
    if not result.get("content") or "structuredContent" not in result:
        return None
    return f"{result['structuredContent']} {tell({'result': {'content': result['content']}})}"


READS: Final = [
    ("reads", telling(structured_first), "stands too early", "then `structuredContent`"),
    ("reads", tell),
    ("reads", telling(lambda outcome: None)),
    (
        "reads",
        telling(of_texts_alone),
        "a result with a text and a block of type",
        "Each type of block has its own words",
    ),
    ("reads", telling(of_the_first_block), "cannot read", "Go through all blocks"),
    ("reads", telling(backwards), "stands too early", "Keep the order"),
    ("reads", telling(hides_failures), "a tool error", "makes something up"),
    ("reads", telling(forgets_to_say_failed), "should begin with 'Failed:'", "SHOULD give tool execution"),
    ("reads", telling(fails_by_the_key), "should not begin with 'Failed:'", "`isError` says"),
    ("reads", telling(fails_by_the_text), "speaks of an error", "not the text"),
    ("reads", telling(structured_if_true), "is the number 0", "any JSON value"),
    ("reads", telling(structured_only_without_blocks), "that says something else", "it may have not"),
    ("reads", telling(without_structured), "structured content and no block", "any JSON value"),
    ("reads", telling(with_the_data), "The model reads the Base64 data", "tells too much"),
    ("reads", telling(with_the_blob), "The model reads the Base64 data", "tells too much"),
    ("reads", telling(whole_error), "The model reads the `data` of the error", "MAY give protocol errors"),
    ("reads", telling(code_alone), "cannot read 'Unknown tool", "MAY give protocol errors"),
    ("reads", telling(for_everybody), "The model reads the text for the user alone", "for whom"),
    ("reads", telling(only_for_the_model), "one for both", "for whom a content block is"),
    ("reads", telling(with_the_meta), "The model reads the `_meta`", "tells too much"),
    ("reads", telling(silent_after_stop), "a Stop of the user", "makes something up"),
    ("reads", str, "It should begin with 'Failed:'", "`isError` says"),
    ("reads", lambda outcome: outcome["result"]["content"][0]["text"], "cannot read", "Go through all"),
    ("reads", telling(lambda outcome: outcome["result"]["isError"] and None), "raised KeyError", "Call it"),
]

# --- 13, host -------------------------------------------------------------------------------------


async def host_in_one(client: Any, model: Any, wish: Any, allow: Any, stoppable: Any, most: Any) -> Any:
    """One function, a while loop, and a task group around each call."""
    used, turn = 0, model.reads(wish)
    while not isinstance(turn, str):
        if used == most:
            return None
        used += 1
        if not allow(turn.name, dict(turn.arguments)):
            text = "Denied:"
        else:
            text = "Stopped: nobody knows how far it came."
            with stoppable():
                try:
                    result = await client.call_tool(turn.name, dict(turn.arguments))
                    text = ("Failed: " if result.is_error else "") + result.content[0].text
                except ProtocolError as error:
                    text = "Refused: " + str(error)
        turn = model.reads(text)
    return turn


async def host_with_a_task(client: Any, model: Any, wish: Any, allow: Any, stoppable: Any, most: Any) -> Any:
    """The call runs in a task of its own."""

    async def call(use: Any) -> str:
        found: list[str] = []

        async def run() -> None:
            try:
                result = await client.call_tool(use.name, dict(use.arguments))
                found.append(f"Failed: {text_of(result)}" if result.is_error else text_of(result))
            except ProtocolError as error:
                found.append(f"Refused: {error.message}")

        with stoppable():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
        return found[0] if found else "Stopped: by you."

    turn = model.reads(wish)
    for number in range(most + 1):
        if isinstance(turn, str):
            return turn
        if number < most:
            agreed = allow(turn.name, turn.arguments)
            turn = model.reads(await call(turn) if agreed else "Denied: no.")
    return None


def hosting(
    *,
    asks: str = "each",
    refused: str | None = "Refused: ",
    failed: str = "Failed: ",
    stopped: str = "Stopped: ",
    denied: str = "Denied: ",
    stop: str = "call",
    limit: str = "wishes",
    last: bool = True,
) -> Any:
    """A host that is right, but for what is said otherwise."""

    async def use_tool(client: Any, use: Any, allow: Any, stoppable: Any, agreed: set[str]) -> str:
        if asks == "each" or (asks == "name" and use.name not in agreed):
            if not allow(use.name, use.arguments):
                return denied
            agreed.add(use.name)
        if asks == "after":
            result = await client.call_tool(use.name, dict(use.arguments))
            return text_of(result) if allow(use.name, use.arguments) else denied
        with stoppable() if stop == "call" else anyio.CancelScope() as scope:
            try:
                result = await client.call_tool(use.name, dict(use.arguments))
            except ProtocolError as error:
                if refused is None:
                    raise
                return f"{refused}{error.message}"
        if scope.cancelled_caught:
            return stopped
        return f"{failed}{text_of(result)}" if result.is_error else text_of(result)

    async def converse(client: Any, model: Any, wish: Any, allow: Any, stoppable: Any, most: Any) -> Any:
        agreed: set[str] = set()
        turn, sent = model.reads(wish), 0
        for _ in range(50):
            if isinstance(turn, str):
                return turn
            if sent == most:
                return None
            text = await use_tool(client, turn, allow, stoppable, agreed)
            if limit == "wishes" or (limit == "calls" and text != denied):
                sent += 1
            turn = model.reads(text)
            if not last and sent == most:
                return None
        return None

    return converse


async def host_that_asks_for_all_at_once(
    client: Any, model: Any, wish: Any, allow: Any, stoppable: Any, most: Any
) -> Any:
    """One Stop ends the whole conversation."""
    with stoppable():
        return await hosting(stop="none")(client, model, wish, allow, stoppable, most)
    return "Stopped: all of it."


async def host_that_shields(client: Any, model: Any, wish: Any, allow: Any, stoppable: Any, most: Any) -> Any:
    """Stops waiting, and lets the call run."""
    turn = model.reads(wish)
    async with anyio.create_task_group() as tasks:
        for _ in range(most):
            if isinstance(turn, str):
                break
            if not allow(turn.name, turn.arguments):
                turn = model.reads("Denied: no.")
                continue
            done, found = anyio.Event(), []

            async def run(use: Any, done: Any = done, found: Any = found) -> None:
                try:
                    result = await client.call_tool(use.name, dict(use.arguments))
                    found.append(f"Failed: {text_of(result)}" if result.is_error else text_of(result))
                except ProtocolError as error:
                    found.append(f"Refused: {error.message}")
                done.set()

            tasks.start_soon(run, turn)
            with stoppable():
                await done.wait()
            turn = model.reads(found[0] if found else "Stopped: by you.")
    return turn if isinstance(turn, str) else None


async def host_that_never_asks_the_model(
    client: Any, model: Any, wish: Any, allow: Any, stoppable: Any, most: Any
) -> Any:
    return "Answer 1"


async def host_that_begins_with_a_greeting(
    client: Any, model: Any, wish: Any, allow: Any, stoppable: Any, most: Any
) -> Any:
    model.reads("You are a helpful assistant.")
    return model.reads(wish)


async def host_that_stops_after_one(
    client: Any, model: Any, wish: Any, allow: Any, stoppable: Any, most: Any
) -> Any:
    turn = model.reads(wish)
    if isinstance(turn, str):
        return turn
    if not allow(turn.name, turn.arguments):
        return model.reads("Denied: no.")
    return model.reads(text_of(await client.call_tool(turn.name, dict(turn.arguments))))


async def host_that_forgets_a_denied_wish(
    client: Any, model: Any, wish: Any, allow: Any, stoppable: Any, most: Any
) -> Any:
    turn = model.reads(wish)
    while not isinstance(turn, str):
        if not allow(turn.name, turn.arguments):
            return None
        try:
            result = await client.call_tool(turn.name, dict(turn.arguments))
            text = f"Failed: {text_of(result)}" if result.is_error else text_of(result)
        except ProtocolError as error:
            text = f"Refused: {error.message}"
        turn = model.reads(text)
    return turn


HOSTS: Final = [
    ("host", host_in_one),
    ("host", host_with_a_task),
    ("host", hosting()),
    ("host", hosting(asks="never"), "nobody had asked the user", "consent to one call is none"),
    ("host", hosting(asks="after"), "It should begin with 'Failed:'", "Its text belongs"),
    ("host", hosting(asks="name"), "nobody had asked the user", "SHOULD show what a tool is given"),
    ("host", hosting(refused=None), "raised ProtocolError", "Catch it where you ask"),
    (
        "host",
        hosting(refused=""),
        "read 'Unknown tool: dance'. It should begin with 'Refused:'",
        "`error.message`",
    ),
    ("host", hosting(failed=""), "It should begin with 'Failed:'", "correct itself"),
    ("host", hosting(stopped=""), "It should begin with 'Stopped:'", "`scope.cancelled_caught`"),
    ("host", hosting(denied=""), "It should begin with 'Denied:'", "tell the model"),
    ("host", hosting(stop="none"), "read 'Dug up", "`with stoppable() as scope:`"),
    ("host", hosting(limit="calls"), "the model was given", "After 4 wishes"),
    ("host", hosting(limit="none"), "and 45 more. The model had 4", "After 4 wishes"),
    ("host", hosting(last=False), f"uses {MOST} tools and then answers", "also where it comes after 4 tools"),
    ("host", host_that_asks_for_all_at_once, "the user presses Stop", "open a `stoppable()` for each"),
    ("host", host_that_shields, "the server was never told, and worked on", "leaving it cancels"),
    ("host", host_that_never_asks_the_model, "the first thing that the model read was None", "`turn = "),
    ("host", host_that_begins_with_a_greeting, "the first thing that the model read was", "begins the"),
    ("host", host_that_stops_after_one, "never heard what came of it", "the loop goes on"),
    ("host", host_that_forgets_a_denied_wish, "never heard what came of it", "the model reads it"),
]

# --- 13, ask_first --------------------------------------------------------------------------------

FORM: Final = {"type": "object", "properties": {"names": {"type": "boolean"}}, "required": ["names"]}


async def write_and_catch(context: Any, parts: Any, write: Any) -> Any:
    """Asks everybody, and catches what comes where nobody can be asked."""
    try:
        answer = await context.elicit("Names?", FORM, key="names")
    except CapabilityMissing:
        names = False
    else:
        if answer.action in ("decline", "cancel"):
            return "Not written."
        names = answer.content["names"]
    done = 0
    while done < parts:
        done += 1
        await write(done, names)
        await context.report_progress(done, parts, f"Part {done}")
    return str(parts) + " parts"


def writing(
    *,
    first: str = "ask",
    content: bool = True,
    action: bool = True,
    checks: bool = True,
    progress: bool = True,
    early: bool = False,
    empty: str = "",
    kind: str = "boolean",
    cancelled: str = "Not written.",
) -> Any:
    async def work(context: Any, parts: int, write: Any, names: Any) -> str:
        for part in range(1, parts + 1):
            if early:
                await context.report_progress(part, parts)
            await write(part, names)
            if progress and not early:
                await context.report_progress(part, parts)
        return f"{parts} parts"

    async def write_report(context: Any, parts: Any, write: Any) -> Any:
        if checks and "elicitation" not in context.capabilities:
            return await work(context, parts, write, False)
        if first == "work":
            done = await work(context, parts, write, True)
        elif first == "part":
            await write(1, True)
        form = {"type": "object", "properties": {"names": {"type": kind}}}
        answer = await context.elicit("Names?", form if empty else FORM | {"properties": form["properties"]})
        if action and answer.action == "decline":
            return "Not written."
        if action and answer.action == "cancel":
            return cancelled
        if empty == "KeyError":
            names = answer.content["names"]
        elif empty:
            names = answer.content.get("names", False if empty == "False" else None)
        else:
            names = answer.content["names"] if content and answer.content else True
        if first == "work":
            return done
        if first == "twice":
            await context.elicit("Really?", FORM)
        return await work(context, parts, write, names)

    return write_report


async def write_never_asking(context: Any, parts: Any, write: Any) -> Any:
    for part in range(1, parts + 1):
        await write(part, False)
        await context.report_progress(part, parts)
    return f"{parts} parts"


async def write_all_at_once(context: Any, parts: Any, write: Any) -> Any:
    if "elicitation" in context.capabilities:
        answer = await context.elicit("Names?", FORM)
        if answer.action != "accept":
            return "Not written."
        names = answer.content["names"]
    else:
        names = False
    async with anyio.create_task_group() as tasks:
        for part in range(parts, 0, -1):
            tasks.start_soon(write, part, names)
    await context.report_progress(parts, parts)
    return f"{parts} parts"


async def write_then_report(context: Any, parts: Any, write: Any) -> Any:
    done: list[Any] = []

    async def write_only(part: Any, names: Any) -> None:
        await write(part, names)
        done.append(part)

    text = await writing(progress=False)(context, parts, write_only)
    for part in done:
        await context.report_progress(part, parts)
    return text


async def write_for_nobody_who_cannot_be_asked(context: Any, parts: Any, write: Any) -> Any:
    if "elicitation" not in context.capabilities:
        return "Not written."
    return await writing()(context, parts, write)


WRITERS: Final = [
    ("ask_first", write_and_catch),
    ("ask_first", writing()),
    ("ask_first", writing(first="work"), "had been begun", "your function begins anew"),
    ("ask_first", writing(first="part"), "one part had been begun", "Ask first, and write then"),
    ("ask_first", writing(first="twice"), "The user was asked twice", "Ask once"),
    ("ask_first", writing(empty="False")),
    ("ask_first", writing(empty="KeyError"), "no more than the form requires", "may be left out"),
    ("ask_first", writing(empty="None"), "with `names` as None", "is no yes"),
    ("ask_first", writing(kind="string"), "The form is {", "It should have one field"),
    ("ask_first", writing(early=True), "A report said that 1 of 3 were done, and 0 were", "After each part"),
    ("ask_first", write_then_report, "A report said that 1 of 3 were done, and 3 were", "After each part"),
    (
        "ask_first",
        writing(content=False),
        "written with `names` as True. It should be False",
        "`answer.content`",
    ),
    ("ask_first", writing(action=False), "The user declines", 'it may be "accept"'),
    ("ask_first", writing(checks=False), "raised CapabilityMissing", "Look first whether"),
    ("ask_first", writing(progress=False), "The progress was []", "MUST be larger"),
    ("ask_first", writing(cancelled="Cancelled."), "returned 'Cancelled.'", "Return"),
    ("ask_first", write_never_asking, "The user was never asked", "Ask once"),
    ("ask_first", write_all_at_once, "The parts that were written are", "after the question"),
    (
        "ask_first",
        write_for_nobody_who_cannot_be_asked,
        "Nothing was written",
        "has not agreed to names",
    ),
]

ALL: Final = [*SEEN, *READS, *HOSTS, *WRITERS]


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.tool_call


def test_the_outcomes_are_results_that_a_server_may_send() -> None:
    every = list(cases())
    assert len(every) == len(CASES) * len(SEEDS)
    assert {case.mark for case in every} == {"", *MARKS}
    for case in every:
        result = case.outcome.get("result")
        if result is not None:
            parse_server_result("tools/call", LATEST_MODERN, {"resultType": "complete", **result})
            if isinstance(result.get("structuredContent", {}), dict):
                parse_server_result("tools/call", LATEST_LEGACY, result)


def test_no_word_of_one_outcome_stands_in_another_one() -> None:
    every = list(cases())
    for case in every:
        for what, secret in case.hides.items():
            assert secret in json.dumps(case.outcome), what
        for need in case.needs:
            assert len(need) > 3 or need == "0"


def test_what_a_tool_says_comes_to_the_model_as_the_solution_has_it(
    set_of: Callable[..., ExerciseSet],
) -> None:
    names: dict[str, Any] = {}
    for cell in set_of().reads.task.solution:
        exec(cell, names)

    async def story(client: Any) -> list[str]:
        model = ScriptedModel("I see.")
        call = {"name": "find_ticket", "arguments": {"number": "T-1001"}}
        model.reads(names["text_for_model"]({"result": await client.request("tools/call", call)}))
        return model.has_read

    assert simulate(story, server=help_desk()).value == ["The printer on floor 2 prints blank pages."]


def test_the_scenes_of_the_host_have_each_kind_of_end() -> None:
    kinds = {kind for scene in SCENES for kind in scene.kinds}
    assert kinds == {"find", "fail", "dance", "denied", "dig", "write"}
    assert {scene.answer for scene in SCENES} == {"accept", "decline"}
    assert max(len(scene.kinds) for scene in SCENES if scene.ends) == MOST
