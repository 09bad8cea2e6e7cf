"""The official conformance suite, played against our server and our client over real sockets.

All that a revision requires must pass, with every SHOULD kept. What the suite plays without scoring it
(extensions, scenarios that are younger than the revision or not finished) is reported and decides nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.suite import Check, Outcome, Report, Suite
from tests.support.warm_servers import Warm

HERE = Path(__file__).parent

# How many scenarios each revision requires, without those about OAuth.
OF_SERVERS = {"2026-07-28": 37, "2025-11-25": 30}
OF_CLIENTS = {"2026-07-28": 7, "2025-11-25": 4}

Keep = Callable[[Report], Report]


@pytest.mark.parametrize("revision", OF_SERVERS)
def test_our_server(revision: str, suite: Suite, url: str, results: Path, keep: Keep) -> None:
    report = keep(suite.of_server(url, revision, results / f"server-{revision}"))
    assert len(report.required) == OF_SERVERS[revision]
    assert_all_passed(report)


@pytest.mark.parametrize("revision", OF_CLIENTS)
def test_our_client(revision: str, suite: Suite, results: Path, keep: Keep, warm: Warm) -> None:
    command = warm([sys.executable, str(HERE / "client.py")])
    report = keep(suite.of_client(command, revision, results / f"client-{revision}"))
    assert len(report.required) == OF_CLIENTS[revision]
    assert_all_passed(report)


def assert_all_passed(report: Report) -> None:
    left = [one for one in report.required if one.verdict != "passed"]
    assert not left, f"{report.table()}\n\n{report.output[-5000:]}"


@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [
        (("SUCCESS", "INFO", "SKIPPED"), "passed"),
        (("SUCCESS", "WARNING"), "warned"),
        (("SUCCESS", "WARNING", "FAILURE"), "failed"),
        (("SKIPPED", "INFO"), "not played"),
        ((), "not played"),
    ],
)
def test_only_a_success_without_a_fault_is_a_pass(statuses: tuple[str, ...], verdict: str) -> None:
    checks = tuple(Check(f"check-{number}", status, "") for number, status in enumerate(statuses))
    assert Outcome("scenario", True, "", checks).verdict == verdict


@pytest.mark.parametrize(
    ("checks", "is_late"),
    [
        ((("client-sse-retry-timing", "WARNING"), ("wire-schema-valid", "SUCCESS")), True),
        ((("client-sse-retry-timing", "FAILURE"), ("client-sse-last-event-id", "WARNING")), False),
        ((("client-sse-retry-timing", "SUCCESS"),), False),
    ],
)
def test_only_the_time_is_measured_again(checks: tuple[tuple[str, str], ...], is_late: bool) -> None:
    assert Outcome("scenario", True, "", tuple(Check(*one, "") for one in checks)).is_late == is_late


def test_a_server_that_is_not_there_passes_nothing(suite: Suite, tmp_path: Path) -> None:
    report = suite.of_server("http://127.0.0.1:9/mcp", "2025-11-25", tmp_path / "results")
    assert [one for one in report.required if one.verdict == "passed"] == []
    assert len(report.required) == OF_SERVERS["2025-11-25"]
