"""The rules about rounds, in our words."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.verdict import Rule

CLIENT: Final = "basic/patterns/mrtr#client-requirements-basic-workflow"
SERVER: Final = "basic/patterns/mrtr#server-requirements-basic-workflow"

ANSWERED: Final = Rule(
    "If a result has `inputRequests`, the client MUST get what they ask for before it sends the request "
    "again.",
    CLIENT,
)
KEYS: Final = Rule(
    "`inputResponses` has the keys of `inputRequests`, each with the client's result for that question.",
    "basic/patterns/mrtr#inputresponses",
)
ECHOED: Final = Rule(
    "If a result has a `requestState`, the client MUST send back exactly that value in the retry. It MUST "
    "NOT change it, and assume nothing about it.",
    CLIENT,
)
NOT_INVENTED: Final = Rule(
    "If a result has no `requestState`, the client MUST NOT send one in the retry.", CLIENT
)
AT_ONCE: Final = Rule(
    "If a result has no `inputRequests`, the client MAY send the request again at once.", CLIENT
)
NEW_ID: Final = Rule(
    "The id of the retry MUST be another one than that of the first request: they are two requests.", CLIENT
)
SAME_REQUEST: Final = Rule(
    "The retry is the original request with the answers. `inputRequests` and `requestState` are for that "
    "retry, and MUST NOT be used for any other request.",
    CLIENT,
)
NO_LIMIT: Final = Rule(
    "Servers MAY ask in several rounds. How often a client goes along is up to the client.", SERVER
)
VERIFIED: Final = Rule(
    "A server MUST treat `requestState` as something that an attacker controls. If it matters what is in it, "
    "the server MUST protect its integrity (with an HMAC, for example), and MUST refuse what does not "
    "verify.",
    SERVER,
)
BOUND: Final = Rule(
    "The protected state SHOULD hold the principal, a short expiry, and what identifies the request (its "
    "method and a digest of the parameters that matter). The server SHOULD verify each, and refuse state "
    "that does not match.",
    SERVER,
)
REFUSALS: Final = Rule(
    "Servers MUST handle the cases in which the user declines or cancels.",
    "client/elicitation#error-handling",
)
ACTIONS: Final = Rule(
    "`accept` brings the submitted data in `content` (in form mode), `decline` is an explicit no, and "
    "`cancel` says that the user chose neither. In URL mode `content` is left out.",
    "client/elicitation#response-actions",
)
FLAT: Final = Rule(
    "A form is a flat object whose fields are texts, numbers, booleans or choices. Nested objects, and "
    "arrays of objects, are not supported.",
    "client/elicitation#requested-schema",
)
SECRETS: Final = Rule(
    "Servers MUST NOT ask for passwords, API keys, tokens or payment credentials in a form, and MUST use URL "
    "mode for them. Names and e-mail addresses are not forbidden.",
    "client/elicitation#user-interaction-model",
)
