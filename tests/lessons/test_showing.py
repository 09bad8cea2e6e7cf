"""The texts that lessons print: one message, two runs beside each other, the session's table, recordings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mcpsim import Client, Player, Run, StreamableHttp, simulate
from mcpsim.course import STORIES, help_desk, phase_table, recorded, show, side_by_side
from mcpsim.eras.legacy import Arrival, Phase, next_step
from mcpsim.widgets import CacheTimeline, Comparison


@pytest.fixture(scope="module")
def legacy() -> Run:
    return STORIES["two-kinds-of-error"].play(era="legacy")


@pytest.fixture(scope="module")
def modern() -> Run:
    return STORIES["two-kinds-of-error"].play(era="modern")


def test_a_message_is_found_by_its_name_and_shown_in_full(
    legacy: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    show(legacy, "initialize")
    where, _, body = capsys.readouterr().out.partition("\n")
    assert where == "client → server, 0 ms"
    assert json.loads(body)["params"]["clientInfo"] == {"name": "workbook-client", "version": "1.0.0"}


def test_answers_are_found_by_what_was_asked(legacy: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for nth, member in ((1, "result"), (2, "error")):
        show(legacy, "result of tools/call", nth=nth)
        where, _, body = capsys.readouterr().out.partition("\n")
        assert where.startswith("server → client")
        assert member in json.loads(body)


def test_over_http_the_head_is_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    run = STORIES["first-call"].play(era="modern", transport=StreamableHttp())
    show(run.recording, "tools/call")
    head, _, body = capsys.readouterr().out.partition("\n\n")
    assert head.splitlines()[1:2] == ["POST /mcp"]
    assert "Mcp-Name: find_ticket" in head.splitlines()
    assert json.loads(body)["id"] == 2
    show(run, "result of tools/call")
    assert capsys.readouterr().out.splitlines()[1] == "HTTP 200"


def test_what_is_no_json_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    async def send_bytes(client: Client) -> None:
        await client.send_raw(b"\xff{")

    show(simulate(send_bytes, server=help_desk()), "not a message")
    assert capsys.readouterr().out.splitlines()[1:] == ["\\xff{"]


@pytest.mark.parametrize(("name", "nth"), [("tools/list", 1), ("initialize", 2), ("initialize", 0)])
def test_what_is_not_there_is_named_with_what_is(legacy: Run, name: str, nth: int) -> None:
    with pytest.raises(LookupError, match="initialize, result of initialize, notifications/initialized"):
        show(legacy, name, nth=nth)


def test_two_runs_stand_beside_each_other(legacy: Run, modern: Run) -> None:
    assert side_by_side(old=legacy, new=modern).splitlines() == [
        "old: 7 messages               new: 4 messages",
        "→ initialize #1",
        "← result #1",
        "→ notifications/initialized",
        "→ tools/call #2               → tools/call #1",
        "← result #2                   ← result #1",
        "→ tools/call #3               → tools/call #2",
        "← error -32602 #3             ← error -32602 #2",
    ]


def test_what_only_the_right_run_has_stands_alone_on_the_right() -> None:
    plain = STORIES["first-call"].play(era="modern")
    probing = STORIES["first-call"].play(era="auto")
    lines = side_by_side(modern=plain, auto=probing).splitlines()
    assert [line for line in lines if line.startswith(" ")] == [
        f"{'':<21}→ server/discover #1",
        f"{'':<21}← result #1",
    ]


def test_it_takes_two(legacy: Run) -> None:
    with pytest.raises(ValueError, match="two runs, not 1"):
        side_by_side(only=legacy)


@pytest.mark.parametrize(
    "shown",
    [
        lambda value: show(value, "ping"),
        lambda value: side_by_side(left=value, right=value),
        lambda value: Player(value),
        lambda value: Comparison(value, value),
        lambda value: CacheTimeline(value),
    ],
    ids=["show", "side_by_side", "Player", "Comparison", "CacheTimeline"],
)
@pytest.mark.parametrize("value", [3, "run", [None]], ids=str)
def test_what_is_no_run_is_refused(shown: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(
        TypeError, match=r"takes a run, as `simulate` returns it, or a recording; not "
    ) as raised:
        shown(value)
    assert str(raised.value).endswith(f"{value!r}.")


def test_the_table_says_what_the_state_machine_does() -> None:
    phase, rows = "", []
    for line in phase_table().splitlines():
        if line.startswith(" "):
            rows.append((phase, line[4:30].strip(), line[30:60].strip(), line[60:].strip()))
        else:
            phase = line
    expected = []
    for phase in (Phase.NEW, Phase.INITIALIZING, Phase.OPERATING):
        for arrival in Arrival:
            action, after = next_step(phase, arrival)
            expected.append((str(phase), str(arrival), str(action), "" if after is phase else f"→ {after}"))
    assert rows == expected


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_recordings_of_a_real_server_can_be_read(era: str) -> None:
    recording = recorded(f"sdk_server_{era}")
    assert recording.header["source"] == "live"
    assert recording.header["era"] == {"client": era}
    assert len(recording.frames) > 8


def test_a_recording_that_is_not_there_is_refused() -> None:
    with pytest.raises(LookupError, match="no recording of the name 'sdk_server'"):
        recorded("sdk_server")
