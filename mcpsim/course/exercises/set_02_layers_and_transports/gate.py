"""Exercise: compare headers with the body, as a server has to."""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.set_02_layers_and_transports.rules import (
    CASES,
    DECODED,
    ENCODING,
    HTTP,
    MALFORMED,
    STANDARD_HEADERS,
    VALIDATION,
    VERSION_HEADER,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.revisions import LATEST_MODERN
from mcpsim.messages import CLIENT_CAPABILITIES, PROTOCOL_VERSION, Request, to_object
from mcpsim.transports.http import (
    METHOD_HEADER,
    NAME_HEADER,
    PROTOCOL_VERSION_HEADER,
    encode_header_value,
    modern_headers,
)

SEEDS: Final = (1, 2, 3)

Headers = dict[str, str]


@dataclass(frozen=True, slots=True)
class Case:
    """One request at the gate.

    Attributes:
        what: what is special about it, as a sentence without its stop.
        headers: its headers, spelled in any way.
        request: its body.
        passes: whether they agree.
        rule: what decides.
    """

    what: str
    headers: Headers
    request: Request
    passes: bool
    rule: Rule


def cases(seed: int) -> Iterator[Case]:
    """Requests of every kind, the simple ones first."""
    rng = Random(f"gate:{seed}")
    call = _named(rng, "tools/call", rng.choice(["add_hours", "find_ticket"]))
    other = "export_report"
    listing = _request(rng, "tools/list")
    read = _named(rng, "resources/read", f"notice://{rng.choice(['monday', 'friday'])}")
    prompt = _named(rng, "prompts/get", f"letter-{rng.randrange(9)}")
    odd = _named(rng, rng.choice(["tools/call", "prompts/get"]), rng.choice(["Büro", "日本", " padded "]))
    future = _request(rng, "tools/list", version="2027-01-01")

    for request, what in ((call, "call"), (listing, "list"), (read, "read"), (prompt, "prompt")):
        yield Case(f"headers and body of this {what} agree", _right(request), request, True, STANDARD_HEADERS)
    yield Case("Mcp-Name names another tool", _right(call, {NAME_HEADER: other}), call, False, VALIDATION)
    yield Case("Mcp-Name is missing", _without(call, NAME_HEADER), call, False, VALIDATION)
    yield Case("Mcp-Name is missing on a read", _without(read, NAME_HEADER), read, False, VALIDATION)
    yield Case(
        "Mcp-Method names another method",
        _right(call, {METHOD_HEADER: "tools/list"}),
        call,
        False,
        VALIDATION,
    )
    yield Case("Mcp-Method is missing", _without(listing, METHOD_HEADER), listing, False, VALIDATION)
    yield Case(
        "the version in the header is another one",
        _right(listing, {PROTOCOL_VERSION_HEADER: "2027-01-01"}),
        listing,
        False,
        VERSION_HEADER,
    )
    yield Case(
        "MCP-Protocol-Version is missing",
        _without(call, PROTOCOL_VERSION_HEADER),
        call,
        False,
        VERSION_HEADER,
    )
    yield Case(
        "header and body declare the same version, one that nobody knows. Whether the server speaks it is "
        "another question",
        _right(future),
        future,
        True,
        VERSION_HEADER,
    )
    yield Case("the names of the headers are in small letters", _spelled(call, str.lower), call, True, CASES)
    yield Case("the names of the headers are in capitals", _spelled(prompt, str.upper), prompt, True, CASES)
    yield Case(
        "Mcp-Method is written in capitals",
        _right(call, {METHOD_HEADER: call.method.upper()}),
        call,
        False,
        CASES,
    )
    yield Case("the name is encoded", _right(odd), odd, True, DECODED)
    yield Case(
        "a plain name is encoded, too",
        _right(call, {NAME_HEADER: _encoded(_name(call))}),
        call,
        True,
        DECODED,
    )
    yield Case(
        "the name is encoded, and decoded it is another one",
        _right(odd, {NAME_HEADER: _encoded(_name(odd) + "s")}),
        odd,
        False,
        DECODED,
    )
    yield Case(
        "the mark of the encoding is in capitals, so it is none",
        _right(odd, {NAME_HEADER: encode_header_value(_name(odd)).replace("base64", "BASE64")}),
        odd,
        False,
        ENCODING,
    )
    for what, content in _MALFORMED.items():
        yield Case(
            f"what is marked as Base64 {what}",
            _right(call, {NAME_HEADER: f"=?base64?{content}?="}),
            call,
            False,
            MALFORMED,
        )
    lookalike = _named(rng, "tools/call", "=?base64?ZmluZA==?=")
    yield Case(
        "the name looks like an encoded one, and is sent as it is. Decoded it is another name",
        _right(lookalike, {NAME_HEADER: _name(lookalike)}),
        lookalike,
        False,
        ENCODING,
    )
    yield Case(
        "the name looks like an encoded one, and is encoded itself",
        _right(lookalike),
        lookalike,
        True,
        DECODED,
    )
    more = {"User-Agent": "workbook", "X-Trace": str(rng.randrange(99)), "Accept-Language": "de"}
    yield Case("there are more headers than these", _right(read, more), read, True, STANDARD_HEADERS)
    yield Case(
        "the arguments of the call have a name of their own",
        _right(call),
        Request(call.id, call.method, {**(call.params or {}), "arguments": {"name": other, "uri": other}}),
        True,
        STANDARD_HEADERS,
    )


# What no reader of Base64, or of UTF-8, makes a name of.
_MALFORMED: Final = {
    "is none": "***",
    "is cut off": "abc",
    "holds bytes that are not UTF-8": "/w==",
    "has nothing in it": "",
}


def _request(rng: Random, method: str, *, version: str = LATEST_MODERN, **params: Any) -> Request:
    meta: dict[str, Any] = {PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {}}
    return Request(rng.randrange(1, 1_000), method, {**params, "_meta": meta})


def _named(rng: Random, method: str, name: str) -> Request:
    return _request(rng, method, **{"uri" if method == "resources/read" else "name": name})


def _name(request: Request) -> str:
    return str((request.params or {})["name"])


def _right(request: Request, changes: Headers | None = None) -> Headers:
    return {**modern_headers(request).to_dict(), **(changes or {})}


def _without(request: Request, header: str) -> Headers:
    return {name: value for name, value in _right(request).items() if name != header}


def _spelled(request: Request, spell: Any) -> Headers:
    return {spell(name): value for name, value in _right(request).items()}


def _encoded(name: str) -> str:
    # Also where it need not be.
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


def grade(answer: object, learner: Learner) -> Passed:
    """Call the function with requests of every kind."""
    seen = 0
    for seed in SEEDS:
        for case in cases(seed):
            body = to_object(case.request)
            on = f"headers {show(case.headers)} and the body {show(body)}"
            value = learner.call(answer, dict(case.headers), copy.deepcopy(body), on=on, rule=case.rule)
            if is_placeholder(value):
                raise NotAttempted
            if not isinstance(value, bool):
                raise NotYet(f"{name_of(answer)} returned {show(value)}.", look="Return True or False.")
            if value is not case.passes:
                raise _refusal(answer, case, value)
            seen += 1
    return Passed(f"{seen} requests: those that agree pass, and all others are refused.", VALIDATION)


def _refusal(answer: object, case: Case, value: bool) -> NotYet:
    shown = {name: text for name, text in case.headers.items() if name.lower().startswith("mcp-")}
    did = "lets this request pass" if value else "refuses this request"
    return NotYet(
        f"{name_of(answer)} {did}: {case.what}. Its headers: {show(shown)}. Its body: `{case.request.method}`"
        f"{_about(case.request)}.",
        case.rule,
        "Each header that has to be there: is it there, and does it say the same as the body?",
    )


def _about(request: Request) -> str:
    params = request.params or {}
    named = next((f" for {show(params[key])}" for key in ("name", "uri") if key in params), "")
    return f"{named}, version {show(params['_meta'][PROTOCOL_VERSION])}"


TASK: Final = Task(
    name="gate",
    title="Check the headers",
    text=f"""\
Now the other side. Write the check of a server: it is given the headers of a modern request and its body, and
returns True where they agree and False where the request has to be refused (with 400 and -32020).

- `headers` is a dict. Its names are spelled as the client spelled them.
- `body` is the request, an object. It is well-formed, and its `params` have what the method needs.
- `{PROTOCOL_VERSION_HEADER}` and `{METHOD_HEADER}` have to be there always, `{NAME_HEADER}` on `tools/call`,
  `prompts/get` and `resources/read`.
- Other headers are none of your business.""",
    answer="agrees",
    starter='''\
import base64


def agrees(headers, body):
    """Whether the headers of a modern request say the same as its body."""
    return ...''',
    hints=(
        "Make a dict whose keys are the names in small letters: then the spelling of the client does not "
        "matter. Leave the values as they are.",
        "For each of the two or three headers: what does the body say there? A header that is missing is not "
        "equal to it.",
        "Decode `Mcp-Name` before you compare: only where it begins with `=?base64?` and ends with `?=`. "
        "`base64.b64decode(text, validate=True).decode()` raises a ValueError where that is no Base64 of "
        "UTF-8.",
    ),
    solution=(
        """\
import base64


def decoded(value):
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
    except ValueError:
        return None""",
        """\
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def agrees(headers, body):
    given = {name.lower(): value for name, value in headers.items()}
    params = body["params"]
    version = params["_meta"]["io.modelcontextprotocol/protocolVersion"]
    right = given.get("mcp-protocol-version") == version and given.get("mcp-method") == body["method"]
    if body["method"] in NAMED:
        right = right and decoded(given.get("mcp-name")) == params[NAMED[body["method"]]]
    return right""",
    ),
    why="A gateway may have let the request through for what its headers say. Where the server runs what the "
    "body says, the two must be the same.",
    grade=grade,
    pages=(
        ("server validation", f"{HTTP}#server-validation"),
        ("case sensitivity", f"{HTTP}#case-sensitivity"),
        ("value encoding", f"{HTTP}#value-encoding"),
    ),
    points=15,
)
