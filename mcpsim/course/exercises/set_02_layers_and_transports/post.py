"""Exercise: make the headers of the POST that carries a modern request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any, Final, cast

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text, items_of
from mcpsim.course.exercises.set_02_layers_and_transports.rules import (
    ACCEPTS_BOTH,
    ENCODING,
    HTTP,
    STANDARD_HEADERS,
    VERSION_HEADER,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.revisions import LATEST_MODERN
from mcpsim.messages import CLIENT_CAPABILITIES, PROTOCOL_VERSION, Request, to_object
from mcpsim.transports.http import (
    EVENT_STREAM_TYPE,
    JSON_TYPE,
    METHOD_HEADER,
    NAME_HEADER,
    PROTOCOL_VERSION_HEADER,
    Headers,
    encode_header_value,
    header_problems,
)

SEEDS: Final = (1, 2, 3)
FUTURE: Final = "2027-01-01"

# What the name is, for a sentence, and names of that kind. The first kinds are the simple ones.
NAMES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("a plain name", ("find_ticket", "add_hours", "export-report", "ask.user")),
    ("a name with a blank inside", ("find ticket", "add two hours")),
    ("a name with other letters than ASCII", ("Büro", "日本", "naïve_search", "Grüße")),
    ("a name with a blank at its end", ("find_ticket ", " add_hours", "tab\t")),
    ("a name with a control character", ("two\nlines", "bell\x07", "carriage\rreturn")),
    ("a name that looks like an encoded one", ("=?base64?dGlja2V0?=", "=?base64?not base64?=")),
)
URIS: Final = ("file:///reports/2026.pdf", "notice://friday", "https://example.com/a?b=c")


def requests(seed: int) -> Iterator[tuple[str, Request]]:
    """Requests of every kind, the simple ones first: what is special about each, and the request."""
    rng = Random(f"requests:{seed}")
    yield "a `tools/list`", _request(rng, "tools/list")
    yield (
        "a `tools/call`",
        _request(rng, "tools/call", name=rng.choice(NAMES[0][1]), arguments={"name": "no"}),
    )
    yield "a `resources/read`", _request(rng, "resources/read", uri=rng.choice(URIS))
    yield "a `prompts/get`", _request(rng, "prompts/get", name=rng.choice(NAMES[0][1]))
    yield "a `resources/list` with a cursor", _request(rng, "resources/list", cursor="name")
    yield (
        "a `completion/complete`, whose params have no name of their own",
        _request(
            rng,
            "completion/complete",
            ref={"type": "ref/prompt", "name": "letter"},
            argument={"name": "to", "value": "A"},
        ),
    )
    yield f"a request of the version {FUTURE}", _request(rng, "tools/list", version=FUTURE)
    for what, names in NAMES[1:]:
        for name in names:
            method = rng.choice(["tools/call", "prompts/get"])
            yield f"a `{method}` with {what}", _request(rng, method, name=name)


def _request(rng: Random, method: str, *, version: str = LATEST_MODERN, **params: Any) -> Request:
    meta: dict[str, Any] = {PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {}}
    return Request(rng.randrange(1, 1_000), method, {**params, "_meta": meta})


def grade(answer: object, learner: Learner) -> Passed:
    """Call the function with requests of every kind, and read the headers as a server does."""
    seen = 0
    for seed in SEEDS:
        for what, request in requests(seed):
            value = learner.call(answer, to_object(request), on=f"{what}: {show(to_object(request))}")
            if is_placeholder(value):
                raise NotAttempted
            _judge(answer, value, what, request)
            seen += 1
    return Passed(
        f"{seen} requests: a server that compares headers and body accepts all of them.", STANDARD_HEADERS
    )


def _judge(answer: object, value: object, what: str, request: Request) -> None:
    headers = _headers(answer, value)
    named = _named(request)
    about = f"For {what}, {show(named)}," if named else f"For {what},"
    for wanted in (JSON_TYPE, EVENT_STREAM_TYPE):
        # A wildcard takes it as well, and still does not list it.
        if wanted not in _listed(headers):
            raise NotYet(
                f"{about} `Accept` is {show(headers.get('Accept'))}; {wanted} is not listed.",
                ACCEPTS_BOTH,
                "One header lists both, with a comma between them.",
            )
    problems = header_problems(headers, request)
    if problems:
        raise NotYet(f"{about} a server says: {problems[0]}", _rule(problems[0]), _look(headers, request))


def _named(request: Request) -> str:
    params = request.params or {}
    return str(params.get("uri" if request.method == "resources/read" else "name", ""))


def _listed(headers: Headers) -> set[str]:
    entries = ",".join(headers.get_all("Accept")).lower().split(",")
    return {entry.split(";")[0].strip() for entry in entries}


def _rule(problem: str) -> Rule:
    if PROTOCOL_VERSION_HEADER in problem:
        return VERSION_HEADER
    if NAME_HEADER in problem and "missing" not in problem:
        return ENCODING
    return STANDARD_HEADERS


def _look(headers: Headers, request: Request) -> str:
    name = _named(request)
    if name and headers.get(NAME_HEADER) is not None:
        return f"The name {show(name)} should be sent as {show(encode_header_value(name))}."
    return "Take each value out of the body; `params` and `_meta` may have other members too."


def _headers(answer: object, value: object) -> Headers:
    wrong = "Return a dict: names of headers, and their values as strings."
    pairs = _pairs(value)
    if pairs is None:
        raise NotYet(f"{name_of(answer)} returned {show(value)}.", look=wrong)
    lines: list[tuple[str, str]] = []
    for pair in pairs:
        parts = items_of(pair) or []
        texts = [as_text(part) for part in parts]
        name, text = texts if len(texts) == 2 else (None, None)
        if name is None or text is None:
            shown = show(parts[1]) if len(parts) == 2 else show(pair)
            about = (
                f"The header {show(parts[0])} has the value {shown}"
                if len(parts) == 2
                else f"There is {shown}"
            )
            raise NotYet(f"{about}.", look=wrong)
        lines.append((name, text))
    return Headers(lines)


def _pairs(value: object) -> Iterable[Any] | None:
    if isinstance(value, Headers | Mapping):
        return cast("Mapping[Any, Any]", value).items()
    return items_of(value)


TASK: Final = Task(
    name="post",
    title="Write the headers",
    text=f"""\
Write the function that makes the headers of a POST. It is given a modern request as an object, and returns a
dict of these headers, where they apply:

- `Accept`;
- `{PROTOCOL_VERSION_HEADER}`;
- `{METHOD_HEADER}`;
- `{NAME_HEADER}`.

`Content-Type` is somebody else's work. The check reads your headers as a server does: it compares them with
the body. Some of the names cannot stand in a header as they are.""",
    answer="headers_of",
    starter='''\
import base64


def headers_of(message):
    """The headers of the POST that carries this request: names and values."""
    return ...''',
    hints=(
        "The version stands in `params._meta`, under `io.modelcontextprotocol/protocolVersion`. The name is "
        "`params.name` for two methods and `params.uri` for one; no other method has it.",
        "Which names are safe? Every character is a tab or lies between the blank and the tilde (0x20 to "
        "0x7E), neither end is a blank or a tab, and the name does not look encoded already.",
        '`base64.b64encode(name.encode("utf-8")).decode("ascii")` is the middle part; before it stands '
        "`=?base64?`, after it `?=`.",
    ),
    solution=(
        """\
import base64


def as_value(name):
    printable = all(" " <= letter <= "~" for letter in name)
    looks_encoded = name.startswith("=?base64?") and name.endswith("?=")
    if printable and name == name.strip() and not looks_encoded:
        return name
    return "=?base64?" + base64.b64encode(name.encode("utf-8")).decode("ascii") + "?=\"""",
        """\
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def headers_of(message):
    method, params = message["method"], message["params"]
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": params["_meta"]["io.modelcontextprotocol/protocolVersion"],
        "Mcp-Method": method,
    }
    named = {"Mcp-Name": as_value(params[NAMED[method]])} if method in NAMED else {}
    return {**headers, **named}""",
    ),
    why="Everything is taken from the body, so header and body cannot differ. A name with a tab in it is "
    "encoded here too, which is not needed and does no harm: the server decodes it.",
    grade=grade,
    pages=(
        ("standard request headers", f"{HTTP}#standard-request-headers"),
        ("value encoding", f"{HTTP}#value-encoding"),
    ),
    points=15,
)
