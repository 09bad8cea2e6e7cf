"""What is on the wire: bytes to envelopes and back, and the `_meta` object. No behaviour."""

from mcpsim.messages.checks import from_object
from mcpsim.messages.envelopes import (
    Batch,
    ErrorResponse,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    describe,
    is_request_id,
)
from mcpsim.messages.limits import DEFAULT_LIMITS, Limits
from mcpsim.messages.meta import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    PROGRESS_TOKEN,
    PROTOCOL_VERSION,
    SERVER_INFO,
    SUBSCRIPTION_ID,
    is_progress_token,
    is_reserved_meta_key,
    is_valid_meta_key,
    meta_of,
)
from mcpsim.messages.reading import read_batch, read_json, read_message
from mcpsim.messages.writing import to_object, write_for_readers, write_json, write_message

__all__ = [
    "CLIENT_CAPABILITIES",
    "CLIENT_INFO",
    "DEFAULT_LIMITS",
    "LOG_LEVEL",
    "PROGRESS_TOKEN",
    "PROTOCOL_VERSION",
    "SERVER_INFO",
    "SUBSCRIPTION_ID",
    "Batch",
    "ErrorResponse",
    "Limits",
    "Message",
    "Notification",
    "Request",
    "RequestId",
    "Response",
    "describe",
    "from_object",
    "is_progress_token",
    "is_request_id",
    "is_reserved_meta_key",
    "is_valid_meta_key",
    "meta_of",
    "read_batch",
    "read_json",
    "read_message",
    "to_object",
    "write_for_readers",
    "write_json",
    "write_message",
]
