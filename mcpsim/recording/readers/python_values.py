"""Python's own way of writing values (`repr`), turned into JSON, without running any of it.

Only what messages consist of is known: dicts, lists, strings, numbers, True, False, None, and objects written
as `Name(key=value, ...)`, which become objects of JSON. Everything else is refused.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any, Final

from mcpsim.recording import lines

# The escapes that `repr` writes, and no others.
_ESCAPE: Final = r"\\(?:[\\'nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"
_STRING: Final = rf"'(?:[^'\\]|{_ESCAPE})*+'|\"(?:[^\"\\]|{_ESCAPE})*+\""
_TOKEN: Final = re.compile(
    r"\s*(?:"
    rf"(?P<string>{_STRING})"
    r"|(?P<number>-?\d[\d.eE+-]*)"
    r"|(?P<open>[A-Za-z_]\w*\(|[{\[])"
    r"|(?P<key>[A-Za-z_]\w*)="
    r"|(?P<word>True|False|None)\b"
    r"|(?P<close>[)}\]])"
    r"|(?P<mark>[,:])"
    r")",
    re.ASCII | re.DOTALL,
)
_BYTES: Final = re.compile(rf"b(?:{_STRING})", re.ASCII)
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_PAIRS: Final = {"{": "}", "[": "]", "(": ")"}


class NotPython(ValueError):
    """A text is no value that is known here; the text says why."""


def read_repr(text: str, at: int = 0) -> Any:
    """Read one value that begins at this place; what comes after it is not looked at.

    A value without a class name, `key=value key=value`, which is how pydantic prints a model, is read too.

    Raises:
        NotPython: there is no such value.
    """
    parts: list[str] = []
    waiting: list[str] = []
    bare = re.compile(r"\s*[A-Za-z_]\w*=", re.ASCII).match(text, at) is not None
    if bare:
        parts.append("{")
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            if bare and not waiting and len(parts) > 1:
                break
            raise NotPython(f"it cannot be read from character {at + 1} on")
        at = match.end()
        if match["key"]:
            if bare and not waiting and len(parts) > 1:
                parts.append(",")
            parts.append(json.dumps(match["key"]) + ":")
            continue
        if match["open"]:
            if len(waiting) >= lines.MAX_DEPTH:
                raise NotPython(f"it is nested deeper than {lines.MAX_DEPTH} levels")
            waiting.append(_PAIRS[match["open"][-1]])
            parts.append("[" if match["open"] == "[" else "{")
        elif match["close"]:
            if not waiting or waiting.pop() != match["close"]:
                if bare and not waiting and len(parts) > 1:
                    break
                raise NotPython(f"a bracket does not fit at character {at}")
            parts.append("]" if match["close"] == "]" else "}")
        else:
            parts.append(_plain(match))
        if not waiting and not bare:
            break
    if bare:
        parts.append("}")
    try:
        return json.loads("".join(parts))
    except (ValueError, RecursionError):
        raise NotPython("it is no value of the known kinds") from None


def read_bytes_literal(text: str) -> bytes:
    """Read a literal such as `b'...'` that is the whole text.

    Raises:
        NotPython: it is none.
    """
    if not _BYTES.fullmatch(text):
        raise NotPython("it is no literal of bytes")
    return _literal(text)


def _plain(match: re.Match[str]) -> str:
    if match["string"] is not None:
        return json.dumps(_literal(match["string"]))
    return match["number"] or match["mark"] or _WORDS[match["word"]]


def _literal(text: str) -> Any:
    if "\\" not in text and text[0] != "b":
        return text[1:-1]
    try:
        # One literal of a string: there is nothing in it to nest, and nothing to run.
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise NotPython("a string in it cannot be read") from None
