"""From bytes to JSON: a message is JSON in UTF-8, and such that every reader reads the same.

A line of stdio that is no JSON at all is for the rules of stdio.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcpsim.audit.model import Item
from mcpsim.audit.rule import ALL, MUST, NOTE, Found, Rule, items
from mcpsim.audit.rules.envelopes import (
    events_of,
    is_json,
    is_meant_as_message,
    is_of_stream,
    is_utf_8,
    on_both,
)
from mcpsim.messages import DEFAULT_LIMITS
from mcpsim.recording.words import show

PAGE: Final = "basic/index#messages"


def _utf_8(item: Item) -> Iterator[Found]:
    raw = item.raw
    if raw is None or not is_meant_as_message(item):
        return
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        yield Found(
            item,
            f"At byte {error.start} stands 0x{raw[error.start]:02x}, which is not UTF-8 there. Messages "
            "are UTF-8.",
            hint="Decode a text of another encoding before it goes into a message.",
        )


def _texts(item: Item) -> list[bytes]:
    """What was read as JSON: the bytes, or the data of the server-sent events that they are."""
    raw = item.raw
    if raw is None or not is_utf_8(raw) or not is_meant_as_message(item):
        return []
    if is_of_stream(item):
        return [one.data for one in events_of(raw) if one.event == "message" and one.data.strip()]
    return [raw]


def _json(item: Item) -> Iterator[Found]:
    if not item.is_http:
        return
    wrong = next((text for text in _texts(item) if not is_json(text)), None)
    if wrong is not None:
        why = "" if item.fault is None else f" {item.fault.message}"
        yield Found(item, f"{show(wrong.decode('utf-8', 'replace'))} stands where a message should be.{why}")


def _alike(item: Item) -> Iterator[Found]:
    texts = _texts(item)
    if texts and all(is_json(text) and len(text) <= DEFAULT_LIMITS.max_bytes for text in texts):
        # What our reader says of it, without its verdict.
        why = "" if item.fault is None else item.fault.message.partition(": ")[2]
        yield Found(item, f"Not every reader takes this text, and not all read it alike: {why}")


ENCODING: Final[tuple[Rule, ...]] = (
    Rule(
        "message-is-utf-8",
        MUST,
        "sender",
        ALL,
        {"modern": "basic/transports/index#messages", "legacy": "basic/transports"},
        "A message is encoded in UTF-8.",
        on=items("unreadable"),
        check=_utf_8,
    ),
    Rule(
        "message-is-json",
        MUST,
        "sender",
        ALL,
        on_both(PAGE),
        "What stands for a message in an HTTP body or in a server-sent event is JSON.",
        on=items("unreadable"),
        check=_json,
    ),
    Rule(
        "message-is-read-alike-by-all",
        NOTE,
        "sender",
        ALL,
        on_both(PAGE),
        "A message has no key twice, no half of a character, and is not nested without end.",
        on=items("unreadable"),
        check=_alike,
    ),
)
