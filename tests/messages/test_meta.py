"""The `_meta` object: which keys are valid, and which are reserved."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.messages import (
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

OURS = [
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    PROGRESS_TOKEN,
    PROTOCOL_VERSION,
    SERVER_INFO,
    SUBSCRIPTION_ID,
]

# key: (valid, reserved)
KEYS: dict[str, tuple[bool, bool]] = {
    **dict.fromkeys(OURS, (True, True)),
    # The examples of the specification.
    "io.modelcontextprotocol/": (True, True),
    "dev.mcp/x": (True, True),
    "org.modelcontextprotocol.api/x": (True, True),
    "com.mcp.tools/x": (True, True),
    "com.example.mcp/x": (True, False),
    "com.example/": (True, False),
    "traceparent": (True, True),
    "tracestate": (True, True),
    "baggage": (True, True),
    # Only the second label counts, and only whole.
    "mcp/x": (True, False),
    "mcp.dev/x": (True, False),
    "dev.mcp2/x": (True, False),
    "dev.mcp": (True, False),
    "com.example/progressToken": (True, False),
    "progresstoken": (True, False),
    # The form of a prefix.
    "a/b": (True, False),
    "a-1.b2/c": (True, False),
    "/b": (False, False),
    "1a/b": (False, False),
    "a-/b": (False, False),
    "-a/b": (False, False),
    "a..b/c": (False, False),
    ".a/b": (False, False),
    "a./b": (False, False),
    "a_b/c": (False, False),
    "a b/c": (False, False),
    "é/b": (False, False),
    "a/b/c": (False, False),
    "1.mcp/x": (False, True),
    # The form of a name.
    "": (True, False),
    "a": (True, False),
    "0": (True, False),
    "a.b_c-d": (True, False),
    "a-": (False, False),
    "_a": (False, False),
    ".": (False, False),
    "a b": (False, False),
    "é": (False, False),
    "a\n": (False, False),
    "٣": (False, False),  # a digit, but none of 0-9
}


@pytest.mark.parametrize(("key", "valid", "reserved"), [(key, *said) for key, said in KEYS.items()])
def test_keys(key: str, valid: bool, reserved: bool) -> None:
    assert is_valid_meta_key(key) is valid
    assert is_reserved_meta_key(key) is reserved


def test_a_very_long_key_takes_no_time() -> None:
    assert not is_valid_meta_key("a" * 1_000_000 + "!")
    assert not is_valid_meta_key("a." * 500_000 + "!")
    assert not is_valid_meta_key("a-" * 500_000)


@pytest.mark.parametrize(
    ("params", "meta"),
    [
        (None, {}),
        ({}, {}),
        ({"_meta": {}}, {}),
        ({"_meta": {"a": 1}}, {"a": 1}),
        ({"_meta": None}, {}),
        ({"_meta": [1]}, {}),
        ({"_meta": "a"}, {}),
    ],
)
def test_meta_of(params: dict[str, Any] | None, meta: dict[str, Any]) -> None:
    assert meta_of(params) == meta


@pytest.mark.parametrize("value", [0, 1, -1, "", "a"])
def test_progress_tokens(value: Any) -> None:
    assert is_progress_token(value)


@pytest.mark.parametrize("value", [None, True, False, 0.0, 1.5, [], {}])
def test_what_is_no_progress_token(value: Any) -> None:
    assert not is_progress_token(value)
