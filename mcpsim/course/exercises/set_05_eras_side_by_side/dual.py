"""Exercise: a client that finds out what the server speaks, and speaks it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import as_text, items_of, texts_of
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import exchanges
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.servers import help_desk
from mcpsim.eras.negotiation import RECOGNISED_MODERN_ERRORS
from mcpsim.eras.pages import LEGACY
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN, LEGACY_REVISIONS, ServerEra, era_of
from mcpsim.messages import PROTOCOL_VERSION, Notification, Request
from mcpsim.recording import Recording
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.transports.twists import MakeTwist, Outgoing, Twist

ON_STDIO: Final = "basic/transports/stdio#backward-compatibility"
ON_HTTP: Final = "basic/transports/streamable-http#backward-compatibility"

PROBES: Final = Rule(
    "stdio: the client SHOULD probe with `server/discover` before any other request.", ON_STDIO
)
STAYS: Final = Rule(
    "A recognized modern error identifies a modern server: use one of its versions. Do not fall back to "
    "`initialize`.",
    ON_STDIO,
)
FALLS_BACK: Final = Rule(
    "Any other error, or no answer in time: the server is legacy. Fall back to `initialize`. This MUST NOT "
    "be "
    "keyed to one code.",
    ON_STDIO,
)
IN_TIME: Final = Rule(
    "A server that does not respond within a reasonable timeout is legacy. Fall back to `initialize`. How "
    "long to wait the task says.",
    ON_STDIO,
)
BODY: Final = Rule(
    "If the body is empty or is not a recognized modern error, fall back to `initialize`.", ON_HTTP
)
MODERN: Final = Rule(
    "A `DiscoverResult` means a modern server. Go on in a version that both speak.", ON_STDIO
)
READY: Final = Rule(
    "After the result of `initialize` the client MUST send `notifications/initialized`.",
    "basic/lifecycle#initialization",
    LEGACY,
)
DISCONNECTS: Final = Rule(
    "If the client does not support the version in the server's response, it SHOULD disconnect.",
    "basic/lifecycle#version-negotiation",
    LEGACY,
)

INITIALIZE: Final = "initialize"
LIST: Final = "tools/list"
LATER: Final = "2099-01-01"
JITTER_MS: Final = 10.0
#: What the server may take for the probe, in seconds, before it counts as silent.
PROBE_S: Final = 2.0
#: How much earlier or later a client may go on, in seconds.
PATIENCE_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of server.

    Attributes:
        what: what is special about it.
        era: its era.
        spoken: what the client speaks, the newest first.
        agreed: the version that they will speak, or None.
        rule: what decides.
        versions: the server's; None for all of its era.
        code: the code with which it refuses a probe, or None for its own.
        body: over HTTP the body with which it refuses it, or None for its own.
        silent: whether it does not answer a probe at all.
        latency_ms: how long a message to it or from it takes, in milliseconds.
        ways: over which transports it is met.
    """

    what: str
    era: ServerEra
    spoken: tuple[str, ...]
    agreed: str | None
    rule: Rule
    versions: tuple[str, ...] | None = None
    code: int | None = None
    body: bytes | None = None
    silent: bool = False
    latency_ms: float = 20.0
    ways: tuple[type[Stdio] | type[StreamableHttp], ...] = (Stdio, StreamableHttp)

    def twist(self) -> MakeTwist | None:
        """What changes its answers, or None."""
        if self.code is None and self.body is None and not self.silent:
            return None
        return lambda: _refusing(self)


def _refusing(kind: Kind) -> Twist:
    """Changes what the server says to whatever comes before `initialize`."""
    known: set[int] = set()

    def change(one: Outgoing) -> list[Outgoing] | Outgoing | None:
        if one.sender != "server":
            if one.method == INITIALIZE:
                known.add(0)
            return None
        message = one.message
        if known or message is None or "error" not in message:
            return None
        if kind.silent:
            return []
        if kind.body is not None:
            return one.with_data(kind.body).with_header("Content-Type", "text/plain")
        return one.with_message({**message, "error": {**message["error"], "code": kind.code}})

    return change


_OLDEST, _SECOND = LEGACY_REVISIONS[:2]
_DUAL: Final = (LATEST_MODERN, LATEST_LEGACY)
_FROM_LATER: Final = (LATER, LATEST_MODERN, LATEST_LEGACY)
_ONE_WAY: Final = (Stdio,)
_HTTP: Final = (StreamableHttp,)


def _kinds() -> Iterator[Kind]:
    yield Kind("that is modern", "modern", _DUAL, LATEST_MODERN, MODERN)
    yield Kind(
        "that is modern and takes a second and a half for an answer",
        "modern",
        _DUAL,
        LATEST_MODERN,
        IN_TIME,
        latency_ms=750.0,
    )
    yield Kind("that is dual-era", "both", _DUAL, LATEST_MODERN, MODERN)
    yield Kind("that is legacy", "legacy", _DUAL, LATEST_LEGACY, FALLS_BACK)
    yield Kind("that does not have the client's newest version", "modern", _FROM_LATER, LATEST_MODERN, STAYS)
    yield Kind(
        "that is dual-era and does not have the client's newest version",
        "both",
        _FROM_LATER,
        LATEST_MODERN,
        STAYS,
    )
    for code in (-32601, -32602, -32000, -1):
        yield Kind(
            f"that refuses the probe with {code}", "legacy", _DUAL, LATEST_LEGACY, FALLS_BACK, code=code
        )
    yield Kind(
        "that does not answer the probe",
        "legacy",
        _DUAL,
        LATEST_LEGACY,
        IN_TIME,
        silent=True,
        ways=_ONE_WAY,
    )
    for body in (b"", b"Bad Request: no session"):
        yield Kind(
            f"that refuses the probe with the body {body.decode()!r}",
            "legacy",
            _DUAL,
            LATEST_LEGACY,
            BODY,
            body=body,
            ways=_HTTP,
        )
    yield Kind(
        "that is legacy and offers an older version, which the client speaks",
        "legacy",
        (LATEST_MODERN, LATEST_LEGACY, _SECOND),
        _SECOND,
        FALLS_BACK,
        versions=(_OLDEST, _SECOND),
    )
    yield Kind(
        "that is legacy and offers a version which the client does not speak",
        "legacy",
        _DUAL,
        None,
        DISCONNECTS,
        versions=(_OLDEST,),
    )
    yield Kind("that has no version in common with the client", "modern", (LATER, LATEST_LEGACY), None, STAYS)


KINDS: Final = tuple(_kinds())


def grade(answer: object, learner: Learner) -> Passed:
    """Play the story against every kind of server, over the transports on which there is such a server."""
    runs = 0
    for kind in KINDS:
        for way in kind.ways:
            runs += 1
            _play(answer, learner, kind, way(latency_ms=kind.latency_ms, jitter_ms=JITTER_MS), runs)
    return Passed(
        f"In {runs} runs with {len(KINDS)} kinds of servers the client spoke what the server speaks, or "
        f"left.",
        FALLS_BACK,
    )


def _play(answer: Any, learner: Learner, kind: Kind, transport: Stdio | StreamableHttp, seed: int) -> None:
    settings: dict[str, Any] = {} if kind.versions is None else {"versions": kind.versions}
    server = help_desk(era=kind.era, **settings)
    where = f"A server {kind.what}, over {'HTTP' if transport.name == 'http' else 'stdio'}"
    run = learner.play(
        answer,
        list(kind.spoken),
        server=server,
        client=Client(era="modern", protocol_version=kind.spoken[0]),
        transport=transport,
        seed=seed,
        title=TITLE,
        judge=partial(_judge, kind, where),
        twist=kind.twist(),
        connect=False,
    )
    names = sorted(tool.name for tool in server.tools)
    wanted: tuple[str, list[str]] | None = None if kind.agreed is None else (kind.agreed, names)
    given = _pair(run.value)
    if (given if given is None else (given[0], sorted(given[1]))) != wanted or (
        given is None and run.value is not None
    ):
        raise NotYet(
            f"{where}; this client speaks {show(list(kind.spoken))}. {name_of(answer)} should return "
            f"{show(wanted)}, and returned {show(run.value)}.",
            kind.rule,
            "Return the version and the names of the tools, or None where there is no version in common.",
            run.recording,
        )


def _pair(value: object) -> tuple[str, list[str]] | None:
    pair = items_of(value)
    if pair is None or len(pair) != 2:
        return None
    found = pair[1]
    # The order of the names does not matter, so a set of them will do.
    listed = list(cast("set[object]", found)) if isinstance(found, set | frozenset) else found
    version, names = as_text(pair[0]), texts_of(listed)
    if version is None or names is None or None in names:
        return None
    return version, [name for name in names if name is not None]


def _judge(kind: Kind, where: str, recording: Recording) -> None:
    sent = [frame.parsed for frame in recording.frames if frame.receiver == "server"]
    methods = [one.method for one in sent if isinstance(one, Request | Notification)]
    if not methods:
        raise NotYet(f"{where}: the client sends nothing.", PROBES, _PROBE_LOOK)
    if methods[0] == INITIALIZE or ("stdio" in where and methods[0] != "server/discover"):
        raise NotYet(f"{where}: the first message is {methods[0]}.", PROBES, _PROBE_LOOK)
    is_legacy = kind.era == "legacy"
    if not is_legacy and INITIALIZE in methods:
        said = exchanges(recording)[0].said()
        raise NotYet(
            f"{where}: the first request got {said}, and the client falls back to `initialize`.",
            kind.rule,
            _STAY_LOOK,
        )
    if is_legacy and INITIALIZE not in methods:
        said = exchanges(recording)[0].said()
        raise NotYet(
            f"{where}: the first request got {said}, and the client never sends `initialize`.",
            kind.rule,
            "A refusal comes as a `ProtocolError` with its `code`; silence, and an HTTP response without a "
            f"message, as another `McpSimError`. Codes that only modern servers send: {_CODES}.",
        )
    if kind.silent:
        _require_patience(where, recording)
    if kind.agreed is None:
        listed = [one for one in exchanges(recording, LIST) if one.result is not None]
        after = methods[methods.index(INITIALIZE) + 1 :] if is_legacy else []
        if listed or after:
            raise NotYet(
                f"{where}: they have no version in common, and the client goes on with "
                f"{(after or [LIST])[0]}.",
                kind.rule,
                "Look at the version before you go on, and return None.",
            )
        return
    _require_version(kind, where, recording, methods)
    for finding in recording.audit().findings:
        if finding.party == "client" and finding.level == "MUST":
            _, _, page = finding.spec.partition("/")
            revision_era = LEGACY if is_legacy else "modern"
            raise NotYet(
                f"{where}: {finding.message}", Rule(finding.message, page, revision_era), finding.hint
            )


def _require_patience(where: str, recording: Recording) -> None:
    asked = [frame for frame in recording.frames if isinstance(frame.parsed, Request)]
    opened = next(frame for frame in asked if getattr(frame.parsed, "method", "") == INITIALIZE)
    waited_s = (opened.sent_us - asked[0].sent_us) / 1_000_000
    if not PROBE_S - PATIENCE_S <= waited_s <= PROBE_S + PATIENCE_S:
        raise NotYet(
            f"{where}: the client waits for {waited_s:.3g} s before it sends `initialize`. "
            f"After {PROBE_S:g} s a server counts as silent.",
            IN_TIME,
            _PROBE_LOOK,
        )


def _require_version(kind: Kind, where: str, recording: Recording, methods: list[str]) -> None:
    listed = [one for one in exchanges(recording, LIST) if one.result is not None]
    if kind.era == "legacy":
        if "notifications/initialized" not in methods:
            raise NotYet(
                f"{where}: `notifications/initialized` is never sent.", READY, "`await client.initialized()`."
            )
        proposed = [
            (one.request.params or {}).get("protocolVersion") for one in exchanges(recording, INITIALIZE)
        ]
        newest = next(version for version in kind.spoken if era_of(version) == "legacy")
        if proposed[0] != newest:
            raise NotYet(
                f"{where}: the client speaks {show(list(kind.spoken))}, and proposes {show(proposed[0])}.",
                Rule(
                    "The version in `initialize` SHOULD be the latest that the client supports.",
                    "basic/lifecycle#version-negotiation",
                    LEGACY,
                ),
                "`await client.initialize(version)`, with the first legacy version of `spoken`.",
            )
    if not listed:
        raise NotYet(
            f"{where}: no `{LIST}` brought a result.",
            kind.rule,
            f"At the end, ask for `{LIST}` in the way of the era.",
        )
    declared = listed[-1].meta.get(PROTOCOL_VERSION)
    if kind.era != "legacy" and declared != kind.agreed:
        raise NotYet(
            f"{where}: `{LIST}` says the version {show(declared)}.", kind.rule, "Set `client.version`."
        )


_CODES: Final = ", ".join(map(str, sorted(RECOGNISED_MODERN_ERRORS, reverse=True)))
_PROBE_LOOK: Final = '`await client.request("server/discover", timeout_s=2)` is the probe.'
_STAY_LOOK: Final = (
    "-32022 says in its data, under `supported`, which versions there are. Where none is spoken by both, "
    "return None."
)

TITLE: Final = "A client for both eras"

TASK: Final = Task(
    name="dual",
    title=TITLE,
    text=f"""\
Write the story of a dual-era client. It is played with `connect=False`: nothing was sent. `spoken` has the
versions that the client speaks, the newest first, modern and legacy ones: the modern ones are those from
`"{LATEST_MODERN}"` on. Requests are modern, and say the first version of `spoken`, until you change that.

1. Probe: `server/discover`. It may stay without an answer; after {PROBE_S:g} seconds the server counts as
   silent. (`client.request` takes a `timeout_s`.)
2. If the server is modern, choose the newest version that both speak: `client.version = …`.
3. If it is legacy, `await client.initialize(version)` proposes a version and returns the result, and
   `await client.initialized()` says that the client is ready. From `initialize` on requests are legacy ones.
4. Ask for `{LIST}`, and return the version and the names of the tools.

Where there is no version in common, send nothing more and return None. The check plays it against
{len(KINDS)} kinds of servers, over both transports.

| what comes of a request | how it looks here |
|---|---|
| an error | `ProtocolError`, with `code` and `data` |
| no answer in time; over HTTP a response without a message | another `McpSimError` |""",
    answer="find_tools",
    starter='''\
async def find_tools(client, spoken):
    """The version that both speak and the names of the tools, or None."""
    return ...''',
    hints=(
        "Put the probe into a `try`. What comes out of it is one of three: a list of versions of a modern "
        "server, or that it is legacy, or an error.",
        "A result lists `supportedVersions`. -32022 lists `supported` in its `data`. Any other error, and "
        f"silence, means legacy. (The other codes of modern servers, of {_CODES}, do not come here: your "
        "requests are right.)",
        "Modern: the first of `spoken` that is listed and not older than "
        f"`{LATEST_MODERN}` (versions are dates: they compare as texts). Legacy: propose the first that is "
        "older, and look whether what comes back is in `spoken`.",
    ),
    solution=(
        f"""\
FIRST_MODERN = "{LATEST_MODERN}"

async def versions_of(client):
    \"\"\"The versions of a modern server, or None for a legacy one.\"\"\"
    try:
        found = await client.request("server/discover", timeout_s=2)
        return found["supportedVersions"]
    except ProtocolError as error:
        return error.data["supported"] if error.code == -32022 else None
    except McpSimError:
        return None""",
        """\
async def shake_hands(client, spoken):
    \"\"\"Open a legacy session. Returns its version, or None.\"\"\"
    proposal = next(version for version in spoken if version < FIRST_MODERN)
    version = (await client.initialize(proposal))["protocolVersion"]
    if version not in spoken:
        return None
    await client.initialized()
    return version""",
        """\
async def find_tools(client, spoken):
    listed = await versions_of(client)
    if listed is None:
        version = await shake_hands(client, spoken)
    else:
        common = [one for one in spoken if one in listed and one >= FIRST_MODERN]
        version = client.version = common[0] if common else None
    if version is None:
        return None
    tools = (await client.request("tools/list"))["tools"]
    return version, [tool["name"] for tool in tools]""",
    ),
    why="One question decides the era, and the answer is a property of the server: from then on the client "
    "speaks one era only.",
    grade=grade,
    pages=(("stdio", ON_STDIO), ("Streamable HTTP", ON_HTTP)),
    points=25,
    play=f"""\
speaks = ["{LATEST_MODERN}", "{LATEST_LEGACY}"]
async def at_an_old_desk(client): return await find_tools(client, speaks)
simulate(at_an_old_desk, server=help_desk(era="legacy"), connect=False, check=False)""",
)
