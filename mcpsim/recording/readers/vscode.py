"""The output of a server in VS Code (`MCP: Show Output`), with messages: the log level is debug or trace.

Established in microsoft/vscode: `src/vs/workbench/contrib/mcp/common/mcpServerRequestHandler.ts`
(`[editor -> server]` and `[server -> editor]`, each followed by the message) and
`src/vs/workbench/api/node/extHostMcpNode.ts` (`[server stderr]`). Versions of early 2025 wrote
`[Client Says]` and `[Server Says]` (seen in microsoft/vscode #244377). A channel of output is of one server;
every start of it is a connection of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from mcpsim.recording.readers.directions import Side
from mcpsim.recording.readers.host_logs import Logged, add_logged, claims_of
from mcpsim.recording.readers.model import Format, Found
from mcpsim.recording.readers.source import Source

NAME: Final = "vscode"

_LINE: Final = re.compile(
    rb"\s*(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3})?\s*(?:\[[a-z]{3,10}\]\s*)?"
    rb"(?:\[(?P<what>editor -> server|server -> editor|Client Says|Server Says)\]\s*(?P<text>[\[{].*)"
    rb"|\[(?P<stderr>server stderr)\] ?(?P<said>.*)|(?P<start>Starting server ))"
)
_SIDES: Final[Mapping[bytes, Side]] = {
    b"editor -> server": "client",
    b"Client Says": "client",
    b"server -> editor": "server",
    b"Server Says": "server",
}
_MARKS: Final = tuple(b"[" + what + b"] " for what in _SIDES)


def _claims(source: Source) -> int:
    return claims_of(source, lambda line: any(mark in line[:100] for mark in _MARKS) and _LINE.match(line))


def _logged(source: Source) -> Iterator[Logged]:
    for number, line in source.lines:
        match = _LINE.match(line)
        if match is None:
            continue
        stamp = (match["stamp"] or b"").decode("ascii")
        if match["start"]:
            yield Logged(number, stamp, "", None)
        elif match["stderr"]:
            yield Logged(number, stamp, "", "server", match["said"].rstrip(), "stderr")
        else:
            yield Logged(number, stamp, "", _SIDES[match["what"]], match["text"].rstrip())


def _read(source: Source, found: Found) -> None:
    add_logged(_logged(source), len(source.lines), found)


VSCODE: Final = Format(NAME, "an output of VS Code", _claims, _read)
