"""Import jsonschema quickly, also where JupyterLab is installed.

JupyterLab brings along `rfc3987_syntax`, which jsonschema then uses for two formats of addresses. That
package builds a grammar while it is imported, and that takes seconds: in the middle of a run, or between a
click and its answer. Nearly nobody needs the two formats, so here it is imported when one of them is checked.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

SLOW: Final = "rfc3987_syntax"


class _Later(ModuleType):
    """Stands in for the package while jsonschema is imported, and keeps standing in there."""

    @staticmethod
    def is_valid_syntax(term: str, value: Any) -> bool:
        """What the package's function of this name says."""
        __import__(SLOW)
        return bool(sys.modules[SLOW].is_valid_syntax(term, value))


def import_jsonschema() -> None:
    """Import jsonschema, if nobody has done so yet. Call it before each late `import jsonschema`."""
    if "jsonschema" in sys.modules or SLOW in sys.modules or find_spec(SLOW) is None:
        return
    later = sys.modules[SLOW] = _Later(SLOW)
    try:
        __import__("jsonschema")
    finally:
        if sys.modules.get(SLOW) is later:
            del sys.modules[SLOW]
