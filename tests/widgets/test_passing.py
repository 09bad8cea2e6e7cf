"""What a gateway passes on, and what it answers by itself."""

from __future__ import annotations

from mcpsim.course import MISBEHAVING
from mcpsim.messages import Response
from mcpsim.recording import Recording, events
from mcpsim.widgets import CacheTimeline
from mcpsim.widgets.passing import passing_of
from mcpsim.widgets.reading import read
from mcpsim.widgets.view import player_data


def from_the_cache(recording: Recording) -> set[int]:
    """The frames that a gateway sends right after it said that it has the answer."""
    found: set[int] = set()
    said = False
    for event in recording.events:
        if event.kind == events.NOTE:
            said = said or "is answered from the cache" in str((event.detail or {}).get("text"))
        elif event.kind == events.SENT and event.party == "gateway" and said:
            found.add(event.frame)
            said = False
    return found


def test_after_an_answer_of_its_own_a_gateway_passes_on_the_next_request_and_not_that_one() -> None:
    # Ada and Ben ask for the same thing again and again: some of it comes from the gateway's cache.
    recording = CacheTimeline(gateway=True, caches="none", ttl_ms=20_000).recording
    passing = passing_of(recording, read(recording))
    assert len(from_the_cache(recording)) > 1
    assert passing.own == from_the_cache(recording)
    at = {frame.number: frame.sent_us for frame in recording.frames}
    # Each is passed on at once, and not something that came long before.
    assert {at[onward] - at[came_in] for onward, came_in in passing.origins.items()} == {20_000}
    answered = {frame.number for frame in recording.frames if frame.sender == "gateway"} - passing.own
    assert answered == set(passing.origins)


def rules_of_the_gateway(recording: Recording) -> list[str]:
    """What is said of each result that the gateway sends on."""
    data = player_data(recording)
    sent = {frame.number for frame in recording.frames if frame.sender == "gateway"}
    results = {frame.number for frame in recording.frames if isinstance(frame.parsed, Response)} & sent
    return [data["texts"][step["rule"]][0] for step in data["steps"] if step.get("frame") in results]


def test_a_gateway_that_shares_what_is_private_is_told_of_as_it_is() -> None:
    recording = MISBEHAVING["gateway-shares-what-is-private"].play().recording
    notes = [(event.detail or {})["text"] for event in recording.events if event.kind == events.NOTE]
    assert notes == [
        "resources/read is answered from the cache: the result is private, and fresh for another 29960 ms."
    ]
    passed_on, own = rules_of_the_gateway(recording)
    assert "One that is “private” MUST NOT be shared" in passed_on
    assert own.startswith("A result with the `cacheScope` “private” MAY be used again for the same")


def test_the_result_of_a_retry_that_is_passed_on_must_not_be_kept() -> None:
    recording = MISBEHAVING["gateway-keeps-the-result-of-a-retry"].play().recording
    _, retry, _ = rules_of_the_gateway(recording)
    assert "MUST NOT be cached" in retry


def test_a_gateway_that_answers_by_itself_does_not_remember_nothing() -> None:
    untold = player_data(MISBEHAVING["gateway-keeps-the-result-of-a-retry"].play().recording)
    assert untold["nothing"]["gateway"] == "Not known: it answers by itself, and does not say what it keeps."
    told = player_data(MISBEHAVING["gateway-shares-what-is-private"].play().recording)
    assert told["nothing"]["gateway"] == "Nothing: it passes messages on."
