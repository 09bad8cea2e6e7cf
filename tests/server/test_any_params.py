"""Any parameters for any method that a server offers: one answer, and never a fault of the server's own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from revisions import REVISIONS
from talking import legacy, modern, opening, talk

from mcpsim import Server

METHODS = [
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
]
REFUSALS = {-32600, -32601, -32602, -32002, -32020, -32021}


def everything() -> Server:
    server = Server("everything", page_size=1, list_changed=True, subscribe=True, logging=True)
    for name in ("a", "b"):
        server.tool(name, output_schema={"type": "string"})(lambda: "text")
        server.resource(f"{name}://a")(lambda: "text")
        server.resource_template(f"{name}://{{x}}{{?y*}}", complete={"x": lambda value, known: [value]})(
            lambda x, y=(): [x, *y]
        )
        server.prompt(name, complete={"x": lambda value, known: list(known.values())})(
            lambda x="": f"say {x}"
        )
    return server


TEXT = st.text(max_size=12) | st.sampled_from(
    ["a", "b", "x", "a://a", "b://c?y=1&y=", "a://{x}{?y*}", "ref/prompt"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
REF = st.fixed_dictionaries(
    {"type": st.sampled_from(["ref/prompt", "ref/resource"])},
    optional={"name": TEXT, "uri": TEXT},
)
ARGUMENTS = st.dictionaries(TEXT, TEXT, max_size=3)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "cursor": TEXT | VALUES,
        "name": TEXT | VALUES,
        "uri": TEXT | VALUES,
        "arguments": ARGUMENTS | VALUES,
        "ref": REF | VALUES,
        "argument": st.fixed_dictionaries({"name": TEXT, "value": TEXT}) | VALUES,
        "context": st.fixed_dictionaries({"arguments": ARGUMENTS}) | VALUES,
    },
)


@pytest.mark.parametrize("method", METHODS)
@given(params=PARAMS, revision=st.sampled_from(REVISIONS))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_request_has_one_answer(method: str, params: Any, revision: str) -> None:
    lines = (
        [modern(1, method, params)]
        if revision == REVISIONS[-1]
        else [*opening(revision), legacy(1, method, params)]
    )
    answer = talk(everything(), *lines).answer(1)
    if "error" in answer:
        assert answer["error"]["code"] in REFUSALS
    else:
        assert isinstance(answer["result"], dict)
