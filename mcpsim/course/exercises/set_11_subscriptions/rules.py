"""The rules of subscriptions that several exercises name, and a few values of theirs."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.verdict import Rule

PAGE: Final = "basic/patterns/subscriptions"

ASKED: Final = Rule(
    "The server MUST NOT send notification types that the client has not explicitly requested.",
    f"{PAGE}#opening-a-stream",
)
NAMED: Final = Rule(
    "With `resourceSubscriptions` a client asks for the updates of the resources whose URIs it names.",
    f"{PAGE}#notification-filter",
)
AGREED: Final = Rule(
    "The acknowledgement has the subset that the server agreed to. What it does not support is omitted.",
    f"{PAGE}#acknowledgment",
)
FIRST: Final = Rule(
    "The acknowledgement MUST be the first message of a subscription.", f"{PAGE}#acknowledgment"
)
CHECK_IT: Final = Rule(
    "The client SHOULD check the acknowledged filter against what it requested.", f"{PAGE}#acknowledgment"
)
LEFT_OUT: Final = Rule(
    "A field that is omitted is the same as not subscribing to that notification type.",
    f"{PAGE}#notification-filter",
)
BY_ID: Final = Rule(
    "What belongs to a subscription carries its id in `_meta`: the id of its `subscriptions/listen` request. "
    "On stdio clients MUST go by it.",
    f"{PAGE}#receiving-notifications",
)
ENDS: Final = Rule(
    "The client cancels it, or the server tears it down, or the transport closes.", f"{PAGE}#cancellation"
)
GRACEFUL: Final = Rule(
    "A server that ends a subscription SHOULD answer its `subscriptions/listen` request with a result. A "
    "transport that closes without it is an unexpected disconnect.",
    f"{PAGE}#graceful-closure",
)
TORN_DOWN: Final = Rule(
    "A server MUST send `notifications/cancelled` that names a `subscriptions/listen` request when it tears "
    "that subscription down. It MUST NOT send it for any other purpose.",
    "basic/patterns/cancellation",
)
SAME_ID: Final = Rule(
    'A response has the same id as its request. 1 and "1" are two ids.', "basic/index#result-responses"
)
COMMENT: Final = Rule(
    "Servers are encouraged to send a comment now and then on a quiet stream. Clients must ignore it.",
    "basic/transports/streamable-http#receiving-messages",
)
RECONNECT: Final = Rule(
    "An end without a result is an unexpected disconnect. The client MAY take it as a reason to connect "
    "again, "
    "and the server holds nothing of the old subscription.",
    f"{PAGE}#graceful-closure",
)

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
CANCELLED: Final = "notifications/cancelled"
UPDATED: Final = "notifications/resources/updated"
