"""The client's half of a server's questions: callbacks that answer, and the loop of rounds.

`Answerer` turns one question (a legacy server's request, or a modern input request) into its response by
asking the callbacks of whoever made the client. `drive` sends a request as often as its server asks for
input. Neither knows of transports.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow
https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

import anyio
import mcp_types
from pydantic import BaseModel, ValidationError

from mcpsim.eras.asking import parse_question, parse_response, rules_of
from mcpsim.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    InputDeclined,
    ProtocolError,
    TooManyRounds,
    UnexpectedResponse,
)
from mcpsim.messages import ErrorResponse, Request, RequestId, Response
from mcpsim.messages.envelopes import show_text
from mcpsim.recording.scribe import Scribe
from mcpsim.utilities.elicitation import faults_of_content, is_form, is_url, missing_fields, with_defaults
from mcpsim.utilities.sampling import fault_of_content, fault_of_sampling
from mcpsim.utilities.uris import leads_up

Roots = Sequence[mcp_types.Root | Mapping[str, Any] | str]
Callback = Callable[[Any], Any]
Put = Callable[..., Awaitable[Any]]
Call = Callable[[dict[str, Any] | None], Awaitable[dict[str, Any]]]

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
LIST_ROOTS: Final = "roots/list"

INPUT_REQUIRED: Final = "input_required"
ACTIONS: Final = ("accept", "decline", "cancel")
MAX_ROUNDS: Final = 10

# https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#error-handling
USER_REJECTED: Final = -1

_RETRY_MEMBERS: Final = ("inputResponses", "requestState")


class Unanswerable(ProtocolError):
    """A question that a server should not have put to this client, as the error that a legacy one gets."""


@dataclass(frozen=True, slots=True)
class Instead:
    """What a user or a host answers in place of what its callback says.

    Attributes:
        action: "accept", "decline" or "cancel"; of sampling only the first two.
        content: what the form is filled in with, or what the model writes (a text or a result); for "accept".
    """

    action: str
    content: Any = None

    def given(self, method: str) -> Any:
        """It, as a callback for this question would return it.

        Raises:
            InputDeclined: the user does not want a model to write.
        """
        if method == ELICIT:
            if self.action != "accept":
                return self.action
            return {} if self.content is None else self.content
        if self.action != "accept":
            raise InputDeclined("The user does not want a model to write.")
        return self.content


class Answerer:
    """Answers a server's questions for one connection.

    What is given is declared; what is not given is refused. A callback is a plain or an async function.

    Args:
        elicit: called with `mcp_types.ElicitRequestFormParams`. Returns the content as a dict or model, or
            "accept" (the defaults are right), "decline", "cancel", or an `mcp_types.ElicitResult`.
        elicit_url: called with `mcp_types.ElicitRequestURLParams`: show the whole URL, ask the user, and open
            it for them, never by itself. Returns "accept", "decline", "cancel", or an `ElicitResult`.
        sample: called with `mcp_types.CreateMessageRequestParams`. Returns a text, a result as a dict or
            model, or raises `InputDeclined` where the user does not want it. Deprecated in 2026-07-28.
        roots: the roots: models, dicts or `file://` URIs, or a function without arguments that returns them.
            Deprecated in 2026-07-28.
        sampling_tools, sampling_context: whether `sample` can use tools, and context of servers.
        model: what a text of `sample` is said to come from.
        scribe: gives what writes into the recording: remarks, and when a callback was called and what came of
            it. A callback stands for the user (`elicit`, `elicit_url`) or for the host.

    Raises:
        ValueError: a root that is no `file://` URI, or one with `..` in its path.
    """

    def __init__(
        self,
        *,
        elicit: Callback | None = None,
        elicit_url: Callback | None = None,
        sample: Callback | None = None,
        roots: Roots | Callable[[], Any] | None = None,
        sampling_tools: bool = False,
        sampling_context: bool = False,
        model: str = "workbook-model",
        scribe: Callable[[], Scribe] = Scribe,
    ) -> None:
        self._elicit = elicit
        self._elicit_url = elicit_url
        self._sample = sample
        self._roots = roots
        self._sampling_tools = sampling_tools
        self._sampling_context = sampling_context
        self._model = model
        self._scribe = scribe
        self._visits: set[str] = set()
        self._asked = 0
        self._instead: dict[int, Instead] = {}
        if roots is not None and not callable(roots):
            _roots_result(roots)

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the client can declare, as a capabilities object."""
        declared: dict[str, Any] = {}
        modes: dict[str, Any] = {
            name: {}
            for name, given in (("form", self._elicit), ("url", self._elicit_url))
            if given is not None
        }
        if modes:
            declared["elicitation"] = modes
        if self._sample is not None:
            able = (("tools", self._sampling_tools), ("context", self._sampling_context))
            declared["sampling"] = {name: {} for name, given in able if given}
        if self._roots is not None:
            declared["roots"] = {}
        return declared

    async def answer(
        self, method: str, params: Mapping[str, Any] | None, version: str, id: RequestId = ""
    ) -> dict[str, Any]:
        """The response to one question.

        Args:
            method, params: the question.
            version: the protocol version that client and server speak.
            id: of the request that asks it, or its key among the input requests.

        Raises:
            Unanswerable: the question cannot be answered: -32601 (there is no callback for it), -32602 (it
                is not valid, or for something that was not declared).
            ValueError: what a callback returned is no response to the question; the text says why.
            InputDeclined: the user does not want a model to write.
            Exception: whatever else a callback raises.
        """
        answer = {ELICIT: self._answer_elicit, SAMPLE: self._answer_sample, LIST_ROOTS: self._answer_roots}
        kind = answer.get(method)
        if kind is None:
            raise Unanswerable(METHOD_NOT_FOUND, f"Method not found: {method}")
        try:
            question = parse_question(method, version, params)
        except KeyError:
            raise Unanswerable(METHOD_NOT_FOUND, f"Method not found: {method} (in {version})") from None
        except ValidationError as error:
            raise Unanswerable(INVALID_PARAMS, f"{method}: {_first_fault(error)}") from None
        put = partial(self._put, method, id)
        response = await kind(put, question.params, params or {}, version)
        try:
            parse_response(method, version, response)
        except ValidationError as error:
            raise ValueError(
                f"What the callback for {method} returned is no response to it: {_first_fault(error)}"
            ) from None
        return response

    async def respond(self, request: Request, version: str) -> Response | ErrorResponse:
        """The answer to a legacy server's request. Nothing that a callback does is raised."""
        method = request.method
        try:
            return Response(request.id, await self.answer(method, request.params, version, request.id))
        except ProtocolError as error:
            return ErrorResponse(request.id, error.code, error.message, error.data)
        except InputDeclined:
            return ErrorResponse(request.id, USER_REJECTED, "User rejected sampling request")
        except Exception as error:
            self._scribe().note(f"The callback for {method} failed with {type(error).__name__}: {error}")
            return ErrorResponse(request.id, INTERNAL_ERROR, "Internal error")

    async def answer_all(self, requests: Mapping[str, Any], version: str) -> dict[str, Any]:
        """The responses to the input requests of a modern result, by key, one after another.

        Raises:
            UnexpectedResponse: the server asks for what it may not ask for; the text says what.
            ValueError, InputDeclined, Exception: as for `answer`.
        """
        responses: dict[str, Any] = {}
        for key, request in requests.items():
            method, params = _question(key, request)
            try:
                responses[key] = await self.answer(method, params, version, key)
            except Unanswerable as error:
                why = error.message.removesuffix(".")
                raise UnexpectedResponse(
                    f"The input request {key!r} ({method}) cannot be answered: {why}. A server asks only for "
                    "what the client declared with the request."
                ) from error
        return responses

    def answer_instead(self, nth: int, answer: Instead) -> None:
        """Give another answer to one question than the callback gives.

        Args:
            nth: which of the calls of the callbacks of this connection, from 1.
        """
        self._instead[nth] = answer

    async def _put(self, method: str, id: RequestId, callback: Callable[..., Any], *arguments: Any) -> Any:
        """Ask whoever the callback stands for, and write down what came of it."""
        scribe = self._scribe()
        self._asked += 1
        instead = self._instead.get(self._asked)
        scribe.started(method, id)
        try:
            answer = await _answered(callback, arguments, method, instead)
        except anyio.get_cancelled_exc_class():
            scribe.cancelled(method, id, 0)
            raise
        except InputDeclined:
            scribe.finished(method, id, 0, "decline")
            raise
        except BaseException:
            scribe.finished(method, id, 0, "error")
            raise
        scribe.finished(method, id, 0, _outcome(method, answer))
        return answer

    # Elicitation

    async def _answer_elicit(
        self, put: Put, params: Any, raw: Mapping[str, Any], version: str
    ) -> dict[str, Any]:
        by_url = isinstance(params, mcp_types.ElicitRequestURLParams)
        callback = self._elicit_url if by_url else self._elicit
        if self._elicit is None and self._elicit_url is None:
            raise Unanswerable(METHOD_NOT_FOUND, f"Method not found: {ELICIT}")
        if callback is None:
            mode = "url" if by_url else "form"
            raise Unanswerable(INVALID_PARAMS, f"{ELICIT}: this client did not declare the mode {mode!r}.")
        if by_url and not rules_of(version).url:
            raise Unanswerable(INVALID_PARAMS, f"{ELICIT}: {version} has no elicitation by URL.")
        if by_url and not is_url(raw["url"]):
            raise Unanswerable(INVALID_PARAMS, f"{ELICIT}: {show_text(raw['url'])} is no valid URL.")
        schema: Any = raw.get("requestedSchema")
        if not by_url and not is_form(schema):
            raise Unanswerable(
                INVALID_PARAMS,
                f"{ELICIT}: requestedSchema must be a flat object of strings, numbers, integers, booleans "
                "and choices.",
            )
        if by_url:
            return {"action": await self._visited(put, callback, params, raw)}
        action, content = _action_of(await put(callback, params))
        if action != "accept":
            return {"action": action}
        filled = with_defaults(schema, content)
        missing = [f"{name}: is required." for name in missing_fields(schema, filled)]
        faults = missing + faults_of_content(schema, filled)
        if faults:
            raise ValueError(f"What was filled in does not fit the form. {' '.join(faults[:3])}")
        return {"action": action, "content": filled}

    async def _visited(self, put: Put, callback: Callback, params: Any, raw: Mapping[str, Any]) -> str:
        # Under way from the first moment: the user may be done with it before the callback returns.
        id: Any = raw.get("elicitationId")
        visits = {id} if isinstance(id, str) else set[str]()
        action = ""
        self._visits |= visits
        try:
            action, _ = _action_of(await put(callback, params))
        finally:
            if action != "accept":
                self._visits -= visits
        return action

    def completed(self, params: Mapping[str, Any] | None) -> bool:
        """Take in `notifications/elicitation/complete`: whether it names a visit that was under way.

        What names another one is ignored, as the specification has it.
        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
        """
        id: Any = (params or {}).get("elicitationId")
        if not isinstance(id, str) or id not in self._visits:
            self._scribe().note(
                f"Ignored: the elicitation {id!r} is complete, and none of that name was under way."
            )
            return False
        self._visits.remove(id)
        return True

    async def visit(self, error: ProtocolError, version: str) -> bool:
        """Put the visits that a -32042 asks for to the user; whether the user will make all of them.

        Whether the request is sent again afterwards, and when, is for the caller to say.

        Raises:
            ProtocolError: the error itself, where it is another one or lists no such visits.
            UnexpectedResponse: a visit cannot be asked for.

        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
        """
        data: Any = error.data
        listed: Any = cast("dict[str, Any]", data).get("elicitations") if isinstance(data, dict) else None
        if not rules_of(version).elicitation_ids or not isinstance(listed, list) or not listed:
            raise error
        for one in cast("list[Any]", listed):
            params = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
            if params.get("mode") != "url" or "elicitationId" not in params:
                raise error
            answer = await self.answer_all({"url": {"method": ELICIT, "params": params}}, version)
            if answer["url"]["action"] != "accept":
                return False
        return True

    # Sampling and roots

    async def _answer_sample(
        self, put: Put, params: Any, raw: Mapping[str, Any], version: str
    ) -> dict[str, Any]:
        if self._sample is None:
            raise Unanswerable(METHOD_NOT_FOUND, f"Method not found: {SAMPLE}")
        able = self._sampling_tools and rules_of(version).sampling_tools
        if not able and ("tools" in raw or "toolChoice" in raw):
            raise Unanswerable(INVALID_PARAMS, f"{SAMPLE}: this client did not declare sampling.tools.")
        rules = rules_of(version)
        fault = fault_of_sampling(raw, rules)
        if fault:
            raise Unanswerable(INVALID_PARAMS, f"{SAMPLE}: {fault}")
        written = await put(self._sample, params)
        if isinstance(written, str):
            content = {"type": "text", "text": written}
            return {"role": "assistant", "content": content, "model": self._model, "stopReason": "endTurn"}
        result = _plain(written, SAMPLE)
        unknown = fault_of_content(result, rules)
        if unknown:
            raise ValueError(f"What the callback for {SAMPLE} returned {unknown}.")
        return result

    async def _answer_roots(
        self, put: Put, params: Any, raw: Mapping[str, Any], version: str
    ) -> dict[str, Any]:
        roots: Any = self._roots
        if roots is None:
            raise Unanswerable(METHOD_NOT_FOUND, f"Method not found: {LIST_ROOTS}")
        if callable(roots):
            roots = await put(roots)
        return _roots_result(roots)


async def drive(
    call: Call,
    params: Mapping[str, Any] | None,
    answerer: Answerer,
    *,
    version: str,
    max_rounds: int = MAX_ROUNDS,
) -> dict[str, Any]:
    """Send a request, and send it again with what its server asks for, until the result is another one.

    The responses and the state of a round go into the next sending of the same request and nowhere else.

    Args:
        call: sends the request once with these parameters, under an id of its own, and returns the result.
        params: the parameters of the request.
        version: the protocol version that client and server speak.
        max_rounds: how often the server may ask.

    Raises:
        TooManyRounds: it asked once more.
        UnexpectedResponse: an `input_required` result that asks for nothing, is not valid, or asks for what
            the client did not declare.
        ValueError, InputDeclined, Exception: as `Answerer.answer`; and whatever `call` raises.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#basic-workflow
    """
    result = await call(None if params is None else dict(params))
    rounds = 0
    while result.get("resultType") == INPUT_REQUIRED:
        requests, state = input_required(result)
        rounds += 1
        if rounds > max_rounds:
            raise TooManyRounds(
                f"The server asked for input in more than {max_rounds} rounds; the request is given up."
            )
        retry = {key: value for key, value in (params or {}).items() if key not in _RETRY_MEMBERS}
        if requests is not None:
            retry["inputResponses"] = await answerer.answer_all(requests, version)
        if state is not None:
            retry["requestState"] = state
        result = await call(retry)
    return result


def input_required(result: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    """The input requests and the state of an `input_required` result; None for what is not there.

    Raises:
        UnexpectedResponse: both are missing, or one is not of its kind.
    """
    requests: Any = result.get("inputRequests")
    state: Any = result.get("requestState")
    if not requests and state is None:
        raise UnexpectedResponse(
            "The result is input_required, and has neither inputRequests nor requestState; it must have one "
            "of them."
        )
    if not (requests is None or isinstance(requests, dict)):
        raise UnexpectedResponse("The inputRequests of an input_required result must be an object.")
    if not (state is None or isinstance(state, str)):
        raise UnexpectedResponse("The requestState of an input_required result must be a string.")
    return cast("dict[str, Any] | None", requests), state


def _question(key: str, request: Any) -> tuple[str, dict[str, Any] | None]:
    members = cast("dict[str, Any]", request) if isinstance(request, dict) else {}
    method, params = members.get("method"), members.get("params")
    if not isinstance(method, str) or not (params is None or isinstance(params, dict)):
        raise UnexpectedResponse(
            f"The input request {key!r} is none: it must be an object with a method, and params an object."
        )
    return method, cast("dict[str, Any] | None", params)


def _action_of(answer: Any) -> tuple[str, Mapping[str, Any]]:
    """What a callback for elicitation returned, as an action and the content.

    Raises:
        ValueError: it is none of the allowed things.
    """
    if isinstance(answer, mcp_types.ElicitResult):
        return answer.action, answer.content or {}
    if isinstance(answer, str) and answer in ACTIONS:
        return answer, {}
    if isinstance(answer, BaseModel):
        return "accept", answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(answer, Mapping):
        return "accept", cast("Mapping[str, Any]", answer)
    raise ValueError(
        f"A callback for elicitation returns the content, an ElicitResult, or one of {', '.join(ACTIONS)}; "
        f"not {type(answer).__name__}."
    )


def _outcome(method: str, answer: Any) -> str:
    if method != ELICIT:
        return "result"
    try:
        return _action_of(answer)[0]
    except ValueError:
        return "error"


def _roots_result(roots: Any) -> dict[str, Any]:
    if isinstance(roots, mcp_types.ListRootsResult):
        roots = roots.roots
    if isinstance(roots, str) or not isinstance(roots, Sequence):
        raise ValueError(f"Roots are a list of URIs, dicts or models, not {type(roots).__name__}.")
    return {"roots": [_root(one) for one in cast("Sequence[Any]", roots)]}


def _root(root: Any) -> dict[str, Any]:
    members = {"uri": root} if isinstance(root, str) else _plain(root, LIST_ROOTS)
    uri: Any = members.get("uri")
    if not isinstance(uri, str) or not uri.startswith("file://"):
        raise ValueError(f"The URI of a root begins with file://, not {uri!r}.")
    if leads_up(uri):
        raise ValueError(f"The URI of a root leads straight to it, without '..': not {uri!r}.")
    return members


def _plain(value: Any, method: str) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise ValueError(f"A callback for {method} returned {type(value).__name__}, which is no result of it.")


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {fault['msg']}" if where else str(fault["msg"])


async def _answered(
    callback: Callable[..., Any], arguments: tuple[Any, ...], method: str, instead: Instead | None
) -> Any:
    # The callback runs all the same: how long it takes, and what else it does, is part of the story.
    try:
        answer = await _called(callback, *arguments)
    except InputDeclined:
        if instead is None:
            raise
        answer = None
    return answer if instead is None else instead.given(method)


async def _called(callback: Callable[..., Any], *arguments: Any) -> Any:
    value = callback(*arguments)
    return await value if inspect.isawaitable(value) else value
