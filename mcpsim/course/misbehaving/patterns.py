"""Peers that misbehave in progress, cancellation, subscriptions and log messages."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.listening import LISTENING
from mcpsim.course.misbehaving.logging import LOGGING
from mcpsim.course.misbehaving.working import WORKING

PATTERNS: Final[tuple[Misbehaviour, ...]] = (*WORKING, *LISTENING, *LOGGING)
