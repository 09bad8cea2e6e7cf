"""The official SDK's client and server break no rule when they talk to each other, as a tap records it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp
import mcp_types as types
import pytest
from mcp.client.stdio import StdioServerParameters

from mcpsim.audit import Report, audit
from tests.interop.serving import serving
from tests.interop.test_matrix import (
    IMPORTS,
    MODERN,
    PATIENT_S,
    Cell,
    Theirs,
    answer_to,
    expected,
    the_story,
)
from tests.support.warm_servers import Warm

TAP = Path(__file__).parent / "taps.py"
CELLS = [
    Cell("sdk", "sdk", transport, era)
    for transport in ("stdio", "http")
    for era in ("legacy", "modern", "auto")
]
# What the SDK does that the specification advises against.
RECOMMENDED = {
    "cancelled-request-not-answered-legacy": "Its server answers a request that was cancelled with an error.",
}


def rows_of(path: Path) -> list[dict[str, Any]]:
    """What the tap has written down."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def address(warm: Warm) -> Iterator[str]:
    """The SDK's server on HTTP: what it remembers, it remembers by the names of the cells."""
    with serving(warm([*CELLS[-1].command, "--http"], *IMPORTS["sdk"])) as address:
        yield address


async def play(server: StdioServerParameters | str, cell: Cell) -> dict[str, Any]:
    """The story of the matrix, played by the SDK's client."""
    sending, messages = anyio.create_memory_object_stream[Any](1_000)

    async def elicit(context: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={**answer_to(asked.message)})

    async def take(message: Any) -> None:
        sending.send_nowait(message)

    with anyio.fail_after(2 * PATIENT_S):
        async with mcp.Client(
            server,
            mode=MODERN if cell.era == "modern" else cell.era,
            read_timeout_seconds=PATIENT_S,
            elicitation_callback=elicit,
            message_handler=take,
        ) as client:
            return await the_story(Theirs(client, messages), cell.name)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
@pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed")
def test_nothing_that_must_hold_is_broken(
    cell: Cell, tmp_path: Path, request: pytest.FixtureRequest, warm: Warm
) -> None:
    trace = tmp_path / "trace.jsonl"
    tap = [sys.executable, str(TAP), cell.transport, str(trace)]
    if cell.transport == "stdio":
        command, *words = warm([*tap, *warm(cell.command, *IMPORTS["sdk"])])
        seen = anyio.run(play, StdioServerParameters(command=command, args=words), cell)
    else:
        with serving(warm([*tap, request.getfixturevalue("address")])) as tapped:
            seen = anyio.run(play, tapped, cell)
    assert seen == expected(cell)
    rows = rows_of(trace)
    assert len(rows) > 30
    assert_unbroken(audit(rows))


def assert_unbroken(report: Report) -> None:
    assert report.skipped == ()
    assert report.broken == (), report
    assert {one.rule for one in report.of_level("SHOULD")} <= RECOMMENDED.keys(), report
