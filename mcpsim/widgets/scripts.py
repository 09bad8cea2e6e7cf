"""What runs in the browser: the files of `parts`, put one after the other into one plain ES module.

There is no build step. A name at the outermost level of a file belongs to all files of its module.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

#: What every widget draws with.
COMMON: Final = ("dom", "shapes", "kernel")
#: The styles of the player and of its features.
PLAYER_STYLES: Final = ("player", "diagram", "panes", "menu", "predict", "projector", "compare", "branch")
#: What a player can do beyond stepping, each in a file of its own.
FEATURES: Final = (
    "find",
    "folding",
    "scale",
    "predict",
    "projector",
    "compare",
    "branch",
    "share",
    "export",
    "menu",
)
#: The player: features.js names what is in the files before it.
PLAYER: Final = (
    *COMMON,
    "pieces",
    "clock",
    "heights",
    "bars",
    "diagram",
    "panes",
    "table",
    *FEATURES,
    "features",
    "player",
)


def part(name: str) -> str:
    """The text of one file, such as "dom.js"."""
    return (files("mcpsim.widgets") / "parts" / name).read_text("utf-8")


def script(parts: Sequence[str], exports: str = "") -> str:
    """One ES module.

    Args:
        parts: the names of its files without ".js", in order.
        exports: what it exports by default, such as "{ render }"; nothing where it is "".
    """
    text = "\n".join(part(f"{name}.js") for name in parts)
    return f"{text}\nexport default {exports};\n" if exports else text


def style(*parts: str) -> str:
    """One style sheet: what all widgets share, and then these files, named without ".css"."""
    return "\n".join(part(f"{name}.css") for name in ("theme", *parts))
