"""Asking as a good client does: what was negotiated, in a version that both speak. And reading results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import mcp_types
from pydantic import ValidationError

from mcpsim.client.opening import Opener
from mcpsim.client.wire import OnProgress
from mcpsim.eras import legacy, modern
from mcpsim.eras.bodies import models
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import method as method_row
from mcpsim.eras.negotiation import (
    RECOGNISED_MODERN_ERRORS,
    common_modern_version,
    supported_versions,
)
from mcpsim.eras.revisions import LATEST_MODERN, era_of
from mcpsim.errors import (
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    McpSimError,
    ProtocolError,
    RequestTimeout,
    UnexpectedResponse,
)
from mcpsim.messages.meta import SERVER_INFO

RESULT_TYPES: Final = ("complete", "input_required")

_read_call_result: Final = mcp_types.CallToolResult.__pydantic_validator__.validate_python

_PLAIN_RESULT: Final = frozenset({"resultType", "content", "_meta"})
_PLAIN_BLOCK: Final = frozenset({"type", "text"})


class Requester(Opener):
    """The part of a client that sends any request, and reads the result of those that it knows."""

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        reset_on_progress: bool = False,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send any request once and return the result as plain JSON values.

        It may be `input_required`: only the methods that are made for it answer and ask again. No cache is
        looked at. Leaving the cancel scope around the call cancels the request in the transport's own way.

        Args:
            meta: keys to add to the request's `_meta`; a value of None takes a key out. This is how to send
                a request that is wrong on purpose.
            headers: HTTP headers to set; an empty value takes a header out.
            on_progress, timeout_s, reset_on_progress: as for `Client.call_tool`.

        Raises:
            ProtocolError, RequestTimeout, ConnectionClosed, UnexpectedResponse: as for `Client.call_tool`.
        """
        return await self._in_session(
            partial(self._call, method, params, on_progress, timeout_s, meta, headers, reset_on_progress)
        )

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification.

        Raises:
            ConnectionClosed: nobody reads any more.
            UnexpectedResponse, RequestTimeout: the server did not take it in (HTTP).
        """
        await self._in_session(partial(self._notify, method, params))

    async def _ask(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        reset_on_progress: bool = False,
    ) -> dict[str, Any]:
        """Send a request as a good client does: only what was negotiated, with another version if need be."""
        self._check_negotiated(method)
        try:
            if self._wire is None or self._wire.is_http:
                result = await self.request(
                    method,
                    params,
                    on_progress=on_progress,
                    timeout_s=timeout_s,
                    reset_on_progress=reset_on_progress,
                )
            else:
                # A pipe has no session that could end.
                result = await self._call(
                    method, params, on_progress, timeout_s, None, None, reset_on_progress
                )
        except ProtocolError as error:
            self._change_version(error)
            result = await self.request(
                method,
                params,
                on_progress=on_progress,
                timeout_s=timeout_s,
                reset_on_progress=reset_on_progress,
            )
        except (RequestTimeout, UnexpectedResponse) as error:
            self._advise(error)
            raise
        self._answered_as_modern = self.era == "modern"
        return result

    def _check_negotiated(self, method: str) -> None:
        # Both sides must only use capabilities that were negotiated.
        # https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation
        if self._phase is not legacy.Phase.OPERATING:
            return
        row = method_row(method, self.version)
        if row is None or row.declared_by != "server":
            return
        if not declares(self.server_capabilities or {}, row.capability):
            raise McpSimError(f"{method}: the server did not declare {row.capability} in initialize.")

    def _change_version(self, error: ProtocolError) -> None:
        """Take a version that both speak for everything that follows, or raise the error."""
        version = common_modern_version(supported_versions(error))
        refused = self.era == "modern" and error.code == UNSUPPORTED_VERSION
        if not refused or version is None or version == self.version:
            if error.code not in RECOGNISED_MODERN_ERRORS:
                self._advise(error)
            elif error.code == MISSING_CLIENT_CAPABILITY:
                error.add_note(
                    "A client declares what its callbacks can answer: Client(elicit=..., elicit_url=..., "
                    "sample=..., roots=...)."
                )
            raise error
        self._scribe.note(f"The server does not speak {self.version}; from here on it is {version}.")
        self.version = version

    def _advise(self, error: McpSimError) -> None:
        if self.era == "modern" and not (self._answered_as_modern or self.server_is_modern):
            error.add_note(
                "The server has not yet answered a modern request. If it is a legacy server, connect with "
                "Client(era='auto') or Client(era='legacy')."
            )

    def _parse(self, method: str, result: Mapping[str, Any]) -> Any:
        if method == "tools/call" and self.era == "modern" and _is_plain_call_result(result):
            return _read_call_result(result, by_name=False)
        kind = result.get("resultType", "complete")
        if kind not in RESULT_TYPES:
            raise UnexpectedResponse(f"The result of {method} has the unknown resultType {kind!r}.")
        # A version that nobody here knows is written and read like the latest one.
        version = self.version if era_of(self.version) is not None else LATEST_MODERN
        if self.era == "modern":
            result = modern.with_assumptions(result, method, version)
        try:
            return models().parse_server_result(method, version, result)
        except KeyError:
            raise UnexpectedResponse(f"There is no {method} in {version}, and yet it was answered.") from None
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, fault["loc"]))
            raise UnexpectedResponse(
                f"The result of {method} is not valid: {where}: {fault['msg']}"
            ) from None


def _is_plain_call_result(result: Mapping[str, Any]) -> bool:
    """Say whether this is the complete result of a modern call, valid, and of nothing but text.

    Most results are like this. The check against the schema of the revision takes twenty times as long.
    """
    if not result.keys() <= _PLAIN_RESULT or result.get("resultType") != "complete":
        return False
    content: Any = result.get("content")
    if content.__class__ is not list:
        return False
    for block in content:
        if block.__class__ is not dict or block.keys() != _PLAIN_BLOCK:
            return False
        if block["type"] != "text" or block["text"].__class__ is not str:
            return False
    meta: Any = result.get("_meta", _NO_META)
    if meta.__class__ is not dict or not meta.keys() <= _PLAIN_META:
        return False
    info: Any = meta.get(SERVER_INFO, _NO_INFO)
    if info.__class__ is not dict or info.keys() != _NO_INFO.keys():
        return False
    return info["name"].__class__ is str and info["version"].__class__ is str


_NO_META: Final[Mapping[str, Any]] = {}
_PLAIN_META: Final = frozenset({SERVER_INFO})
_NO_INFO: Final = {"name": "", "version": ""}
