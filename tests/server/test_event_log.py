"""The log of a session's events: what is kept, what is dropped, and what an id can ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.server.event_log import EventLog, Place, UnknownEvent, read_place


def rest(log: EventLog, place: Place) -> list[bytes]:
    """Everything after a place."""
    found: list[bytes] = []
    while (event := log.next(place)) is not None:
        place = event[0]
        found.append(event[1])
    return found


@given(
    st.lists(st.tuples(st.integers(1, 3), st.binary(max_size=4)), max_size=30),
    st.integers(1, 12),
    st.integers(1, 40),
)
def test_each_stream_is_replayed_by_itself_and_in_order(
    events: list[tuple[int, bytes]], max_events: int, max_bytes: int
) -> None:
    log = EventLog(max_events, max_bytes)
    places = [log.add(stream, data) for stream, data in events]
    assert len(set(places)) == len(places)
    kept = list(zip(places, events, strict=True))
    while len(kept) > max_events or sum(len(data) for _, (_, data) in kept) > max_bytes:
        del kept[0]
    assert len(log) == len(kept)
    for stream in (1, 2, 3):
        of_stream = [place for place in places if place.stream == stream]
        still = [(place, data) for place, (_, data) in kept if place.stream == stream]
        for place in (Place(stream, 0), *of_stream):
            later = [one for one in of_stream if one.number > place.number]
            replayed = [data for one, data in still if one.number > place.number]
            if len(replayed) == len(later):
                log.check(place)
                assert rest(log, place) == replayed
            else:
                with pytest.raises(UnknownEvent, match="no longer kept"):
                    log.check(place)


def test_an_event_that_was_never_sent_is_not_there() -> None:
    log = EventLog()
    assert log.add(1, b"a") == Place(1, 1)
    log.check(Place(1, 1))
    for place in (Place(1, 2), Place(2, 1)):
        with pytest.raises(UnknownEvent, match="no event"):
            log.check(place)


def test_a_stream_can_be_forgotten() -> None:
    log = EventLog(max_bytes=3)
    for stream, data in ((1, b"aa"), (2, b"b"), (1, b"")):
        log.add(stream, data)
    log.forget(1)
    assert (len(log), rest(log, Place(2, 0))) == (1, [b"b"])
    log.add(2, b"cc")
    assert rest(log, Place(2, 0)) == [b"b", b"cc"]


@given(st.integers(1, 10**12), st.integers(0, 10**12))
def test_an_id_can_be_read_back(stream: int, number: int) -> None:
    assert read_place(str(Place(stream, number))) == Place(stream, number)


@pytest.mark.parametrize("text", ["", "1", "1-", "-1", "1-1-1", "0-1", "01-1", "1-01", "a-b", "1-1 ", "٣-١"])
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(UnknownEvent, match="gave no such event id"):
        read_place(text)
