"""What `.ci/run` makes of pytest's report: a test that did not run is a failure."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

KINDS = ("tests.browser.test_lab", "notebooks.00_start_here.ipynb", "exercises.01_messages.ipynb")


def case(kind: str, outcome: str = "") -> str:
    return f'<testcase classname="{kind}" name="one">{outcome}</testcase>'


ALL = [case(kind) for kind in KINDS]


@pytest.mark.parametrize(
    ("cases", "code", "sentences"),
    [
        (ALL, 0, ["3 passed, 0 failed, 0 skipped"]),
        (
            [*ALL, case("tests.x", "<failure/>"), case("tests.y", "<error/>")],
            1,
            ["3 passed, 2 failed, 0 skipped"],
        ),
        (
            [*ALL, case("tests.x", "<skipped/>")],
            1,
            ["A skipped test is a failure here: tests.x::one", "3 passed, 0 failed, 1 skipped"],
        ),
        (ALL[1:], 1, ["No test of tests.browser ran."]),
        ([case(KINDS[0]), case(KINDS[1], "<skipped/>"), case(KINDS[2])], 1, ["No test of notebooks ran."]),
        ([], 1, ["0 passed, 0 failed, 0 skipped"]),
    ],
)
def test_the_report_is_judged(
    run, project: Path, tmp_path: Path, cases: list[str], code: int, sentences: list[str]
) -> None:
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    done = run(sys.executable, str(project / ".ci" / "every_test_ran.py"), str(report))
    assert done.returncode == code, done.stdout
    for sentence in sentences:
        assert sentence in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1].endswith("skipped")
