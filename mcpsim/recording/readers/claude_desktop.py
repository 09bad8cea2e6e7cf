"""The logs of Claude Desktop: `mcp.log`, which mixes all servers, and `mcp-server-NAME.log`.

The lines were established from logs that users of servers posted in public issues: a time in UTC, then level
and name of the server in brackets, in either order, then `Message from client: ` or `Message from server: `
and the message, sometimes followed by `{ metadata: undefined }`. Seen in modelcontextprotocol/typescript-sdk
#179 (name first), jorekai/db-timetable-mcp #4 (level first), sjzar/chatlog #166 (metadata). Where the logs
lie is documented at https://modelcontextprotocol.io/docs/2026-07-28/tools/debugging.

What a server writes to its stderr stands there without a time, and cannot be told from the host's own lines
that are longer than one; it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcpsim.recording.readers.host_logs import Logged, add_logged, claims_of
from mcpsim.recording.readers.model import Format, Found
from mcpsim.recording.readers.source import Source

NAME: Final = "claude-desktop"

_LINE: Final = re.compile(
    rb"\s*(?P<stamp>\d{4}-\d\d-\d\dT[\d:.,]{8,18}Z?)?\s*"
    rb"(?:\[(?P<first>[^\]\r\n]{1,200})\]\s*)?(?:\[(?P<second>[^\]\r\n]{1,200})\]\s*)?"
    rb"(?:Message from (?P<side>client|server): (?P<text>[\[{].*)|(?P<start>Initializing server\.\.\.))"
)
_LEVELS: Final = frozenset({"info", "warn", "warning", "error", "debug", "trace", "verbose", "silly"})
_METADATA: Final = re.compile(rb"\s*\{ metadata: [^{}]*\}\s*$")
# The host's own way of writing, so that a log of another kind that holds such words is not taken for it.
_MARK: Final = re.compile(rb"(?:^|\] ?)Message from (?:client|server): [\[{]")


def _claims(source: Source) -> int:
    return claims_of(source, lambda line: _MARK.search(line, 0, 500))


def _logged(source: Source) -> Iterator[Logged]:
    for number, line in source.lines:
        match = _LINE.match(line)
        if match is None:
            continue
        stamp = (match["stamp"] or b"").decode("ascii")
        brackets = [(part or b"").decode("utf-8", "replace") for part in (match["first"], match["second"])]
        server = next((name for name in brackets if name and name.lower() not in _LEVELS), "")
        if match["start"]:
            yield Logged(number, stamp, server, None)
            continue
        text = _METADATA.sub(b"", match["text"].rstrip()[-200:])
        whole = match["text"].rstrip()[:-200] + text
        yield Logged(number, stamp, server, "client" if match["side"] == b"client" else "server", whole)


def _read(source: Source, found: Found) -> None:
    add_logged(_logged(source), len(source.lines), found)


CLAUDE_DESKTOP: Final = Format(NAME, "a log of Claude Desktop", _claims, _read)
