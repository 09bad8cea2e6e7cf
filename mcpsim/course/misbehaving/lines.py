"""Peers that write what is no message, or what not everybody reads alike."""

from __future__ import annotations

import json
from typing import Final

from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import raw_bytes
from mcpsim.course.misbehaving.lifecycle_parts import (
    LIST,
    client_by_hand,
    modern,
    plain,
    says_before,
    server_does,
    then_sends,
)

BEYOND: Final = 2**53 + 1


def _indented(data: bytes) -> bytes:
    return json.dumps(json.loads(data), indent=1).encode()


def _says_it_twice(data: bytes) -> bytes:
    return data.replace(b'"jsonrpc":"2.0"', b'"jsonrpc":"2.0","jsonrpc":"2.0"', 1)


LINES: Final[tuple[Misbehaviour, ...]] = (
    client_by_hand(
        "client-sends-an-empty-array",
        "message-is-an-object",
        "The client sends an empty array, to see whether the server is there.",
        then_sends([]),
        then_sends(plain("beat", "ping")),
        era="legacy",
    ),
    server_does(
        "server-logs-on-stdout",
        "stdio-json-is-a-message",
        "The server writes a line of its log to stdout: JSON, but no message.",
        says_before("result", LIST, b'{"level":"info","event":"tools listed"}\n'),
        era="modern",
    ),
    server_does(
        "server-indents-its-json",
        "stdio-message-is-one-line",
        "The server writes a message over several lines, to be easy to read.",
        raw_bytes(LIST, _indented, "result"),
        era="modern",
    ),
    server_does(
        "server-says-a-member-twice",
        "message-is-read-alike-by-all",
        "The server writes one member of an object twice, and readers differ in which one counts.",
        raw_bytes(LIST, _says_it_twice, "result"),
        era="modern",
    ),
    client_by_hand(
        "client-counts-its-requests-too-far",
        "request-id-is-exact-for-all",
        "The client takes a number for an id that not every reader can keep exactly.",
        then_sends({**modern("", LIST), "id": BEYOND}),
        then_sends({**modern("", LIST), "id": BEYOND // 2}),
    ),
)
