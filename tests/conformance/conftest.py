"""The suite, our server, and the reports, which are shown at the end of the test run and kept as files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.suite import Report, Suite, install
from tests.interop.serving import serving

HERE = Path(__file__).parent
REPORTS = pytest.StashKey[list[Report]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORTS] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for report in config.stash.get(REPORTS, []):
        terminalreporter.section(f"conformance: {report.leg}, {report.revision}")
        terminalreporter.write_line(report.table())


@pytest.fixture(scope="session")
def suite(pytestconfig: pytest.Config) -> Suite:
    """The official suite, installed."""
    return install(pytestconfig.cache.mkdir("mcpsim-conformance"))


@pytest.fixture(scope="session")
def results(pytestconfig: pytest.Config) -> Path:
    """Where the suite's own files and our reports are kept until the next run."""
    return pytestconfig.cache.mkdir("mcpsim-conformance-results")


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of our server, in a process of its own."""
    with serving([sys.executable, str(HERE / "server.py")]) as url:
        yield url


@pytest.fixture(scope="session")
def keep(pytestconfig: pytest.Config, results: Path):
    """Show a report at the end, and keep it as a file."""

    def keep(report: Report) -> Report:
        pytestconfig.stash.setdefault(REPORTS, []).append(report)
        (results / f"{report.leg}-{report.revision}.txt").write_text(report.table() + "\n", encoding="utf-8")
        return report

    return keep
