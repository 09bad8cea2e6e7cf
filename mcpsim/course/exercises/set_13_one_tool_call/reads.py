"""Exercise: the text that a model gets to read, whatever came of a call."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule

FAILED, REFUSED, STOPPED = "Failed:", "Refused:", "Stopped:"
MARKS: Final = (FAILED, REFUSED, STOPPED)
SEEDS: Final = (1, 2, 3)

TOOL_ERROR: Final = Rule(
    "Clients SHOULD give tool execution errors to the model, so that it can correct itself.",
    "server/tools#error-handling",
)
PROTOCOL_ERROR: Final = Rule("Clients MAY give protocol errors to the model.", "server/tools#error-handling")
BLOCKS: Final = Rule(
    "A result may hold several content items, of different types.", "server/tools#tool-result"
)
IN_ORDER: Final = "Keep the order of the blocks."
STRUCTURED: Final = Rule(
    "Structured content is any JSON value. A tool SHOULD also give it as text; it may have not.",
    "server/tools#structured-content",
)
AUDIENCE: Final = Rule(
    "`audience` says for whom a content block is: `user`, `assistant`, or both.",
    "server/resources#annotations",
)
STOP: Final = Rule(
    "A cancellation may come too late: then the work is done, and the client may never hear of it.",
    "basic/patterns/cancellation#timing-considerations",
)


@dataclass(frozen=True, slots=True)
class Case:
    """What came of a call.

    Attributes:
        what: it, in words, for "The call ended with …".
        outcome: what the function gets.
        mark: how the text has to begin, or "".
        needs: what the model must be able to read, in this order.
        hides: what it must not read, by what that is.
        rule: what decides.
        order: what to say where `needs` come in another order; "" where any order will do.
    """

    what: str
    outcome: dict[str, Any]
    mark: str
    needs: tuple[str, ...]
    hides: dict[str, str]
    rule: Rule
    order: str = ""


def _word(rng: Random) -> str:
    """A word that nobody can guess, and that no other text holds."""
    return "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(4))


def _text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def _case(
    what: str,
    result: dict[str, Any],
    rule: Rule,
    *needs: str,
    mark: str = "",
    hides: dict[str, str] | None = None,
    order: str = "",
) -> Case:
    return Case(what, {"result": result}, mark, needs, hides or {}, rule, order)


def _one_text(rng: Random) -> Case:
    word = _word(rng)
    return _case(
        "a result with one text", {"content": [_text(f"Ticket {word} is open.")]}, BLOCKS, f"Ticket {word}"
    )


def _several_texts(rng: Random) -> Case:
    words = [_word(rng) for _ in range(rng.choice((2, 3)))]
    blocks = [_text(f"{word}.") for word in words]
    return _case("a result with several texts", {"content": blocks}, BLOCKS, *words, order=IN_ORDER)


def _looks_like_an_error(rng: Random) -> Case:
    word = _word(rng)
    text = f"Error -32603 stands in the log of {word}."
    return _case("a result whose text speaks of an error", {"content": [_text(text)]}, TOOL_ERROR, word)


def _structured_alone(rng: Random) -> Case:
    word, number = _word(rng), rng.randrange(1000, 10_000)
    value = {"ticket": word, "parts": [{"cents": number}]}
    return _case(
        "a result with structured content and no block",
        {"content": [], "structuredContent": value},
        STRUCTURED,
        *_parts(word, number),
    )


def _parts(*values: Any) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


def _structured_besides(rng: Random) -> Case:
    word, number = _word(rng), rng.randrange(1000, 10_000)
    return _case(
        "a result with a text, and structured content that says something else",
        {"content": [_text(f"Found {word}.")], "structuredContent": [number]},
        STRUCTURED,
        word,
        str(number),
        order="First what the blocks hold, then `structuredContent`.",
    )


def _zero(rng: Random) -> Case:
    return _case(
        "a result whose structured content is the number 0",
        {"content": [], "structuredContent": 0},
        STRUCTURED,
        "0",
    )


def _nothing(rng: Random) -> Case:
    return _case("a result that holds nothing", {"content": []}, BLOCKS)


def _failed(rng: Random) -> Case:
    word = _word(rng)
    return _case(
        "a tool error",
        {"content": [_text(f"There is no quarter {word}.")], "isError": True},
        TOOL_ERROR,
        word,
        mark=FAILED,
    )


def _failed_with_nothing(rng: Random) -> Case:
    return _case("a tool error without a text", {"content": [], "isError": True}, TOOL_ERROR, mark=FAILED)


def _not_failed(rng: Random) -> Case:
    word = _word(rng)
    result = {"resultType": "complete", "content": [_text(word)], "isError": False}
    return _case("a result with `isError: false`", result, TOOL_ERROR, word)


def _picture(rng: Random) -> Case:
    word, data = _word(rng), _word(rng) * 6
    kind = rng.choice(("image", "audio"))
    mime = {"image": "image/png", "audio": "audio/wav"}[kind]
    return _case(
        f"a result with a text and a block of type {kind}",
        {"content": [_text(word), {"type": kind, "data": data, "mimeType": mime}]},
        BLOCKS,
        word,
        mime,
        order=IN_ORDER,
        hides={"the Base64 data": data},
    )


def _link(rng: Random) -> Case:
    name = _word(rng)
    uri = f"file:///reports/{name}.pdf"
    return _case(
        "a result with a resource link",
        {"content": [{"type": "resource_link", "uri": uri, "name": name}]},
        BLOCKS,
        uri,
    )


def _embedded(rng: Random) -> Case:
    word, uri = _word(rng), f"file:///notes/{_word(rng)}.txt"
    block = {"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": f"Note: {word}"}}
    return _case(
        "a result with an embedded resource that is a text", {"content": [block]}, BLOCKS, f"Note: {word}"
    )


def _embedded_blob(rng: Random) -> Case:
    data, uri = _word(rng) * 6, f"file:///scans/{_word(rng)}.png"
    block = {"type": "resource", "resource": {"uri": uri, "mimeType": "image/png", "blob": data}}
    return _case(
        "a result with an embedded resource that is no text",
        {"content": [block]},
        BLOCKS,
        uri,
        hides={"the Base64 data": data},
    )


def _for_the_user(rng: Random) -> Case:
    word, secret = _word(rng), _word(rng)
    blocks = [
        _text(f"For your eyes: {secret}.", annotations={"audience": ["user"]}),
        _text(f"{word}.", annotations={"audience": ["user", "assistant"]}),
    ]
    rng.shuffle(blocks)
    return _case(
        "a result with a text for the user alone, and one for both",
        {"content": blocks},
        AUDIENCE,
        word,
        hides={"the text for the user alone": secret},
    )


def _for_the_model(rng: Random) -> Case:
    word, note = _word(rng), _word(rng)
    result = {
        "resultType": "complete",
        "content": [_text(word, annotations={"audience": ["assistant"], "priority": 1})],
        "_meta": {"example.com/note": note},
    }
    return _case(
        "a result with a text for the model, and with `_meta`",
        result,
        AUDIENCE,
        word,
        hides={"the `_meta`": note},
    )


def _refused(rng: Random) -> Case:
    word, secret = _word(rng), _word(rng)
    error = {"code": -32602, "message": f"Unknown tool: {word}", "data": {"trace": f"/srv/{secret}.py"}}
    return Case(
        "a protocol error",
        {"error": error},
        REFUSED,
        (f"Unknown tool: {word}",),
        {"the `data` of the error": secret},
        PROTOCOL_ERROR,
    )


def _stopped(rng: Random) -> Case:
    return Case("a Stop of the user", {"stopped": True}, STOPPED, (), {}, STOP)


CASES: Final[tuple[Callable[[Random], Case], ...]] = (
    _one_text,
    _several_texts,
    _failed,
    _looks_like_an_error,
    _not_failed,
    _refused,
    _stopped,
    _nothing,
    _failed_with_nothing,
    _structured_alone,
    _structured_besides,
    _zero,
    _picture,
    _link,
    _embedded,
    _embedded_blob,
    _for_the_user,
    _for_the_model,
)


def cases() -> Iterator[Case]:
    """Every kind of outcome, with words from each seed."""
    for seed in SEEDS:
        for make in CASES:
            yield make(Random(f"reads:{make.__name__}:{seed}"))


def grade(answer: object, learner: Learner) -> Passed:
    """Let the function write the text for each outcome, and read it as a model would."""
    count = 0
    for case in cases():
        value = learner.call(answer, copy.deepcopy(case.outcome), on=show(case.outcome, 200), rule=case.rule)
        if is_placeholder(value):
            raise NotAttempted
        _judge(case, answer, value)
        count += 1
    return Passed(
        f"{count} calls, and the model could read what it needs of each, and nothing else.", TOOL_ERROR
    )


def _judge(case: Case, answer: object, value: object) -> None:
    text = as_text(value)
    outcome = f"The call ended with {case.what}: {show(case.outcome, 300)}."
    seen = f"{outcome} {name_of(answer)} returned {show(value)}."
    if text is None or not text.strip():
        raise NotYet(
            seen,
            case.rule,
            "Return a text, and never an empty one: a model that reads nothing makes something up.",
        )
    begins = next((mark for mark in MARKS if text.startswith(mark)), "")
    if begins != case.mark:
        raise NotYet(
            f"{seen} It should {f'begin with {case.mark!r}' if case.mark else f'not begin with {begins!r}'}.",
            case.rule,
            "`isError` says whether a tool failed: not the text, and not whether the key is there.",
        )
    found = 0
    for need in case.needs:
        at = text.find(need)
        if at < 0:
            raise NotYet(
                f"{seen} The model cannot read {need!r} there.",
                case.rule,
                "Go through all blocks of `content`, in order, then look whether there is "
                "`structuredContent`. Each type of block has its own words.",
            )
        if at < found and case.order:
            raise NotYet(f"{seen} {need!r} stands too early.", case.rule, case.order)
        found = max(found, at)
    for what, secret in case.hides.items():
        if secret in text:
            raise NotYet(
                f"{seen} The model reads {what} there.",
                case.rule,
                "Build the text from what is for the model, piece by piece. `str(outcome)` tells too much.",
            )


TITLE: Final = "The text for the model"

TASK: Final = Task(
    name="reads",
    title=TITLE,
    text=f"""\
Write the function of a host that makes the text for the model out of what came of a call. `outcome` is a dict
with one key:

| outcome | the text |
|---|---|
| `{{"result": …}}` | what the result holds |
| the same, with `isError: true` | begins with `{FAILED}`, and then what the result holds |
| `{{"error": …}}` | begins with `{REFUSED}`, and then the `message`; not the `data` |
| `{{"stopped": True}}` | begins with `{STOPPED}`, and is yours |

What a result holds, in its order:

- a block of type `text`: the text,
- `image` and `audio`: that it is there, with its `mimeType`; not the data,
- `resource_link`: its `uri`,
- `resource`: its `text`; if it has a `blob` instead, its `uri`,
- after the blocks, the `structuredContent`, as JSON or in words; it may be any JSON value.

A block whose `annotations` have an `audience` without `"assistant"` is not for the model. The text is never
empty. Write one of the three words before a failure, and before nothing else.""",
    answer="text_for_model",
    starter='''\
def text_for_model(outcome):
    """What the model reads after a call."""
    return ...''',
    hints=(
        "Three questions, one after the other: is there `stopped`, is there `error`, is there `isError`? "
        "What "
        "is left is about blocks.",
        "A small function for one block, with one line for each type. A list of texts, joined at the end.",
        '`if "structuredContent" in result:` finds a 0, too. `" ".join(texts) or "Nothing."` is never empty.',
    ),
    solution=(
        """\
import json


def for_model(block):
    return "assistant" in block.get("annotations", {}).get("audience", ["assistant"])""",
        """\
def text_of_block(block):
    if block["type"] == "text":
        return block["text"]
    if block["type"] == "resource_link":
        return f"A link: {block['uri']}"
    if block["type"] == "resource":
        return block["resource"].get("text", f"A file: {block['resource']['uri']}")
    return f"There is a block of type {block['mimeType']}, which cannot be shown here.\"""",
        """\
def text_for_model(outcome):
    if "stopped" in outcome:
        return "Stopped: the user ended this call. Whether the work was done is not known."
    if "error" in outcome:
        return f"Refused: {outcome['error']['message']}"
    result = outcome["result"]
    texts = [text_of_block(block) for block in result["content"] if for_model(block)]
    if "structuredContent" in result:
        texts.append(json.dumps(result["structuredContent"]))
    text = "\\n".join(texts) or "Nothing came back."
    return f"Failed: {text}" if result.get("isError") else text""",
    ),
    why="The model sees what this function writes, and nothing else of the call. Leave something out, and it "
    "guesses; hand over too much, and it reads what is not for it.",
    grade=grade,
    points=15,
    pages=(
        ("tool results", "server/tools#tool-result"),
        ("structured content", "server/tools#structured-content"),
        ("error handling", "server/tools#error-handling"),
        ("annotations", "server/resources#annotations"),
    ),
    play="""\
async def ask(client):
    result = await client.request("tools/call", {"name": "find_ticket", "arguments": {"number": "T-9999"}})
    model = ScriptedModel(lambda read: f"I read: {read}")
    return model.reads(text_for_model({"result": result}))
simulate(ask, server=help_desk(), title="What the model reads", check=False)""",
)
