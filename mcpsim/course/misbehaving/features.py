"""Peers that misbehave in tools, resources, prompts, completion, logging."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving.base import Misbehaviour

FEATURES: Final[tuple[Misbehaviour, ...]] = ()
