"""Request state: the client brings it back as it is, for its own request; the server does not trust it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mcpsim.audit.model import Call, Item, Trace
from mcpsim.audit.occurring import items_with
from mcpsim.audit.once import once
from mcpsim.audit.questions import ASKERS, RETRYING, Json, answers, asks, mapping, retried, subject
from mcpsim.audit.rule import MODERN, MUST, NOTE, SHOULD, Found, Rule, calls, each, results
from mcpsim.eras.methods import method as method_row
from mcpsim.recording.words import show

_PAGE: Final = "basic/patterns/mrtr"
_SERVER: Final[Mapping[Any, str]] = {"modern": f"{_PAGE}#server-requirements-basic-workflow"}
_CLIENT: Final[Mapping[Any, str]] = {"modern": f"{_PAGE}#client-requirements-basic-workflow"}
_RETRY_MEMBERS: Final = frozenset({"inputResponses", "requestState", "_meta"})
# More calls than so many are not remembered for one state, and for one set of keys.
_REMEMBERED: Final = 8


@dataclass(frozen=True, slots=True)
class _Presented:
    """A request that brings a state.

    Attributes:
        call: the request.
        state: what it brings.
        givers: the calls whose answers gave this state before, on this hop; the first few of them.
        before: the first request that brought it before, from the same client; None for the first.
    """

    call: Call
    state: str
    givers: tuple[Call, ...]
    before: Call | None

    @property
    def own(self) -> tuple[Call, ...]:
        """The givers that ask for the same: the same method, and the same tool, prompt or resource."""
        return tuple(one for one in self.givers if _is_same(one, self.call))


def _is_same(one: Call, other: Call) -> bool:
    return one.method == other.method and subject(one) == subject(other)


@once
def _presented(trace: Trace) -> tuple[_Presented, ...]:
    return tuple(_find_presented(trace))


def _find_presented(trace: Trace) -> Iterator[_Presented]:
    given: dict[tuple[str, str], list[Call]] = {}
    brought: dict[tuple[str, str, str, str], Call] = {}
    for item in items_with(trace, ("requestState",)):
        call = item.call
        if item.era != "modern" or call is None or call.asked_by != "client":
            continue
        if method_row(call.method, call.revision) is None:
            # The methods of an extension may carry states by rules of their own.
            continue
        hop = item.connection.hop
        if item is call.request:
            state = item.params.get("requestState")
            if isinstance(state, str):
                key = hop, item.connection.key, call.principal or "", state
                yield _Presented(call, state, tuple(given.get((hop, state), ())), brought.get(key))
                brought.setdefault(key, call)
        elif item is call.answer and asks(item) and not item.disturbed:
            state = item.result.get("requestState")
            if isinstance(state, str):
                givers = given.setdefault((hop, state), [])
                if len(givers) < _REMEMBERED:
                    givers.append(call)


def _state_given(asked: Call) -> str | None:
    state = asked.result.get("requestState")
    return state if isinstance(state, str) else None


def _state_echoed(call: Call) -> Iterator[Found]:
    asked = retried(call)
    if asked is None:
        return
    state, sent = _state_given(asked), call.request.params.get("requestState")
    if state is not None and not isinstance(sent, str):
        lacks = "lacks requestState" if sent is None else f"has the requestState {show(sent)}, and no string"
        yield Found(
            call.request,
            f"The retry {lacks}; the result before it gave {show(state)}.",
            hint="Send the requestState of the input_required result back, unchanged, in params.",
        )


def _state_unchanged(trace: Trace) -> Iterator[Found]:
    presented = _presented(trace)
    brought = {one.state for one in presented}
    for one in presented:
        asked = retried(one.call)
        given = None if asked is None else _state_given(asked)
        if asked is None or given is None or one.state == given or (one.givers and not one.own):
            continue
        # Of requests that were under way at the same time, no answer is the latest one.
        if any(giver.answer is not None and giver.answer.index > asked.request.index for giver in one.own):
            continue
        # A server that goes on with it, while another retry brings what was given: this may be the retry of a
        # request that the trace lacks.
        goes_on = one.call.answer is None or one.call.answer.kind == "response"
        level = SHOULD if goes_on and given in brought and not one.own else None
        brings, gave = _where_they_differ(one.state, given)
        text = f"The retry brings the requestState {brings}"
        if one.own:
            text += f", which is an older one; the latest result gave {gave}."
        elif level is None:
            text += f"; the result before it gave {gave}."
        else:
            text += f"; probably it should be {gave}, which the result before it gave."
        yield Found(one.call.request, text, hint="Send the latest requestState back as it is.", level=level)


def _where_they_differ(sent: str, given: str) -> tuple[str, str]:
    """Two states as they are shown: long ones from where they differ."""
    shorter = min(len(sent), len(given))
    same = next((at for at in range(shorter) if sent[at] != given[at]), shorter)
    begin = max(0, same - 5) if same > _LONG else 0
    before = f"...(from character {begin + 1}) " if begin else ""
    return before + show(sent[begin:]), before + show(given[begin:])


_LONG: Final = 20


def _state_not_invented(call: Call) -> Iterator[Found]:
    asked = retried(call)
    if asked is None or asked.result.get("requestState") is not None:
        return
    sent = call.request.params.get("requestState")
    if sent is not None:
        yield Found(
            call.request,
            f"The retry brings the requestState {show(sent)}; the result before it gave none.",
            hint="Leave requestState out where the latest result has none.",
        )


def _own_request(trace: Trace) -> Iterator[Found]:
    for one in _presented(trace):
        if not one.givers:
            continue
        if not one.own:
            giver = one.givers[0]
            yield Found(
                one.call.request,
                f"This {_name(one.call)} brings the requestState {show(one.state)}, which was given for "
                f"{_name(giver)}.",
                hint="A requestState belongs to the retry of its own request, and to no other.",
            )
        elif not any(_arguments(giver) == _arguments(one.call) for giver in one.own):
            yield Found(
                one.call.request,
                f"This retry of {_name(one.call)} has other params than the request whose answer gave the "
                "requestState; a retry repeats the original request.",
                level=NOTE,
            )


def _name(call: Call) -> str:
    named = subject(call)
    method = call.method if call.method in ASKERS else show(call.method)
    return f"{method} of {show(named)}" if named else method


def _arguments(call: Call) -> Json:
    return {name: value for name, value in call.request.params.items() if name not in _RETRY_MEMBERS}


# --- The server --------------------------------------------------------------------------------------


def _accepted(call: Call) -> Item | None:
    """The result with which a server went on; None where it refused, failed, or asked again."""
    answer = call.answer
    if answer is None or answer.kind != "response" or asks(answer) or answer.result.get("isError") is True:
        return None
    return answer


def _refuses_changed(trace: Trace) -> Iterator[Found]:
    for one in _presented(trace):
        asked, answer = retried(one.call), _accepted(one.call)
        given = None if asked is None else _state_given(asked)
        if answer is None or given is None or one.givers or one.state == given:
            continue
        if one.call.request.disturbed:
            continue
        members, before = _read(one.state), _read(given)
        if members is not None and before is not None and members != before and _is_refused(one.call):
            yield Found(
                answer,
                f"The client changed the requestState ({_changes(before, members)}) and refused what it was "
                "asked, and the server went on: it does not protect the state.",
                hint="Seal the state (HMAC, AEAD), and refuse one whose seal does not fit.",
            )
        else:
            yield Found(
                answer,
                f"The requestState {show(one.state)} is none that the server gave, and it went on; "
                "probably it does not check it. That is only right where a changed state can do no harm.",
                hint="Seal the state (HMAC, AEAD), and refuse one whose seal does not fit.",
                level=SHOULD,
            )


def _is_refused(call: Call) -> bool:
    """Whether a retry brings answers, and none of them a yes."""
    actions = [answer.result.get("action") for answer in answers(call)]
    return bool(actions) and all(action in ("decline", "cancel") for action in actions)


def _changes(before: Json, after: Json) -> str:
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    name = names[0]
    return f"{show(name)[1:-1]} from {show(before.get(name), 30)} to {show(after.get(name), 30)}"


def _bound_to_request(trace: Trace) -> Iterator[Found]:
    for one in _presented(trace):
        answer = _accepted(one.call)
        if answer is not None and one.givers and not one.own:
            yield Found(
                answer,
                f"The server accepted a requestState for {_name(one.call)} that it had given for "
                f"{_name(one.givers[0])}.",
                hint="Put the method and a digest of the params into the sealed state, and compare them.",
            )


def _bound_to_principal(trace: Trace) -> Iterator[Found]:
    for one in _presented(trace):
        answer, principal = _accepted(one.call), one.call.principal
        if answer is None or not principal or not one.own:
            continue
        if any(giver.connection is one.call.connection or not giver.principal for giver in one.own):
            # On one connection another token may be a new one for the same user.
            continue
        if all(giver.principal != principal for giver in one.own):
            yield Found(
                answer,
                "The server accepted a requestState that it had given to somebody with another token, on "
                "another connection: probably another user.",
                hint="Put the principal into the sealed state, and compare it.",
            )


def _replayed(trace: Trace) -> Iterator[Found]:
    for one in _presented(trace):
        answer = _accepted(one.call)
        if answer is None or one.before is None or one.before.request.disturbed:
            continue
        if one.own and _accepted(one.before) is not None and _is_same(one.before, one.call):
            yield Found(
                answer,
                f"The server went on twice with the same requestState, {show(one.state)}. Where it must "
                "count only once, the server has to see to that itself.",
            )


def _readable(item: Item) -> Iterator[Found]:
    if asks(item) and _read(item.result.get("requestState")) is not None:
        yield Found(
            item,
            "This requestState is JSON that the client can read, and change without anybody noticing. If it "
            "steers anything that matters, it must be protected (HMAC, AEAD).",
        )


def _read(state: Any) -> Json | None:
    """A state that is a JSON object, plain or in Base64, without anything that looks like a seal; None for
    any other."""
    if not isinstance(state, str) or len(state) > _LONGEST:
        return None
    text = state.strip()
    try:
        value: Any = json.loads(text if text.startswith("{") else _from_base64(text).decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    members = mapping(value)
    sealed = any(mark in name.lower() for name in members for mark in _SEALS)
    return members if members and not sealed else None


_LONGEST: Final = 100_000
_SEALS: Final = ("sig", "mac", "seal", "tag", "cipher", "hash", "digest", "nonce", "iv", "enc")


def _from_base64(text: str) -> bytes:
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)


# --- Answers without a question ----------------------------------------------------------------------


def _is_retry(call: Call) -> bool:
    return call.rounds is not None and call.rounds.calls[0] is not call


def _answers_own_request(trace: Trace) -> Iterator[Found]:
    pending: dict[tuple[str, frozenset[str]], list[Call]] = {}
    for item in items_with(trace, ("inputRequests", "inputResponses")):
        call = item.call
        if item.era != "modern" or call is None or call.asked_by != "client":
            continue
        hop = item.connection.hop
        if item is call.answer and asks(item):
            keys = frozenset(mapping(item.result.get("inputRequests")))
            waiting = pending.setdefault((hop, keys), [])
            if keys and len(waiting) < _REMEMBERED:
                waiting.append(call)
        elif item is call.request and call.method in ASKERS and "requestState" not in item.params:
            responses = item.params.get("inputResponses")
            if not isinstance(responses, dict) or not responses or _is_retry(call):
                continue
            keys = frozenset(cast("dict[str, Any]", responses))
            found = pending.get((hop, keys), [])
            if any(_is_same(one, call) for one in found):
                continue
            if found:
                text = f"the result that asked for them was about {_name(found[0])}"
                yield Found(item, f"This {_name(call)} brings inputResponses, and {text}.", level=SHOULD)
            elif not item.connection.began_late:
                yield Found(
                    item,
                    f"This {_name(call)} brings inputResponses, and no result in this trace asked for them.",
                    level=NOTE,
                )


MRTR_STATES: Final[tuple[Rule, ...]] = (
    Rule(
        "mrtr-state-echoed",
        MUST,
        "client",
        MODERN,
        _CLIENT,
        "The retry brings the requestState of the result before it.",
        on=calls(*ASKERS, among=RETRYING),
        check=_state_echoed,
    ),
    Rule(
        "mrtr-state-unchanged",
        MUST,
        "client",
        MODERN,
        _CLIENT,
        "The retry brings the requestState exactly as it was given.",
        on=each(Trace, needs=("requestState",)),
        check=_state_unchanged,
    ),
    Rule(
        "mrtr-state-not-invented",
        MUST,
        "client",
        MODERN,
        _CLIENT,
        "The retry has no requestState where the result before it had none.",
        on=calls(*ASKERS, among=RETRYING),
        check=_state_not_invented,
    ),
    Rule(
        "mrtr-state-for-its-own-request",
        MUST,
        "client",
        MODERN,
        _CLIENT,
        "A requestState is used for the retry of its own request only.",
        on=each(Trace, needs=("requestState",)),
        check=_own_request,
    ),
    Rule(
        "mrtr-answers-for-their-own-request",
        MUST,
        "client",
        MODERN,
        _CLIENT,
        "Input responses are used for the retry of the request that they were asked for.",
        on=each(Trace, needs=("inputResponses",)),
        check=_answers_own_request,
    ),
    Rule(
        "mrtr-changed-state-refused",
        MUST,
        "server",
        MODERN,
        _SERVER,
        "A requestState that matters is protected, and refused where it was changed.",
        on=each(Trace, needs=("requestState",)),
        check=_refuses_changed,
    ),
    Rule(
        "mrtr-state-bound-to-request",
        SHOULD,
        "server",
        MODERN,
        _SERVER,
        "A requestState is refused for another request than it was given for.",
        on=each(Trace, needs=("requestState",)),
        check=_bound_to_request,
    ),
    Rule(
        "mrtr-state-bound-to-principal",
        SHOULD,
        "server",
        MODERN,
        _SERVER,
        "A requestState is refused from another caller than it was given to.",
        on=each(Trace, needs=("requestState",)),
        check=_bound_to_principal,
    ),
    Rule(
        "mrtr-state-replayed",
        NOTE,
        "server",
        MODERN,
        _SERVER,
        "A requestState that must count only once is taken only once.",
        on=each(Trace, needs=("requestState",)),
        check=_replayed,
    ),
    Rule(
        "mrtr-state-readable",
        NOTE,
        "server",
        MODERN,
        _SERVER,
        "A requestState that matters is protected against change.",
        on=results(*ASKERS, needs=("requestState",)),
        check=_readable,
    ),
)
