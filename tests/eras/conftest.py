"""The helpers of tests/server serve here too."""

from __future__ import annotations

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).parents[1] / "server" / "conftest.py"))
