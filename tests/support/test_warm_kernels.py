"""A forked kernel is one like any other."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from tests.support.warm_kernels import Kernel


class Running:
    """A kernel and its client, as nbval starts them."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager = manager
        self.client = client

    @property
    def process(self) -> Kernel:
        found = self.manager.provisioner.process
        assert isinstance(found, Kernel)
        return found

    def run(self, source: str) -> str:
        """What a cell prints, and what it raises."""
        found: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            content = message["content"]
            found.append(content.get("text", "") + content.get("ename", ""))

        self.client.execute_interactive(source, output_hook=hear, timeout=60)
        return "".join(found)


@contextmanager
def running(cwd: Path) -> Iterator[Running]:
    with open(os.devnull, "w") as nothing:
        manager, client = start_new_kernel(kernel_name="python3", stderr=nothing, cwd=str(cwd))
        yield Running(manager, client)
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as kernel:
        yield kernel


def test_a_cell_that_forgets_an_import_fails(kernel: Running) -> None:
    assert kernel.run("mcpsim") == "NameError"
    assert kernel.run("import sys\nprint('mcpsim' in sys.modules)") == "False\n"


def test_it_is_where_it_was_started_and_has_its_environment(
    kernel: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel.run("import os\nprint(os.getcwd())") == f"{tmp_path}\n"
    monkeypatch.setenv("ONLY_FOR_THE_NEXT", "one")
    asked = "import os\nprint(os.environ.get('ONLY_FOR_THE_NEXT'))"
    with running(tmp_path) as following:
        assert following.run(asked) == "one\n"
        assert kernel.run(asked) == "None\n"


def test_it_can_be_interrupted(kernel: Running) -> None:
    # By itself, so that it is busy when it happens.
    source = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)"
    assert kernel.run(source) == "KeyboardInterrupt"
    assert kernel.run("print(1)") == "1\n"


def test_it_ends_when_it_is_asked_to(kernel: Running) -> None:
    process = kernel.process
    assert process.poll() is None
    kernel.manager.shutdown_kernel(now=False)
    assert process.wait(10) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_one_that_is_killed_is_found_dead(kernel: Running) -> None:
    process = kernel.process
    process.kill()
    assert process.wait(10) == -signal.SIGKILL
    assert not kernel.manager.is_alive()
