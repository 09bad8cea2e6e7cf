"""A client that answers what a server asks, in both eras on both transports, written by hand.

It does not use the client of the project: what it says is said here.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from talking import (
    INITIALIZED,
    Endpoint,
    Reply,
    as_bytes,
    headers_for,
    initialize,
    legacy,
    modern,
    notes_of,
    run,
    tokens,
)

from mcpsim.recording import Recorder, Scribe
from mcpsim.server import Server, StdioServing
from mcpsim.transports.http import SseReader

MAX_ROUNDS = 10
FORM = {"elicitation": {"form": {}}}
ALL = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}, "context": {}}, "roots": {}}

Answers = Callable[[str, dict[str, Any]], Any]


@dataclass
class Played:
    """What came of one request.

    Attributes:
        answer: the last answer, as the JSON value of a message.
        asked: every question, in order: its key (modern) or id (legacy), its method and its parameters.
        answers: every answer to the request, the modern rounds included.
        said: everything else that the server sent.
    """

    answer: Any = None
    asked: list[tuple[Any, str, Any]] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    said: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def result(self) -> Any:
        assert "result" in self.answer, self.answer
        return self.answer["result"]

    @property
    def error(self) -> Any:
        assert "error" in self.answer, self.answer
        return self.answer["error"]

    @property
    def text(self) -> str:
        """The text of a tool's result."""
        return self.result["content"][0]["text"]

    @property
    def questions(self) -> list[tuple[str, Any]]:
        return [(method, params) for _, method, params in self.asked]


class NoAnswer:
    """What `answers` returns where nothing is answered."""


def play(
    server: Server,
    era: str,
    transport: str,
    method: str,
    params: Mapping[str, Any],
    answers: Answers,
    *,
    capabilities: Any = None,
    version: str | None = None,
    on_round: Callable[[dict[str, Any]], dict[str, Any]] = lambda params: params,
) -> Played:
    """Send one request and answer everything that is asked because of it.

    Args:
        answers: from a question's method and parameters to the result; a dict with "error" is an error
            (legacy); `NoAnswer` leaves it unanswered.
        on_round: changes the parameters of a retry (modern).
    """
    declared = ALL if capabilities is None else capabilities
    played = Played()
    if era == "modern":
        main = _modern(server, transport, method, dict(params), answers, declared, on_round, played)
    else:
        speaks = version or "2025-11-25"
        main = (_legacy_stdio if transport == "stdio" else _legacy_http)(
            server, method, dict(params), answers, declared, speaks, played
        )
    run(lambda: main)
    return played


async def _modern(
    server: Server,
    transport: str,
    method: str,
    params: dict[str, Any],
    answers: Answers,
    capabilities: Any,
    on_round: Callable[[dict[str, Any]], dict[str, Any]],
    played: Played,
) -> None:
    endpoint = Endpoint(server)
    line = Pipe(server)
    async with anyio.create_task_group() as tasks:
        if transport == "stdio":
            tasks.start_soon(line.serving.run)
        sent = params
        for number in range(1, MAX_ROUNDS + 1):
            message = modern(number, method, sent, capabilities=capabilities)
            if transport == "stdio":
                line.say(message)
                values = await line.until(number)
            else:
                reply = await endpoint.ask(message, headers_for(message))
                values = reply.values
            played.answers.append(values[-1])
            played.said += values[:-1]
            result = values[-1].get("result", {})
            if result.get("resultType") != "input_required":
                break
            sent = dict(params)
            if "inputRequests" in result:
                sent["inputResponses"] = {}
                for key, request in result["inputRequests"].items():
                    played.asked.append((key, request["method"], request.get("params")))
                    response = answers(request["method"], request.get("params") or {})
                    if response is not NoAnswer:
                        sent["inputResponses"][key] = response
            if "requestState" in result:
                sent["requestState"] = result["requestState"]
            sent = on_round(sent)
        line.close()
    played.answer = played.answers[-1]
    played.notes = notes_of(line.recorder if transport == "stdio" else endpoint.recorder)


def response_to(request: dict[str, Any], answers: Answers, played: Played) -> Any:
    """The message that answers a legacy server's request, or None."""
    played.asked.append((request["id"], request["method"], request.get("params")))
    given = answers(request["method"], request.get("params") or {})
    if given is NoAnswer:
        return None
    kind = {"error": given["error"]} if "error" in given else {"result": given}
    return {"jsonrpc": "2.0", "id": request["id"], **kind}


async def _legacy_stdio(
    server: Server,
    method: str,
    params: dict[str, Any],
    answers: Answers,
    capabilities: Any,
    version: str,
    played: Played,
) -> None:
    line = Pipe(server)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(line.serving.run)
        line.say(initialize("open", version, capabilities), INITIALIZED)
        await line.until("open")
        line.say(legacy("call", method, params))
        while played.answer is None:
            value = await line.hear()
            if "method" in value and "id" in value:
                response = response_to(value, answers, played)
                if response is not None:
                    line.say(response)
            elif value.get("id") == "call":
                played.answer = value
            else:
                played.said.append(value)
        line.close()
    played.answers = [played.answer]
    played.notes = notes_of(line.recorder)


async def _legacy_http(
    server: Server,
    method: str,
    params: dict[str, Any],
    answers: Answers,
    capabilities: Any,
    version: str,
    played: Played,
) -> None:
    endpoint = Endpoint(server)
    headers = await endpoint.open(version, capabilities)
    reply = Heard()
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            await endpoint.ask(legacy("call", method, params), headers, reply=reply)

        tasks.start_soon(ask)
        while played.answer is None:
            value = await reply.hear()
            if "method" in value and "id" in value:
                response = response_to(value, answers, played)
                if response is not None:
                    taken = await endpoint.ask(response, headers)
                    assert taken.status == 202
            elif value.get("id") == "call":
                played.answer = value
            else:
                played.said.append(value)
    played.answers = [played.answer]
    played.notes = notes_of(endpoint.recorder)


class Heard(Reply):
    """An HTTP response that can be read while it is written."""

    def __init__(self) -> None:
        super().__init__()
        self._values: deque[Any] = deque()
        self._reader = SseReader()
        self._wake = anyio.Event()

    async def send(self, head: Any, body: bytes) -> None:
        await super().send(head, body)
        if self.is_stream:
            self._values.extend(json.loads(event.data) for event in self._reader.feed(body) if event.data)
        elif body:
            self._values.append(json.loads(body))
        self._wake.set()

    async def hear(self) -> Any:
        while not self._values:
            self._wake = anyio.Event()
            await self._wake.wait()
        return self._values.popleft()


class Pipe:
    """A server at the end of a pipe; lines are said and heard one by one."""

    def __init__(self, server: Server) -> None:
        self.recorder = Recorder(lambda: 0)
        self.serving = StdioServing(server, self, scribe=Scribe(self.recorder), tokens=tokens())
        self._in: deque[bytes] = deque()
        self._out: deque[Any] = deque()
        self._wake_in = anyio.Event()
        self._wake_out = anyio.Event()
        self._closed = False

    def say(self, *messages: Any) -> None:
        self._in.extend(as_bytes(message) + b"\n" for message in messages)
        self._wake_in.set()

    def close(self) -> None:
        self._closed = True
        self._wake_in.set()

    async def hear(self) -> Any:
        while not self._out:
            self._wake_out = anyio.Event()
            await self._wake_out.wait()
        return self._out.popleft()

    async def until(self, id: Any) -> list[Any]:
        """Everything up to the answer to `id`."""
        heard = [await self.hear()]
        while heard[-1].get("id") != id or "method" in heard[-1]:
            heard.append(await self.hear())
        return heard

    # The server's side

    async def receive(self) -> bytes:
        while not self._in:
            if self._closed:
                raise anyio.EndOfStream
            self._wake_in = anyio.Event()
            await self._wake_in.wait()
        return self._in.popleft()

    async def send(self, data: bytes) -> None:
        self._out.append(json.loads(data))
        self._wake_out.set()

    async def aclose(self) -> None:
        pass


def answering(**by_method: Any) -> Answers:
    """Answers by the last word of the method: `create`, `createMessage`, `list`; a list is taken in turn."""
    turns = {name: list(value) for name, value in by_method.items() if isinstance(value, list)}

    def answer(method: str, params: dict[str, Any]) -> Any:
        name = method.rpartition("/")[2]
        if name in turns:
            return turns[name].pop(0)
        return by_method[name]

    return answer


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


WRITTEN = {
    "role": "assistant",
    "content": {"type": "text", "text": "Paris"},
    "model": "test",
    "stopReason": "endTurn",
}
