"""Peers that misbehave in opening, versions and capabilities."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving.base import Misbehaviour

LIFECYCLE: Final[tuple[Misbehaviour, ...]] = ()
