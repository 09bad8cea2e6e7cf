"""What the MCP Inspector exports.

Version 2 saves two lists, each as one JSON array. Established in modelcontextprotocol/inspector, 2.3:
`clients/web/src/App.tsx` (what is exported), `core/mcp/types.ts` (`MessageEntry`, `FetchRequestEntry`), and
`core/mcp/state/messageLogState.ts` (how an answer is put into the entry of its request, with the time
between).

- Protocol: one entry a message. An answer stands in the entry of its request.
- Network: one entry an HTTP request, with its response.

Version 1 exports nothing. What its history copies to the clipboard (`client/src/lib/hooks/useConnection.ts`,
branch `v1/main`) are method and params without an id, and results without their envelope: no messages, so
they are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, cast

from mcpsim.recording.readers.bodies import is_jsonrpc
from mcpsim.recording.readers.directions import OTHER, Directions, Side
from mcpsim.recording.readers.http_entries import HttpEntry, add_entries, as_bytes, as_headers, as_status
from mcpsim.recording.readers.log_lines import several
from mcpsim.recording.readers.model import Format, Found
from mcpsim.recording.readers.source import NOT_JSON, Source
from mcpsim.recording.readers.times import Clock, stamp_ms

NAME: Final = "inspector"


class _Message(NamedTuple):
    at_ms: float
    where: str
    side: Side | None
    message: Any


def _entries(source: Source) -> list[Any]:
    document = source.document
    return cast("list[Any]", document) if document is not NOT_JSON and isinstance(document, list) else []


def _is_message(entry: Any) -> bool:
    return isinstance(entry, dict) and "direction" in entry and is_jsonrpc(cast("Any", entry).get("message"))


def _is_request(entry: Any) -> bool:
    return isinstance(entry, dict) and {"requestHeaders", "method", "url"} <= cast("Any", entry).keys()


def _claims(source: Source) -> int:
    return sum(_is_message(entry) or _is_request(entry) for entry in _entries(source))


def _read(source: Source, found: Found) -> None:
    requests: list[HttpEntry] = []
    messages: list[_Message] = []
    for number, entry in enumerate(_entries(source), start=1):
        where = f"entry {number}"
        if _is_message(entry):
            messages.extend(_messages(where, entry))
        elif _is_request(entry):
            requests.append(_request(where, entry))
        else:
            found.skip(where, "It is neither a message nor an HTTP request.")
    _add_messages(messages, found)
    if requests:
        add_entries(requests, found)


def _messages(where: str, entry: dict[str, Any]) -> Iterator[_Message]:
    origin = entry.get("origin")
    side: Side | None = "client" if origin == "client" else "server" if origin == "server" else None
    at_ms = _time(entry)
    yield _Message(at_ms, where, side, entry["message"])
    answer = entry.get("response")
    if is_jsonrpc(answer):
        yield _Message(at_ms + _duration(entry), where, None if side is None else OTHER[side], answer)


def _add_messages(messages: list[_Message], found: Found) -> None:
    # Entries stand in the order in which their requests were sent; the answers come in between.
    messages.sort(key=lambda one: one.at_ms)
    directions = Directions()
    clock = Clock()
    inferred = guessed = 0
    for one in messages:
        told = directions.tell(one.message, one.side)
        inferred += one.side is None
        guessed += not told.sure
        when = clock.row(one.at_ms or None)
        found.add({"from": told.side, **when, "message": one.message}, one.where)
    if inferred:
        text = f"Directions were inferred: {several(inferred, 'entry says', 'entries say')} not who sent it."
        if guessed:
            text += f" For {guessed} of them the direction is a guess."
        found.note(text)


def _request(where: str, entry: dict[str, Any]) -> HttpEntry:
    start = _time(entry) or None
    end = None if start is None else start + _duration(entry)
    response = entry.get("responseBody")
    status = as_status(entry.get("responseStatus"))
    return HttpEntry(
        where,
        str(entry["method"]).upper(),
        str(entry["url"]),
        as_headers(entry["requestHeaders"]),
        as_bytes(entry.get("requestBody")),
        status,
        as_headers(entry.get("responseHeaders")),
        as_bytes(response),
        start,
        end,
        end,
    )


def _time(entry: dict[str, Any]) -> float:
    stamp = entry.get("timestamp")
    return (stamp_ms(stamp) if isinstance(stamp, str) else None) or 0.0


def _duration(entry: dict[str, Any]) -> float:
    value: Any = entry.get("duration")
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if ok else 0.0


INSPECTOR: Final = Format(NAME, "an export of the MCP Inspector", _claims, _read)
