"""Notebooks are run here to test them: nothing of that is a learner's progress.

Some hundred processes that the tests start import mcpsim. Where Python is told not to write bytecode, each of
them would compile it anew, which takes half of its time: so here it is compiled once. For the same reason
pytest may keep what it makes of the tests' own modules: each of several processes needs them all. And the
kernels of the notebooks are forked.
"""

from __future__ import annotations

import compileall
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm_kernels

os.environ["MCPSIM_PROGRESS"] = "off"

if sys.dont_write_bytecode:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        compileall.compile_dir(Path(__file__).parent / "mcpsim", quiet=1)
    # Processes that the tests start are told by their environment, as before.
    sys.dont_write_bytecode = False

warm_kernels.install()

#: A folder whose tests share what is expensive to open, a running JupyterLab: they are for one process.
TOGETHER = "tests/browser/lab"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where several processes share the tests out by the file, let them take such a folder as one file."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return TOGETHER if nodeid.startswith(f"{TOGETHER}/") else super()._split_scope(nodeid)

    return ByFileOrFolder(config, log)
