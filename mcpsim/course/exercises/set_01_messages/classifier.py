"""Exercise: write the function that says what a message is."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.set_01_messages.classify import word_of
from mcpsim.course.exercises.set_01_messages.kinds import KINDS, Kind, made
from mcpsim.course.exercises.set_01_messages.twelve import WORDS
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet

SEEDS: Final = (1, 2, 3, 4, 5)


def grade(answer: object, learner: Learner) -> Passed:
    """Call the function with messages of every kind, made from several seeds."""
    simplest: tuple[int, Kind, bytes, object] | None = None
    wrong = total = 0
    untouched = True
    for seed in SEEDS:
        for place, (kind, data) in enumerate(made(seed)):
            on = f"a message that has {kind.what}: `{show(data)}`"
            value = learner.call(answer, data, on=on, rule=kind.rule)
            total += 1
            untouched = untouched and is_placeholder(value)
            if word_of(value) == kind.word:
                continue
            wrong += 1
            if simplest is None or place < simplest[0]:
                simplest = (place, kind, data, value)
    if untouched:
        raise NotAttempted
    if simplest is not None:
        _, kind, data, value = simplest
        known = word_of(value) is not None
        raise NotYet(
            f"{wrong} of {total} messages are read otherwise. The simplest has {kind.what}: `{show(data)}`. "
            f"{name_of(answer)} {'says' if known else 'returned'} {show(value)}; it is {show(kind.word)}.",
            kind.rule,
            "Mend this one first, then check again." if known else _WORDS,
        )
    return Passed(f"All {total} messages are read right: {len(KINDS)} kinds, each from {len(SEEDS)} seeds.")


_WORDS: Final = f"The words are {', '.join(WORDS)}. Does every way through your function end in a `return`?"

TASK: Final = Task(
    name="classifier",
    title="Write the classifier",
    text="""\
Write a function that takes the bytes of one line and returns one of the six words. It is called with messages
of about fifty kinds, made from several seeds.

The function `mcpsim.read_message` does all of this already. You learn more if you write it with Python's
`json` alone, which reads more than JSON: NaN, a field that stands twice, other encodings than UTF-8. For
all of these the answer is `"-32700"`. For the field that stands twice this is our reading, because no page
says it.

An error whose `id` is null is an `"error"`, and one without an `id` is, too: our reading again. JSON-RPC
writes null where the request could not be read; the schema of MCP leaves the id out, and has no null.""",
    answer="classify",
    starter="""\
import json


def classify(data: bytes) -> str:
    return ...""",
    hints=(
        'Go from the outside to the inside. First decode and parse: whatever fails there is "-32700". '
        'Then: is it an object with `jsonrpc` "2.0"? Only then look at the fields.',
        "Which of `method`, `result` and `error` are there? It must be exactly one of the three. Then "
        'check the type of its value, and the id. In Python `True` is an `int` too, and `obj.get("id")` is '
        "None both for a missing id and for null.",
        'Decode with `data.decode("utf-8")` before you parse. `json.loads` takes `parse_constant`, which '
        "is called for NaN and Infinity, and `object_pairs_hook`, which gets each object as a list of "
        "pairs, also those that stand twice. Both may raise a ValueError.",
    ),
    solution=(
        """\
import json


def each_once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a member stands twice")
    return dict(pairs)


def no_constant(name):
    raise ValueError(f"{name} is not JSON")""",
        """\
def classify(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
        obj = json.loads(text, object_pairs_hook=each_once, parse_constant=no_constant)
    except ValueError:
        return "-32700"
    is_message = isinstance(obj, dict) and obj.get("jsonrpc") == "2.0"
    return shape_of(obj) if is_message else "-32600"


def is_id(value):
    return isinstance(value, (str, int)) and not isinstance(value, bool)""",
        """\
def is_call(obj):
    id_is_fine = "id" not in obj or is_id(obj["id"])
    params_are_fine = isinstance(obj.get("params", {}), dict)
    return id_is_fine and params_are_fine and isinstance(obj["method"], str)


def is_error(error):
    code, text = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
    return isinstance(code, int) and not isinstance(code, bool) and isinstance(text, str)""",
        '''\
def shape_of(obj):
    kind = obj.keys() & {"method", "result", "error"}
    if kind == {"method"} and is_call(obj):
        return "request" if "id" in obj else "notification"
    if kind == {"result"} and is_id(obj.get("id")) and isinstance(obj["result"], dict):
        return "result"
    if kind == {"error"} and is_error(obj["error"]) and (obj.get("id") is None or is_id(obj["id"])):
        return "error"
    return "-32600"''',
    ),
    why="Bytes first, then JSON, then the shape: each step may rely on the one before it. Exactly one of "
    "`method`, `result` and `error` has to be there.",
    grade=grade,
    pages=(
        ("messages", "basic/index#messages"),
        ("encoding", "basic/transports/index#messages"),
    ),
    points=20,
)
