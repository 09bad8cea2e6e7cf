"""What the player says under the modern protocol: the event, the rule at work, and where it stands.

The pages are below https://modelcontextprotocol.io/specification/2026-07-28/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.widgets.lines import Line

_CACHE: Final = (
    "A complete result of this method MUST carry `ttlMs` and `cacheScope`, so that the client knows how "
    "long and for whom it may keep it."
)
_LIST_ANSWER: Final = (
    "A server that declares the `{feature}` capability MUST answer. The list MAY change over time, but it "
    "MUST NOT depend on the connection."
)
_LISTENING: Final = (
    "A server sends this only to clients that asked for it with `subscriptions/listen`, and MUST name the "
    "subscription in `_meta`."
)
_INPUT: Final = (
    "An `input_required` result MUST hold `inputRequests` or `requestState`, or both. The request is "
    "over; to go on, the client sends a new one with the answers."
)

REQUESTS: Final[Mapping[str, Line]] = {
    "request": Line(
        "{Sender} sends the request {method}.",
        "A request MUST have a string or an integer as its id, and not one that another open request of "
        "the sender has. It MUST carry its protocol version and the client's capabilities in `_meta`.",
        "basic/index#requests",
    ),
    "request from server": Line(
        "{Sender} sends the request {method} to {receiver}.",
        "A server MUST NOT send requests. What it needs from the client it asks for in an "
        "`input_required` result.",
        "basic/patterns/index",
    ),
    "request without metadata": Line(
        "{Sender} sends {method} without the metadata that a request needs.",
        "Every request MUST carry `io.modelcontextprotocol/protocolVersion` and "
        "`io.modelcontextprotocol/clientCapabilities` in `_meta`. The server MUST refuse one without them "
        "with -32602.",
        "basic/index#meta",
    ),
    "request page": Line(
        "{Sender} asks for the next page of {method}, with the cursor {cursor}.",
        "A cursor is opaque: the client MUST NOT parse it, change it, or read anything from its value.",
        "server/utilities/pagination#implementation-guidelines",
    ),
    "request retry": Line(
        "{Sender} sends {method} again, as a new request, now with answers to what {receiver} "
        "asked{brought}.{state}",
        "The retry MUST have another id, and MUST give back `requestState` exactly as it came; if none "
        "came, it MUST NOT send one.",
        "basic/patterns/mrtr#client-requirements-basic-workflow",
    ),
    "request server/discover": Line(
        "{Sender} asks {receiver} which protocol versions it speaks and what it offers.",
        "A server MUST implement `server/discover`. A client MAY call it first, and may as well go "
        "straight to the request that it wants answered.",
        "basic/versioning#protocol-version-negotiation",
    ),
    "request tools/list": Line(
        "{Sender} asks {receiver} which tools it has.", _LIST_ANSWER, "server/tools#capabilities"
    ),
    "request tools/call": Line(
        "{Sender} asks {receiver} to run the tool {name}.",
        "The protocol is stateless. Everything that the server needs is in this request: it MUST NOT rely "
        "on earlier requests to know the version, the capabilities or the client.",
        "basic/index#statelessness",
    ),
    "request resources/list": Line(
        "{Sender} asks {receiver} which resources it has.", _LIST_ANSWER, "server/resources#capabilities"
    ),
    "request resources/read": Line(
        "{Sender} asks {receiver} for the content of the resource {uri}.",
        "The server MUST check every resource URI. If there is no such resource it MUST answer with the "
        "error -32602, not with an empty `contents` list.",
        "server/resources#error-handling",
    ),
    "request prompts/list": Line(
        "{Sender} asks {receiver} which prompts it has.", _LIST_ANSWER, "server/prompts#capabilities"
    ),
    "request subscriptions/listen": Line(
        "{Sender} opens a subscription: it wants to be told of {wanted}.",
        "The server MUST NOT send kinds of notifications that were not asked for.",
        "basic/patterns/subscriptions#opening-a-stream",
    ),
    "request ping": Line(
        "{Sender} sends `ping`, a method of the legacy protocol.",
        "The modern protocol has no `ping`.",
        "changelog#major-changes",
    ),
    "request logging/setLevel": Line(
        "{Sender} sends `logging/setLevel`, a method of the legacy protocol.",
        "The modern protocol has no `logging/setLevel`: each request names its log level in `_meta`.",
        "changelog#major-changes",
    ),
    "request resources/subscribe": Line(
        "{Sender} sends `resources/subscribe`, a method of the legacy protocol.",
        "In the modern protocol `subscriptions/listen` takes its place.",
        "changelog#major-changes",
    ),
    "request retry with state only": Line(
        "{Sender} sends {method} again, as a new request, now with a `requestState`.{state}",
        "The retry MUST have another id, and MUST give back `requestState` exactly as it came. Where nothing "
        "was asked, the client MAY retry at once.",
        "basic/patterns/mrtr#client-requirements-basic-workflow",
    ),
    "request resources/unsubscribe": Line(
        "{Sender} sends `resources/unsubscribe`, a method of the legacy protocol.",
        "In the modern protocol `subscriptions/listen` takes its place: who has heard enough cancels it.",
        "basic/patterns/subscriptions#cancellation",
    ),
    "passed on request": Line(
        "{Sender} passes {thing} on to {receiver}.",
        "Fields of the body stand in HTTP headers too, so that a gateway can route a request and look at it "
        "without reading the body.",
        "basic/transports/streamable-http#request-metadata",
    ),
    "passed on request among replicas": Line(
        "{Sender} passes {thing} on to {receiver}.",
        "Any replica will do: a server MUST NOT rely on earlier requests over the same connection to know "
        "the version, the capabilities or the client.",
        "basic/index#statelessness",
    ),
}

NOTIFICATIONS: Final[Mapping[str, Line]] = {
    "notification notifications/progress": Line(
        "{Sender} reports progress{on}: {progress}{text}.",
        "`progress` MUST grow with every report, and the token MUST be one that an open request brought "
        "along. Reports MUST stop when the request is done.",
        "basic/patterns/progress#progress-flow",
    ),
    "notification notifications/cancelled": Line(
        "{Sender} cancels {target}{reason}.",
        "A cancellation MUST name a request that the client made and believes to be in progress. The server "
        "SHOULD stop the work; it MAY ignore this if it does not know the request, is done with it, or "
        "cannot cancel it.",
        "basic/patterns/cancellation#behavior-requirements",
    ),
    "notification notifications/cancelled http": Line(
        "{Sender} sends `notifications/cancelled` for {target}{reason}.",
        "On Streamable HTTP the signal to cancel is to close the response stream. No such notification is "
        "required or expected there.",
        "basic/patterns/cancellation#transport-specific-cancellation",
    ),
    "notification notifications/cancelled from server": Line(
        "{Sender} ends the subscription {target}{reason}.",
        "This page says that a server MUST send this when it ends a subscription, and MUST NOT for any other "
        "purpose. The page on subscriptions says otherwise: the server SHOULD answer the request.",
        "basic/patterns/cancellation",
    ),
    "notification notifications/cancelled misused": Line(
        "{Sender} sends `notifications/cancelled` for {target}{reason}.",
        "A cancellation from the server MUST name a `subscriptions/listen` request, to end that "
        "subscription. It MUST NOT be sent for any other purpose.",
        "basic/patterns/cancellation#behavior-requirements",
    ),
    "notification notifications/message": Line(
        "{Sender} logs at level {level}: {text}.",
        "A server MUST NOT send log messages for a request that does not name a log level in `_meta`. "
        "Logging is deprecated.",
        "server/utilities/logging#per-request-log-level",
    ),
    "notification notifications/subscriptions/acknowledged": Line(
        "{Sender} confirms the subscription: it will tell of {wanted}.",
        "This MUST be the first message of the subscription. It names what the server agreed to; what it "
        "does not support is left out.",
        "basic/patterns/subscriptions#acknowledgment",
    ),
    "notification notifications/tools/list_changed": Line(
        "{Sender} says that its list of tools has changed.",
        _LISTENING + " A list that the client kept counts as stale from now on.",
        "server/utilities/caching#interaction-with-notifications",
    ),
    "notification notifications/prompts/list_changed": Line(
        "{Sender} says that its list of prompts has changed.",
        _LISTENING + " A list that the client kept counts as stale from now on.",
        "server/utilities/caching#interaction-with-notifications",
    ),
    "notification notifications/resources/list_changed": Line(
        "{Sender} says that its list of resources has changed.",
        _LISTENING + " A list that the client kept counts as stale from now on.",
        "server/utilities/caching#interaction-with-notifications",
    ),
    "notification notifications/resources/updated": Line(
        "{Sender} says that the resource {uri} has changed.",
        _LISTENING,
        "basic/patterns/subscriptions#receiving-notifications",
    ),
    "notification notifications/roots/list_changed": Line(
        "{Sender} sends `notifications/roots/list_changed`, a notification of the legacy protocol.",
        "The modern protocol does not have it.",
        "changelog#major-changes",
    ),
    "notification notifications/cancelled of nothing": Line(
        "{Sender} cancels {target}{over}{reason}.",
        "A cancellation of a request that is unknown or over SHOULD be ignored. It MUST name one that the "
        "client made and believes to be in progress.",
        "basic/patterns/cancellation#error-handling",
    ),
    "notification notifications/cancelled subscriptions/listen": Line(
        "{Sender} ends its subscription {target}{reason}.",
        "On stdio a client ends a subscription by cancelling its `subscriptions/listen` request.",
        "basic/patterns/subscriptions#cancellation",
    ),
    "passed on piece": Line(
        "{Sender} passes {thing} on to {receiver}.",
        "A server SHOULD send the header `X-Accel-Buffering: no` with a stream, so that what stands between "
        "hands each event on at once.",
        "basic/transports/streamable-http#receiving-messages",
    ),
}

RESPONSES: Final[Mapping[str, Line]] = {
    "response": Line(
        "{Sender} answers {target} with a result.",
        "A result MUST repeat the id of its request, and MUST say in `resultType` what kind of result it is.",
        "basic/index#result-responses",
    ),
    "response from client": Line(
        "{Sender} sends a response to {receiver}.",
        "A client does not send responses: a server has no requests of its own to answer.",
        "basic/patterns/index",
    ),
    "response cancelled": Line(
        "{Sender} answers {target}, which was cancelled before.",
        "The client SHOULD ignore a response that arrives after it cancelled. The two can cross on the "
        "way, and both sides MUST handle that.",
        "basic/patterns/cancellation#timing-considerations",
    ),
    "response again": Line(
        "{Sender} answers {target} once more.",
        "A request is answered by one response: a result or an error.",
        "basic/patterns/index#request-and-response",
    ),
    "response without type": Line(
        "{Sender} answers {target} with a result that has no `resultType`.",
        "A result MUST have a `resultType`. A client MUST take one without for complete, because servers "
        "of earlier versions do not send it.",
        "basic/index#resulttype",
    ),
    "response unknown type": Line(
        "{Sender} answers {target} with a result of the type {result_type}.",
        "A client MUST take a `resultType` that it does not know for invalid. Extensions MAY add types.",
        "basic/index#resulttype",
    ),
    "response input_required": Line(
        "{Sender} cannot finish {target} yet: it needs input from {receiver}{asked}.",
        _INPUT,
        "basic/patterns/mrtr#server-requirements-basic-workflow",
    ),
    "response server/discover": Line(
        "{Sender} says what it speaks: {versions}.",
        "The client should pick one of these versions for its next requests. " + _CACHE,
        "server/discover#discoverresult",
    ),
    "response server/discover legacy": Line(
        "{Sender} says what it speaks: {versions}.",
        "None of these versions is modern. A legacy version is opened with the `initialize` handshake, so "
        "that is the next step of a client that speaks one.",
        "basic/versioning#terminology",
    ),
    "response page": Line(
        "{Sender} sends one page with {count}; a `nextCursor` says that there is more.",
        "Only a missing `nextCursor` ends the list. An empty string is a valid cursor: it MUST NOT be "
        "taken for the end.",
        "server/utilities/pagination#implementation-guidelines",
    ),
    "response list": Line(
        "{Sender} answers with {count}. There is no `nextCursor`, so the list ends here.",
        _CACHE,
        "server/utilities/caching#cacheable-results",
    ),
    "response tools/call": Line(
        "{Sender} gives back what the tool {name} returned.",
        "A result MUST repeat the id of its request, and MUST say in `resultType` that it is complete.",
        "basic/index#result-responses",
    ),
    "response resources/read": Line(
        "{Sender} sends the content of the resource {uri}.", _CACHE, "server/utilities/caching"
    ),
    "response subscriptions/listen": Line(
        "{Sender} ends the subscription in good order, by answering the request that opened it.",
        "This page says that a server that ends a subscription SHOULD send this result, and then close the "
        "stream. The page on cancellation says otherwise: the server MUST send `notifications/cancelled`.",
        "basic/patterns/subscriptions#graceful-closure",
    ),
    "response input_required with state only": Line(
        "{Sender} is not done with {target} yet. It asks for nothing, but gives a `requestState`: "
        "{receiver} is to send the request again.",
        "An `input_required` result MUST hold `inputRequests` or `requestState`, or both. Without "
        "`inputRequests` the client MAY retry at once.",
        "basic/patterns/mrtr#client-requirements-basic-workflow",
    ),
    "response resources/read retry": Line(
        "{Sender} sends the content of the resource {uri}.",
        "The result of a request that carries `inputResponses` or `requestState` MUST NOT be cached: it "
        "depends on more than the request.",
        "server/utilities/caching#cache-key",
    ),
    "passed on result that may be kept": Line(
        "{Sender} passes {thing} on to {receiver}.",
        "A shared gateway MAY keep a result with the `cacheScope` “public”, and give it to any user. One "
        "that is “private” MUST NOT be shared between authorization contexts.",
        "server/utilities/caching#cache-scope-field",
    ),
    "passed on result of a retry": Line(
        "{Sender} passes {thing} on to {receiver}.",
        "The result of a request that carries `inputResponses` or `requestState` MUST NOT be cached: it "
        "depends on more than the request.",
        "server/utilities/caching#cache-key",
    ),
    "own kept private result": Line(
        "{Sender} answers {target} by itself, out of its cache: no server is asked.",
        "A result with the `cacheScope` “private” MAY be used again for the same authorization context. A "
        "cache MUST NOT be shared between authorization contexts.",
        "server/utilities/caching#cache-scope-field",
    ),
    "own kept result": Line(
        "{Sender} answers {target} by itself, out of its cache: no server is asked.",
        "A shared gateway MAY keep a result with the `cacheScope` “public”, and give it to any user while it "
        "is fresh.",
        "server/utilities/caching#cache-scope-field",
    ),
}

ERRORS: Final[Mapping[str, Line]] = {
    "error": Line(
        "{Sender} answers {target} with the error {code}: {text}.",
        "An error MUST have an integer as its code, and a message. Codes of one's own SHOULD lie outside "
        "of -32768 to -32000.",
        "basic/index#error-codes",
    ),
    "error reserved": Line(
        "{Sender} answers {target} with the error {code}: {text}.",
        "The codes from -32020 to -32099 belong to the specification: an implementation MUST NOT send one "
        "that it does not define.",
        "basic/index#error-codes",
    ),
    "error implementation": Line(
        "{Sender} answers {target} with the error {code}: {text}.",
        "A receiver MUST NOT read a meaning into the codes -32000 to -32019 (apart from -32002): "
        "implementations chose them freely.",
        "basic/index#error-codes",
    ),
    "error probe http": Line(
        "{Sender} answers `server/discover` with the error {code}: {text}.",
        "A client that speaks both eras looks at the error. If it is none of the modern protocol, the "
        "server is a legacy one, and the client goes on with `initialize`.",
        "basic/transports/streamable-http#backward-compatibility",
    ),
    "error probe": Line(
        "{Sender} answers `server/discover` with the error {code}: {text}.",
        "An error that is not one of the modern ones means a legacy server. A client that speaks both "
        "goes on with `initialize`, and MUST NOT wait for one certain code to do so.",
        "basic/transports/stdio#backward-compatibility",
    ),
    "error initialize": Line(
        "{Sender} refuses the legacy handshake: {text}.",
        "A server that speaks only modern versions SHOULD name them here: it may be all that the user of "
        "a legacy client gets to see.",
        "basic/versioning#backward-compatibility-with-initialization-based-versions",
    ),
    "error cancelled": Line(
        "{Sender} answers {target} with the error {code}, although it was cancelled before.",
        "The client SHOULD ignore a response that arrives after it cancelled.",
        "basic/patterns/cancellation#behavior-requirements",
    ),
    "error -32601": Line(
        "{Sender} does not have the method {method}: {text}.",
        "A server that does not implement a method answers -32601. On Streamable HTTP this MUST come with "
        "the status 404.",
        "basic/transports/streamable-http#protocol-version-header",
    ),
    "error -32602": Line(
        "{Sender} refuses the parameters of {target}: {text}.",
        "-32602 answers parameters that do not fit, an unknown tool or resource, an invalid cursor, and a "
        "request without the metadata that it needs.",
        "basic/index#meta",
    ),
    "error -32602 tools/call": Line(
        "{Sender} refuses the call of the tool {name}: {text}.",
        "An unknown tool and a malformed call are protocol errors. Arguments that do not fit stand in two "
        "places: the tools page lists input validation among the tool errors (`isError`), a comment in the "
        "schema lists invalid tool arguments under -32602.",
        "server/tools#error-handling",
    ),
    "error -32602 without metadata": Line(
        "{Sender} refuses {target}, which lacks metadata that a request needs: {text}.",
        "Every request MUST carry `io.modelcontextprotocol/protocolVersion` and "
        "`io.modelcontextprotocol/clientCapabilities` in `_meta`. The server MUST refuse one without them "
        "with -32602.",
        "basic/index#meta",
    ),
    "error -32602 retry": Line(
        "{Sender} refuses {target}, which brings back `requestState` or answers: {text}.",
        "Where `requestState` decides about access or about what is done, the server MUST refuse one that "
        "was changed. It SHOULD refuse one of another user or of another request, or one that is too old. "
        "Where one is good only once, the server MUST see to that. It SHOULD check the answers too.",
        "basic/patterns/mrtr#server-requirements-basic-workflow",
    ),
    "error -32602 resources/read": Line(
        "{Sender} has no resource {uri}: {text}.",
        "If a resource does not exist, the server MUST answer with -32602.",
        "server/resources#error-handling",
    ),
    "error -32602 page": Line(
        "{Sender} does not accept the cursor {cursor}: {text}.",
        "An invalid cursor SHOULD be answered with -32602. Where it was valid before, the client SHOULD "
        "forget all pages that it kept, and begin again.",
        "server/utilities/caching#interaction-with-pagination",
    ),
    "error -32603": Line(
        "{Sender} failed while it worked on {target}: {text}.",
        "-32603 says that the receiver itself failed; the request may have been right.",
        "basic/index#error-codes",
    ),
    "error -32020": Line(
        "{Sender} refuses {target}: HTTP headers are missing, malformed, or do not say the same as the body. "
        "{text}.",
        "The server MUST refuse a request whose headers are missing, malformed, or differ from its body, "
        "with -32020 and the status 400. Otherwise a gateway and the server could act on two different "
        "requests.",
        "basic/transports/streamable-http#server-validation",
    ),
    "error -32021": Line(
        "{Sender} cannot do {target} for this client: {text}.",
        "If a request needs a client capability that it does not declare, the server MUST answer -32021 "
        "and list what is missing. It MUST NOT use what was not declared.",
        "basic/index#meta",
    ),
    "error -32022": Line(
        "{Sender} does not speak the version {requested}; it speaks {versions}.",
        "The server MUST list the versions that it supports. The client SHOULD pick one of them and try "
        "again.",
        "basic/versioning#protocol-version-negotiation",
    ),
    "error -32002": Line(
        "{Sender} says with the code of earlier versions that there is no such resource: {text}.",
        "A modern server MUST NOT send -32002. A client SHOULD still understand it.",
        "basic/index#error-codes",
    ),
    "error -32042": Line(
        "{Sender} sends the error -32042: {text}.",
        "This code belongs to an earlier revision: an implementation of this one MUST NOT send it.",
        "basic/index#error-codes",
    ),
    "error origin": Line(
        "{Sender} refuses the request, which comes from the web page {origin}: {text}.",
        "A request with an `Origin` header that is not valid MUST be answered with 403. This keeps web "
        "pages from talking to local servers.",
        "basic/transports/streamable-http",
    ),
}

WIRE: Final[Mapping[str, Line]] = {
    "malformed stdio from server": Line(
        "{Sender} writes a line to its standard output that is not a message. {text}",
        "A server MUST NOT write anything to its standard output that is not an MCP message.",
        "basic/transports/stdio",
    ),
    "malformed stdio from client": Line(
        "{Sender} writes a line to the standard input of {receiver} that is not a message. {text}",
        "A client MUST NOT write anything there that is not an MCP message.",
        "basic/transports/stdio",
    ),
    "malformed encoding": Line(
        "{Sender} sends bytes that are not UTF-8. {text}",
        "JSON-RPC messages MUST be encoded in UTF-8.",
        "basic/transports/index#messages",
    ),
    "malformed http from client": Line(
        "{Sender} posts something that is not a message. {text}",
        "The body of a POST MUST be one JSON-RPC request or notification.",
        "basic/transports/streamable-http#sending-messages",
    ),
    "batch": Line(
        "{Sender} sends {count} in one JSON array.",
        "A message stands alone: one on each line of stdio, one in the body of each HTTP request.",
        "basic/transports/index",
    ),
    "batch http": Line(
        "{Sender} sends {count} in one JSON array.",
        "The body of a POST MUST be one single JSON-RPC request or notification.",
        "basic/transports/streamable-http#sending-messages",
    ),
    "batch http from server": Line(
        "{Sender} answers with {count} in one JSON array.",
        "A request MUST be answered with one single JSON object, or with an event stream.",
        "basic/transports/streamable-http#sending-messages",
    ),
    "stderr": Line(
        "{Sender} writes to its standard error: {text}.",
        "A server MAY write text there for logging. The client SHOULD NOT take it for a sign of an error.",
        "basic/transports/stdio",
    ),
    "http GET": Line(
        "{Sender} sends an HTTP GET to the MCP endpoint.",
        "The modern protocol has no GET stream: a server that speaks only it SHOULD answer 405.",
        "basic/transports/streamable-http#earlier-streamable-http-revisions",
    ),
    "http GET answered": Line(
        "{Sender} answers the HTTP GET with the status {status}.",
        "The modern protocol has no GET stream: a server that speaks only it SHOULD answer 405.",
        "basic/transports/streamable-http#earlier-streamable-http-revisions",
    ),
    "http DELETE": Line(
        "{Sender} sends an HTTP DELETE to the MCP endpoint.",
        "The modern protocol has no sessions: a server that speaks only it SHOULD answer 405.",
        "basic/transports/streamable-http#earlier-streamable-http-revisions",
    ),
    "http request": Line(
        "{Sender} sends an HTTP {http_method} without a message.",
        "The body of every POST MUST be one JSON-RPC request or notification.",
        "basic/transports/streamable-http#sending-messages",
    ),
    "http 202": Line(
        "{Sender} accepts the message with the status 202 and no body.",
        "An accepted notification MUST be answered with `202 Accepted`, and nothing more.",
        "basic/transports/streamable-http#sending-messages",
    ),
    "http 202 misplaced": Line(
        "{Sender} answers with the status 202 and no body, though what came was no notification.",
        "202 is for an accepted notification. A request MUST be answered with a JSON object or an event "
        "stream.",
        "basic/transports/streamable-http#sending-messages",
    ),
    "http not 202": Line(
        "{Sender} answers the notification with the status {status}.",
        "An accepted notification MUST be answered with `202 Accepted`, and nothing more.",
        "basic/transports/streamable-http#sending-messages",
    ),
    "http DELETE answered": Line(
        "{Sender} answers the HTTP DELETE with the status {status}.",
        "There is no session to end: a server that speaks only the modern protocol SHOULD answer 405.",
        "basic/transports/streamable-http#earlier-streamable-http-revisions",
    ),
    "http 403": Line(
        "{Sender} refuses the request with the status 403.",
        "A request with an `Origin` header that is not valid MUST be answered with 403. This keeps web "
        "pages from talking to local servers.",
        "basic/transports/streamable-http",
    ),
    "http 405": Line(
        "{Sender} answers that this HTTP method is not allowed here (405).",
        "A modern server takes only POST: GET and DELETE SHOULD be answered with 405.",
        "basic/transports/streamable-http#earlier-streamable-http-revisions",
    ),
    "http 405 to POST": Line(
        "{Sender} answers that POST is not allowed here (405).",
        "The MCP endpoint MUST support POST. A 405 to a POST says that this address is none.",
        "basic/transports/streamable-http",
    ),
    "http error": Line(
        "{Sender} answers with the status {status} and no message.",
        "A client that speaks both eras falls back to `initialize` when the answer holds no modern error.",
        "basic/transports/streamable-http#backward-compatibility",
    ),
    "http stream": Line(
        "{Sender} opens a response stream.",
        "The stream belongs to one request: it MAY carry notifications about it, and its response SHOULD "
        "end it.",
        "basic/transports/streamable-http#receiving-messages",
    ),
    "http event": Line(
        "{Sender} sends an event without a message on the stream.",
        "Streams cannot be resumed under the modern protocol, so the id of an event is of no use there.",
        "basic/transports/streamable-http#earlier-streamable-http-revisions",
    ),
    "http comment": Line(
        "{Sender} sends a comment on the stream.",
        "A line that begins with a colon is a comment that keeps the stream alive. It is no event, and the "
        "client has to ignore it.",
        "basic/transports/streamable-http#receiving-messages",
    ),
    "http response": Line(
        "{Sender} answers with the status {status} and no message.",
        "A request MUST be answered with a JSON object or an event stream.",
        "basic/transports/streamable-http#sending-messages",
    ),
    "closed stdin": Line(
        "{Sender} closes the standard input of {receiver}: the shutdown begins.",
        "This is how a client SHOULD begin the shutdown. The server SHOULD exit promptly.",
        "basic/transports/stdio#shutdown",
    ),
    "closed stdout": Line(
        "{Sender} closes its standard output.",
        "A server MAY begin the shutdown so. If it ends unexpectedly, the client SHOULD start it again; "
        "requests in flight are lost, and can simply be sent again.",
        "basic/transports/stdio#unexpected-termination",
    ),
    "closed stdout at shutdown": Line(
        "{Sender} closes its standard output and exits.",
        "A server SHOULD exit promptly when its standard input is closed. If it does not, the client can end "
        "the process.",
        "basic/transports/stdio#shutdown",
    ),
    "closed exchange by client": Line(
        "{Sender} closes {stream} of {target} before the answer has come{reason}.",
        "On Streamable HTTP this is the signal to cancel, and the server MUST take it so. It SHOULD stop "
        "the work, and MUST NOT send anything more for the request.",
        "basic/transports/streamable-http#cancellation",
    ),
    "closed exchange by server": Line(
        "{Sender} closes {stream} of {target} before the answer has come{reason}.",
        "The request is lost. A client that still wants the answer MUST send it as a new request, with a "
        "new id.",
        "changelog#major-changes",
    ),
    "closed exchange": Line(
        "{Sender} closes the response stream.",
        "The response SHOULD end the stream.",
        "basic/transports/streamable-http#receiving-messages",
    ),
    "closed exchange without stream": Line(
        "{Sender} closes the HTTP exchange.",
        "Nothing is kept with a connection: a client can go on with the next request on another one.",
        "basic/index#statelessness",
    ),
    "closed exchange timeout": Line(
        "{Sender} has waited long enough, and closes {stream} of {target}.",
        "A sender SHOULD set a timeout on every request. When it passes, it SHOULD cancel and stop "
        "waiting; on Streamable HTTP that is done by closing the response stream.",
        "basic/patterns/cancellation#timeouts",
    ),
    "closed": Line(
        "{Sender} closes {what}.",
        "Nothing is kept with a connection: a client can go on with the next request on another one.",
        "basic/index#statelessness",
    ),
    "handler cancelled": Line(
        "{Sender} stops working on {name}.",
        "A server SHOULD stop the work on a cancelled request and free what it holds.",
        "basic/patterns/cancellation#behavior-requirements",
    ),
    "lost request": Line(
        "",
        "A sender SHOULD set a timeout on every request. When it passes, it SHOULD cancel and stop waiting.",
        "basic/patterns/cancellation#timeouts",
    ),
    "own status": Line(
        "{Sender} itself answers with the HTTP status {status}: {meaning}.",
        "What stands between client and server answers with an HTTP error status where it cannot let a "
        "request through, and need not send a JSON-RPC error with it.",
        "basic/transports/streamable-http#server-validation",
    ),
    "closed stdout died": Line(
        "The process of {sender} has died, and its standard output is closed.",
        "If the server ends unexpectedly, the client SHOULD start it again. Requests in flight are lost, and "
        "can simply be sent again.",
        "basic/transports/stdio#unexpected-termination",
    ),
    "closed exchange cut": Line(
        "The connection of {target} breaks before the answer has come.",
        "A stream cannot be taken up again. A client that still wants the answer MUST send the request anew, "
        "with a new id.",
        "changelog#major-changes",
    ),
    "closed exchange cut subscriptions/listen": Line(
        "The connection of the subscription {target} breaks.",
        "No result has come, so this is no graceful end: the client MAY take it as a reason to connect "
        "again.",
        "basic/patterns/subscriptions#graceful-closure",
    ),
    "closed exchange cut standing": Line(
        "The connection of the stream that a GET opened breaks.",
        "The modern protocol has no GET stream.",
        "basic/transports/streamable-http#earlier-streamable-http-revisions",
    ),
    "closed exchange standing": Line(
        "{Sender} closes the stream that a GET opened.",
        "The modern protocol has no GET stream.",
        "basic/transports/streamable-http#earlier-streamable-http-revisions",
    ),
    "closed exchange cancelled": Line(
        "{Sender} closes {stream} of {target}, which it has cancelled.",
        "On Streamable HTTP closing the response stream is the signal to cancel, and the server MUST take it "
        "so.",
        "basic/transports/streamable-http#cancellation",
    ),
    "closed exchange by client subscriptions/listen": Line(
        "{Sender} ends its subscription {target} by closing the stream.",
        "On Streamable HTTP closing the stream cancels its request. The server MUST take it so, and MUST NOT "
        "send anything more for it.",
        "basic/transports/streamable-http#cancellation",
    ),
    "closed exchange by server subscriptions/listen": Line(
        "{Sender} closes the stream of the subscription {target} without a result.",
        "A server that ends a subscription SHOULD send its result first. Without it the client MAY take this "
        "as a reason to connect again.",
        "basic/patterns/subscriptions#graceful-closure",
    ),
    "lost at closing": Line(
        "",
        "A cancellation and what it cancels can cross on the way: both sides MUST handle that.",
        "basic/patterns/cancellation#timing-considerations",
    ),
    "lost with its stream": Line(
        "",
        "A stream cannot be taken up again with `Last-Event-ID`: what was lost with it does not come again.",
        "basic/transports/streamable-http#receiving-messages",
    ),
    "lost resumable": Line(
        "",
        "A stream cannot be taken up again with `Last-Event-ID`, so the id of its event is of no use.",
        "basic/transports/streamable-http#receiving-messages",
    ),
}

LINES: Final[Mapping[str, Line]] = {**REQUESTS, **NOTIFICATIONS, **RESPONSES, **ERRORS, **WIRE}
