"""The tests of answers that the modules share: see `answers.py`."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.exercises.answers")

from tests.exercises import answers  # noqa: E402 - after it is registered

ROWS = {
    answers.test_what_is_right_passes: (("name", "answer"), answers.right),
    answers.test_what_is_wrong_fails_for_its_reason: (("name", "answer", "seen", "why"), answers.wrong),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the shared tests the rows of the module that has taken them over."""
    if metafunc.function in ROWS:
        names, some = ROWS[metafunc.function]
        rows = some(metafunc.module.ALL)
        metafunc.parametrize(names, rows, ids=[f"{row[0]}-{number}" for number, row in enumerate(rows)])
