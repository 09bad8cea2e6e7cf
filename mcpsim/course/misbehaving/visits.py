"""Servers that misbehave when they send a user to a URL."""

from __future__ import annotations

from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Edit,
    Json,
    add_before,
    change_answer,
    change_params,
    on_nth,
    one_after_the_other,
)
from mcpsim.course.misbehaving.questioning import (
    CALL,
    asking_server,
    error_instead,
    in_question,
    members_with,
    on_retry,
)
from mcpsim.course.stories.asking import obliging, one_question, visit_a_page, visiting
from mcpsim.errors import INTERNAL_ERROR, URL_ELICITATION_REQUIRED
from mcpsim.transports.twists import MakeTwist

COMPLETE: Final = "notifications/elicitation/complete"
ELICIT: Final = "elicitation/create"


async def two_visits(client: Client) -> list[Any]:
    """Send the user to a page twice."""
    return [await client.call_tool("open_account"), await client.call_tool("open_account")]


def _show_token(message: Json) -> Json:
    result: Json = {
        "resultType": "complete",
        "content": [{"type": "text", "text": "access_token: 7c1f09ab33d2"}],
    }
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _complete(id: str) -> Json:
    return {"jsonrpc": "2.0", "method": COMPLETE, "params": {"elicitationId": id}}


_PAGE: Final[Json] = {
    "mode": "url",
    "message": "Sign in to go on.",
    "url": "https://travel.example/sign-in",
    "elicitationId": "visit-1",
}
_VISIT_FIRST: Final[Json] = {"elicitations": [_PAGE]}
_NAMED: Final = change_params(ELICIT, members_with(elicitationId="visit-1"))


def _sending(name: str, rule: str, sentence: str, edit: Edit) -> Misbehaviour:
    """A server that sends its user to a page, wrongly."""
    return asking_server(name, rule, sentence, visit_a_page, visiting, in_question(edit))


def _by_url(name: str, rule: str, sentence: str, twist: MakeTwist, story: Any = visit_a_page) -> Misbehaviour:
    """A legacy server that sends its user to a page, and misbehaves around that."""
    return asking_server(name, rule, sentence, story, visiting, twist, era="legacy")


VISITS: Final[tuple[Misbehaviour, ...]] = (
    _sending(
        "server-sends-to-no-address",
        "elicitation-url-is-valid",
        "The server sends its user to something that is no URL.",
        members_with(url="travel.example/sign-in"),
    ),
    _sending(
        "server-sends-to-an-open-page",
        "elicitation-url-is-https",
        "The server sends its user to a page without TLS.",
        members_with(url="http://travel.example/sign-in"),
    ),
    _sending(
        "server-puts-a-password-into-the-url",
        "elicitation-url-tells-no-secret",
        "The server puts a user name and a password into the URL of a page.",
        members_with(url="https://ann:opensesame@travel.example/account"),
    ),
    asking_server(
        "server-hands-the-token-on",
        "elicitation-url-credentials-stay",
        "The server shows the client what the user got at the page.",
        visit_a_page,
        visiting,
        on_retry(_show_token),
    ),
    _by_url(
        "server-requires-a-visit-and-names-none",
        "elicitation-error-lists-elicitations",
        "The server answers with -32042, and does not say which page.",
        change_answer(CALL, error_instead(URL_ELICITATION_REQUIRED, "Sign in first.")),
    ),
    _by_url(
        "server-requires-a-visit-by-another-code",
        "elicitation-error-has-its-code",
        "The server lists a page to visit in an error with another code.",
        change_answer(CALL, error_instead(INTERNAL_ERROR, "Sign in first.", _VISIT_FIRST)),
    ),
    asking_server(
        "server-requires-a-visit-undeclared",
        "elicitation-error-to-a-client-with-url-mode",
        "The server answers with -32042, and the client has declared forms only.",
        one_question,
        obliging,
        change_answer(CALL, error_instead(URL_ELICITATION_REQUIRED, "Sign in first.", _VISIT_FIRST)),
        era="legacy",
    ),
    _by_url(
        "server-ends-an-unknown-visit",
        "elicitation-complete-is-of-a-known-id",
        "The server tells of the end of a visit that there never was.",
        add_before(CALL, lambda letter: _complete("visit-9")),
    ),
    _by_url(
        "server-ends-a-visit-twice",
        "elicitation-completes-once",
        "The server tells twice that a visit is over.",
        one_after_the_other(
            _NAMED,
            add_before(CALL, lambda letter: _complete("visit-1")),
            add_before(CALL, lambda letter: _complete("visit-1")),
        ),
    ),
    _by_url(
        "server-gives-two-visits-one-id",
        "elicitation-ids-are-unique",
        "The server sends its user to two pages under one id.",
        one_after_the_other(
            _NAMED, on_nth(2, change_params(ELICIT, members_with(url="https://travel.example/payment")))
        ),
        story=two_visits,
    ),
)
