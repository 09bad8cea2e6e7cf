"""Exercise: errors that help the model, and give nothing away."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.set_12_errors.rules import IN_THE_RESULT, NO_SECRETS, TOOL_ERROR
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import require_valid
from mcpsim.course.exercises.verdict import NotAttempted, NotYet
from mcpsim.errors import ProtocolError
from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.server import Server

TOOL: Final = "find_invoice"
THERE, UNKNOWN, DOWN = "is there", "does not exist", "cannot be looked up: the database is down"


# What says of an invoice that there is none, in a sentence whose words are all about that. "#" is its number.
_DENIAL: Final = re.compile(
    r"\bno (?:such )?invoice(?: #| with| found| exists|\s*[,:;]|$)|\bnot (?:found|exist)\b|n't exist\b"
    r"|\bunknown invoice\b|\bthere is none\b|\bnothing (?:was |is )?found\b|\bnot in the database\b"
)
# What takes that back, as "nobody knows whether" does; or something else is not there.
_OPEN: Final = re.compile(
    r"\b(?:whether|if|mean|means|say|tell|know|knows|known)\b"
    r"|\b(?:database|server|service|system|host)\b.* not found\b"
)
# These do so only where they come first: "it may not exist", and not "it does not exist, try what may help".
_DOUBT: Final = re.compile(
    r"\b(?:may|might|could(?! not)|assume|conclude|claim|checked|unclear|unsure|uncertain|sure|certain)\b"
)


def denies(text: str, number: str) -> bool:
    """Whether a text claims that there is no invoice of this number."""
    return any(map(_is_denial, re.split(r"[.!?\n]+", text.replace(number, "#").lower())))


def _is_denial(sentence: str) -> bool:
    found = _DENIAL.search(sentence.strip())
    if found is None or _OPEN.search(sentence):
        return False
    return _DOUBT.search(sentence.strip()[: found.start()]) is None


@dataclass(frozen=True, slots=True)
class Database:
    """Where the invoices are, and what must not be told of it."""

    number: str
    text: str
    host: str
    user: str
    password: str
    table: str
    state: str

    @classmethod
    def of(cls, rng: Random, state: str) -> Database:
        """A database in a state: THERE, UNKNOWN or DOWN."""
        return cls(
            number=f"INV-{rng.randrange(1000, 9999)}",
            text=f"{rng.randrange(10, 99)} boxes of paper, {rng.randrange(100, 999)} in all.",
            host=f"db-{rng.randrange(100)}.internal",
            user=f"svc_{rng.choice(['billing', 'ledger', 'books'])}_{rng.randrange(100)}",
            password=f"{rng.choice(['tulip', 'amber', 'onyx'])}{rng.randrange(1000, 9999)}",
            table=f"tbl_{rng.choice(['inv', 'bill', 'doc'])}_{rng.randrange(100)}",
            state=state,
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """What may stand in no answer: the names and the password, and how the exceptions' texts begin."""
        host, _, _ = self.host.partition(".")
        kinds = (self.user.partition("_")[0] + "_", self.table.partition("_")[0] + "_")
        return (self.host, self.user, self.password, self.table, host, *kinds, "SELECT", ":5432")

    def look_up(self, number: Any) -> str:
        """An invoice.

        Raises:
            LookupError: there is none.
            ConnectionError: the database is down.
        """
        if self.state == DOWN:
            raise ConnectionError(f"{self.host}:5432 refused {self.user} (password {self.password})")
        if self.state == UNKNOWN or number != self.number:
            raise LookupError(
                f"0 rows: SELECT text FROM {self.table} WHERE number = '{number}' on {self.host}"
            )
        return self.text


def grade(answer: object, learner: Learner) -> Passed:
    """Register the function as a tool, and let it fail in both ways."""
    if not callable(answer):
        raise NotYet(f"The answer is {show(answer)}.", look="Pass the function itself.")
    for transport, seed in worlds():
        rng = Random(f"invoice:{seed}:{transport.name}")
        draw = rng.randrange(10**9)
        texts = {
            state: _text(answer, learner, Database.of(Random(draw), state), transport, seed)
            for state in (THERE, UNKNOWN, DOWN)
        }
        if texts[UNKNOWN] == texts[DOWN]:
            raise NotYet(
                f"Whether the invoice does not exist or the database is down: {name_of(answer)} says "
                f"{show(texts[DOWN])} in both cases.",
                TOOL_ERROR,
                "The model should look for another number in the one case, and not in the other. Two "
                "exceptions, "
                "two texts.",
            )
    return Passed(
        "The model learned what it could change, and nobody learned anything about the database.", NO_SECRETS
    )


def _text(answer: Any, learner: Learner, database: Database, transport: Any, seed: int) -> str:
    given: list[Any] = []

    async def story(client: Client) -> Any:
        try:
            return await client.call_tool(TOOL, {"number": database.number})
        except ProtocolError as error:
            return error

    run = learner.play(
        story,
        server=_desk(answer, database, given),
        transport=transport,
        seed=seed,
        title=TITLE,
        written=answer,
    )
    if any(is_placeholder(value) for value in given):
        raise NotAttempted
    where = f"The invoice {database.number} {database.state}."
    _judge_secrets(where, answer, database, run.recording)
    if isinstance(run.value, ProtocolError):
        raise NotYet(
            f"{where} The call was answered with the protocol error {run.value.code}: "
            f"{show(run.value.message)}.",
            IN_THE_RESULT,
            "`raise ToolError(text)` makes a tool error, which the model gets to read.",
            run.recording,
        )
    require_valid(run.recording)
    return _judge_result(where, answer, database, given, run)


def _desk(answer: Any, database: Database, given: list[Any]) -> Server:
    desk = Server("invoice-desk")

    @desk.tool(name=TOOL)
    async def find_invoice(number: str) -> str:
        """Find an invoice."""
        value = answer(number, database.look_up)
        value = await value if inspect.isawaitable(value) else value
        given.append(value)
        return value if isinstance(value, str) else show(value)

    return desk


def _judge_secrets(where: str, answer: object, database: Database, recording: Recording) -> None:
    sent = b"".join(frame.data for frame in recording.frames if frame.sender == "server").decode(
        "utf-8", "replace"
    )
    told = [secret for secret in database.secrets if secret in sent]
    if told:
        raise NotYet(
            f"{where} What {name_of(answer)} says goes over the wire, and {show(told[0])} is in it.",
            NO_SECRETS,
            "The text of the exception is for you. Write one of your own for the model.",
            recording,
        )


def _judge_result(where: str, answer: object, database: Database, given: list[Any], run: Run) -> str:
    result = run.value
    text = " ".join(getattr(block, "text", "") for block in result.content)
    if database.state == THERE:
        if result.is_error or [as_text(value) for value in given] != [database.text]:
            raise NotYet(
                f"{where} It says {show(database.text)}, and the tool says {show(text)}.",
                None,
                "Return what `look_up(number)` returns.",
                run.recording,
            )
        return text
    if not result.is_error:
        raise NotYet(
            f"{where} The tool says {show(text)}, as if all were well: `isError` is not true.",
            TOOL_ERROR,
            "A text that is returned is a result. `raise ToolError(text)` makes it a tool error.",
            run.recording,
        )
    if not any(letter.isalpha() for letter in text.replace(database.number, "")):
        raise NotYet(
            f"{where} The tool error says {show(text)}. From that a model learns nothing.",
            TOOL_ERROR,
            "Say in a few words what is wrong, and what the model can do.",
            run.recording,
        )
    if database.state == DOWN and denies(text, database.number):
        raise NotYet(
            f"{where} The tool error says {show(text)}. So the model takes it that there is no such invoice.",
            TOOL_ERROR,
            "The database did not answer, so nobody knows about the invoice. Say that, and nothing of the "
            "invoice.",
            run.recording,
        )
    if database.state == UNKNOWN and database.number not in text:
        raise NotYet(
            f"{where} The tool error says {show(text)}. The number is not in it.",
            TOOL_ERROR,
            "Catch the LookupError and say which number there is not: then the model sees what it sent.",
            run.recording,
        )
    return text


TITLE: Final = "An error that helps, and tells nothing"

TASK: Final = Task(
    name="invoice",
    title=TITLE,
    text="""\
Write the function behind a tool that finds invoices. The tool calls it with a number and with `look_up`, and
gives its text to the model.

`look_up(number)` returns the invoice's text. It raises `LookupError` if there is no such invoice, and
`ConnectionError` if the database is down. The texts of these exceptions hold names and passwords that nobody
outside should see.

- If there is no such invoice, the model should get a tool error that names the number.
- If the database is down, it should get a tool error that does not claim anything about the invoice.
- Neither may hold anything from the exceptions' texts.

`raise ToolError(text)` makes a tool error.""",
    answer="find_invoice",
    starter='''\
def find_invoice(number, look_up):
    """The text of an invoice."""
    return ...''',
    hints=(
        "Two kinds of exceptions, and two texts of your own. Nothing from `error` goes into them.",
        "What can the model do? In the one case it can take another number, in the other one only wait.",
        '`except LookupError: raise ToolError(f"There is no invoice {number}.")`, and the same for '
        "`ConnectionError` with another text.",
    ),
    solution=(
        """\
def find_invoice(number, look_up):
    try:
        return look_up(number)
    except LookupError:
        raise ToolError(f"There is no invoice {number}. Numbers look like INV-1234.") from None
    except ConnectionError:
        raise ToolError("Invoices cannot be looked up at the moment. Try again later.") from None""",
    ),
    why="The reader of a tool error is a model that wants to go on. It can use what it may change, and "
    "nothing "
    "else.",
    grade=grade,
    points=20,
    pages=(
        ("error handling", "server/tools#error-handling"),
        ("security", "server/tools#security-considerations"),
    ),
)
