"""The debug log of the official SDK's client, as it is written today, is read as what it tells of."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from types import ModuleType

import anyio
import mcp
import pytest

from mcpsim.audit import audit
from mcpsim.recording.readers import read_trace
from tests.support.warm_servers import Warm


@pytest.fixture
def url(load_beside: Callable[[str], ModuleType], warm: Warm) -> Iterator[str]:
    """A server of the official SDK, in a process of its own."""
    told = load_beside("test_interoperation.py")
    with load_beside("test_http_interoperation.py").a_server(
        warm([*told.THEIRS, "--http"], *told.SDK)
    ) as url:
        yield url


async def talk(url: str) -> None:
    async with mcp.Client(url, mode="legacy") as client:
        await client.list_tools()
        await client.call_tool("count", {"to": 2}, progress_callback=_nothing)


async def _nothing(progress: float, total: float | None, message: str | None) -> None:
    del progress, total, message


def test_a_log_of_the_sdk(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        anyio.run(talk, url)
    trace = read_trace(caplog.text.encode())
    assert trace.format == "python-sdk"
    assert trace.skipped == ()
    said = [(row["from"], row["message"].get("method", row["message"].get("id"))) for row, _ in trace.rows]
    asked = [name for side, name in said if side == "client"]
    assert asked == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    # Answers that come in a stream of events are in the log.
    assert [name for side, name in said if side == "server"] == [
        1,
        2,
        "notifications/progress",
        "notifications/progress",
        3,
    ]
    assert audit(trace).broken == ()
