"""What can go wrong on the way: faults by what message and which occurrence.

A fault names messages by what they are, not by time: "tools/call" is the request or notification of that
method, "result of tools/call" its answer, good or bad, "*" anything that travels, also an HTTP response
without a body. A batch is hit by the name of each of its members. The `nth` such message on the link is hit,
counted from 1, requests and answers of all clients together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

from mcpsim.errors import MalformedMessage
from mcpsim.messages import (
    Batch,
    ErrorResponse,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    read_batch,
)

RESULT_OF: Final = "result of "
ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Fault:
    """The base of all faults.

    Attributes:
        message: which messages: a method, "result of " and a method, or "*".
        nth: which one of them, from 1.

    Raises:
        ValueError: `nth` or a time is not a number that makes sense; the text says which.
    """

    message: str
    nth: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        if self.nth < 1:
            raise ValueError(f"nth counts from 1; {self.nth} is no such number.")

    def describe(self) -> dict[str, Any]:
        """The fault as plain JSON values, for a recording's header."""
        return {"fault": type(self).__name__.lower(), "message": self.message, "nth": self.nth}


@dataclass(frozen=True, slots=True)
class Drop(Fault):
    """The message is lost. Of an HTTP response that is an event stream only the one event is lost."""


@dataclass(frozen=True, slots=True)
class Delay(Fault):
    """The message takes longer. On a pipe everything behind it waits too; HTTP exchanges are independent.

    Attributes:
        by_ms: how much longer, in milliseconds.
    """

    by_ms: float = field(default=1000.0, kw_only=True)

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        _check_time(self.by_ms)

    def describe(self) -> dict[str, Any]:
        return {**Fault.describe(self), "by_ms": self.by_ms}


@dataclass(frozen=True, slots=True)
class Reorder(Fault):
    """The message is overtaken by those that are sent within `by_ms` after it.

    A real pipe and a real HTTP stream keep their order; this fault shows what would happen if one did not.
    """

    by_ms: float = field(default=1000.0, kw_only=True)

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        _check_time(self.by_ms)

    def describe(self) -> dict[str, Any]:
        return {**Fault.describe(self), "by_ms": self.by_ms}


@dataclass(frozen=True, slots=True)
class Duplicate(Fault):
    """The message arrives twice.

    On HTTP the copy of a request is a request of its own, as where a proxy sends one again; nobody waits for
    what is answered to it. An event stream carries its event twice. A JSON response has only one body, and
    its copy is lost.
    """


@dataclass(frozen=True, slots=True)
class Cut(Fault):
    """The connection breaks instead of carrying the message: the pipe, or the message's HTTP exchange."""


@dataclass(frozen=True, slots=True)
class Change(Fault):
    """The message arrives with other bytes: every `old` in it is replaced by `new`."""

    old: bytes = field(default=b"", kw_only=True)
    new: bytes = field(default=b"", kw_only=True)

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if not self.old:
            raise ValueError("Change needs the bytes to replace: old=b'...'.")

    def describe(self) -> dict[str, Any]:
        shown = {"old": self.old.decode("utf-8", "replace"), "new": self.new.decode("utf-8", "replace")}
        return {**Fault.describe(self), **shown}


def _check_time(by_ms: float) -> None:
    if not (math.isfinite(by_ms) and by_ms >= 0):
        raise ValueError(f"by_ms must be 0 or more milliseconds, not {by_ms}.")


class FaultPlan:
    """The faults of one run, and how often each kind of message went by.

    Args:
        faults: in the order in which they are looked at; the first that fits a message is used up by it.
    """

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self._faults = faults
        self._seen = [0] * len(faults)
        self._used = [False] * len(faults)
        self._methods: dict[tuple[int, str, RequestId], str] = {}

    def __bool__(self) -> bool:
        return bool(self._faults)

    def hit(self, body: bytes, *, sender: str, receiver: str, connection: int) -> Fault | None:
        """The fault that this message meets, or None.

        Args:
            body: the message's JSON text.
        """
        names = self._names(body, sender, receiver, connection)
        found: Fault | None = None
        for index, fault in enumerate(self._faults):
            if fault.message != ANY and fault.message not in names:
                continue
            self._seen[index] += 1
            if self._seen[index] != fault.nth or found is not None:
                continue
            if isinstance(fault, Change) and fault.old not in body:
                continue
            found = fault
            self._used[index] = True
        return found

    def unused(self) -> tuple[Fault, ...]:
        """The faults without effect: their message never came, another fault had hit it, or there was nothing
        in it to change."""
        return tuple(fault for fault, used in zip(self._faults, self._used, strict=True) if not used)

    def _names(self, body: bytes, sender: str, receiver: str, connection: int) -> tuple[str, ...]:
        try:
            message = read_batch(body)
        except MalformedMessage:
            return ()
        members = message.members if isinstance(message, Batch) else (message,)
        return tuple(
            self._name(member, sender, receiver, connection)
            for member in members
            if not isinstance(member, MalformedMessage)
        )

    def _name(self, message: Message, sender: str, receiver: str, connection: int) -> str:
        if isinstance(message, Request):
            self._methods[(connection, sender, message.id)] = message.method
            return message.method
        if isinstance(message, Notification):
            return message.method
        return RESULT_OF + self._asked(message, receiver, connection)

    def _asked(self, message: Response | ErrorResponse, asker: str, connection: int) -> str:
        if message.id is None:
            return ""
        return self._methods.get((connection, asker, message.id), "")
