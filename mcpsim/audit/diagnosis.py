"""What an error most likely means, here."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsim.audit.model import Item


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What an error most likely means, and what to try.

    Attributes:
        means: one or two sentences.
        tries: what to do about it.
    """

    means: str
    tries: str


def diagnose(item: Item) -> Diagnosis | None:
    """What an error response means."""
    return None


def diagnose_status(item: Item) -> Diagnosis | None:
    """What an HTTP status without a message means."""
    return None
