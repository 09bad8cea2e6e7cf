"""What a session lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcpsim.audit.model import Item, Trace


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that is not there, and that something else waits for.

    Attributes:
        kind: such as "request-without-answer".
        item: what waits.
        message: one sentence.
    """

    kind: str
    item: Item
    message: str


def gaps(trace: Trace) -> Iterator[Gap]:
    """What is missing in a trace."""
    yield from ()
