"""What is said when a response stream ends: with its answer sent, nothing is lost."""

from __future__ import annotations

import pytest

from mcpsim import StreamableHttp
from mcpsim.course import STORIES
from mcpsim.widgets import player_data


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_server_that_answers_and_then_closes_loses_nothing(era: str) -> None:
    run = STORIES["report-with-progress"].play(era=era, transport=StreamableHttp())  # type: ignore[arg-type]
    data = player_data(run.recording)
    (closed,) = [step for step in data["steps"] if step["kind"] == "closed"]
    assert closed["from"] == "server"
    assert "before the answer" not in closed["what"]
    assert "lost" not in data["texts"][closed["rule"]][0]


def test_a_client_that_closes_early_cancels_in_the_modern_era() -> None:
    run = STORIES["report-stopped"].play(era="modern", transport=StreamableHttp())
    data = player_data(run.recording)
    (closed,) = [step for step in data["steps"] if step["kind"] == "closed"]
    assert closed["from"] == "client"
    assert "before the answer" in closed["what"]
    assert "signal to cancel" in data["texts"][closed["rule"]][0]
