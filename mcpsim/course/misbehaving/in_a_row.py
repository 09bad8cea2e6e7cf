"""What peers that misbehave in tools, resources, prompts and completion are made of: stories that ask one
thing after the other, and twists that put another answer in the place of the right one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import change_answer, change_error
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import ProtocolError, UnexpectedResponse
from mcpsim.messages import SERVER_INFO
from mcpsim.server import Server
from mcpsim.transports.twists import MakeTwist
from mcpsim.utilities.caching import CACHEABLE

Json = dict[str, Any]
Step = tuple[str, Json] | float
Story = Callable[..., Any]


def asking(*steps: Step) -> Story:
    """A story that sends these requests, and pauses for so many seconds. What is refused is passed over."""

    async def story(client: Client) -> None:
        for step in steps:
            if not isinstance(step, tuple):
                await anyio.sleep(step)
                continue
            with suppress(ProtocolError, UnexpectedResponse):
                await client.request(step[0], step[1], timeout_s=5)

    return story


def call(name: str, **arguments: Any) -> Step:
    """A call of a tool."""
    return "tools/call", {"name": name, "arguments": arguments}


def read(uri: str) -> Step:
    """Reading a resource."""
    return "resources/read", {"uri": uri}


def complete(value: str, prompt: str = "letter", argument: str = "city") -> Step:
    """Asking for completions."""
    ref = {"type": "ref/prompt", "name": prompt}
    return "completion/complete", {"ref": ref, "argument": {"name": argument, "value": value}}


def answered(method: str, **result: Any) -> MakeTwist:
    """A result of a modern server in the place of whatever else it would answer."""
    more: Json = {"resultType": "complete", "_meta": {SERVER_INFO: {"name": "careless", "version": "1"}}}
    if method in CACHEABLE:
        more |= {"ttlMs": 0, "cacheScope": "private"}

    def edit(message: Json) -> Json:
        return {"jsonrpc": "2.0", "id": message["id"], "result": {**more, **result}}

    return change_answer(method, edit)


def refused(method: str, code: int, text: str) -> MakeTwist:
    """An error in the place of whatever else the server would answer."""

    def edit(message: Json) -> Json:
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text}}

    return change_answer(method, edit)


def with_code(method: str, code: int) -> MakeTwist:
    """Another code in an error."""
    return change_error(method, lambda error: {**error, "code": code})


def text(said: str, **more: Any) -> Json:
    """The members of a tool's result that has one text."""
    return {"content": [{"type": "text", "text": said}], **more}


def by_server(
    name: str,
    rule: str,
    sentence: str,
    story: Story,
    twist: MakeTwist,
    server: Callable[[], Server],
    *,
    era: ClientEra = "modern",
    **more: Any,
) -> Misbehaviour:
    """A server that misbehaves by a twist."""
    more.setdefault("way", "stdio")
    return Misbehaviour(name, "server", rule, sentence, story, server, era, twist=twist, **more)


def by_client(
    name: str, rule: str, sentence: str, wrong: Story, right: Story, server: Callable[[], Server], **more: Any
) -> Misbehaviour:
    """A client that misbehaves by its story."""
    more.setdefault("way", "stdio")
    return Misbehaviour(name, "client", rule, sentence, wrong, server, era="modern", good_story=right, **more)
