"""Every exception of mcpsim, and the error codes of both eras as one table.

Codes: https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
RESOURCE_NOT_FOUND: Final = -32002
URL_ELICITATION_REQUIRED: Final = -32042

#: The codes that the specification keeps for itself, whether it gives them a meaning or not.
RESERVED_CODES: Final = range(-32099, -32019)


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One row of the code table.

    `eras` says where a conforming peer may send the code; `http_status` is the status of the HTTP
    response that carries it under the modern protocol, or None where no page of the specification
    fixes one.
    """

    code: int
    name: str
    meaning: str
    eras: tuple[str, ...]
    http_status: int | None


BOTH: Final = ("legacy", "modern")

# The status of -32700 and -32600 is our choice: the specification fixes none for a request that
# cannot be read, and 400 is what HTTP says about a request that the server cannot understand.
ERROR_CODES: Final[dict[int, ErrorCode]] = {
    row.code: row
    for row in (
        ErrorCode(PARSE_ERROR, "ParseError", "The text is not JSON.", BOTH, 400),
        ErrorCode(
            INVALID_REQUEST,
            "InvalidRequest",
            "It is JSON, but not a valid request: not a JSON-RPC message, or one that may not be sent now.",
            BOTH,
            400,
        ),
        ErrorCode(
            METHOD_NOT_FOUND,
            "MethodNotFound",
            "This server does not have the method, or does not offer the capability that it needs.",
            BOTH,
            404,
        ),
        ErrorCode(
            INVALID_PARAMS,
            "InvalidParams",
            "The method exists, but not with these parameters (or, in the modern era, without the "
            "required `_meta` keys).",
            BOTH,
            None,
        ),
        ErrorCode(INTERNAL_ERROR, "InternalError", "The receiver failed.", BOTH, None),
        ErrorCode(
            HEADER_MISMATCH,
            "HeaderMismatch",
            "An HTTP header is missing, malformed, or says something else than the body.",
            ("modern",),
            400,
        ),
        ErrorCode(
            MISSING_CLIENT_CAPABILITY,
            "MissingRequiredClientCapability",
            "The request needs a client capability that this very request does not declare.",
            ("modern",),
            400,
        ),
        ErrorCode(
            UNSUPPORTED_VERSION,
            "UnsupportedProtocolVersion",
            "The server does not speak the version that the request declares.",
            ("modern",),
            400,
        ),
        ErrorCode(RESOURCE_NOT_FOUND, "ResourceNotFound", "There is no such resource.", ("legacy",), None),
        ErrorCode(
            URL_ELICITATION_REQUIRED,
            "URLElicitationRequired",
            "The user has to visit a URL first (the last legacy revision only).",
            ("legacy",),
            None,
        ),
    )
}


class McpSimError(Exception):
    """The base of every exception that mcpsim raises on purpose."""


class ProtocolError(McpSimError):
    """A JSON-RPC error: what one peer answers, and what the other raises when it reads the answer.

    Attributes:
        code: the JSON-RPC error code, an integer.
        message: one sentence, as it stands on the wire.
        data: any JSON value, or None when the error carries no `data`.

    Raises:
        TypeError: the code is no integer.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-responses
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        given: Any = code
        if not isinstance(given, int) or isinstance(given, bool):
            raise TypeError(f"The code of an error is an integer, not {given!r}.")
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        row = ERROR_CODES.get(self.code)
        name = f" {row.name}" if row else ""
        data = "" if self.data is None else f" (data: {self.data})"
        return f"{self.code}{name}: {self.message}{data}"


class MalformedMessage(ProtocolError):
    """Bytes that are not one well-formed message.

    Attributes:
        id: the id of the request where it could still be read, otherwise None.
        expects_answer: False for what would be a notification or a response if it were well-formed: those
            are never answered, not even with an error.
    """

    def __init__(
        self,
        code: int,
        message: str,
        id: str | int | None = None,
        data: Any = None,
        *,
        expects_answer: bool = True,
    ) -> None:
        super().__init__(code, message, data)
        self.id = id
        self.expects_answer = expects_answer


class FramingError(McpSimError):
    """The bytes break the framing of the transport: a newline inside a stdio message, a header value
    that HTTP cannot carry, a line beyond the limit."""


class ConnectionClosed(McpSimError):
    """The other side closed the connection, or it was cut, before the answer came."""


class UnexpectedResponse(McpSimError):
    """The peer answered with something that the client cannot use: an HTTP status without a JSON-RPC
    body, a result that is not valid for its method, a `resultType` that the client does not know.

    Attributes:
        status: the HTTP status, where it is that which cannot be used; otherwise None.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


class RequestTimeout(McpSimError):
    """No answer within the time that the caller allowed. The request was cancelled."""


class RequestStopped(McpSimError):
    """Somebody outside of whoever waits for the answer cancelled the request, as a user who presses Stop."""


class NegotiationFailed(McpSimError):
    """Client and server have no protocol version in common, or the server's era is not the client's."""


class RepeatedCursor(McpSimError):
    """A list goes round in circles: a cursor that came before brought the very same page again."""


class TooManyPages(McpSimError):
    """A list has more pages than the caller wants to read."""


class ToolError(McpSimError):
    """A tool says that it could not do its work. The text goes to the model, as a result with
    `isError: true`: it should say what went wrong and what to try. Nothing secret belongs in it."""


class ResourceNotFound(McpSimError):
    """There is no such resource: raised by the handler of a resource that knows no better.

    The client gets the error of its revision: -32002 in the legacy ones, -32602 in the modern one, with the
    URI that it asked for as data.
    https://modelcontextprotocol.io/specification/2026-07-28/server/resources#error-handling
    https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling
    """


class InvalidCursor(McpSimError):
    """A string that is no cursor of this list."""


class UriTemplateError(McpSimError):
    """A text that is no URI template, or one that a URI cannot be matched against."""


class ParameterHeaderError(McpSimError):
    """An `x-mcp-header` annotation breaks a rule, or an argument cannot be repeated in a header."""


class CapabilityMissing(ProtocolError):
    """A handler wants to ask for something that the client did not declare it can answer. Nothing is sent.

    A handler that can do without catches it. Where nobody does, it is the answer to the request: -32021 in
    the modern era, -32600 in the legacy one, which has no code of its own for it.

    Attributes:
        required: what is missing, as a capabilities object.
    """

    def __init__(self, code: int, message: str, required: dict[str, Any]) -> None:
        data = {"requiredCapabilities": required} if code == MISSING_CLIENT_CAPABILITY else None
        super().__init__(code, message, data)
        self.required = required


class UrlElicitationRequired(ProtocolError):
    """A request cannot be processed before its user has visited one or more URLs: -32042.

    Only the last legacy revision has this error; `Context.require_url` raises it where it may be sent.

    https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error

    Attributes:
        elicitations: the URL mode elicitations, as they go on the wire.
    """

    def __init__(self, elicitations: list[dict[str, Any]]) -> None:
        text = "This request requires more information."
        super().__init__(URL_ELICITATION_REQUIRED, text, {"elicitations": elicitations})
        self.elicitations = elicitations


class InputFailed(ToolError):
    """What a handler asked for did not come: the client answered a legacy server's question with an error,
    or with something that does not fit the question.

    Attributes:
        error: the client's error, or None where its answer does not fit.
    """

    def __init__(self, text: str, error: ProtocolError | None = None) -> None:
        super().__init__(text)
        self.error = error


class ElicitationSchemaError(McpSimError, ValueError):
    """The schema of a form is none that an elicitation may have. The text names the property and the rule."""


class InputDeclined(McpSimError):
    """The user did not allow what a server asked for by sampling. In the modern era that is no answer which
    could be sent: the request is not tried again."""


class TooManyRounds(McpSimError):
    """The server asked for input in more rounds than the client allows for one request."""


class RequestStateError(McpSimError):
    """A `requestState` that is not accepted; the class says why. The text is for the recording: whoever sent
    the state learns only that it is not valid."""


class StateTampered(RequestStateError):
    """It was not sealed with this key, or was changed since."""


class StateExpired(RequestStateError):
    """It is too old."""


class StateOfAnotherPrincipal(RequestStateError):
    """It was sealed for somebody else."""


class StateOfAnotherRequest(RequestStateError):
    """It was sealed for another method or other parameters."""


class StateReplayed(RequestStateError):
    """It may be used once, and was used before."""


class RegistrationError(McpSimError):
    """A tool, resource or prompt cannot be offered as it was declared: a name used twice, a schema that is
    not valid."""


class ServerNotFound(McpSimError):
    """What names a server, such as `module:name` on a command line, leads to none that can be served."""


class SimulationError(McpSimError):
    """The simulation itself cannot go on. The story's own errors are raised as they are."""


class Stuck(SimulationError):
    """A task keeps the clock from moving: it used up the step budget, or never gave control back."""


class Deadlock(SimulationError):
    """Nothing is ready, no timer is set, and tasks still wait: what they wait for cannot happen."""


class RealWorldCall(SimulationError):
    """Code in a simulation asked the event loop for real I/O: a socket, a thread, a process, a signal."""


class RecordingError(McpSimError):
    """A file or a line is not a recording that can be read. The text names the line and the reason."""
