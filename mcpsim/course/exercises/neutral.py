"""Recordings to be judged: nothing but the messages says what is wrong with them."""

from __future__ import annotations

from mcpsim.recording import Recording, events


def neutral(recording: Recording, title: str, *, notes: bool = True) -> Recording:
    """The same recording under another title: its own one may name the fault.

    Args:
        title: what the player shows at its top, such as "Recording A".
        notes: False to leave out what the parties note for themselves. Where a fault was put into a run from
            outside, a party notes that it does not know of it, and that looks like a fault of its own.
    """
    kept = recording.events
    if not notes:
        kept = tuple(event for event in kept if event.kind != events.NOTE)
    return Recording({**recording.header, "title": title}, kept)


def shown(code: str) -> str:
    """The code that shows a recording in the player, and leaves out what the audit finds."""
    return f"Player({code}, findings=False)"
