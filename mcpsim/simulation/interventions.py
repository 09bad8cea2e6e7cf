"""What people do in a run that the story does not say: press Stop, answer differently.

Both are given by what a recording of the same run shows, and so they fit this run alone. What goes wrong on
the way is a fault: see `mcpsim.transports.faults`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from mcpsim.client.answering import Instead
from mcpsim.messages import RequestId


@dataclass(frozen=True, slots=True)
class Stop:
    """A user presses Stop: a request in flight is cancelled, in the way of the transport.

    The story gets `RequestStopped` where it waits for the answer.

    Attributes:
        after_events: how many events the recording has by then.
        connection: the number of the client's connection.
        id: the id of the request.
    """

    after_events: int
    connection: int
    id: RequestId

    def describe(self) -> dict[str, Any]:
        """It as plain JSON values, for a recording's header."""
        return {
            "intervention": "stop",
            "after_events": self.after_events,
            "connection": self.connection,
            "id": self.id,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """A user or a host answers one question in another way than the client's callback.

    Attributes:
        connection: the number of the client's connection.
        nth: which of the questions that were put to the callbacks of this connection, from 1.
        answer: what is answered.
    """

    connection: int
    nth: int
    answer: Instead

    def describe(self) -> dict[str, Any]:
        """It as plain JSON values, for a recording's header."""
        answer = self.answer
        content = {} if answer.content is None else {"content": answer.content}
        return {
            "intervention": "answer",
            "connection": self.connection,
            "nth": self.nth,
            "action": answer.action,
            **content,
        }


Intervention: TypeAlias = Stop | Answer
