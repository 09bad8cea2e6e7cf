"""Peers that misbehave in progress, cancellation, subscriptions and other patterns."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving.base import Misbehaviour

PATTERNS: Final[tuple[Misbehaviour, ...]] = ()
