"""The check of a request's parameters against the schema of its revision."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError

from mcpsim.eras.bodies import models
from mcpsim.eras.modern import is_plain_meta
from mcpsim.eras.revisions import MODERN_REVISIONS
from mcpsim.errors import INVALID_PARAMS, ProtocolError
from mcpsim.messages import PROGRESS_TOKEN, is_progress_token, meta_of


def check_params(method: str, params: dict[str, Any], version: str) -> None:
    """Check the parameters of a request against the schema of its revision.

    Raises:
        ProtocolError: -32602, naming the first fault.
    """
    if method == "tools/call" and version in MODERN_REVISIONS and _is_plain_call(params):
        return
    # Two things that the official models let pass and the schema does not: null for a member that may be
    # left out, and a progress token that is no string or integer.
    for name in _NEVER_NULL:
        if name in params and params[name] is None:
            raise ProtocolError(INVALID_PARAMS, f"{method}: params.{name} is null; leave it out instead.")
    meta = meta_of(params)
    if PROGRESS_TOKEN in meta and not is_progress_token(meta[PROGRESS_TOKEN]):
        raise ProtocolError(INVALID_PARAMS, f"{method}: the progress token must be a string or an integer.")
    try:
        models().validate_client_request(method, version, params)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"])) or "params"
        raise ProtocolError(INVALID_PARAMS, f"{method}: {where}: {fault['msg']}") from None


def _is_plain_call(params: dict[str, Any]) -> bool:
    """Say whether these are the parameters of a modern call, valid, and with nothing unusual in them.

    Nearly all calls are like this, and to see it takes a tenth of the time of the whole check.
    """
    if params.keys() != _PLAIN_CALL:
        return False
    if params["name"].__class__ is not str or params["arguments"].__class__ is not dict:
        return False
    return is_plain_meta(params["_meta"])


_PLAIN_CALL: Final = frozenset({"name", "arguments", "_meta"})

_NEVER_NULL: Final = ("_meta", "arguments", "context", "cursor")
