"""The benchmarks run, and print what they say. No test asks how fast it is: that takes a quiet machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.warm_servers import Warm

HERE = Path(__file__).parent

Printed = Callable[..., Any]


@pytest.fixture
def printed(warm: Warm) -> Printed:
    """Run a script, in a process that need not import; gives what it prints as JSON."""

    def printed(script: str, *options: str, imports: Sequence[str] = ()) -> Any:
        command = warm([sys.executable, str(HERE / script), *options], *imports)
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)

    return printed


@pytest.mark.parametrize("handler", ["def", "async"])
def test_against_the_sdk(handler: str, printed: Printed) -> None:
    options = ("--calls", "20", "--rounds", "2", "--handler", handler)
    found = printed("against_sdk.py", *options, imports=["mcp.server.mcpserver"])
    rates = ["ours_per_s", "sdk_legacy_per_s", "sdk_auto_per_s"]
    assert list(found) == [*rates, "ratio", "ratio_of_best"]
    assert all(isinstance(value, float) and value > 0 for value in found.values())


def test_floor(printed: Printed) -> None:
    found = printed("floor.py", "--times", "20", "--rounds", "1")
    parts = ["standard_json", "pydantic_json", "anyio_on_asyncio", "anyio_on_our_loop", "futures_on_our_loop"]
    assert list(found) == [*parts, "our_json", "our_call"]
    assert all(isinstance(value, float) and value >= 0 for value in found.values())


def test_scaling(printed: Printed) -> None:
    found = printed("scaling.py", "--calls", "10")
    assert list(found) == ["sizes", "time_growth", "memory_growth"]
    (size,) = found["sizes"]
    assert size["calls"] == 10
    assert size["us_per_call"] > 0
    assert size["jsonl_bytes_per_call"] > 500
    assert (found["time_growth"], size["bytes_per_call"] >= 0) == (1.0, True)


def test_audit_rate(printed: Printed) -> None:
    found = printed("audit_rate.py", "--messages", "20", "40", "--rounds", "1")
    assert list(found) == ["long", "mixed"]
    rates = ["audit_per_s", "parse_per_s", "validate_per_s"]
    for trace in found.values():
        assert list(trace) == ["sizes", "growth"]
        assert list(trace["sizes"]) == ["20", "40"]
        for size in trace["sizes"].values():
            assert list(size) == [*rates, "ratio", "strict_ratio"]
            assert all(isinstance(value, float) and value > 0 for value in size.values())
            assert size["ratio"] == pytest.approx(size["parse_per_s"] / size["audit_per_s"])
        assert trace["growth"] > 0


@pytest.mark.browser
def test_player_against_mermaid(printed: Printed) -> None:
    found = printed(
        "player_against_mermaid.py", "--messages", "6", "--rounds", "1", "--long", "600", "--moves", "40"
    )
    assert list(found) == ["6", "600"]
    long = ["python_ms", "kilobytes", "page_ms", "scrub_ms", "scrub_work_ms", "absent", "all_ms"]
    assert list(found["600"]) == long
    assert all(value > 0 for name, value in found["600"].items() if name != "absent")
    for name in ("open", "shown", "step"):
        ours, theirs = found["6"][f"{name}_ms"], found["6"][f"mermaid_{name}_ms"]
        assert ours > 0
        assert found["6"][f"{name}_ratio"] == pytest.approx(theirs / ours)
