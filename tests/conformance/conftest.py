"""The suite, our server, and the reports, which are shown at the end of the test run and kept as files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.suite import Report, Suite, install
from tests.interop.serving import serving

HERE = Path(__file__).parent
REPORTS = pytest.StashKey[list[Report]]()
RESULTS = "mcpsim-conformance-results"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORTS] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if reports := config.stash.get(REPORTS, []):
        terminalreporter.section("conformance")
        for report in reports:
            terminalreporter.write_line(report.summary())
        terminalreporter.write_line(f"All checks: {config.cache.mkdir(RESULTS)}/*.txt")


@pytest.fixture(scope="session")
def suite(pytestconfig: pytest.Config) -> Suite:
    """The official suite, installed."""
    return install(pytestconfig.cache.mkdir("mcpsim-conformance"))


@pytest.fixture(scope="session")
def results(pytestconfig: pytest.Config) -> Path:
    """Where the suite's own files and our reports are kept until the next run."""
    return pytestconfig.cache.mkdir(RESULTS)


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of our server, in a process of its own."""
    with serving([sys.executable, str(HERE / "server.py")]) as url:
        yield url


@pytest.fixture(scope="session")
def keep(pytestconfig: pytest.Config, results: Path) -> Callable[[Report], Report]:
    """Show a report at the end, and keep it as a file."""

    def keep(report: Report) -> Report:
        pytestconfig.stash.setdefault(REPORTS, []).append(report)
        (results / f"{report.leg}-{report.revision}.txt").write_text(report.table() + "\n", encoding="utf-8")
        return report

    return keep
