"""What a trace from elsewhere does not say, and what it says besides.

Whoever wrote it down stood beside the wire and has one time for each message. So nobody knows how long one
was on the way, or when it arrived at the other end. And one pair of lanes may hold several connections, each
with ids of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from mcpsim.recording import Event, Frame, Recording
from mcpsim.widgets.text import duration, one_line


class Observed(NamedTuple):
    """What is known beside the messages.

    Attributes:
        names: for each connection that its lanes do not tell from others, what it is called.
        is_beside: whether somebody beside the wire wrote all this down.
    """

    names: Mapping[int, str]
    is_beside: bool

    def connection(self, event: Event) -> str:
        """The connection of an event, where that has to be said; "" elsewhere."""
        return self.names.get(event.connection, "")

    def took(self, frame: Frame) -> str:
        """How long a frame travelled, for people; "" where nobody knows."""
        if frame.arrived_us is None or (self.is_beside and frame.arrived_us == frame.sent_us):
            return ""
        return duration(frame.arrived_us - frame.sent_us)


def is_observed(recording: Recording) -> bool:
    """Whether it is a trace that was read in, so that nobody looked into client and server."""
    return recording.header.get("source") == "import"


def observed(recording: Recording) -> Observed:
    """What is known beside the messages of this recording."""
    if not is_observed(recording):
        return Observed({}, False)
    between: dict[Set[str], dict[int, None]] = {}
    for frame in recording.frames:
        between.setdefault(frozenset((frame.sender, frame.receiver)), {}).setdefault(frame.connection)
    # As the interchange form calls them.
    names = {number: f"c{number}" for several in between.values() if len(several) > 1 for number in several}
    return Observed(names, True)


def transport_of(recording: Recording) -> str:
    """What a recording went over: "stdio", "http", or both in words where a trace has connections of each."""
    if is_observed(recording) and len({frame.is_http for frame in recording.frames}) > 1:
        return "stdio and Streamable HTTP"
    return one_line(str(recording.header.get("transport", "")), 40)
