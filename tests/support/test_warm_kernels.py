"""A forked kernel is one like any other."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbval.kernel import RunningKernel

from tests.support.warm_kernels import Kernel


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[RunningKernel]:
    kernel = RunningKernel("python3", cwd=str(tmp_path))
    yield kernel
    kernel.stop()


def run(kernel: RunningKernel, source: str) -> str:
    """What a cell prints, and what it raises."""
    number = kernel.execute_cell_input(source)
    found = ""
    while True:
        message = kernel.get_message("iopub", timeout=60)
        if message["parent_header"].get("msg_id") != number:
            continue
        content = message["content"]
        found += content.get("text", "") + content.get("ename", "")
        if content.get("execution_state") == "idle":
            return found


def process_of(kernel: RunningKernel) -> Kernel:
    found = kernel.km.provisioner.process
    assert isinstance(found, Kernel)
    return found


def test_a_cell_that_forgets_an_import_fails(kernel: RunningKernel) -> None:
    assert run(kernel, "mcpsim") == "NameError"
    assert run(kernel, "import sys\nprint('mcpsim' in sys.modules)") == "False\n"


def test_it_is_where_it_was_started_and_has_its_environment(
    kernel: RunningKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(kernel, "import os\nprint(os.getcwd())") == f"{tmp_path}\n"
    monkeypatch.setenv("ONLY_FOR_THE_NEXT", "one")
    following = RunningKernel("python3", cwd=str(tmp_path))
    asked = "import os\nprint(os.environ.get('ONLY_FOR_THE_NEXT'))"
    assert run(following, asked) == "one\n"
    assert run(kernel, asked) == "None\n"
    following.stop()


def test_it_can_be_interrupted(kernel: RunningKernel) -> None:
    # By itself, so that it is busy when it happens.
    source = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)"
    assert run(kernel, source) == "KeyboardInterrupt"
    assert run(kernel, "print(1)") == "1\n"


def test_it_ends_when_it_is_asked_to(kernel: RunningKernel) -> None:
    process = process_of(kernel)
    assert process.poll() is None
    kernel.km.shutdown_kernel(now=False)
    assert process.wait(10) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_one_that_is_killed_is_found_dead(kernel: RunningKernel) -> None:
    process = process_of(kernel)
    process.kill()
    assert process.wait(10) == -signal.SIGKILL
    assert not kernel.km.is_alive()
