"""The elicitation form without a browser: what is shown of a schema, what is refused, and what travels."""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from mcpsim import Client, Context, Server, StreamableHttp
from mcpsim.course import text_of
from mcpsim.course.servers import travel_desk
from mcpsim.course.stories.asking import one_question, two_questions_at_once, two_rounds, visit_a_page
from mcpsim.errors import ElicitationSchemaError
from mcpsim.widgets.elicitation_form import ElicitationForm, question_of
from mcpsim.widgets.elicitation_form_view import faults_of_answer, form_data

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 3, "maxLength": 20},
        "mail": {"type": "string", "format": "email", "default": "ann@example.com"},
        "bags": {"type": "integer", "minimum": 0, "maximum": 3},
        "agree": {"type": "boolean"},
        "seat": {"type": "string", "enum": ["window", "aisle"], "default": "window"},
        "colour": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}]},
        "meals": {
            "type": "array",
            "items": {"anyOf": [{"const": "l", "title": "Lunch"}, {"const": "d", "title": "Dinner"}]},
            "minItems": 1,
            "maxItems": 1,
        },
    },
    "required": ["name", "meals"],
}
RIGHT = {"name": "Ann Lee", "meals": ["l"]}


def form(question: Any = SCHEMA, **more: Any) -> ElicitationForm:
    return ElicitationForm(question, **more)


def fields(widget: ElicitationForm) -> dict[str, dict[str, Any]]:
    return {field["name"]: field for field in widget.shown["form"]["fields"]}


def carried(widget: ElicitationForm) -> dict[str, list[dict[str, Any]]]:
    return {
        one["label"]: [json.loads(each["json"]) for each in one["messages"]]
        for one in widget.shown["carried"]
    }


# ------------------------------------------------------------------------------------- what is shown


def test_every_kind_of_field() -> None:
    found = fields(form())
    assert {name: field["kind"] for name, field in found.items()} == {
        "name": "string",
        "mail": "string",
        "bags": "integer",
        "agree": "boolean",
        "seat": "choice",
        "colour": "choice",
        "meals": "choices",
    }
    assert found["name"]["label"] == "Your name"
    assert [name for name, field in found.items() if field["required"]] == ["name", "meals"]
    assert found["colour"]["options"] == [["#f00", "Red"]]
    assert found["meals"]["options"] == [["l", "Lunch"], ["d", "Dinner"]]
    assert {name: field["hint"] for name, field in found.items()} == {
        "name": "3 to 20 characters",
        "mail": "an e-mail address, empty for the default",
        "bags": "a whole number, 0 to 3",
        "agree": "",
        "seat": "",
        "colour": "",
        "meals": "exactly 1 of these",
    }
    assert not any(field["faults"] for field in found.values())


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ({"type": "object"}, "The type 'object' is none that a form can have."),
        ({"type": "string", "pattern": "^a"}, "It has the member 'pattern'"),
        ({"type": "string", "format": "ipv4"}, "Format must be one of email, uri, date, date-time"),
        ({"type": "integer", "minimum": 3, "maximum": 1}, "Minimum is above maximum: nothing fits."),
        ({"type": "number", "default": "many"}, "Its default: must be a number, not str."),
        (
            {"type": "array", "items": {"type": "object"}},
            "there must be a list of what there is to choose from",
        ),
        ({"type": "string", "title": "Password"}, "This looks like a secret."),
        (7, "a field is an object"),
    ],
)
def test_what_a_form_cannot_have_is_said_at_the_field(field: Any, why: str) -> None:
    data = form_data({"requestedSchema": {"type": "object", "properties": {"it": field}}}, "desk")
    said = " ".join(data["fields"][0]["faults"])
    assert why.lower() in said.lower()


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        {"type": "array"},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "object"}}},
    ],
)
def test_what_is_no_form_can_not_be_answered(schema: Any) -> None:
    widget = form({"message": "Well?", "requestedSchema": schema})
    assert not widget.shown["form"]["answerable"]
    assert any("refuses the question (-32602)" in fault for fault in widget.shown["form"]["faults"])
    with pytest.raises(ValueError, match="no question that could be answered"):
        widget.respond("decline")


def test_texts_from_strangers_are_made_visible_and_bounded() -> None:
    schema = {
        "type": "object",
        "properties": {"a\u202eb": {"type": "string", "title": "x" * 5_000, "description": "d\u200bd"}},
    }
    widget = form({"message": "m\u202e" * 5_000, "requestedSchema": schema}, server="s\u202es" * 100)
    text = json.dumps({**widget.shown, "key": ""}, ensure_ascii=False)
    assert widget.shown["form"]["server"].startswith("s‹U+202E›s")
    assert len(text) < 12_000
    assert "\u200b" not in text


@pytest.mark.parametrize(
    ("url", "host", "fault"),
    [
        ("https://travel.example/sign-in?a=1#b", "travel.example", None),
        ("https://bank.example@evil.example/x", "evil.example", "what stands before the @ is not the host"),
        ("http://travel.example:8080/", "travel.example", "It is not https"),
        ("https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com", "Punycode"),
        ("https://[::1]:8443/x", "[::1]", None),
        ("https://good.example\\@evil.example/", "evil.example", "no valid URL"),
        ("no address", "", "no valid URL"),
        (5, "", "no valid URL"),
    ],
)
def test_an_address_is_shown_in_full_with_its_host(url: Any, host: str, fault: str | None) -> None:
    data = form_data({"mode": "url", "message": "Go there.", "url": url}, "desk")
    assert "".join(data["url"]) == str(url)
    assert data["url"][1] == host
    assert (" ".join(data["faults"]) == "") if fault is None else (fault in " ".join(data["faults"]))


# ------------------------------------------------------------------------------------- answering


def test_accept_travels_in_both_eras() -> None:
    heard: list[mcp_types.ElicitResult] = []
    widget = form(on_answer=heard.append, server="travel-desk")
    widget.respond("accept", RIGHT)
    answer = {
        "action": "accept",
        "content": {"name": "Ann Lee", "mail": "ann@example.com", "seat": "window", "meals": ["l"]},
    }
    (response,) = carried(widget)["Legacy"]
    assert response["result"] == answer
    (retry,) = carried(widget)["Modern"]
    assert retry["method"] == "tools/call"
    assert retry["params"]["inputResponses"] == {"question": answer}
    assert "requestState" in retry["params"]
    assert json.loads(widget.shown["answer"]) == answer
    assert [one.action for one in heard] == ["accept"]
    assert {era: run.error for era, run in widget.runs.items()} == {"legacy": None, "modern": None}
    assert not any(run.audit().findings for run in widget.runs.values())
    assert widget.recording is widget.runs["modern"].recording


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_decline_and_cancel_carry_no_content(action: str) -> None:
    widget = form()
    widget.respond(action, {"name": "is not sent"})
    assert carried(widget)["Legacy"][0]["result"] == {"action": action}
    assert carried(widget)["Modern"][0]["params"]["inputResponses"] == {"question": {"action": action}}
    assert widget.run is not None
    assert widget.run.value.content[0].text == action


def test_accepting_a_visit_carries_no_content() -> None:
    widget = form({"mode": "url", "message": "Sign in.", "url": "https://travel.example/sign-in"})
    widget.respond("accept")
    assert carried(widget)["Legacy"][0]["result"] == {"action": "accept"}
    assert carried(widget)["Modern"][0]["params"]["inputResponses"] == {"question": {"action": "accept"}}
    assert "It does not say that anything is done there yet." in widget.still_text()


def test_what_does_not_fit_is_not_sent() -> None:
    widget = form()
    widget.asked = {"n": 1, "do": "answer", "action": "accept", "content": {"name": "A", "bags": 9, "x": 1}}
    assert widget.shown["faults"] == {
        "meals": ["is required."],
        "name": ["must have 3 characters or more."],
        "bags": ["must be 3 or less."],
        "": ["x: the form has no such field."],
    }
    assert widget.shown["status"] == "The answer was not sent: 4 fields are not right."
    assert widget.answer is None
    assert widget.runs == {}
    with pytest.raises(ValueError, match="name: must have 3 characters or more"):
        widget.respond("accept", {"name": "A", "meals": ["l"]})
    widget.respond("accept", RIGHT)
    assert widget.faults == {}


def test_what_does_not_fit_after_an_answer_is_told_apart_from_it() -> None:
    widget = form()
    widget.respond("cancel")
    with pytest.raises(ValueError, match="meals: is required"):
        widget.respond("accept", {"name": "Anna"})
    assert widget.shown["status"].endswith("Below stands what was sent before.")
    assert carried(widget)["Legacy"][0]["result"] == {"action": "cancel"}


def test_a_form_that_this_server_would_not_send_is_answered_alone() -> None:
    widget = form({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}})
    widget.respond("accept", {"a": "y"})
    assert widget.shown["carried"] == []
    assert "would not send this form" in widget.shown["status"]
    assert json.loads(widget.shown["answer"]) == {"action": "accept", "content": {"a": "y"}}


def test_an_error_of_the_callback_is_shown() -> None:
    def fail(answer: object) -> None:
        raise KeyError("seat")

    widget = form(on_answer=fail)
    widget.asked = {"n": 1, "do": "answer", "action": "decline"}
    assert widget.shown["error"] == "KeyError: 'seat'"


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({}, "There is nothing like None to do here."),
        ({"do": "answer"}, "action must be a text."),
        ({"do": "answer", "action": "maybe"}, "action must be one of accept, decline, cancel, not 'maybe'."),
        ({"do": "answer", "action": "accept", "content": []}, "content must be an object."),
        (
            {"do": "answer", "action": "accept", "content": {"name": "x" * 100_001}},
            "The answer is larger than",
        ),
    ],
)
def test_a_wish_that_makes_no_sense_is_told(wish: dict[str, Any], why: str) -> None:
    widget = form()
    widget.asked = {"n": 1, **wish}
    assert widget.shown["error"].startswith(why)
    assert widget.answer is None


class Trip(BaseModel):
    """A trip."""

    city: str = Field(min_length=2, title="Where to")
    nights: int = 2


def test_whatever_says_a_question() -> None:
    params = {"mode": "form", "message": "Well?", "requestedSchema": SCHEMA}
    assert question_of(params) == params
    assert question_of({"method": "elicitation/create", "params": params}) == params
    assert question_of(mcp_types.ElicitRequestFormParams.model_validate(params))["message"] == "Well?"
    assert list(question_of(Trip)["requestedSchema"]["properties"]) == ["city", "nights"]
    # A property may have any name.
    odd = {"type": "object", "properties": {"url": {"type": "string"}}}
    assert question_of(odd)["requestedSchema"] == odd
    with pytest.raises(ElicitationSchemaError, match="not 5"):
        form(5)
    with pytest.raises(ElicitationSchemaError, match="No server can send this question"):
        form({"type": "object", "properties": {"\ud800": {"type": "string"}}})
    with pytest.raises(ElicitationSchemaError, match="A form is"):
        form(int)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = st.sampled_from(["type", "enum", "oneOf", "items", "minLength", "default", "title", "properties"])
SCHEMAS = st.dictionaries(
    MEMBERS, VALUES | st.sampled_from(["object", "string", "array", "integer"]), max_size=5
)


@settings(max_examples=150, deadline=None)
@given(VALUES | SCHEMAS, st.dictionaries(st.sampled_from(["a", "it"]), SCHEMAS | VALUES, max_size=2))
def test_any_question_is_shown(url: Any, properties: dict[str, Any]) -> None:
    for question in (
        {"mode": "url", "url": url, "message": url},
        {"requestedSchema": url},
        {"requestedSchema": {"type": "object", "properties": properties, "required": ["a"]}},
    ):
        json.dumps(form_data(question, "desk"))


def test_the_order_of_the_faults_is_that_of_the_form() -> None:
    assert list(faults_of_answer(SCHEMA, {"bags": 9, "name": "A"})) == ["meals", "bags", "name"]


# ------------------------------------------------------------------------------------- in a run


def keys(widget: ElicitationForm) -> list[str]:
    return list(fields(widget)) if widget.shown["form"] else []


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_run_waits_for_each_answer(era: Any) -> None:
    widget = ElicitationForm.in_run(two_rounds, server=travel_desk, era=era)
    assert keys(widget) == ["day"]
    assert widget.run is None
    assert widget.shown["status"] == "The run waits for answer 1: travel-desk asks."
    paused = widget.recording
    assert paused is not None
    widget.respond("accept", {"day": "2026-09-01"})
    assert keys(widget) == ["agreed"]
    assert widget.recording is not None
    # What came before the answer is the same.
    assert widget.recording.events[: len(paused.events)] == paused.events
    widget.respond("accept", {"agreed": True})
    assert widget.shown["form"] is None
    assert widget.run is not None
    assert "Booked Pisa on 2026-09-01" in widget.shown["status"]
    assert not widget.run.audit().findings
    assert [len(one["messages"]) for one in widget.shown["carried"]] == [2]
    widget.asked = {"n": 1, "do": "undo"}
    assert keys(widget) == ["agreed"]
    widget.respond("decline")
    assert "Nothing booked" in widget.shown["status"]
    widget.asked = {"n": 2, "do": "again"}
    assert keys(widget) == ["day"]
    assert widget.shown["history"] == []


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_two_questions_at_once_come_one_after_the_other(era: Any) -> None:
    widget = ElicitationForm.in_run(
        two_questions_at_once, server=travel_desk, era=era, transport=StreamableHttp()
    )
    widget.respond("accept", {"day": "2026-09-01"})
    assert keys(widget) == ["seat", "bags"]
    widget.respond("accept", {"bags": 1})
    assert "2026-09-01, window seat" in widget.shown["status"]


def test_a_visit_in_a_run() -> None:
    widget = ElicitationForm.in_run(visit_a_page, server=travel_desk)
    assert widget.shown["form"]["url"][1] == "travel.example"
    widget.respond("cancel")
    assert "No account without a sign-in" in widget.shown["status"]


def test_a_wrong_answer_leaves_the_run_where_it_is() -> None:
    widget = ElicitationForm.in_run(one_question, server=travel_desk)
    before = widget.recording
    widget.asked = {"n": 1, "do": "answer", "action": "accept", "content": {"bags": 9}}
    assert widget.shown["faults"] == {"bags": ["must be 3 or less."]}
    assert widget.recording is before


def test_a_run_without_a_question_and_one_that_fails() -> None:
    async def nothing(client: Client) -> int:
        """Ask for nothing."""
        return len((await client.list_tools()).tools)

    widget = ElicitationForm.in_run(nothing, server=travel_desk)
    assert widget.shown["form"] is None
    assert widget.shown["status"] == "The run is over. It came to: 7"

    async def failing(client: Client) -> None:
        """Fail."""
        raise KeyError("x")

    failed = ElicitationForm.in_run(failing, server=travel_desk)
    assert failed.shown["status"] == "The run is over. KeyError: 'x'"
    with pytest.raises(ValueError, match="no question"):
        failed.respond("accept")


def test_what_happens_while_the_user_thinks_has_not_happened() -> None:
    def busy() -> Server:
        desk = Server("busy-desk")

        @desk.tool()
        async def ask(context: Context) -> str:
            """Ask."""
            return (await context.elicit("Well?", SCHEMA, key="q")).action

        return desk

    async def story(client: Client) -> str:
        """Ask, and ping in between."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.list_tools)
            called = await client.call_tool("ask")
        return text_of(called)

    widget = ElicitationForm.in_run(story, server=busy, era="legacy")
    assert widget.recording is not None
    assert "cancelled" not in widget.recording.transcript()
    widget.respond("decline")
    assert '"decline"' in widget.shown["status"]


def test_the_still_pictures_run_nothing_and_stay_the_same() -> None:
    hostile = {
        "type": "object",
        "properties": {"a": {"type": "string", "title": "<script>alert(1)</script>"}},
    }
    assert "<script" not in form(hostile).still_html()
    assert form().still_text() == form().still_text()
    assert repr(form(server="x")) == "ElicitationForm('x')"
