"""What a recording holds for a check: the requests with their answers, and whether all of it is valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.eras.bodies import models
from mcpsim.eras.revisions import LATEST_MODERN
from mcpsim.errors import MalformedMessage
from mcpsim.messages import (
    PROTOCOL_VERSION,
    Batch,
    ErrorResponse,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    meta_of,
)
from mcpsim.recording import Frame, Recording

Answer = Response | ErrorResponse


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request of a client, and its answer: None where there was none."""

    request: Request
    answer: Answer | None

    @property
    def meta(self) -> dict[str, Any]:
        """The request's `_meta`."""
        return meta_of(self.request.params)

    @property
    def code(self) -> int | None:
        """The code of the error that answered it, or None."""
        return self.answer.code if isinstance(self.answer, ErrorResponse) else None

    @property
    def result(self) -> dict[str, Any] | None:
        """The result that answered it, or None."""
        return self.answer.result if isinstance(self.answer, Response) else None

    def said(self) -> str:
        """What came back, in a few words."""
        if isinstance(self.answer, ErrorResponse):
            return f"the error {self.answer.code}"
        return "a result" if self.answer is not None else "no answer"


def exchanges(recording: Recording, method: str | None = None) -> tuple[Exchange, ...]:
    """The requests of all clients, in the order of sending, each with its answer.

    Args:
        method: only requests of this method; None for all.
    """
    answers: dict[tuple[int, int, type, RequestId], Answer] = {}
    for frame in _from_servers(recording):
        message = frame.parsed
        if isinstance(message, Response | ErrorResponse) and message.id is not None:
            key = (frame.connection, frame.exchange, type(message.id), message.id)
            answers.setdefault(key, message)
    return tuple(
        Exchange(message, answers.get((frame.connection, frame.exchange, type(message.id), message.id)))
        for frame in _from_clients(recording)
        if isinstance(message := frame.parsed, Request) and method in (None, message.method)
    )


def _from_clients(recording: Recording) -> Iterator[Frame]:
    return (frame for frame in recording.frames if frame.receiver == "server")


def _from_servers(recording: Recording) -> Iterator[Frame]:
    return (frame for frame in recording.frames if frame.sender == "server")


def require_valid(recording: Recording) -> None:
    """Everything that the clients sent is valid, apart from requests that were refused with an error.

    Requests and results are checked against the schema of the revision that the request declares.

    Raises:
        NotYet: naming the first message that is not valid.
    """
    try:
        for frame in _from_clients(recording):
            _valid_from_client(frame.parsed)
        for exchange in exchanges(recording):
            if exchange.result is not None:
                method, version = exchange.request.method, exchange.meta.get(PROTOCOL_VERSION, LATEST_MODERN)
                _valid(method, models().validate_client_request, exchange.request.params, version)
                _valid(
                    f"The result of {method}", models().parse_server_result, exchange.result, version, method
                )
    except NotYet as found:
        raise NotYet(
            found.seen, found.rule, "Send what the task asks for, and nothing else.", recording
        ) from None


def _valid_from_client(message: Message | Batch | MalformedMessage | None) -> None:
    match message:
        case MalformedMessage():
            raise NotYet(f"Your client sent something that is no message. {message.message}", _JSON_RPC)
        case Batch() | Response() | ErrorResponse():
            raise NotYet(
                "Your client sent something that is neither a request nor a notification.", _DIRECTIONS
            )
        case Notification(method=method, params=params):
            _valid(method, models().validate_client_notification, params, LATEST_MODERN)
        case _:
            return


_JSON_RPC: Final = Rule("All messages MUST follow JSON-RPC 2.0.", "basic/index#messages")
_DIRECTIONS: Final = Rule(
    "Clients send requests and notifications; only servers send responses.",
    "basic/transports/index#messages",
)


def _valid(what: str, check: Callable[..., Any], body: Any, version: str, method: str | None = None) -> None:
    try:
        check(method or what, version, body)
    except KeyError:
        raise NotYet(
            f"{what}: the revision {version} has no such message.",
            Rule("The schema lists every message of a revision.", "schema"),
        ) from None
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"])) or "params"
        raise NotYet(
            f"{what} is not valid in the revision {version}: {where}: {fault['msg']}.",
            Rule("The schema is the source of truth for all messages.", "basic/index#schema"),
        ) from None
