"""What the player says in the same words in both eras: facts of gateways and processes, with no rule at work.

A gateway is neither client nor server of the protocol, so its sentences say that it passes on, and what.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.widgets.lines import Line

LINES: Final[Mapping[str, Line]] = {
    "passed on": Line("{Sender} passes {thing} on to {receiver}.", "", ""),
    "own answer": Line("{Sender} answers {target} by itself, and passes nothing on.", "", ""),
    "own result": Line("{Sender} answers {target} by itself: no server is asked.", "", ""),
    "handler died": Line("The work on {name} ends, because the process of {sender} has died.", "", ""),
    "handler stopped": Line("{Sender} stops working on {name}.", "", ""),
    "closed the pipes": Line("The pipes between {sender} and {receiver} break.", "", ""),
    "closed exchange cut late": Line("The connection of {stream} breaks after the answer.", "", ""),
}
