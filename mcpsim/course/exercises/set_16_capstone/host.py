"""Exercise: a host that has an answer to whatever goes wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.set_16_capstone.building import listed, words
from mcpsim.course.exercises.showing import describe_error, name_of, show
from mcpsim.course.exercises.traffic import exchanges
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.course.model import ScriptedModel, ToolUse
from mcpsim.errors import McpSimError, ToolError
from mcpsim.recording import Recording
from mcpsim.server import Context, Server
from mcpsim.transports.faults import Crash, Drop, Fault

CALL: Final = "tools/call"
MOST: Final = 4
STOP_S: Final = 3.0
LONG_S: Final = 30.0
PATIENCE_S: Final = 8.0
PAGE_SIZE: Final = 2

DENIED, FAILED, REFUSED, STOPPED, LOST = "Denied:", "Failed:", "Refused:", "Stopped:", "Lost:"
MARKS: Final = (DENIED, FAILED, REFUSED, STOPPED, LOST)

CONSENT: Final = Rule(
    "There SHOULD always be a human who can deny a call, and clients SHOULD show what a tool is given before "
    "it is called.",
    "server/tools#security-considerations",
)
ERRORS: Final = Rule(
    "Clients SHOULD give tool execution errors to the model, and MAY give it protocol errors.",
    "server/tools#error-handling",
)
STOPS: Final = Rule(
    "A client may cancel a request that is in progress; the server SHOULD stop working on it then.",
    "basic/patterns/cancellation#behavior-requirements",
)
LOSES: Final = Rule(
    "What was in flight when a server's process ended is lost. The client can send it again; nobody says "
    "that it was not carried out.",
    "basic/transports/stdio#unexpected-termination",
)
ASKS: Final = Rule(
    "A user may accept, decline or dismiss a question. These are three answers, and the server hears which.",
    "client/elicitation#response-actions",
)
TOOLS: Final = Rule(
    "Clients SHOULD take a missing `nextCursor` as the end of the list, and nothing else.",
    "server/utilities/pagination#implementation-guidelines",
)
LOOP: Final = Rule(
    "Tools are model-controlled. How a host lets its model use them is no part of the protocol.",
    "server/tools#user-interaction-model",
)

_FORM: Final = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Person:
    """A user.

    Args:
        denied: the words to whose calls this user does not agree.
        fills_in: what comes back from a form: its content, "decline" or "cancel".
        stops: the words whose calls this user stops after three seconds.

    Attributes:
        shown: the calls that this user was shown, in order.
        read: the questions that this user was asked.
    """

    def __init__(self, denied: set[str], fills_in: dict[str, Any] | str, stops: set[str]) -> None:
        self._denied = denied
        self._fills_in = fills_in
        self._stops = stops
        self.shown: list[tuple[str, dict[str, Any]]] = []
        self.read: list[str] = []

    async def agrees(self, name: str, arguments: Any) -> bool:
        """Whether the user agrees to this call. Takes half a second."""
        await anyio.sleep(0.5)
        given = dict(arguments)
        self.shown.append((str(name), given))
        return given.get("word") not in self._denied

    async def answers(self, message: str, schema: Any) -> dict[str, Any] | str:
        """What the user does with a form: its content, "decline" or "cancel". Takes half a second."""
        await anyio.sleep(0.5)
        self.read.append(str(message))
        return self._fills_in

    def button(self) -> anyio.CancelScope:
        """A scope that is left when the user presses Stop."""
        pressed = bool(self.shown) and self.shown[-1][1].get("word") in self._stops
        scope = anyio.CancelScope()
        if pressed:
            scope.deadline = anyio.current_time() + STOP_S
        return scope


@dataclass(frozen=True, slots=True)
class Use:
    """What the model wants, and how the text has to begin and what it has to hold that it reads then."""

    kind: str
    turn: ToolUse
    mark: str
    needs: str
    rule: Rule


@dataclass(frozen=True, slots=True)
class Scene:
    """One conversation.

    Attributes:
        what: what happens in it.
        kinds: what each wish of the model is about.
        ends: whether the model says something in the end.
        answer: what the user does with a form.
    """

    what: str
    kinds: tuple[str, ...]
    ends: bool = True
    answer: str = "accept"


SCENES: Final = (
    Scene("the model answers at once", ()),
    Scene("a tool fails, and the model tries another way", ("fail", "find")),
    Scene("the model wants a tool that is not there", ("dance", "find")),
    Scene("the user does not agree", ("find", "denied")),
    Scene("the server asks, and the user fills the form in", ("ask", "find")),
    Scene("the server asks, and the user declines", ("ask",), answer="decline"),
    Scene("the server asks, and the user closes the form", ("ask",), answer="cancel"),
    Scene("the user presses Stop", ("dig", "find")),
    Scene("an answer is lost on the way", ("lost", "find")),
    Scene("the server crashes", ("find", "crash")),
    Scene("the model uses as many tools as it may", ("find", "fail", "denied", "find")),
    Scene("the model never has enough", ("denied", "find", "find", "find", "find", "find"), ends=False),
)


@dataclass(slots=True)
class Hall:
    """The server, and what reached it.

    Attributes:
        done: the words of the calls that reached a tool.
        stopped: the words of those that were cancelled while they were in work.
    """

    done: list[str] = field(default_factory=list[str])
    stopped: list[str] = field(default_factory=list[str])

    def server(self) -> Server:
        """A server with a tool for everything that may happen, two to a page."""
        hall = Server("hall", page_size=PAGE_SIZE)

        @hall.tool()
        def find(word: str) -> str:
            """Find something."""
            self.done.append(word)
            return f"Found {word}."

        @hall.tool()
        def fail(word: str) -> str:
            """Find nothing."""
            raise ToolError(f"There is no {word}.")

        @hall.tool()
        async def dig(word: str) -> str:
            """Take half a minute."""
            try:
                await anyio.sleep(LONG_S)
            except BaseException:
                self.stopped.append(word)
                raise
            return f"Dug up {word}."

        @hall.tool()
        async def work(word: str) -> str:
            """Take two seconds."""
            self.done.append(word)
            await anyio.sleep(2)
            return f"Worked on {word}."

        @hall.tool()
        async def ask(context: Context, word: str) -> str:
            """Ask the user for a name."""
            answer = await context.elicit(f"Which name for {word}?", _FORM, key="name")
            if answer.action != "accept" or answer.content is None:
                return f"No name for {word}: {answer.action}."
            return f"{word} is {answer.content['name']}."

        return hall


def _uses(scene: Scene, rng: Random, name: str) -> list[Use]:
    found: list[Use] = []
    for kind, word in zip(scene.kinds, words(rng, len(scene.kinds)), strict=True):
        asked = f"{word} is {name}" if scene.answer == "accept" else f"No name for {word}: {scene.answer}"
        tool, mark, needs, rule = {
            "find": ("find", "", f"Found {word}", LOOP),
            "denied": ("find", DENIED, "", CONSENT),
            "fail": ("fail", FAILED, f"There is no {word}", ERRORS),
            "dance": ("dance", REFUSED, "Unknown tool", ERRORS),
            "ask": ("ask", "", asked, ASKS),
            "dig": ("dig", STOPPED, "", STOPS),
            "lost": ("work", LOST, "", LOSES),
            "crash": ("work", LOST, "", LOSES),
        }[kind]
        found.append(Use(kind, ToolUse(tool, {"word": word}), mark, needs, rule))
    return found


def _faults(scene: Scene) -> tuple[Fault, ...]:
    sent = [kind for kind in scene.kinds if kind != "denied"]
    if "lost" in sent:
        return (Drop(f"result of {CALL}", nth=sent.index("lost") + 1),)
    if "crash" in sent:
        return (Crash(CALL, nth=sent.index("crash") + 1, after_ms=1_000),)
    return ()


def grade(answer: object, learner: Learner) -> Passed:
    """Play all conversations in both eras and over both transports."""
    count = 0
    for scene in SCENES:
        for world in every_world():
            _play(answer, learner, world, scene)
            count += 1
    return Passed(
        f"{count} conversations: nothing was sent that the user had not agreed to, no call was sent twice, "
        "and the model heard of everything that came of its wishes, also of a crash.",
        CONSENT,
    )


def _play(answer: Any, learner: Learner, world: World, scene: Scene) -> None:
    rng = Random(f"hall:{scene.what}:{world.seed}")
    name, wish, last = (f"{what} {rng.randrange(10_000)}" for what in ("Name", "Wish", "Answer"))
    uses = _uses(scene, rng, name)
    person = Person(
        {use.turn.arguments["word"] for use in uses if use.mark == DENIED},
        {"name": name} if scene.answer == "accept" else scene.answer,
        {use.turn.arguments["word"] for use in uses if use.mark == STOPPED},
    )
    model = ScriptedModel(*(use.turn for use in uses), *((last,) if scene.ends else ()))
    hall = Hall()
    where = f"In the conversation in which {scene.what} ({world}),"
    host = learner.call(answer, person)
    if is_placeholder(host):
        raise NotAttempted
    for method in ("question", "converse"):
        if not callable(getattr(host, method, None)):
            raise NotYet(
                f"{name_of(answer)}(person) is {show(host, 60)}, which has no method `{method}`.",
                look="A class with the methods `question(self, asked)` and `converse(self, client, model, "
                "wish, most)`.",
            )
    raised: list[Exception] = []

    async def question(asked: Any) -> Any:
        try:
            return await host.question(asked)
        except Exception as error:
            raised.append(error)
            raise

    async def story(client: Client) -> Any:
        try:
            value = await host.converse(client, model, wish, MOST)
        except Exception as error:
            raised.append(error)
            return None
        await anyio.sleep(1)
        return value

    client = Client(era=world.era, elicit=question, timeout_s=PATIENCE_S)

    def judge(recording: Recording) -> None:
        if raised:
            raise NotYet(
                f"{where} {name_of(answer)} raised {describe_error(raised[0], _written(answer))}.",
                _rule_of(scene),
                _look_at(raised[0], scene),
                recording,
            )

    run = learner.play(
        story,
        written=answer,
        server=hall.server(),
        client=client,
        transport=world.transport,
        seed=world.seed,
        faults=_faults(scene),
        title=scene.what.capitalize(),
    )
    wanted = last if scene.ends else None
    try:
        judge(run.recording)
        _judge_calls(where, uses, person, run.recording)
        _judge_reading(where, wish, uses, model.has_read)
        _judge_rest(where, uses, person, hall)
        if (run.value if run.value is None else as_text(run.value)) != wanted:
            raise NotYet(
                f"{where} `converse` should return {show(wanted)} and returned {show(run.value)}.",
                LOOP,
                f"Return the model's text, also where it comes after {MOST} tools; None where it wants one "
                "more.",
            )
    except NotYet as found:
        raise NotYet(found.seen, found.rule, found.look, run.recording) from None


_AROUND: Final = "Whatever comes of a call, the model reads a text. `except` belongs around the call."
_ENDS: Final = (
    "A text of the model is the end. And count its wishes: when it wants one more than `most`, return None, "
    "and give it nothing more to read."
)
_FILLS: Final = (
    '`question` returns what the person does: the content of the form as a dict, or "decline", or '
    '"cancel". `answers` gives just that.'
)


def _look_at(error: Exception, scene: Scene) -> str:
    if isinstance(error, LookupError) and "script of this model" in str(error):
        return _ENDS
    if "ask" in scene.kinds and not isinstance(error, McpSimError):
        return _FILLS
    return _AROUND


def _text_read(where: str, given: str, text: Any, use: Use | None = None) -> str:
    """What a model was given, which has to be a text."""
    if isinstance(text, str):
        return text
    raise NotYet(
        f"{where} {given} {show(text)}. What a model reads is a text.",
        use.rule if use else TOOLS,
        _LOOKS[use.mark] if use else 'Put the wish and the names together: `"\\n".join([wish, *names])`.',
    )


def _written(answer: Any) -> Any:
    return getattr(answer, "converse", answer)


def _rule_of(scene: Scene) -> Rule:
    rules = {"crash": LOSES, "lost": LOSES, "dance": ERRORS, "fail": ERRORS, "ask": ASKS, "dig": STOPS}
    return next((rules[kind] for kind in scene.kinds if kind in rules), LOOP)


def _shown(call: tuple[str, dict[str, Any]]) -> str:
    name, arguments = call
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _judge_calls(where: str, uses: list[Use], person: Person, recording: Recording) -> None:
    wanted = [(use.turn.name, dict(use.turn.arguments)) for use in uses[:MOST]]
    allowed = [call for call, use in zip(wanted, uses, strict=False) if use.mark != DENIED]
    sent: list[tuple[str, dict[str, Any]]] = []
    for exchange in exchanges(recording, CALL):
        params = exchange.request.params or {}
        # A retry with answers goes on with a call, and is none of its own.
        if "inputResponses" not in params and "requestState" not in params:
            sent.append((str(params.get("name")), dict(params.get("arguments") or {})))
    for call in sent:
        if call not in person.shown:
            raise NotYet(
                f"{where} the call {_shown(call)} was sent, and the user had not been shown it.",
                CONSENT,
                "`await self.person.agrees(name, arguments)` before each call.",
            )
        if call not in allowed:
            raise NotYet(
                f"{where} the call {_shown(call)} was sent. The user had not agreed to it, or it was beyond "
                "the limit.",
                CONSENT,
                "Send a call only where `agrees` is true, and none after the last one that is allowed.",
            )
        if sent.count(call) > 1:
            raise NotYet(
                f"{where} the call {_shown(call)} was sent {sent.count(call)} times.",
                LOSES,
                "Nobody knows whether a lost call was carried out. Tell the model, and let it decide.",
            )
    if person.shown != wanted:
        raise NotYet(
            f"{where} the user was shown {listed([_shown(call) for call in person.shown])}. It should have "
            f"been {listed([_shown(call) for call in wanted])}, each once.",
            CONSENT,
            f"One question for each wish of the model, up to {MOST}.",
        )


def _judge_reading(where: str, wish: str, uses: list[Use], has_read: list[str]) -> None:
    first = _text_read(where, "the model was first given", has_read[0]) if has_read else ""
    missing = [tool for tool in ("ask", "dig", "fail", "find", "work") if tool not in first]
    if wish not in first or missing:
        raise NotYet(
            f"{where} the first text for the model is {show(first)}. The wish and the names of all tools "
            f"should stand in it; {listed(missing or [wish])} is missing.",
            TOOLS,
            'The list has pages: `async for page in client.pages("tools/list")`.',
        )
    for number, use in enumerate(uses[:MOST], 1):
        call = _shown((use.turn.name, dict(use.turn.arguments)))
        if number >= len(has_read):
            raise NotYet(
                f"{where} the model wanted {call} and never heard what came of it.",
                use.rule,
                "Whatever comes of a wish, the model reads it, and the loop goes on.",
            )
        text = _text_read(where, f"the model wanted {call} and was given", has_read[number], use)
        begins = next((mark for mark in MARKS if text.startswith(mark)), "")
        if begins != use.mark or use.needs not in text:
            right = f"begin with {use.mark!r}" if use.mark else "be the text of the result alone"
            needs = f" and hold {use.needs!r}" if use.needs else ""
            raise NotYet(
                f"{where} the model wanted {call} and read {show(text)}. It should {right}{needs}.",
                use.rule,
                _FILLS if use.kind == "ask" else _LOOKS[use.mark],
            )
    most = 1 + min(len(uses), MOST)
    if len(has_read) != most:
        raise NotYet(
            f"{where} the model was given {len(has_read)} texts. There should be {most}.",
            LOOP,
            f"The wish first, then one text for each of up to {MOST} wishes.",
        )


_LOOKS: Final = {
    "": "`text_of(result)` is the text of a result that is no error.",
    DENIED: "If the user does not agree, send nothing, and tell the model.",
    FAILED: "A tool error is a result with `is_error`. Its text belongs to the model.",
    REFUSED: "A protocol error comes as an exception: `except ProtocolError as error`, with `error.message`.",
    STOPPED: "`with self.person.button() as scope:` around the call; `scope.cancelled_caught` says "
    "afterwards whether it was left.",
    LOST: "No answer comes as `RequestTimeout`, a broken connection as `ConnectionClosed`.",
}


def _judge_rest(where: str, uses: list[Use], person: Person, hall: Hall) -> None:
    for use in uses:
        word = use.turn.arguments["word"]
        if use.kind == "dig" and word not in hall.stopped:
            raise NotYet(
                f"{where} the server was never told, and worked on.",
                STOPS,
                "Await the call inside of the `with` block: leaving it cancels the request.",
            )
        if use.kind == "ask" and person.read != [f"Which name for {word}?"]:
            raise NotYet(
                f"{where} the user was asked {listed(person.read)}. The server's question was "
                f"'Which name for {word}?'.",
                ASKS,
                "`return await self.person.answers(asked.message, asked.requested_schema)`.",
            )


TITLE: Final = "A host for bad days"

TASK: Final = Task(
    name="host",
    title=TITLE,
    text=f"""\
Write a host. It is made with a person, and has two methods.

- `question(asked)` is called where a server asks the user. `asked` has `message` and `requested_schema`.
  Return what the person does.
- `converse(client, model, wish, most)` is the conversation. The model reads the wish first, with the names
  of all tools below it (the list has pages). Then it answers with a text, which is the end: return it. Or it
  wants a tool, a `ToolUse` with `name` and `arguments`: then it reads what came of that, and the loop goes
  on. It may want a tool `most` times. When it wants one more, return None, and ask nobody.

| what comes of a wish | the model reads |
|---|---|
| the user does not agree | `{DENIED}` and some words; nothing is sent |
| a result | its text alone |
| a tool error | `{FAILED}` and its text |
| a protocol error | `{REFUSED}` and its `message` |
| the user presses Stop | `{STOPPED}` and some words |
| no answer in time, or the connection is gone | `{LOST}` and some words; nothing is sent again |

| the person | |
|---|---|
| `await person.agrees(name, arguments)` | is shown a call, and agrees or not |
| `await person.answers(message, schema)` | sees a form; gives its content, "decline" or "cancel" |
| `person.button()` | a cancel scope that is left when Stop is pressed; make one for each call |

`ex.Person()` agrees to everything, and calls itself Kim.""",
    answer="Host",
    starter='''\
class Host:
    """A host for one person."""

    def __init__(self, person):
        self.person = person

    async def question(self, asked):
        return ...

    async def converse(self, client, model, wish, most):
        return ...''',
    hints=(
        "Three parts: `question` is one line; one function makes a text of one `ToolUse`; `converse` is the "
        "loop.",
        "In the second: not agreed; `with self.person.button() as scope:`, and in it the call with two "
        "`except`; after it `scope.cancelled_caught`; then the result, which may have `is_error`.",
        "`except ProtocolError as error` is `Refused`, `except (ConnectionClosed, RequestTimeout)` is "
        '`Lost`. For the names: `[tool.name async for page in client.pages("tools/list") for tool in '
        "page.tools]`.",
    ),
    solution=(
        """\
async def what_came(client, use, button):
    with button as scope:
        try:
            result = await client.call_tool(use.name, dict(use.arguments))
        except ProtocolError as error:
            return f"Refused: {error.message}"
        except (ConnectionClosed, RequestTimeout):
            return "Lost: no answer came. Whether the call was carried out is not known."
    if scope.cancelled_caught:
        return "Stopped: the user ended this call. A part of it may be done."
    return f"Failed: {text_of(result)}" if result.is_error else text_of(result)""",
        """\
async def use_tool(person, client, use):
    if not await person.agrees(use.name, use.arguments):
        return "Denied: the user does not want this call."
    return await what_came(client, use, person.button())""",
        '''\
async def wish_and_tools(client, wish):
    pages = client.pages("tools/list")
    names = [tool.name async for page in pages for tool in page.tools]
    return f"{wish}\\nTools: {', '.join(names)}"''',
        """\
class Host:
    def __init__(self, person):
        self.person = person
    async def question(self, asked):
        return await self.person.answers(asked.message, asked.requested_schema)
    async def converse(self, client, model, wish, most):
        turn = model.reads(await wish_and_tools(client, wish))
        for _ in range(most):
            if isinstance(turn, str):
                return turn
            turn = model.reads(await use_tool(self.person, client, turn))
        return turn if isinstance(turn, str) else None""",
    ),
    why="Each wish ends in one text, whatever happens, so the model never waits and never has to guess. What "
    "is lost is not sent again by the host: only the model and the user can say whether twice does harm.",
    grade=grade,
    points=30,
    pages=(
        ("tools", "server/tools#user-interaction-model"),
        ("error handling", "server/tools#error-handling"),
        ("elicitation", "client/elicitation#response-actions"),
        ("cancellation", "basic/patterns/cancellation#behavior-requirements"),
        ("a server that ends", "basic/transports/stdio#unexpected-termination"),
    ),
    play="""\
host = Host(ex.Person())
model = ScriptedModel(ToolUse("find_ticket", {"number": "1001"}),
                      ToolUse("find_ticket", {"number": "T-1001"}), lambda read: f"It says: {read}")
story = lambda client: host.converse(client, model, "Ticket 1001?", 5)
simulate(story, server=help_desk(), client=Client(elicit=host.question), title="A host", check=False)""",
)


def kim() -> Person:
    """A person who agrees to everything, and calls itself Kim."""
    return Person(set(), {"name": "Kim"}, set())
