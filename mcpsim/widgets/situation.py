"""All that a sentence about one frame can draw on."""

from __future__ import annotations

from typing import NamedTuple

from mcpsim.recording import Frame
from mcpsim.widgets.reading import Reading
from mcpsim.widgets.threads import Place


class Situation(NamedTuple):
    """A frame and what is known around it.

    Attributes:
        opening: the frame that opened its HTTP exchange.
        place: where the request that it is about stands in its thread.
        origin: the frame that came in, where a gateway passes it on.
        own: whether it is a gateway's own answer.
        replicas: how many servers stand behind the gateway that sends it; 0 where none sends it.
        asker: who asked for what this frame brings to a gateway, otherwise "".
        behind: who answers behind the gateway that this request goes to, otherwise "".
        level_set: whether a log level was set on this connection before.
    """

    frame: Frame
    reading: Reading
    opening: Frame | None = None
    place: Place | None = None
    origin: Frame | None = None
    own: bool = False
    replicas: int = 0
    asker: str = ""
    behind: str = ""
    level_set: bool = False
