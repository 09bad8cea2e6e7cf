"""What the player says under the legacy protocol: the event, the rule at work, and where it stands.

The pages are below https://modelcontextprotocol.io/specification/2025-11-25/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.eras.revisions import BATCHING_REVISIONS
from mcpsim.widgets.lines import Line

# Only one revision had batches. Should another get them, this line has to decide whose page to show.
(_BATCHING,) = BATCHING_REVISIONS

_NEGOTIATED: Final = "Both sides MUST use only capabilities that were agreed on in the handshake."
_LIST_ANSWER: Final = "A server that has them MUST have declared the `{feature}` capability in the handshake."
_CHANGED: Final = (
    "A server that declared `listChanged` SHOULD send this when the list changes. The client may ask again."
)

REQUESTS: Final[Mapping[str, Line]] = {
    "request": Line(
        "{Sender} sends the request {method}.",
        "A request MUST have a string or an integer as its id, and one that its sender has not used "
        "before in this session.",
        "basic/index#requests",
    ),
    "request initialize": Line(
        "{Sender} opens the handshake. It offers the version {versions} and says what it can do.",
        "The handshake MUST be the first thing that happens. The client MUST offer a version that it "
        "supports; that SHOULD be the latest one.",
        "basic/lifecycle#initialization",
    ),
    "request ping": Line(
        "{Sender} asks whether {receiver} is still there.",
        "The receiver MUST answer promptly, with an empty result.",
        "basic/utilities/ping#behavior-requirements",
    ),
    "request page": Line(
        "{Sender} asks for the next page of {method}, with the cursor {cursor}.",
        "A cursor is opaque: the client MUST NOT parse it, change it, or keep it beyond the session.",
        "server/utilities/pagination#implementation-guidelines",
    ),
    "request tools/list": Line(
        "{Sender} asks {receiver} which tools it has.", _LIST_ANSWER, "server/tools#capabilities"
    ),
    "request tools/call": Line(
        "{Sender} asks {receiver} to run the tool {name}.",
        "The request says nothing about version or capabilities: those were agreed on in the handshake, "
        "and both sides MUST keep to them.",
        "basic/lifecycle#operation",
    ),
    "request resources/list": Line(
        "{Sender} asks {receiver} which resources it has.", _LIST_ANSWER, "server/resources#capabilities"
    ),
    "request resources/read": Line(
        "{Sender} asks {receiver} for the content of the resource {uri}.",
        "The server MUST check every resource URI.",
        "server/resources#security-considerations",
    ),
    "request resources/subscribe": Line(
        "{Sender} asks to be told when the resource {uri} changes.",
        _NEGOTIATED + " Here that is `resources.subscribe`.",
        "basic/lifecycle#operation",
    ),
    "request resources/unsubscribe": Line(
        "{Sender} no longer wants to be told when the resource {uri} changes.",
        _NEGOTIATED,
        "basic/lifecycle#operation",
    ),
    "request prompts/list": Line(
        "{Sender} asks {receiver} which prompts it has.", _LIST_ANSWER, "server/prompts#capabilities"
    ),
    "request logging/setLevel": Line(
        "{Sender} wants log messages from the level {level} on.",
        "A client MAY set the lowest level of the log messages that it wants. The server remembers it.",
        "server/utilities/logging#setting-log-level",
    ),
    "request sampling/createMessage": Line(
        "{Sender} asks {receiver} to let its language model answer.",
        "There SHOULD always be a human who can refuse. Both sides MUST use only what the handshake "
        "agreed on: here the client's `sampling` capability.",
        "client/sampling#user-interaction-model",
    ),
    "request elicitation/create": Line(
        "{Sender} asks {receiver} to put a question to the user: {text}.",
        "A server MUST NOT ask in a mode that the client did not declare, and MUST NOT ask for passwords "
        "or other secrets in a form.",
        "client/elicitation#user-interaction-model",
    ),
    "request roots/list": Line(
        "{Sender} asks {receiver} which directories it may work in.",
        "Only a client that declared the `roots` capability is asked; one without it SHOULD answer -32601.",
        "client/roots#error-handling",
    ),
    "request server/discover": Line(
        "{Sender} sends `server/discover`, a method of the modern protocol.",
        "A legacy server does not know it, and answers with an error or not at all.",
        "basic/index#requests",
    ),
    "request elicitation/create url": Line(
        "{Sender} asks {receiver} to send the user to the page {page_url}: {text}.",
        "The client MUST show the whole URL and MUST NOT open it without the user's consent. Secrets go "
        "straight to that page, and not through the client.",
        "client/elicitation#safe-url-handling",
    ),
    "passed on request": Line(
        "{Sender} passes {thing} on to {receiver}.",
        "After the handshake a client with a session id MUST send it with each HTTP request. Whatever stands "
        "between has to bring the request to a server that knows this session.",
        "basic/transports#session-management",
    ),
    "passed on initialize": Line(
        "{Sender} passes {thing} on to {receiver}.",
        "The session begins at the server that answers: it MAY hand out a session id with the answer.",
        "basic/transports#session-management",
    ),
}

NOTIFICATIONS: Final[Mapping[str, Line]] = {
    "notification notifications/initialized": Line(
        "{Sender} says that it is ready: the handshake is complete.",
        "After a successful `initialize` the client MUST send this. Before it, the server SHOULD NOT send "
        "requests other than pings and log messages.",
        "basic/lifecycle#initialization",
    ),
    "notification notifications/progress": Line(
        "{Sender} reports progress{on}: {progress}{text}.",
        "`progress` MUST grow with every report, and the token MUST be one that an open request brought "
        "along. Reports MUST stop when the request is done.",
        "basic/utilities/progress#progress-flow",
    ),
    "notification notifications/cancelled": Line(
        "{Sender} cancels {target}{reason}.",
        "A cancellation MUST name a request that its sender made and believes to be in progress. The "
        "receiver SHOULD stop the work and SHOULD NOT answer; it MAY ignore this if it does not know the "
        "request, is done with it, or cannot cancel it.",
        "basic/utilities/cancellation#behavior-requirements",
    ),
    "notification notifications/cancelled initialize": Line(
        "{Sender} cancels {target}{over}{reason}.",
        "A client MUST NOT cancel `initialize`.",
        "basic/utilities/cancellation#behavior-requirements",
    ),
    "notification notifications/message": Line(
        "{Sender} logs at level {level}: {text}.",
        "The client controls how much is logged with `logging/setLevel`. Log messages MUST NOT hold secrets.",
        "server/utilities/logging",
    ),
    "notification notifications/tools/list_changed": Line(
        "{Sender} says that its list of tools has changed.",
        _CHANGED,
        "server/tools#list-changed-notification",
    ),
    "notification notifications/prompts/list_changed": Line(
        "{Sender} says that its list of prompts has changed.",
        _CHANGED,
        "server/prompts#list-changed-notification",
    ),
    "notification notifications/resources/list_changed": Line(
        "{Sender} says that its list of resources has changed.",
        _CHANGED,
        "server/resources#list-changed-notification",
    ),
    "notification notifications/resources/updated": Line(
        "{Sender} says that the resource {uri} has changed.",
        "The client asked for this earlier with `resources/subscribe`: the server has to remember it for "
        "the whole session.",
        "server/resources#subscriptions",
    ),
    "notification notifications/roots/list_changed": Line(
        "{Sender} says that its directories have changed.",
        "A client that declared `roots.listChanged` MUST send this when its roots change.",
        "client/roots#root-list-changes",
    ),
    "notification notifications/elicitation/complete": Line(
        "{Sender} says that the user is done at the URL.",
        "A server MAY send this; it MUST send it only to the client that was asked, with the "
        "`elicitationId` from before.",
        "client/elicitation#completion-notifications-for-url-mode-elicitation",
    ),
    "notification notifications/cancelled of nothing": Line(
        "{Sender} cancels {target}{over}{reason}.",
        "A cancellation of a request that is unknown or over SHOULD be ignored. It MUST name one that its "
        "sender made and believes to be in progress.",
        "basic/utilities/cancellation#error-handling",
    ),
    "notification notifications/message unasked": Line(
        "{Sender} logs at level {level}: {text}.",
        "The client has set no level so far: then the server MAY decide by itself what to send.",
        "schema#loggingmessagenotification",
    ),
}

RESPONSES: Final[Mapping[str, Line]] = {
    "response": Line(
        "{Sender} answers {target} with a result.",
        "A result MUST repeat the id of its request.",
        "basic/index#result-responses",
    ),
    "response cancelled": Line(
        "{Sender} answers {target}, which was cancelled before.",
        "The sender of the cancellation SHOULD ignore a response that arrives afterwards. The two can "
        "cross on the way, and both sides MUST handle that.",
        "basic/utilities/cancellation#timing-considerations",
    ),
    "response again": Line(
        "{Sender} answers {target} once more.",
        "A response belongs to one request, and holds either its result or its error.",
        "basic/index#responses",
    ),
    "response initialize": Line(
        "{Sender} agrees to the version {versions} and says what it can do.",
        "If the server supports the offered version, it MUST answer with the same one.",
        "basic/lifecycle#version-negotiation",
    ),
    "response initialize counter": Line(
        "{Sender} was offered {requested} and answers with {versions} instead.",
        "If the server does not support the offered version, it MUST answer with one that it supports. A "
        "client that does not support that one SHOULD disconnect.",
        "basic/lifecycle#version-negotiation",
    ),
    "response ping": Line(
        "{Sender} answers the ping: it is still there.",
        "The answer to a ping MUST be an empty result.",
        "basic/utilities/ping#behavior-requirements",
    ),
    "response ping with members": Line(
        "{Sender} answers the ping with a result that is not empty.",
        "The answer to a ping MUST be an empty result.",
        "basic/utilities/ping#behavior-requirements",
    ),
    "response page": Line(
        "{Sender} sends one page with {count}; a `nextCursor` says that there is more.",
        "A client SHOULD take a missing `nextCursor` for the end of the list.",
        "server/utilities/pagination#implementation-guidelines",
    ),
    "response list": Line(
        "{Sender} answers with {count}. There is no `nextCursor`, so the list ends here.",
        "A client SHOULD take a missing `nextCursor` for the end of the list.",
        "server/utilities/pagination#implementation-guidelines",
    ),
    "response tools/call": Line(
        "{Sender} gives back what the tool {name} returned.",
        "A result MUST repeat the id of its request.",
        "basic/index#result-responses",
    ),
    "response resources/read": Line(
        "{Sender} sends the content of the resource {uri}.",
        "Binary data MUST be encoded properly: it stands in `blob`, as Base64.",
        "server/resources#resource-contents",
    ),
    "response resources/subscribe": Line(
        "{Sender} confirms: it will tell when the resource {uri} changes.",
        _NEGOTIATED,
        "basic/lifecycle#operation",
    ),
    "response sampling/createMessage": Line(
        "{Sender} sends back what its language model said.",
        "The user SHOULD have been able to look at the answer before it is delivered.",
        "client/sampling#user-interaction-model",
    ),
    "response elicitation/create": Line(
        "{Sender} sends back what the user did: {action}.",
        "There are three answers: accept, decline and cancel. The data of an accepted form stand in "
        "`content`. After decline and cancel that is typically left out.",
        "client/elicitation#response-actions",
    ),
    "response roots/list": Line(
        "{Sender} says which directories it offers.",
        "The URI of a root MUST begin with `file://`.",
        "client/roots#root",
    ),
    "response logging/setLevel": Line(
        "{Sender} confirms: it will send log messages from the level {level} on.",
        "The answer is an empty result. The level holds for what the server sends from now on.",
        "server/utilities/logging#setting-log-level",
    ),
    "response resources/unsubscribe": Line(
        "{Sender} confirms: it will no longer tell of the resource {uri}.",
        "The answer is an empty result.",
        "schema#emptyresult",
    ),
}

ERRORS: Final[Mapping[str, Line]] = {
    "error": Line(
        "{Sender} answers {target} with the error {code}: {text}.",
        "An error MUST have an integer as its code, and a message.",
        "basic/index#error-responses",
    ),
    "error initialize": Line(
        "{Sender} answers the handshake with the error {code}: {text}.",
        "A server that does not support the offered version MUST answer with one that it supports. The "
        "same page also shows an error as an example.",
        "basic/lifecycle#version-negotiation",
    ),
    "error cancelled": Line(
        "{Sender} answers {target} with the error {code}, although it was cancelled before.",
        "The sender of the cancellation SHOULD ignore a response that arrives afterwards.",
        "basic/utilities/cancellation#behavior-requirements",
    ),
    "error -32601": Line(
        "{Sender} does not have the method {method}: {text}.",
        "-32601 also answers a method whose capability was not declared in the handshake.",
        "basic/index#error-responses",
    ),
    "error -32602": Line(
        "{Sender} refuses the parameters of {target}: {text}.",
        "-32602 answers parameters that do not fit, an unknown tool or prompt, and an invalid cursor.",
        "server/tools#error-handling",
    ),
    "error -32602 tools/call": Line(
        "{Sender} refuses the call of the tool {name}: {text}.",
        "An unknown tool and a malformed call are protocol errors. This page lists input validation among "
        "the tool errors (`isError`); earlier revisions list invalid arguments among the protocol errors.",
        "server/tools#error-handling",
    ),
    "error -32602 resources/read": Line(
        "{Sender} refuses to read the resource {uri}: {text}.",
        "A resource that is not found SHOULD be answered with -32002.",
        "server/resources#error-handling",
    ),
    "error ping": Line(
        "{Sender} answers the ping with the error {code}: {text}.",
        "The receiver of a ping MUST answer promptly, with an empty response.",
        "basic/utilities/ping#behavior-requirements",
    ),
    "error -32602 page": Line(
        "{Sender} does not accept the cursor {cursor}: {text}.",
        "An invalid cursor SHOULD be answered with -32602.",
        "server/utilities/pagination#error-handling",
    ),
    "error -32603": Line(
        "{Sender} failed while it worked on {target}: {text}.",
        "-32603 says that the receiver itself failed; the request may have been right.",
        "basic/index#error-responses",
    ),
    "error -32002": Line(
        "{Sender} has no resource {uri}: {text}.",
        "A resource that does not exist SHOULD be answered with -32002.",
        "server/resources#error-handling",
    ),
    "error -32042": Line(
        "{Sender} needs the user to visit a URL before it can go on: {text}.",
        "The error MUST list what has to be done first. The client can then send the request again.",
        "client/elicitation#url-elicitation-required-error",
    ),
    "error origin": Line(
        "{Sender} refuses the request, which comes from the web page {origin}: {text}.",
        "A request with an `Origin` header that is not valid MUST be answered with 403. This keeps web "
        "pages from talking to local servers.",
        "basic/transports#security-warning",
    ),
    "error session": Line(
        "{Sender} answers 404: it does not know the session of this request. {text}.",
        "A request of an ended session MUST be answered with 404. The client MUST then begin a new session "
        "with `initialize`.",
        "basic/transports#session-management",
    ),
}

WIRE: Final[Mapping[str, Line]] = {
    "malformed stdio from server": Line(
        "{Sender} writes a line to its standard output that is not a message. {text}",
        "A server MUST NOT write anything to its standard output that is not an MCP message.",
        "basic/transports#stdio",
    ),
    "malformed stdio from client": Line(
        "{Sender} writes a line to the standard input of {receiver} that is not a message. {text}",
        "A client MUST NOT write anything there that is not an MCP message.",
        "basic/transports#stdio",
    ),
    "malformed encoding": Line(
        "{Sender} sends bytes that are not UTF-8. {text}",
        "JSON-RPC messages MUST be encoded in UTF-8.",
        "basic/transports",
    ),
    "malformed http from client": Line(
        "{Sender} posts something that is not a message. {text}",
        "The body of a POST MUST be one JSON-RPC request, notification or response.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "batch": Line(
        "{Sender} sends {count} in one JSON array.",
        "A message stands alone: one on each line of stdio, one in the body of each HTTP request.",
        "basic/transports#stdio",
    ),
    "batch http": Line(
        "{Sender} sends {count} in one JSON array.",
        "The body of a POST MUST be one single JSON-RPC request, notification or response.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "batch http from server": Line(
        "{Sender} answers with {count} in one JSON array.",
        "A request MUST be answered with one JSON object, or with an event stream.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "batch agreed": Line(
        "{Sender} sends {count} in one JSON array, as a batch.",
        "The version that this handshake agreed on has batches: a receiver MUST take them, and a sender MAY "
        "send them.",
        "basic/index#batching",
        _BATCHING,
    ),
    "stderr": Line(
        "{Sender} writes to its standard error: {text}.",
        "A server MAY write text there for logging. The client SHOULD NOT take it for a sign of an error.",
        "basic/transports#stdio",
    ),
    "http GET": Line(
        "{Sender} opens a stream with HTTP GET, to hear from {receiver} without having asked anything.",
        "A client MAY do this. The server MUST answer with an event stream, or with 405 if it offers none.",
        "basic/transports#listening-for-messages-from-the-server",
    ),
    "http GET answered": Line(
        "{Sender} answers the HTTP GET with the status {status} and no event stream.",
        "The server MUST answer a GET with an event stream, or with 405 if it offers none.",
        "basic/transports#listening-for-messages-from-the-server",
    ),
    "http GET stream": Line(
        "{Sender} opens an event stream, as the GET asked.",
        "The server MAY send requests and notifications on it. It MUST NOT send responses there, unless it "
        "takes up the broken stream of an earlier request.",
        "basic/transports#listening-for-messages-from-the-server",
    ),
    "http GET stream resumed": Line(
        "{Sender} takes the broken stream up again, after the event {last_event}.",
        "The server MAY send what came after that event on the stream that broke, and go on with it. It MUST "
        "NOT send what belongs to another stream.",
        "basic/transports#resumability-and-redelivery",
    ),
    "http GET resume": Line(
        "{Sender} takes a broken stream up again, after the event {event}.",
        "To resume, a client SHOULD send a GET with the id of the last event that it got. The server MAY "
        "then send what was missed on that stream.",
        "basic/transports#resumability-and-redelivery",
    ),
    "http DELETE": Line(
        "{Sender} ends its session with HTTP DELETE.",
        "A client that no longer needs its session SHOULD do this. The server MAY answer 405 if clients "
        "cannot end sessions.",
        "basic/transports#session-management",
    ),
    "http request": Line(
        "{Sender} sends an HTTP {http_method} without a message.",
        "The body of every POST MUST be one JSON-RPC request, notification or response.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "http 202": Line(
        "{Sender} accepts the message with the status 202 and no body.",
        "An accepted notification or response MUST be answered with `202 Accepted`, and nothing more.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "http 202 misplaced": Line(
        "{Sender} answers with the status 202 and no body, though what came was no notification or response.",
        "202 is for an accepted notification or response. A request MUST be answered with a JSON object or "
        "an event stream.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "http not 202": Line(
        "{Sender} answers the notification with the status {status}.",
        "An accepted notification MUST be answered with `202 Accepted`, and nothing more.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "http DELETE answered": Line(
        "{Sender} ends the session, as {receiver} asked.",
        "From now on a request with the id of this session MUST be answered with 404.",
        "basic/transports#session-management",
    ),
    "http 403": Line(
        "{Sender} refuses the request with the status 403.",
        "A request with an `Origin` header that is not valid MUST be answered with 403. This keeps web "
        "pages from talking to local servers.",
        "basic/transports#security-warning",
    ),
    "http 404": Line(
        "{Sender} answers 404: it does not know this session (any more).",
        "A request of an ended session MUST be answered with 404. The client MUST then begin a new "
        "session with `initialize`.",
        "basic/transports#session-management",
    ),
    "http 404 without session": Line(
        "{Sender} answers HTTP 404: the endpoint or the method was not found.",
        "A client that also speaks the older HTTP+SSE transport tries that one when its POST of `initialize` "
        "fails with 400, 404 or 405.",
        "basic/transports#backwards-compatibility",
    ),
    "http 405": Line(
        "{Sender} answers that this HTTP method is not allowed here (405).",
        "A server that offers no stream of its own MUST answer a GET with 405. It MAY answer a DELETE so.",
        "basic/transports#listening-for-messages-from-the-server",
    ),
    "http 405 to POST": Line(
        "{Sender} answers that POST is not allowed here (405).",
        "The MCP endpoint MUST support POST. A 405 to the POST of `initialize` can mean a server with the "
        "older HTTP+SSE transport.",
        "basic/transports#backwards-compatibility",
    ),
    "http error": Line(
        "{Sender} answers with the status {status} and no message.",
        "A server that cannot accept a message MUST answer with an HTTP error status.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "http stream": Line(
        "{Sender} opens an event stream.",
        "The server SHOULD begin a stream with an empty event that has an id, so that the client can take "
        "the stream up again.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "http event": Line(
        "{Sender} sends an event without a message on the stream.",
        "An empty event with an id tells the client from where it can take the stream up again.",
        "basic/transports#resumability-and-redelivery",
    ),
    "http comment": Line(
        "{Sender} sends a comment on the stream.",
        "A line that begins with a colon is a comment. It is no event and carries no message; it keeps the "
        "stream alive.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "http response": Line(
        "{Sender} answers with the status {status} and no message.",
        "A request MUST be answered with a JSON object or an event stream.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "closed stdin": Line(
        "{Sender} closes the standard input of {receiver}: the shutdown begins.",
        "This is how a client SHOULD begin the shutdown; there is no message for it.",
        "basic/lifecycle#shutdown",
    ),
    "closed stdout": Line(
        "{Sender} closes its standard output.",
        "A server MAY begin the shutdown so. What the handshake agreed on is gone with the connection.",
        "basic/lifecycle#shutdown",
    ),
    "closed stdout at shutdown": Line(
        "{Sender} closes its standard output and exits.",
        "After closing the standard input the client SHOULD wait for the server to exit, and SHOULD send "
        "SIGTERM if it does not within a reasonable time.",
        "basic/lifecycle#shutdown",
    ),
    "closed exchange by client": Line(
        "{Sender} closes {stream} of {target} before the answer has come{reason}.",
        "A lost connection SHOULD NOT be taken for a cancellation. To cancel, the client SHOULD send "
        "`notifications/cancelled`.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "closed exchange by server": Line(
        "{Sender} closes {stream} of {target} before the answer has come{reason}.",
        "The server MAY close the connection once it has sent an event with an id; the client SHOULD then "
        "connect again.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "closed exchange": Line(
        "{Sender} closes the response stream.",
        "After the response the server SHOULD end the stream.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "closed exchange without stream": Line(
        "{Sender} closes the HTTP exchange.",
        "A session outlives the exchanges in it: a client SHOULD end it with HTTP DELETE, a server MAY end "
        "it at any time.",
        "basic/transports#session-management",
    ),
    "closed exchange timeout": Line(
        "{Sender} has waited long enough for {target}, and closes {stream}.",
        "A sender SHOULD set a timeout on every request. When it passes, it SHOULD send "
        "`notifications/cancelled` and stop waiting.",
        "basic/lifecycle#timeouts",
    ),
    "closed": Line(
        "{Sender} closes {what}.",
        "The session ends with its connection.",
        "basic/lifecycle#shutdown",
    ),
    "handler cancelled": Line(
        "{Sender} stops working on {name}.",
        "The receiver of a cancellation SHOULD stop the work and free what it holds.",
        "basic/utilities/cancellation#behavior-requirements",
    ),
    "lost request": Line(
        "",
        "A sender SHOULD set a timeout on every request. When it passes, it SHOULD send "
        "`notifications/cancelled` and stop waiting.",
        "basic/lifecycle#timeouts",
    ),
    "own status": Line(
        "{Sender} itself answers with the HTTP status {status}: {meaning}.",
        "No server has answered here. A lost connection SHOULD NOT be taken for a cancellation.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "closed stdout died": Line(
        "The process of {sender} has died, and its standard output is closed.",
        "What the handshake agreed on is gone with the process: a new one needs a new handshake.",
        "basic/lifecycle#initialization",
    ),
    "closed exchange cut": Line(
        "The connection of {target} breaks before the answer has come.",
        "This SHOULD NOT be taken for a cancellation. Where the events have ids, the client can take the "
        "stream up again with `Last-Event-ID`.",
        "basic/transports#resumability-and-redelivery",
    ),
    "closed exchange cut standing": Line(
        "The connection of the stream that a GET opened breaks.",
        "To go on, the client SHOULD send a GET again, with the id of the last event that it got.",
        "basic/transports#resumability-and-redelivery",
    ),
    "closed exchange standing": Line(
        "{Sender} closes the standing stream that a GET opened.",
        "The client MAY close this stream at any time, and so MAY the server.",
        "basic/transports#listening-for-messages-from-the-server",
    ),
    "closed exchange cancelled": Line(
        "{Sender} closes {stream} of {target}, which it has cancelled.",
        "A lost connection SHOULD NOT be taken for a cancellation. To cancel, the client SHOULD send "
        "`notifications/cancelled`.",
        "basic/transports#sending-messages-to-the-server",
    ),
    "closed exchange by client initialize": Line(
        "{Sender} closes {stream} of {target} before the answer has come{reason}: it waits no longer.",
        "A client MUST NOT cancel `initialize`, so no cancellation follows.",
        "basic/utilities/cancellation#behavior-requirements",
    ),
    "lost at closing": Line(
        "",
        "A cancellation and what it cancels can cross on the way: both sides MUST handle that.",
        "basic/utilities/cancellation#timing-considerations",
    ),
    "lost at closing initialize": Line(
        "",
        "The client has stopped waiting. It MUST NOT cancel `initialize`, so the server is not told.",
        "basic/utilities/cancellation#behavior-requirements",
    ),
    "lost with its stream": Line(
        "",
        "Its event has no id, so the client cannot ask for it again. A server MAY make its streams "
        "resumable.",
        "basic/transports#resumability-and-redelivery",
    ),
    "lost resumable": Line(
        "",
        "Its event has an id: the client can ask for what came after the last event that it got, and the "
        "server MAY send it again.",
        "basic/transports#resumability-and-redelivery",
    ),
}

LINES: Final[Mapping[str, Line]] = {**REQUESTS, **NOTIFICATIONS, **RESPONSES, **ERRORS, **WIRE}
