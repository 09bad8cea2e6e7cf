"""What a client needs of its transport binding: send a message, get back what belongs to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

from anyio.abc import TaskGroup

from mcpsim.errors import MalformedMessage, UnexpectedResponse
from mcpsim.messages import Batch, ErrorResponse, Message, RequestId, Response
from mcpsim.transports.http import Headers
from mcpsim.transports.wakeup import Wakeup

Answer = Response | ErrorResponse
Arrived = Message | Batch | MalformedMessage
OnProgress = Callable[[float, float | None, str | None], object]

#: How long a binding waits for the other side when it shuts the connection down, in seconds.
CLOSE_TIMEOUT_S: Final = 5.0


class SessionEnded(UnexpectedResponse):
    """HTTP 404 to a request that named a session: the server has ended it (legacy)."""


NO_HEADERS: Final = Headers()


# Not `list[Answer]`, which takes ten times as long to call.
_no_answers: Final = cast("Callable[[], list[Answer]]", list)


@dataclass(slots=True, eq=False)
class Pending:
    """What waits for an answer: a request, or raw bytes.

    Attributes:
        ids: the ids whose answers are waited for: one for a request, several for a batch, none where the
            bytes have none.
        token: the progress token sent along, or None.
        on_progress: called with each progress notification.
        answers: what came, in order.
        failure: why there will be no answer, such as a closed connection.
        arrived: for raw bytes, everything that came back; None for a request.
        status, headers: for raw bytes on HTTP, the head of the response.
        stop: ends the wait from outside; None where it can not be.
        stopped: whether somebody did so.
    """

    ids: tuple[RequestId, ...] = ()
    token: str | int | None = None
    on_progress: OnProgress | None = None
    answers: list[Answer] = field(default_factory=_no_answers)
    failure: Exception | None = None
    done: Wakeup = field(default_factory=Wakeup)
    arrived: list[Arrived] | None = None
    status: int | None = None
    headers: Headers = NO_HEADERS
    stop: Callable[[], None] | None = None
    stopped: bool = False

    @property
    def answer(self) -> Answer | None:
        """The first answer, or None."""
        return self.answers[0] if self.answers else None

    def awaits(self, id: RequestId) -> bool:
        """Whether the answer to `id` is still to come."""
        if self.done.happened:
            return False
        return not self.answers or all(answer.id != id for answer in self.answers)

    def settle(self, answer: Answer) -> None:
        """An answer is there; one without an id counts for all."""
        self.answers.append(answer)
        if answer.id is None or len(self.answers) >= len(self.ids):
            self.done.set()

    def fail(self, failure: Exception) -> None:
        """There will be none."""
        if not self.done.is_set():
            self.failure = failure
            self.done.set()

    def keep(self, arrived: Arrived) -> None:
        """For raw bytes: something came back."""
        if self.arrived is not None:
            self.arrived.append(arrived)


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
    messages: tuple[Arrived, ...]

    @property
    def answer(self) -> Answer | None:
        """The response or error among the messages, or None."""
        return next(answers_in(self.messages), None)


def answers_in(arrived: Iterable[Arrived]) -> Iterator[Answer]:
    """The responses and errors among what arrived, those inside of batches too."""
    for one in arrived:
        if isinstance(one, Batch):
            yield from answers_in(one.members)
        elif isinstance(one, Response | ErrorResponse):
            yield one


Deliver = Callable[[bytes, Pending | None], Awaitable[Arrived]]

Settle = Callable[[bytes], Callable[[], None] | None]
"""What settles the request that a message on a pipe answers, without any waiting; None where it is no answer
that somebody waits for. Until it is called nothing has happened."""


class Wire(Protocol):
    """A transport binding, seen from the client."""

    @property
    def is_http(self) -> bool:
        """Whether requests have headers."""
        ...

    @property
    def session_id(self) -> str:
        """The session that a legacy server on HTTP gave out, or ""."""
        ...

    def keep_session(self, keep: bool) -> None:
        """Whether to take session ids and send them back (legacy); does nothing on stdio."""
        ...

    def start(self, tasks: TaskGroup, deliver: Deliver, settle: Settle) -> None:
        """Begin to read. `deliver` takes each message, with the request whose exchange it came on (HTTP);
        `settle` does the same with most answers on a pipe."""
        ...

    async def stand(self, headers: Headers) -> None:
        """Open a standing stream for what belongs to no request, and keep it open (legacy, HTTP).

        Returns when it is there or refused, or after a second. On stdio the pipe is that stream, and there it
        does nothing."""
        ...

    async def request(self, data: bytes, headers: Headers, pending: Pending) -> None:
        """Send a request and wait until `pending` is settled or has failed."""
        ...

    def send_now(self, data: bytes, pending: Pending) -> bool:
        """Send a request without waiting, where that can be done; False: nothing was sent. Whoever sends it
        waits for `pending` by himself, and says `forget` at the end."""
        ...

    def forget(self, pending: Pending) -> None:
        """Nobody waits any more for what was sent by `send_now`."""
        ...

    async def post(self, data: bytes, headers: Headers) -> None:
        """Send a notification or a response."""
        ...

    async def raw(self, data: bytes, headers: Headers, pending: Pending) -> None:
        """Send any bytes, and collect in `pending` what comes back for them."""
        ...

    async def close(self, headers: Headers) -> None:
        """Shut the connection down from the client's side. Takes a few seconds at most."""
        ...
