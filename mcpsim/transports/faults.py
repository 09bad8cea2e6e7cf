"""What can go wrong on the way: faults by what message and which occurrence.

A fault names messages by what they are, not by time: "tools/call" is the request or notification of that
method, "result of tools/call" its answer, good or bad, "*" anything. The `nth` such message on the link is
hit, counted from 1, requests and answers of all clients together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from mcpsim.errors import MalformedMessage
from mcpsim.messages import ErrorResponse, Message, Notification, Request, RequestId, Response, read_message

RESULT_OF: Final = "result of "
ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Fault:
    """The base of all faults.

    Attributes:
        message: which messages: a method, "result of " and a method, or "*".
        nth: which one of them, from 1.
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
    """The message is lost."""


@dataclass(frozen=True, slots=True)
class Delay(Fault):
    """The message takes longer. On a pipe everything behind it waits too; HTTP exchanges are independent.

    Attributes:
        by_ms: how much longer, in milliseconds.
    """

    by_ms: float = field(default=1000.0, kw_only=True)

    def describe(self) -> dict[str, Any]:
        return {**Fault.describe(self), "by_ms": self.by_ms}


@dataclass(frozen=True, slots=True)
class Reorder(Fault):
    """The message is overtaken by those that are sent within `by_ms` after it.

    A real pipe and a real HTTP stream keep their order; this fault shows what would happen if one did not.
    """

    by_ms: float = field(default=1000.0, kw_only=True)

    def describe(self) -> dict[str, Any]:
        return {**Fault.describe(self), "by_ms": self.by_ms}


@dataclass(frozen=True, slots=True)
class Duplicate(Fault):
    """The message arrives twice."""


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


class FaultPlan:
    """The faults of one run, and how often each kind of message went by.

    Args:
        faults: in the order in which they are looked at; the first that fits a message is used up by it.
    """

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self._faults = faults
        self._seen = [0] * len(faults)
        self._methods: dict[tuple[int, str, RequestId], str] = {}

    def __bool__(self) -> bool:
        return bool(self._faults)

    def hit(self, body: bytes, *, sender: str, receiver: str, connection: int) -> Fault | None:
        """The fault that this message meets, or None.

        Args:
            body: the message's JSON text.
        """
        name = self._name(body, sender, receiver, connection)
        found: Fault | None = None
        for index, fault in enumerate(self._faults):
            if fault.message not in (name, ANY):
                continue
            self._seen[index] += 1
            if self._seen[index] == fault.nth and found is None:
                found = fault
        return found

    def unused(self) -> tuple[Fault, ...]:
        """The faults whose message never came."""
        return tuple(fault for fault, seen in zip(self._faults, self._seen, strict=True) if seen < fault.nth)

    def _name(self, body: bytes, sender: str, receiver: str, connection: int) -> str:
        try:
            message: Message = read_message(body)
        except MalformedMessage:
            return ""
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
