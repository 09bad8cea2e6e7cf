"""The matrix of eras: each cell says what its run says."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.client.client import Client
from mcpsim.eras.revisions import ServerEra
from mcpsim.recording.run import Run
from mcpsim.server.server import Server
from mcpsim.simulation.simulate import simulate
from mcpsim.transports.faults import Drop
from mcpsim.widgets.era_matrix import EraMatrix
from mcpsim.widgets.era_matrix_view import CLIENTS, EXPLAINED, SERVERS, outcome_of

WORKS = {
    ("legacy", "legacy"): ("2025-11-25", 4),
    ("legacy", "both"): ("2025-11-25", 4),
    ("modern", "modern"): ("2026-07-28", 1),
    ("modern", "both"): ("2026-07-28", 1),
    ("auto", "legacy"): ("2025-11-25", 6),
    ("auto", "modern"): ("2026-07-28", 3),
    ("auto", "both"): ("2026-07-28", 3),
}


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_what_works_and_what_does_not(transport: str) -> None:
    outcomes = EraMatrix(transport=transport).outcomes
    assert {pair for pair, one in outcomes.items() if one.works} == set(WORKS)
    for pair, (revision, before) in WORKS.items():
        found = outcomes[pair]
        assert (found.revision, found.before, found.code, found.error) == (revision, before, None, "")
    for pair in (("legacy", "modern"), ("modern", "legacy")):
        found = outcomes[pair]
        assert (found.revision, found.before, found.at_us) == ("", 1, None)
        assert str(found.code) in found.error


def test_a_legacy_client_is_told_which_versions_a_modern_server_has() -> None:
    assert "2026-07-28" in EraMatrix().outcomes["legacy", "modern"].error


def test_a_dual_era_client_probes_and_falls_back() -> None:
    matrix = EraMatrix()
    methods = [
        frame.parsed.method
        for frame in matrix.recording.frames
        if hasattr(frame.parsed, "method") and frame.sender == "client"
    ]
    assert methods == ["server/discover", "initialize", "notifications/initialized", "tools/call"]


def test_every_pair_is_explained_on_both_transports() -> None:
    assert set(EXPLAINED) == {(client, server) for client in CLIENTS for server in SERVERS}
    for transport in ("stdio", "http"):
        matrix = EraMatrix(transport=transport)
        for client, server in EXPLAINED:
            matrix.choose(client, server)
            assert matrix.shown["why"]


def test_choosing_plays_that_run_in_one_message() -> None:
    matrix = EraMatrix()
    matrix.cursor = 5
    matrix.asked = {"n": 1, "do": "choose", "client": "modern", "server": "both"}
    assert (matrix.shown["n"], matrix.shown["error"], matrix.cursor) == (1, "", 1)
    assert matrix.data["title"] == "Modern client, dual-era server" == matrix.recording.title
    assert [cell["chosen"] for row in matrix.shown["rows"] for cell in row["cells"]].index(True) == 5
    matrix.asked = {"n": 2, "do": "transport", "transport": "http"}
    assert matrix.recording.header["transport"] == "http"
    assert matrix.chosen == ("modern", "both")


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"do": "fly"},
        {"do": "choose"},
        {"do": "choose", "client": "modern", "server": "auto"},
        {"do": "choose", "client": 3, "server": []},
        {"do": "transport", "transport": "pigeon"},
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_in_words(wish: dict[str, Any]) -> None:
    matrix = EraMatrix()
    before = matrix.run
    matrix.asked = {"n": 1, **wish}
    assert matrix.shown["error"]
    assert matrix.run is before


def test_an_unknown_transport_is_refused() -> None:
    with pytest.raises(ValueError, match="stdio, http"):
        EraMatrix(transport="pigeon")


def test_another_server_is_asked_for_its_tools() -> None:
    def make(era: ServerEra) -> Server:
        server = Server("other", era=era)
        server.tool(name="one")(_one)
        return server

    matrix = EraMatrix(make)
    assert matrix.outcomes["modern", "modern"].works
    assert b'"tools/list"' in matrix.recording.to_jsonl().replace(b"\\", b"")


async def _one() -> str:
    """One."""
    return "1"


def test_a_run_without_an_answer() -> None:
    async def wait(client: Client) -> Any:
        """Call a tool, and wait for a second."""
        return await client.call_tool("one", timeout_s=1)

    server = Server("lost")
    server.tool(name="one")(_one)
    run: Run = simulate(wait, server=server, faults=[Drop("tools/call")], check=False)
    found = outcome_of(run)
    assert not found.works
    assert found.code is None
    assert found.before >= 1
    assert found.error


def test_the_same_text_every_time() -> None:
    assert EraMatrix().still_text() == EraMatrix().still_text()
    assert repr(EraMatrix()) == "EraMatrix(transport='stdio')"
    assert "✗ Modern server: fails" in EraMatrix().still_text()
    assert "<script" not in EraMatrix().still_html()
