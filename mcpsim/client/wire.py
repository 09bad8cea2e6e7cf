"""What a client needs of its transport binding: send a message, get back what belongs to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from mcpsim.errors import MalformedMessage
from mcpsim.messages import Batch, ErrorResponse, Message, RequestId, Response
from mcpsim.transports.http import Headers


@dataclass(slots=True, eq=False)
class Pending:
    """A request that waits for its answer.

    Attributes:
        id: the request's id; None for raw bytes that have none.
        token: the progress token sent with it, or None.
        answer: the response or error, as soon as it is there.
        failure: why there will be no answer, such as a closed connection.
    """

    id: RequestId | None
    token: str | int | None = None
    answer: Response | ErrorResponse | None = None
    failure: Exception | None = None
    done: anyio.Event = field(default_factory=anyio.Event)
    on_progress: Callable[[float, float | None, str | None], object] | None = None
    progressed: Callable[[], None] | None = None

    def settle(self, answer: Response | ErrorResponse) -> None:
        """The answer is there."""
        self.answer = answer
        self.done.set()

    def fail(self, failure: Exception) -> None:
        """There will be none."""
        if not self.done.is_set():
            self.failure = failure
            self.done.set()


@dataclass(frozen=True, slots=True)
class Reply:
    """Everything that came back on raw bytes.

    Attributes:
        status: the HTTP status; None on stdio.
        headers: the response's headers; empty on stdio.
        messages: the messages, in order of arrival; what is not a message stands as its error.
    """

    status: int | None
    headers: Headers
    messages: tuple[Message | Batch | MalformedMessage, ...]

    @property
    def answer(self) -> Response | ErrorResponse | None:
        """The response or error among the messages, or None."""
        for message in self.messages:
            if isinstance(message, Response | ErrorResponse):
                return message
        return None


Deliver = Callable[[bytes, Pending | None], Awaitable[Message | Batch | MalformedMessage]]


class Wire(Protocol):
    """A transport binding, seen from the client."""

    @property
    def is_http(self) -> bool:
        """Whether requests have headers."""
        ...

    def start(self, tasks: TaskGroup, deliver: Deliver) -> None:
        """Begin to read. `deliver` takes each message, with the request whose exchange it came on (HTTP)."""
        ...

    async def request(self, data: bytes, headers: Headers, pending: Pending) -> None:
        """Send a request and wait until `pending` is settled or has failed."""
        ...

    async def post(self, data: bytes, headers: Headers) -> None:
        """Send a notification or a response."""
        ...

    async def raw(self, data: bytes, headers: Headers, pending: Pending) -> Reply:
        """Send any bytes and collect what comes back for them."""
        ...

    async def close(self, headers: Headers) -> None:
        """Shut the connection down from the client's side."""
        ...
