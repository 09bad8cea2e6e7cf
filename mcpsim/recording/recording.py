"""A recording: everything that crossed the wire, in order, frozen."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from mcpsim.errors import RecordingError
from mcpsim.recording.events import KINDS, Event
from mcpsim.recording.frames import Frame, frames_of
from mcpsim.recording.interchange import from_interchange, to_interchange
from mcpsim.recording.transcript import transcript

FORMAT: Final = "mcpsim-recording"
VERSION: Final = 1

MAX_FILE_BYTES: Final = 256_000_000
MAX_EVENTS: Final = 2_000_000


@dataclass(frozen=True, repr=False)
class Recording:
    """An ordered list of frozen events, and what there is to say about the run as a whole.

    Attributes:
        header: plain JSON values: `title`, `parties` (the lanes, in order), `transport`, `era`, `seed`,
            `faults`, and `source` ("simulation", "live", or "import").
        events: the events, in the order in which they happened.
    """

    header: Mapping[str, Any]
    events: tuple[Event, ...]

    def __repr__(self) -> str:
        took = self.events[-1].at_us if self.events else 0
        return (
            f"<Recording {self.title!r}: {len(self.frames)} messages, {len(self.events)} events, "
            f"{took / 1000:g} ms>"
        )

    @property
    def title(self) -> str:
        """What the run shows, in a few words."""
        return str(self.header.get("title", "recording"))

    @property
    def parties(self) -> tuple[str, ...]:
        """The names of the lanes, in order."""
        named = self.header.get("parties")
        if isinstance(named, list):
            return tuple(str(name) for name in cast("list[Any]", named))
        return tuple(dict.fromkeys(event.party for event in self.events))

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """Everything that travelled, in the order of sending."""
        return frames_of(self.events)

    def transcript(self, *, width: int = 100) -> str:
        """The run as text, one line a message: the same run gives the same text.

        Args:
            width: cut lines after this many characters.
        """
        return transcript(self, width=width)

    def to_jsonl(self) -> bytes:
        """The recording as JSON Lines: a header line, then one event a line. Same run, same bytes."""
        header = {"format": FORMAT, "version": VERSION, **self.header}
        lines = [_dump(header), *(_dump(_event_to_object(event)) for event in self.events)]
        return b"".join(line + b"\n" for line in lines)

    def sha256(self) -> str:
        """The digest of `to_jsonl()`, in hexadecimal."""
        return hashlib.sha256(self.to_jsonl()).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write `to_jsonl()` to a file."""
        Path(path).write_bytes(self.to_jsonl())

    @staticmethod
    def from_jsonl(data: bytes) -> Recording:
        """Read what `to_jsonl()` wrote.

        Raises:
            RecordingError: the data is not such a recording; the text names the line and the reason.
        """
        if len(data) > MAX_FILE_BYTES:
            raise RecordingError(f"The recording has {len(data)} bytes; the limit is {MAX_FILE_BYTES}.")
        lines = data.split(b"\n")
        header = _object(lines[0], 1)
        if header.pop("format", None) != FORMAT:
            raise RecordingError(f'Line 1: a recording begins with {{"format":"{FORMAT}", ...}}.')
        version = header.pop("version", None)
        if version != VERSION:
            raise RecordingError(f"Line 1: format version {version!r} is not known; {VERSION} is.")
        if len(lines) > MAX_EVENTS:
            raise RecordingError(f"The recording has {len(lines)} lines; the limit is {MAX_EVENTS}.")
        found = tuple(
            _event_from_object(_object(line, number), number)
            for number, line in enumerate(lines[1:], start=2)
            if line.strip()
        )
        return Recording(header, found)

    @staticmethod
    def load(path: str | Path) -> Recording:
        """Read a file: a saved recording, or a trace in the interchange form.

        Raises:
            RecordingError: the file is neither; the text names the line and the reason.
        """
        path = Path(path)
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise RecordingError(f"{path.name} has {size} bytes; the limit is {MAX_FILE_BYTES}.")
        data = path.read_bytes()
        first = data.split(b"\n", 1)[0]
        if b'"format"' in first and FORMAT.encode() in first:
            return Recording.from_jsonl(data)
        return Recording.from_interchange(data, title=path.stem)

    def to_interchange(self) -> bytes:
        """The run as an observer beside the client would write it down, one JSON object a line."""
        return b"".join(_dump(row) + b"\n" for row in to_interchange(self.events))

    @staticmethod
    def from_interchange(data: bytes, *, title: str = "trace") -> Recording:
        """Read a trace in the interchange form.

        Raises:
            RecordingError: a line is not a JSON object of that form; the text names it.
        """
        if len(data) > MAX_FILE_BYTES:
            raise RecordingError(f"The trace has {len(data)} bytes; the limit is {MAX_FILE_BYTES}.")
        rows = [
            (number, _object(line, number))
            for number, line in enumerate(data.split(b"\n"), start=1)
            if line.strip()
        ]
        found = from_interchange(rows)
        lanes = dict.fromkeys(name for event in found for name in (event.party, event.peer) if name)
        parties = sorted(lanes, key=lambda name: (name != "client", name == "server"))
        transport = "http" if any(event.exchange for event in found) else "stdio"
        header = {"title": title, "parties": parties, "transport": transport, "source": "import"}
        return Recording(header, found)


def _dump(value: Any) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"Line {number} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise RecordingError(f"Line {number} is not a JSON object.")
    return cast("dict[str, Any]", value)


def _event_to_object(event: Event) -> dict[str, Any]:
    row: dict[str, Any] = {"at_us": event.at_us, "kind": event.kind, "party": event.party}
    if event.peer:
        row["peer"] = event.peer
    if event.frame:
        row["frame"] = event.frame
    if event.exchange:
        row["exchange"] = event.exchange
    if event.connection != 1:
        row["connection"] = event.connection
    if event.data is not None:
        try:
            row["text"] = event.data.decode("utf-8")
        except UnicodeDecodeError:
            row["b64"] = base64.b64encode(event.data).decode("ascii")
    if event.detail is not None:
        row["detail"] = event.detail
    return row


_FIELDS: Final[Mapping[str, tuple[type, Any]]] = {
    "peer": (str, ""),
    "frame": (int, 0),
    "exchange": (int, 0),
    "connection": (int, 1),
}


def _event_from_object(row: dict[str, Any], number: int) -> Event:
    at_us, kind, party = row.get("at_us"), row.get("kind"), row.get("party")
    if not isinstance(at_us, int) or isinstance(at_us, bool) or at_us < 0:
        raise RecordingError(f"Line {number}: `at_us` must be a whole number of microseconds, not {at_us!r}.")
    if kind not in KINDS:
        raise RecordingError(f"Line {number}: `kind` is {kind!r}; known kinds are {', '.join(KINDS)}.")
    if not isinstance(party, str):
        raise RecordingError(f"Line {number}: `party` must be a name, not {party!r}.")
    rest: dict[str, Any] = {}
    for name, (wanted, default) in _FIELDS.items():
        value = row.get(name, default)
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise RecordingError(f"Line {number}: `{name}` must be of type {wanted.__name__}, not {value!r}.")
        rest[name] = value
    detail = row.get("detail")
    if detail is not None and not isinstance(detail, dict):
        raise RecordingError(f"Line {number}: `detail` must be an object, not {detail!r}.")
    return Event(at_us, cast("str", kind), party, data=_data(row, number), detail=cast("Any", detail), **rest)


def _data(row: Mapping[str, Any], number: int) -> bytes | None:
    text, b64 = row.get("text"), row.get("b64")
    try:
        if isinstance(text, str):
            return text.encode("utf-8")
        if isinstance(b64, str):
            return base64.b64decode(b64, validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise RecordingError(f"Line {number}: the bytes of the frame cannot be read: {error}") from None
    if text is not None or b64 is not None:
        raise RecordingError(f"Line {number}: `text` and `b64` must be strings.")
    return None
