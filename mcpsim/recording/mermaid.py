"""A run as a Mermaid sequence diagram, for places that draw one from text.

Names and texts come from peers and from files, and Mermaid reads much into a text: the end of a statement,
comments, directives, markup, formulas. So every character that could mean something stands as an entity
code, and only letters, digits and harmless signs stand as themselves.

https://mermaid.js.org/syntax/sequenceDiagram.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mcpsim.messages import ErrorResponse, Response
from mcpsim.recording.events import Event, milliseconds
from mcpsim.recording.frames import Frame
from mcpsim.recording.transcript import ELLIPSIS, SHORTEST, aside_label, fate_label, frame_label, safe

if TYPE_CHECKING:
    from mcpsim.recording.recording import Recording

NO_NAME: Final = "(no name)"

_LOST: Final = "dropped"
_ON_ITS_WAY: Final = "in flight"
# By whether it answers something, and what became of it.
_ARROWS: Final = {
    (False, _LOST): "-x",
    (True, _LOST): "--x",
    (False, _ON_ITS_WAY): "-)",
    (True, _ON_ITS_WAY): "--)",
    (False, "delivered"): "->>",
    (True, "delivered"): "-->>",
}

# Harmless are letters, digits, spaces and the other signs; not the four letters that stand for entity codes
# while Mermaid reads, and not "end", which ends a block.
_MEANS_SOMETHING: Final = re.compile(r"(?i:\bend\b)|[#$%&:;<>@`\\^{|}~ﬂ°¶ß]")


def mermaid(recording: Recording, *, width: int) -> str:
    """The diagram of a recording: lanes, an arrow for everything that travelled, in the order of sending, and
    notes. What was lost ends in a cross; what answers something has a dotted line."""
    frames = {frame.index: frame for frame in recording.frames}
    told = [event for index, event in enumerate(recording.events) if index in frames or aside_label(event)]
    named = [name for event in told for name in ((event.party, event.peer) if event.peer else (event.party,))]
    lanes = {name: f"p{n}" for n, name in enumerate(dict.fromkeys((*recording.parties, *named)), start=1)}
    lines = ["sequenceDiagram"]
    if recording.title.strip():
        lines.append(f"title {escaped(recording.title, width)}")
    lines += [f"participant {id} as {escaped(name, width) or NO_NAME}" for name, id in lanes.items()]
    for index, event in enumerate(recording.events):
        frame = frames.get(index)
        if frame is not None:
            lines.append(_arrow(frame, lanes, width))
        elif (aside := aside_label(event)) is not None:
            lines.append(_note(event, aside, lanes, width))
    return "\n    ".join(lines) + "\n"


def escaped(text: str, width: int) -> str:
    """A text that Mermaid shows as it is, and in which it reads nothing.

    Args:
        width: cut it after this many characters of what is shown.
    """
    return _MEANS_SOMETHING.sub(_as_codes, _cut(safe(text).strip(), width))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS


def _as_codes(match: re.Match[str]) -> str:
    return "".join(f"#{ord(character)};" for character in match[0])


def _arrow(frame: Frame, lanes: dict[str, str], width: int) -> str:
    message = frame.parsed
    answers = isinstance(message, Response | ErrorResponse)
    head = frame.head or {}
    arrow = _ARROWS[answers or "status" in head, frame.fate]
    fate = fate_label(frame)
    label = f"{milliseconds(frame.sent_us)} ms {frame_label(frame)}"
    if fate:
        label = f"{_cut(safe(label), max(width - len(fate), SHORTEST))} {fate}"
    return f"{lanes[frame.sender]}{arrow}{lanes[frame.receiver]}: {escaped(label, width)}"


def _note(event: Event, text: str, lanes: dict[str, str], width: int) -> str:
    label = f"{milliseconds(event.at_us)} ms {text}"
    return f"Note over {lanes[event.party]}: {escaped(label, width)}"
