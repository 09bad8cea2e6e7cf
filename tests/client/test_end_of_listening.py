"""The server ends a subscription on stdio: `notifications/cancelled` first, and the result behind it."""

from __future__ import annotations

import anyio
import pytest
from checked import simulate_checked

from mcpsim import Client, Delay, Server, Stdio
from mcpsim.client.listening import LAST_RESULT_S
from mcpsim.server.subscriptions import END_OF_SUBSCRIPTIONS

URI = "desk://board"


@pytest.mark.parametrize("late_ms", [0, 200, 5_000])
def test_who_leaves_at_once_still_takes_the_result(late_ms: int) -> None:
    server = Server("desk", subscribe=True)
    server.resource(URI, name="board")(lambda: "notes")

    async def story(client: Client) -> float:
        async with client.listen(resource_subscriptions=[URI]) as subscription:
            server.changes.publish(END_OF_SUBSCRIPTIONS)
            async for _ in subscription:
                raise AssertionError("Nothing has changed.")
            ended = anyio.current_time()
        return anyio.current_time() - ended

    faults = [Delay("result of subscriptions/listen", by_ms=late_ms)] if late_ms else []
    run = simulate_checked(story, server=server, transport=Stdio(latency_ms=5), faults=faults)
    assert run.value == pytest.approx(min(late_ms / 1000, LAST_RESULT_S), abs=0.01)
    notes = [event.detail["text"] for event in run.recording.events if event.kind == "note" and event.detail]
    too_late = ["Ignored: an answer to #1, for which nobody waits."]
    assert notes == (too_late if late_ms / 1000 > LAST_RESULT_S else [])
