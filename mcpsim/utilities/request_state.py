"""Request state, sealed: what a server wants to find again in the retry of a request, safe from the client.

The state passes through the client, which may be anybody. The seal is an HMAC-SHA256 over the whole text,
and in it stand who the state is for, for which request, and until when. It keeps nobody from reading: what
must stay secret does not belong in it.

Nothing here looks at a clock or draws a random number; both are passed in.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcpsim.errors import (
    StateExpired,
    StateOfAnotherPrincipal,
    StateOfAnotherRequest,
    StateReplayed,
    StateTampered,
)
from mcpsim.messages import is_reserved_meta_key, meta_of

# Part of what is signed, so that the key never signs the same bytes for another purpose.
_PURPOSE: Final = b"mcpsim request state 1\n"
_RETRY_MEMBERS: Final = frozenset({"inputResponses", "requestState", "_meta"})

MAX_USED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Binding:
    """Who may present a state, and with what.

    Attributes:
        principal: the caller, as the transport knows it, or "".
        method: the method of the request.
        digest: of the request's parameters; see `digest_of_request`.
    """

    principal: str
    method: str
    digest: str


@dataclass(frozen=True, slots=True)
class Unsealed:
    """A state that was accepted.

    Attributes:
        payload: what the server put in.
        expires_ms: until when it would be accepted, on the clock of whoever sealed it.
        nonce: its name, where it may be used once; or "".
    """

    payload: Any
    expires_ms: int
    nonce: str


def digest_of(value: Any) -> str:
    """A digest of a JSON value; the order of members does not matter.

    Raises:
        TypeError, ValueError: JSON cannot carry it.
    """
    return _text(hashlib.sha256(_canonical(value)).digest())


def digest_of_request(audience: str, params: Mapping[str, Any] | None) -> str:
    """A digest of what must stay the same from a request to its retry.

    Left out are the answers and the state themselves, and the keys of `_meta` that the protocol reserves:
    a progress token or a trace id is another one each time.

    Args:
        audience: the server's name: the state of another server that has the same key belongs elsewhere.
    """
    kept = {key: value for key, value in (params or {}).items() if key not in _RETRY_MEMBERS}
    meta = {key: value for key, value in meta_of(params).items() if not is_reserved_meta_key(key)}
    return digest_of([audience, kept, meta])


def seal(payload: Any, key: bytes, binding: Binding, *, expires_ms: int, nonce: str = "") -> str:
    """Seal a JSON value.

    Args:
        key: the server's secret.
        expires_ms: when it stops to be accepted, in milliseconds on the server's clock.
        nonce: a name of its own for a state that may be used once.

    Raises:
        TypeError, ValueError: JSON cannot carry the payload.
    """
    content = {
        "payload": payload,
        "principal": binding.principal,
        "method": binding.method,
        "digest": binding.digest,
        "expires": expires_ms,
        "nonce": nonce,
    }
    text = _text(_canonical(content))
    return f"{text}.{_signature(text, key)}"


def unseal(state: str, key: bytes, binding: Binding, *, now_ms: int) -> Unsealed:
    """Open a state, if it is this one's, for this request, and still good.

    Args:
        now_ms: the time, in milliseconds on the clock that `expires_ms` was read from.

    Raises:
        StateTampered: it is not as it was sealed, or was sealed with another key.
        StateExpired: its time is over.
        StateOfAnotherPrincipal, StateOfAnotherRequest: it belongs elsewhere.
    """
    text, _, signature = state.rpartition(".")
    # The text is signed as it stands, and the signature is compared as it stands: base64 has several
    # spellings for the same bytes, and only one of them is ours.
    right = _signature(text, key)
    if not hmac.compare_digest(_bytes(signature), right.encode()):
        raise StateTampered("The requestState was changed, or was sealed by somebody else.")
    content = cast("dict[str, Any]", json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))
    expires_ms: int = content["expires"]
    if now_ms >= expires_ms:
        raise StateExpired(f"The requestState expired {now_ms - expires_ms} ms ago.")
    if content["principal"] != binding.principal:
        raise StateOfAnotherPrincipal(
            f"The requestState was sealed for {content['principal'] or 'nobody by name'!r}, and "
            f"{binding.principal or 'nobody by name'!r} presents it."
        )
    if content["method"] != binding.method or content["digest"] != binding.digest:
        same = "with other parameters" if content["method"] == binding.method else f"to {content['method']}"
        raise StateOfAnotherRequest(f"The requestState belongs to a request {same}.")
    return Unsealed(content["payload"], expires_ms, content["nonce"])


@dataclass(slots=True)
class UsedStates:
    """The states that were used and could still come again: what makes them good for one use.

    It holds names of states until these expire, at most `limit` of them. Where it is full, no further state
    is accepted: to forget one would let it be used twice.
    """

    limit: int = MAX_USED
    _expiries: dict[str, int] = field(default_factory=dict[str, int])

    def __len__(self) -> int:
        return len(self._expiries)

    def use(self, nonce: str, expires_ms: int, now_ms: int) -> None:
        """Take note that a state is used now.

        Raises:
            StateReplayed: it was used before, or there is no room to remember that it was.
        """
        if not nonce:
            raise StateReplayed("The requestState has no name of its own, and each may be used once here.")
        if nonce in self._expiries:
            raise StateReplayed("The requestState was used before.")
        if len(self._expiries) >= self.limit:
            self._expiries = {name: end for name, end in self._expiries.items() if end > now_ms}
        if len(self._expiries) >= self.limit:
            raise StateReplayed(f"More than {self.limit} used states would have to be remembered.")
        self._expiries[nonce] = expires_ms


def _canonical(value: Any) -> bytes:
    return json.dumps(
        value, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode()


def _signature(text: str, key: bytes) -> str:
    return _text(hmac.digest(key, _PURPOSE + _bytes(text), "sha256"))


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    # Half of a surrogate pair can arrive in a JSON string.
    return text.encode("utf-8", "surrogatepass")
