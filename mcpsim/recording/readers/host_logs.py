"""What logs of hosts have in common: messages with a direction, of several servers, over several starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, cast

from mcpsim.errors import RecordingError
from mcpsim.recording.readers.bodies import message_of
from mcpsim.recording.readers.directions import Side
from mcpsim.recording.readers.log_lines import several, where
from mcpsim.recording.readers.model import Found
from mcpsim.recording.readers.source import Source, begins_as_object
from mcpsim.recording.readers.times import Clock, stamp_ms

# Nothing but the one program writes lines like these; what else is in a log may be anything, also messages
# that a server printed once more.
WEIGHT: Final = 10


def claims_of(source: Source, is_line: Callable[[bytes], object]) -> int:
    """How much the lines of a host's log count when the format of a file is told. Within JSON such a line is
    a text in a message."""
    return WEIGHT * sum(bool(is_line(line)) for _, line in source.lines if not begins_as_object(line))


class Logged(NamedTuple):
    """One line of such a log that matters.

    Attributes:
        number: its number in the file.
        stamp: the text in which its time stands.
        server: which server it is about, "" where the log is of one alone.
        side: who sent the message; None for a line that says that the server starts.
        text: the message; a line of stderr as it is.
        channel: "stderr", or "".
    """

    number: int
    stamp: str
    server: str
    side: Side | None
    text: bytes = b""
    channel: str = ""


def add_logged(logged: Iterable[Logged], total: int, found: Found) -> None:
    """Add the rows of a host's log.

    Every start of a server is a connection of its own: ids begin anew there. A start shows by a line that
    says so, or by one more `initialize`.

    Args:
        total: how many lines the log has.
    """
    clock = Clock()
    starts: dict[str, int] = {}
    spoken: set[str] = set()
    opened: set[str] = set()
    rows: list[tuple[dict[str, Any], str, str, int]] = []
    used = 0
    for line in logged:
        used += 1
        server = line.server
        if line.side is None:
            # A start without messages in between (a second line about the same one) is no new connection.
            if server in spoken:
                starts[server] = starts.get(server, 0) + 1
                spoken.discard(server)
                opened.discard(server)
            continue
        row: dict[str, Any] = {"from": line.side, **clock.row(stamp_ms(line.stamp))}
        if line.channel:
            row.update(channel=line.channel, raw=line.text.decode("utf-8", "replace"))
        else:
            try:
                body = message_of(line.text)
            except RecordingError as error:
                found.skip(where(line.number), str(error))
                continue
            spoken.add(server)
            if line.side == "client" and _opens(body.value):
                if server in opened:
                    starts[server] = starts.get(server, 0) + 1
                opened.add(server)
            row.update(body.part)
        rows.append((row, where(line.number), server, starts.get(server, 0)))
    names = dict.fromkeys((server, start) for _, _, server, start in rows)
    for row, at, server, start in rows:
        name = {"connection": _name(server, start)} if len(names) > 1 else {}
        found.add({**row, **name}, at)
    if used < total:
        found.note(
            several(total - used, "line of the log holds no message", "lines of the log hold no messages")
            + ": left out."
        )
    if len(names) > 1:
        found.note(
            "The log holds several connections; each start of a server is one. Two that ran at the same time "
            "under one name cannot be told apart."
        )


def _opens(value: Any) -> bool:
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("method") == "initialize"


def _name(server: str, start: int) -> str:
    return f"{server or 'server'} {start + 1}" if start else server or "server"
