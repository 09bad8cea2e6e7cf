"""What a row of the field table is."""

from __future__ import annotations

from typing import Final, NamedTuple

BOTH: Final = ""


class Field(NamedTuple):
    """One row of the field table.

    Attributes:
        path: the keys that lead to the field; "header" and a name in small letters for an HTTP header,
            "event" and a name for a field of the stream. "*" stands for the first key or item that
            fits, at the end of a header's name for anything.
        era: where the row holds: "modern", "legacy" or "" for both.
        methods: the methods for which it holds, with blanks between; "" for all.
        text: what the field says.
        page: where that stands, or the modern and the legacy page with a blank between.
    """

    path: tuple[str, ...]
    era: str
    methods: str
    text: str
    page: str
