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

from tests.support import warm_kernels

os.environ["MCPSIM_PROGRESS"] = "off"

if sys.dont_write_bytecode:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        compileall.compile_dir(Path(__file__).parent / "mcpsim", quiet=1)
    # Processes that the tests start are told by their environment, as before.
    sys.dont_write_bytecode = False

warm_kernels.install()
