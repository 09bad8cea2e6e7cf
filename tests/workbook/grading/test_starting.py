"""Forked processes and those that start anew are alike, and each ends when it has to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcpsim.workbook.grading.starting import Start, fork_server, start_anew
from tests.workbook.grading.conftest import server_of


@pytest.mark.parametrize("is_forked", [True, False], ids=["forked", "anew"])
def test_one_that_waits_is_ended_and_lets_go_of_its_output(
    is_forked: bool, forks: Start, tmp_path: Path
) -> None:
    theirs_to_read, ours_to_write = os.pipe()
    ours_to_read, theirs_to_write = os.pipe()
    end = (forks if is_forked else start_anew)(tmp_path, theirs_to_read, theirs_to_write)
    os.close(theirs_to_read)
    os.close(theirs_to_write)
    os.set_blocking(ours_to_read, False)
    # It waits for its job.
    with pytest.raises(BlockingIOError):
        os.read(ours_to_read, 1)
    end()
    assert os.read(ours_to_read, 1) == b""
    os.close(ours_to_read)
    os.close(ours_to_write)


def test_a_fork_server_ends_with_its_block() -> None:
    with fork_server() as start:
        server = server_of(start)
        server._process = process = server._begin()
        assert process.poll() is None
    assert process.returncode is not None
