"""The rules that decide in traces, in our words."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.verdict import Rule
from mcpsim.eras.pages import LEGACY

ERAS: Final = Rule(
    "A server that knows both eras serves a request with modern `_meta` in the modern era; `initialize` "
    "selects the legacy one.",
    "basic/versioning#backward-compatibility-with-initialization-based-versions",
)
RESULT_TYPE: Final = Rule(
    "A result MUST have a `resultType`; results of earlier revisions have none.",
    "basic/index#result-responses",
)
SESSION_ID: Final = Rule(
    "Only the legacy era has session ids. A server that has the modern era alone SHOULD ignore one.",
    "basic/transports/streamable-http#earlier-streamable-http-revisions",
)
SAME_ID: Final = Rule(
    "A result MUST have the same id as its request; an error too, where the id could be read.",
    "basic/index#responses",
)
ONE_ANSWER: Final = Rule(
    "All messages MUST follow JSON-RPC 2.0: a request gets one response, a result or an error.",
    "basic/index#messages",
)
ID_FREE_AGAIN: Final = Rule(
    "The id of a request MUST NOT be that of another request of the same sender that is not answered yet. "
    "After the answer it is free.",
    "basic/index#requests",
)
ID_ONCE: Final = Rule(
    "The id of a request MUST NOT have been used before by the same sender in the same session.",
    "basic/index#requests",
    LEGACY,
)
BOTH_ASK: Final = Rule(
    "In a session both sides may send requests, each with ids of its own.", "basic/index#requests", LEGACY
)
HEADERS: Final = Rule(
    "`Mcp-Name` repeats the name in the body. A server that reads the body MUST reject what does not match.",
    "basic/transports/streamable-http#server-validation",
)
NOT_FOUND: Final = Rule(
    "For a method that it does not implement a server MUST respond with 404 and -32601.",
    "basic/transports/streamable-http#protocol-version-header",
)
PROGRESS_ENDS: Final = Rule(
    "Notifications of progress MUST stop after completion.",
    "basic/utilities/progress#implementation-notes",
    LEGACY,
)
PROGRESS_RISES: Final = Rule(
    "`progress` MUST increase with each notification.", "basic/patterns/progress#progress-flow"
)
PROGRESS_WORDS: Final = Rule(
    "The `message` of a progress notification SHOULD tell people something.",
    "basic/patterns/progress#progress-flow",
)
NEGOTIATED: Final = Rule(
    "Both sides MUST use only the capabilities that were negotiated.", "basic/lifecycle#operation", LEGACY
)
OPAQUE: Final = Rule(
    "Clients MUST treat cursors as opaque, and do not change them.",
    "server/utilities/pagination#implementation-guidelines",
)
BAD_CURSOR: Final = Rule(
    "An invalid cursor SHOULD result in an error with the code -32602.",
    "server/utilities/pagination#error-handling",
)
NO_SUCH_RESOURCE: Final = Rule(
    "Where a resource does not exist, servers SHOULD answer with the code -32002.",
    "server/resources#error-handling",
    LEGACY,
)
NO_REQUESTS: Final = Rule(
    "In the modern era a server MUST NOT send requests of its own over stdio.",
    "basic/transports/stdio#receiving-messages",
)
CANCELLATION: Final = Rule(
    "A cancellation and an answer may cross on the way. Both sides MUST cope with that.",
    "basic/patterns/cancellation#timing-considerations",
)
NO_FALL_FORWARD: Final = Rule(
    "A legacy client and a server that has the modern era alone do not understand each other: the server "
    "rejects `initialize`.",
    "basic/versioning#compatibility-matrix",
)
STDIO_CANCEL: Final = Rule(
    "To cancel over stdio a client MUST send `notifications/cancelled`; over Streamable HTTP it closes the "
    "response stream.",
    "basic/patterns/cancellation#transport-specific-cancellation",
)
PING: Final = Rule(
    "Either side may ping the other one in a session.", "basic/utilities/ping#overview", LEGACY
)
