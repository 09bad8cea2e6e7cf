"""Exercise: MUST, SHOULD or MAY?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.specimens import grade_words
from mcpsim.course.exercises.tables import open_answers, things
from mcpsim.course.exercises.verdict import Rule

MUST: Final = "MUST"
SHOULD: Final = "SHOULD"
MAY: Final = "MAY"
WORDS: Final = (MUST, SHOULD, MAY)

META: Final = "basic/index#meta"


@dataclass(frozen=True, slots=True)
class Field:
    """One field, and how strongly it is asked for."""

    text: str
    word: str
    rule: Rule

    @property
    def seen(self) -> str:
        """The field again: what decides is on the page, and there is nothing else to see."""
        return f"It is {self.text}."


FIELDS: Final[Mapping[str, Field]] = {
    "A": Field(
        "`protocolVersion` in the `_meta` of a request",
        MUST,
        Rule(
            "Marked as required. A request without it is malformed: the server MUST refuse it with -32602.",
            META,
        ),
    ),
    "B": Field(
        "`clientCapabilities` in the `_meta` of a request, also where the client has none",
        MUST,
        Rule("Marked as required. An empty object says that there are none; no object says nothing.", META),
    ),
    "C": Field(
        "`clientInfo` in the `_meta` of a request",
        SHOULD,
        Rule("Clients SHOULD include it in every request, unless they are configured not to.", META),
    ),
    "D": Field(
        "`progressToken` in the `_meta` of a request",
        MAY,
        Rule(
            "Progress is optional: a client puts a token into a request where it wants to hear of progress.",
            "basic/patterns/progress#progress-flow",
        ),
    ),
    "E": Field(
        "`resultType` in a result",
        MUST,
        Rule(
            "A result MUST include it. (Results of earlier revisions have none; a client MUST take those "
            "for `complete`.)",
            "basic/index#result-responses",
        ),
    ),
    "F": Field(
        "`serverInfo` in the `_meta` of a result",
        SHOULD,
        Rule("Servers SHOULD include it in every result, unless they are configured not to.", META),
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, letter by letter."""
    return grade_words(
        answer,
        FIELDS,
        WORDS,
        name="strength",
        look="Read the page that the link leads to, and look for the words in capitals.",
        passed="All six are right. Who a peer is, is a SHOULD; what the message cannot be read without, is a "
        "MUST; what asks for an extra is a MAY.",
    )


TASK: Final = Task(
    name="required",
    title="What has to be there",
    text=f"""\
How strongly does the specification ask for these fields? `"MUST"`, `"SHOULD"` or `"MAY"`: required,
recommended or optional.

| field | where |
|---|---|
{things(FIELDS)}""",
    answer="strength",
    starter=open_answers("strength", FIELDS, in_line=3),
    hints=(
        "Without which of these could a server not answer, and a client not read the answer?",
        "Three are a MUST, two are a SHOULD, one is a MAY.",
        "Who a peer is, by name and version, is a SHOULD. What it can do is not. What asks for an extra is a "
        "MAY.",
    ),
    solution=(
        """\
strength = {
    "A": "MUST", "B": "MUST", "C": "SHOULD",
    "D": "MAY", "E": "MUST", "F": "SHOULD",
}""",
    ),
    why="Whatever is needed to process a message is required. Names are for people who read logs.",
    grade=grade,
    pages=(
        ("`_meta`", "basic/index#meta"),
        ("results", "basic/index#result-responses"),
        ("progress", "basic/patterns/progress#progress-flow"),
    ),
)
