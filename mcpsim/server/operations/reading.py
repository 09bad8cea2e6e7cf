"""`resources/read`.

https://modelcontextprotocol.io/specification/2026-07-28/server/resources#reading-resources
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mcpsim.errors import ResourceNotFound
from mcpsim.server.context import Context
from mcpsim.server.operations.checking import check_params
from mcpsim.server.resources import Resource, ResourceTemplate, not_found
from mcpsim.utilities.uri_templates import Values

if TYPE_CHECKING:
    from mcpsim.server.server import Server


class Found(NamedTuple):
    """What a URI leads to.

    Attributes:
        values: the variables of a template's URI.
        is_retry: whether the request is a later round of a multi round-trip request.
    """

    uri: str
    source: Resource | ResourceTemplate
    values: Values
    is_retry: bool


@dataclass(frozen=True, slots=True)
class ReadResource:
    """`resources/read`."""

    server: Server

    def check(self, params: dict[str, Any], version: str) -> Found:
        check_params("resources/read", params, version)
        uri = params["uri"]
        is_retry = "inputResponses" in params or "requestState" in params
        found = self.server.resource_at(uri)
        if found is None:
            raise not_found(uri, version)
        return Found(uri, *found, is_retry)

    def authorise(self, principal: str, arguments: Found) -> None:
        """Raises ProtocolError where the server's `authorise` refuses this principal this resource."""
        self.server.check_authorised(principal, "read", arguments.uri)

    async def run(self, context: Context, arguments: Found) -> dict[str, Any]:
        uri, source, values, is_retry = arguments
        try:
            contents = (
                await source.read(context)
                if isinstance(source, Resource)
                else await source.read(uri, values, context)
            )
        except ResourceNotFound:
            raise not_found(uri, context.version) from None
        # A complete result must carry hints, and one that rests on the answers of a user must not be cached:
        # https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cache-key
        hints = (
            {"ttlMs": 0, "cacheScope": "private"}
            if is_retry
            else self.server.cache_hints(source.hints.ttl_ms, source.hints.cache_scope)
        )
        return {"contents": contents, **hints}
