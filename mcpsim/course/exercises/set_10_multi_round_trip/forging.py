"""What somebody does to a request state: write another time or name into it, or a part of another state."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Final

#: What stands between the parts of a state.
_SIGNS: Final = re.compile(r"([^A-Za-z0-9+/=_-]+)")
#: So many parts are exchanged at most.
MOST_PARTS: Final = 6


def forged(state: str, old: str, new: str) -> Iterator[str]:
    """The state with something else in it, wherever it can be read without a key.

    It is looked for in the state as it stands, and in each of its parts, read as Base64 or as hexadecimals.

    Args:
        state: what was sealed.
        old: a text that may be in it.
        new: what is written instead, as long as that.
    """
    if old in state:
        yield state.replace(old, new)
    parts = _SIGNS.split(state)
    for place, part in enumerate(parts):
        for changed in _in_part(part, old.encode(), new.encode()):
            yield "".join([*parts[:place], changed, *parts[place + 1 :]])


def mixed(state: str, other: str) -> Iterator[str]:
    """The state with one part of another one in its place, for each of the parts that differ.

    Of many parts only the first ones are exchanged.
    """
    parts, theirs = _SIGNS.split(state), _SIGNS.split(other)
    if len(parts) != len(theirs):
        return
    differ = [place for place, part in enumerate(parts) if part != theirs[place]]
    for place in differ[:MOST_PARTS]:
        made = "".join([*parts[:place], theirs[place], *parts[place + 1 :]])
        if made not in (state, other):
            yield made


def _in_part(part: str, old: bytes, new: bytes) -> Iterator[str]:
    try:
        data = bytes.fromhex(part)
    except ValueError:
        data = b""
    if old in data:
        yield data.replace(old, new).hex()
    padding = "=" * (-len(part) % 4)
    try:
        data = base64.b64decode(part + padding, b"-_" if set(part) & {"-", "_"} else None, validate=True)
    except ValueError:
        return
    if old in data:
        written = base64.b64encode(data.replace(old, new), b"-_" if set(part) & {"-", "_"} else None)
        yield written.decode().removesuffix(padding) if padding else written.decode()
