"""Exercise: read the answer to the first modern request, and choose how to go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text, items_of
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.revisions import LATEST_MODERN, LEGACY_REVISIONS
from mcpsim.errors import HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION

ON_STDIO: Final = "basic/transports/stdio#backward-compatibility"
ON_HTTP: Final = "basic/transports/streamable-http#backward-compatibility"
NEGOTIATION: Final = "basic/versioning#protocol-version-negotiation"

RESULT: Final = Rule(
    "The server returns a `DiscoverResult`: it is modern. Select a version of `supportedVersions` that both "
    "speak.",
    ON_STDIO,
)
UNSUPPORTED: Final = Rule(
    "The server is modern but does not support the requested version. Use one of its `supported` list, and "
    "do "
    "not fall back to `initialize`.",
    ON_STDIO,
)
NOTHING_IN_COMMON: Final = Rule(
    "The client SHOULD select a version of `supported` that both speak, or surface an error to the user.",
    NEGOTIATION,
)
NOTHING_LISTED: Final = Rule(
    "The server returns a `DiscoverResult`: it is modern. Select a version of `supportedVersions` that both "
    "speak. Here there is none, and no legacy version is listed, so `initialize` is of no use either.",
    ON_STDIO,
)
RECOGNISED: Final = Rule(
    "A recognized modern error means a modern server: correct the request, rather than falling back.", ON_HTTP
)
NOT_ONE_CODE: Final = Rule("The fallback MUST NOT be keyed to one specific error code.", ON_STDIO)
SILENCE: Final = Rule("No response within a reasonable timeout: the server is legacy.", ON_STDIO)
NO_MODERN_BODY: Final = Rule(
    "If the body is empty or is not a recognized modern error, fall back to `initialize`.", ON_HTTP
)

ERAS: Final = ("modern", "legacy", "none")
SEEDS: Final = (1, 2, 3)
#: No revision has these names: a client and a server of a time to come.
LATER: Final = "2099-01-01"
LATEST: Final = "2099-12-01"

Choice = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Case:
    """What came back, and how the client goes on."""

    what: str
    status: int | None
    body: str | None
    modern: tuple[str, ...]
    legacy: tuple[str, ...]
    expected: Choice
    rule: Rule


def _result(listed: list[str]) -> str:
    result: dict[str, Any] = {
        "resultType": "complete",
        "supportedVersions": listed,
        "capabilities": {},
        "ttlMs": 0,
        "cacheScope": "private",
    }
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})


def _error(code: int, data: Any = None) -> str:
    said = {"code": code, "message": "No"} | ({} if data is None else {"data": data})
    return json.dumps({"jsonrpc": "2.0", "id": 1, "error": said})


def _cases(rng: Random) -> Iterator[Case]:
    old = tuple(sorted(rng.sample(LEGACY_REVISIONS, rng.choice((1, 2, 3))), reverse=True))
    one, two = (LATEST_MODERN,), (LATER, LATEST_MODERN)
    falls_back: Choice = ("legacy", old[0])
    for status in (None, 200):
        where = _where(status)
        yield Case(
            f"a result that lists the version ({where})",
            status,
            _result([*rng.sample(LEGACY_REVISIONS, 3), LATEST_MODERN]),
            one,
            old,
            ("modern", LATEST_MODERN),
            RESULT,
        )
        yield Case(
            f"a result that lists an older version only ({where})",
            status,
            _result([LATEST_MODERN]),
            two,
            old,
            ("modern", LATEST_MODERN),
            RESULT,
        )
        yield Case(
            f"a result that lists several versions, the oldest first ({where})",
            status,
            _result([LATEST_MODERN, LATER]),
            two,
            (),
            ("modern", LATER),
            RESULT,
        )
        for legacy in (old, ()):
            yield Case(
                f"a result, and no version in common ({where})",
                status,
                _result([LATEST]),
                one,
                legacy,
                ("none", None),
                NOTHING_LISTED,
            )
    for status in (None, 400):
        where = _where(status)
        for legacy in (old, ()):
            yield Case(
                f"{UNSUPPORTED_VERSION} ({where})",
                status,
                _error(
                    UNSUPPORTED_VERSION, {"supported": [LATEST_MODERN, *LEGACY_REVISIONS], "requested": LATER}
                ),
                two,
                legacy,
                ("modern", LATEST_MODERN),
                UNSUPPORTED,
            )
            yield Case(
                f"{UNSUPPORTED_VERSION}, and no version in common ({where})",
                status,
                _error(UNSUPPORTED_VERSION, {"supported": [LATEST], "requested": LATEST_MODERN}),
                one,
                legacy,
                ("none", None),
                NOTHING_IN_COMMON,
            )
        yield Case(
            f"{MISSING_CLIENT_CAPABILITY} ({where})",
            status,
            _error(MISSING_CLIENT_CAPABILITY, {"requiredCapabilities": {"elicitation": {}}}),
            two,
            old,
            ("modern", LATER),
            RECOGNISED,
        )
        for code in (-32601, -32602, -32600, -32000, rng.randrange(1, 999)):
            if status == 400 and code == -32601:
                # A modern server says it too, with 404, of a method that it does not have.
                continue
            rule = NOT_ONE_CODE if status is None else NO_MODERN_BODY
            yield Case(f"{code} ({where})", status, _error(code), one, old, falls_back, rule)
        yield Case(f"-32600 ({where})", status, _error(-32600), one, (), ("none", None), NOT_ONE_CODE)
        yield Case(
            f"an error whose data has a list, and whose code is -32602 ({where})",
            status,
            _error(-32602, {"supported": list(old)}),
            one,
            old,
            falls_back,
            NOT_ONE_CODE,
        )
    yield Case("no answer (stdio)", None, None, two, old, falls_back, SILENCE)
    yield Case("no answer (stdio)", None, None, one, (), ("none", None), SILENCE)
    yield Case(
        f"{HEADER_MISMATCH} (HTTP 400)",
        400,
        _error(HEADER_MISMATCH),
        one,
        old,
        ("modern", LATEST_MODERN),
        RECOGNISED,
    )
    for status in (400, 404, 405):
        for body in ("", "Bad Request", f"<html>{UNSUPPORTED_VERSION}</html>", "[]", "-32022", '"Not here"'):
            yield Case(
                f"the body {body!r} (HTTP {status})", status, body, one, old, falls_back, NO_MODERN_BODY
            )
    yield Case(
        "a JSON object that is no message (HTTP 400)",
        400,
        json.dumps({"error": rng.choice(("unsupported", "invalid_request")), "code": UNSUPPORTED_VERSION}),
        one,
        old,
        falls_back,
        NO_MODERN_BODY,
    )


def _where(status: int | None) -> str:
    return "stdio" if status is None else f"HTTP {status}"


def grade(answer: object, learner: Learner) -> Passed:
    """Ask about answers of all kinds, over both transports."""
    asked = 0
    for seed in SEEDS:
        for case in _cases(Random(f"choose:{seed}")):
            _compare(answer, learner, case)
            asked += 1
    return Passed(
        f"{asked} answers, and each time the client goes on in the right era and version.", NOT_ONE_CODE
    )


def _compare(answer: object, learner: Learner, case: Case) -> None:
    value = learner.call(
        answer,
        case.status,
        case.body,
        list(case.modern),
        list(case.legacy),
        on=f"{case.what}",
        rule=case.rule,
    )
    if is_placeholder(value):
        raise NotAttempted
    choice = _choice(value)
    if choice is None:
        raise NotYet(
            f"For {case.what}, the returned value is {show(value)}.",
            look=f'Return a pair, such as ("modern", "{LATEST_MODERN}") or ("none", None).',
        )
    if choice != case.expected:
        spoken = f"{show(list(case.modern))} and {show(list(case.legacy))}"
        raise NotYet(
            f"What came back is {case.what}: {show(case.body)}. The client speaks {spoken}. "
            f"{name_of(answer)} returned {show(choice)}, and {show(case.expected)} was expected.",
            case.rule,
            "Three questions: is it a result? Is it an error that only a modern server sends? Which version "
            "do both speak?",
        )


def _choice(value: object) -> Choice | None:
    pair = items_of(value)
    if pair is None or len(pair) != 2:
        return None
    era, version = as_text(pair[0]), pair[1]
    plain = as_text(version)
    if era not in ERAS or (plain is None and version is not None):
        return None
    return era, plain


TASK: Final = Task(
    name="choose",
    title="Stay modern, or fall back",
    text="""\
A client has sent `server/discover` as its first request, and declared the newest modern version that it
speaks. Write the function that reads what came back, and says how to go on.

| | |
|---|---|
| `status` | the HTTP status; None on stdio |
| `body` | the text of the answer, which may be any text; None where no answer came in time |
| `modern` | the modern versions that the client speaks, the newest first; at least one |
| `legacy` | the legacy versions that it speaks, the newest first; maybe none |

Return a pair:

| | |
|---|---|
| `("modern", version)` | go on with modern requests, with the newest version that both speak |
| `("legacy", version)` | fall back: `initialize`, and propose the newest legacy version |
| `("none", None)` | give up, and tell the user |

Over HTTP the statuses are 200, 400, 404 and 405. Where the error says that something else than the version is
wrong with the request, the request is corrected: the version stays.""",
    answer="choose",
    starter='''\
import json

def choose(status, body, modern, legacy):
    """How to go on: ("modern", version), ("legacy", version) or ("none", None)."""
    return ...''',
    hints=(
        "First make an object of the body, if it is one: `json.loads` raises ValueError, or gives something "
        "that is no dict. Whatever is no message means legacy.",
        "A result: the first of `modern` that is in `supportedVersions`. An error: three codes are sent by "
        "modern servers alone, -32020, -32021 and -32022. Every other code means legacy.",
        "Only -32022 is about the version: the first of `modern` that is in `data['supported']`, or none. "
        "Legacy without a legacy version is none, too.",
    ),
    solution=(
        """\
import json

def message_in(body):
    \"\"\"The message in an answer; an empty dict where there is none.\"\"\"
    try:
        message = json.loads(body or "null")
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}""",
        """\
def newest(spoken, listed, era):
    common = [version for version in spoken if version in listed]
    return (era, common[0]) if common else ("none", None)""",
        """\
def choose(status, body, modern, legacy):
    message = message_in(body)
    error = message.get("error")
    if "result" in message:
        return newest(modern, message["result"]["supportedVersions"], "modern")
    if isinstance(error, dict) and error["code"] in (-32020, -32021, -32022):
        listed = error["data"]["supported"] if error["code"] == -32022 else modern
        return newest(modern, listed, "modern")
    return newest(legacy, legacy, "legacy")""",
    ),
    why="Modern is what can be recognised: a result of discovery, and three codes. Everything else is "
    "legacy, "
    "whatever it looks like.",
    grade=grade,
    pages=(("stdio", ON_STDIO), ("Streamable HTTP", ON_HTTP), ("version negotiation", NEGOTIATION)),
    points=20,
)
