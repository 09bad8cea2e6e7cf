"""What errors mean that have to do with a method or its parameters."""

from __future__ import annotations

from typing import Final

from mcpsim.audit.circumstances import (
    always,
    asks,
    both,
    brings,
    has_cursor,
    is_declared,
    is_from_client,
    is_in_no_revision,
    is_modern,
    is_of_another_revision,
    is_undeclared,
    is_unlinked,
    lacks_answers,
    lacks_state,
    says,
    was_cancelled,
)
from mcpsim.audit.diagnosis_row import (
    ANY,
    Row,
    is_missing,
)
from mcpsim.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
)

OF_REQUESTS: Final[tuple[Row, ...]] = (
    Row(
        ANY,
        both(was_cancelled, says("cancel", "abort")),
        "The request was cancelled; this says no more than that.",
        "Expect no answer to a cancelled request, and ignore this one.",
    ),
    # What another revision has.
    Row(
        {METHOD_NOT_FOUND},
        both(is_modern, is_of_another_revision),
        "The modern protocol has no {method}; only earlier revisions have it. That says nothing against the "
        "server.",
        "Do without it: there is no handshake and no ping; log levels stand in _meta, and "
        "subscriptions/listen "
        "takes the place of subscriptions.",
    ),
    Row(
        {METHOD_NOT_FOUND},
        is_of_another_revision,
        "The revision {revision}, which this session speaks, has no {method}.",
        "Use what the negotiated revision has, or agree on another one.",
    ),
    # What the client answers to a server.
    Row(
        {METHOD_NOT_FOUND},
        both(is_from_client, is_undeclared),
        "The server asks for {method}, and the client did not declare {capability}.",
        "Ask only for what the client declared.",
    ),
    Row(
        {METHOD_NOT_FOUND},
        is_unlinked,
        "The {party} does not have a method, and the answer names no request that is known here.",
        "Look for the id that it answers: it may be missing, or of a request before this trace.",
    ),
    Row(
        {METHOD_NOT_FOUND},
        is_from_client,
        "The client does not know the request {method}.",
        "Look at what the client declared, and at the revision that both agreed on.",
    ),
    Row(
        {-1},
        both(is_from_client, asks("sampling/createMessage", "elicitation/create")),
        "The user did not allow it.",
        "Do without, or say to the user why it is needed. Do not ask again at once.",
    ),
    Row(
        {INVALID_PARAMS},
        both(is_from_client, asks("elicitation/create", "sampling/createMessage")),
        "The client does not accept what the server asks for: a mode or a part of it that it did not "
        "declare, or "
        "a form that is not valid.",
        "Look at the modes under elicitation and at the members of sampling in the client's capabilities.",
    ),
    # Methods.
    Row(
        {METHOD_NOT_FOUND},
        is_in_no_revision,
        "No revision has a method {method}: it is misspelt, or of an extension that the server does not "
        "have.",
        "Compare it with the list of methods; look at the extensions among the server's capabilities.",
    ),
    Row(
        {METHOD_NOT_FOUND},
        both(asks("tools/call"), says("tool"), is_missing),
        "The server has no tool {name}. (The code for that is -32602: the method does exist.)",
        "Fetch tools/list again, and use a name from it.",
    ),
    Row(
        {METHOD_NOT_FOUND},
        is_undeclared,
        "The server does not offer {capability}, as its capabilities say.",
        "Look at the server's capabilities before sending {method}.",
    ),
    Row(
        {METHOD_NOT_FOUND},
        both(asks("tools/call", "prompts/get"), is_declared),
        "The server declares {capability}, so most likely it has no {name}. (The code for that is -32602: "
        "the method does exist.)",
        "Fetch the list again, and use a name from it.",
    ),
    Row(
        {METHOD_NOT_FOUND},
        is_declared,
        "The server declares {capability}, and does not have {method}.",
        "Do without it. The server should serve what it declares, or not declare it.",
    ),
    Row(
        {METHOD_NOT_FOUND},
        always,
        "The {party} does not have the method {method}.",
        "Look at its capabilities: it may not offer this part of the protocol.",
    ),
    # Resources.
    Row(
        {RESOURCE_NOT_FOUND},
        both(asks("resources/read", "resources/subscribe"), is_modern),
        "There is no resource {uri}. The code is that of the legacy revisions; a modern server answers "
        "-32602.",
        "Fetch resources/list again, and use a URI from it or from a template.",
    ),
    Row(
        {RESOURCE_NOT_FOUND},
        asks("resources/read", "resources/subscribe", "resources/unsubscribe"),
        "There is no resource {uri}.",
        "Fetch resources/list again, and use a URI from it or from a template.",
    ),
    # Parameters.
    Row(
        {INVALID_PARAMS},
        lacks_state,
        "The request comes again without the requestState that the server gave.",
        "Send requestState back exactly as it came, beside inputResponses.",
    ),
    Row(
        {INVALID_PARAMS},
        lacks_answers,
        "The request comes again without all of the answers that the server asked for.",
        "Put an answer under each key of inputRequests into inputResponses; declining is an answer too.",
    ),
    Row(
        {INVALID_PARAMS},
        both(brings("requestState", "inputResponses"), is_modern),
        "The server does not accept the answers or the request state: changed, too old, of another "
        "request, or "
        "used before.",
        "Send the request once more without requestState and inputResponses, and answer what it asks then.",
    ),
    Row(
        {INVALID_PARAMS},
        has_cursor,
        "The server does not accept the cursor {cursor}: it is not one of its own, or too old.",
        "Begin the list again without a cursor, and pass on each nextCursor unchanged.",
    ),
    Row(
        {INVALID_PARAMS},
        both(asks("tools/call"), is_missing),
        "The server has no tool {name}.",
        "Fetch tools/list again, and use a name from it: letter by letter.",
    ),
    Row(
        {INVALID_PARAMS},
        asks("tools/call"),
        "The server does not accept the call of {name}: the tool is not there, or the arguments do not "
        "fit its "
        "inputSchema.",
        "Compare name and arguments with tools/list. Arguments that do not fit are better told in a "
        "result with "
        "isError, which the model can read.",
    ),
    Row(
        {INVALID_PARAMS},
        asks("resources/read", "resources/subscribe", "resources/unsubscribe"),
        "There is no resource {uri}, or the URI is not valid.",
        "Fetch resources/list again, and use a URI from it or from a template.",
    ),
    Row(
        {INVALID_PARAMS},
        asks("prompts/get"),
        "There is no prompt {name}, or a required argument of it is missing.",
        "Compare name and arguments with prompts/list. All arguments are strings.",
    ),
    Row(
        {INVALID_PARAMS},
        asks("completion/complete"),
        "There is nothing to complete: the prompt, the template or the argument in the request is not there.",
        "Compare ref and argument with prompts/list and resources/templates/list.",
    ),
    Row(
        {INVALID_PARAMS},
        asks("logging/setLevel"),
        "The server does not know the level {level}.",
        "Use one of debug, info, notice, warning, error, critical, alert, emergency.",
    ),
    Row(
        {INVALID_PARAMS},
        always,
        "The {party} has the method {method}, and does not accept these parameters.",
        "Compare the parameters with the schema of the revision: a name may be misspelt, a type wrong.",
    ),
    # Requests.
    Row(
        {INVALID_REQUEST},
        is_unlinked,
        "The {party} read JSON that is not one valid message: an array, an id of null, a member that is "
        "missing.",
        "Look at what the {other} sent just before.",
    ),
    Row(
        {INVALID_REQUEST},
        is_undeclared,
        "The {party} may not be asked for {method} here: {capability} was not declared.",
        "Look at the capabilities before sending it.",
    ),
    Row(
        {INVALID_REQUEST},
        always,
        "The {party} does not take this request, or not now.",
        "Look at its form (jsonrpc, id, method, params), at the id (used before?), and at the phase of the "
        "session.",
    ),
    Row(
        {INTERNAL_ERROR},
        is_unlinked,
        "The {party} failed, and does not say at what.",
        "Look at its log.",
    ),
    Row(
        {INTERNAL_ERROR},
        always,
        "The {party} failed at {method}: an exception in it, or in what it depends on.",
        "Look at its log (over stdio: stderr). Try again later; a fault in the input would have another "
        "code.",
    ),
)
