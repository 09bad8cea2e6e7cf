"""The twelve messages of the first exercise: what each is, what decides it, what a broken one should be.

They are messages of the legacy era, because those are short: they carry no `_meta`. What makes a message a
request, a notification, a result or an error is the same in both eras.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcpsim.course.exercises.verdict import Rule
from mcpsim.eras.revisions import BATCHING_REVISIONS
from mcpsim.messages import ErrorResponse, Message, Request

REQUEST: Final = "request"
NOTIFICATION: Final = "notification"
RESULT: Final = "result"
ERROR: Final = "error"
NOT_JSON: Final = "-32700"
NOT_A_MESSAGE: Final = "-32600"
WORDS: Final = (REQUEST, NOTIFICATION, RESULT, ERROR, NOT_JSON, NOT_A_MESSAGE)

REQUESTS: Final = "basic/index#requests"
RESPONSES: Final = "basic/index#responses"
RESULTS: Final = "basic/index#result-responses"
ERRORS: Final = "basic/index#error-responses"
NOTIFICATIONS: Final = "basic/index#notifications"
MESSAGES: Final = "basic/index#messages"
ENCODING: Final = "basic/transports/index#messages"


@dataclass(frozen=True, slots=True)
class Specimen:
    """One of the twelve.

    Attributes:
        data: its bytes.
        word: what it is.
        seen: what there is to see in it.
        rule: what decides.
        meant: what its sender meant, where it is broken.
        task: the same in words.
    """

    data: bytes
    word: str
    seen: str
    rule: Rule
    meant: Message | None = None
    task: str = ""


TWELVE: Final[Mapping[str, Specimen]] = {
    "A": Specimen(
        b'{"jsonrpc":"2.0","id":0,"method":"ping"}',
        REQUEST,
        "It has a `method` and an `id`, the number 0.",
        Rule("A request MUST have a string or an integer as its id. 0 is an integer.", REQUESTS),
    ),
    "B": Specimen(
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        NOTIFICATION,
        "It has a `method` and no `id`.",
        Rule("A notification MUST NOT have an id; that is what tells it from a request.", NOTIFICATIONS),
    ),
    "C": Specimen(
        b'{"jsonrpc":"2.0","id":"list-1","result":{"tools":[]}}',
        RESULT,
        "It has a `result`, an object, and an `id`, a string.",
        Rule("A result response MUST have a `result` and the id of the request that it answers.", RESULTS),
    ),
    "D": Specimen(
        b'{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}',
        ERROR,
        "It has an `error` with a `code` and a `message`. The code in it is its content: the message is in "
        "order.",
        Rule("An error response MUST have an `error` with a `code`, an integer, and a `message`.", ERRORS),
    ),
    "E": Specimen(
        b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}',
        NOT_A_MESSAGE,
        "It has a `method`, and an `id` whose value is null.",
        Rule(
            "The id of a request MUST be a string or an integer, and MUST NOT be null. A notification MUST "
            "NOT have one.",
            REQUESTS,
        ),
        Request(11, "tools/list"),
        "the request `tools/list` with the id 11, a number",
    ),
    "F": Specimen(
        b'{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"No such ticket."}],'
        b'"isError":true}}',
        RESULT,
        "It has a `result`. `isError` stands inside of it: a tool error is a result, which the model reads.",
        Rule("Only a message with a field `error` is an error response.", RESPONSES),
    ),
    "G": Specimen(
        b'{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":-32603,"message":"Internal error"}}',
        NOT_A_MESSAGE,
        "It has a `result` and an `error`.",
        Rule("A response holds either a result or an error, never both.", RESPONSES),
        ErrorResponse(5, -32603, "Internal error"),
        "the error -32603 as the answer to request 5",
    ),
    "H": Specimen(
        b'{"jsonrpc":"2.0","id":6,"method":"tools/list",}',
        NOT_JSON,
        "A comma stands before the last brace.",
        Rule(
            "Every message MUST follow JSON-RPC 2.0, and so must be JSON; JSON has no trailing comma.",
            MESSAGES,
        ),
        Request(6, "tools/list"),
        "the request `tools/list` with the id 6",
    ),
    "I": Specimen(
        b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]',
        NOT_A_MESSAGE,
        "It is an array: a batch of JSON-RPC.",
        Rule(
            "A message is one object. Batches of JSON-RPC are no part of the protocol; only the revision "
            f"{', '.join(sorted(BATCHING_REVISIONS))} had them.",
            MESSAGES,
        ),
        Request(7, "ping"),
        "the request `ping` with the id 7",
    ),
    "J": Specimen(
        b'{"jsonrpc":"2.0","id":"","method":"tools/call","params":{"name":"find","arguments":{"result":1}}}',
        REQUEST,
        'It has a `method` and an `id`, the string "". The `result` stands deeper, among the arguments.',
        Rule("A request MUST have a string or an integer as its id. The empty string is a string.", REQUESTS),
    ),
    "K": Specimen(
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8,"reason":"Stopped"}}',
        NOTIFICATION,
        "It has a `method` and no `id`. The `requestId` in its parameters names another message.",
        Rule("A notification MUST NOT have an id of its own.", NOTIFICATIONS),
    ),
    "L": Specimen(
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"find",'
        b'"arguments":{"place":"Caf\xe9"}}}',
        NOT_JSON,
        "The byte 0xE9 stands alone: an é in Latin-1. In UTF-8 it takes two bytes.",
        Rule("JSON-RPC messages MUST be encoded in UTF-8.", ENCODING),
        Request(9, "tools/call", {"name": "find", "arguments": {"place": "Café"}}),
        'the request `tools/call` with the id 9, for the tool "find" and the place "Café"',
    ),
}

BROKEN: Final = tuple(letter for letter, specimen in TWELVE.items() if specimen.meant is not None)
