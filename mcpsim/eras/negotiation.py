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

    A request with modern metadata is served statelessly, whatever came before. `initialize` begins a session;
    with modern metadata it is both, and the specification does not say which counts: the metadata does,
    because no legacy client sends it, and the error says that the modern protocol has no such method. What is
    left belongs to the session, where there is one. Without one, a ping may still come before a handshake;
    anything else is answered as a modern request that lacks its metadata, because that error says what is
    missing.

    Args:
        has_session: whether a legacy session is open on this connection (stdio) or named by the
            request's session header (HTTP).
    """
    if modern.is_modern(message):
        return "modern"
    if isinstance(message, Request) and message.method == "initialize":
        return "legacy"
    if has_session:
        return "legacy"
    if isinstance(message, Request):
        return "legacy" if message.method == "ping" else "modern"
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
        outcome: the result; the error; or None for silence, and for an HTTP response without a JSON-RPC
            message in it.
        legacy_version: what the client proposes to a legacy server.
        modern_version: the version that the probe declared.

    A result that does not list the version which the probe declared is taken at its word: the client uses
    one that is listed. (The specification would rather have -32022 then, but a server may well answer.)

    Raises:
        NegotiationFailed: the server is modern and has no version in common with the client.
    """
    if outcome is None:
        return Verdict("legacy", legacy_version, "No answer that a modern server would give.")
    if isinstance(outcome, ProtocolError):
        return _read_error(outcome, legacy_version, modern_version)
    listed = _names(outcome, "supportedVersions")
    if listed is None or outcome.get("resultType", "complete") != "complete":
        return Verdict("legacy", legacy_version, "The result is not what server/discover brings back.")
    if modern_version in listed:
        return Verdict("modern", modern_version, "The server lists the version that the client prefers.")
    return _pick(listed, legacy_version, answered=True)


def _read_error(error: ProtocolError, legacy_version: str, modern_version: str) -> Verdict:
    if error.code not in RECOGNISED_MODERN_ERRORS:
        # Never one particular code: legacy servers refuse an early request with whatever they like.
        return Verdict(
            "legacy", legacy_version, f"{error.code} is not an error that only a modern server sends."
        )
    if error.code != UNSUPPORTED_VERSION:
        return Verdict("modern", modern_version, f"{error.code} is an error that only a modern server sends.")
    # A version that was just refused is not worth a second try, even if the server lists it.
    listed = [name for name in supported_versions(error) if name != modern_version]
    return _pick(listed, legacy_version, answered=False)


def supported_versions(error: ProtocolError) -> list[str]:
    """The versions that an error says the server supports; empty where it does not say."""
    return _names(error.data, "supported") or []


def common_modern_version(listed: Sequence[str]) -> str | None:
    """The newest modern version that stands in the list and that we speak, or None."""
    return next((version for version in reversed(MODERN_REVISIONS) if version in listed), None)


def _names(holder: Any, key: str) -> list[str] | None:
    """The strings of the list under `key`; None where there is no such list."""
    found = cast("Mapping[str, Any]", holder).get(key) if isinstance(holder, Mapping) else None
    if not isinstance(found, list):
        return None
    return [name for name in cast("list[Any]", found) if isinstance(name, str)]


def _pick(listed: Sequence[str], legacy_version: str, *, answered: bool) -> Verdict:
    common = common_modern_version(listed)
    if common is not None:
        return Verdict("modern", common, "The server lists a version that both speak.", retry=not answered)
    # A list that holds legacy revisions alone points at the handshake, in so many words.
    for version in reversed(LEGACY_REVISIONS):
        if version in listed:
            chosen = legacy_version if legacy_version in listed else version
            return Verdict("legacy", chosen, "The server lists legacy versions only.")
    raise NegotiationFailed(
        f"The server supports {', '.join(listed) or 'no other version that it names'}; this client speaks "
        f"{', '.join((*LEGACY_REVISIONS, *MODERN_REVISIONS))}."
    )
