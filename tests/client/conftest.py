"""The helpers of tests/server serve here too, and one of our own."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

runpy.run_path(str(Path(__file__).parents[1] / "server" / "conftest.py"))

if "far_ends" not in sys.modules:
    spec = importlib.util.spec_from_file_location("far_ends", Path(__file__).with_name("far_ends.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["far_ends"] = module
    spec.loader.exec_module(module)
