"""How the handshake agrees on a legacy revision: what is proposed and answered, and what is done then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcpsim.audit.model import Connection, Item, Session
from mcpsim.audit.rule import LEGACY, MUST, NOTE, SHOULD, Found, Rule, each
from mcpsim.eras.negotiation import RECOGNISED_MODERN_ERRORS
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS
from mcpsim.errors import METHOD_NOT_FOUND
from mcpsim.recording.words import show

PAGE: Final = "basic/lifecycle#version-negotiation"
#: Every revision is named by its date; drafts had names of their own.
NAMED: Final = re.compile(r"\d{4}-\d{2}-\d{2}.*|DRAFT.*", re.DOTALL)


@dataclass(slots=True)
class Spoken:
    """What a connection shows about the revisions of its server.

    Attributes:
        listed: from the last list that the server gave and that names a legacy revision; None without.
        agreed: the revisions that it agreed on in a handshake.
    """

    listed: frozenset[str] | None = None
    agreed: set[str] = field(default_factory=set[str])

    @property
    def known(self) -> set[str]:
        """The legacy revisions that it is known to support."""
        return {one for one in (*(self.listed or ()), *self.agreed) if one in LEGACY_REVISIONS}


def named_versions(value: Any) -> list[str]:
    """The strings of a list; empty where it is none."""
    return (
        [one for one in cast("list[Any]", value) if isinstance(one, str)] if isinstance(value, list) else []
    )


def error_data(item: Item) -> dict[str, Any]:
    """The `data` of an error, where it is an object; {} otherwise."""
    data: Any = getattr(item.message, "data", None)
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def listed_by(item: Item) -> list[str]:
    """The versions that an answer of the server says it supports: of `server/discover`, or of an error."""
    if item.kind == "response" and item.method == "server/discover":
        return named_versions(item.result.get("supportedVersions"))
    if item.kind == "error" and item.sender == "server":
        return named_versions(error_data(item).get("supported"))
    return []


def _spoken(connection: Connection) -> Spoken:
    spoken = Spoken()
    for item in connection.items:
        if item.sender == "server" and item.kind in ("response", "error"):
            versions = listed_by(item)
            # A server may list its modern revisions only, and speak others by handshake.
            if any(one in LEGACY_REVISIONS for one in versions):
                spoken.listed = frozenset(versions)
    for session in connection.sessions:
        version = _answered(session)
        if version is not None and version == _proposed(session):
            spoken.agreed.add(version)
    return spoken


def _proposed(session: Session) -> str | None:
    version = session.initialize.request.params.get("protocolVersion")
    return version if isinstance(version, str) else None


def _answered(session: Session) -> str | None:
    answer = session.initialize.answer
    version = (
        answer.result.get("protocolVersion") if answer is not None and answer.kind == "response" else None
    )
    return version if isinstance(version, str) else None


def _pairs(connection: Connection) -> Iterator[tuple[Session, Item, str, str]]:
    """The sessions with what was proposed and what was answered."""
    for session in connection.sessions:
        proposed, answered, answer = _proposed(session), _answered(session), session.initialize.answer
        if proposed is not None and answered is not None and answer is not None:
            yield session, answer, proposed, answered


def _same_version(connection: Connection) -> Iterator[Found]:
    spoken: Spoken | None = None
    for _, answer, proposed, answered in _pairs(connection):
        if proposed == answered:
            continue
        spoken = spoken or _spoken(connection)
        if proposed in spoken.known:
            yield Found(
                answer,
                f"The server supports {show(proposed)}, as it says elsewhere, and answers {show(answered)}.",
                "Answer the version that was proposed, where it is supported.",
            )


def _own_version(connection: Connection) -> Iterator[Found]:
    spoken: Spoken | None = None
    for _, answer, proposed, answered in _pairs(connection):
        if not NAMED.fullmatch(answered):
            yield Found(
                answer,
                f"The server answers the version {show(answered)}; no revision has such a name, so it cannot "
                "support it.",
                "Answer one of the server's own versions, the latest one if the proposed one is not "
                "among them.",
            )
            continue
        spoken = spoken or _spoken(connection)
        if spoken.listed is not None and answered not in spoken.listed:
            yield Found(
                answer,
                f"The server answers the version {show(answered)}, which is none of those that it lists: "
                f"{show(sorted(spoken.listed))}.",
                "Answer a version that the server supports.",
            )
        elif answered in MODERN_REVISIONS:
            yield Found(
                answer,
                f"The server agrees on {answered} in a handshake; that revision has none.",
                "Answer a revision with a handshake; a client of the other one declares it in every request.",
                level=NOTE,
            )
        elif answered == proposed and answered not in LEGACY_REVISIONS:
            yield Found(
                answer,
                f"The server agrees on {show(answered)}, a revision that is not known here; perhaps it "
                "repeats "
                "whatever is proposed.",
                level=NOTE,
            )


def _latest_answered(connection: Connection) -> Iterator[Found]:
    spoken: Spoken | None = None
    for _, answer, proposed, answered in _pairs(connection):
        if proposed == answered or answered not in LEGACY_REVISIONS:
            continue
        spoken = spoken or _spoken(connection)
        latest = max(spoken.known, default="")
        if proposed not in spoken.known and latest > answered:
            yield Found(
                answer,
                f"The server answers {answered}, and the latest version that it supports is {latest}.",
                "Answer the latest version where the proposed one is not supported.",
            )


def _no_counteroffer(session: Session) -> Iterator[Found]:
    answer, proposed = session.initialize.answer, _proposed(session)
    if answer is None or answer.kind != "error" or proposed is None:
        return
    if answer.code in RECOGNISED_MODERN_ERRORS or answer.code == METHOD_NOT_FOUND:
        # A server without a handshake, which cannot offer anything.
        return
    versions = listed_by(answer)
    text = getattr(answer.message, "message", "")
    if proposed in versions or not (versions or "protocol version" in text.lower()):
        return
    if versions and not any(one in LEGACY_REVISIONS for one in versions):
        return
    yield Found(
        answer,
        f"The server refuses the version {show(proposed)} by an error. "
        "basic/lifecycle#version-negotiation wants "
        "another version offered in the result; basic/lifecycle#error-handling shows such an error as its "
        "example.",
        "Answer with the server's latest version. A client that meets the error may try again with a version "
        "from the list.",
    )


def _proposes_its_own(connection: Connection) -> Iterator[Found]:
    before: tuple[str, str] | None = None
    for session in connection.sessions:
        request, proposed, answered = session.initialize.request, _proposed(session), _answered(session)
        if proposed is None:
            before = None
            continue
        if not NAMED.fullmatch(proposed):
            yield Found(
                request,
                f"The client proposes the version {show(proposed)}; no revision has such a name, so it "
                "cannot "
                "support it.",
                "Propose the latest revision that the client supports.",
            )
        elif proposed in MODERN_REVISIONS:
            yield Found(
                request,
                f"The client proposes {proposed} in a handshake; that revision has none.",
                "Declare that version in the _meta of every request, or propose an earlier one.",
                level=NOTE,
            )
        if _was_closed(connection, session):
            before = None
        if before is not None and before[0] == before[1] != proposed:
            yield Found(
                request,
                f"The server agreed on {show(before[0])}, as the client had proposed, and the client now "
                "begins "
                f"again with {show(proposed)}; probably it does not support what it proposed.",
                "Propose only versions that the client supports.",
                level=SHOULD,
            )
        ready = session.initialized is None and not connection.is_http
        before = (proposed, answered) if answered is not None and ready else None


def _proposes_its_latest(session: Session) -> Iterator[Found]:
    proposed, answered, initialized = _proposed(session), _answered(session), session.initialized
    if proposed is None or answered is None or initialized is None:
        return
    if proposed in LEGACY_REVISIONS and answered in LEGACY_REVISIONS and answered > proposed:
        yield Found(
            session.initialize.request,
            f"The client proposed {proposed} and goes on with {answered}, a later one that it supports as "
            "well.",
            "Propose the latest version that the client supports.",
        )


def _was_closed(connection: Connection, session: Session) -> bool:
    """Whether the connection was closed before: then this is another one, of the same name."""
    closed = connection.closed
    return closed is not None and closed.index < session.initialize.request.index


def _leaves(connection: Connection) -> Iterator[Found]:
    before: tuple[str, str] | None = None
    for session in connection.sessions:
        proposed, answered = _proposed(session), _answered(session)
        if _was_closed(connection, session):
            before = None
        if before is not None and not connection.is_http and before[0] == proposed:
            yield Found(
                session.initialize.request,
                f"The server offered {show(before[1])}; the client neither takes it nor disconnects, and "
                f"proposes {show(proposed)} again.",
                "Close the connection where the offered version is not supported.",
            )
        refused = proposed is not None and answered is not None and proposed != answered
        before = (str(proposed), str(answered)) if refused else None
        if refused and connection.is_http:
            yield from _goes_on_with(session, str(proposed), str(answered))


def _goes_on_with(session: Session, proposed: str, answered: str) -> Iterator[Found]:
    answer = session.initialize.answer
    for item in session.items:
        exchange = item.exchange
        if exchange is None or exchange.request is not item or answer is None or item.index < answer.index:
            continue
        if exchange.headers.get("mcp-protocol-version") == proposed:
            yield Found(
                item,
                f"The server offered {show(answered)}; the client goes on with {show(proposed)}, which the "
                "server did not accept.",
                "Use the offered version, or disconnect where it is not supported.",
            )
            return


NEGOTIATION: Final[tuple[Rule, ...]] = (
    Rule(
        "initialize-answers-proposed-version",
        MUST,
        "server",
        LEGACY,
        {"legacy": PAGE},
        "A server that supports the proposed version answers that version.",
        on=each(Connection, needs=("initialize",)),
        check=_same_version,
    ),
    Rule(
        "initialize-answers-own-version",
        MUST,
        "server",
        LEGACY,
        {"legacy": PAGE},
        "A server answers a version that it supports.",
        on=each(Connection, needs=("initialize",)),
        check=_own_version,
    ),
    Rule(
        "initialize-answers-latest-version",
        SHOULD,
        "server",
        LEGACY,
        {"legacy": PAGE},
        "Where it does not support the proposed version, a server answers the latest one that it supports.",
        on=each(Connection, needs=("initialize",)),
        check=_latest_answered,
    ),
    Rule(
        "initialize-offers-another-version",
        NOTE,
        "server",
        LEGACY,
        {"legacy": PAGE},
        "A version that is not supported is met by another version, and not by an error; the page has both.",
        on=each(Session),
        check=_no_counteroffer,
    ),
    Rule(
        "initialize-proposes-own-version",
        MUST,
        "client",
        LEGACY,
        {"legacy": PAGE},
        "A client proposes a version that it supports.",
        on=each(Connection, needs=("initialize",)),
        check=_proposes_its_own,
    ),
    Rule(
        "initialize-proposes-latest-version",
        SHOULD,
        "client",
        LEGACY,
        {"legacy": PAGE},
        "A client proposes the latest version that it supports.",
        on=each(Session),
        check=_proposes_its_latest,
    ),
    Rule(
        "unsupported-version-disconnects",
        SHOULD,
        "client",
        LEGACY,
        {"legacy": PAGE},
        "A client that does not support the version in the server's answer disconnects.",
        on=each(Connection, needs=("initialize",)),
        check=_leaves,
    ),
)
