"""What the matrix of eras shows, as plain data: what came of each client at each server, read off its run.

Pure functions.

https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#compatibility-matrix
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from mcpsim.eras import modern
from mcpsim.eras.pages import spec_url
from mcpsim.eras.revisions import ClientEra, ServerEra
from mcpsim.messages import ErrorResponse, Request, Response, meta_of
from mcpsim.recording.run import Run
from mcpsim.widgets.text import clock, one_line

Pair = tuple[ClientEra, ServerEra]

CLIENTS: Final[Mapping[ClientEra, str]] = {
    "legacy": "Legacy client",
    "modern": "Modern client",
    "auto": "Dual-era client",
}
SERVERS: Final[Mapping[ServerEra, str]] = {
    "legacy": "Legacy server",
    "modern": "Modern server",
    "both": "Dual-era server",
}
TRANSPORTS: Final[Mapping[str, str]] = {"stdio": "stdio", "http": "Streamable HTTP"}
MAX_ERROR: Final = 600

# What a client sends to find out how to talk; whatever else it asks for is what it came for.
_OPENING: Final = frozenset({"initialize", "server/discover"})

_HANDSHAKE: Final = (
    "The client proposes a version in `initialize`; the server answers with that one, or with another that "
    "it supports. `notifications/initialized` ends the handshake."
)
_IN_EVERY_REQUEST: Final = (
    "There is no handshake: every request carries its version, and is served by itself. "
    "`server/discover` is optional, and this client leaves it out."
)
_PROBED: Final = (
    "The probe brought a `DiscoverResult`, so the server is modern: the client uses a version from "
    "`supportedVersions`. A recognised modern error, such as -32022, would say so too; then the client "
    "takes a version from the error's list, and does not fall back to `initialize`."
)
_TRIED: Final = (
    "The first modern request succeeded, so the server is modern. This client begins with `server/discover`; "
    "any modern request would tell as much. A recognised modern error in the body of a 400, such as -32022, "
    "would say so too; then the client tries again with a version from the error's list, and does not fall "
    "back."
)

#: Why it goes as it goes: for both transports, and then what is said of one of them.
EXPLAINED: Final[Mapping[Pair, tuple[str, Mapping[str, str]]]] = {
    ("legacy", "legacy"): (_HANDSHAKE, {}),
    ("legacy", "modern"): (
        "A modern server has no `initialize`. It SHOULD name the versions that it supports in the error: a "
        "legacy client has no way forward from there, and this text may be all that its user ever sees.",
        {
            "stdio": "Which code the error has is the server's choice.",
            "http": (
                "The request lacks the metadata and the headers that a modern request must have; for either "
                "it is refused with 400 Bad Request."
            ),
        },
    ),
    ("legacy", "both"): (
        f"`initialize` selects the legacy protocol. {_HANDSHAKE}",
        {
            "stdio": "That is so for this process.",
            "http": "That is so for this session; other clients of the same server may be modern.",
        },
    ),
    ("modern", "legacy"): (
        "This server refuses what comes before `initialize`, with an error of its own choice. Another one "
        "may stay silent, or take a `tools/call` and process it by legacy rules.",
        {
            "stdio": (
                "So on stdio a client SHOULD send `server/discover` first, and then fails for certain. "
                "This client does not, to show what happens."
            ),
            "http": "",
        },
    ),
    ("modern", "modern"): (_IN_EVERY_REQUEST, {}),
    ("modern", "both"): (f"A request with modern `_meta` is served as such. {_IN_EVERY_REQUEST}", {}),
    ("auto", "legacy"): (
        "",
        {
            "stdio": (
                "The probe `server/discover` brought an error that is not a recognised modern one, so the "
                "server is legacy, and the client falls back to `initialize`. No answer within a reasonable "
                "time would mean the same. The client MUST NOT wait for one particular code."
            ),
            "http": (
                "The modern request brought a 4xx without a recognised modern error in its body, so the "
                "server is legacy, and the client falls back to `initialize`."
            ),
        },
    ),
    ("auto", "modern"): ("", {"stdio": _PROBED, "http": _TRIED}),
    ("auto", "both"): (
        "What a dual-era server does depends on how the client opens. This client prefers to be modern.",
        {"stdio": _PROBED, "http": _TRIED},
    ),
}
RULES: Final = (
    "The era is a property of the server: a client SHOULD remember what it found out, for as long as the "
    "process (stdio) or the origin (HTTP) lives. The matrix of the specification has no row for a modern or "
    "a dual-era client at a dual-era server; what happens there follows from how such a server chooses."
)
_PAGES: Final = (
    ("modern", "basic/versioning#compatibility-matrix"),
    ("modern", "basic/transports/stdio#backward-compatibility"),
    ("modern", "basic/transports/streamable-http#backward-compatibility"),
    ("legacy", "basic/lifecycle#version-negotiation"),
)
URLS: Final = tuple(spec_url(era, page) for era, page in _PAGES)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one client at one server.

    Attributes:
        works: whether the client got what it came for.
        revision: the revision that was spoken in the end; "" where none was agreed on.
        before: how many messages crossed the wire before the first useful answer; where there was none,
            before the answer that ended it, and all of them where there was no answer at all.
        at_us: when the first useful answer left the server, in microseconds; None where there was none.
        code: the code of the last error that came back; None where none did.
        error: what the story was told, where it failed.
    """

    works: bool
    revision: str
    before: int
    at_us: int | None
    code: int | None
    error: str


def outcome_of(run: Run) -> Outcome:
    """Read off a run what came of it."""
    asked: dict[tuple[str, str | int], Request] = {}
    count, before, useful = 0, 0, None
    revision = ""
    code: int | None = None
    for frame in run.recording.frames:
        message = frame.parsed
        if isinstance(message, Request):
            asked[frame.sender, message.id] = message
        elif isinstance(message, ErrorResponse):
            code, before = message.code, count
        elif isinstance(message, Response):
            request = asked.get((frame.receiver, message.id))
            if request is not None and request.method == "initialize":
                revision = str(message.result.get("protocolVersion", ""))
            elif request is not None and request.method not in _OPENING:
                # A modern request says what it speaks; a legacy one speaks what the handshake agreed on.
                revision = str(meta_of(request.params).get(modern.PROTOCOL_VERSION, revision))
                before, useful = count, frame
                break
        count += message is not None
    works = run.error is None and useful is not None
    return Outcome(
        works=works,
        revision=revision if works else "",
        before=before if works or code is not None else count,
        at_us=useful.sent_us if useful is not None else None,
        code=None if works else code,
        error="" if run.error is None else one_line(str(run.error), MAX_ERROR),
    )


def matrix_data(outcomes: Mapping[Pair, Outcome], chosen: Pair, transport: str) -> dict[str, Any]:
    """The matrix as plain JSON values.

    Args:
        outcomes: what came of each pair.
        chosen: the pair whose run is played.
        transport: "stdio" or "http".
    """
    return {
        "title": "Versions and eras",
        "transport": transport,
        "transports": [list(one) for one in TRANSPORTS.items()],
        "columns": list(SERVERS.values()),
        "rows": [
            {
                "head": CLIENTS[client],
                "cells": [_cell(outcomes[client, server], (client, server), chosen) for server in SERVERS],
            }
            for client in CLIENTS
        ],
        "status": sentence(chosen, outcomes[chosen], transport),
        "why": explained(chosen, transport),
        "failure": outcomes[chosen].error,
        "rules": RULES,
        "urls": list(URLS),
    }


def _cell(outcome: Outcome, pair: Pair, chosen: Pair) -> dict[str, Any]:
    return {
        "client": pair[0],
        "server": pair[1],
        "chosen": pair == chosen,
        "works": outcome.works,
        "sign": "✓" if outcome.works else "✗",
        "word": "works" if outcome.works else "fails",
        "about": _about(outcome),
    }


def _about(outcome: Outcome) -> list[str]:
    if outcome.works:
        return [f"speaks {outcome.revision}", f"{_messages(outcome.before)} before the first useful answer"]
    if outcome.code is None:
        return ["no answer", _messages(outcome.before)]
    return [f"error {outcome.code}", f"after {_messages(outcome.before)}"]


def _messages(count: int) -> str:
    return f"{count} message{'' if count == 1 else 's'}"


def sentence(pair: Pair, outcome: Outcome, transport: str) -> str:
    """What came of a pair, in words."""
    who = f"{CLIENTS[pair[0]]}, {SERVERS[pair[1]].lower()}, {TRANSPORTS[transport]}"
    if outcome.works:
        at = "" if outcome.at_us is None else f", sent at {clock(outcome.at_us)}"
        return (
            f"{who}: it works. Both speak {outcome.revision}. {_messages(outcome.before)} crossed the wire "
            f"before the first useful answer{at}."
        )
    return f"{who}: it fails. Below is the error that the host can show to its user."


def explained(pair: Pair, transport: str) -> str:
    """Why it goes as it goes."""
    both, by_transport = EXPLAINED[pair]
    return " ".join(part for part in (both, by_transport.get(transport, "")) if part)


def matrix_text(data: Mapping[str, Any]) -> str:
    """The matrix as text, for readers without a kernel."""
    lines = [f"{data['title']}, {TRANSPORTS[data['transport']]}"]
    for row in cast("Sequence[Any]", data["rows"]):
        lines.append(row["head"])
        for column, cell in zip(data["columns"], row["cells"], strict=True):
            lines.append(f"  {cell['sign']} {column}: {cell['word']}; {'; '.join(cell['about'])}")
    return "\n".join([*lines, "", data["status"], data["why"].replace("`", ""), data["failure"]]).rstrip()


def matrix_html(data: Mapping[str, Any]) -> str:
    """The matrix as a still table."""
    heads = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in ("", *data["columns"]))
    rows = "".join(
        f'<tr><th scope="row">{html.escape(row["head"])}</th>'
        + "".join(f"<td>{_still(cell)}</td>" for cell in row["cells"])
        + "</tr>"
        for row in cast("Sequence[Any]", data["rows"])
    )
    caption = f"{data['title']}, {TRANSPORTS[data['transport']]}"
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table><p>{html.escape(data['status'])}</p>"
    )


def _still(cell: Mapping[str, Any]) -> str:
    return html.escape(f"{cell['sign']} {cell['word']}: {', '.join(cell['about'])}")
