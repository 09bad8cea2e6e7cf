"""How a dual-era peer chooses: a server by how the client opens, a client by what its probe brings back.

https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from mcpsim.eras import modern
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS, Era
from mcpsim.errors import (
    HEADER_MISMATCH,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    NegotiationFailed,
    ProtocolError,
)
from mcpsim.messages import Message, Notification, Request

RECOGNISED_MODERN_ERRORS: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})


def choose_era_of_server(message: Message, *, has_session: bool) -> Era:
    """The era in which a dual-era server reads a message.

    A request with modern metadata is served statelessly, whatever came before. `initialize` and what
    belongs to its session is legacy. What is left is a request without metadata and without a session: a
    ping may still come before a handshake; anything else is answered as a modern request that lacks its
    metadata, because that error says what is missing.

    Args:
        has_session: whether a legacy session is open on this connection (stdio) or named by the
            request's session header (HTTP).
    """
    if modern.is_modern(message):
        return "modern"
    if has_session:
        return "legacy"
    if isinstance(message, Request) and message.method not in ("initialize", "ping"):
        return "modern"
    if isinstance(message, Notification) and message.method == "notifications/cancelled":
        return "modern"
    return "legacy"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a probe told the client.

    Attributes:
        era: the server's era.
        version: the version to speak; for a legacy server the one to propose.
        why: one sentence.
        retry: whether to send the probe once more, with `version`.
    """

    era: Era
    version: str
    why: str
    retry: bool = False


def read_probe(
    outcome: Mapping[str, Any] | ProtocolError | None, *, legacy_version: str, modern_version: str
) -> Verdict:
    """Read what came back on `server/discover`.

    Args:
        outcome: the result; the error; or None for silence, and on HTTP for a 4xx without a JSON-RPC body.
        legacy_version: what the client proposes to a legacy server.
        modern_version: the version that the probe declared.

    Raises:
        NegotiationFailed: the server is modern and has no version in common with the client.
    """
    if outcome is None:
        return Verdict("legacy", legacy_version, "No answer that a modern server would give.")
    if isinstance(outcome, ProtocolError):
        return _read_error(outcome, legacy_version, modern_version)
    versions = outcome.get("supportedVersions")
    if not isinstance(versions, list):
        return Verdict("legacy", legacy_version, "The result is not what server/discover brings back.")
    listed = [name for name in cast("list[Any]", versions) if isinstance(name, str)]
    if modern_version in listed:
        return Verdict("modern", modern_version, "The server lists the version that the client prefers.")
    return _pick(listed, legacy_version, answered=True)


def _read_error(error: ProtocolError, legacy_version: str, modern_version: str) -> Verdict:
    if error.code not in RECOGNISED_MODERN_ERRORS:
        # Never one particular code: legacy servers refuse an early request with whatever they like.
        return Verdict("legacy", legacy_version, f"{error.code} is not an error of the modern protocol.")
    if error.code != UNSUPPORTED_VERSION:
        return Verdict("modern", modern_version, f"{error.code} is an error that only a modern server sends.")
    data: Any = error.data
    listed: Any = cast("dict[str, Any]", data).get("supported") if isinstance(data, dict) else None
    items = cast("list[Any]", listed) if isinstance(listed, list) else []
    names = [name for name in items if isinstance(name, str)]
    return _pick(names, legacy_version, answered=False)


def _pick(listed: Sequence[str], legacy_version: str, *, answered: bool) -> Verdict:
    for version in reversed(MODERN_REVISIONS):
        if version in listed:
            return Verdict(
                "modern", version, "The server lists a version that both speak.", retry=not answered
            )
    # A list that holds legacy revisions alone points at the handshake, in so many words.
    for version in reversed(LEGACY_REVISIONS):
        if version in listed:
            chosen = legacy_version if legacy_version in listed else version
            return Verdict("legacy", chosen, "The server lists legacy versions only.")
    raise NegotiationFailed(
        f"The server supports {', '.join(listed) or 'no version that it names'}; this client speaks "
        f"{', '.join((*LEGACY_REVISIONS, *MODERN_REVISIONS))}."
    )
