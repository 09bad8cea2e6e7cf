"""Several rounds for one request: what a modern handler asks, and what the client's retry brings back.

A handler that asks for something which is not there yet ends the round: `Pause` leaves it, and the answer to
the request is `input_required`. On the retry the handler runs again from its start, and the same call
returns the response. What earlier rounds brought, and what the handler wants to find again, travels in the
sealed request state; nothing stays at the server.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from mcpsim.eras.asking import rules_of
from mcpsim.errors import INVALID_PARAMS, ProtocolError, RequestStateError
from mcpsim.server.input_requests import Incomplete, InputRequest
from mcpsim.utilities.request_state import Binding, UsedStates, digest_of, digest_of_request, seal, unseal

Tokens = Callable[[str], str]
Clock = Callable[[], int]

_REFUSED: Final = (
    "The requestState is not valid for this request. To begin again, send the request without requestState "
    "and without inputResponses."
)


class Pause(BaseException):
    """Ends the round: the client has to answer first. No `except Exception` of a handler holds it up.

    What does (`except BaseException`, `gather(return_exceptions=True)`) changes nothing: a question that was
    asked and has no answer ends the round, whatever the handler returns afterwards. See `Round.unanswered`.

    Attributes:
        questions: what to ask, by key; empty where the client has only to come back.
    """

    def __init__(self, questions: Mapping[str, InputRequest]) -> None:
        super().__init__(tuple(questions))
        self.questions = questions


def pause_in(error: BaseException) -> Pause | None:
    """The pause that an exception is, or a group of exceptions holds and nothing else; otherwise None."""
    if isinstance(error, Pause):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    group = cast("BaseExceptionGroup[BaseException]", error)
    pauses = [pause_in(one) for one in group.exceptions]
    if not all(pauses):
        return None
    return Pause({key: request for one in pauses if one for key, request in one.questions.items()})


@dataclass(slots=True)
class StateKeeper:
    """What one server needs to seal request state and to know it again: its key, and which states were used.

    Attributes:
        key: the secret of the seal. All replicas of a server need the same.
        used: only for a server whose states are good for one use.
    """

    key: bytes
    used: UsedStates = field(default_factory=UsedStates)


class StateKeepers:
    """The keepers of a server, one for each run that it serves.

    A server is described once and may serve many runs. Each of them has a key of its own, so that nothing of
    one run shows in another; a key that is given is the key of all. Within a run the keeper stands for what
    the processes of a server share: a secret that all were given, and a store of the states that were used.

    Args:
        key: the secret, or None to let each run make its own.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key
        self._without_run: StateKeeper | None = None
        self._of_runs: WeakKeyDictionary[object, StateKeeper] = WeakKeyDictionary()

    def of(self, run: object | None, tokens: Tokens) -> StateKeeper:
        """The keeper of a run.

        Args:
            run: what stands for the run, such as its recorder; None where nothing is recorded.
            tokens: where a key comes from that was not given.
        """
        found = self._without_run if run is None else self._of_runs.get(run)
        if found is None:
            found = StateKeeper(tokens("state key").encode() if self._key is None else self._key)
            if run is None:
                self._without_run = found
            else:
                self._of_runs[run] = found
        return found


@dataclass(slots=True)
class Round:
    """One round of a request, on the server's side.

    Attributes:
        version: the protocol version.
        note: writes into the recording.
        known: the responses to questions of earlier rounds, by key: the digest of the question, and the
            response. The digest is "" where the request came without state, so that nobody can say what was
            asked.
        remembered: what the handler wants to find again.
        returns: how often the handler has sent the client away without a question.
        unanswered: the questions of this round that the client has to answer first, by key; None where the
            handler has not been stopped. It says so also where the handler caught the `Pause`.
    """

    version: str
    note: Callable[[str], None]
    known: dict[str, tuple[str, Any]] = field(default_factory=dict[str, tuple[str, Any]])
    remembered: Any = None
    returns: int = 0
    unanswered: dict[str, InputRequest] | None = None
    _met: int = 0

    def answers(self, questions: Mapping[str, InputRequest]) -> dict[str, Any]:
        """The client's responses to these questions.

        Raises:
            Pause: some are not there.
            ProtocolError: -32602, one does not fit its question.
        """
        found = {key: self._answer(key, request) for key, request in questions.items()}
        open_ = {key: questions[key] for key, answer in found.items() if answer is None}
        if open_:
            raise self._pause(open_)
        return found

    def _pause(self, questions: Mapping[str, InputRequest]) -> Pause:
        self.unanswered = {**(self.unanswered or {}), **questions}
        return Pause(questions)

    def _answer(self, key: str, request: InputRequest) -> Any:
        if key not in self.known:
            return None
        asked, response = self.known.pop(key)
        digest = _digest(request, self.version)
        if asked not in (digest, ""):
            self.note(f"The response {key!r} is left aside: the question is another one now.")
            return None
        try:
            answer = request.parse(response, self.version)
        except Incomplete as error:
            self.note(f"The response {key!r} is not complete, and is asked for again. {error}")
            return None
        except ValueError as error:
            raise ProtocolError(INVALID_PARAMS, f"inputResponses.{key}: {error}") from None
        self.known[key] = (digest, response)
        return answer

    def come_back(self) -> None:
        """Send the client away, and go on here when it is back.

        Raises:
            Pause: it has not been sent away from here before.
        """
        self._met += 1
        if self._met > self.returns:
            self.returns = self._met
            raise self._pause({})

    def to_keep(self, questions: Mapping[str, InputRequest]) -> dict[str, Any]:
        """What goes into the request state."""
        return {
            "asked": {key: _digest(request, self.version) for key, request in questions.items()},
            "known": {key: list(value) for key, value in self.known.items() if value[0]},
            "remembered": self.remembered,
            "returns": self.returns,
        }


def _digest(request: InputRequest, version: str) -> str:
    return digest_of([request.method, request.wire_params(rules_of(version))])


@dataclass(frozen=True, slots=True)
class Desk:
    """Begins and ends the rounds of requests, with a server's settings for request state.

    Attributes:
        audience: the server's name.
        keeper: key and used states.
        ttl_ms: for how long a state is good, in milliseconds.
        single_use: whether each state is good once.
        clock: the time in whole milliseconds.
        tokens: makes names for states that are good once.
    """

    audience: str
    keeper: StateKeeper
    ttl_ms: int
    single_use: bool
    clock: Clock
    tokens: Tokens

    def begin(
        self,
        principal: str,
        method: str,
        params: Mapping[str, Any],
        version: str,
        note: Callable[[str], None],
    ) -> Round:
        """Read what a request says about the rounds before it.

        Raises:
            ProtocolError: -32602, `requestState` or `inputResponses` are not valid. What is wrong with the
                state is noted, and not said.
        """
        given: Any = params.get("inputResponses", {})
        if not isinstance(given, dict):
            raise ProtocolError(INVALID_PARAMS, f"{method}: params.inputResponses must be an object.")
        responses = cast("dict[str, Any]", given)
        if "requestState" not in params:
            if responses and self.single_use:
                note("The input responses are left aside: they came without the state of their questions.")
                responses = {}
            return Round(version, note, {key: ("", response) for key, response in responses.items()})
        state: Any = params["requestState"]
        if not isinstance(state, str):
            raise ProtocolError(INVALID_PARAMS, f"{method}: params.requestState must be a string.")
        now_ms = self.clock()
        try:
            opened = unseal(state, self.keeper.key, self._binding(principal, method, params), now_ms=now_ms)
            if self.single_use:
                self.keeper.used.use(opened.nonce, opened.expires_ms, now_ms)
        except RequestStateError as error:
            note(f"Refused: {error}")
            raise ProtocolError(INVALID_PARAMS, _REFUSED) from None
        kept: Any = opened.payload
        known = {key: (digest, response) for key, (digest, response) in kept["known"].items()}
        for key, response in responses.items():
            if key in kept["asked"]:
                known[key] = (kept["asked"][key], response)
            else:
                note(f"The response {key!r} is left aside: nobody asked for it.")
        return Round(version, note, known, kept["remembered"], kept["returns"])

    def end(
        self, round_: Round, pause: Pause, principal: str, method: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The result that asks the client to answer and to come again."""
        rules = rules_of(round_.version)
        result: dict[str, Any] = {"resultType": "input_required"}
        if pause.questions:
            result["inputRequests"] = {
                key: _without_none({"method": request.method, "params": request.wire_params(rules)})
                for key, request in pause.questions.items()
            }
        result["requestState"] = seal(
            round_.to_keep(pause.questions),
            self.keeper.key,
            self._binding(principal, method, params),
            expires_ms=self.clock() + self.ttl_ms,
            nonce=self.tokens("request state") if self.single_use else "",
        )
        return result

    def _binding(self, principal: str, method: str, params: Mapping[str, Any]) -> Binding:
        return Binding(principal, method, digest_of_request(self.audience, params))


def _without_none(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}
