"""A result that is kept, and the rules about it, in our words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mcpsim.course.exercises.verdict import Rule

_PAGE: Final = "server/utilities/caching"

SIX: Final = Rule(
    "Six methods have cacheable results: `server/discover`, `tools/list`, `prompts/list`, `resources/list`, "
    "`resources/templates/list` and `resources/read`.",
    f"{_PAGE}#cacheable-results",
)
INTERIM: Final = Rule(
    'Interim results, with `resultType: "input_required"`, are not cacheable.', f"{_PAGE}#cacheable-results"
)
KEY: Final = Rule(
    "A client MUST NOT serve a cached result for a request whose method or parameters differ from those of "
    "the request that produced it.",
    f"{_PAGE}#cache-key",
)
RETRY: Final = Rule(
    "Results of a retry, a request with `inputResponses` or `requestState`, MUST NOT be cached: they depend "
    "on inputs that are not part of the key.",
    f"{_PAGE}#cache-key",
)
PRIVATE: Final = Rule(
    "A `private` result MAY be used again for the same authorization context. Caches MUST NOT be shared "
    "across authorization contexts.",
    f"{_PAGE}#cache-scope-field",
)
PUBLIC: Final = Rule(
    "Any client, gateway or proxy MAY keep a `public` result and serve it to any user.",
    f"{_PAGE}#cache-scope-field",
)
UNSAID: Final = Rule(
    "Servers MUST send the hints. What it means where `cacheScope` is not there the page does not say. To "
    "take it for private is careful, and this task asks for it.",
    f"{_PAGE}#cacheable-results",
)
FRESH: Final = Rule(
    "A result is fresh while now < time received + `ttlMs`. When it is stale, the client SHOULD ask again on "
    "next access.",
    f"{_PAGE}#freshness-calculation",
)
STAYS: Final = Rule(
    "If `ttlMs` is positive, the client SHOULD consider the result fresh for so many milliseconds after it "
    "was received.",
    f"{_PAGE}#time-to-live-ttl-field",
)
NO_TTL: Final = Rule(
    "A `ttlMs` that is absent or negative SHOULD be taken for 0: the result is stale at once.",
    f"{_PAGE}#time-to-live-ttl-field",
)
TOLD: Final = Rule(
    "A relevant notification invalidates a cached result that is still fresh: it counts as stale at once.",
    f"{_PAGE}#interaction-with-notifications",
)
OWN_CLOCK: Final = Rule(
    "Each page is a cacheable result of its own, with its own `ttlMs`, and its clock starts when that page "
    "was received. When it expires, the client SHOULD fetch that page again, with its cursor.",
    f"{_PAGE}#interaction-with-pagination",
)
ALL_PAGES: Final = Rule(
    "If a cursor becomes invalid, the client SHOULD discard all cached pages and read the list again from "
    "the beginning.",
    f"{_PAGE}#interaction-with-pagination",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A result that is kept.

    Attributes:
        method: the request's method.
        params: the request's parameters, without `_meta`.
        principal: who asked.
        result: the result as it came.
        received_ms: when it came, in milliseconds of the client's clock.
    """

    method: str
    params: dict[str, Any]
    principal: str
    result: dict[str, Any]
    received_ms: int
