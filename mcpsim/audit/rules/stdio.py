"""Standard streams: what stands on them, how a line ends, who may ask, and how it all ends."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Generator, Iterator, Mapping
from typing import Final

from mcpsim.audit.model import Call, Connection, Item
from mcpsim.audit.rule import ALL, MODERN, MUST, NOTE, SHOULD, Found, Rule, each, notifications
from mcpsim.audit.rules.envelopes import is_json, is_utf_8
from mcpsim.eras.revisions import STDERR_REVISIONS, Era
from mcpsim.recording.words import show

LEGACY_PAGE: Final = "basic/transports#stdio"
PAGE: Final = "basic/transports/stdio"
PAGES: Final[Mapping[Era, str]] = {"modern": PAGE, "legacy": LEGACY_PAGE}

#: A server that still runs so long after its stdin was closed does not exit promptly.
EXIT_MS: Final = 10_000
#: A client that leaves so soon after a line on stderr probably leaves because of it.
ALARMED_MS: Final = 1_000
#: How many lines of a connection are looked at for pieces of a message that was written over several.
MAX_PIECES: Final = 20_000

#: What some writers put for numbers that JSON does not have.
_CONSTANT: Final = re.compile(rb"NaN|Infinity")
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')

_TROUBLE: Final = re.compile(
    rb"error|exception|traceback|fatal|panic|fail|abort|segmentation|killed", re.IGNORECASE
)


def _is_foreign(item: Item) -> bool:
    """Whether a line of stdio is no JSON for anybody. What is not UTF-8 another rule tells."""
    raw = item.raw
    return item.kind == "unreadable" and not item.is_http and raw is not None and is_utf_8(raw)


def _lines(connection: Connection) -> Iterator[tuple[Item, bool]]:
    """The lines that are no messages, each with whether it begins a message that was written over several
    lines; what is a later piece of such a message is left out."""
    if connection.is_http:
        return
    run: list[Item] = []
    left = MAX_PIECES
    for item in connection.items:
        foreign = _is_foreign(item)
        if run and (not foreign or item.sender != run[0].sender):
            left -= yield from _of_run(run, left)
            run = []
        if foreign:
            run.append(item)
    yield from _of_run(run, left)


def _of_run(run: list[Item], left: int) -> Generator[tuple[Item, bool], None, int]:
    """The same for lines that follow each other. Returns how many were looked at for pieces."""
    place = spent = 0
    while place < len(run):
        seen, pieces = _pieces(run, place, left - spent)
        spent += seen
        yield run[place], pieces > 1
        place += pieces
    return spent


def _pieces(run: list[Item], place: int, left: int) -> tuple[int, int]:
    """How many lines were looked at, and how many of them make one JSON object: 1 where the first stands by
    itself."""
    depth = 0
    for end in range(place, min(len(run), place + left)):
        line = (run[end].raw or b"").strip()
        if end == place and not line.startswith((b"{", b"[")):
            return 1, 1
        depth += line.count(b"{") + line.count(b"[") - line.count(b"}") - line.count(b"]")
        if depth <= 0:
            text = b"\n".join(item.raw or b"" for item in run[place : end + 1])
            whole = end > place and is_json(text)
            return end + 1 - place, end + 1 - place if whole else 1
    return min(len(run) - place, left), 1


def _foreign(connection: Connection, sender: str) -> Iterator[Found]:
    stream = "stdout" if sender == "server" else "stdin"
    for item, is_split in _lines(connection):
        raw = item.raw or b""
        if item.sender != sender or is_split or _holds_messages(raw):
            continue
        if _is_strict_json(raw):
            why = "" if item.fault is None else f" {item.fault.message}"
            yield Found(
                item, f"Not every reader takes this line, and not all read it alike.{why}", level=NOTE
            )
            continue
        text = show(raw.decode("utf-8", "replace"))
        where = "its stdout" if sender == "server" else "the server's stdin"
        yield Found(
            item,
            f"The {sender} writes {text} to {where}; {stream} is for messages only.",
            _hint(raw, sender),
        )


def _hint(raw: bytes, sender: str) -> str:
    if raw[:15].lower() == b"content-length:":
        return "Write each message on one line, without headers: that is the framing of another protocol."
    return "Write such lines to stderr." if sender == "server" else "Write whole messages only, one a line."


def _is_strict_json(raw: bytes) -> bool:
    """Whether it is JSON by the letter, if not for every reader. A byte order mark is no part of JSON."""
    return not raw.startswith(BOM_UTF8) and is_json(raw) and not _CONSTANT.search(_STRING.sub(b"", raw))


def _holds_messages(raw: bytes) -> bool:
    """Whether every line of a text is JSON: several messages that were read at once."""
    lines = [line for line in raw.splitlines() if line.strip()]
    return len(lines) > 1 and all(is_json(line) for line in lines)


def _stdout(connection: Connection) -> Iterator[Found]:
    yield from _foreign(connection, "server")


def _stdin(connection: Connection) -> Iterator[Found]:
    yield from _foreign(connection, "client")


def _newlines(connection: Connection) -> Iterator[Found]:
    for item, is_split in _lines(connection):
        if is_split:
            yield _split(item)
    if connection.is_http:
        return
    for item in connection.items:
        raw = item.raw
        if raw is None or item.kind in ("stderr", "unreadable", "empty") or item.batch is not None:
            continue
        if b"\n" in raw.strip(b"\r\n"):
            yield _split(item)


def _split(item: Item) -> Found:
    return Found(
        item,
        "This message is written over several lines. A newline ends a message, so the other side reads "
        "pieces "
        "that are none.",
        "Write the JSON without newlines and indentation.",
        party=item.party,
    )


def _calm(connection: Connection) -> Iterator[Found]:
    if connection.is_http:
        return
    waiting: dict[Call, None] = {}
    before: Item | None = None
    for item in connection.items:
        call = item.call
        if call is not None and call.asked_by == "client":
            if item.kind == "request":
                waiting[call] = None
            elif item.kind in ("response", "error") or item is call.cancelled:
                waiting.pop(call, None)
        leaves = item.sender == "client" and item.event in ("stdin_closed", "client_aborted")
        if leaves and waiting and before is not None and _is_harmless(before, item):
            said = show((before.raw or b"").decode("utf-8", "replace"))
            yield Found(
                item,
                f"The client leaves right after the server wrote {said} to stderr, while it waits for an "
                "answer; "
                "probably it takes stderr for an error.",
                "Show or keep what comes on stderr, and wait for the answer.",
                level=None if item.revision in STDERR_REVISIONS else NOTE,
            )
        before = item


def _is_harmless(line: Item, left: Item) -> bool:
    """Whether what came last is a line of stderr that speaks of no trouble, shortly before the client "
    "left."""
    if line.kind != "stderr" or _TROUBLE.search(line.raw or b""):
        return False
    return left.at_ms is None or line.at_ms is None or left.at_ms - line.at_ms <= ALARMED_MS


def _server_asks(connection: Connection) -> Iterator[Found]:
    yield from _asks(connection, on_http=False)


def _server_asks_on_http(connection: Connection) -> Iterator[Found]:
    yield from _asks(connection, on_http=True)


def _asks(connection: Connection, on_http: bool) -> Iterator[Found]:
    if connection.is_http is not on_http:
        return
    modern = False
    for item in connection.items:
        if item.kind != "request":
            continue
        if item.sender == "client":
            modern = modern or item.era == "modern"
        elif _is_modern_channel(item, modern) and not (item.method == "ping" and connection.sessions):
            # A legacy server may ping before the handshake that is still to come.
            yield Found(
                item,
                f"The server sends the request {show(item.method)}; a modern server sends none.",
                "Put what the client should answer into an input_required result; leave pings out.",
            )


def _is_modern_channel(item: Item, modern: bool) -> bool:
    """Whether it goes to a client of the modern era: over stdio one that never shook hands."""
    exchange = item.exchange
    if exchange is None:
        return modern and item.session is None
    first = exchange.request
    return first is not None and first.era == "modern"


def _client_answers(connection: Connection) -> Iterator[Found]:
    if connection.is_http:
        return
    modern = False
    for item in connection.items:
        if item.sender != "client":
            continue
        if item.kind == "request":
            modern = modern or item.era == "modern"
        elif item.kind in ("response", "error") and modern and item.session is None:
            yield Found(
                item,
                "The client sends a response; in the modern protocol it has nothing to respond to.",
                "Put answers into the inputResponses of the request that is sent again.",
            )


#: What other protocols cancel with, or how the notification is misspelt.
_CANCELS: Final = ("$/cancelRequest", "notifications/cancel", "notifications/canceled", "cancelled", "cancel")


def _cancels(item: Item) -> Iterator[Found]:
    if item.sender != "client" or item.is_http:
        return
    named = item.params.get("requestId", item.params.get("id"))
    if isinstance(named, str | int):
        yield Found(
            item,
            f"The client cancels the request {show(named)} with {show(item.method)}, which no server knows.",
            "Send notifications/cancelled, with the id as requestId.",
        )


def _closes_stdin_first(connection: Connection) -> Iterator[Found]:
    if connection.is_http:
        return
    for item in connection.items:
        if item.kind != "event":
            continue
        if item.event == "stdin_closed":
            return
        if item.sender == "client" and item.event in ("client_aborted", "stdout_closed"):
            yield Found(
                item,
                "The client ends the server without closing its stdin first.",
                "Close stdin, wait for the server to exit, and end it by force only where it does not.",
            )
            return


def _exits(connection: Connection) -> Iterator[Found]:
    # The pages of the handshake only say that a client waits for it.
    if connection.is_http or connection.era == "legacy":
        return
    closed: Item | None = None
    for item in connection.items:
        if item.event == "stdin_closed" and item.sender == "client":
            closed = closed or item
            continue
        if item.sender == "client" and item.disturbed:
            # What was held back on the way holds back the end of stdin as well.
            return
        if closed is None or closed.at_ms is None or item.sender != "server" or item.at_ms is None:
            continue
        if item.at_ms - closed.at_ms > EXIT_MS:
            seconds = round((item.at_ms - closed.at_ms) / 1000)
            yield Found(
                item,
                f"The server still runs {seconds} s after its stdin was closed.",
                "Exit when stdin ends: it is how a client says that it is done.",
            )
            return


STDIO: Final[tuple[Rule, ...]] = (
    Rule(
        "stdout-carries-messages-only",
        MUST,
        "server",
        ALL,
        PAGES,
        "A server writes nothing but messages to its stdout.",
        on=each(Connection, needs=("stdio", "unreadable")),
        check=_stdout,
    ),
    Rule(
        "stdin-carries-messages-only",
        MUST,
        "client",
        ALL,
        PAGES,
        "A client writes nothing but messages to the server's stdin.",
        on=each(Connection, needs=("stdio", "unreadable")),
        check=_stdin,
    ),
    Rule(
        "stdio-message-is-one-line",
        MUST,
        "sender",
        ALL,
        PAGES,
        "A message holds no newline: a newline ends it.",
        on=each(Connection, needs=("stdio",)),
        check=_newlines,
    ),
    Rule(
        "stderr-is-no-error",
        SHOULD,
        "client",
        ALL,
        PAGES,
        "What a server writes to stderr need not be an error.",
        on=each(Connection, needs=("stderr",)),
        check=_calm,
    ),
    Rule(
        "stdio-server-sends-no-requests",
        MUST,
        "server",
        MODERN,
        {"modern": f"{PAGE}#receiving-messages"},
        "A modern server writes no requests to its stdout.",
        on=each(Connection, needs=("stdio", "request")),
        check=_server_asks,
    ),
    Rule(
        "server-sends-no-requests",
        MUST,
        "server",
        MODERN,
        {"modern": "basic/patterns/index"},
        "A modern server sends no requests.",
        on=each(Connection),
        check=_server_asks_on_http,
    ),
    Rule(
        "stdio-client-sends-no-responses",
        MUST,
        "client",
        MODERN,
        {"modern": f"{PAGE}#sending-messages"},
        "A modern client writes no responses.",
        on=each(Connection),
        check=_client_answers,
    ),
    Rule(
        "stdio-cancels-by-notification",
        MUST,
        "client",
        MODERN,
        {"modern": f"{PAGE}#cancellation"},
        "A client cancels a request with notifications/cancelled.",
        on=notifications(*_CANCELS),
        check=_cancels,
    ),
    Rule(
        "stdio-client-closes-stdin-first",
        SHOULD,
        "client",
        ALL,
        {"modern": f"{PAGE}#shutdown", "legacy": "basic/lifecycle#stdio"},
        "A client ends a server by closing its stdin first.",
        on=each(Connection, needs=("event",)),
        check=_closes_stdin_first,
    ),
    Rule(
        "stdio-server-exits",
        SHOULD,
        "server",
        MODERN,
        {"modern": f"{PAGE}#shutdown"},
        "A server exits soon after its stdin was closed.",
        on=each(Connection, needs=("stdio", "event")),
        check=_exits,
    ),
)
