"""What a handler gets to know about the request that it serves, what it may send, and what it may ask."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, runtime_checkable

import mcp_types
from pydantic import BaseModel

from mcpsim.eras.asking import needed_capabilities, rules_of
from mcpsim.eras.capabilities import declares, missing_capabilities
from mcpsim.eras.methods import method as method_row
from mcpsim.eras.modern import LOG_LEVELS
from mcpsim.eras.revisions import PROGRESS_MESSAGE_REVISIONS, Era
from mcpsim.errors import (
    INVALID_REQUEST,
    MISSING_CLIENT_CAPABILITY,
    CapabilityMissing,
    FramingError,
    InputFailed,
    MalformedMessage,
    McpSimError,
    ProtocolError,
    UrlElicitationRequired,
)
from mcpsim.messages import (
    LOG_LEVEL,
    ErrorResponse,
    Notification,
    RequestId,
    Response,
    read_json,
    write_for_readers,
    write_json,
)
from mcpsim.messages.meta import PROGRESS_TOKEN, is_progress_token
from mcpsim.server import input_requests
from mcpsim.server.asking import Clock, Round
from mcpsim.server.changes import ELICITATION_COMPLETE
from mcpsim.server.input_requests import InputRequest

if TYPE_CHECKING:
    from mcpsim.eras.legacy import Session
    from mcpsim.server.server import Server

Send = Callable[[bytes], Awaitable[None]]
Asked = Sequence[tuple[str, dict[str, Any] | None]]
AskClient = Callable[[Asked, float], Awaitable[list[Response | ErrorResponse]]]

ASK_TIMEOUT_S: Final = 60.0

# What is sent where a legacy client has not said what it wants; the choice is the server's.
# https://modelcontextprotocol.io/specification/2025-11-25/schema#loggingmessagenotification
UNASKED_LOG_LEVEL: Final = "info"


@runtime_checkable
class Closable(Protocol):
    """A way to send that is a stream, and whose connection may be closed before the stream is at its end."""

    async def __call__(self, data: bytes) -> None:
        """Send."""
        ...

    async def close_early(self) -> bool:
        """Close the connection; False where the client would not come back for the rest."""
        ...


@dataclass(slots=True)
class Context:
    """One request, seen from its handler.

    A handler asks with `elicit`, `elicit_url`, `sample`, `list_roots`, or `ask` for several at once. It is
    written once: a legacy client gets requests while the handler waits; a modern one gets an
    `input_required` result, and on its retry **the handler runs again from its start**, where the same call
    returns the answer. So what must not happen twice belongs after the last question, and questions must come
    in the same order each time, or with keys of their own.

    What ends the round is an exception that is no `Exception`; let it out. Where a handler catches it all the
    same, the question is asked nevertheless: what the handler returns is left aside, and so is any exception
    that it raises then, but a `ProtocolError`. The recording says so.

    Attributes:
        server: whose handler this is.
        id: the request's id.
        method: the request's method.
        era: "legacy" or "modern".
        version: the protocol version in use: the session's (legacy), or this request's own (modern).
        capabilities: what the client declares: for the session (legacy), or with this request (modern).
        meta: the request's `_meta`.
        principal: who the transport says is asking, or "".
        tokens: makes unguessable names for things that outlive the request, such as a basket.
            In a simulation they come from the seed.
        clock: the time in whole milliseconds, from any beginning.
        silent: whether the request is over, answered or cancelled; nothing more is sent for it then.
        gone: whether there is nobody any more to send anything to.
        round: what earlier rounds of the same request brought; None where there were none.
    """

    server: Server
    id: RequestId
    method: str
    era: Era
    version: str
    capabilities: Mapping[str, Any]
    meta: Mapping[str, Any]
    principal: str
    send: Send
    note: Callable[[str], None]
    tokens: Callable[[str], str]
    clock: Clock
    questions: AskClient | None = None
    session: Session | None = None
    silent: bool = False
    gone: bool = False
    round: Round | None = None
    _keys: tuple[str, ...] = ()
    _asked: int = 0
    _progress: float = field(default=-math.inf)
    _progress_ms: float = field(default=-math.inf)
    _log_second_ms: float = field(default=-math.inf)
    _logged: int = 0

    # How a question is described, for `ask`.
    form = staticmethod(input_requests.form)
    url = staticmethod(input_requests.url)
    sampling = staticmethod(input_requests.sampling)
    roots = staticmethod(input_requests.roots)

    # Progress and log messages

    @property
    def progress_token(self) -> str | int | None:
        """The token under which the client wants to hear of progress, or None. 0 and "" are tokens."""
        token = self.meta.get(PROGRESS_TOKEN)
        return token if is_progress_token(token) else None

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far the work is. Without a token in the request, nothing is sent.

        Nor is what comes sooner after the one before than the server's `progress_interval_ms`, unless it is
        the last: `progress` has reached `total`.

        Args:
            progress: how much is done; must grow with every call.
            total: how much there is, or None where that is not known.
            message: what is being done, for people; left out where the revision has no such member.

        Raises:
            ValueError: `progress` did not grow, or is not a finite number.
            FramingError: JSON cannot carry the message, or no reader would take so large a one.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
        """
        if not _is_finite(progress) or not (total is None or _is_finite(total)):
            raise ValueError(f"progress and total must be finite numbers, not {progress!r} of {total!r}.")
        if progress <= self._progress:
            raise ValueError(f"progress must grow: {progress:g} came after {self._progress:g}.")
        self._progress = progress
        token = self.progress_token
        if token is None or self._too_soon(progress == total):
            return
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and self.version in PROGRESS_MESSAGE_REVISIONS:
            params["message"] = message
        await self.notify("notifications/progress", params)

    def _too_soon(self, last: bool) -> bool:
        interval_ms = self.server.progress_interval_ms
        if not interval_ms:
            return False
        now_ms = self.clock()
        if not last and now_ms - self._progress_ms < interval_ms:
            return True
        self._progress_ms = now_ms
        return False

    async def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message, if the client wants messages of this level. Deprecated in 2026-07-28.

        A modern client says so with each request (`_meta`); where it says nothing, nothing is sent. A legacy
        client says so for the session (`logging/setLevel`); where it has not, "info" and above is sent.
        What goes beyond the server's `log_limit_per_s` is dropped.

        Args:
            level: "debug", "info", "notice", "warning", "error", "critical", "alert" or "emergency".
            data: any JSON value. Nothing secret belongs in it.
            logger: which part of the server speaks, or None.

        Raises:
            ValueError: there is no such level.
            McpSimError: the server does not declare logging; see `Server(logging=True)`.
            FramingError: JSON cannot carry the data, or no reader would take so large a message.

        https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
        https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging
        """
        if level not in LOG_LEVELS:
            raise ValueError(f"A log level is one of {', '.join(LOG_LEVELS)}, not {level!r}.")
        if not self.server.logging:
            raise McpSimError("A server that sends log messages declares it: Server(..., logging=True).")
        wanted = self.log_level
        if wanted is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(wanted) or self._says_too_much():
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params = {"level": level, "logger": logger, "data": data}
        await self.notify("notifications/message", params)

    def _says_too_much(self) -> bool:
        limit = self.server.log_limit_per_s
        if limit is None or self.silent:
            return False
        now_ms = self.clock()
        if not 0 <= now_ms - self._log_second_ms < 1000:
            self._log_second_ms, self._logged = now_ms, 0
        self._logged += 1
        if self._logged == limit + 1:
            self.note(f"Log messages are dropped: {self.method} sends more than {limit} within a second.")
        return self._logged > limit

    @property
    def log_level(self) -> str | None:
        """The lowest level of log messages that the client wants, or None: it wants none."""
        if self.session is None:
            return self.meta.get(LOG_LEVEL)
        return self.session.log_level or UNASKED_LOG_LEVEL

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification that belongs to this request. Once the request is over nothing is sent.

        Raises:
            FramingError: JSON cannot carry the parameters, or no reader would take so large a message.
        """
        if not self.silent:
            await self.send(write_for_readers(Notification(method, params)))

    async def close_stream(self) -> bool:
        """Close the connection that carries the answer before the answer is there; the work goes on.

        The client asks for the rest after the time that it was told to wait, so that a long piece of work
        holds no connection open. Elsewhere this does nothing: on stdio, under the modern protocol, in
        revisions that do not know this, where streams cannot be resumed, and once the request is over.

        Returns:
            Whether the connection was closed.

        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
        """
        if self.silent or not isinstance(self.send, Closable):
            return False
        return await self.send.close_early()

    # Questions to the client

    async def elicit(
        self,
        message: str,
        schema: Mapping[str, Any] | type[BaseModel],
        *,
        key: str | None = None,
        timeout_s: float = ASK_TIMEOUT_S,
    ) -> mcp_types.ElicitResult:
        """Ask the user to fill in a form. Look at `action` first: "accept", "decline" or "cancel".

        Secrets must not be asked for in this way; see `elicit_url`.

        Args:
            message: why, for the user.
            schema: a flat JSON Schema object of primitive fields, or a pydantic model class with such fields.
            key: the question's name in this request; "1", "2" ... in order of asking by default.
            timeout_s: how long to wait, in seconds (legacy).

        Raises:
            CapabilityMissing: the client did not declare that it can.
            ElicitationSchemaError: a form may not have this schema in this revision.
            FramingError: JSON cannot carry the question, or no reader would take so large a one (legacy; a
                modern request ends with -32603).
            InputFailed: the client answered with an error, or what does not fit the form (legacy).
            RequestTimeout: no answer in time; the question was withdrawn (legacy).
            McpSimError: the revision has no elicitation by form, or there can be no questions here.

        https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
        """
        return await self._ask_one(input_requests.form(message, schema), key, timeout_s)

    async def elicit_url(
        self,
        message: str,
        url: str,
        *,
        key: str | None = None,
        elicitation_id: str = "",
        timeout_s: float = ASK_TIMEOUT_S,
    ) -> mcp_types.ElicitResult:
        """Ask the user to visit a URL. "accept" says that the user will; not that anything is done there yet.

        Args:
            message: why, for the user.
            url: an absolute URL. It must hold no secret and give no access to whoever has it.
            elicitation_id: the name of the visit for `elicitation_complete`, in the one revision that has it.
            key, timeout_s: as for `elicit`.

        Raises:
            ValueError: that is no URL.
            CapabilityMissing, InputFailed, RequestTimeout, McpSimError: as for `elicit`.

        https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests
        """
        request = input_requests.url(message, url, elicitation_id=self._elicitation_id(elicitation_id))
        return await self._ask_one(request, key, timeout_s)

    async def require_url(
        self, message: str, url: str, *, key: str | None = None, elicitation_id: str = ""
    ) -> mcp_types.ElicitResult:
        """Say that the request cannot go on before its user has visited a URL.

        In the revision that has an error for it (2025-11-25) the request is answered with -32042, and the
        client may send it again later: look into your own books first whether the visit has been made.
        Elsewhere this is `elicit_url`.

        Raises:
            UrlElicitationRequired: let it out of the handler.
            CapabilityMissing, McpSimError: as for `elicit`.

        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
        """
        if not rules_of(self.version).elicitation_ids:
            return await self.elicit_url(message, url, key=key)
        request = input_requests.url(message, url, elicitation_id=self._elicitation_id(elicitation_id))
        self._check([request])
        raise UrlElicitationRequired([dict(request.params or {})])

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """Tell the client that was asked for a visit to a URL that the visit is done (2025-11-25 only;
        elsewhere nothing is sent).

        Where that is the client of this request, and the request is in work, it goes among the messages of
        the request; otherwise as `Server.elicitation_complete` has it. It is told once.

        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
        """
        session = self.session
        if session is not None and not self.silent and session.end_visit(elicitation_id):
            await self.notify(ELICITATION_COMPLETE, {"elicitationId": elicitation_id})
        else:
            self.server.elicitation_complete(elicitation_id)

    def _elicitation_id(self, given: str) -> str:
        if given or not rules_of(self.version).elicitation_ids:
            return given
        return self.tokens("elicitation")

    async def sample(
        self,
        messages: str | Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        key: str | None = None,
        timeout_s: float = ASK_TIMEOUT_S,
        **params: Any,
    ) -> mcp_types.CreateMessageResult | mcp_types.CreateMessageResultWithTools:
        """Ask the client to let its model write. Deprecated in 2026-07-28: talk to a model's provider.

        Args:
            messages: the conversation so far, or one text of the user.
            max_tokens: how many tokens the answer may have at most.
            params: more members of `sampling/createMessage`, with the names that they have there, such as
                `systemPrompt`, `tools` or `modelPreferences`.
            key, timeout_s: as for `elicit`.

        Raises:
            ValueError: the messages or parameters are not valid.
            CapabilityMissing, InputFailed, RequestTimeout, McpSimError: as for `elicit`.

        https://modelcontextprotocol.io/specification/2026-07-28/client/sampling
        """
        request = input_requests.sampling(messages, max_tokens=max_tokens, **params)
        return await self._ask_one(request, key, timeout_s)

    async def list_roots(
        self, *, key: str | None = None, timeout_s: float = ASK_TIMEOUT_S
    ) -> mcp_types.ListRootsResult:
        """Ask the client for its roots. Deprecated in 2026-07-28: take folders as arguments.

        Raises:
            CapabilityMissing, InputFailed, RequestTimeout, McpSimError: as for `elicit`.

        https://modelcontextprotocol.io/specification/2026-07-28/client/roots
        """
        return await self._ask_one(input_requests.roots(), key, timeout_s)

    async def ask(
        self, questions: Mapping[str, InputRequest], *, timeout_s: float = ASK_TIMEOUT_S
    ) -> dict[str, Any]:
        """Ask several things at once. `context.form`, `url`, `sampling` and `roots` make the questions.

        Args:
            questions: what to ask, by key. A key stands for one question in a request.
            timeout_s: how long to wait for all of them, in seconds (legacy).

        Returns:
            The results by key, as `elicit`, `elicit_url`, `sample` and `list_roots` return them.

        Raises:
            ValueError: a key was used before, or a question is not valid.
            CapabilityMissing, ElicitationSchemaError, InputFailed, RequestTimeout, McpSimError: as for
                `elicit`.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#inputrequests
        """
        for key in questions:
            self._take_key(key)
        named = {
            key: self._with_elicitation_id(request) if request.is_url else request
            for key, request in questions.items()
        }
        self._check(list(named.values()))
        if self.era == "modern":
            return self._this_round().answers(named)
        return await self._ask_legacy(named, timeout_s)

    def _with_elicitation_id(self, request: InputRequest) -> InputRequest:
        params = request.params or {}
        id = self._elicitation_id(params.get("elicitationId", ""))
        return InputRequest(request.method, {**params, "elicitationId": id}, request.requires)

    async def _ask_one(self, request: InputRequest, key: str | None, timeout_s: float) -> Any:
        if key is None:
            self._asked += 1
            key = str(self._asked)
        return (await self.ask({key: request}, timeout_s=timeout_s))[key]

    def _take_key(self, key: str) -> None:
        if key in self._keys:
            raise ValueError(f"The key {key!r} stands for another question of this request already.")
        self._keys = (*self._keys, key)

    def _check(self, questions: Sequence[InputRequest]) -> None:
        """Check that these may be asked of this client, now."""
        if self.silent:
            raise McpSimError("Nothing can be asked any more: the request is over.")
        row = method_row(self.method, self.version)
        if self.era == "modern" and (row is None or not row.may_ask):
            raise McpSimError(f"Nothing can be asked while {self.method} is served.")
        rules = rules_of(self.version)
        missing: dict[str, Any] = {}
        for request in questions:
            request.check(self.version)
            lacks = missing_capabilities(request.required(rules), self.capabilities)
            for name, inner in lacks.items():
                missing[name] = {**missing.get(name, {}), **inner}
        if missing:
            raise self._capability_missing(missing)

    def _capability_missing(self, missing: dict[str, Any]) -> CapabilityMissing:
        names = ", ".join(_dotted(missing))
        where = "with this request" if self.era == "modern" else "in initialize"
        text = f"{self.method} has to ask for what the client did not declare {where}: {names}."
        code = MISSING_CLIENT_CAPABILITY if self.era == "modern" else INVALID_REQUEST
        return CapabilityMissing(code, text, missing)

    async def _ask_legacy(self, questions: Mapping[str, InputRequest], timeout_s: float) -> dict[str, Any]:
        if self.questions is None:
            raise McpSimError("There is nobody to ask.")
        rules = rules_of(self.version)
        sent = [(request.method, request.wire_params(rules)) for request in questions.values()]
        answers = await self._send_questions(self.questions, sent, timeout_s)
        found: dict[str, Any] = {}
        for (key, request), answer in zip(questions.items(), answers, strict=True):
            if isinstance(answer, ErrorResponse):
                error = ProtocolError(answer.code, answer.message, answer.data)
                raise InputFailed(f"The client answered {request.method} with an error: {error}", error)
            try:
                found[key] = request.parse(answer.result, self.version)
            except ValueError as error:
                raise InputFailed(str(error)) from None
        return found

    async def _send_questions(
        self, ask: AskClient, questions: Asked, timeout_s: float
    ) -> list[Response | ErrorResponse]:
        for _, params in questions:
            visit: Any = (params or {}).get("elicitationId")
            if self.session is not None and isinstance(visit, str):
                self.session.begin_visit(visit)
        return await ask(questions, timeout_s)

    # What the client can be asked for

    def can_elicit(self, mode: str = "form") -> bool:
        """Whether the client can be asked by `mode`, "form" or "url"."""
        rules = rules_of(self.version)
        allowed = rules.url if mode == "url" else rules.forms
        return allowed and not missing_capabilities({"elicitation": {mode: {}}}, self.capabilities)

    @property
    def can_sample(self) -> bool:
        """Whether the client can be asked to let its model write."""
        return declares(self.capabilities, "sampling")

    @property
    def can_sample_with_tools(self) -> bool:
        """Whether such a request may bring tools along."""
        return rules_of(self.version).sampling_tools and declares(self.capabilities, "sampling.tools")

    @property
    def can_list_roots(self) -> bool:
        """Whether the client can be asked for its roots."""
        return declares(self.capabilities, "roots")

    # What is kept from round to round

    @property
    def remembered(self) -> Any:
        """What `remember` was given last, in this round or one before; None at the beginning."""
        return self._this_round().remembered

    def remember(self, value: Any) -> None:
        """Keep a JSON value from round to round, in the sealed request state.

        It passes through the client, which can read it but not change it. (Legacy: a handler runs in one go;
        the value is kept for the length of the request.)

        Raises:
            FramingError: JSON cannot carry the value, or nobody would read so large a one.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow
        """
        try:
            self._this_round().remembered = read_json(write_json(value))
        except MalformedMessage as error:
            # What is wrong is the handler's value, and no message of the client's.
            raise FramingError(f"The value cannot be remembered. {error.message}") from None

    async def come_back(self) -> None:
        """Let the client send the request again, without asking it anything; go on here when it is back.

        The client may come back at once, or never. (Legacy: does nothing.)

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow
        """
        if self.era == "modern":
            self._check([])
            self._this_round().come_back()

    def _this_round(self) -> Round:
        if self.round is None:
            self.round = Round(self.version, self.note)
        return self.round

    # Requests by hand (legacy)

    async def ping(self, *, timeout_s: float = ASK_TIMEOUT_S) -> None:
        """Ask the client whether it is there, and wait for its empty answer (legacy only).

        Raises:
            McpSimError: the request is a modern one: the modern protocol has no ping, and its servers send
                no requests.
            RequestTimeout: no answer within `timeout_s` seconds.
        """
        await self.request("ping", None, timeout_s=timeout_s)

    async def request(
        self, method: str, params: dict[str, Any] | None = None, *, timeout_s: float = ASK_TIMEOUT_S
    ) -> dict[str, Any]:
        """Send a request to the client and wait for its result (legacy only).

        Leaving the cancel scope around the call withdraws the request with `notifications/cancelled`.

        Args:
            timeout_s: how long to wait, in seconds.

        Raises:
            McpSimError: the request that is served is a modern one or over, or the session does not have
                the method, or the client did not declare the capability that it needs.
            FramingError: JSON cannot carry the request, or no reader would take so large a one.
            RequestTimeout: no answer in time; the request was withdrawn.
            ProtocolError: the client answered with an error.
        """
        if self.questions is None:
            raise McpSimError(
                f"{method}: a server sends no requests in the modern protocol. It answers with "
                "input_required instead."
            )
        row = method_row(method, self.version)
        if row is None or row.kind != "request" or row.direction == "to_server":
            raise McpSimError(f"{method} is not a request that a server sends in {self.version}.")
        missing = missing_capabilities(
            needed_capabilities(method, params or {}, self.version), self.capabilities
        )
        if missing:
            names = ", ".join(_dotted(missing))
            raise McpSimError(f"{method}: the client did not declare {names} in initialize.")
        if self.silent:
            raise McpSimError(f"{method}: the request that this would belong to is over.")
        (answer,) = await self._send_questions(self.questions, [(method, params)], timeout_s)
        if isinstance(answer, ErrorResponse):
            raise ProtocolError(answer.code, answer.message, answer.data)
        return answer.result


def _dotted(capabilities: Mapping[str, Any]) -> Iterator[str]:
    """The names of capabilities with their sub-capabilities: "elicitation.form"."""
    for name, inner in capabilities.items():
        parts = list(cast("Mapping[str, Any]", inner)) if isinstance(inner, Mapping) else []
        yield from (f"{name}.{part}" for part in parts) if parts else (name,)


def _is_finite(value: Any) -> bool:
    # JSON has no number for True, although Python has.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        # An integer beyond what a double holds: the other side would read infinity.
        return False
