"""Exercise: in which era a message is at home."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.specimens import grade_words
from mcpsim.course.exercises.tables import meanings, open_answers
from mcpsim.course.exercises.verdict import Rule
from mcpsim.eras.pages import LEGACY, spec_url
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN, LEGACY_REVISIONS

META: Final = "basic/index#meta"
CODES: Final = "basic/index#error-codes"
RESULTS: Final = "basic/index#resulttype"
SUBSCRIPTIONS: Final = "basic/patterns/subscriptions"

TO_SERVER: Final = "client → server"
TO_CLIENT: Final = "server → client"

WORDS: Final[Mapping[str, str]] = {
    "legacy": "one side of a legacy session sends it; nobody who keeps to the modern rules does",
    "modern": "it is the other way round",
    "either": "it is good in both eras, as it stands",
    "neither": "no revision has it",
}


@dataclass(frozen=True, slots=True)
class Found:
    """Something that crossed the wire.

    Attributes:
        way: who sent it to whom.
        message: the message without `jsonrpc`, or None where only a head is shown.
        word: the era.
        seen: what there is to see in it.
        rule: what decides.
        head: the head of an HTTP request, a line each.
    """

    way: str
    message: Mapping[str, Any] | None
    word: str
    seen: str
    rule: Rule
    head: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.message is None:
            return f"{self.way}  {' | '.join(self.head)}"
        return f"{self.way}  {json.dumps(self.message, ensure_ascii=False)}"


_ASK_FOR_DAY: Final[Mapping[str, Any]] = {
    "method": "elicitation/create",
    "params": {
        "message": "Which day?",
        "requestedSchema": {"type": "object", "properties": {"day": {"type": "string"}}},
    },
}

FOUND: Final[Mapping[str, Found]] = {
    "A": Found(
        TO_SERVER,
        {"id": 1, "method": "tools/list", "params": {"_meta": {"progressToken": "a-1"}}},
        "legacy",
        "It has `_meta`, but neither the version nor the capabilities are in it.",
        Rule(
            "The `_meta` of every modern request MUST have the version and the client's capabilities.", META
        ),
    ),
    "B": Found(
        TO_CLIENT,
        {"method": "notifications/progress", "params": {"progressToken": "a-1", "progress": 1}},
        "either",
        "It belongs to a request by the token, and servers tell of progress in the same way in both eras.",
        Rule(
            "A progress notification names the token that came with the request.",
            "basic/patterns/progress#progress-flow",
        ),
    ),
    "C": Found(
        TO_CLIENT,
        {"id": "q-1", **_ASK_FOR_DAY},
        "legacy",
        "It is a request of the server.",
        Rule(
            "A server MUST NOT write requests: what it wants to know is carried in a result.",
            "basic/transports/stdio#receiving-messages",
        ),
    ),
    "D": Found(
        TO_CLIENT,
        {"id": 2, "result": {"resultType": "input_required", "inputRequests": {"day": _ASK_FOR_DAY}}},
        "modern",
        "The server's question stands in a result.",
        Rule(
            "A result whose type is `input_required` carries what the server wants to know.",
            "basic/patterns/mrtr#inputrequiredresult",
        ),
    ),
    "E": Found(
        TO_CLIENT,
        {
            "id": 3,
            "result": {
                "content": [{"type": "text", "text": "Done"}],
                "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "t-7"}},
            },
        },
        "legacy",
        f"The key in `_meta` looks modern. But the tasks of {LATEST_LEGACY} had it, and the result has no "
        f"type.",
        Rule("A modern result MUST include `resultType`; earlier revisions do not know it.", RESULTS),
    ),
    "F": Found(
        TO_CLIENT,
        {"id": 4, "error": {"code": -32601, "message": "Method not found"}},
        "either",
        "The code is one of JSON-RPC's own.",
        Rule("MCP uses the standard error codes of JSON-RPC for general failures.", CODES),
    ),
    "G": Found(
        TO_CLIENT,
        {
            "method": "notifications/resources/list_changed",
            "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": 9}},
        },
        "modern",
        "It says to which subscription it belongs.",
        Rule(
            "What comes on a subscription carries the id of the request that opened it.",
            f"{SUBSCRIPTIONS}#receiving-notifications",
        ),
    ),
    "H": Found(
        TO_CLIENT,
        {"method": "notifications/tools/list_changed"},
        "legacy",
        "It belongs to no subscription: the server tells it to whoever is there.",
        Rule(
            "A modern server MUST NOT send what was not asked for, and names the subscription with it.",
            f"{SUBSCRIPTIONS}#opening-a-stream",
        ),
    ),
    "I": Found(
        f"{TO_SERVER}, stdio",
        {"method": "notifications/cancelled", "params": {"requestId": 4}},
        "either",
        "It is a notification, and only requests have to say the version.",
        Rule(
            "stdio: to cancel, the client sends `notifications/cancelled` with the id of the request.",
            "basic/patterns/cancellation#transport-specific-cancellation",
        ),
    ),
    "J": Found(
        TO_SERVER,
        {"id": 5, "method": "shutdown"},
        "neither",
        "There never was such a method. A session ends by closing the transport.",
        Rule("No messages are defined for a shutdown.", "basic/lifecycle#shutdown", LEGACY),
    ),
    "K": Found(
        TO_SERVER,
        {"id": None, "method": "ping"},
        "neither",
        "`ping` is legacy, but look at the id.",
        Rule("The id of a request MUST NOT be null. This is so in all revisions.", "basic/index#requests"),
    ),
    "L": Found(
        f"{TO_SERVER}, HTTP",
        None,
        "legacy",
        "The header is in both eras. Its value is a legacy revision.",
        Rule(
            "A legacy client MUST send the version in this header, with every request after `initialize`.",
            "basic/transports#protocol-version-header",
            LEGACY,
        ),
        ("POST /mcp", f"MCP-Protocol-Version: {LEGACY_REVISIONS[2]}"),
    ),
    "M": Found(
        f"{TO_SERVER}, HTTP",
        None,
        "modern",
        "It says the method and the name in headers, and a modern version.",
        Rule(
            "Modern requests repeat the method, and the name where there is one, in headers.",
            "basic/transports/streamable-http#standard-request-headers",
        ),
        (
            "POST /mcp",
            f"MCP-Protocol-Version: {LATEST_MODERN}",
            "Mcp-Method: prompts/get",
            "Mcp-Name: minutes",
        ),
    ),
}


def shown() -> dict[str, str]:
    """What was found, by letter, as text."""
    return {letter: str(one) for letter, one in FOUND.items()}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, letter by letter."""
    return grade_words(
        answer,
        FOUND,
        tuple(WORDS),
        name="eras",
        look="Ask both sides: would a legacy peer send exactly this? Would a modern one?",
        passed="All thirteen are right. `_meta`, a header or a prefix alone tells nothing: what is in them "
        "does.",
    )


TASK: Final = Task(
    name="sort",
    title="Which era is it from",
    text=f"""\
`ex.found` holds what crossed the wire, by letter: messages (without `jsonrpc`), and the heads of two HTTP
requests. In which era is each of them at home?

| word | meaning |
|---|---|
{meanings(WORDS)}

Legacy is every revision up to {LATEST_LEGACY}. Take each as it stands: what is not there was not sent.

The legacy rules: [basic protocol, {LATEST_LEGACY}]({spec_url(LEGACY, "basic/index#messages")}),
[lifecycle, {LATEST_LEGACY}]({spec_url(LEGACY, "basic/lifecycle")}),
[tasks, {LATEST_LEGACY}]({spec_url(LEGACY, "basic/utilities/tasks")}).""",
    answer="eras",
    starter=open_answers("eras", FOUND, in_line=5),
    hints=(
        "Four questions: is it a request, a result, an error or a notification? What must a modern one of "
        "this kind have? May its sender send this kind at all? Is it well formed?",
        "Modern requests have version and capabilities, modern results have a type, and modern changes name "
        "their subscription. Errors, progress and cancellations have nothing of the kind.",
        "Five are legacy, three modern, three are good in both, and two in none.",
    ),
    solution=(
        """\
eras = {
    "A": "legacy", "B": "either", "C": "legacy", "D": "modern", "E": "legacy",
    "F": "either", "G": "modern", "H": "legacy", "I": "either", "J": "neither",
    "K": "neither", "L": "legacy", "M": "modern",
}""",
    ),
    why="No single sign decides. Each kind of message has its own: the keys of a request, the type of a "
    "result, the subscription of a change, the value of a header.",
    grade=grade,
    pages=(
        ("`_meta`", META),
        ("results", RESULTS),
        ("error codes", CODES),
        ("subscriptions", f"{SUBSCRIPTIONS}#receiving-notifications"),
    ),
    show="for letter, text in ex.found.items():\n    print(letter, text)",
)
