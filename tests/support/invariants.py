"""What holds for every recording, whatever went wrong on the way."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from mcpsim.messages import Batch, ErrorResponse, Notification, Response
from mcpsim.recording import Frame, Recording

Key = tuple[int, int, Any]
#: What the callbacks of a client are called in a recording.
QUESTIONS: Final = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})


def of(recording: Recording, *kinds: str) -> list[Any]:
    """The events of these kinds, in order."""
    return [event for event in recording.events if event.kind in kinds]


def assert_ordered(recording: Recording) -> None:
    """Time does not run backwards, and a frame has one fate at most."""
    times = [event.at_us for event in recording.events]
    assert times == sorted(times), "the events are not in order"
    ends = [event.frame for event in recording.events if event.kind in ("delivered", "dropped")]
    assert len(ends) == len(set(ends)), "a frame has two fates"


def assert_whole_handlers(recording: Recording) -> None:
    """Every handler that started has finished or was cancelled, and only those.

    A subscription that a copy of a request began goes on until the run is over: nobody knows of it who could
    end it.
    """
    copies = {frame.exchange for frame in recording.frames if frame.copy_of and frame.exchange}
    at_work: set[tuple[int, int, str, str]] = set()
    asked: Counter[tuple[int, str]] = Counter()
    for event in of(recording, "handler_started", "handler_finished", "handler_cancelled"):
        if event.detail["name"] in QUESTIONS:
            # Two requests may ask the same of a client at the same time.
            asked[event.connection, event.detail["name"]] += 1 if event.kind == "handler_started" else -1
            continue
        key = (event.connection, event.exchange, event.detail["name"], repr(event.detail["id"]))
        begins = event.kind == "handler_started"
        assert begins != (key in at_work), f"a handler {'started' if begins else 'ended'} twice: {key}"
        (at_work.add if begins else at_work.discard)(key)
    left = [key for key in at_work if key[2] != "subscriptions/listen" or key[1] not in copies]
    assert not left, f"a handler never ended: {left}"
    assert not any(asked.values()), f"a question was never answered: {asked}"


def assert_nothing_after_a_cancellation(recording: Recording) -> None:
    """A server that was told of a cancellation sends no answer and no progress for that request any more.

    One that was not at work on the request, or not yet, was told nothing.
    """
    frames = {frame.number: frame for frame in recording.frames}
    at_work: set[Key] = set()
    silent: set[Key] = set()
    for event in recording.events:
        frame = frames.get(event.frame)
        if event.kind.startswith("handler") and event.detail["name"] not in QUESTIONS:
            key = (event.connection, event.exchange, event.detail["id"])
            if event.kind == "handler_started":
                at_work.add(key)
                silent.discard(key)
            else:
                at_work.discard(key)
            if event.kind == "handler_cancelled":
                silent.add(key)
        elif event.kind == "delivered" and event.party == "server" and frame is not None:
            message = arrived(frame)
            if isinstance(message, Notification) and message.method == "notifications/cancelled":
                id = (message.params or {}).get("requestId")
                silent |= {key for key in at_work if (key[0], key[2]) == (event.connection, id)}
        elif event.kind == "sent" and event.party == "server" and frame is not None and not frame.copy_of:
            about = subject(frame)
            key = (event.connection, event.exchange, about)
            assert about is None or key not in silent, f"sent after the cancellation: {frame.body!r}"


def arrived(frame: Frame) -> Any:
    """The message as it arrived; None where it was changed on the way."""
    if frame.arrived_data == frame.data:
        return frame.parsed
    return None


def subject(frame: Frame) -> Any:
    """The id of the request that a server's message is about; its progress token is the same."""
    message = frame.parsed
    if isinstance(message, Response | ErrorResponse):
        return message.id
    if isinstance(message, Notification) and message.method == "notifications/progress":
        return (message.params or {}).get("progressToken")
    assert not isinstance(message, Batch)
    return None
