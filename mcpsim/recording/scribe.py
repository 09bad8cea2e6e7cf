"""Writes down for a peer what only the peer knows: handlers, notes, and what it remembers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcpsim.messages import RequestId
from mcpsim.recording.events import HANDLER_CANCELLED, HANDLER_FINISHED, HANDLER_STARTED
from mcpsim.recording.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Scribe:
    """Notes for one connection.

    Attributes:
        recorder: where to write; None to write nothing.
        party: the peer's lane.
    """

    recorder: Recorder | None = None
    party: str = "server"
    connection: int = 1

    def note(self, text: str, exchange: int = 0) -> None:
        """A remark."""
        if self.recorder is not None:
            self.recorder.note(self.party, text, connection=self.connection, exchange=exchange)

    def state(self, remembers: Mapping[str, Any]) -> None:
        """Everything that the peer remembers from now on."""
        if self.recorder is not None:
            self.recorder.state(self.party, remembers, connection=self.connection)

    def started(self, name: str, id: RequestId, exchange: int = 0) -> None:
        """A handler began."""
        if self.recorder is not None:
            self.recorder.handler(HANDLER_STARTED, self.party, name, id, self.connection, exchange)

    def finished(self, name: str, id: RequestId, exchange: int, outcome: str) -> None:
        """A handler ended by itself: "result", "tool error" or "error"; of a client's callback for
        elicitation what the user did: "accept", "decline" or "cancel"."""
        if self.recorder is not None:
            self.recorder.handler(HANDLER_FINISHED, self.party, name, id, self.connection, exchange, outcome)

    def cancelled(self, name: str, id: RequestId, exchange: int) -> None:
        """A handler was stopped."""
        if self.recorder is not None:
            self.recorder.handler(HANDLER_CANCELLED, self.party, name, id, self.connection, exchange)
