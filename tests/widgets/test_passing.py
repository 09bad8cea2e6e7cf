"""What a gateway passes on, and what it answers by itself."""

from __future__ import annotations

from mcpsim.recording import Recording, events
from mcpsim.widgets import CacheTimeline
from mcpsim.widgets.passing import passing_of
from mcpsim.widgets.reading import read


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
