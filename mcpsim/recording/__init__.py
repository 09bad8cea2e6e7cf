"""What crossed the wire, in order: events, the recording made of them, and its file formats."""

from mcpsim.recording.events import Event, Head
from mcpsim.recording.exporting import to_interchange
from mcpsim.recording.frames import Frame
from mcpsim.recording.importing import from_interchange
from mcpsim.recording.recorder import Recorder
from mcpsim.recording.recording import Recording
from mcpsim.recording.scribe import Scribe

__all__ = ["Event", "Frame", "Head", "Recorder", "Recording", "Scribe", "from_interchange", "to_interchange"]
