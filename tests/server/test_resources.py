"""Resources and resource templates, in every revision."""

from __future__ import annotations

import base64
from typing import Any

import mcp_types
import pytest
from checked import simulate_checked
from revisions import BOTH_ERAS, BOTH_TRANSPORTS, EVERY_REVISION, LATEST_LEGACY, MODERN, ask, client_of

from mcpsim import Client, Context, Server
from mcpsim.errors import ProtocolError, RegistrationError, ResourceNotFound

ICON = {"src": "https://example.com/tea.png", "mimeType": "image/png", "sizes": ["48x48"]}
IMAGE = b"\x89PNG\r\n"


def library(**settings: Any) -> Server:
    server = Server("library", **settings)

    @server.resource("note://hello", mime_type="text/plain", size=5, annotations={"priority": 0.5})
    def hello() -> str:
        """A greeting."""
        return "hello"

    @server.resource("note://cover", name="Cover", title="The cover", mime_type="image/png", icons=[ICON])
    def cover() -> bytes:
        return IMAGE

    @server.resource("note://shelf", meta={"com.example/kind": "shelf"})
    async def shelf(context: Context) -> list[Any]:
        return [
            "one",
            b"two",
            {"uri": "note://shelf/3", "text": "three", "_meta": {"com.example/n": 3}},
            {"blob": b"four", "mimeType": "application/x-four"},
            mcp_types.TextResourceContents(uri="note://shelf/5", text=context.method),
        ]

    @server.resource("note://empty")
    def empty() -> list[str]:
        return []

    @server.resource("note://gone")
    def gone() -> str:
        raise ResourceNotFound("It was here yesterday.")

    @server.resource("note://broken")
    def broken() -> str:
        raise RuntimeError("the shelf fell down")

    @server.resource("note://odd")
    def odd() -> Any:
        return 5

    @server.resource_template("book://{title}", title="Books", mime_type="text/plain", icons=[ICON])
    def book(title: str) -> str:
        if title == "none":
            raise ResourceNotFound
        return f"the book {title}"

    @server.resource_template("page://{+book}/{number}{?mark}", description="A page.")
    def page(book: str, number: str, mark: str = "unread", *, context: Context) -> dict[str, str]:
        return {"text": f"{book}, page {number}, {mark}, {context.era}"}

    return server


def contents(server: Server, revision: str, uri: str, **more: Any) -> Any:
    return ask(server, revision, "resources/read", {"uri": uri}, **more)


@EVERY_REVISION
@BOTH_TRANSPORTS
def test_text_and_blobs(revision: str, transport: Any) -> None:
    server = library()
    text = contents(server, revision, "note://hello", transport=transport)
    blob = contents(server, revision, "note://cover", transport=transport)
    assert text["contents"] == [{"uri": "note://hello", "mimeType": "text/plain", "text": "hello"}]
    assert blob["contents"] == [
        {"uri": "note://cover", "mimeType": "image/png", "blob": base64.b64encode(IMAGE).decode()}
    ]
    hints = {"ttlMs", "cacheScope"} if revision == MODERN else set()
    assert set(text) == {"contents"} | hints


@EVERY_REVISION
def test_several_contents_at_once(revision: str) -> None:
    meta = {} if revision < "2025-06-18" else {"_meta": {"com.example/n": 3}}
    assert contents(library(), revision, "note://shelf")["contents"] == [
        {"uri": "note://shelf", "text": "one"},
        {"uri": "note://shelf", "blob": "dHdv"},
        {"uri": "note://shelf/3", "text": "three", **meta},
        {"uri": "note://shelf", "mimeType": "application/x-four", "blob": "Zm91cg=="},
        {"uri": "note://shelf/5", "text": "resources/read"},
    ]


@BOTH_ERAS
def test_a_resource_may_have_no_contents(revision: str) -> None:
    assert contents(library(), revision, "note://empty")["contents"] == []


@EVERY_REVISION
@pytest.mark.parametrize(
    "uri", ["note://nowhere", "note://gone", "book://none", "book://", "", "no uri", "book://%zz"]
)
def test_what_is_not_there(revision: str, uri: str) -> None:
    error = contents(library(), revision, uri)
    assert isinstance(error, ProtocolError)
    assert error.code == (-32602 if revision == MODERN else -32002)
    assert error.data == {"uri": uri}


@EVERY_REVISION
def test_no_file_leads_out_of_its_folder(revision: str) -> None:
    server = Server("files")
    read: list[str] = []

    @server.resource_template("file:///project/{+path}")
    def file(path: str) -> str:
        read.append(path)
        return path

    for path in ("../secret", "a/../../secret", "%2e%2E/secret", "a%2f..%2fb", "..%5csecret", ".."):
        error = contents(server, revision, f"file:///project/{path}")
        assert isinstance(error, ProtocolError), path
        assert error.message == "Resource not found"
    assert read == []
    assert contents(server, revision, "file:///project/a/..b/c..")["contents"][0]["text"] == "a/..b/c.."


@BOTH_ERAS
@pytest.mark.parametrize("uri", ["note://broken", "note://odd"])
def test_a_fault_of_the_handler_is_an_internal_error(revision: str, uri: str) -> None:
    error = contents(library(), revision, uri)
    assert isinstance(error, ProtocolError)
    assert (error.code, error.message) == (-32603, "Internal error")


@EVERY_REVISION
def test_templates_are_read(revision: str) -> None:
    server = library()
    assert contents(server, revision, "book://Tea%20time")["contents"] == [
        {"uri": "book://Tea%20time", "mimeType": "text/plain", "text": "the book Tea time"}
    ]
    era = "modern" if revision == MODERN else "legacy"
    for uri, text in {
        "page://a/b/7": f"a/b, page 7, unread, {era}",
        "page://a/7?mark=read": f"a, page 7, read, {era}",
    }.items():
        assert contents(server, revision, uri)["contents"] == [{"uri": uri, "text": text}]


@EVERY_REVISION
def test_the_lists(revision: str) -> None:
    server = library(ttl_ms=1_000)
    listed = ask(server, revision, "resources/list")
    assert [one["uri"] for one in listed["resources"]] == sorted(
        f"note://{name}" for name in ("hello", "cover", "shelf", "empty", "gone", "broken", "odd")
    )
    by_uri = {one["uri"]: one for one in listed["resources"]}
    assert by_uri["note://hello"] == {
        "uri": "note://hello",
        "name": "hello",
        "description": "A greeting.",
        "mimeType": "text/plain",
        "annotations": {"priority": 0.5},
        "size": 5,
    }
    titled = {"title": "The cover"} if revision >= "2025-06-18" else {}
    icons = {"icons": [ICON]} if revision >= "2025-11-25" else {}
    assert by_uri["note://cover"] == {
        "uri": "note://cover",
        "name": "Cover",
        "mimeType": "image/png",
        **titled,
        **icons,
    }
    assert ("_meta" in by_uri["note://shelf"]) is (revision >= "2025-06-18")

    templates = ask(server, revision, "resources/templates/list")
    assert templates["resourceTemplates"] == [
        {
            "uriTemplate": "book://{title}",
            "name": "book",
            "mimeType": "text/plain",
            **({"title": "Books"} if titled else {}),
            **icons,
        },
        {"uriTemplate": "page://{+book}/{number}{?mark}", "name": "page", "description": "A page."},
    ]
    for one in (listed, templates):
        assert ("ttlMs" in one, "cacheScope" in one) == (revision == MODERN,) * 2


def test_hints_of_a_resource_go_before_those_of_the_server() -> None:
    server = Server("library", ttl_ms=5, cache_scope="public")
    server.resource("a://plain")(lambda: "")
    server.resource("a://own", ttl_ms=0, cache_scope="private")(lambda: "")
    server.resource_template("a://{x}/kept", ttl_ms=9_000)(lambda x: x)
    hints = {
        uri: {key: result[key] for key in ("ttlMs", "cacheScope")}
        for uri in ("a://plain", "a://own", "a://b/kept")
        for result in [contents(server, MODERN, uri)]
    }
    assert hints == {
        "a://plain": {"ttlMs": 5, "cacheScope": "public"},
        "a://own": {"ttlMs": 0, "cacheScope": "private"},
        "a://b/kept": {"ttlMs": 9_000, "cacheScope": "public"},
    }
    with pytest.raises(ValueError, match="ttl_ms must be 0 or more"):
        server.resource("a://c", ttl_ms=-1)
    with pytest.raises(ValueError, match="cache_scope must be one of"):
        server.resource_template("a://{c}", cache_scope="shared")


def test_what_rests_on_a_users_answer_is_not_to_be_kept() -> None:
    server = Server("library", ttl_ms=60_000, cache_scope="public")
    server.resource("a://b")(lambda: "")
    result = ask(server, MODERN, "resources/read", {"uri": "a://b", "inputResponses": {}})
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


@BOTH_ERAS
@BOTH_TRANSPORTS
def test_without_resources_nothing_of_them_is_there(revision: str, transport: Any) -> None:
    server = Server("empty")
    for method, params in {
        "resources/list": None,
        "resources/templates/list": None,
        "resources/read": {"uri": "a://b"},
        "prompts/list": None,
        "prompts/get": {"name": "a"},
        "tools/list": None,
    }.items():
        error = ask(server, revision, method, params, transport=transport)
        assert isinstance(error, ProtocolError)
        assert error.code == -32601


def test_a_template_alone_declares_resources_and_answers_an_empty_list() -> None:
    server = Server("library")
    server.resource_template("a://{x}")(lambda x: x)
    assert server.capabilities() == {"resources": {}}
    assert ask(server, LATEST_LEGACY, "resources/list") == {"resources": []}


def test_the_own_resource_goes_before_a_template_and_the_closer_template_before_the_wider() -> None:
    server = Server("library")
    server.resource_template("a://{+rest}")(lambda rest: "wide")
    server.resource_template("a://b/{x}")(lambda x: "close")
    server.resource("a://b/c")(lambda: "own")
    texts = [contents(server, MODERN, uri)["contents"][0]["text"] for uri in ("a://b/c", "a://b/d", "a://d")]
    assert texts == ["own", "close", "wide"]


def test_a_typed_client_reads_them() -> None:
    async def story(client: Client) -> list[Any]:
        page = await client.list_resources()
        read = await client.read_resource("book://Tea")
        return [len(page.resources), read.contents[0]]

    for revision in (LATEST_LEGACY, MODERN):
        run = simulate_checked(story, server=library(), client=client_of(revision))
        assert run.value[0] == 7
        assert run.value[1].text == "the book Tea"


def wants(needed: str) -> str:
    return needed


@pytest.mark.parametrize(
    ("declare", "match"),
    [
        (lambda server: server.resource("no uri")(lambda: ""), "no URI by RFC 3986"),
        (lambda server: server.resource("a://{b}")(lambda b: ""), "@server.resource_template"),
        (lambda server: server.resource("a://b c")(lambda: ""), "no URI by RFC 3986"),
        (lambda server: server.resource("a://ü")(lambda: ""), "no URI by RFC 3986"),
        (lambda server: server.resource("a://b")(wants), "needs 'needed', and nothing gives it"),
        (
            lambda server: [server.resource("a://b")(lambda: "") for _ in "12"],
            "has a resource at 'a://b' already",
        ),
        (lambda server: server.resource_template("a://{x")(wants), "never closed"),
        (lambda server: server.resource_template("a://{x}")(wants), "no parameter for 'x'"),
        (lambda server: server.resource_template("a://b")(wants), "needs 'needed', which is no variable"),
        (lambda server: server.resource_template("a://{context}")(lambda context: ""), "is the Context"),
        (
            lambda server: [server.resource_template("a://{x}")(lambda x: "") for _ in "12"],
            "has a resource template named 'a://{x}' already",
        ),
        (
            lambda server: server.resource_template("a://{x}", complete={"y": lambda v, c: []})(lambda x: ""),
            "complete names 'y'",
        ),
    ],
)
def test_what_cannot_be_registered(declare: Any, match: str) -> None:
    server = Server("library")
    with pytest.raises(RegistrationError, match=match):
        declare(server)


def test_a_variable_is_a_string_and_one_with_a_star_a_list() -> None:
    server = Server("library")

    def numbered(number: int) -> str:
        return str(number)

    def walk(path: list[str]) -> str:
        return " > ".join(path)

    with pytest.raises(RegistrationError, match="'number' is a string, not int"):
        server.resource_template("a://{number}")(numbered)
    server.resource_template("tree:/{/path*}")(walk)
    assert contents(server, MODERN, "tree://a/b%2Fc")["contents"][0]["text"] == "a > b/c"


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"size": -1}, "a size is 0 bytes or more"),
        ({"size": "5"}, "size: "),
        ({"annotations": {"priority": 2}}, r"annotations\.priority"),
        ({"annotations": {"lastModified": "yesterday"}}, r"annotations\.lastModified"),
        ({"annotations": {"lastModified": "2025-02-30T00:00:00Z"}}, r"annotations\.lastModified"),
        ({"annotations": {"audience": ["model"]}}, r"annotations\.audience\.0"),
        ({"icons": [{"sizes": ["48x48"]}]}, r"icons\.0\.src"),
        ({"meta": {"io.modelcontextprotocol/x": 1}}, "is kept for the protocol"),
        ({"meta": {"not a key": 1}}, "has not the form of one"),
        ({"description": "\ud800"}, "cannot be sent"),
    ],
)
def test_a_definition_is_what_the_protocol_has(more: Any, match: str) -> None:
    with pytest.raises(RegistrationError, match=match):
        Server("library").resource("a://b", **more)(lambda: "")


@BOTH_ERAS
@pytest.mark.parametrize(
    "returned", [{"blob": "no Base64"}, {"blob": "aGk"}, {"text": 5}, {"uri": 5, "text": ""}, {}]
)
def test_contents_that_are_none_are_the_servers_fault(revision: str, returned: Any) -> None:
    server = Server("library")
    server.resource("a://b")(lambda: returned)
    error = contents(server, revision, "a://b")
    assert isinstance(error, ProtocolError)
    assert error.code == -32603


def asking() -> Server:
    server = Server("library", ttl_ms=60_000, cache_scope="public")
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}

    @server.resource("a://secret")
    async def secret(context: Context) -> str:
        answer = await context.elicit("The password?", schema)
        return f"{answer.action} {answer.content}"

    @server.prompt()
    async def greet(context: Context) -> str:
        answer = await context.elicit("The password?", schema)
        return f"{answer.action} {answer.content}"

    return server


@pytest.mark.parametrize(
    ("method", "params"), [("resources/read", {"uri": "a://secret"}), ("prompts/get", {"name": "greet"})]
)
def test_a_handler_may_ask_and_what_it_asks_is_not_to_be_kept(method: str, params: Any) -> None:
    async def story(client: Client) -> Any:
        first = await client.request(method, params)
        answers = {key: {"action": "accept", "content": {"word": "tea"}} for key in first["inputRequests"]}
        again = {**params, "inputResponses": answers, "requestState": first["requestState"]}
        return first, await client.request(method, again)

    client = client_of(MODERN, capabilities={"elicitation": {"form": {}}})
    first, second = simulate_checked(story, server=asking(), client=client).value
    assert first["resultType"] == "input_required"
    assert not {"ttlMs", "cacheScope", "contents", "messages"} & first.keys()
    assert second["resultType"] == "complete"
    if method == "resources/read":
        assert second["contents"][0]["text"] == "accept {'word': 'tea'}"
        assert (second["ttlMs"], second["cacheScope"]) == (0, "private")
    else:
        assert second["messages"][0]["content"]["text"] == "accept {'word': 'tea'}"
        assert "ttlMs" not in second
