"""The rules of the handshake, in our words: they stand on the pages of the legacy era."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.verdict import Rule
from mcpsim.eras.pages import LEGACY

INITIALIZATION: Final = "basic/lifecycle#initialization"
NEGOTIATION: Final = "basic/lifecycle#version-negotiation"
OPERATION: Final = "basic/lifecycle#operation"
CAPABILITIES: Final = "basic/lifecycle#capability-negotiation"
PING: Final = "basic/utilities/ping#behavior-requirements"
CANCELLATION: Final = "basic/utilities/cancellation#behavior-requirements"
RESPONSES: Final = "basic/index#responses"
NOTIFICATIONS: Final = "basic/index#notifications"


def rule(text: str, page: str) -> Rule:
    """A rule of the legacy era."""
    return Rule(text, page, LEGACY)


HANDSHAKE_FIRST: Final = rule(
    "The handshake MUST be the first interaction, and the client MUST begin it with `initialize`: the "
    "version, its capabilities, and who it is.",
    INITIALIZATION,
)
READY: Final = rule(
    "After successful initialization the client MUST send `notifications/initialized`.", INITIALIZATION
)
CLIENT_WAITS: Final = rule(
    "The client SHOULD NOT send requests other than pings before the server has responded to `initialize`.",
    INITIALIZATION,
)
SERVER_WAITS: Final = rule(
    "The server SHOULD NOT send requests other than pings and logging before it has received "
    "`notifications/initialized`.",
    INITIALIZATION,
)
NEGOTIATED_ONLY: Final = rule("Both sides MUST only use capabilities that were negotiated.", OPERATION)
OWN_VERSION: Final = rule(
    "The client MUST propose a version that it supports. It SHOULD be its latest.", NEGOTIATION
)
SAME_VERSION: Final = rule(
    "If the server supports the proposed version, it MUST answer with the same version.", NEGOTIATION
)
ANOTHER_VERSION: Final = rule(
    "Otherwise the server MUST answer with another version that it supports. It SHOULD be its latest.",
    NEGOTIATION,
)
DISCONNECTS: Final = rule(
    "If the client does not support the version in the server's answer, it SHOULD disconnect.", NEGOTIATION
)
EITHER_PINGS: Final = rule(
    "Either the client or the server can send a ping.", "basic/utilities/ping#overview"
)
EMPTY_ANSWER: Final = rule("The receiver of a ping MUST respond promptly with an empty result.", PING)
INITIALIZE_STAYS: Final = rule("The client MUST NOT cancel its `initialize`.", CANCELLATION)
