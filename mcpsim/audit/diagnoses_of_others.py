"""What the codes mean that the specification does not give a meaning, and what HTTP statuses mean."""

from __future__ import annotations

from typing import Final

from mcpsim.audit.circumstances import (
    SESSION_HEADER,
    VERSION_HEADER,
    always,
    both,
    declares_modern,
    has_status,
    is_legacy,
    is_modern,
    says,
    sends,
    used,
)
from mcpsim.audit.diagnosis_row import (
    ANY,
    FALL_BACK,
    SERVER_DEFINED,
    Row,
)
from mcpsim.errors import (
    RESERVED_CODES,
)

#: Everything that JSON-RPC keeps.
JSON_RPC: Final = range(-32768, -31999)
#: What the Language Server Protocol answers to a cancelled request.
CANCELLED: Final = -32800

OTHERS: Final[tuple[Row, ...]] = (
    # Codes that some libraries, other protocols and early drafts have.
    Row(
        {-32001},
        says("header"),
        "A header does not fit the body. Early drafts had this code for it; it is -32020 now.",
        "Send the headers as the body has them. One of the two sides speaks a draft.",
    ),
    Row(
        {-32003},
        says("capabilit"),
        "A client capability is missing. Early drafts had this code for it; it is -32021 now.",
        "Declare the capability. One of the two sides speaks a draft.",
    ),
    Row(
        {-32004},
        says("version"),
        "The version is not supported. Early drafts had this code for it; it is -32022 now.",
        "Declare another version. One of the two sides speaks a draft.",
    ),
    Row(
        {-32000, -32001},
        says("timeout", "timed out"),
        "Most likely a library gave up waiting and says so by an error of its own.",
        "Wait longer, ask for progress, or find out what keeps the {party}.",
    ),
    Row(
        {-32000},
        says("connection closed", "disconnected"),
        "Most likely a library lost the connection and says so by an error of its own.",
        "Look for what ended the {party}: its last lines on stderr, its exit code.",
    ),
    Row(
        {-32000},
        has_status(405),
        "The server does not take this HTTP method here.",
        "Send messages by POST. A GET that is refused is no fault: the server has no stream of its own.",
    ),
    Row(
        {CANCELLED},
        always,
        "The request was cancelled. The code is that of the Language Server Protocol.",
        "Expect no answer to a cancelled request, and ignore this one.",
    ),
    Row(
        ANY,
        says("unauthori", "forbidden", "permission", "access denied"),
        "Whoever is asking may not do this.",
        "Look at the credentials and at what they allow.",
    ),
    Row(
        SERVER_DEFINED,
        always,
        "An error of this server's own. The code has no meaning that all servers share.",
        "Read its message and data: {text}.",
    ),
    Row(
        RESERVED_CODES,
        always,
        "The specification keeps {code} for itself and gives it no meaning that is known here.",
        "Perhaps the {party} speaks a later revision. Otherwise it should take another code.",
    ),
    Row(
        JSON_RPC,
        always,
        "JSON-RPC keeps {code} for itself, and defines nothing for it.",
        "Read its message and data: {text}. The {party} should take another code.",
    ),
    Row(
        ANY,
        always,
        "An error of the application behind the {party}.",
        "Read its message and data: {text}.",
    ),
)

STATUSES: Final[tuple[Row, ...]] = (
    Row(
        {400},
        both(is_modern, declares_modern),
        "A 400 without a modern error in its body: most likely a legacy server, or something in front of the "
        "server.",
        FALL_BACK,
    ),
    Row(
        {400},
        both(is_legacy, sends(VERSION_HEADER)),
        "The server does not accept the request: perhaps the version in MCP-Protocol-Version, or a "
        "session id "
        "that is missing.",
        "Send the negotiated version, and the Mcp-Session-Id of the session if the server gave one.",
    ),
    Row(
        {400},
        always,
        "The server cannot do anything with this request.",
        "Look at the headers (version, session id) and at the body: one message, JSON, UTF-8.",
    ),
    Row(
        {401},
        always,
        "The server does not know who is asking: a token is missing, or not valid any more.",
        "Follow the WWW-Authenticate header of the response to get a token, and send it as Authorization.",
    ),
    Row(
        {403},
        sends("origin"),
        "The server does not accept the page in the Origin header, or whoever is asking may not do this.",
        "Let the server accept that origin, or look at the scopes of the token.",
    ),
    Row(
        {403},
        always,
        "Whoever is asking may not do this.",
        "Look at the scopes in the WWW-Authenticate header, and get a token that has them.",
    ),
    Row(
        {404, 410},
        sends(SESSION_HEADER),
        "The server does not know the session any more: it ended, or the server was restarted.",
        "Send initialize without a session id, and begin anew.",
    ),
    Row(
        {404},
        both(is_modern, used("POST")),
        "There is no modern endpoint at this address: a wrong path, or a server of the old HTTP+SSE "
        "transport. "
        "A method that is not there would have an error in the body.",
        "Check the address. A client that speaks a legacy revision as well sends initialize.",
    ),
    Row(
        {404},
        always,
        "There is no such endpoint.",
        "Check the address, the path too.",
    ),
    Row(
        {405},
        used("GET"),
        "The server offers no stream of its own by GET. That is no fault.",
        "Go on with POST alone, and do not try again.",
    ),
    Row(
        {405},
        used("DELETE"),
        "The server does not let clients end a session. That is no fault.",
        "Forget the session id.",
    ),
    Row(
        {405},
        always,
        "The server takes no POST at this address: a wrong path, or the old HTTP+SSE transport.",
        "Check the address; for the old transport, open a stream by GET and wait for its endpoint event.",
    ),
    Row(
        {406},
        used("GET"),
        "The Accept header does not name text/event-stream.",
        "Send Accept: text/event-stream.",
    ),
    Row(
        {406},
        always,
        "The Accept header does not name both application/json and text/event-stream.",
        "Send Accept: application/json, text/event-stream.",
    ),
    Row(
        {409},
        used("GET"),
        "Most likely the session has a stream by GET already.",
        "Use the one that is open, or close it first.",
    ),
    Row(
        {413},
        always,
        "The message is too large for the server, or for something in front of it.",
        "Send less at a time.",
    ),
    Row(
        {415},
        always,
        "The body is not labelled as JSON.",
        "Send Content-Type: application/json.",
    ),
    Row(
        {408, 504},
        always,
        "The server, or something in front of it, gave up waiting.",
        "Ask for progress; let intermediaries wait longer for event streams.",
    ),
    Row(
        {429},
        always,
        "Too many requests came within a short time.",
        "Wait as long as the Retry-After header says, and send less often.",
    ),
    Row(
        {431},
        always,
        "The headers are too large for the server.",
        "Look at the Mcp-Param headers: long arguments are repeated there.",
    ),
    Row(
        {502, 503},
        always,
        "An intermediary cannot reach the server, or the server is busy or starting.",
        "Try again a little later. Requests that change something may have been carried out.",
    ),
    Row(
        range(400, 500),
        always,
        "The server, or something in front of it, refuses the request.",
        "Look at the headers of the request and of the response.",
    ),
    Row(
        ANY,
        always,
        "The server failed.",
        "Look at its log, and try again later.",
    ),
)
