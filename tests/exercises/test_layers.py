"""Exercises 02: layers and transports. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

import pytest

from mcpsim import MalformedMessage, Request, read_message
from mcpsim.course import Headers, exercises
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.set_02_layers_and_transports import gate, noise, post, reader
from mcpsim.transports.http import header_problems, modern_headers
from mcpsim.transports.stdio import LineReader
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.layers


# --- 02, noise ------------------------------------------------------------------------------------

LINES: Final = {
    "A": "not JSON",
    "B": "message",
    "C": "no message",
    "D": "message",
    "E": "not JSON",
    "F": "wrong way",
    "G": "message",
    "H": "not JSON",
    "I": "message",
    "J": "no message",
}

NOISE: Final = [
    ("noise", dict(reversed(LINES.items()))),
    (
        "noise",
        {**LINES, "B": "not JSON"},
        "9 of 10 are right. B is not 'not JSON'",
        "MUST NOT write anything",
    ),
    ("noise", {**LINES, "C": "message"}, "no `jsonrpc`", "that is not a valid MCP message"),
    ("noise", {**LINES, "D": "wrong way"}, "It is a notification", "MUST NOT write anything"),
    ("noise", {**LINES, "E": "message"}, "printed without a newline", "not a valid MCP message"),
    ("noise", {**LINES, "F": "message"}, "This server is modern", "MUST NOT write requests"),
    ("noise", {**LINES, "G": "wrong way"}, "an error response", "MUST NOT write anything"),
    ("noise", {**LINES, "H": "message"}, "0xFC", "UTF-8"),
    ("noise", {**LINES, "I": "not JSON"}, "Blanks", "MUST NOT write anything"),
    ("noise", {**LINES, "J": "message"}, "an array", "MUST NOT write anything"),
    ("noise", {**LINES, "A": "stderr"}, "A: 'stderr' is none of the words", '"not JSON"'),
    ("noise", {**LINES, "A": ...}, "9 of 10 are answered", "Still open: A"),
]

# --- 02, statuses ---------------------------------------------------------------------------------

STATUSES_: Final = {
    "A": "answered",
    "B": "read on",
    "C": "taken in",
    "D": "broken",
    "E": "broken",
    "F": "refused",
    "G": "broken",
    "H": "refused",
    "I": "broken",
    "J": "refused",
    "K": "refused",
    "L": "answered",
}

STATUSES: Final = [
    ("statuses", dict(reversed(STATUSES_.items()))),
    ("statuses", {**STATUSES_, "B": "answered"}, "still to come", "MUST support both"),
    ("statuses", {**STATUSES_, "D": "taken in"}, "A request, and 202", "one JSON object"),
    ("statuses", {**STATUSES_, "E": "taken in"}, "200 with a body", "202 Accepted with no body"),
    ("statuses", {**STATUSES_, "F": "broken"}, "does not have the method", "404 Not Found"),
    ("statuses", {**STATUSES_, "G": "refused"}, "the status says that all is well", "404 Not Found"),
    ("statuses", {**STATUSES_, "I": "answered"}, "text/plain", "application/json"),
    ("statuses", {**STATUSES_, "J": "broken"}, "405", "SHOULD answer GET with 405"),
    ("statuses", {**STATUSES_, "K": "broken"}, "A body is optional", "an HTTP error status"),
    ("statuses", {**STATUSES_, "L": "read on"}, "Nothing more is to come", "MUST support both"),
]

# --- 02, reader -----------------------------------------------------------------------------------


def by_lines(pieces: list[bytes], *, as_what: Callable[[bytes], Any] = json.loads) -> list[Any]:
    """Right: with mcpsim's own reader of lines."""
    lines = LineReader()
    found: list[Any] = []
    for piece in pieces:
        for line in lines.feed(piece):
            assert isinstance(line, bytes)
            try:
                read_message(line)
            except MalformedMessage:
                continue
            found.append(as_what(line))
    return found


def by_state(pieces: list[bytes]) -> list[Any]:
    """Right: byte by byte."""
    found: list[Any] = []
    line = bytearray()
    for byte in b"".join(pieces):
        if byte != 10:
            line.append(byte)
            continue
        try:
            message = json.loads(str(line, "utf-8"))
            if message["jsonrpc"] == "2.0":
                found.append(message)
        except (ValueError, KeyError, TypeError):
            pass
        line.clear()
    return found


def each_piece(pieces: list[bytes]) -> list[Any]:
    return by_state([piece + b"\n" for piece in pieces])


def forgets_the_rest(pieces: list[bytes]) -> list[Any]:
    found: list[Any] = []
    for piece in pieces:
        *lines, _rest = piece.split(b"\n")
        found += by_state([line + b"\n" for line in lines])
    return found


def takes_the_rest(pieces: list[bytes]) -> list[Any]:
    return by_state([*pieces, b"\n"])


def by_text_lines(pieces: list[bytes]) -> list[Any]:
    lines = b"".join(pieces).decode("utf-8", "replace").splitlines(keepends=True)
    return by_state(
        [line.rstrip().encode() + b"\n" for line in lines if line.endswith("\n") or len(line) > 9]
    )


def decodes_pieces(pieces: list[bytes]) -> list[Any]:
    return by_state(["".join(piece.decode() for piece in pieces).encode()])


def takes_any_json(pieces: list[bytes]) -> list[Any]:
    found: list[Any] = []
    for line in b"".join(pieces).split(b"\n")[:-1]:
        try:
            found.append(json.loads(line.decode()))
        except ValueError:
            continue
    return found


def stops_at_noise(pieces: list[bytes]) -> list[Any]:
    return [json.loads(line) for line in b"".join(pieces).split(b"\n")[:-1]]


def replaces_bytes(pieces: list[bytes]) -> list[Any]:
    return by_state([b"".join(pieces).decode("ascii", "replace").encode()])


READER: Final = [
    ("reader", by_state),
    ("reader", by_lines),
    ("reader", lambda pieces: tuple(by_lines(pieces, as_what=bytes))),
    ("reader", lambda pieces: by_lines(pieces, as_what=read_message)),
    ("reader", each_piece, "cut into short pieces", "A piece may end anywhere"),
    ("reader", forgets_the_rest, "cut into short pieces", "Keep the rest"),
    ("reader", takes_the_rest, "ends in the middle of a message", "when its newline is there"),
    ("reader", by_text_lines, "letters of several bytes and unusual spaces", "Only the byte 0x0A"),
    ("reader", decodes_pieces, "`decodes_pieces` raised UnicodeDecodeError", "Call it yourself"),
    ("reader", takes_any_json, "JSON that is no message", "go on with the next one"),
    ("reader", stops_at_noise, "`stops_at_noise` raised JSONDecodeError", "Call it yourself"),
    ("reader", replaces_bytes, "letters of several bytes", "decode whole lines"),
    ("reader", lambda pieces: None, "returned None", "Return a list"),
    ("reader", lambda pieces: by_state(pieces)[::-1], "as message 1, which is", "next one"),
]

# --- 02, post -------------------------------------------------------------------------------------


def by_mcpsim(message: Mapping[str, Any]) -> Headers:
    return modern_headers(Request(message["id"], message["method"], message["params"]))


def all_encoded(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Right: a name that is encoded without need is decoded all the same."""
    headers = (
        by_mcpsim(message).without("Mcp-Name").with_("accept", "text/event-stream;q=0.5, application/json")
    )
    name = name_of(message)
    if name is not None:
        headers = headers.with_("mcp-name", in_base64(name))
    return list(headers.items())


def name_of(message: Mapping[str, Any]) -> str | None:
    key = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(message["method"])
    return None if key is None else message["params"][key]


def in_base64(name: str) -> str:
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


def with_name(rewrite: Callable[[str], str]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Headers whose name is written in some way."""

    def headers_of(message: Mapping[str, Any]) -> dict[str, Any]:
        headers = by_mcpsim(message).without("Mcp-Name").to_dict()
        name = name_of(message)
        return headers if name is None else {**headers, "Mcp-Name": rewrite(name)}

    return headers_of


def changed(**changes: Any) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def headers_of(message: Mapping[str, Any]) -> dict[str, Any]:
        headers = by_mcpsim(message).to_dict()
        for name, value in changes.items():
            headers[name.replace("_", "-")] = value
        return {name: value for name, value in headers.items() if value != ""}

    return headers_of


def names_only(message: Mapping[str, Any]) -> dict[str, Any]:
    """Takes `name` wherever there is one, and forgets the URI."""
    headers = with_name(in_base64)(message)
    if message["method"] == "resources/read":
        del headers["Mcp-Name"]
    return headers


def if_ascii(name: str) -> str:
    return name if name.isascii() else in_base64(name)


def if_printable(name: str) -> str:
    return name if name.isascii() and name.isprintable() else in_base64(name)


def if_stripped(name: str) -> str:
    return name if name.isascii() and name.isprintable() and name == name.strip() else in_base64(name)


def in_latin_1(name: str) -> str:
    return f"=?base64?{base64.b64encode(name.encode('latin-1', 'replace')).decode()}?="


def url_safe(name: str) -> str:
    return f"=?base64?{base64.urlsafe_b64encode(name.encode()).decode()}?="


def capitals(name: str) -> str:
    return name.upper()


POST: Final = [
    ("post", by_mcpsim),
    ("post", all_encoded),
    ("post", with_name(in_base64)),
    (
        "post",
        changed(Accept="application/json"),
        "text/event-stream is not listed",
        "lists `application/json`",
    ),
    ("post", changed(Accept="*/*"), "`Accept` is '*/*'", "lists `application/json`"),
    ("post", changed(Accept=""), "`Accept` is None", "MUST include an `Accept` header"),
    ("post", changed(MCP_Protocol_Version="2026-07-28"), "version 2027-01-01", "MUST match the version"),
    ("post", changed(Mcp_Method=""), "The header Mcp-Method is missing", "on all requests"),
    ("post", changed(Mcp_Name=""), "The header Mcp-Name is missing", "They are required"),
    ("post", names_only, "a `resources/read`", "`params.uri`"),
    ("post", with_name(str), "a name with other letters than ASCII", "Base64 of its UTF-8"),
    ("post", with_name(if_ascii), "a name with a blank at its end", "Blanks at either end"),
    ("post", with_name(if_printable), "a name with a blank at its end", "should be sent as '=?base64?"),
    ("post", with_name(if_stripped), "a name that looks like an encoded one", "looks like that form itself"),
    ("post", with_name(in_latin_1), "other letters than ASCII", "UTF-8"),
    ("post", with_name(capitals), "a `tools/call`, '", "should be sent as"),
    ("post", lambda message: {"Accept": None}, "The header 'Accept' has the value None", "Return a dict"),
    ("post", lambda message: "Accept: */*", "returned 'Accept: */*'", "Return a dict"),
]

# --- 02, gate -------------------------------------------------------------------------------------


def by_problems(headers: Mapping[str, str], body: Mapping[str, Any]) -> bool:
    return not header_problems(Headers(headers), Request(body["id"], body["method"], body["params"]))


def checker(
    *,
    fold: Callable[[str], str] = str.lower,
    value: Callable[[Any], Any] = lambda text: text,
    decode: Callable[[Any], Any] | None = None,
    missing_is_fine: bool = False,
    named: Mapping[str, str] | None = None,
    version: bool = True,
) -> Callable[[Any, Any], bool]:
    """The check, with something wrong in it."""
    names = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"} if named is None else named

    def agrees(headers: Mapping[str, str], body: Mapping[str, Any]) -> bool:
        given = {fold(name): text for name, text in headers.items()}
        params = body["params"]
        wanted = [(fold("Mcp-Method"), body["method"])]
        if version:
            declared = params["_meta"]["io.modelcontextprotocol/protocolVersion"]
            wanted.append((fold("MCP-Protocol-Version"), declared))
        if body["method"] in names:
            wanted.append((fold("Mcp-Name"), params.get(names[body["method"]])))
        for name, text in wanted:
            said = given.get(name)
            if said is None and missing_is_fine:
                continue
            if name == fold("Mcp-Name"):
                said = (decode or strict)(said)
            if value(said) != value(text):
                return False
        return True

    return agrees


def strict(text: str | None) -> str | None:
    if text is None or not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    try:
        return base64.b64decode(text[9:-2], validate=True).decode()
    except ValueError:
        return None


def folded(text: str | None) -> str | None:
    return None if text is None else text.lower()


def any_case(text: str | None) -> str | None:
    return strict(text.replace("=?BASE64?", "=?base64?")) if text else text


def careless(text: str | None) -> str | None:
    is_marked = text is not None and text.startswith("=?base64?")
    return base64.b64decode(text[9:-2], validate=True).decode() if text and is_marked else text


def without_care(text: str | None) -> str | None:
    """What most write first: right for everything that is well-formed."""
    if text is None or not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return base64.b64decode(text[9:-2]).decode()


def only_base64(text: str | None) -> str | None:
    if text is None or not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    try:
        data = base64.b64decode(text[9:-2])
    except binascii.Error:
        return None
    return data.decode()


def raw_or_decoded(headers: Any, body: Any) -> bool:
    return checker(decode=lambda text: text)(headers, body) or checker()(headers, body)


BY_NAME: Final = dict.fromkeys(("tools/call", "prompts/get", "resources/read"), "name")
CALLS_ONLY: Final = {"tools/call": "name"}

GATE: Final = [
    ("gate", by_problems),
    ("gate", checker()),
    ("gate", lambda headers, body: True, "lets this request pass: Mcp-Name names another", "MUST reject"),
    ("gate", lambda headers, body: False, "refuses this request: headers and body", "are required"),
    ("gate", checker(missing_is_fine=True), "lets this request pass: Mcp-Name is missing", "are missing"),
    ("gate", checker(version=False), "the version in the header is another one", "MUST match the version"),
    ("gate", checker(named=CALLS_ONLY), "Mcp-Name is missing on a read", "are missing"),
    ("gate", checker(named=BY_NAME), "refuses this request: headers and body of this read", "`params.uri`"),
    ("gate", checker(fold=str), "the names of the headers are in small letters", "without regard to case"),
    ("gate", checker(value=folded), "Mcp-Method is written in capitals", "case-sensitive"),
    ("gate", checker(decode=lambda text: text), "the name is encoded", "MUST decode"),
    ("gate", checker(decode=any_case), "the mark of the encoding is in capitals", "UTF-8"),
    ("gate", checker(decode=careless), "raised Error", "ex.gate.check(agrees).arguments` holds all of them"),
    ("gate", checker(decode=without_care), "raised Error: Incorrect padding", "is our reading"),
    ("gate", checker(decode=only_base64), "raised UnicodeDecodeError", "is our reading"),
    ("gate", raw_or_decoded, "sent as it is. Decoded it is another name", "looks like that form itself"),
    ("gate", lambda headers, body: -32020, "returned -32020", "Return True or False"),
]


# --- All ------------------------------------------------------------------------------------------

ALL: Final[list[tuple[Any, ...]]] = [*NOISE, *STATUSES, *READER, *POST, *GATE]


@pytest.mark.parametrize("letter", noise.LINES)
def test_the_lines_are_what_the_answers_say(letter: str) -> None:
    assert noise.SPECIMENS[letter].word == word_of(noise.LINES[letter].removesuffix(b"\n"))


def word_of(line: bytes) -> str:
    try:
        message = read_message(line)
    except MalformedMessage as error:
        return {-32700: "not JSON", -32600: "no message"}[error.code]
    return "wrong way" if isinstance(message, Request) else "message"


@pytest.mark.parametrize("seed", range(20))
def test_every_stream_holds_what_it_says(seed: int) -> None:
    for stream in reader.streams(seed):
        for line, is_message in stream.lines:
            assert line.count(b"\n") == line.endswith(b"\n")
            try:
                read_message(line.removesuffix(b"\n"))
            except MalformedMessage:
                assert not is_message
            else:
                assert is_message == line.endswith(b"\n")
        pieces = stream.pieces(Random(seed))
        assert b"".join(pieces) == b"".join(line for line, _ in stream.lines)


@pytest.mark.parametrize("seed", range(20))
def test_every_request_at_the_gate_is_what_it_says(seed: int) -> None:
    for case in gate.cases(seed):
        assert (not header_problems(Headers(case.headers), case.request)) == case.passes, case.what


def test_the_data_depends_on_the_seed_and_on_nothing_else() -> None:
    for made in (reader.streams, post.requests, gate.cases):
        once, again, other = (list(map(repr, made(seed))) for seed in (1, 1, 2))
        assert once == again
        assert once != other


def test_what_was_given_when_an_answer_raised_can_be_given_again() -> None:
    def empties(pieces: list[bytes]) -> Any:
        pieces.clear()
        raise ValueError("no more")

    verdict = exercises.layers().reader.check(empties)
    assert "`ex.reader.check(messages_in).arguments` holds all of them" in verdict.look
    assert verdict.arguments is not None
    (pieces,) = verdict.arguments
    assert b"".join(pieces).endswith(b"\n")
    with pytest.raises(ValueError, match="no more"):
        empties(*verdict.arguments)
    assert exercises.layers().reader.check(lambda pieces: []).arguments is None
