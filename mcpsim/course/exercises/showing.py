"""Show values, errors and texts of a learner: short, on one line, the same in every run."""

from __future__ import annotations

import html
import linecache
import re
import reprlib
import textwrap
import traceback
from typing import Any, Final

WIDTH: Final = 96
LONGEST: Final = 160

_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
_CODE: Final = re.compile(r"`([^`]+)`")


def show(value: object, length: int = LONGEST) -> str:
    """The value as Python writes it, cut to `length` characters, without memory addresses."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = length
    short.maxdict = short.maxlist = short.maxtuple = 12
    try:
        # reprlib cuts a string in the middle; for bytes and dicts of strings the end matters less.
        text = repr(value) if isinstance(value, bytes) else short.repr(value)
    except Exception:
        text = f"an object of type {type(value).__name__}"
    return cut(_ADDRESS.sub("", text), length)


def cut(text: str, length: int = LONGEST) -> str:
    """The text on one line, at most `length` characters long; what cannot be printed is escaped."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(_printable(character) for character in line[: length + 1])
    return line if len(line) <= length else line[: length - 1] + "…"


def _printable(character: str) -> str:
    # Half of a surrogate pair can neither be sent to a notebook nor written to a file.
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def name_of(function: object) -> str:
    """What a learner calls the function, for a sentence."""
    name = getattr(function, "__name__", None)
    return f"`{cut(name, 40)}`" if isinstance(name, str) and name != "<lambda>" else "Your function"


def describe_error(error: BaseException, function: object) -> str:
    """What was raised, and in which line of the learner's own code: the middle of a sentence, without a full
    stop of its own."""
    try:
        text = _ADDRESS.sub("", str(error))
    except Exception:
        text = ""
    said = f"{type(error).__name__}: {cut(text).removesuffix('.')}" if text else type(error).__name__
    return f"{said}{_own_line(error, function)}"


def _own_line(error: BaseException, function: object) -> str:
    # All cells of a notebook share their global names, and nobody else has them.
    own = getattr(_written(function), "__globals__", None)
    if own is None:
        return ""
    found = ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_globals is own:
            code = frame.f_code
            line = linecache.getline(code.co_filename, number, frame.f_globals).strip()
            found = f" (in `{code.co_name}`, line {number}{f': `{cut(line, 90)}`' if line else ''})"
    return found


def _written(function: Any) -> Any:
    """The function that somebody wrote, inside of a partial, a decorator's wrapper, or an object's class."""
    for _ in range(20):
        inner = getattr(function, "func", None) or getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    if hasattr(function, "__globals__"):
        return function
    return getattr(function.__class__, "__call__", function)  # noqa: B004


def wrap(label: str, text: str, indent: int = 6) -> str:
    """A labelled paragraph for the text form: `  Rule  …`, with a hanging indent."""
    margin = " " * (indent + 2)
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=f"  {label:<{indent}}",
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def inline(text: str) -> str:
    """Text as HTML: everything escaped, what stands in backticks as code."""
    return _CODE.sub(r"<code>\1</code>", html.escape(text))
