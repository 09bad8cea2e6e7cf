"""What a row of a narration table is."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """One row of a narration table.

    Attributes:
        what: what just happened, with `{names}` for the facts of the message.
        rule: the rule at work; MUST, SHOULD and MAY are the specification's. "" where none is.
        page: where the rule stands, below the revision.
        revision: the revision whose page it is; "" for the one that describes the era.
    """

    what: str
    rule: str
    page: str
    revision: str = ""
