"""What the order and the times of a trace prove, and what they do not."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.audit.building import build
from mcpsim.audit.model import Connection, Item
from mcpsim.audit.order import Reading, burst, elapsed_ms, is_later_by, is_one_stream, ways


def ask(id: int, **more: Any) -> dict[str, Any]:
    return {"from": "client", "message": {"jsonrpc": "2.0", "id": id, "method": "tools/list"}, **more}


def answer(id: int, **more: Any) -> dict[str, Any]:
    return {"from": "server", "message": {"jsonrpc": "2.0", "id": id, "result": {"tools": []}}, **more}


def stop(id: int) -> dict[str, Any]:
    params = {"requestId": id}
    return {
        "from": "client",
        "message": {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params},
    }


def read(*rows: dict[str, Any], disturbed: frozenset[int] = frozenset()) -> Connection:
    trace, refused = build(enumerate(rows), disturbed=disturbed)
    assert refused == ()
    return trace.connections[0]


def test_an_answer_to_a_later_request_shows_what_was_read() -> None:
    connection = read(ask(1), stop(1), ask(2), answer(2), answer(1))
    items = connection.items
    reading = Reading(connection)
    assert reading.had_read(items[1], items[4])
    # The answer itself proves nothing about what was written before it.
    assert not reading.had_read(items[1], items[3])


def test_an_answer_to_an_earlier_request_shows_nothing() -> None:
    connection = read(ask(1), ask(2), stop(1), answer(2), answer(1))
    assert not Reading(connection).had_read(connection.items[2], connection.items[4])


def test_what_the_wire_disturbed_proves_nothing() -> None:
    connection = read(ask(1), stop(1), ask(2), answer(2), answer(1), disturbed=frozenset({2}))
    assert not Reading(connection).had_read(connection.items[1], connection.items[4])


def test_streams_of_http_overtake_each_other() -> None:
    http = {"transport": "http"}
    connection = read(
        ask(1, exchange="a", **http),
        ask(2, exchange="b", **http),
        ask(3, exchange="c", **http),
        answer(3, exchange="c", **http),
        answer(1, exchange="a", **http),
    )
    assert not Reading(connection).had_read(connection.items[1], connection.items[4])
    assert not is_one_stream(connection.items[3], connection.items[4])


def test_a_stream_that_was_asked_for_later_comes_later() -> None:
    http = {"transport": "http"}
    connection = read(
        ask(1, exchange="a", **http),
        answer(1, exchange="a", **http),
        ask(2, exchange="b", **http),
        answer(2, exchange="b", **http),
    )
    assert is_one_stream(connection.items[1], connection.items[3])
    assert is_one_stream(connection.items[3], connection.items[3])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(0, 5, 5), (5, 0, -5), (None, 5, None), (5, None, None), (1.5, 2, 0.5)],
)
def test_elapsed(first: float | None, second: float | None, expected: float | None) -> None:
    times = ({} if at is None else {"t_ms": at} for at in (first, second))
    a, b = read(*(ask(id, **time) for id, time in enumerate(times))).items
    assert elapsed_ms(a, b) == expected
    assert is_later_by(5, a, b) is (expected == 5)


def items_at(*times: float) -> list[Item]:
    return read(*(ask(id, t_ms=at) for id, at in enumerate(times))).items


def test_a_burst_is_many_in_a_short_time() -> None:
    items = items_at(0, 500, 1000, 1001, 1002)
    assert burst(items, 4, 600) is items[4]
    assert burst(items, 3, 3) is items[4]
    assert burst(items, 4, 3) is None


def test_a_burst_needs_times() -> None:
    assert burst(read(ask(1), ask(2), ask(3)).items, 2, 1000) is None


def test_times_that_go_back_are_borne() -> None:
    items = items_at(1000, 0, 1, 2)
    assert burst(items, 4, 10) is items[3]
    assert burst(items, 5, 10) is None


def test_http_connections_of_one_hop_are_one_way_and_each_pipe_is_its_own() -> None:
    http = {"transport": "http"}
    rows = [
        ask(1, connection="a"),
        ask(1, connection="b"),
        ask(1, connection="c", exchange="1", **http),
        ask(1, connection="d", exchange="1", **http),
        ask(1, connection="d", exchange="2", hop="gateway-server", **http),
    ]
    trace, _ = build(enumerate(rows))
    assert [[one.key for one in way] for way in ways(trace)] == [["a"], ["b"], ["c", "d"], ["d"]]
