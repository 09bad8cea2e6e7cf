"""Peers that misbehave in resources, prompts and completion."""

from __future__ import annotations

from typing import Any, Final

from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import add_before, change_result, set_in_result
from mcpsim.course.misbehaving.in_a_row import (
    Json,
    Step,
    answered,
    asking,
    by_client,
    by_server,
    complete,
    read,
    with_code,
)
from mcpsim.course.servers import archive, help_desk, notice_board, writing_desk
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS

DISCOVER: Final[Step] = ("server/discover", {})
RESOURCES: Final[Step] = ("resources/list", {})
TEMPLATES: Final[Step] = ("resources/templates/list", {})
PROMPTS: Final[Step] = ("prompts/list", {})
LETTER: Final[Step] = ("prompts/get", {"name": "letter", "arguments": {"country": "italy"}})
WHOLE_LETTER: Final[Step] = ("prompts/get", {"name": "letter", "arguments": {"city": "Pisa"}})
NO_PROMPT: Final[Step] = ("prompts/get", {"name": "poem"})
UP: Final = "file:///notices/../../etc/passwd"


def _contents(uri: str) -> list[Json]:
    return [{"uri": uri, "mimeType": "text/plain", "text": "Something."}]


def _messages(content: Json) -> list[Json]:
    return [{"role": "user", "content": content}]


def _all_the_same(result: Json) -> None:
    result["completion"] = {"values": [f"Pisa {number}" for number in range(101)], "hasMore": False}


def _update(letter: Any) -> Json:
    params = {"uri": "notice://tuesday"}
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}


RESOURCE_PEERS: Final[tuple[Misbehaviour, ...]] = (
    by_server(
        "server-says-404-for-a-missing-resource",
        "resource-not-found-code",
        "The server says by 404 that a resource does not exist.",
        asking(RESOURCES, read("notice://sunday")),
        with_code("resources/read", 404),
        notice_board,
    ),
    by_server(
        "server-gives-the-new-code-in-an-old-session",
        "resource-not-found-code-legacy",
        "The server says by -32602 that a resource does not exist, in a revision whose code is -32002.",
        asking(read("notice://sunday")),
        with_code("resources/read", INVALID_PARAMS),
        notice_board,
        era="legacy",
    ),
    by_server(
        "server-gives-nothing-for-a-missing-resource",
        "resource-missing-is-not-empty",
        "The server answers with no contents where the resource does not exist.",
        asking(TEMPLATES, RESOURCES, read("paper://lost")),
        answered("resources/read", contents=[]),
        writing_desk,
    ),
    by_server(
        "server-reads-what-is-no-uri",
        "resource-uris-validated",
        "The server gives contents for a text that is no URI.",
        asking(RESOURCES, read("the first notice")),
        answered("resources/read", contents=_contents("notice://monday")),
        notice_board,
    ),
    by_server(
        "server-follows-a-path-out-of-its-folder",
        "resource-path-traversal",
        "The server reads a file whose path leads above its root.",
        asking(RESOURCES, read(UP)),
        answered("resources/read", contents=_contents(UP)),
        notice_board,
    ),
    by_server(
        "server-lists-what-is-no-uri",
        "resource-uri-valid",
        "The server lists a resource whose uri has spaces in it.",
        asking(RESOURCES),
        change_result("resources/list", lambda result: result["resources"][0].update(uri="first notice")),
        notice_board,
    ),
    by_server(
        "server-lists-what-is-no-template",
        "resource-template-valid",
        "The server lists a template whose brace is never closed.",
        asking(TEMPLATES),
        change_result(
            "resources/templates/list",
            lambda result: result["resourceTemplates"][0].update(uriTemplate="notice://{day"),
        ),
        notice_board,
    ),
    by_server(
        "server-sends-bytes-as-they-are",
        "resource-blob-base64",
        "The server puts the text of a file where its base64 belongs.",
        asking(read("report://2020")),
        change_result(
            "resources/read",
            lambda result: result.update(contents=[{"uri": "report://2020", "blob": "The report."}]),
        ),
        archive,
    ),
    by_server(
        "server-gives-a-priority-of-ten",
        "annotations-valid",
        "The server gives a resource the priority 10, where 1 is the highest.",
        asking(RESOURCES),
        change_result(
            "resources/list", lambda result: result["resources"][0].update(annotations={"priority": 10})
        ),
        archive,
    ),
    by_server(
        "server-tells-who-has-not-subscribed",
        "resource-update-subscribed-legacy",
        "The server tells a client of an update to which it has not subscribed.",
        asking(RESOURCES),
        add_before("resources/list", _update),
        notice_board,
        era="legacy",
    ),
)

PROMPT_PEERS: Final[tuple[Misbehaviour, ...]] = (
    by_server(
        "server-blames-itself-for-a-wrong-prompt",
        "prompt-error-codes",
        "The server answers a prompt that does not exist by an internal error.",
        asking(NO_PROMPT),
        with_code("prompts/get", INTERNAL_ERROR),
        writing_desk,
    ),
    by_server(
        "server-gives-a-prompt-without-its-argument",
        "prompt-arguments-validated",
        "The server gives a prompt although the argument that it requires is missing.",
        asking(PROMPTS, LETTER),
        answered("prompts/get", messages=_messages({"type": "text", "text": "Write a letter from None."})),
        writing_desk,
    ),
    by_server(
        "server-puts-an-untyped-picture-into-a-prompt",
        "prompt-media-encoded",
        "The server gives a picture in a prompt a MIME type that is none.",
        asking(PROMPTS, WHOLE_LETTER),
        set_in_result(
            "prompts/get", "messages", to=_messages({"type": "image", "data": "R0lG", "mimeType": "gif"})
        ),
        writing_desk,
    ),
    by_server(
        "server-embeds-what-has-no-uri",
        "prompt-embedded-resource",
        "The server embeds a resource in a prompt under a text that is no URI.",
        asking(PROMPTS, WHOLE_LETTER),
        set_in_result(
            "prompts/get",
            "messages",
            to=_messages({"type": "resource", "resource": _contents("a blank sheet")[0]}),
        ),
        writing_desk,
    ),
    by_client(
        "client-forgets-a-required-argument",
        "prompt-required-arguments-given",
        "The client asks for a prompt without the argument that the server requires.",
        asking(PROMPTS, LETTER),
        asking(PROMPTS, WHOLE_LETTER),
        writing_desk,
    ),
)

COMPLETION_PEERS: Final[tuple[Misbehaviour, ...]] = (
    by_server(
        "server-completes-by-more-than-a-hundred",
        "completion-at-most-100-values",
        "The server completes an argument by 101 values, where 100 are the most.",
        asking(complete("P")),
        change_result("completion/complete", _all_the_same),
        writing_desk,
    ),
    by_server(
        "server-counts-wrong",
        "completion-totals-agree",
        "The server says that it gives all values, and gives fewer than it counts.",
        asking(complete("Pi")),
        change_result(
            "completion/complete", lambda result: result["completion"].update(total=7, hasMore=False)
        ),
        writing_desk,
    ),
    by_server(
        "server-completes-what-is-not-there",
        "completion-inputs-validated",
        "The server completes the argument of a prompt that it does not have.",
        asking(PROMPTS, complete("P", prompt="poem")),
        answered("completion/complete", completion={"values": ["Paris"]}),
        writing_desk,
    ),
    by_server(
        "server-refuses-completion-in-its-own-words",
        "completion-error-codes",
        "The server without completion refuses it by a code of its own.",
        asking(DISCOVER, complete("P")),
        with_code("completion/complete", 501),
        help_desk,
    ),
    by_client(
        "client-asks-at-every-letter",
        "completion-debounced",
        "The client asks for completions at every letter, however fast the user types.",
        asking(*(step for end in range(1, 6) for step in (complete("Paris"[:end]), 0.05))),
        asking(0.5, complete("Paris")),
        writing_desk,
    ),
    by_client(
        "client-refers-to-what-is-no-template",
        "completion-reference-valid",
        "The client asks for completions of a template whose brace is never closed.",
        asking(
            (
                "completion/complete",
                {
                    "ref": {"type": "ref/resource", "uri": "notice://{day"},
                    "argument": {"name": "day", "value": "m"},
                },
            )
        ),
        asking(
            (
                "completion/complete",
                {
                    "ref": {"type": "ref/resource", "uri": "notice://{day}"},
                    "argument": {"name": "day", "value": "m"},
                },
            )
        ),
        notice_board,
    ),
)
