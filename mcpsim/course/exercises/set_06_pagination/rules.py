"""The rules about pages, in our words."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.verdict import Rule

_GUIDELINES: Final = "server/utilities/pagination#implementation-guidelines"
_PAGES: Final = "server/utilities/caching#interaction-with-pagination"

OPAQUE: Final = Rule(
    "Clients MUST treat cursors as opaque: they do not parse them, do not change them, and assume nothing "
    "about their form.",
    _GUIDELINES,
)
EMPTY: Final = Rule(
    "Clients MUST NOT decide anything by a cursor, other than whether there is one that is not null. An "
    "empty string is a valid cursor, and MUST NOT be taken for the end.",
    _GUIDELINES,
)
END: Final = Rule("Clients SHOULD treat a missing `nextCursor` as the end of the list.", _GUIDELINES)
SIZE: Final = Rule(
    "The server decides how long a page is, and clients MUST NOT assume a fixed size.",
    "server/utilities/pagination#pagination-model",
)
BOTH: Final = Rule("Clients SHOULD support lists with pages and lists without.", _GUIDELINES)
STABLE: Final = Rule(
    "Servers SHOULD give out stable cursors, and handle invalid ones gracefully.", _GUIDELINES
)
INVALID: Final = Rule(
    "An invalid cursor SHOULD result in the error -32602.", "server/utilities/pagination#error-handling"
)
POSITION: Final = Rule(
    "A cursor stands for a position in the list that gave it out.",
    "server/utilities/pagination#pagination-model",
)
NO_CONSISTENCY: Final = Rule(
    "There is no consistency across pages: where the list changes between two of them, clients may see "
    "duplicates or gaps.",
    _PAGES,
)
BEGIN_ANEW: Final = Rule(
    "If a cursor becomes invalid, the client SHOULD discard all pages that it has, and read the list again "
    "from the beginning.",
    _PAGES,
)
ONE_SCOPE: Final = Rule("Servers MUST apply the same `cacheScope` to all pages of a list.", _PAGES)
ORDER: Final = Rule(
    "Servers SHOULD return tools in a deterministic order: the same as long as the set of tools is the same.",
    "server/tools#capabilities",
)
ANY_PROCESS: Final = Rule(
    "Servers SHOULD NOT require that a client comes back to the same process; what has to last from one "
    "request to the next MUST be referenced by an identifier that the client passes.",
    "basic/index#statelessness",
)
