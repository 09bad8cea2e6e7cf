"""What errors and texts of a server say, as far as a program can tell. Only likelihood comes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from mcpsim.audit.model import Item
from mcpsim.messages import ErrorResponse

#: How much of a text is looked at.
LONGEST: Final = 2_000

_INTERNAL: Final = re.compile(r"\binternal (?:server )?error\b", re.IGNORECASE)
_MISSING: Final = r"(?:not found|unknown|(?:does not|doesn't|did not) exist|no longer exists)"


def names_missing(noun: str) -> re.Pattern[str]:
    """A pattern for texts that say that a thing of this kind is not there."""
    return re.compile(
        rf"\b(?:(?:unknown|no such|nonexistent) {noun}|no {noun} (?:named|called|with|at|for)|"
        rf"{noun}\b.{{0,300}}?\b{_MISSING})",
        re.IGNORECASE | re.DOTALL,
    )


def error_text(item: Item) -> str:
    """The message of an error, cut; "" for anything else."""
    message = item.message
    return message.message[:LONGEST] if isinstance(message, ErrorResponse) else ""


def says_internal(item: Item) -> bool:
    """Whether an error calls itself an internal one."""
    return _INTERNAL.search(error_text(item)) is not None


def blocks_of(content: Any) -> Iterator[dict[str, Any]]:
    """The blocks of a list of content that are objects."""
    for block in cast("list[Any]", content) if isinstance(content, list) else []:
        if isinstance(block, dict):
            yield cast("dict[str, Any]", block)


def texts_of(content: Any) -> Iterator[str]:
    """The texts of the text blocks of a list of content."""
    for block in blocks_of(content):
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield text
