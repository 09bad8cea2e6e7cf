"""Where the specification says it: one page address for each era and page name.

The two eras are described at
https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#terminology
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SPECIFICATION: Final = "https://modelcontextprotocol.io/specification"

MODERN: Final = "modern"
LEGACY: Final = "legacy"

#: The revision whose pages describe an era.
REFERENCE_REVISION: Final[Mapping[str, str]] = {MODERN: "2026-07-28", LEGACY: "2025-11-25"}

#: The first modern revision. Revisions are dates, so text order is time order.
FIRST_MODERN: Final = "2026-07-28"


def era_of_revision(revision: str) -> str:
    """The era that a revision belongs to: "modern" from `FIRST_MODERN` on, otherwise "legacy".

    Args:
        revision: a protocol version as it stands on the wire, for example in
            `_meta.io.modelcontextprotocol/protocolVersion`. What is not a date is taken as it sorts.
    """
    return MODERN if revision >= FIRST_MODERN else LEGACY


def spec_url(era_or_revision: str, page: str) -> str:
    """The address of a page of the specification.

    Args:
        era_or_revision: "modern", "legacy", or a revision. A revision leads to the pages of its era,
            because older revisions divide their pages in other ways.
        page: the path below the revision, with an anchor or without: `basic/lifecycle#initialization`.
    """
    revision = REFERENCE_REVISION.get(era_or_revision)
    if revision is None:
        revision = REFERENCE_REVISION[era_of_revision(era_or_revision)]
    return f"{SPECIFICATION}/{revision}/{page}"
