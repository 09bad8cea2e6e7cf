"""Makes the helpers of these folders known under their names: test folders are not packages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

HELPERS = {
    "talking": Path(__file__).with_name("talking.py"),
    "playing": Path(__file__).with_name("playing.py"),
    "checked": Path(__file__).parents[1] / "support" / "checked.py",
    "revisions": Path(__file__).with_name("revisions.py"),
}

for name, path in HELPERS.items():
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
