"""Peers that misbehave in named ways: each breaks one rule, and the audit says which.

How to add one: see `mcpsim.course.misbehaving.base`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.misbehaving.asking import ASKING
from mcpsim.course.misbehaving.base import Misbehaviour, collected
from mcpsim.course.misbehaving.caching import CACHING
from mcpsim.course.misbehaving.features import FEATURES
from mcpsim.course.misbehaving.gateways import GATEWAYS
from mcpsim.course.misbehaving.http import HTTP
from mcpsim.course.misbehaving.lifecycle import LIFECYCLE
from mcpsim.course.misbehaving.messages import MESSAGES
from mcpsim.course.misbehaving.pagination import PAGINATION
from mcpsim.course.misbehaving.patterns import PATTERNS
from mcpsim.course.misbehaving.tasks import TASKS

MISBEHAVING: Final[Mapping[str, Misbehaviour]] = collected(
    MESSAGES, LIFECYCLE, HTTP, PATTERNS, ASKING, FEATURES, CACHING, PAGINATION, TASKS, GATEWAYS
)

__all__ = ["MISBEHAVING", "Misbehaviour"]
