"""The suite, our server, and the reports, which are shown at the end of the test run and kept as files."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.suite import Report, Suite, install

HERE = Path(__file__).parent
START_S = 60.0
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
    words = [sys.executable, str(HERE / "server.py"), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, encoding="utf-8", cwd=HERE) as process:
        try:
            assert process.stdout is not None
            ready, _, _ = select.select([process.stdout], [], [], START_S)
            line = process.stdout.readline() if ready else ""
            assert "http://" in line, f"The server did not say its address, but {line!r}."
            yield line[line.index("http://") :].split()[0].rstrip(".")
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def keep(pytestconfig: pytest.Config, results: Path):
    """Show a report at the end, and keep it as a file."""

    def keep(report: Report) -> Report:
        pytestconfig.stash.setdefault(REPORTS, []).append(report)
        (results / f"{report.leg}-{report.revision}.txt").write_text(report.table() + "\n", encoding="utf-8")
        return report

    return keep
