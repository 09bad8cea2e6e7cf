"""What the map of errors shows, as plain data: each code, when it is sent, and who has to read it.

Pure functions over the table of codes in `mcpsim.errors`. Who reads an error is our reading of the pages,
but for the model: that one is in the specification.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes
https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.eras.methods import URL_ELICITING
from mcpsim.eras.pages import spec_url
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN
from mcpsim.errors import (
    BOTH,
    ERROR_CODES,
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    URL_ELICITATION_REQUIRED,
)
from mcpsim.recording import Recording

#: What stands in the place of a code for an error that has none: a tool's own.
TOOL_ERROR: Final = 0

READERS: Final[Mapping[str, str]] = {
    "client": "client library",
    "host": "host and user",
    "model": "model",
}
ERAS: Final[Mapping[str, str]] = {"all": "both eras", "modern": "modern", "legacy": "legacy"}


@dataclass(frozen=True, slots=True)
class Entry:
    """What there is to say of an error beside its row in the table of codes.

    Attributes:
        readers: who reads it, as keys of `READERS`.
        status: the HTTP status that goes with it.
        act: what the reader does.
        page: the page that says so, below the revision.
        note: where the specification is silent, or says two things.
    """

    readers: tuple[str, ...]
    status: str
    act: str
    page: str
    note: str = ""


_NOT_FIXED: Final = "No page fixes one."
_MUST_BE_400: Final = "MUST be 400."

ENTRIES: Final[Mapping[int, Entry]] = {
    TOOL_ERROR: Entry(
        ("model",),
        "200: to the protocol it is a result.",
        "The client SHOULD give it to the model, which can correct itself and call again. It MAY give it a "
        "protocol error too, with less hope.",
        "server/tools#error-handling",
        "Whether such a result may hold `structuredContent` is said nowhere.",
    ),
    PARSE_ERROR: Entry(
        ("client",),
        f"{_NOT_FIXED} Servers here send 400.",
        "The sender wrote no JSON: mend the sender.",
        "basic/index#error-codes",
        "JSON-RPC wants `id: null` in such an error; the schema has an `id` that is a string, a number or "
        "absent.",
    ),
    INVALID_REQUEST: Entry(
        ("client",),
        f"{_NOT_FIXED} Servers here send 400.",
        "Mend the message, or send it when its turn has come.",
        "basic/index#error-codes",
    ),
    METHOD_NOT_FOUND: Entry(
        ("client",),
        "MUST be 404 in the modern era, where the method is not implemented; the legacy pages fix none.",
        "Look at the server's capabilities before you ask.",
        "basic/index#error-codes",
    ),
    INVALID_PARAMS: Entry(
        ("client", "host"),
        "MUST be 400 in the modern era, where a required `_meta` field is missing; none is fixed otherwise.",
        "Correct the name, the URI, the cursor or the arguments, and ask again.",
        "server/tools#error-handling",
        "Arguments that do not fit a tool's schema: the tools page makes them a tool error, a comment in the "
        "schema makes them -32602.",
    ),
    INTERNAL_ERROR: Entry(
        ("host",),
        _NOT_FIXED,
        "Tell the user. It is the other side that failed, and the text says no more than it wants to.",
        "basic/index#error-codes",
    ),
    HEADER_MISMATCH: Entry(
        ("client",),
        _MUST_BE_400,
        "Make the headers from the body. Where an `Mcp-Param-` header is wrong, the client SHOULD list the "
        "tools again, and then try once more.",
        "basic/transports/streamable-http#server-validation",
    ),
    MISSING_CLIENT_CAPABILITY: Entry(
        ("client", "host"),
        _MUST_BE_400,
        "`data.requiredCapabilities` lists what is missing: declare it, if the host can do it; ask again.",
        "basic/index#meta",
    ),
    UNSUPPORTED_VERSION: Entry(
        ("client", "host"),
        _MUST_BE_400,
        "The client SHOULD take a version from `data.supported` and ask again, or tell the user that "
        "there is none in common.",
        "basic/versioning#protocol-version-negotiation",
        "In the legacy era an unknown version in `initialize` is answered with another version; an "
        "example on the legacy lifecycle page has -32602.",
    ),
    RESOURCE_NOT_FOUND: Entry(
        ("host",),
        _NOT_FIXED,
        "The URI leads nowhere: list the resources again. In the modern era this is -32602; clients there "
        "SHOULD still accept the old code.",
        "server/resources#error-handling",
    ),
    URL_ELICITATION_REQUIRED: Entry(
        ("client", "host"),
        _NOT_FIXED,
        "Ask the user whether to open the URLs in `data.elicitations`, and send the request again when that "
        "is done. The modern era has input requests for it.",
        "client/elicitation#url-elicitation-required-error",
    ),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is shown.

    Attributes:
        era: "all", "modern" or "legacy".
        reader: "all", or a key of `READERS`.
        code: whose example is played.
        example_era: the era of that example.
    """

    era: str = "all"
    reader: str = "all"
    code: int = TOOL_ERROR
    example_era: str = "modern"


def eras_of(code: int) -> tuple[str, ...]:
    """The eras in which a code may be sent."""
    return BOTH if code == TOOL_ERROR else ERROR_CODES[code].eras


def _revisions(code: int) -> str:
    eras = eras_of(code)
    if code == URL_ELICITATION_REQUIRED:
        return f"{', '.join(sorted(URL_ELICITING))} only"
    if eras == BOTH:
        return "all"
    return f"{LATEST_LEGACY} and earlier" if eras == ("legacy",) else f"from {LATEST_MODERN} on"


def codes_of(wanted: Wanted) -> list[int]:
    """The errors that are shown, in the order of the table."""
    return [
        code
        for code, entry in ENTRIES.items()
        if wanted.era in ("all", *eras_of(code)) and wanted.reader in ("all", *entry.readers)
    ]


def status_in(recording: Recording) -> int | None:
    """The HTTP status of the last message with an error in it, of a protocol or of a tool."""
    found = [
        (frame.head or {}).get("status")
        for frame in recording.frames
        if frame.sender == recording.parties[-1] and (b'"error"' in frame.body or b'"isError"' in frame.body)
    ]
    return found[-1] if found else None


def name_of(code: int) -> str:
    """What an error is called."""
    return "tool error" if code == TOOL_ERROR else f"{code} {ERROR_CODES[code].name}"


def errors_data(wanted: Wanted, recording: Recording) -> dict[str, Any]:
    """The map as plain JSON values.

    Args:
        recording: the example of the chosen error.
    """
    codes = codes_of(wanted)
    seen = status_in(recording)
    carried = "" if seen is None else f" It came with HTTP {seen}."
    hidden = "" if wanted.code in codes else " The filters hide its row."
    entry = ENTRIES[wanted.code]
    return {
        "title": "Errors: which, when, and for whom",
        "era": wanted.era,
        "eras": [list(one) for one in ERAS.items()],
        "reader": wanted.reader,
        "readers": [["all", "anybody"], *(list(one) for one in READERS.items())],
        "columns": [
            "Error",
            "Revisions",
            "When it is sent",
            "HTTP status",
            "Who reads it (our reading)",
            "What to do",
        ],
        "groups": [
            {"head": head, "rows": [_row(code, wanted) for code in codes if (code == TOOL_ERROR) is tool]}
            for head, tool in (
                ("Tool errors: a result with isError: true", True),
                ("Protocol errors: a JSON-RPC error instead of a result", False),
            )
        ],
        "status": (
            f"{len(codes)} of {len(ENTRIES)} errors are shown. Played below: {name_of(wanted.code)}, "
            f"{wanted.example_era}.{carried}{hidden}"
        ),
        "urls": [spec_url(wanted.example_era, entry.page)],
    }


def _row(code: int, wanted: Wanted) -> dict[str, Any]:
    entry = ENTRIES[code]
    when = "The tool ran, or was asked to, and could not do its work."
    return {
        "code": code,
        "name": name_of(code),
        "chosen": code == wanted.code,
        "cells": [
            _revisions(code),
            when if code == TOOL_ERROR else ERROR_CODES[code].meaning,
            entry.status,
            ", ".join(READERS[one] for one in entry.readers),
            entry.act,
        ],
        "note": entry.note,
    }


def errors_text(data: Mapping[str, Any]) -> str:
    """The map as text, for readers without a kernel."""
    lines = [str(data["title"])]
    for group in data["groups"]:
        lines += ["", group["head"]]
        for row in group["rows"]:
            lines += ["", row["name"]]
            cells: Sequence[str] = row["cells"]
            lines += [f"  {name}: {text}" for name, text in zip(data["columns"][1:], cells, strict=True)]
            lines += [f"  Note: {row['note']}"] if row["note"] else []
    return "\n".join([*lines, "", str(data["status"])]).replace("`", "")


def errors_html(data: Mapping[str, Any]) -> str:
    """The map as a still table."""
    heads = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in data["columns"])
    rows = "".join(
        f'<tr><th scope="row">{html.escape(row["name"])}</th>'
        + "".join(f"<td>{html.escape(text.replace('`', ''))}</td>" for text in row["cells"])
        + "</tr>"
        for group in data["groups"]
        for row in group["rows"]
    )
    caption = html.escape(str(data["title"]))
    return f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
