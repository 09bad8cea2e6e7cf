"""Exercise: a tool that asks twice, and acts once."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.set_10_multi_round_trip.rules import ACTIONS, REFUSALS
from mcpsim.course.exercises.showing import describe_error, name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import ProtocolError, ToolError
from mcpsim.messages import Request
from mcpsim.recording import Recording
from mcpsim.server import Context, Server

TOOL: Final = "book_trip"

AGAIN: Final = Rule(
    "The retry is a request of its own, and the server keeps nothing between the two: it processes each "
    "from its beginning.",
    "basic/patterns/mrtr#basic-workflow",
)
FIELDS: Final = Rule(
    "A field of a form is a text, a number, a boolean or a choice. A text may have a format: `email`, `uri`, "
    "`date` or `date-time`.",
    "client/elicitation#requested-schema",
)
#: What the two fields are to be.
_MEANT: Final = {
    "day": ({"type": "string", "format": "date"}, "a text of the format `date`"),
    "agreed": ({"type": "boolean"}, "a boolean"),
}


def _is_meant(name: str, schema: Any) -> bool:
    meant, _ = _MEANT.get(name, ({}, ""))
    return meant.items() <= dict(schema).items()


#: What somebody runs into who takes for granted that there is content.
_NO_CONTENT: Final = (TypeError, KeyError, AttributeError)
MAY_ASK: Final = Rule(
    "A server MAY answer a tool call with questions, and on several attempts at the same request.",
    "basic/patterns/mrtr#server-requirements-basic-workflow",
)


@dataclass(slots=True)
class Traveller:
    """The user: what they fill in, and what they were shown.

    Attributes:
        day: what goes into a field `day`, or "decline" or "cancel".
        agreed: what goes into a field `agreed`, or "decline" or "cancel".
        shown: the fields and the message of every form.
        schemas: the schemas of the fields, in the same order.
    """

    day: str
    agreed: bool | str
    shown: list[tuple[tuple[str, ...], str]] = field(default_factory=list[tuple[tuple[str, ...], str]])
    schemas: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def fill_in(self, asked: Any) -> Any:
        """Fill a form in, as a client's callback."""
        fields = tuple(asked.requested_schema["properties"])
        self.shown.append((fields, asked.message))
        self.schemas.append(dict(asked.requested_schema["properties"]))
        if not all(_is_meant(name, asked.requested_schema["properties"][name]) for name in fields):
            return "cancel"
        if fields == ("day",):
            return self.day if self.day in ("decline", "cancel") else {"day": self.day}
        if fields == ("agreed",):
            return self.agreed if isinstance(self.agreed, str) else {"agreed": self.agreed}
        # Whoever asks for something else gets no answer to it: the check says so.
        return "cancel"


@dataclass(slots=True)
class Till:
    """Where a trip is paid.

    Attributes:
        paid: city and day of every payment.
    """

    receipt: str
    paid: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]])

    def pay(self, city: Any, day: Any) -> str:
        """Pay for a trip: the receipt."""
        self.paid.append((city, day))
        return self.receipt


@dataclass(frozen=True, slots=True)
class Case:
    """What the user does, and whether the trip is to be paid."""

    what: str
    day: str
    agreed: bool | str
    pays: bool
    forms: int


CASES: Final = (
    Case("fills in both forms and agrees", "", True, True, 2),
    Case("fills in both forms and does not agree", "", False, False, 2),
    Case("declines the first form", "decline", True, False, 1),
    Case("closes the first form", "cancel", True, False, 1),
    Case("declines the second form", "", "decline", False, 2),
    Case("closes the second form", "", "cancel", False, 2),
)
ERAS: Final[tuple[ClientEra, ...]] = ("modern", "legacy")


def grade(answer: object, learner: Learner) -> Passed:
    """Register the handler as a tool, and let every kind of user call it, in both eras."""
    if not callable(answer):
        raise NotYet(f"The answer is {show(answer)}.", look="Pass the async function itself.")
    for case in CASES:
        for era in ERAS:
            for transport, seed in worlds():
                rng = Random(f"book:{case.what}:{era}:{seed}")
                day = case.day or f"2026-09-{rng.randrange(10, 30)}"
                _Play(answer, case, era, rng.choice(["Pau", "Pisa"]), Traveller(day, case.agreed), rng).judge(
                    learner, transport, seed
                )
    return Passed(
        f"{len(CASES)} users in two eras: the trip was paid once where the user agreed, and never otherwise. "
        "In the modern era your handler ran up to three times for that.",
        AGAIN,
    )


class _Play:
    """One call of the tool by one user."""

    def __init__(
        self, answer: Any, case: Case, era: ClientEra, city: str, user: Traveller, rng: Random
    ) -> None:
        self._answer = answer
        self._case = case
        self._era: ClientEra = era
        self._city = city
        self._user = user
        self._till = Till(f"R-{rng.randrange(100_000)}")
        self._failed: list[BaseException] = []
        self._returned: list[Any] = []
        self._gave_placeholder = False
        self._runs = 0

    def judge(self, learner: Learner, transport: Any, seed: int) -> None:
        """Play it and look at what happened."""

        async def call(client: Client) -> Any:
            return await client.call_tool(TOOL, {"city": self._city})

        async def story(client: Client) -> Any:
            try:
                return await call(client)
            except ProtocolError as error:
                return error

        run = learner.play(
            story,
            server=self._server(),
            client=Client(era=self._era, elicit=self._user.fill_in),
            transport=transport,
            seed=seed,
            title=TITLE,
            written=self._answer,
        )
        if self._gave_placeholder:
            raise NotAttempted
        self._judge_handler(run.value, run.recording)
        self._judge_forms(run.recording)
        self._judge_payment(run.value, run.recording)

    def _server(self) -> Server:
        desk = Server("travel-desk")

        @desk.tool(name=TOOL)
        async def book_trip(context: Context, city: str) -> str:
            """Book a trip."""
            self._runs += 1
            try:
                value = self._answer(context, city, self._till.pay)
                value = await value if inspect.isawaitable(value) else value
            except (ToolError, ProtocolError):
                raise
            except Exception as error:
                self._failed.append(error)
                raise
            if is_placeholder(value):
                self._gave_placeholder = True
            self._returned.append(value)
            return value if isinstance(value, str) else show(value)

        return desk

    @property
    def _where(self) -> str:
        return f"In the {self._era} era, a user {self._case.what}."

    def _judge_handler(self, value: object, recording: Recording) -> None:
        if self._failed:
            raise NotYet(
                f"{self._where} {name_of(self._answer)} raised "
                f"{describe_error(self._failed[0], self._answer)}.",
                REFUSALS if not self._case.pays else None,
                self._look_at_error(self._failed[0]),
                recording,
            )
        if isinstance(value, ProtocolError):
            raise NotYet(
                f"{self._where} The call was answered with the error {value.code}: {value.message}",
                REFUSALS,
                "Return a text that says what happened, whatever the user does.",
                recording,
            )

    def _look_at_error(self, error: BaseException) -> str:
        if self._case.pays:
            return "Play it in a cell of your own, and look at the messages."
        if isinstance(error, _NO_CONTENT):
            return "Look at `action` before you look at `content`: without accept there is none."
        return "A user who says no is no error: return a text that says that nothing was booked."

    def _judge_forms(self, recording: Recording) -> None:
        shown = self._user.shown
        known = (("day",), ("agreed",))
        strange = [fields for fields, _ in shown if fields not in known]
        if strange:
            raise NotYet(
                f"{self._where} A form has the fields {show(list(strange[0]))}.",
                MAY_ASK,
                "The first form has the field `day` and no other, the second one `agreed`.",
                recording,
            )
        for schema in self._user.schemas:
            for name, (meant, words) in _MEANT.items():
                if name in schema and not _is_meant(name, schema[name]):
                    raise NotYet(
                        f"{self._where} The field `{name}` is {show(schema[name])}. It should be {words}.",
                        FIELDS,
                        f"The field is `{json.dumps(meant)}`.",
                        recording,
                    )
        wanted = known[: self._case.forms]
        if tuple(fields for fields, _ in shown) != wanted:
            said = ", then ".join(fields[0] for fields, _ in shown) or "nothing"
            is_again = self._case.pays and len(shown) > len(wanted)
            raise NotYet(
                f"{self._where} It was asked for {said}; it should be asked for "
                f"{', then '.join(fields[0] for fields in wanted)}.",
                AGAIN if is_again else REFUSALS if len(shown) > len(wanted) else MAY_ASK,
                "Ask for the day once, and for consent once, in every round: what was answered before comes "
                "back at once. Keep nothing outside of your function."
                if is_again
                else "Ask for the day. Only if the user gave one, ask for consent.",
                recording,
            )
        if len(shown) == 2 and (self._user.day not in shown[1][1] or self._city not in shown[1][1]):
            raise NotYet(
                f"{self._where} The second form says {show(shown[1][1])}. City ({self._city}) and day "
                f"({self._user.day}) are not both in it.",
                MAY_ASK,
                "Nobody can agree to what they are not told: put both into the message.",
                recording,
            )

    def _judge_payment(self, value: Any, recording: Recording) -> None:
        paid = self._till.paid
        expected = [(self._city, self._user.day)] if self._case.pays else []
        if paid != expected:
            raise NotYet(
                f"{self._where} `pay` was called {_times(paid)}; it should be {_times(expected)}. The "
                f"handler ran "
                f"{self._runs} time{'' if self._runs == 1 else 's'}: {_calls(recording)} tool calls arrived.",
                self._rule_of_payment(len(paid) > len(expected)),
                "Pay after the last question, when both answers are there and the user has agreed.",
                recording,
            )
        # A tool that ends with a ToolError returns nothing, and the error says what happened.
        silent = [one for one in self._returned if not isinstance(one, str) or not one.strip()]
        if silent:
            raise NotYet(
                f"{self._where} {name_of(self._answer)} returned {show(silent[0])}.",
                None,
                "Return a text, also where nothing is booked: it says what happened.",
                recording,
            )
        text = " ".join(getattr(block, "text", "") for block in value.content)
        if self._case.pays and self._till.receipt not in text:
            raise NotYet(
                f"{self._where} The tool says {show(text)}, and the receipt is {show(self._till.receipt)}.",
                None,
                "`pay` returns the receipt. Return a text with it.",
                recording,
            )

    def _rule_of_payment(self, is_too_often: bool) -> Rule:
        if self._case.pays:
            return AGAIN if is_too_often else REFUSALS
        # Whoever does not agree has accepted the form: what they said stands in it.
        return ACTIONS if self._case.agreed is False else REFUSALS


def _calls(recording: Recording) -> int:
    return sum(
        isinstance(one.parsed, Request) and one.parsed.method == "tools/call" for one in recording.frames
    )


def _times(payments: list[tuple[Any, Any]]) -> str:
    shown = " and ".join(show(one) for one in payments)
    return f"with {shown}" if payments else "never"


TITLE: Final = "Ask twice, act once"

TASK: Final = Task(
    name="book",
    title=TITLE,
    text="""\
Write the handler of a tool that books a trip. It is registered as it stands, and has to do in both eras.

1. Ask for the day: a form with the one field `day`, a text of the format `date`.
2. Ask for consent: a form with the one field `agreed`, a boolean. The message names the city and the day.
3. If the user agreed: call `pay(city, day)` once, and return a text with the receipt that it returns.

If the user declines or closes a form, or does not agree: pay nothing, ask nothing more, and return a text
that says so.

`await context.elicit(message, schema)` asks, and returns an answer with `action` (`"accept"`, `"decline"` or
`"cancel"`) and `content`, a dict, or None. In the modern era the handler runs again from its start for each
round.""",
    answer="book_trip",
    starter='''\
async def book_trip(context, city, pay):
    """Book a trip: ask for the day, then for consent, then pay."""
    return ...''',
    hints=(
        'A form for the day is `{"type": "object", "properties": {"day": {"type": "string", "format": '
        '"date"}}, '
        '"required": ["day"]}`.',
        "`content` is None where the user did not accept. Look at `action` first, and return if it is not "
        '`"accept"`.',
        "Whatever stands above the last `elicit` runs in every round. Whatever stands below runs once, and "
        "only "
        "if all answers are there.",
    ),
    solution=(
        """\
DAY = {"day": {"type": "string", "format": "date"}}
AGREED = {"agreed": {"type": "boolean"}}


async def ask(context, message, fields):
    form = {"type": "object", "properties": fields, "required": list(fields)}
    answer = await context.elicit(message, form)
    return answer.content if answer.action == "accept" else None""",
        """\
async def book_trip(context, city, pay):
    when = await ask(context, f"When do you want to go to {city}?", DAY)
    if when is None:
        return "Nothing booked: no day."
    day = when["day"]
    consent = await ask(context, f"Book {city} on {day}?", AGREED)
    if consent is None or not consent["agreed"]:
        return "Nothing booked."
    return f"Booked. Receipt: {pay(city, day)}\"""",
    ),
    why="In the legacy era the handler waits in the middle, in the modern era it begins again. Code that "
    "asks "
    "first and acts last does not notice the difference.",
    grade=grade,
    points=20,
    pages=(
        ("workflow", "basic/patterns/mrtr#basic-workflow"),
        ("actions", "client/elicitation#response-actions"),
    ),
    play="""\
VALUES = {"day": "2026-09-01", "agreed": True}
user = Client(elicit=lambda asked: {name: VALUES[name] for name in asked.requested_schema["properties"]})
desk = Server("travel-desk")
@desk.tool()
async def book(context, city: str) -> str:
    return await book_trip(context, city, lambda city, day: f"R-1, for {city} on {day}")
simulate(lambda client: client.call_tool("book", {"city": "Pisa"}), server=desk, client=user, check=False)""",
)
