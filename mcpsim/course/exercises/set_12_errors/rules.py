"""The rules about errors, in our words."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.verdict import Rule
from mcpsim.eras.pages import LEGACY

_TOOLS: Final = "server/tools#error-handling"
_CODES: Final = "basic/index#error-codes"

TOOL_ERROR: Final = Rule(
    "Failures of what is behind a tool, input that it does not accept, and rules of the business are tool "
    "errors: results with `isError: true`. The model can correct itself by them.",
    _TOOLS,
)
PROTOCOL_ERROR: Final = Rule(
    "An unknown tool, a malformed request and a failure of the server are protocol errors: JSON-RPC errors, "
    "which models can do little about.",
    _TOOLS,
)
TO_THE_MODEL: Final = Rule(
    "Clients SHOULD provide tool errors to the model. They MAY provide protocol errors, with less hope.",
    _TOOLS,
)
IN_THE_RESULT: Final = Rule(
    "Errors that originate from the tool SHOULD be reported in the result, with `isError: true`. Otherwise "
    "the "
    "model cannot see them.",
    "schema#calltoolresult",
)
NO_SECRETS: Final = Rule(
    "Servers MUST sanitize what tools give out. What would help an attacker, such as credentials or internal "
    "details, belongs in no answer.",
    "server/tools#security-considerations",
)
LOCAL: Final = Rule(
    "An error that is local to an implementation, such as a timeout, has no code, and must not be mistaken "
    "for "
    "one that came from the other side.",
    _CODES,
)
TIMEOUT: Final = Rule(
    "If no response comes in time, the sender SHOULD cancel the request and stop waiting. What the server "
    "had "
    "done by then, nobody says.",
    "basic/patterns/cancellation#timeouts",
)
IDENTIFIED: Final = Rule(
    "State that spans several requests MUST be referenced by an identifier that the client passes with each.",
    "basic/index#statelessness",
)
STANDARD: Final = Rule("MCP uses the codes of JSON-RPC for general failures, in both eras.", _CODES)
RESOURCE_MODERN: Final = Rule(
    "If a resource does not exist, servers MUST return -32602.", "server/resources#error-handling"
)
RESOURCE_LEGACY: Final = Rule(
    "If a resource does not exist, servers SHOULD return -32002.", "server/resources#error-handling", LEGACY
)
URL_REQUIRED: Final = Rule(
    "When a request cannot be processed before an elicitation is completed, the server MAY return -32042. "
    "Only this revision has it.",
    "client/elicitation#url-elicitation-required-error",
    LEGACY,
)
NO_METHOD: Final = Rule(
    "A server answers with -32601 where it does not have the method, or does not offer the capability that "
    "the method belongs to.",
    "schema#methodnotfounderror",
)
HEADERS: Final = Rule(
    "A server that reads the body MUST refuse a request whose headers do not match it: -32020.",
    "basic/transports/streamable-http#server-validation",
)
CAPABILITY: Final = Rule(
    "If a request needs a capability that it does not declare, the server MUST return -32021.",
    "basic/index#meta",
)
VERSION: Final = Rule(
    "A server that does not support the requested version MUST answer with -32022.",
    "basic/versioning#protocol-version-negotiation",
)
META: Final = Rule(
    "A request without a required key of `_meta` is malformed: the server MUST refuse it with -32602.",
    "basic/index#meta",
)
UNKNOWN_TOOL: Final = Rule("An unknown tool is a protocol error; in the example its code is -32602.", _TOOLS)
