"""URIs by their characters."""

from __future__ import annotations

import pytest

from mcpsim.utilities.uris import is_uri, leads_up


@pytest.mark.parametrize("text", ["a:", "file:///a%20b", "https://example.com/?q=[1]#end", "x-y.z+1:a"])
def test_a_uri(text: str) -> None:
    assert is_uri(text)


@pytest.mark.parametrize("text", ["", "a", "/a", ":a", "1a:b", "a:b c", "a:é", "a:%zz", "a:b\n"])
def test_no_uri(text: str) -> None:
    assert not is_uri(text)


@pytest.mark.parametrize("path", ["..", "a/..", "a/%2E%2e/b", "a/.%2e", "a%2f..%2fb", "a\\..\\b", "a%5C../b"])
def test_a_step_upwards(path: str) -> None:
    assert leads_up(f"file:///home/{path}")


@pytest.mark.parametrize("path", ["", "a..b", "..a", "a...", ".a/b.", "a/.../b", "a/./b"])
def test_dots_that_lead_nowhere(path: str) -> None:
    assert not leads_up(f"file:///home/{path}")
