"""A plugin that pytest loads before those that are installed (`-p` in pyproject.toml).

nbval imports jsonschema, and with it a grammar that takes longer to make than all else that pytest imports.
"""

from __future__ import annotations

from mcpsim.utilities.jsonschema_import import import_jsonschema

import_jsonschema()
