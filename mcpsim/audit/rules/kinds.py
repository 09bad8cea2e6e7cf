"""What is a request and what a notification, how ids are written, and names of methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mcpsim.audit.model import Item
from mcpsim.audit.rule import ALL, MUST, NOTE, Found, Rule, messages, notifications, requests
from mcpsim.audit.rules.envelopes import is_whole_float, members, on_both
from mcpsim.eras.methods import METHODS
from mcpsim.recording.words import show

PAGE: Final = "basic/index#messages"
REQUESTS: Final = "basic/index#requests"
RESULTS: Final = "basic/index#result-responses"
NOTIFICATIONS: Final = "basic/index#notifications"

_REQUESTS: Final = frozenset(row.name for row in METHODS if row.kind == "request")
_NOTIFICATIONS: Final = frozenset(row.name for row in METHODS if row.kind == "notification")
#: Up to here a double holds every integer.
EXACT: Final = 2**53
_RESERVED_METHODS: Final = "rpc."

_WHOLE_HINT: Final = "Write whole numbers without a fraction."


def _request_with_fraction(item: Item) -> Iterator[Found]:
    id = members(item.value).get("id")
    if is_whole_float(id):
        yield Found(
            item,
            f"The id of this request is written {show(id)}. As a number that is whole, but many readers take "
            "only what is written without a fraction.",
            hint=_WHOLE_HINT,
        )


def _long_number(item: Item) -> Iterator[Found]:
    id = item.id
    if isinstance(id, int) and abs(id) > EXACT:
        yield Found(
            item,
            f"The id {show(id)} is a number beyond 2^53. Readers that keep numbers as doubles round it, and "
            "the answer comes back with another id.",
            hint="Take smaller numbers, or strings.",
        )


def _answer_with_fraction(item: Item) -> Iterable[Found]:
    if item.kind not in ("response", "error") or not is_whole_float(members(item.value).get("id")):
        return ()
    return _with_fraction(item)


def _with_fraction(item: Item) -> Iterator[Found]:
    id = members(item.value).get("id")
    if item.call is None or not is_whole_float(members(item.call.request.value).get("id")):
        yield Found(
            item,
            f"The id comes back as {show(id)}, and was sent as {show(item.id)}. That is the same number in "
            "JSON, but not for every reader: some look for an integer, and drop the answer.",
            hint=_WHOLE_HINT,
        )


def _request_without_id(item: Item) -> Iterator[Found]:
    if item.method in _REQUESTS and item.method not in _NOTIFICATIONS:
        yield Found(
            item,
            f"{show(item.method)} is a request, and comes without an `id`, as if it were a notification. "
            "Nobody will answer it.",
        )


def _notification_with_id(item: Item) -> Iterator[Found]:
    if item.method in _NOTIFICATIONS:
        yield Found(
            item,
            f"{show(item.method)} is a notification and has the `id` {show(item.id)}, like a request.",
        )
    elif item.method.startswith("notifications/"):
        yield Found(
            item,
            f"By its name {show(item.method)} is a notification, but it comes with an `id`, as a request.",
            level=NOTE,
        )


def _reserved_method(item: Item) -> Sequence[Found]:
    if item.kind not in ("request", "notification") or not item.method.startswith(_RESERVED_METHODS):
        return ()
    return [
        Found(item, f"The method {show(item.method)} begins with `rpc.`, which JSON-RPC keeps for itself.")
    ]


KINDS: Final[tuple[Rule, ...]] = (
    Rule(
        "request-id-is-written-as-an-integer",
        NOTE,
        "sender",
        ALL,
        on_both(REQUESTS),
        "An id that is a whole number is written without a fraction.",
        on=requests(),
        check=_request_with_fraction,
    ),
    Rule(
        "request-id-is-exact-for-all",
        NOTE,
        "sender",
        ALL,
        on_both(REQUESTS),
        "An id that is a number is not beyond what every reader can keep.",
        on=requests(),
        check=_long_number,
    ),
    Rule(
        "answer-id-is-written-as-sent",
        NOTE,
        "sender",
        ALL,
        on_both(RESULTS),
        "An id comes back as it was written.",
        on=messages(),
        check=_answer_with_fraction,
    ),
    Rule(
        "request-has-an-id",
        MUST,
        "sender",
        ALL,
        on_both(REQUESTS),
        "A request has an id.",
        on=notifications(),
        check=_request_without_id,
    ),
    Rule(
        "notification-has-no-id",
        MUST,
        "sender",
        ALL,
        on_both(NOTIFICATIONS),
        "A notification has no id.",
        on=requests(),
        check=_notification_with_id,
    ),
    Rule(
        "method-leaves-rpc-to-json-rpc",
        MUST,
        "sender",
        ALL,
        on_both(PAGE),
        "No method of ours begins with `rpc.`: JSON-RPC keeps those names for itself.",
        on=messages(),
        check=_reserved_method,
    ),
)
