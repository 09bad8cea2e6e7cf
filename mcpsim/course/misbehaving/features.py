"""Peers that misbehave in tools, resources, prompts, completion."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving import offers, tools
from mcpsim.course.misbehaving.base import Misbehaviour

FEATURES: Final[tuple[Misbehaviour, ...]] = (
    *tools.TOOLS,
    *tools.CHANGES,
    *offers.RESOURCE_PEERS,
    *offers.PROMPT_PEERS,
    *offers.COMPLETION_PEERS,
)
