"""The rules that these exercises lean on, and their pages."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.verdict import Rule

STDIO: Final = "basic/transports/stdio"
HTTP: Final = "basic/transports/streamable-http"

ONLY_MESSAGES: Final = Rule(
    "The server MUST NOT write anything to its `stdout` that is not a valid MCP message.", STDIO
)
ONE_LINE: Final = Rule(
    "Messages are delimited by newlines, and MUST NOT contain embedded newlines: one message a line.", STDIO
)
NO_REQUESTS: Final = Rule(
    "A modern server MUST NOT write requests to `stdout`: what it needs of the client, it asks for in a "
    "result.",
    f"{STDIO}#receiving-messages",
)
UTF_8: Final = Rule("Messages MUST be encoded in UTF-8.", "basic/transports/index#messages")

ACCEPTS_BOTH: Final = Rule(
    "The client MUST include an `Accept` header that lists `application/json` and `text/event-stream`.",
    f"{HTTP}#sending-messages",
)
JSON_OR_EVENTS: Final = Rule(
    "On a request the server MUST return `application/json`, one JSON object, or `text/event-stream`. The "
    "client MUST support both.",
    f"{HTTP}#sending-messages",
)
ACCEPTED: Final = Rule(
    "If the server accepts a notification, it MUST return 202 Accepted with no body. If it cannot, it MUST "
    "return an HTTP error status.",
    f"{HTTP}#sending-messages",
)
NOT_FOUND: Final = Rule(
    "A server that does not implement the method MUST respond with 404 Not Found and the error -32601.",
    f"{HTTP}#protocol-version-header",
)
NO_GET: Final = Rule(
    "A server that supports this revision only SHOULD answer GET with 405 Method Not Allowed.",
    f"{HTTP}#earlier-streamable-http-revisions",
)
VERSION_HEADER: Final = Rule(
    "Every POST MUST include `MCP-Protocol-Version`, and its value MUST match the version in the `_meta` of "
    "the body.",
    f"{HTTP}#protocol-version-header",
)
STANDARD_HEADERS: Final = Rule(
    "`Mcp-Method` repeats `method`, on all requests. `Mcp-Name` repeats `params.name` or `params.uri`, on "
    "`tools/call`, `prompts/get` and `resources/read`. They are required.",
    f"{HTTP}#standard-request-headers",
)
ENCODING: Final = Rule(
    "A name that plain ASCII cannot carry safely MUST be written as `=?base64?…?=`: Base64 of its UTF-8 "
    "bytes. Blanks at either end, control characters, and a name that looks like that form itself are such "
    "cases.",
    f"{HTTP}#value-encoding",
)
VALIDATION: Final = Rule(
    "A server that reads the body MUST reject a request whose headers are missing, or do not match the body, "
    "with 400 and the error -32020.",
    f"{HTTP}#server-validation",
)
MALFORMED: Final = Rule(
    "The error -32020, with 400, is also for required headers that are malformed. That a name which cannot "
    "be decoded is one of those is our reading. In any case it does not match the body.",
    f"{HTTP}#server-validation",
)
DECODED: Final = Rule(
    "Servers MUST decode an encoded `Mcp-Name` before they compare it to the body.",
    f"{HTTP}#server-validation",
)
CASES: Final = Rule(
    "Names of headers MUST be compared without regard to case. Their values are case-sensitive.",
    f"{HTTP}#case-sensitivity",
)
