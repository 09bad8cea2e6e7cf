"""An HTTP intermediary between clients and the replicas of a server."""

from mcpsim.gateway.gateway import Gateway
from mcpsim.gateway.policies import Untrusted, by_header, by_turns, is_public, unchanged, with_time_left

__all__ = [
    "Gateway",
    "Untrusted",
    "by_header",
    "by_turns",
    "is_public",
    "unchanged",
    "with_time_left",
]
