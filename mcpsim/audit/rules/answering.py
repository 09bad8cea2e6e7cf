"""What answers what: each answer has the id of a request, each request has one answer, and nothing else is
answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from mcpsim.audit.building import Key, key_of
from mcpsim.audit.model import Connection, Exchange, Item, Side
from mcpsim.audit.once import once
from mcpsim.audit.rule import ALL, MUST, NOTE, SHOULD, Found, Level, Rule, each
from mcpsim.audit.rules.envelopes import is_whole_float, members, on_both
from mcpsim.audit.rules.http_common import has_odd_head
from mcpsim.eras.methods import METHODS
from mcpsim.errors import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)
from mcpsim.messages import write_json
from mcpsim.recording.words import show

ANSWERS: Final = "response-answers-a-request"
REPEATS: Final = "error-repeats-id"
UNANSWERED: Final = "notification-is-not-answered"
ONCE: Final = "request-is-answered-once"

# A server that sends one of these has read the message.
_AFTER_READING: Final = frozenset(
    {
        METHOD_NOT_FOUND,
        INVALID_PARAMS,
        INTERNAL_ERROR,
        HEADER_MISMATCH,
        MISSING_CLIENT_CAPABILITY,
        UNSUPPORTED_VERSION,
    }
)
# A server that responds with one of these may have refused by the head alone.
_BEFORE_READING: Final = frozenset({401, 404, 405, 406, 408, 411, 413, 415, 421, 429, 431})
# What says that a message could not be read.
_UNREAD: Final = frozenset({PARSE_ERROR, INVALID_REQUEST})
#: A request that is longer than this may be too long to be read.
LONG: Final = 100_000
_LOOK_BACK: Final = 20
BAD_REQUEST: Final = 400
FORBIDDEN: Final = 403
_OTHER: Final[Mapping[Side, Side]] = {"client": "server", "server": "client"}
_REQUESTS: Final = frozenset(row.name for row in METHODS if row.kind == "request")


class _Heard:
    """What one side has sent so far, as far as the other may still answer it.

    Attributes:
        excuses: what could not be read, or not as a message: an error without an id may be about it.
        ids: of what is no message.
        owed: requests that are never answered in the trace, and not cancelled so far.
        notifications: how many came, less those that were taken to be answered.
        texts: the ids of all requests as text.
    """

    __slots__ = ("excuses", "ids", "notifications", "owed", "texts")

    def __init__(self) -> None:
        self.excuses = 0
        self.ids: set[Key] = set()
        self.owed = 0
        self.notifications = 0
        self.texts: set[str] = set()

    def take(self, item: Item) -> None:
        """Note down what was sent."""
        if item.disturbed:
            self.excuses += 1
        # Each piece of what was torn may be answered by itself, and none of them has an id.
        self.excuses += item.torn_into
        if item.kind == "request":
            self.texts.add(_as_text(item.id))
            if _is_odd(item):
                self.excuses += 1
            call = item.call
            if call is not None and call.answer is None and item.method != "subscriptions/listen":
                self.owed += 1
        elif item.kind == "notification":
            if item.method in _REQUESTS:
                self.excuses += 1
            else:
                self.notifications += 1
            given_up = item.call
            if given_up is not None and given_up.cancelled is item and given_up.answer is None:
                # From here on nobody expects an answer, not even one without an id.
                self.owed = max(0, self.owed - 1)
        elif item.kind == "malformed":
            self.excuses += 1
            key = key_of(item.sender, members(item.value).get("id"))
            if key is not None:
                self.ids.add(key)
        elif item.kind in ("unreadable", "batch") or (item.kind == "empty" and not item.is_http):
            self.excuses += 1


def _as_text(id: object) -> str:
    return show(id, 200).strip('"')


Named = tuple[str, Found]


@once
def _strays(connection: Connection) -> tuple[Named, ...]:
    return tuple(_find_strays(connection))


def _find_strays(connection: Connection) -> Iterator[Named]:
    """The answers that answer nothing, and the rule that each breaks."""
    # An answer to a request is none, as nearly all are.
    unclear = [
        item for item in connection.items if item.kind in _ANSWERS and (item.call is None or item.id is None)
    ]
    if not any(map(_is_stray, unclear)):
        return
    if len({item.sender for item in connection.items if item.message is not None}) < 2:
        # A trace of one side alone does not show what it answers.
        return
    heard: dict[Side, _Heard] = {"client": _Heard(), "server": _Heard()}
    whole = _is_whole(connection)
    for place, item in enumerate(connection.items):
        if item.kind in ("response", "error") and not item.disturbed:
            asker = heard[_OTHER[item.sender]]
            if item.id is None:
                yield from _without_id(item, place, asker, whole)
            elif item.call is None:
                yield from _with_foreign_id(item, asker, whole)
            if item.call is None:
                # Whoever gets an answer to nothing may say so, by an error without an id.
                heard[item.sender].excuses += 1
        elif item.kind == "malformed" and _answers_notification(item):
            yield UNANSWERED, Found(item, f"A notification gets an answer: {show(item.value)}.")
        elif item.kind not in ("event", "stderr", "comment"):
            heard[item.sender].take(item)


_ANSWERS: Final = frozenset({"response", "error", "malformed"})


def _is_stray(item: Item) -> bool:
    if item.kind == "malformed":
        return _answers_notification(item)
    return item.kind in ("response", "error") and (item.call is None or item.id is None)


def _answers_notification(item: Item) -> bool:
    """Whether what is no message, as a result with the id null, answers a notification over HTTP."""
    exchange = item.exchange
    if exchange is None or item.sender == "client" or exchange.request is None or _is_taken(exchange):
        return False
    return exchange.request.kind == "notification" and "result" in members(item.value)


def _is_taken(exchange: Exchange) -> bool:
    """Whether the status says that all is well: what comes with it is for the rules of HTTP to tell."""
    return exchange.status is not None and exchange.status < 300


def _is_whole(connection: Connection) -> bool:
    """Whether the trace surely has the beginning of the connection."""
    for item in connection.items:
        if item.message is not None:
            opens = item.method in ("initialize", "server/discover") or item.id in (0, 1)
            return item.kind == "request" and item.sender == "client" and opens
    return False


def _with_foreign_id(item: Item, asker: _Heard, whole: bool) -> Iterator[Named]:
    exchange = item.exchange
    key = key_of(_OTHER[item.sender], item.id)
    if key in asker.ids:
        return
    sentence = f"This answer has the id {show(item.id)}, and no request of the {item.other} has that id."
    hint = "The id comes back as it was sent, of the same type."
    if exchange is not None and item.sender == "server":
        first = exchange.request
        if first is None:
            return
        if first.kind == "notification":
            if not _is_taken(exchange):
                yield UNANSWERED, Found(item, f"{show(first.method)} is a notification, and gets an answer.")
            return
        if first.kind == "request":
            asked = f" The request of this exchange has the id {show(first.id)}."
            yield ANSWERS, Found(item, sentence + asked, hint=hint)
            return
        if first.kind in ("malformed", "unreadable", "batch"):
            return
    if asker.excuses > 0 and exchange is None:
        # Perhaps the other side could read what we cannot.
        asker.excuses -= 1
        return
    sure = whole or _as_text(item.id) in asker.texts or item.session is not None
    if not sure and item.connection.began_late:
        return
    if not sure:
        sentence += " It may answer one from before the beginning of this trace."
    yield ANSWERS, Found(item, sentence, hint=hint, level=None if sure else NOTE)


def _without_id(item: Item, place: int, asker: _Heard, whole: bool) -> Iterator[Named]:
    exchange = item.exchange
    if exchange is not None and item.sender == "server":
        yield from _in_exchange(item, exchange.request, exchange.status)
        return
    if asker.excuses > 0:
        asker.excuses -= 1
        return
    level: Level | None = None if whole else NOTE
    if item.code in _UNREAD and any(map(_is_long, _just_before(item, place))):
        level = NOTE
    if asker.owed > 0:
        asker.owed -= 1
        if level is None and item.code == PARSE_ERROR:
            # Perhaps about a line that whoever wrote the trace down left out.
            level = SHOULD
        yield (
            REPEATS,
            Found(
                item,
                f"This error {_id_in_words(item)}, although every message of the {item.other} before it is "
                "readable. An error has the id of its request, so that the request ends.",
                level=level,
            ),
        )
    elif asker.notifications > 0:
        asker.notifications -= 1
        if item.code in _UNREAD:
            level = NOTE
        yield (
            UNANSWERED,
            Found(
                item,
                f"This error {_id_in_words(item)}, and each request of the {item.other} has its answer. So "
                "it is about a notification, probably, and those are not answered.",
                level=level,
            ),
        )
    else:
        yield (
            ANSWERS,
            Found(
                item,
                f"This error {_id_in_words(item)}, and there is nothing that it could answer.",
                level=NOTE,
            ),
        )


def _just_before(item: Item, place: int) -> Iterator[Item]:
    """What the other side sent last."""
    before = item.connection.items[max(0, place - _LOOK_BACK) : place]
    return (one for one in before if one.sender != item.sender)


def _in_exchange(item: Item, first: Item | None, status: int | None) -> Iterator[Named]:
    if first is None:
        return
    # Of a page that may not ask, the specification itself has such an error: 403, without an id.
    if first.kind != "request" or _is_odd(first):
        return
    if status == FORBIDDEN and item.code not in _AFTER_READING:
        return
    by_head = status in _BEFORE_READING or (status is not None and status >= 500)
    by_head = by_head or (status == BAD_REQUEST and has_odd_head(first))
    if (by_head and item.code not in _AFTER_READING) or _is_long(first):
        yield (
            REPEATS,
            Found(
                item,
                f"This error {_id_in_words(item)}. Perhaps the server refused before it read the request, "
                f"which has the id {show(first.id)}; with that id in it, the client knows what has failed.",
                level=NOTE,
            ),
        )
        return
    yield (
        REPEATS,
        Found(
            item,
            f"This error {_id_in_words(item)}, although the id of its request, {show(first.id)}, "
            "is readable. An error has the id of its request.",
        ),
    )


def _id_in_words(item: Item) -> str:
    return "has the id null" if "id" in members(item.value) else "has no id"


def _is_odd(request: Item) -> bool:
    """Whether its id is written like 1.0: not everybody takes that for an id."""
    return is_whole_float(members(request.value).get("id"))


def _is_long(item: Item) -> bool:
    if item.raw is not None:
        return len(item.raw) > LONG
    try:
        return item.message is not None and len(write_json(item.value)) > LONG
    except Exception:
        return False


def _of(rule: str) -> Callable[[Connection], Iterator[Found]]:
    def check(connection: Connection) -> Iterator[Found]:
        return (found for name, found in _strays(connection) if name == rule)

    return check


def _doubles(connection: Connection) -> Iterator[Found]:
    if not any(call.more_answers for call in connection.calls):
        return
    owed: Counter[Key] = Counter()
    for item in connection.items:
        if item.kind == "request":
            key = key_of(item.sender, item.id)
            if key is not None:
                # What the wire may have doubled may be answered twice.
                owed[key] += 2 if item.disturbed else 1
        elif item.kind in ("response", "error") and item.call is not None and not item.disturbed:
            key = key_of(_OTHER[item.sender], item.id)
            if key is None:
                continue
            if owed[key] > 0:
                owed[key] -= 1
            elif not _is_replay(item):
                yield Found(item, _second_answer(item, item.call.answer))


def _is_replay(item: Item) -> bool:
    """Whether a client asked for what it missed of a stream, and got a little more (legacy)."""
    first = None if item.call is None else item.call.answer
    if first is None or first.value != item.value:
        return False
    again = item.exchange is not None and item.exchange.http_method == "GET"
    return again or (item.sse_id is not None and item.sse_id == first.sse_id)


def _second_answer(item: Item, first: Item | None) -> str:
    what = "an error" if first is not None and first.kind == "error" else "a result"
    same = ", the same once more" if first is not None and first.value == item.value else ""
    return (
        f"The request {show(item.id)} ({show(item.method)}) has {what} already, and gets another "
        f"answer{same}. A request is answered once."
    )


ANSWERING: Final[tuple[Rule, ...]] = (
    Rule(
        ANSWERS,
        MUST,
        "sender",
        ALL,
        on_both("basic/index#result-responses"),
        "A response has the id of a request that the other side sent.",
        on=each(Connection),
        check=_of(ANSWERS),
    ),
    Rule(
        REPEATS,
        MUST,
        "sender",
        ALL,
        on_both("basic/index#error-responses"),
        "An error has the id of its request, unless that could not be read.",
        on=each(Connection),
        check=_of(REPEATS),
    ),
    Rule(
        UNANSWERED,
        MUST,
        "sender",
        ALL,
        on_both("basic/index#notifications"),
        "A notification is not answered.",
        on=each(Connection),
        check=_of(UNANSWERED),
    ),
    Rule(
        ONCE,
        MUST,
        "sender",
        ALL,
        on_both("basic/index#responses"),
        "A request has one answer, a result or an error.",
        on=each(Connection),
        check=_doubles,
    ),
)
