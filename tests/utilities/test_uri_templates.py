"""URI templates read backwards, against a library that reads them forwards."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mcpsim.errors import UriTemplateError
from mcpsim.utilities.uri_templates import MAX_URI_LENGTH, read_template

CASES = [
    ("recipe://{name}", "recipe://pie", {"name": "pie"}),
    ("recipe://{name}", "recipe://apple%20pie", {"name": "apple pie"}),
    ("recipe://{name}", "recipe://cr%C3%A8me", {"name": "crème"}),
    ("recipe://{name}", "recipe://a%2Fb", {"name": "a/b"}),
    ("recipe://{name}", "recipe://a/b", None),
    ("recipe://{name}", "recipe://", None),
    ("recipe://{name}", "recipes://pie", None),
    ("recipe://{name}", "recipe://%C3", None),  # no whole character
    ("recipe://{name}", "recipe://%zz", None),
    ("recipe://{name}", "recipe://crème", None),  # no URI: not encoded
    ("recipe://{name}", "recipe://pie\n", None),
    ("file:///{+path}", "file:///a/b.txt", {"path": "a/b.txt"}),
    ("file:///{+path}", "file:///..%2Fb", {"path": "../b"}),
    ("file:///{+path}/{name}", "file:///a/b/c", {"path": "a/b", "name": "c"}),
    ("{+a}{+b}", "xyz", {"a": "xy", "b": "z"}),  # the left one takes what it can
    ("a://x{#part}", "a://x#top", {"part": "top"}),
    ("a://x{#part}", "a://x", {}),
    ("a://x{.kind}", "a://x.json", {"kind": "json"}),
    ("a:/{/path*}", "a://b/c/d", {"path": ["b", "c", "d"]}),
    ("a:/{/path*}", "a:/", {}),
    ("a://{list*}", "a://1,2,3", {"list": ["1", "2", "3"]}),
    ("a://{x,y}", "a://1,2", {"x": "1", "y": "2"}),
    ("a://{x,y}", "a://1", {"x": "1"}),
    ("a://x{?q,n}", "a://x?q=tea&n=2", {"q": "tea", "n": "2"}),
    ("a://x{?q,n}", "a://x?n=2", {"n": "2"}),
    ("a://x{?q,n}", "a://x?q=", {"q": ""}),
    ("a://x{?q,n}", "a://x", {}),
    ("a://x{?q,n}", "a://x?other=1", None),
    ("a://x?fixed=1{&q}", "a://x?fixed=1&q=tea", {"q": "tea"}),
    ("a://x{?q*}", "a://x?q=1&q=2", {"q": ["1", "2"]}),
    ("a://x{;v,w}", "a://x;v;w=2", {"v": "", "w": "2"}),
    ("a://{x:3}", "a://abc", {"x": "abc"}),
    ("a://{x:3}", "a://abcd", None),
    ("a://{x:1}", "a://%C3%A9", {"x": "é"}),
    ("a://tea%2Fcup/{x}", "a://tea%2fcup/1", {"x": "1"}),
    ("a://tea%2Fcup/{x}", "a://tea/cup/1", None),
    ("a://crème/{x}", "a://cr%c3%a8me/1", {"x": "1"}),
    ("a://%41/{x}", "a://A/1", {"x": "1"}),
    ("a://plain", "a://plain", {}),
]


@pytest.mark.parametrize(("template", "uri", "expected"), CASES)
def test_the_values_of_a_uri(template: str, uri: str, expected: object) -> None:
    assert read_template(template).match(uri) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a://{x",
        "a://x}",
        "a://{}",
        "a://{=x}",
        "a://{x y}",
        "a://{x:0}",
        "a://{x:12345}",
        "a://{x:3*}",
        "a://{x,}",
        "a://{x}/{x}",
        "a://<x>",
        "a://x y",
        "a://%4",
        "a://{x!}",
        "a://" + "x" * 1_000,
        "a://{x:9999}",
    ],
)
def test_what_is_no_template(text: str) -> None:
    with pytest.raises(UriTemplateError):
        read_template(text)


VALUES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(first=VALUES, second=VALUES, path=st.lists(VALUES, min_size=1, max_size=4), query=VALUES | st.just(""))
@example(first="%2F", second="a%41", path=["..", "/"], query="&=")
def test_what_a_template_expands_to_matches_it_again(
    first: str, second: str, path: list[str], query: str
) -> None:
    template = read_template("a://{first}/{second}/at{/path*}{?query,other}")
    values = {"first": first, "second": second, "path": path, "query": query}
    assert template.match(template.expand(values)) == values


@pytest.mark.parametrize("operator", ["", "+", "#", ".", "/", ";", "?", "&"])
@given(data=st.data())
def test_every_operator_matches_what_it_expands_to(operator: str, data: st.DataObject) -> None:
    """Other values may be found where several make the same URI; these then make it again."""
    names = data.draw(st.lists(st.sampled_from("uvwxyz"), unique=True, min_size=1, max_size=4))
    marks = {name: data.draw(st.sampled_from(["", "*"])) for name in names}
    template = read_template(f"a://x{{{operator}{','.join(name + mark for name, mark in marks.items())}}}y")
    present = names[: data.draw(st.integers(0 if operator not in ("", "+") else 1, len(names)))]
    values = {
        name: data.draw(st.lists(VALUES, min_size=1, max_size=3) if marks[name] else VALUES)
        for name in present
    }
    # Reserved expansion leaves what looks encoded as it is, be it a whole character or not.
    assume(operator not in ("+", "#") or "%" not in str(values))
    uri = template.expand(values)
    found = template.match(uri)
    assert found is not None
    assert template.expand(found) == uri
    if operator not in ("", "+", "#", ".", "/") or len(names) == 1:
        assert found.keys() == values.keys()


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        template = read_template(text)
    except UriTemplateError:
        return
    template.match(text)


@given(st.text(max_size=200))
def test_any_uri_matches_or_does_not(uri: str) -> None:
    found = read_template("{+a}/{b}{?c*,d}{#e}").match(uri)
    assert found is None or all(isinstance(value, str | list) for value in found.values())


def test_a_hostile_uri_takes_time_in_proportion_to_its_length() -> None:
    # As a regular expression, this template would try a power of the length.
    template = read_template("{+a}-{+b}-{+c}-{+d}-{+e}-{+f}!")
    before = time.perf_counter()
    assert template.match("-" * (MAX_URI_LENGTH - 1)) is None
    assert template.match("-" * (MAX_URI_LENGTH + 1)) is None
    assert time.perf_counter() - before < 5


def test_what_is_known_of_the_variables() -> None:
    template = read_template("a://{host}/{path*}{?q}")
    assert [(one.name, one.is_list, one.may_be_absent) for one in template.variables] == [
        ("host", False, False),
        ("path", True, False),
        ("q", False, True),
    ]
