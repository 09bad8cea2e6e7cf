"""Twice the rows take twice the time: what somebody could make a trace of to keep the audit busy."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcpsim.audit import audit
from mcpsim.audit.rows import BadRow, names_of
from mcpsim.eras.revisions import LATEST_LEGACY
from mcpsim.errors import UriTemplateError
from mcpsim.utilities.uri_templates import MAX_STEPS, read_template
from mcpsim.utilities.uris import is_uri

Row = dict[str, Any]
JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream"}
SIZE, TIMES = 1500, 4
#: Work in proportion to the size gives `TIMES`, to its square the square of it.
MOST = 9.0


def row(side: str, exchange: object, message: Any = None, **more: Any) -> Row:
    body = {} if message is None else {"message": message}
    return {"from": side, "transport": "http", "exchange": exchange, **body, **more}


def request(id: int, method: str, **params: Any) -> Row:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def result(id: int, **members: Any) -> Row:
    return {"jsonrpc": "2.0", "id": id, "result": members}


def handshake(exchange: int, session: str) -> Iterator[Row]:
    about: Row = {"protocolVersion": LATEST_LEGACY, "capabilities": {}}
    who = {"name": "any", "version": "1"}
    yield row("client", exchange, request(exchange, "initialize", **about, clientInfo=who), headers=JSON)
    granted = {**JSON, "mcp-session-id": session}
    yield row("server", exchange, result(exchange, **about, serverInfo=who), headers=granted, status=200)


def a_batch(size: int) -> Iterator[Row]:
    yield row("client", 1, [request(number, "ping") for number in range(size)], headers=JSON)
    yield row("server", 1, [result(number) for number in reversed(range(size))], headers=JSON, status=200)


def sessions(size: int) -> Iterator[Row]:
    for number in range(size):
        yield from handshake(number, f"s{number}")
    for number in range(size):
        headers = {**JSON, "mcp-session-id": f"s{size - 1 - number}", "mcp-protocol-version": LATEST_LEGACY}
        yield row("client", size + number, request(size + number, "ping"), headers=headers)


def events_of_one_row(size: int) -> Iterator[Row]:
    yield from handshake(0, "s")
    headers = {**JSON, "mcp-session-id": "s", "mcp-protocol-version": LATEST_LEGACY}
    yield row("client", 1, request(1, "ping"), headers=headers)
    told = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": 1}})
    text = "retry: 1\n\n" + f"id: 1\ndata: {told}\n\n" * size
    yield row("server", 1, raw=text, headers=EVENTS, status=200)


def seconds(rows: list[Row]) -> float:
    """The time of this thread."""
    start = time.thread_time()
    assert [one for one in audit(rows).skipped if "failed" in one.why] == []
    return time.thread_time() - start


@pytest.mark.parametrize("shape", [a_batch, sessions, events_of_one_row])
def test_the_work_is_in_proportion_to_the_size(shape: Callable[[int], Iterator[Row]]) -> None:
    few, many = list(shape(SIZE)), list(shape(SIZE * TIMES))
    bound_s = MOST * min(seconds(few) for _ in range(3))
    # The best of three, as well: the second is only measured where the first took too long.
    assert any(seconds(many) < bound_s for _ in range(3))


def test_a_template_names_no_more_than_can_be_matched() -> None:
    with pytest.raises(UriTemplateError, match="too long"):
        read_template("{" + ",".join(f"v{number}" for number in range(MAX_STEPS + 1)) + "}")


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("a:", True),
        ("a:%41%2f", True),
        ("a:" + "/" * 99 + "%4", False),
        ("http://" * 9, True),
        ("1a:x", False),
    ],
)
def test_what_is_a_uri(text: str, fits: bool) -> None:
    assert is_uri(text) is fits


HUGE = 10**5000


@pytest.mark.parametrize(
    "more",
    [
        {"connection": HUGE},
        {"transport": "http", "exchange": HUGE},
        {"transport": "http", "headers": {"age": HUGE}},
        {"transport": "http", "headers": {1: "one"}},
        {"sse_id": HUGE},
    ],
)
def test_a_row_with_a_number_that_cannot_be_written_is_left_out(more: Row) -> None:
    report = audit([{"from": "client", "message": {}, **more}, {"from": "client", "message": {}}])
    assert [one.where for one in report.skipped] == ["row 0"]
    assert {one.index for one in report.annotations} == {1}
    with pytest.raises(BadRow):
        names_of({"from": "client", "connection": HUGE})


def test_an_event_of_an_exchange_that_cannot_be_written_is_left_out() -> None:
    event = {"from": "client", "transport": "http", "event": "closed", "exchange": HUGE}
    assert [one.where for one in audit([event]).skipped] == ["row 0"]


def test_a_version_that_both_agreed_on_is_not_to_be_refused() -> None:
    def trace(agreed: str) -> list[Row]:
        opening, granted = handshake(0, "s")
        granted["message"]["result"]["protocolVersion"] = agreed
        headers = {**JSON, "mcp-session-id": "s", "mcp-protocol-version": "DRAFT-9"}
        asked = row("client", 1, request(1, "ping"), headers=headers)
        return [opening, granted, asked, row("server", 1, result(1), headers=JSON, status=200)]

    def refused(rows: list[Row]) -> bool:
        return "http-invalid-version-is-400" in {one.rule for one in audit(rows).findings}

    assert refused(trace(LATEST_LEGACY))
    assert not refused(trace("DRAFT-9"))
