"""What errors mean that have to do with reading, versions, handshakes, sessions and access."""

from __future__ import annotations

from typing import Final

from mcpsim.audit.circumstances import (
    SESSION_HEADER,
    always,
    asks,
    before_handshake,
    both,
    declares_modern,
    either,
    has_status,
    is_legacy,
    is_modern,
    lacks_meta,
    lists_both_eras,
    lists_legacy_only,
    lists_modern_only,
    lists_versions,
    lists_what_it_refuses,
    member_of_data,
    names_legacy_version,
    says,
    sends,
    while_initializing,
)
from mcpsim.audit.diagnosis_row import (
    ANY,
    FALL_BACK,
    REFUSALS,
    SERVER_DEFINED,
    Row,
    is_missing,
)
from mcpsim.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    URL_ELICITATION_REQUIRED,
)

#: What some servers answer for a session that is not there.
NO_SESSION: Final = -32001

VERSION_WORDS: Final = ("protocol version", "protocolversion", "unsupported version", "version mismatch")
DECLARE: Final = (
    "Put io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities into "
    "params._meta of every request."
)
SHAKE_HANDS: Final = "Send initialize, wait for its result, send notifications/initialized, and ask again."

_not_ready: Final = says("initializ", "initialis", "handshake", "not ready")
_asks_for_meta: Final = says("_meta", "clientcapabilities")

OF_ERAS: Final[tuple[Row, ...]] = (
    # What could not be read.
    Row(
        {PARSE_ERROR},
        lambda item: not item.is_http,
        "The {party} read a line on which there was no JSON that it accepts.",
        "Look at what the {other} wrote just before: only messages belong there, each on one line, in UTF-8.",
    ),
    Row(
        {PARSE_ERROR},
        always,
        "The {party} could not read the body as JSON.",
        "Look at the bytes that were sent: one message, UTF-8 without a byte order mark, nothing cut off.",
    ),
    # Versions and eras.
    Row(
        ANY,
        both(asks("initialize"), lists_modern_only),
        "The server has no initialize: it speaks {supported} and no legacy revision.",
        "A client that speaks that too declares version and capabilities in the _meta of every request. Any "
        "other client tells its user that this server is too new.",
    ),
    Row(
        ANY,
        both(asks("initialize"), lists_both_eras),
        "The server does not speak the proposed version {version}. It lists {supported}.",
        "Send initialize again with a legacy version of that list: the modern ones have no handshake.",
    ),
    Row(
        {UNSUPPORTED_VERSION},
        lists_what_it_refuses,
        "The server refuses {version} and lists it among the versions that it supports: {supported}.",
        "Try another version of the list. The server contradicts itself.",
    ),
    Row(
        {UNSUPPORTED_VERSION},
        both(names_legacy_version, lists_versions),
        "The request declares {version} in its _meta. That revision is spoken after a handshake only.",
        "Send initialize to speak {version}, or declare a modern version of the list {supported}.",
    ),
    Row(
        {UNSUPPORTED_VERSION},
        lists_legacy_only,
        "The server does not support {version}; all that it lists begins with a handshake: {supported}.",
        "Send initialize and propose the latest of these that the client supports.",
    ),
    Row(
        {UNSUPPORTED_VERSION},
        lists_versions,
        "The server does not support {version}. It supports {supported}.",
        "Send the request again with a version of that list. The server is modern: do not fall back to "
        "initialize.",
    ),
    Row(
        {UNSUPPORTED_VERSION},
        always,
        "The server does not support {version}, and does not say what it supports.",
        "Send server/discover with another version. The server should list its versions in data.supported.",
    ),
    Row(
        ANY,
        both(asks("initialize"), lists_versions),
        "The server does not speak the proposed version {version}. It lists {supported}.",
        "Send initialize again with a version of that list. Most servers offer another version in the result "
        "instead of an error.",
    ),
    Row(
        {METHOD_NOT_FOUND, HEADER_MISMATCH},
        asks("initialize"),
        "The server has no initialize: it speaks modern revisions only, which have no handshake.",
        "Declare version and capabilities in the _meta of every request instead; server/discover says "
        "what there "
        "is.",
    ),
    Row(
        {INVALID_REQUEST, INVALID_PARAMS},
        both(asks("initialize"), _asks_for_meta),
        "The server misses the metadata of a modern request: it speaks modern revisions only, without a "
        "handshake.",
        "Declare version and capabilities in the _meta of every request instead; server/discover says "
        "what there "
        "is.",
    ),
    Row(
        {INVALID_REQUEST, INVALID_PARAMS, *SERVER_DEFINED},
        both(asks("initialize"), says("already")),
        "This connection is initialized already; a session has one handshake.",
        "Go on with the session that there is, or open a new connection (over HTTP: without a session id).",
    ),
    Row(
        {INVALID_REQUEST, INVALID_PARAMS, *SERVER_DEFINED},
        both(asks("initialize"), says(*VERSION_WORDS)),
        "The server does not speak the proposed version {version}, and does not say which it speaks.",
        "Propose an earlier version.",
    ),
    Row(
        {INVALID_PARAMS},
        asks("initialize"),
        "The parameters of initialize are not complete, or of the wrong types.",
        "Send protocolVersion (a string), capabilities (an object) and clientInfo (with name and version).",
    ),
    Row(
        REFUSALS,
        both(asks("server/discover"), declares_modern),
        "Most likely this is a legacy server, which does not know server/discover; such servers refuse "
        "it with "
        "many codes.",
        FALL_BACK,
    ),
    # What only one era has.
    Row(
        {HEADER_MISMATCH},
        lambda item: item.is_http,
        "A header is missing, is not well-formed, or says something else than the body.",
        "Send MCP-Protocol-Version and Mcp-Method as the body has them, Mcp-Name for tools/call, "
        "resources/read "
        "and prompts/get, and the Mcp-Param headers that the tool asks for. An intermediary may have "
        "changed one.",
    ),
    Row(
        {HEADER_MISMATCH},
        always,
        "The error is about HTTP headers, and this transport has none.",
        "Ask whoever answers for the server: the code does not belong here.",
    ),
    Row(
        {MISSING_CLIENT_CAPABILITY},
        lambda item: member_of_data(item, "requiredCapabilities") is not None,
        "The server needs client capabilities that this request does not declare: {required}.",
        "Declare them in the _meta of the request if the client can serve them; otherwise tell the user "
        "what is "
        "missing. What another request declared does not count.",
    ),
    Row(
        {MISSING_CLIENT_CAPABILITY},
        always,
        "The server needs a client capability that this request does not declare, and does not say which.",
        "Declare in the _meta of the request all that the client can serve: elicitation, sampling, roots.",
    ),
    Row(
        {URL_ELICITATION_REQUIRED},
        is_modern,
        "The user has to visit a URL first. The code is of 2025-11-25; a modern server asks by an "
        "input_required "
        "result.",
        "Show the URLs in data.elicitations, if there are any. The server should use input_required.",
    ),
    Row(
        {URL_ELICITATION_REQUIRED},
        lambda item: isinstance(member_of_data(item, "elicitations"), list),
        "Before this request can be carried out, the user has to visit a URL (URL mode elicitation).",
        "Show the URLs in data.elicitations and ask for consent. Send the request again when the user is "
        "done, or "
        "after notifications/elicitation/complete.",
    ),
    Row(
        {URL_ELICITATION_REQUIRED},
        always,
        "The user has to visit a URL before this request can be carried out, and the error does not say "
        "which.",
        "The server should list the URLs in data.elicitations.",
    ),
    # Sessions and handshakes.
    Row(
        ANY,
        both(has_status(404), sends(SESSION_HEADER)),
        "The server does not know the session any more: it ended, or the server was restarted.",
        "Send initialize without a session id, and begin anew.",
    ),
    Row(
        {NO_SESSION, INVALID_REQUEST, -32000},
        both(says("session"), lambda item: item.is_http, lambda item: not sends(SESSION_HEADER)(item)),
        "The server wants a session id, and the request has none.",
        "Send the Mcp-Session-Id that came with the result of initialize; without one, initialize first. "
        "A modern "
        "client that gets this from its first request has met a legacy server.",
    ),
    Row(
        {NO_SESSION, INVALID_REQUEST, -32000},
        both(says("session"), sends(SESSION_HEADER)),
        "The server does not accept the session id of the request.",
        "Send initialize without a session id, and begin anew.",
    ),
    Row(
        REFUSALS,
        both(
            asks("ping"), is_legacy, lambda item: item.code != METHOD_NOT_FOUND or not before_handshake(item)
        ),
        "The {party} refuses a ping. In a session it must answer one in every phase, with an empty result.",
        "Do not take the connection for dead: an error is an answer as well. The {party} should be mended.",
    ),
    Row(
        {METHOD_NOT_FOUND, INVALID_REQUEST, INVALID_PARAMS},
        either(lacks_meta, both(_asks_for_meta, lambda item: not declares_modern(item))),
        "The request lacks what every modern request carries in its _meta: the version and the client's "
        "capabilities.",
        DECLARE,
    ),
    Row(
        REFUSALS,
        before_handshake,
        "Most likely the request came too early: there was no handshake before it.",
        SHAKE_HANDS,
    ),
    Row(
        REFUSALS,
        either(both(while_initializing, lambda item: not is_missing(item)), both(is_legacy, _not_ready)),
        "The request came before the handshake was done.",
        "Wait for the result of initialize, send notifications/initialized, and ask again.",
    ),
    Row(
        {INVALID_REQUEST, METHOD_NOT_FOUND, *SERVER_DEFINED},
        both(is_modern, declares_modern, _not_ready),
        "The server wants a handshake: it is a legacy server.",
        FALL_BACK,
    ),
    # Access.
    Row(
        ANY,
        has_status(401),
        "The server does not know who is asking: a token is missing, or not valid any more.",
        "Follow the WWW-Authenticate header of the response to get a token, and send it as Authorization.",
    ),
    Row(
        ANY,
        has_status(403),
        "Whoever is asking may not do this, or the request came from a page that the server does not accept.",
        "Look at the scopes in WWW-Authenticate, and at the Origin header.",
    ),
)
