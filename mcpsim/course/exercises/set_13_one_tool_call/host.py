"""Exercise: the loop of a host, from the user's wish to the model's answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, cast

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, require_function
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.course.model import ScriptedModel, ToolUse
from mcpsim.errors import ToolError
from mcpsim.messages import Request
from mcpsim.recording import Recording
from mcpsim.server import Context, Server

CALL: Final = "tools/call"
MOST: Final = 4
PATIENCE_S: Final = 3.0
SLOW_S: Final = 30.0
SPARE: Final = 60

FAILED, REFUSED, STOPPED, DENIED = "Failed:", "Refused:", "Stopped:", "Denied:"
MARKS: Final = (FAILED, REFUSED, STOPPED, DENIED)

CONSENT: Final = Rule(
    "There SHOULD always be a human who can deny a call, and clients SHOULD show what a tool is given before "
    "it is called.",
    "server/tools#security-considerations",
)
TOOL_ERROR: Final = Rule(
    "Clients SHOULD give tool execution errors to the model, so that it can correct itself.",
    "server/tools#error-handling",
)
PROTOCOL_ERROR: Final = Rule("Clients MAY give protocol errors to the model.", "server/tools#error-handling")
STOP: Final = Rule(
    "A client may cancel a request that is in progress. The server SHOULD stop working on it then.",
    "basic/patterns/cancellation#behavior-requirements",
)
DECLINE: Final = Rule(
    "A user may accept, decline or dismiss a question. Servers should handle each of the three.",
    "client/elicitation#response-actions",
)
LOOP: Final = Rule(
    "Tools are model-controlled. How a host lets its model use them is no part of the protocol.",
    "server/tools#user-interaction-model",
)

_FORM: Final = {"type": "object", "properties": {"names": {"type": "boolean", "title": "Name customers"}}}


@dataclass(frozen=True, slots=True)
class Use:
    """What the model wants, and what should come of it.

    Attributes:
        turn: the wish.
        allowed: whether the user agrees.
        mark: how the text has to begin that the model reads then, or "".
        needs: what has to stand in it.
        rule: what decides.
    """

    turn: ToolUse
    allowed: bool
    mark: str
    needs: str
    rule: Rule


@dataclass(slots=True)
class Office:
    """A server with a tool for everything that may happen.

    Attributes:
        stopped: the words of the calls that were cancelled while they were in work.
    """

    stopped: list[str] = field(default_factory=list[str])

    def server(self) -> Server:
        """The office as a server."""
        office = Server("office")

        @office.tool()
        def find(word: str) -> str:
            """Find something."""
            return f"Found {word}."

        @office.tool()
        def fail(word: str) -> str:
            """Find nothing."""
            raise ToolError(f"There is no {word}.")

        @office.tool()
        async def dig(word: str) -> str:
            """Take half a minute."""
            try:
                await anyio.sleep(SLOW_S)
            except BaseException:
                self.stopped.append(word)
                raise
            return f"Dug up {word}."

        @office.tool()
        async def write(context: Context, word: str) -> str:
            """Ask the user, then write."""
            answer = await context.elicit(f"May {word} name customers?", _FORM, key="names")
            if answer.action != "accept":
                raise ToolError(f"Not written, because the user said {answer.action}: {word}.")
            return f"Written: {word}."

        return office


@dataclass(frozen=True, slots=True)
class Scene:
    """One conversation.

    Attributes:
        what: what happens in it.
        kinds: what each of the model's wishes is about.
        ends: whether the model says something in the end. Otherwise it wants tools for ever.
        answer: what the user answers to a question of the server.
    """

    what: str
    kinds: tuple[str, ...]
    ends: bool = True
    answer: str = "accept"


SCENES: Final = (
    Scene("the model answers without a tool", ()),
    Scene("the model uses one tool", ("find",)),
    Scene("the model uses two tools, one after the other", ("find", "find")),
    Scene("a tool fails, and the model tries something else", ("fail", "find")),
    Scene("the model wants a tool that does not exist", ("dance", "find")),
    Scene("the user does not agree to a call", ("denied", "find")),
    Scene("the user agrees to a call, and not to the next one of the same tool", ("find", "denied")),
    Scene("the server asks, and the user accepts", ("write",)),
    Scene("the server asks, and the user declines", ("write",), answer="decline"),
    Scene("the user presses Stop", ("dig", "find")),
    Scene("the user presses Stop, after a call that was not stopped", ("find", "dig")),
    Scene(f"the model uses {MOST} tools and then answers", ("find", "fail", "denied", "find")),
    Scene("the model never has enough", ("find",) * (MOST + 3), ends=False),
    Scene("the model is denied everything and never has enough", ("denied",) * (MOST + 3), ends=False),
)


def _uses(scene: Scene, rng: Random) -> list[Use]:
    found: list[Use] = []
    for kind in scene.kinds:
        word = "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(4))
        tool = "find" if kind == "denied" else kind
        mark, needs, rule = {
            "find": ("", f"Found {word}", LOOP),
            "fail": (FAILED, f"There is no {word}", TOOL_ERROR),
            "dance": (REFUSED, "Unknown tool", PROTOCOL_ERROR),
            "denied": (DENIED, "", CONSENT),
            "dig": (STOPPED, "", STOP),
            "write": ("", f"Written: {word}", DECLINE)
            if scene.answer == "accept"
            else (FAILED, f"said {scene.answer}: {word}", DECLINE),
        }[kind]
        found.append(Use(ToolUse(tool, {"word": word}), kind != "denied", mark, needs, rule))
    return found


def grade(answer: object, learner: Learner) -> Passed:
    """Play all conversations in both eras and over both transports."""
    require_function(answer)
    count = 0
    for scene in SCENES:
        for world in every_world():
            _play(answer, learner, world, scene)
            count += 1
    return Passed(
        f"{count} conversations: nothing was sent that the user had not agreed to, and the model heard of "
        "everything that came of its wishes.",
        CONSENT,
    )


def _play(answer: Any, learner: Learner, world: World, scene: Scene) -> None:
    rng = Random(f"host:{scene.what}:{world.seed}")
    uses = _uses(scene, rng)
    wish, last = f"Wish {rng.randrange(10_000)}", f"Answer {rng.randrange(10_000)}"
    turns = (*(use.turn for use in uses), *((last,) if scene.ends else ()))
    # Some more turns, for a host that lets the model read too much: that is said better than by an error.
    model = ScriptedModel(*turns, *turns[-1:] * SPARE)
    office = Office()
    asked: list[tuple[str, dict[str, Any]]] = []

    def allow(name: Any, arguments: Any) -> bool:
        given = dict(cast("Mapping[str, Any]", arguments)) if isinstance(arguments, Mapping) else {}
        asked.append((str(name), given))
        return all(use.allowed for use in uses if dict(use.turn.arguments) == given)

    def stoppable() -> anyio.CancelScope:
        return anyio.CancelScope(deadline=anyio.current_time() + PATIENCE_S)

    async def story(client: Client) -> Any:
        try:
            value = await answer(client, model, wish, allow, stoppable, MOST)
        except LookupError:
            if len(model.has_read) <= len(turns) + SPARE:
                raise
            value = None
        await anyio.sleep(1)
        return value

    user = Client(
        era=world.era, elicit=lambda _: {"names": True} if scene.answer == "accept" else scene.answer
    )
    where = f"In the conversation in which {scene.what} ({world}),"

    def judge(recording: Recording) -> None:
        _judge_calls(where, uses, asked, recording)

    run = learner.play(
        story,
        server=office.server(),
        client=user,
        transport=world.transport,
        seed=world.seed,
        title=scene.what.capitalize(),
        judge=judge,
        written=answer,
    )
    try:
        _judge_reading(where, wish, uses, model.has_read, scene)
        _judge_stops(where, uses, office)
        _judge_questions(where, uses, asked)
    except NotYet as found:
        raise NotYet(found.seen, found.rule, found.look, run.recording) from None
    wanted = last if scene.ends else None
    if (run.value if run.value is None else as_text(run.value)) != wanted:
        raise NotYet(
            f"{where} {name_of(answer)} should return {show(wanted)} and returned {show(run.value)}.",
            LOOP,
            f"Return the model's text, also where it comes after {MOST} tools; None where it wants one more.",
            run.recording,
        )


def _sent(recording: Recording) -> list[tuple[str, dict[str, Any]]]:
    """The calls, each once: a retry with answers goes on with a call, and is none of its own."""
    found: list[tuple[str, dict[str, Any]]] = []
    for frame in recording.frames:
        message = frame.parsed
        if not isinstance(message, Request) or message.method != CALL or frame.receiver != "server":
            continue
        params = message.params or {}
        if "inputResponses" not in params and "requestState" not in params:
            found.append((str(params.get("name")), params.get("arguments") or {}))
    return found


def _as_pair(use: Use) -> tuple[str, dict[str, Any]]:
    return use.turn.name, dict(use.turn.arguments)


def _judge_calls(
    where: str, uses: list[Use], asked: list[tuple[str, dict[str, Any]]], recording: Recording
) -> None:
    within = uses[:MOST]
    sent = _sent(recording)
    wanted = [_as_pair(use) for use in within if use.allowed]
    denied = [_as_pair(use) for use in uses if not use.allowed]
    for pair in sent:
        if pair in denied:
            raise NotYet(
                f"{where} the call {_shown(pair)} was sent, and the user had not agreed to it.",
                CONSENT,
                "Ask `allow(name, arguments)` before each call, and send it only if that is true.",
            )
    for pair in sent:
        if pair not in asked:
            raise NotYet(
                f"{where} the call {_shown(pair)} was sent, and nobody had asked the user.",
                CONSENT,
                "Ask before each call, and with the arguments: consent to one call is none to the next.",
            )
    if len(sent) > len(wanted):
        raise NotYet(
            f"{where} {len(sent)} calls were sent: {_listed(sent)}. The model had "
            f"{len(wanted)} "
            "within its limit that the user agreed to.",
            LOOP,
            f"After {MOST} wishes for a tool there is no other. Send each call once.",
        )


def _judge_reading(where: str, wish: str, uses: list[Use], has_read: list[str], scene: Scene) -> None:
    if not has_read or has_read[0] != wish:
        raise NotYet(
            f"{where} the first thing that the model read was {show(has_read[0] if has_read else None)}. "
            f"It should be the user's wish, {show(wish)}.",
            LOOP,
            "`turn = model.reads(wish)` begins the conversation.",
        )
    for number, use in enumerate(uses[:MOST], 1):
        name = use.turn.name
        if number >= len(has_read):
            raise NotYet(
                f"{where} the model wanted {_shown(_as_pair(use))} and never heard what came of it.",
                use.rule,
                "Whatever comes of a wish, the model reads it: `turn = model.reads(text)`, and the loop "
                "goes on."
                + (
                    " A Stop ends one call: open a `stoppable()` for each."
                    if any(one.mark == STOPPED for one in uses)
                    else ""
                ),
            )
        text = has_read[number]
        begins = next((mark for mark in MARKS if text.startswith(mark)), "")
        seen = f"{where} the model wanted {_shown(_as_pair(use))} and read {show(text)}."
        if begins != use.mark:
            right = f"begin with {use.mark!r}" if use.mark else "be the text of the result alone"
            raise NotYet(f"{seen} It should {right}.", use.rule, _LOOKS.get(use.mark, _LOOKS[""]))
        if use.needs not in text:
            raise NotYet(f"{seen} {use.needs!r} does not stand there ({name}).", use.rule, _LOOKS[use.mark])
    most = 1 + min(len(uses), MOST)
    if len(has_read) > most:
        raise NotYet(
            f"{where} the model was given {len(has_read)} texts. There should be {most}.",
            LOOP,
            f"After {MOST} wishes the conversation ends. Each wish brings one text.",
        )


_LOOKS: Final = {
    "": "`text_of(result)` is the text of a result that is no error.",
    FAILED: "A tool error is a result with `is_error`. Its text belongs to the model.",
    REFUSED: "A protocol error comes as an exception: `except ProtocolError as error`, with `error.message`.",
    STOPPED: "`with stoppable() as scope:` around the call; afterwards `scope.cancelled_caught` says "
    "whether it "
    "was stopped.",
    DENIED: "If the user does not agree, send nothing, and tell the model.",
}


def _judge_stops(where: str, uses: list[Use], office: Office) -> None:
    for use in uses:
        word = use.turn.arguments["word"]
        if use.mark == STOPPED and word not in office.stopped:
            raise NotYet(
                f"{where} the server was never told, and worked on.",
                STOP,
                "Await the call inside the `with stoppable()` block: leaving it cancels the request.",
            )


def _judge_questions(where: str, uses: list[Use], asked: list[tuple[str, dict[str, Any]]]) -> None:
    wanted = [_as_pair(use) for use in uses[:MOST]]
    if asked != wanted:
        raise NotYet(
            f"{where} the user was asked about {_listed(asked) or 'nothing'}. It should have been "
            f"{_listed(wanted)}, each once.",
            CONSENT,
            f"One question for each wish within the limit of {MOST}, and none beyond it.",
        )


def _listed(pairs: list[tuple[str, dict[str, Any]]]) -> str:
    more = len(pairs) - MOST - 1
    return ", ".join(map(_shown, pairs[: MOST + 1])) + (f" and {more} more" if more > 0 else "")


def _shown(pair: tuple[str, dict[str, Any]]) -> str:
    name, arguments = pair
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


TITLE: Final = "The loop of a host"

TASK: Final = Task(
    name="host",
    title=TITLE,
    text=f"""\
Write the loop of a host. The model reads the wish first. What `model.reads(text)` returns is a text, which is
the answer: return it. Or it is a `ToolUse` with `name` and `arguments`: then one text goes back to the model,
and the loop goes on.

| what comes of it | the model reads |
|---|---|
| the user does not agree: `allow(name, arguments)` is false | `{DENIED}` and some words; nothing is sent |
| a result | its text, `text_of(result)` |
| a tool error | `{FAILED}` and its text |
| a protocol error | `{REFUSED}` and its `message` |
| the user presses Stop | `{STOPPED}` and some words |

- Ask the user before each call. Who agreed to one call has not agreed to the next.
- `with stoppable() as scope:` is a cancel scope that is left when the user presses Stop;
  `scope.cancelled_caught` says afterwards whether that happened. Open one for each call.
- The model may want a tool `most` times, allowed or not. When it wants one more, return None, and ask nobody.
- A question of the server is answered by the client itself.""",
    answer="converse",
    starter='''\
async def converse(client, model, wish, allow, stoppable, most):
    """The model's answer, or None where it never has enough."""
    return ...''',
    hints=(
        "Two functions are easier than one: the first makes one text out of one `ToolUse`, the second is the "
        "loop.",
        "Four ways lead out of the first: not allowed, a `ProtocolError`, a scope that was left, a result. A "
        "result may be an error: `result.is_error`.",
        "`for _ in range(most):` look whether the turn is a text; if not, let the model read what came. "
        "After "
        "the loop the last turn may be a text as well: `return turn if isinstance(turn, str) else None`.",
    ),
    solution=(
        """\
async def use_tool(client, use, allow, stoppable):
    if not allow(use.name, use.arguments):
        return "Denied: the user does not want this call."
    with stoppable() as scope:
        try:
            result = await client.call_tool(use.name, dict(use.arguments))
        except ProtocolError as error:
            return f"Refused: {error.message}"
    if scope.cancelled_caught:
        return "Stopped: the user ended this call. Whether the work was done is not known."
    return f"Failed: {text_of(result)}" if result.is_error else text_of(result)""",
        """\
async def converse(client, model, wish, allow, stoppable, most):
    turn = model.reads(wish)
    for _ in range(most):
        if isinstance(turn, str):
            return turn
        turn = model.reads(await use_tool(client, turn, allow, stoppable))
    return turn if isinstance(turn, str) else None""",
    ),
    why="Each wish of the model ends in one text, whatever happens: so the model never waits and never has "
    "to "
    "guess. The limit counts wishes, and not results: one that is denied for ever would go on for ever.",
    grade=grade,
    points=20,
    pages=(
        ("tools", "server/tools#user-interaction-model"),
        ("error handling", "server/tools#error-handling"),
        ("security", "server/tools#security-considerations"),
        ("cancellation", "basic/patterns/cancellation#behavior-requirements"),
    ),
    play="""\
model = ScriptedModel(ToolUse("find_ticket", {"number": "1001"}),
                      ToolUse("find_ticket", {"number": "T-1001"}),
                      lambda read: f"The ticket says: {read}")
button = lambda: anyio.move_on_after(3)
agree = lambda name, arguments: True
story = lambda client: converse(client, model, "Ticket 1001?", agree, button, 5)
simulate(story, server=help_desk(), title="A host", check=False)""",
)
