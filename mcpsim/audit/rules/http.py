"""What a client sends over HTTP: by POST, one message each, with an `Accept` header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcpsim.audit.model import Exchange, Item
from mcpsim.audit.rule import MODERN, MUST, NOTE, Found, Rule, items, messages
from mcpsim.audit.rules.http_common import (
    BODIES,
    HTTP_REVISIONS,
    SENDING,
    about_sending,
    first_of,
    media_type,
    shows_head,
)
from mcpsim.eras.revisions import BATCHING_REVISIONS
from mcpsim.recording.words import show
from mcpsim.transports.http import EVENT_STREAM_TYPE, JSON_TYPE, Headers, accepts


def _not_posted(item: Item) -> Iterator[Found]:
    exchange = item.exchange
    if exchange is not None and item.sender == "client" and exchange.http_method != "POST":
        yield Found(
            item, f"A message came with HTTP {show(exchange.http_method)}; messages are sent with POST."
        )


def _second_message(item: Item) -> Iterator[Found]:
    exchange = item.exchange
    if exchange is None or item.sender != "client" or item.batch is not None:
        return
    if exchange.request is not item:
        yield Found(item, "A second message came in the same HTTP request; each has a POST of its own.")


def listed_types(headers: Headers) -> dict[str, bool]:
    """The media types that `Accept` lists, each with whether it is wanted: `q=0` says that it is not."""
    listed: dict[str, bool] = {}
    for entry in ",".join(headers.get_all("Accept")).split(","):
        name = media_type(entry)
        if name:
            listed[name] = accepts(Headers([("Accept", entry)]), name) or listed.get(name, False)
    return listed


def missing_types(headers: Headers, wanted: tuple[str, ...]) -> tuple[list[str], bool]:
    """Those of the wanted media types that `Accept` does not list, and whether it takes them all the same, by
    a range such as `*/*`."""
    listed = listed_types(headers)
    missing = [one for one in wanted if not listed.get(one, False)]
    by_range = "Accept" in headers and all(one not in listed and accepts(headers, one) for one in missing)
    return missing, by_range


def accept_fault(item: Item, headers: Headers, wanted: tuple[str, ...]) -> Iterator[Found]:
    """What is wrong with the `Accept` header of a request that must list these types."""
    if headers.get("Accept") == ", ".join(wanted):
        return
    missing, by_range = missing_types(headers, wanted)
    if not missing:
        return
    value = ", ".join(headers.get_all("Accept"))
    if not value:
        yield Found(item, f"The request has no Accept header; it must list {' and '.join(wanted)}.")
    elif by_range:
        message = f"Accept is {show(value)}: it takes {' and '.join(missing)}, but does not list it by name."
        yield Found(item, message, hint=f"Send Accept: {', '.join(wanted)}.", level=NOTE)
    else:
        yield Found(item, f"Accept is {show(value)}; it must list {' and '.join(missing)} too.")


def _accept(exchange: Exchange) -> Iterator[Found]:
    item = first_of(exchange)
    if item is None or exchange.http_method != "POST" or not shows_head(item):
        return
    # Which headers a modern notification has is not defined.
    if item.era == "modern" and item.kind == "notification":
        return
    yield from accept_fault(item, exchange.headers, (JSON_TYPE, EVENT_STREAM_TYPE))


def _array(item: Item) -> Iterator[Found]:
    if item.exchange is not None and item.sender == "client":
        yield Found(
            item,
            "The body of this POST is an array; in this revision it is a single message.",
            hint="Send each message with a POST of its own.",
        )


def _no_body(item: Item) -> Iterator[Found]:
    exchange = item.exchange
    if exchange is None or item.sender != "client" or exchange.http_method != "POST":
        return
    # Without a length nobody knows whether the trace left the body out.
    if (exchange.headers.get("Content-Length") or "").strip() == "0":
        yield Found(item, "This POST has no body; it must carry a single message.")


def _client_response(item: Item) -> Iterator[Found]:
    if item.exchange is not None and item.sender == "client" and item.kind in ("response", "error"):
        yield Found(
            item,
            "The client sent a response; in this revision it sends requests and notifications only.",
            hint="What the server needs it asks for in an input_required result.",
        )


def _body_type(exchange: Exchange) -> Iterator[Found]:
    item = first_of(exchange)
    if item is None or exchange.http_method != "POST" or item.kind not in BODIES:
        return
    value = exchange.headers.get("Content-Type")
    if value is not None and media_type(value) != JSON_TYPE:
        yield Found(item, f"The body is JSON, and Content-Type says {show(value)}; say {JSON_TYPE}.")


HTTP: Final[tuple[Rule, ...]] = (
    Rule(
        "http-message-needs-post",
        MUST,
        "client",
        HTTP_REVISIONS,
        SENDING,
        "A client sends its messages with HTTP POST.",
        on=messages(needs=("http",)),
        check=_not_posted,
    ),
    Rule(
        "http-one-post-a-message",
        MUST,
        "client",
        HTTP_REVISIONS,
        SENDING,
        "Every message of a client is an HTTP request of its own.",
        on=messages(needs=("http",)),
        check=_second_message,
    ),
    about_sending(
        "http-accept-lists-both",
        "client",
        "The Accept header of a POST lists both application/json and text/event-stream.",
        _accept,
    ),
    Rule(
        "http-post-carries-one-message",
        MUST,
        "client",
        HTTP_REVISIONS - BATCHING_REVISIONS,
        SENDING,
        "The body of a POST is a single message, and no array.",
        on=items("batch"),
        check=_array,
    ),
    Rule(
        "http-post-has-a-body",
        MUST,
        "client",
        HTTP_REVISIONS,
        SENDING,
        "The body of a POST is a message.",
        on=items("empty"),
        check=_no_body,
    ),
    Rule(
        "http-client-sends-no-response",
        MUST,
        "client",
        MODERN,
        {"modern": SENDING["modern"]},
        "A client sends no responses.",
        on=messages(needs=("http",)),
        check=_client_response,
    ),
    about_sending(
        "http-body-says-json",
        "client",
        "The body of a POST is JSON, and its Content-Type says so.",
        _body_type,
        NOTE,
    ),
)
