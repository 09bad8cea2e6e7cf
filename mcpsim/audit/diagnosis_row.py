"""What one row of the tables of diagnoses is."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from mcpsim.audit.circumstances import Test, says
from mcpsim.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
)

#: What JSON-RPC leaves to the server, as far as the specification does not use it.
SERVER_DEFINED: Final = range(-32019, -31999)
#: How servers refuse a request that they do not want now.
REFUSALS: Final = frozenset(
    {INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR, RESOURCE_NOT_FOUND, *SERVER_DEFINED}
)

FALL_BACK: Final = (
    "A client that also speaks a legacy revision sends initialize now, whatever the code is. Any other "
    "client "
    "tells its user that the server is too old."
)

#: Whether the text of an error says that something is not there.
is_missing: Final = says(
    "unknown", "not found", "no such", "does not exist", "doesn't exist", "not exist", "not registered"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table.

    Attributes:
        codes: the error codes, or the HTTP statuses, that it is about.
        fits: whether it is this, here.
        means, tries: as in the diagnosis; what stands in braces is filled in (see `mcpsim.audit.diagnosis`).
    """

    codes: Container[int]
    fits: Test
    means: str
    tries: str


class _Any:
    """Holds every code."""

    def __contains__(self, code: object) -> bool:
        return True


ANY: Final[Container[int]] = _Any()
