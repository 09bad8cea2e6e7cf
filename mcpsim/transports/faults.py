"""What can go wrong on the way: faults by what message and which occurrence.

A fault names messages by what they are, not by time: "tools/call" is the request or notification of that
method, "result of tools/call" its answer, good or bad, "*" anything that travels, also an HTTP response
without a body. A batch is hit by the name of each of its members. The `nth` such message on the link is hit,
counted from 1, requests and answers of all clients together. Behind a gateway the same message travels a
second time; that is another hop, and is counted by itself.

Where a run is known, as when it is played again with one change, a fault can also name one frame of it by its
number: `Drop(frame=7)`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
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
CLIENT_HOP: Final = "client-gateway"
SERVER_HOP: Final = "gateway-server"
HOPS: Final = ("", CLIENT_HOP, SERVER_HOP)
# How the lanes of server processes begin.
SERVERS: Final = "server"


@dataclass(frozen=True, slots=True)
class Fault:
    """The base of all faults.

    Attributes:
        message: which messages: a method, "result of " and a method, or "*"; "" with `frame`.
        nth: which one of them, from 1.
        hop: where: "gateway-server" for the way between a gateway and the servers; "client-gateway", or "",
            for the way at the clients, which without a gateway is the only one.
        frame: the number of the one frame that is meant, as a recording of the run has it; 0 where `message`
            says it.

    Raises:
        ValueError: `nth` or a time is not a number that makes sense, there is no such hop, or there is not
            exactly one of a message and a frame; the text says which.
    """

    message: str = ""
    nth: int = field(default=1, kw_only=True)
    hop: str = field(default="", kw_only=True)
    frame: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self._check_aim()
        if self.nth < 1:
            raise ValueError(f"nth counts from 1; {self.nth} is no such number.")
        if self.hop not in HOPS:
            raise ValueError(f"hop is {CLIENT_HOP!r} or {SERVER_HOP!r}, not {self.hop!r}.")

    def _check_aim(self) -> None:
        name = type(self).__name__
        if bool(self.message) == bool(self.frame) or self.frame < 0:
            raise ValueError(
                f"A fault names either a message or a frame: {name}('tools/call'), {name}(frame=7)."
            )
        if self.frame and (self.nth != 1 or self.hop):
            raise ValueError("nth and hop are about a message by its name; a frame is one alone.")

    def describe(self) -> dict[str, Any]:
        """The fault as plain JSON values, for a recording's header."""
        name = type(self).__name__.lower()
        if self.frame:
            return {"fault": name, "frame": self.frame}
        hop = {"hop": self.hop} if self.hop else {}
        return {"fault": name, "message": self.message, "nth": self.nth, **hop}


@dataclass(frozen=True, slots=True)
class Drop(Fault):
    """The message is lost. Of an HTTP response that is an event stream only the one event is lost.

    Like every fault, it says which message by a method, "result of " and a method, or "*" for any:
    `Drop("tools/call")`, `Drop("result of tools/call")`.

    Attributes:
        message: which messages.
        nth: which one of them, from 1.
        hop: where: "gateway-server" for the way between a gateway and the servers; "client-gateway", or "",
            for the way at the clients, which without a gateway is the only one.
    """


@dataclass(frozen=True, slots=True)
class Delay(Fault):
    """The message takes longer. On a pipe everything behind it waits too; HTTP exchanges are independent.

    Attributes:
        message, nth, hop: as for `Drop`.
        by_ms: how much longer, in milliseconds.
    """

    by_ms: float = field(default=1000.0, kw_only=True)

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        _check_time("by_ms", self.by_ms)

    def describe(self) -> dict[str, Any]:
        return {**Fault.describe(self), "by_ms": self.by_ms}


@dataclass(frozen=True, slots=True)
class Reorder(Fault):
    """The message is overtaken by those that are sent within `by_ms` after it.

    A real pipe and a real HTTP stream keep their order; this fault shows what would happen if one did not.

    Attributes:
        message, nth, hop: as for `Drop`.
        by_ms: for how long others may overtake it, in milliseconds.
    """

    by_ms: float = field(default=1000.0, kw_only=True)

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        _check_time("by_ms", self.by_ms)

    def describe(self) -> dict[str, Any]:
        return {**Fault.describe(self), "by_ms": self.by_ms}


@dataclass(frozen=True, slots=True)
class Duplicate(Fault):
    """The message arrives twice.

    On HTTP the copy of a request is a request of its own, as where a proxy sends one again; nobody waits for
    what is answered to it. An event stream carries its event twice. A JSON response has only one body, and
    its copy is lost.

    Attributes:
        message, nth, hop: as for `Drop`.
    """


@dataclass(frozen=True, slots=True)
class Cut(Fault):
    """The connection breaks instead of carrying the message: the pipe, or the message's HTTP exchange.

    Attributes:
        message, nth, hop: as for `Drop`.
    """


@dataclass(frozen=True, slots=True)
class Change(Fault):
    """The message arrives with other bytes: every `old` in it is replaced by `new`.

    This is of the way. Where the sender itself shall send something else, there is `Edit`.

    Attributes:
        message, nth, hop: as for `Drop`.
    """

    old: bytes = field(default=b"", kw_only=True)
    new: bytes = field(default=b"", kw_only=True)

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if not self.old:
            raise ValueError("Change needs the bytes to replace: old=b'...'.")

    def describe(self) -> dict[str, Any]:
        shown = {"old": self.old.decode("utf-8", "replace"), "new": self.new.decode("utf-8", "replace")}
        return {**Fault.describe(self), **shown}


@dataclass(frozen=True, slots=True)
class Edit(Fault):
    """The sender sends something else in place of one frame, and does not know it.

    The recording shows it as sent: for everybody but the sender's own code it is what that peer said.

    Attributes:
        frame: the number of the frame.
        data: the JSON text that is sent, or any other bytes, without the framing of the transport.
        fit_headers: whether the headers of a modern HTTP request repeat the new body, as they should.
            Otherwise they stay, and say what the sender meant to send.

    Raises:
        ValueError: no frame is named.
    """

    data: bytes = field(default=b"", kw_only=True)
    fit_headers: bool = field(default=True, kw_only=True)

    def _check_aim(self) -> None:
        if self.frame < 1 or self.message:
            raise ValueError("Edit takes the place of one frame: Edit(frame=7, data=b'...').")

    def describe(self) -> dict[str, Any]:
        headers = {} if self.fit_headers else {"fit_headers": False}
        return {**Fault.describe(self), "data": self.data.decode("utf-8", "replace"), **headers}


@dataclass(frozen=True, slots=True)
class Crash(Fault):
    """A server process dies: its connections break, what it is at work on is lost, and what it remembers
    (sessions, subscriptions) is forgotten. What handlers keep outside of it, as in a database, is not.

    It dies when a message reaches it or leaves it, or at a time: `Crash("tools/call")`, `Crash(at_ms=300)`.
    Where the run is known, it can die as soon as so many events have happened: `Crash(after_events=12)`.

    Attributes:
        message: which messages, as they arrive at the process or as it sends them; "" with `at_ms`.
        nth: which one of them, counted by what arrives at and leaves all server processes together.
        after_ms: how long after that message it dies, in milliseconds. 0: instead of taking the message in,
            or of sending it.
        at_ms: when it dies, in milliseconds since the run began; None where something else says it.
        after_events: how many events the recording has by then; None where something else says it.
        restart_after_ms: how long after its death it is started again, in milliseconds; None: never.
        process: whose: the lane, such as "server-2" or "gateway"; "" for any server that the message reaches,
            and with `at_ms` for the first one.

    Raises:
        ValueError: a time makes no sense, or there is not exactly one of a message, a time and a number of
            events.
    """

    after_ms: float = field(default=0.0, kw_only=True)
    at_ms: float | None = field(default=None, kw_only=True)
    after_events: int | None = field(default=None, kw_only=True)
    restart_after_ms: float | None = field(default=None, kw_only=True)
    process: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if self.hop:
            raise ValueError("A crash happens at a process, not on a hop: process='server-2'.")
        _check_time("after_ms", self.after_ms)
        _check_time("at_ms", self.at_ms)
        _check_time("restart_after_ms", self.restart_after_ms)
        if self.after_events is not None and self.after_events < 0:
            raise ValueError(f"after_events must be 0 or more, not {self.after_events}.")
        if not self.message and (self.after_ms or self.nth != 1):
            raise ValueError("after_ms and nth are about a message; with at_ms there is none.")

    def _check_aim(self) -> None:
        when = (bool(self.message), self.at_ms is not None, self.after_events is not None)
        if sum(when) != 1 or self.frame:
            raise ValueError("A crash has either a message or a time: Crash('tools/call'), Crash(at_ms=300).")

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = {"fault": "crash"}
        if self.message:
            found |= {"message": self.message, "nth": self.nth}
        for name in ("after_ms", "at_ms", "after_events", "restart_after_ms", "process"):
            value = getattr(self, name)
            if value or (value is not None and name not in ("after_ms", "process")):
                found[name] = value
        return found


def _check_time(name: str, ms: float | None) -> None:
    if ms is not None and not (math.isfinite(ms) and ms >= 0):
        raise ValueError(f"{name} must be 0 or more milliseconds, not {ms}.")


class FaultPlan:
    """The faults of one run, and how often each kind of message went by.

    Args:
        faults: in the order in which they are looked at; the first that fits a message is used up by it.
        clients: the lanes of the clients. What travels between two others is on the hop behind a gateway.
    """

    def __init__(self, faults: tuple[Fault, ...], clients: Collection[str] = ()) -> None:
        self._faults = faults
        self._clients = clients
        self._on_the_way = [n for n, fault in enumerate(faults) if not isinstance(fault, Crash | Edit)]
        self._edits = {fault.frame: index for index, fault in enumerate(faults) if isinstance(fault, Edit)}
        self._crashes = [(index, fault) for index, fault in enumerate(faults) if isinstance(fault, Crash)]
        self._seen = [0] * len(faults)
        self._used = [False] * len(faults)
        self._methods: dict[tuple[int, str, RequestId], str] = {}

    def __bool__(self) -> bool:
        """Whether anything can happen to a message on its way."""
        return bool(self._on_the_way)

    @property
    def crashes(self) -> tuple[Crash, ...]:
        """The faults that happen at a process."""
        return tuple(crash for _, crash in self._crashes)

    @property
    def edits(self) -> bool:
        """Whether anything is sent in place of something else."""
        return bool(self._edits)

    def edit(self, frame: int) -> Edit | None:
        """What is sent in place of the frame of this number, or None."""
        index = self._edits.get(frame)
        if index is None:
            return None
        self._used[index] = True
        fault = self._faults[index]
        return fault if isinstance(fault, Edit) else None

    def hit(
        self, body: bytes, *, sender: str, receiver: str, connection: int, frame: int = 0
    ) -> Fault | None:
        """The fault that this message meets on its way, or None.

        Args:
            body: the message's JSON text.
            frame: the number that the recording gives it.
        """
        names = self._names(body, sender, receiver, connection)
        between = bool(self._clients) and sender not in self._clients and receiver not in self._clients
        hops = (SERVER_HOP,) if between else ("", CLIENT_HOP)
        found: Fault | None = None
        for index in self._on_the_way:
            fault = self._faults[index]
            if fault.frame:
                if fault.frame == frame and found is None:
                    found = fault
                    self._used[index] = True
                continue
            if fault.hop not in hops or (fault.message != ANY and fault.message not in names):
                continue
            self._seen[index] += 1
            if self._seen[index] != fault.nth or found is not None:
                continue
            if isinstance(fault, Change) and fault.old not in body:
                continue
            found = fault
            self._used[index] = True
        return found

    def crash(
        self, body: bytes, *, sender: str, receiver: str, connection: int, process: str
    ) -> Crash | None:
        """The crash that this message means for a process that takes it in or sends it, or None.

        Args:
            body: the message's JSON text.
            process: the lane of the process.
        """
        if not self._crashes:
            return None
        names = self._names(body, sender, receiver, connection)
        found: Crash | None = None
        for index, crash in self._crashes:
            if not crash.message or not _is_about(crash, process):
                continue
            if crash.message != ANY and crash.message not in names:
                continue
            self._seen[index] += 1
            if self._seen[index] == crash.nth and found is None:
                found = crash
        return found

    def happened(self, crash: Crash) -> None:
        """Write down that a process died of this fault."""
        for index, one in self._crashes:
            if one is crash:
                self._used[index] = True

    def unused(self) -> tuple[Fault, ...]:
        """The faults without effect: their message never came, another fault had hit it, there was nothing
        in it to change, or the process was dead already."""
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


def _is_about(crash: Crash, process: str) -> bool:
    return crash.process == process if crash.process else process.startswith(SERVERS)
