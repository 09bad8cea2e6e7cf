"""The debug log of the official Python SDK (package `mcp`), of a client or of a server.

Established in modelcontextprotocol/python-sdk, 1.x and 2.3: `src/mcp/client/streamable_http.py` (`Sending
client message: `, `SSE message: `), `src/mcp/client/sse.py` (`Received server message: `) and
`src/mcp/server/sse.py` (`Received JSON: `, `Sending message via SSE: `). A message stands there as Python
prints it: in 1.x `root=JSONRPCRequest(method=..., ...)`, in 2.x `jsonrpc='2.0' id=1 method=...`, within the
transport `SessionMessage(message=...)`. What is None at the top of a message was not on the wire.

Other transports of the SDK log no messages, and these do not log all: an answer that comes as plain JSON, and
not in a stream of events, is not in the log of a client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from mcpsim.errors import RecordingError
from mcpsim.recording.lines import write_line
from mcpsim.recording.readers.directions import Side
from mcpsim.recording.readers.host_logs import Logged, add_logged, claims_of
from mcpsim.recording.readers.log_lines import where
from mcpsim.recording.readers.model import Format, Found
from mcpsim.recording.readers.python_values import NotPython, read_bytes_literal, read_repr
from mcpsim.recording.readers.source import Source

NAME: Final = "python-sdk"


class _Mark(NamedTuple):
    """What stands before a message: who sent it, and whose log says so."""

    side: Side
    log: Side


_MARKS: Final[Mapping[str, _Mark]] = {
    "Sending client message: ": _Mark("client", "client"),
    "SSE message: ": _Mark("server", "client"),
    "Received server message: ": _Mark("server", "client"),
    "Received JSON: ": _Mark("client", "server"),
    "Sending message via SSE: ": _Mark("server", "server"),
}
_MARK: Final = re.compile("|".join(map(re.escape, _MARKS)).encode())
_VALUE: Final = re.compile(rb"(?:SessionMessage\(|root=|JSONRPC|jsonrpc=|method=|id=|b['\"])")
# How far into a line the mark may stand: behind a time, a level and the name of a logger.
_FURTHEST: Final = 200
_MODEL: Final = re.compile(r"JSONRPC(?:Request|Notification|Response|Error)\(")


class _Line(NamedTuple):
    number: int
    mark: _Mark
    stamp: str
    text: bytes


def _claims(source: Source) -> int:
    return claims_of(source, _marked)


def _marked(line: bytes) -> re.Match[bytes] | None:
    match = _MARK.search(line, 0, _FURTHEST)
    return match if match is not None and _VALUE.match(line, match.end()) else None


def _lines(source: Source) -> Iterator[_Line]:
    for number, line in source.lines:
        match = _marked(line)
        if match is not None:
            stamp = line[: match.start()].decode("utf-8", "replace")
            yield _Line(number, _MARKS[match[0].decode()], stamp, line[match.end() :].strip())


def _read(source: Source, found: Found) -> None:
    lines = list(_lines(source))
    logs = [line.mark.log for line in lines]
    log = max(("client", "server"), key=logs.count)
    kept = [line for line in lines if line.mark.log == log]
    add_logged(_logged(kept, found), len(source.lines), found)
    if len(set(logs)) > 1:
        found.note(
            f"Client and server wrote into one log. Only what the {log} says was read: the other one says "
            "the same once more."
        )
    if log == "client":
        found.note(
            "The SDK's client does not log answers that come as plain JSON: answers may be missing here."
        )


def _logged(lines: list[_Line], found: Found) -> Iterator[Logged]:
    for line in lines:
        try:
            yield Logged(line.number, line.stamp, "", line.mark.side, _text(line.text))
        except RecordingError as error:
            found.skip(where(line.number), str(error))


def _text(text: bytes) -> bytes:
    """The message as JSON."""
    written = text.decode("utf-8", "replace")
    try:
        if written.startswith("b"):
            return read_bytes_literal(written)
        model = _MODEL.search(written, 0, _FURTHEST)
        value = read_repr(written, 0 if model is None else model.start())
    except NotPython as error:
        raise RecordingError(f"The message cannot be read as Python prints it: {error}.") from None
    if not isinstance(value, dict):
        raise RecordingError("It is no JSON-RPC message.")
    return write_line(_without_none(cast("dict[str, Any]", value)), "It")


def _without_none(message: dict[str, Any]) -> dict[str, Any]:
    kept = {
        name: value
        for name, value in message.items()
        if value is not None or (name == "id" and "error" in message)
    }
    error = kept.get("error")
    if isinstance(error, dict) and cast("dict[str, Any]", error).get("data", "") is None:
        members = cast("dict[str, Any]", error)
        kept["error"] = {name: value for name, value in members.items() if name != "data"}
    return kept


PYTHON_SDK: Final = Format(NAME, "a debug log of the Python SDK", _claims, _read)
