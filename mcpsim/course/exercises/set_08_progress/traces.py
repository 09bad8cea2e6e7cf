"""Eight traces with progress: four keep the rules, four break one each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.course.exercises.verdict import Rule
from mcpsim.eras.revisions import LATEST_MODERN
from mcpsim.messages import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    PROTOCOL_VERSION,
    SERVER_INFO,
    Notification,
    Request,
    Response,
    meta_of,
    write_json,
)
from mcpsim.recording import Recording

FLOW: Final = "basic/patterns/progress#progress-flow"
BEHAVIOR: Final = "basic/patterns/progress#behavior-requirements"
NOTES: Final = "basic/patterns/progress#implementation-notes"

Row = tuple[str, dict[str, Any]]

_STEP_MS: Final = 200


@dataclass(frozen=True, slots=True)
class Trace:
    """One trace.

    Attributes:
        word: what is wrong with it, or "fine".
        seen: what shows it, in one or two sentences.
        rule: the rule.
        rows: who sent what, in order.
    """

    word: str
    seen: str
    rule: Rule
    rows: tuple[Row, ...]

    @property
    def recording(self) -> Recording:
        """The trace as a recording: for the player, and for the audit."""
        lines = (
            write_json({"from": sender, "t_ms": number * _STEP_MS, "message": message})
            for number, (sender, message) in enumerate(self.rows)
        )
        return Recording.from_interchange(b"\n".join(lines), title="A call with progress")

    def __str__(self) -> str:
        return "\n".join(_lines(self.recording))


def _call(id: int, token: str | int) -> Row:
    meta: dict[str, Any] = {
        PROTOCOL_VERSION: LATEST_MODERN,
        CLIENT_INFO: {"name": "workbook-client", "version": "1.0.0"},
        CLIENT_CAPABILITIES: {},
        "progressToken": token,
    }
    params = {"name": "export_report", "arguments": {}, "_meta": meta}
    return "client", {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def _progress(token: str | int, progress: float, total: float | None = None, message: str = "") -> Row:
    params: dict[str, Any] = {"progressToken": token, "progress": progress}
    if total is not None:
        params["total"] = total
    if message:
        params["message"] = message
    return "server", {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def _answer(id: int) -> Row:
    result = {
        "resultType": "complete",
        "content": [{"type": "text", "text": "report.pdf"}],
        "_meta": {SERVER_INFO: {"name": "help-desk", "version": "1.0.0"}},
    }
    return "server", {"jsonrpc": "2.0", "id": id, "result": result}


_RISES: Final = Rule(
    "The `progress` value MUST increase with each notification, even if the total is unknown.", FLOW
)
_NOTHING_OF_TOTALS: Final = Rule(
    "`progress` MUST increase. Of the total the pages only say that it is optional and may be a fraction.",
    FLOW,
)
_ACTIVE: Final = Rule(
    "Progress notifications MUST only name tokens that came in an active request.", BEHAVIOR
)
_UNIQUE: Final = Rule("A token MUST be unique across all active requests.", FLOW)
_STOPS: Final = Rule("Progress notifications MUST stop after completion.", NOTES)

TRACES: Final[Mapping[str, Trace]] = {
    "A": Trace(
        "does not rise",
        "The second notification says 4, and so does the third. Other words do not help.",
        _RISES,
        (
            _call(1, "report"),
            _progress("report", 2, 6, "Reading"),
            _progress("report", 4, 6, "Counting"),
            _progress("report", 4, 6, "Drawing"),
            _progress("report", 6, 6, "Printing"),
            _answer(1),
        ),
    ),
    "B": Trace(
        "fine",
        "There is no total, and the values are fractions. They increase.",
        _RISES,
        (_call(1, "report"), _progress("report", 0.5), _progress("report", 2.25), _answer(1)),
    ),
    "C": Trace(
        "unknown token",
        'The request has the token 7, and the notifications say "7". A number and a text are two values.',
        _ACTIVE,
        (_call(1, 7), _progress("7", 1, 2), _progress("7", 2, 2), _answer(1)),
    ),
    "D": Trace(
        "fine",
        "The token is 0, and 5 of 4 looks odd. Neither breaks a rule: the values increase.",
        _NOTHING_OF_TOTALS,
        (_call(1, 0), _progress(0, 3, 4), _progress(0, 5, 4), _answer(1)),
    ),
    "E": Trace(
        "too late",
        "Request 1 is answered before the last notification about it.",
        _STOPS,
        (
            _call(1, "sales"),
            _call(2, "stock"),
            _progress("sales", 1, 2),
            _progress("stock", 1, 3),
            _answer(1),
            _progress("stock", 2, 3),
            _progress("sales", 2, 2),
            _answer(2),
        ),
    ),
    "F": Trace(
        "fine",
        "The token is used again when the request that had it is answered. Then it is free.",
        _UNIQUE,
        (
            _call(1, "report"),
            _progress("report", 1, 2),
            _answer(1),
            _call(2, "report"),
            _progress("report", 1, 2),
            _answer(2),
        ),
    ),
    "G": Trace(
        "shared token",
        "Request 2 brings the token of request 1, which is not answered yet.",
        _UNIQUE,
        (
            _call(1, "report"),
            _progress("report", 1),
            _call(2, "report"),
            _progress("report", 2),
            _answer(1),
            _progress("report", 3),
            _answer(2),
        ),
    ),
    "H": Trace(
        "fine",
        "The token is an empty text, the total changes, and the last value is less than it. Nothing of "
        "that is forbidden.",
        _NOTHING_OF_TOTALS,
        (_call(1, ""), _progress("", 5, 10, "Found more"), _progress("", 6, 20), _answer(1)),
    ),
}
WORDS: Final[Mapping[str, str]] = {
    "does not rise": "a value is not greater than the one before",
    "unknown token": "progress names a token that no request has brought",
    "too late": "progress of a request comes after its answer",
    "shared token": "two active requests have the same token",
    "fine": "it keeps every rule on progress",
}


def in_short() -> str:
    """All traces, a line a message, with what matters of it."""
    return "\n\n".join(f"{letter}\n{trace}" for letter, trace in TRACES.items())


def _lines(recording: Recording) -> Iterator[str]:
    for frame in recording.frames:
        match frame.parsed:
            case Request(id=id, params=params):
                yield f"  → request {id}, token {json.dumps(meta_of(params)['progressToken'])}"
            case Notification(params=params):
                said = params or {}
                of = f" of {said['total']}" if "total" in said else ""
                words = f", {said['message']}" if "message" in said else ""
                yield f"  ← progress {said['progress']}{of}{words}, token {json.dumps(said['progressToken'])}"
            case Response(id=id):
                yield f"  ← result of request {id}"
            case _:
                yield "  ← something else"
