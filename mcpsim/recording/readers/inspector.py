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

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple, cast

from mcpsim.recording.readers.bodies import is_jsonrpc
from mcpsim.recording.readers.directions import OTHER, Directions, Side, sender_of
from mcpsim.recording.readers.http_entries import HttpEntry, add_entries, as_bytes, as_headers, as_status
from mcpsim.recording.readers.log_lines import several
from mcpsim.recording.readers.model import Format, Found
from mcpsim.recording.readers.source import NOT_JSON, Source
from mcpsim.recording.readers.times import Clock, stamp_ms

NAME: Final = "inspector"


class _Message(NamedTuple):
    """A message that stands in an entry.

    Attributes:
        at_ms: when; 0 where the entry does not say.
        side: who sent it; None where the entry does not say.
        likely: who sent it, as far as the message itself tells it.
    """

    at_ms: float
    where: str
    side: Side | None
    likely: Side
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
    messages: list[tuple[str, dict[str, Any]]] = []
    for number, entry in enumerate(_entries(source), start=1):
        where = f"entry {number}"
        if _is_message(entry):
            messages.append((where, entry))
        elif _is_request(entry):
            requests.append(_request(where, entry))
        else:
            found.skip(where, "It is neither a message nor an HTTP request.")
    _add_messages(_in_order(messages), found)
    if requests:
        add_entries(requests, found)


def _in_order(entries: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[_Message]:
    """The messages of all entries. Entries stand in the order in which their messages were sent or came;
    answers come in between, by their times.

    Times are whole milliseconds. Of two that are the same, an answer comes after what its own sender sent,
    and before what the other side sends: that may be because of the answer.
    """
    waiting: list[tuple[float, int, _Message]] = []
    for number, (where, entry) in enumerate(entries):
        one = _message(where, entry)
        while waiting and (
            waiting[0][0] < one.at_ms or (waiting[0][0] == one.at_ms and waiting[0][2].likely != one.likely)
        ):
            yield heappop(waiting)[2]
        yield one
        answer = entry.get("response")
        if is_jsonrpc(answer):
            at_ms = one.at_ms + _duration(entry)
            side = None if one.side is None else OTHER[one.side]
            heappush(waiting, (at_ms, number, _Message(at_ms, where, side, OTHER[one.likely], answer)))
    while waiting:
        yield heappop(waiting)[2]


def _message(where: str, entry: dict[str, Any]) -> _Message:
    origin = entry.get("origin")
    side: Side | None = "client" if origin == "client" else "server" if origin == "server" else None
    message = entry["message"]
    return _Message(_time(entry), where, side, side or sender_of(message) or "client", message)


def _add_messages(messages: Iterable[_Message], found: Found) -> None:
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
