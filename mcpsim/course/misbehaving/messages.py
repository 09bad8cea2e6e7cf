"""Peers that misbehave in the messages themselves: shapes, ids, `_meta`, errors."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving.base import Misbehaviour

MESSAGES: Final[tuple[Misbehaviour, ...]] = ()
