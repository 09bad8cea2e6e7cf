"""The hub for what changes at a server: whoever serves clients listens here and tells them.

The server does not know its clients. A connection, a session or a stream listens as long as it lives; after
it has closed its listening nothing of it stays behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

#: Tells of a visit to a URL that is done. Only the one client that was asked for the visit may hear of it.
ELICITATION_COMPLETE: Final = "notifications/elicitation/complete"


class Change(NamedTuple):
    """Something that changed.

    Attributes:
        method: the notification that tells of it, such as "notifications/tools/list_changed".
        uri: the resource that was updated, or None.
        visit: the id of the elicitation whose visit to a URL is done, or None.
    """

    method: str
    uri: str | None = None
    visit: str | None = None


Listener = Callable[[Change], None]


class Listening:
    """One listener's place at the hub. `close` gives it up; a second time does nothing."""

    __slots__ = ("_changes",)

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    def close(self) -> None:
        """Hear of no further change, not even of one that is being told to others right now."""
        self._changes.forget(self)


class Changes:
    """Passes every change on to all who listen, in the order in which they began."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: dict[Listening, Listener] = {}

    def __len__(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def publish(self, change: Change) -> None:
        """Tell everybody who listens now. Whoever begins to listen meanwhile hears of the next change."""
        for listening in tuple(self._listeners):
            listener = self._listeners.get(listening)
            if listener is not None:
                listener(change)

    def listen(self, callback: Listener) -> Listening:
        """Call `callback` with every change from now on.

        Args:
            callback: a plain function. It must not raise and must not wait: it notes the change down, or puts
                it into a queue.

        Returns:
            The place to close.
        """
        listening = Listening(self)
        self._listeners[listening] = callback
        return listening

    def forget(self, listening: Listening) -> None:
        """Drop a listener. One that is not here is no error."""
        self._listeners.pop(listening, None)
