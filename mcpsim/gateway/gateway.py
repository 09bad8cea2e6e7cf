"""A gateway as it is described: what it does, and by which rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mcpsim.gateway.policies import (
    Choose,
    Forwarded,
    MayShare,
    Served,
    by_turns,
    is_public,
    unchanged,
    with_time_left,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """An HTTP intermediary between clients and the replicas of a server. It may serve many runs.

    It passes on what comes, both ways and as it comes, and decides by headers alone; to requests it adds a
    `Via` header. Only with `cache` does it look into bodies: those of requests whose `Mcp-Method` names a
    cacheable method, and the streams of responses, because a notification makes what it keeps stale.

    Args:
        cache: whether it keeps public results, and answers everybody from them while they are fresh.
            Private results, retries with input responses and results that came as a stream are never kept.
        sticky: whether it sends the requests of a legacy session to the replica that began the session.
        timeout_s: how long it waits for the head of a response, in seconds; then it answers 504.
        max_entries: how many results it keeps at most.
        choose: which replica gets a request that belongs to no session it knows.
        may_share: which results it may keep for everybody.
        served: what it gives out of what it keeps.
        forwarded: which headers go on, in both directions; `Via` is added after it.

    Raises:
        ValueError: a number makes no sense.
    """

    cache: bool = True
    sticky: bool = False
    timeout_s: float = 60.0
    max_entries: int = 1000
    choose: Choose = by_turns
    may_share: MayShare = is_public
    served: Served = with_time_left
    forwarded: Forwarded = unchanged

    def __post_init__(self) -> None:
        if not (math.isfinite(self.timeout_s) and self.timeout_s > 0):
            raise ValueError(f"timeout_s must be more than 0 seconds, not {self.timeout_s}.")
        if self.max_entries < 1:
            raise ValueError(f"max_entries must be 1 or more, not {self.max_entries}.")

    def describe(self) -> dict[str, Any]:
        """The gateway as plain JSON values, for a recording's header: rules of its own by their names."""
        rules = {"choose": by_turns, "may_share": is_public, "served": with_time_left, "forwarded": unchanged}
        own = {name: getattr(self, name) for name, usual in rules.items() if getattr(self, name) is not usual}
        return {
            "cache": self.cache,
            "sticky": self.sticky,
            **{name: getattr(rule, "__qualname__", type(rule).__name__) for name, rule in own.items()},
        }
