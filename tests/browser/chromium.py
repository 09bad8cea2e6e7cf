"""Where the browser of the tests is."""

from __future__ import annotations

import os
import shutil
from typing import Final

#: The first is the same browser without its window, whose own pages take more time than those of the tests.
NAMES: Final = ("chromium-headless-shell", "chromium")


def find_chromium() -> str | None:
    """The path of Chromium: as the environment variable `CHROMIUM` says, or from the PATH; None where there
    is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
