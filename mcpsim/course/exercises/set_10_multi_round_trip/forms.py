"""Exercise: a form, a URL, or neither?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_10_multi_round_trip.rules import FLAT, SECRETS
from mcpsim.course.exercises.specimens import grade_words
from mcpsim.course.exercises.tables import open_answers, things
from mcpsim.course.exercises.verdict import Rule

FORM: Final = "form"
URL: Final = "url"
NEITHER: Final = "neither"
WORDS: Final = (FORM, URL, NEITHER)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a server would like to ask for, and what fits.

    Attributes:
        name: the field's name.
        schema: the field's schema.
        word: what fits.
        rule: the rule that decides.
        seen: why, in a sentence.
    """

    name: str
    schema: Mapping[str, Any]
    word: str
    rule: Rule
    seen: str

    @property
    def text(self) -> str:
        """Name and schema, in Markdown."""
        return f"`{self.name}`: `{json.dumps(self.schema)}`"


WISHES: Final[Mapping[str, Wish]] = {
    "A": Wish(
        "email",
        {"type": "string", "format": "email"},
        FORM,
        SECRETS,
        "An e-mail address opens nothing. The server may ask for it, and the user may decline.",
    ),
    "B": Wish(
        "api_key",
        {"type": "string", "minLength": 20},
        URL,
        SECRETS,
        "A key gives access to whoever holds it, and a form would hand it to the client.",
    ),
    "C": Wish(
        "home",
        {"type": "object", "properties": {"street": {"type": "string"}}},
        NEITHER,
        FLAT,
        "An object inside of the form is not flat. It is no secret: in flat fields it may be asked for.",
    ),
    "D": Wish(
        "days",
        {"type": "array", "items": {"type": "string", "enum": ["Monday", "Tuesday"]}},
        FORM,
        FLAT,
        "An array of texts from a list is a choice of several, and a form may have that.",
    ),
    "E": Wish(
        "card_number",
        {"type": "string", "title": "Number of your credit card"},
        URL,
        SECRETS,
        "Payment credentials authorise transactions.",
    ),
    "F": Wish(
        "guests",
        {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        NEITHER,
        FLAT,
        "An array may hold choices, and no objects.",
    ),
    "G": Wish(
        "age",
        {"type": "integer", "minimum": 18},
        FORM,
        FLAT,
        "A whole number with a minimum is a field that a form may have.",
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare letter by letter."""
    return grade_words(
        answer,
        WISHES,
        WORDS,
        name="ask_by",
        look="Two questions, in this order: would it give access to whoever holds it? And is it one flat "
        "field?",
        passed="All seven fit. What opens something never goes through a form.",
        rule=SECRETS,
    )


TASK: Final = Task(
    name="forms",
    title="A form, a URL, or neither",
    text=f"""\
A server would like to ask for these, each as one field of a form. Say of each what fits, by the rules of the
modern era: `"form"`: it may be asked for like this; `"url"`: it must not be asked for in a form, whatever the
schema; `"neither"`: no form has such a field, and it is no secret.

| | field and schema |
|---|---|
{things(WISHES)}""",
    answer="ask_by",
    starter=open_answers("ask_by", WISHES, in_line=4),
    hints=(
        "Look for secrets first. A secret stays one, however good its schema is.",
        "A form is flat. But one kind of array is allowed: one whose items are texts from a list.",
        "Three are forms, two are URLs, two are neither.",
    ),
    solution=(
        """\
ask_by = {
    "A": "form", "B": "url", "C": "neither", "D": "form",
    "E": "url", "F": "neither", "G": "form",
}""",
    ),
    why="Every client has to be able to show a form, so it is simple. And everything in it passes through "
    "the "
    "client, so nothing that gives access belongs there.",
    grade=grade,
    pages=(
        ("requested schema", "client/elicitation#requested-schema"),
        ("secrets", "client/elicitation#user-interaction-model"),
    ),
)
