"""What differs between a header and the value of the body that it repeats."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.audit.rules.http_encoding import difference
from mcpsim.transports.http import encode_header_value

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def marked(data: bytes, start: str = "=?base64?") -> str:
    return f"{start}{base64.b64encode(data).decode()}?="


@given(TEXTS)
def test_what_we_encode_is_right(value: str) -> None:
    assert difference(encode_header_value(value), value) is None
    assert difference(f" {encode_header_value(value)}\t", value) is None


@given(TEXTS)
def test_every_value_may_be_encoded(value: str) -> None:
    assert difference(marked(value.encode()), value) is None


@given(TEXTS, TEXTS)
def test_anything_else_differs(text: str, value: str) -> None:
    found = difference(text, value)
    if found is None:
        # Blanks around a value are not part of it, and what is encoded stands for something else.
        assert text.strip(" \t") in (value, marked(value.encode()))
    else:
        assert found.sentence.isascii()


@pytest.mark.parametrize(
    ("text", "value", "fault"),
    [
        ("Ærø", "Ærø", "plain"),
        ("Ærø".encode().decode("latin-1"), "Ærø", "plain"),
        ("Ibis", " Ibis ", "plain"),
        ("Ibis Egret", "Ibis\nEgret", "plain"),
        ("=?base64?SWJpcw==?=", "=?base64?SWJpcw==?=", "lookalike"),
        ("=?Base64?w4Zyw7g=?=", "Ærø", "marker"),
        ("=?base64?w4Zyw7g?=", "Ærø", "marker"),
        ("=?base64?SWJpcw==?=", "Egret", "other"),
        ("=?base64?!?=", "Egret", "other"),
        ("ibis", "Ibis", "other"),
        ("", "Ibis", "other"),
    ],
)
def test_kinds(text: str, value: str, fault: str) -> None:
    found = difference(text, value)
    assert found is not None
    assert found.fault == fault


@pytest.mark.parametrize("value", ["=?base64?=", "=?Base64?SWJpcw==?=", "?=", "plain", "tide:///k%C3%B8ge"])
def test_what_need_not_be_encoded(value: str) -> None:
    assert difference(value, value) is None
