"""What a client does when a server asks it something, in its own requests (legacy) or in a result (modern).

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio

from mcpsim.client.answering import (
    ELICIT,
    INPUT_REQUIRED,
    LIST_ROOTS,
    SAMPLE,
    Answerer,
    Callback,
    Instead,
    Roots,
    drive,
)
from mcpsim.client.inbox import Answered
from mcpsim.client.requesting import Requester
from mcpsim.client.wire import Answer, OnProgress
from mcpsim.eras import legacy
from mcpsim.eras.asking import rules_of
from mcpsim.eras.methods import METHODS
from mcpsim.eras.methods import method as method_row
from mcpsim.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    URL_ELICITATION_REQUIRED,
    McpSimError,
    ProtocolError,
    UnexpectedResponse,
)
from mcpsim.messages import ErrorResponse, Notification, Request, RequestId, is_request_id

CANCELLED: Final = "notifications/cancelled"
ELICITATION_COMPLETE: Final = "notifications/elicitation/complete"
ROOTS_CHANGED: Final = "notifications/roots/list_changed"

CAPABILITY_OF: Final[Mapping[str, str]] = {ELICIT: "elicitation", SAMPLE: "sampling", LIST_ROOTS: "roots"}

# https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#supported-requests
_MAY_ASK: Final = tuple(row.name for row in METHODS if row.may_ask)

# How many questions of a legacy server may be open at once.
MOST_QUESTIONS: Final = 100


class Questioned(Requester):
    """The part of a client that answers what servers ask.

    Attributes:
        roots: the roots that the client offers, or None; change them with `set_roots`.
        max_rounds: how often a modern server may ask for input before it has to answer.
    """

    def __init__(
        self,
        info: Mapping[str, Any],
        capabilities: Mapping[str, Any],
        *,
        elicit: Callback | None,
        elicit_url: Callback | None,
        sample: Callback | None,
        roots: Roots | Callable[[], Any] | None,
        sampling_tools: bool,
        sampling_context: bool,
        max_rounds: int,
        **more: Any,
    ) -> None:
        check_roots(roots)
        self.roots = roots
        self.elicit, self.elicit_url, self.sample = elicit, elicit_url, sample
        self.sampling_tools, self.sampling_context = sampling_tools, sampling_context
        self.max_rounds = max_rounds
        self._answerer = Answerer(
            elicit=elicit,
            elicit_url=elicit_url,
            sample=sample,
            roots=None if roots is None else self._current_roots,
            sampling_tools=sampling_tools,
            sampling_context=sampling_context,
            scribe=lambda: self._scribe,
        )
        self._questions: dict[RequestId, anyio.CancelScope] = {}
        self._stopped = False
        self.given_capabilities = dict(capabilities)
        super().__init__(info, {**self._answerer.capabilities, **capabilities}, **more)

    def answer_instead(self, nth: int, answer: Instead) -> None:
        """Give another answer to one question than the callback does: see `Answerer.answer_instead`."""
        self._answerer.answer_instead(nth, answer)

    def _current_roots(self) -> Any:
        return self.roots() if callable(self.roots) else self.roots

    async def set_roots(self, roots: Roots | Callable[[], Any]) -> None:
        """Offer other roots from now on. A legacy server is told that they changed; a modern one asks anew.

        Args:
            roots: models, dicts or `file://` URIs, or a function without arguments that returns them.

        Raises:
            ValueError: a root that is no `file://` URI, or one with `..` in its path.
            McpSimError: the client did not declare that it has roots.
            ConnectionClosed, UnexpectedResponse, RequestTimeout: the server cannot be told (legacy).

        https://modelcontextprotocol.io/specification/2025-11-25/client/roots#root-list-changes
        """
        check_roots(roots)
        if self.roots is None:
            raise McpSimError("This client did not declare roots: make it with Client(roots=[]) or more.")
        self.roots = roots
        if self.era == "legacy" and self._phase is legacy.Phase.OPERATING:
            await self.notify(ROOTS_CHANGED)

    async def visit(self, error: ProtocolError) -> bool:
        """Put to the user the visits that a legacy server wants before it processes a request (-32042).

        The request may be sent again afterwards; `notifications/elicitation/complete` may tell when. It
        reaches `on_notification`.

        Args:
            error: what the request raised.

        Returns:
            Whether the user will make all of them.

        Raises:
            ProtocolError: the error itself, where it is another one, or where the revision has no such error.
            UnexpectedResponse: a visit cannot be asked for: there is no `elicit_url`.

        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
        """
        if error.code != URL_ELICITATION_REQUIRED:
            raise error
        return await self._answerer.visit(error, self.version)

    def _offered(self, version: str) -> dict[str, Any]:
        """The capabilities for `initialize`: what the proposed revision knows of what the client can do."""
        rules = rules_of(version)
        offered = self._answerer.capabilities
        modes = offered.get("elicitation", {})
        if not rules.forms or not (rules.modes or "form" in modes):
            offered.pop("elicitation", None)
        elif not rules.modes:
            offered["elicitation"] = {}
        if "sampling" in offered and not rules.sampling_tools:
            offered["sampling"] = {}
        if "roots" in offered:
            # The modern protocol has no notification for it.
            offered["roots"] = {"listChanged": True}
        return {**offered, **self.given_capabilities}

    # Legacy: requests of the server

    def questioned(self, request: Request, reply: Answered) -> bool:
        if CAPABILITY_OF.get(request.method) not in self._answerer.capabilities or self._tasks is None:
            return False
        self._tasks.start_soon(self._answer, request, reply, name=f"client: answer {request.method}")
        return True

    async def _answer(self, request: Request, reply: Answered) -> None:
        # Whoever cancels a request does not want its answer: then it is None.
        answer = await self._answer_to(request)
        if not self._stopped:
            await reply(answer)

    async def _answer_to(self, request: Request) -> Answer | None:
        if request.id in self._questions:
            return ErrorResponse(request.id, INVALID_REQUEST, f"The id {request.id!r} is in use.")
        if len(self._questions) >= MOST_QUESTIONS:
            return ErrorResponse(request.id, INTERNAL_ERROR, "Too many requests are open at once.")
        with anyio.CancelScope() as scope:
            self._questions[request.id] = scope
            try:
                return await self._answerer.respond(request, self.version)
            finally:
                del self._questions[request.id]
        return None

    async def notified(self, message: Notification) -> None:
        if self.era == "legacy" and message.method == CANCELLED:
            self._take_cancellation(message.params or {})
        elif message.method == ELICITATION_COMPLETE and not self._answerer.completed(message.params):
            # What names no visit that is under way must be ignored, so nobody here hears of it.
            return
        await super().notified(message)

    def _take_cancellation(self, params: Mapping[str, Any]) -> None:
        id: Any = params.get("requestId")
        scope = self._questions.get(id) if is_request_id(id) else None
        if scope is None:
            self._scribe.note(f"Ignored: the cancellation of #{id!r}, which is not in progress.")
            return
        reason: Any = params.get("reason")
        why = f": {reason}" if isinstance(reason, str) and reason else "."
        self._scribe.note(f"The server cancelled its request #{id!r}{why}")
        scope.cancel()

    def _stop_answering(self) -> None:
        """Nobody waits for answers any more: the connection is about to be closed."""
        self._stopped = True
        for scope in self._questions.values():
            scope.cancel()

    # Modern: input requests in a result

    async def _ask_in_rounds(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        reset_on_progress: bool = False,
    ) -> tuple[dict[str, Any], Mapping[str, Any] | None]:
        """Send a request and, for as long as the server asks for input, send it again with the answers.

        Each round is a request of its own, with a timeout of its own.

        Returns:
            The result, and the parameters of the request that brought it.
        """
        first = await self._ask(
            method,
            params,
            on_progress=on_progress,
            timeout_s=timeout_s,
            reset_on_progress=reset_on_progress,
        )
        if not self._asks_for_input(first):
            return first, params
        return await self._go_on_in_rounds(
            method,
            params,
            first,
            on_progress=on_progress,
            timeout_s=timeout_s,
            reset_on_progress=reset_on_progress,
        )

    def _asks_for_input(self, result: Mapping[str, Any]) -> bool:
        return result.get("resultType") == INPUT_REQUIRED and self.era == "modern"

    async def _go_on_in_rounds(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        first: dict[str, Any],
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        reset_on_progress: bool = False,
    ) -> tuple[dict[str, Any], Mapping[str, Any] | None]:
        """As `_ask_in_rounds`, from the result of the first round on."""

        async def send(sent: Mapping[str, Any] | None) -> dict[str, Any]:
            return await self._ask(
                method,
                sent,
                on_progress=on_progress,
                timeout_s=timeout_s,
                reset_on_progress=reset_on_progress,
            )

        row = method_row(method, self.version)
        if row is not None and not row.may_ask:
            raise UnexpectedResponse(
                f"The result of {method} asks for input; only those of {', '.join(_MAY_ASK)} may."
            )
        last = params
        unread = [first]

        async def call(sent: dict[str, Any] | None) -> dict[str, Any]:
            nonlocal last
            if unread:
                return unread.pop()
            last = sent
            return await send(sent)

        result = await drive(call, params, self._answerer, version=self.version, max_rounds=self.max_rounds)
        return result, last


def check_roots(roots: Any) -> None:
    """Raises ValueError where one of these roots is none."""
    Answerer(roots=roots)
