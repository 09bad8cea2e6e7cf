"""What an error most likely means, here.

Error codes are few, and each stands for many things. What stands around an error (who sent it, in which
phase, for which method, with what data) tells most of them apart. Tables say it: the first row that fits is
the diagnosis.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.audit.circumstances import (
    capability_of,
    member_of_data,
    params_of,
    request_of,
    version_of,
    versions_of,
)
from mcpsim.audit.diagnoses_of_eras import OF_ERAS
from mcpsim.audit.diagnoses_of_others import OTHERS, STATUSES
from mcpsim.audit.diagnoses_of_requests import OF_REQUESTS
from mcpsim.audit.diagnosis_row import Row
from mcpsim.audit.model import Item
from mcpsim.recording.words import show

#: How much of a list of the trace is shown.
SHOWN: Final = 160

ERRORS: Final = (*OF_ERAS, *OF_REQUESTS, *OTHERS)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What an error most likely means, and what to try.

    Attributes:
        means: one or two sentences.
        tries: what to do about it.
    """

    means: str
    tries: str


def diagnose(item: Item) -> Diagnosis | None:
    """What an error response most likely means here, and what to try.

    Args:
        item: an item of kind "error"; of any other kind there is None.
    """
    return None if item.kind != "error" or item.code is None else _first(ERRORS, item.code, item)


def diagnose_status(item: Item) -> Diagnosis | None:
    """What an HTTP status of 400 or more most likely means, where no error response says it.

    Args:
        item: an answer without a message in it; where the status is below 400, or not known, there is None.
    """
    status = None if item.exchange is None else item.exchange.status
    return None if status is None or status < 400 else _first(STATUSES, status, item)


def _first(rows: Sequence[Row], code: int, item: Item) -> Diagnosis | None:
    for row in rows:
        if code in row.codes and row.fits(item):
            words = _words(item, code)
            return Diagnosis(row.means.format_map(words), row.tries.format_map(words))
    return None


def _words(item: Item, code: int) -> Mapping[str, str]:
    """What the braces in the rows stand for."""
    params = params_of(item)
    request = request_of(item)
    text: Any = getattr(item.message, "message", "")
    return {
        "party": _name(item.party),
        "other": _name(item.other),
        "code": str(code),
        "method": show(item.method or (request.method if request is not None else "")),
        "revision": _name(item.revision),
        "version": show(version_of(item)),
        "supported": show(versions_of(item), SHOWN),
        "required": show(member_of_data(item, "requiredCapabilities"), SHOWN),
        "capability": capability_of(item) or "what it needs",
        "name": show(params.get("name")),
        "uri": show(params.get("uri")),
        "cursor": show(params.get("cursor")),
        "level": show(params.get("level")),
        "text": show(text, SHOWN),
    }


def _name(name: str) -> str:
    """A name of the trace, without quotes."""
    return show(name).strip('"')
