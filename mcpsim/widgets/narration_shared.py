"""What the player says in the same words in both eras, with a rule that stands on the same page of both.

Facts of gateways and processes have no rule. A gateway is neither client nor server of the protocol, so its
sentences say that it passes on, and what.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.widgets.lines import Line

MESSAGES: Final[Mapping[str, Line]] = {
    "request resources/templates/list": Line(
        "{Sender} asks {receiver} for its resource templates.",
        "A template is a URI with gaps. The client fills them in to get the URI of a resource.",
        "server/resources#resource-templates",
    ),
    "request prompts/get": Line(
        "{Sender} asks {receiver} for the prompt {name}.",
        "The server SHOULD check the arguments before it uses them.",
        "server/prompts#implementation-considerations",
    ),
    "request completion/complete": Line(
        "{Sender} asks {receiver} to complete {typed}.",
        "A server that completes MUST declare the `completions` capability. It returns at most 100 values.",
        "server/utilities/completion#capabilities",
    ),
    "notification": Line(
        "{Sender} sends the notification {method}.",
        "A notification has no id, and its receiver MUST NOT answer it.",
        "basic/index#notifications",
    ),
    "response unknown": Line(
        "{Sender} sends a result with the id {id}, which belongs to no request seen here.",
        "A result MUST carry the same id as the request that it answers.",
        "basic/index#result-responses",
    ),
    "response tool error": Line(
        "{Sender} reports that the call of the tool {name} failed, in an ordinary result: `isError` is true.",
        "A tool error is meant for the model: the client SHOULD hand it on, so that the model can correct "
        "itself. A protocol error would say that the request itself was wrong.",
        "server/tools#error-handling",
    ),
    "response prompts/get": Line(
        "{Sender} sends the messages of the prompt {name}.",
        "Both sides MUST validate what goes into and comes out of a prompt, against injection.",
        "server/prompts#security",
    ),
    "response completion/complete": Line(
        "{Sender} suggests {count}.",
        "At most 100 values in one answer; `hasMore` says whether there are more.",
        "server/utilities/completion#completion-results",
    ),
    "error -32700": Line(
        "{Sender} could not read what it got as JSON: {text}.",
        "An error repeats the id of its request, except where that could not be read.",
        "basic/index#error-responses",
    ),
    "error -32600": Line(
        "{Sender} refuses {target} as an invalid request: {text}.",
        "-32600 stands for a request that is not valid, whatever its method is. An error MUST repeat the "
        "id of its request, except where that could not be read.",
        "basic/index#error-responses",
    ),
    "error -32600 unknown": Line(
        "{Sender} answers that what came is not a valid request: {text}.",
        "An error repeats the id of its request, except where that could not be read.",
        "basic/index#error-responses",
    ),
    "malformed": Line(
        "{Sender} sends something that is not a message. {text}",
        "Every message MUST be a JSON-RPC request, notification or response.",
        "basic/index#messages",
    ),
    "malformed id": Line(
        "{Sender} sends a message whose id is a whole number, written like `1.0`. {text}",
        "An id MUST be a string or an integer. Whether `1.0` is an integer is open to debate: JSON Schema "
        "counts it as one, this reader does not.",
        "basic/index#requests",
    ),
    "lost notification": Line(
        "",
        "Nobody answers a notification, so its sender cannot know that it is lost.",
        "basic/index#notifications",
    ),
}

FACTS: Final[Mapping[str, Line]] = {
    "passed on": Line("{Sender} passes {thing} on to {receiver}.", "", ""),
    "own answer": Line("{Sender} answers {target} by itself, and passes nothing on.", "", ""),
    "own result": Line("{Sender} answers {target} by itself: no server is asked.", "", ""),
    "handler died": Line("The work on {name} ends, because the process of {sender} has died.", "", ""),
    "handler stopped": Line("{Sender} stops working on {name}.", "", ""),
    "closed the pipes": Line("The pipes between {sender} and {receiver} break.", "", ""),
    "closed exchange cut late": Line("The connection of {stream} breaks after the answer.", "", ""),
}

LINES: Final[Mapping[str, Line]] = {**MESSAGES, **FACTS}
