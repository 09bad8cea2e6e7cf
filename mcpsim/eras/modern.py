"""The modern protocol's core: one request, nine steps, nothing kept.

A request carries everything that is needed to answer it. `STEPS` is the order in which a server looks at
it; a step that finds a fault raises the JSON-RPC error, and no later step runs. Nothing in this module
reads or writes anything outside of the one `Visit`.

The specification fixes the error of each fault, not the order of the checks. This order is chosen so that
the answer never depends on something that has not been checked yet: the envelope before its contents, the
metadata before what is compared with it, and the headers before the version, so that a request whose
header and body name two versions is a mismatch even where one of the two is not supported.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index
https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

from mcpsim.eras.capabilities import missing_capabilities
from mcpsim.eras.methods import method as method_row
from mcpsim.eras.revisions import LATEST_MODERN, MODERN_REVISIONS
from mcpsim.errors import (
    ERROR_CODES,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    RESERVED_CODES,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    ProtocolError,
)
from mcpsim.messages import Message, Request, meta_of, read_message
from mcpsim.messages.meta import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    PROTOCOL_VERSION,
    SERVER_INFO,
)
from mcpsim.transports.http import Headers, header_problems
from mcpsim.utilities.parameter_headers import ParameterHeader, header_faults

SPEC: Final = f"https://modelcontextprotocol.io/specification/{LATEST_MODERN}"


class Route(Protocol):
    """What a server has for one method: checked arguments in, a result out."""

    def check(self, params: dict[str, Any], version: str) -> Any:
        """Check the method's own parameters and return them in the handler's form; raises ProtocolError
        (-32602)."""
        ...

    def authorise(self, principal: str, arguments: Any) -> None:
        """Check that the caller may do exactly this; raises ProtocolError."""
        ...

    def run(self, context: Any, arguments: Any) -> Awaitable[dict[str, Any]]:
        """Run the handler."""
        ...


class Service(Protocol):
    """What the steps need to know about a server. It holds nothing about any client."""

    @property
    def supported_versions(self) -> tuple[str, ...]:
        """Every revision that the server speaks, of both eras, the newest first."""
        ...

    @property
    def server_info(self) -> Mapping[str, Any] | None:
        """The server's name and version, or None where it is told not to say."""
        ...

    def required_capabilities(self, request: Request) -> Mapping[str, Any]:
        """The client capabilities without which this request cannot be processed."""
        ...

    def parameter_headers(self, request: Request) -> tuple[ParameterHeader, ...]:
        """The arguments of this request that HTTP headers have to repeat."""
        ...

    def route(self, method: str) -> Route | None:
        """What answers the method, or None where the server does not have it."""
        ...


_NO_REQUEST: Final = Request("", "", None)


_no_members: Final = cast("Callable[[], dict[str, Any]]", dict)


@dataclass(slots=True)
class Visit:
    """One request's stay at the server: all that came with it, and what the steps found out.

    Attributes:
        data: the bytes of the message, without the transport's framing.
        headers: the HTTP headers; None on a transport without a header layer.
        principal: who the transport says is asking (a token's owner), or "".
    """

    service: Service
    data: bytes
    headers: Headers | None = None
    principal: str = ""
    message: Message | None = None
    request: Request = _NO_REQUEST
    params: dict[str, Any] = field(default_factory=_no_members)
    meta: dict[str, Any] = field(default_factory=_no_members)
    version: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=_no_members)
    route: Route | None = None
    arguments: Any = None
    context: Any = None


def parse_envelope(visit: Visit) -> None:
    """Read the bytes as one JSON-RPC message: -32700 or -32600."""
    if visit.message is None:
        visit.message = read_message(visit.data)


def check_request(visit: Visit) -> None:
    """It must be a request: `jsonrpc` "2.0", an id, a method, and `params` an object: -32600."""
    message = visit.message
    if not isinstance(message, Request):
        raise ProtocolError(INVALID_REQUEST, "A client sends requests and notifications; this is neither.")
    visit.request = message
    visit.params = message.params if message.params is not None else {}


def read_meta(visit: Visit) -> None:
    """`_meta` must hold the protocol version (a string) and the client's capabilities (an object): -32602."""
    meta = visit.params.get("_meta")
    if not isinstance(meta, dict):
        found = "is missing" if meta is None else "is not an object"
        raise ProtocolError(
            INVALID_PARAMS,
            f"params._meta {found}; every request carries {PROTOCOL_VERSION} and {CLIENT_CAPABILITIES}.",
        )
    visit.meta = cast("dict[str, Any]", meta)
    for key, wanted, name in _REQUIRED_META:
        value = visit.meta.get(key)
        if not isinstance(value, wanted):
            found = "is missing" if value is None else f"must be {name}"
            raise ProtocolError(INVALID_PARAMS, f"_meta[{key!r}] {found}.")
    if CLIENT_INFO in visit.meta and not _is_implementation(visit.meta[CLIENT_INFO]):
        raise ProtocolError(
            INVALID_PARAMS,
            f"_meta[{CLIENT_INFO!r}] may be left out, but not be without a name and a version.",
        )
    if LOG_LEVEL in visit.meta and visit.meta[LOG_LEVEL] not in LOG_LEVELS:
        raise ProtocolError(INVALID_PARAMS, f"_meta[{LOG_LEVEL!r}] must be one of {', '.join(LOG_LEVELS)}.")
    visit.version = cast("str", visit.meta[PROTOCOL_VERSION])
    visit.capabilities = cast("dict[str, Any]", visit.meta[CLIENT_CAPABILITIES])


def compare_headers(visit: Visit) -> None:
    """At an HTTP boundary the headers must say what the body says: version, method, name, and the arguments
    that the tool wants repeated: -32020."""
    if visit.headers is None:
        return
    problems = header_problems(visit.headers, visit.request)
    annotated = visit.service.parameter_headers(visit.request)
    if annotated:
        arguments: Any = visit.params.get("arguments")
        given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
        problems += header_faults(visit.headers, annotated, given)
    if problems:
        raise ProtocolError(HEADER_MISMATCH, "Header mismatch: " + " ".join(problems))


def check_version(visit: Visit) -> None:
    """The declared version must be a modern one that this server speaks: -32022 with the list.

    The list names every revision of the server, the legacy ones of a dual-era server too: a client that
    knows only those learns from it that `initialize` would work.
    """
    supported = visit.service.supported_versions
    if visit.version not in MODERN_REVISIONS or visit.version not in supported:
        raise ProtocolError(
            UNSUPPORTED_VERSION,
            "Unsupported protocol version",
            {"supported": list(supported), "requested": visit.version},
        )


def find_route(visit: Visit) -> None:
    """The client must declare what the request needs (-32021), the server must have the method (-32601),
    and the method must accept its parameters (-32602)."""
    required = visit.service.required_capabilities(visit.request)
    missing = missing_capabilities(required, visit.capabilities) if required else {}
    if missing:
        raise ProtocolError(
            MISSING_CLIENT_CAPABILITY,
            f"{visit.request.method} needs client capabilities that this request does not declare: "
            f"{', '.join(missing)}.",
            {"requiredCapabilities": missing},
        )
    method = visit.request.method
    row = method_row(method, visit.version)
    route = visit.service.route(method)
    if row is None or row.kind != "request" or route is None:
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method}")
    visit.route = route
    visit.arguments = route.check(visit.params, visit.version)


def authorise(visit: Visit) -> None:
    """Whoever asks must be allowed to do exactly this, before its handler runs."""
    if visit.route is not None:
        visit.route.authorise(visit.principal, visit.arguments)


async def run_handler(visit: Visit) -> dict[str, Any]:
    """Run the handler; the result says `resultType`, who answered, and (where required) how long it keeps."""
    if visit.route is None:
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {visit.request.method}")
    try:
        result = await visit.route.run(visit.context, visit.arguments)
    except ProtocolError as error:
        _check_code(error.code)
        raise
    return complete(result, visit)


def _check_code(code: int) -> None:
    """Whatever a handler raises goes on the wire, and some codes must not.

    Raises:
        ValueError: an earlier revision used the code, or the specification keeps it and gives it no meaning;
            that is a fault of the server.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes
    """
    row = ERROR_CODES.get(code)
    if row is not None and "modern" not in row.eras:
        instead = "raise ResourceNotFound" if code == RESOURCE_NOT_FOUND else "ask with elicit_url"
        raise ValueError(f"{code} {row.name} must not be sent in the modern protocol; {instead} instead")
    if row is None and code in RESERVED_CODES:
        raise ValueError(
            f"the code {code} is kept for the specification, which gives it no meaning; take one outside of "
            "-32768 to -32000"
        )


def forget(visit: Visit) -> None:
    """Drop everything that came with the request: the next one brings its own."""
    visit.data = b""
    visit.headers = None
    visit.message = None
    visit.request = _NO_REQUEST
    visit.params = {}
    visit.meta = {}
    visit.version = ""
    visit.capabilities = {}
    visit.principal = ""
    visit.route = None
    visit.arguments = None
    visit.context = None


def complete(result: dict[str, Any], visit: Visit) -> dict[str, Any]:
    """The result as it goes on the wire: `resultType` first, the server's identity in `_meta`.

    Raises:
        TypeError: a cacheable method's result lacks `ttlMs` or `cacheScope`; that is a fault of the server.
    """
    finished = result if "resultType" in result else {"resultType": "complete", **result}
    row = method_row(visit.request.method, visit.version)
    keeps = row is not None and row.cacheable and finished["resultType"] == "complete"
    if keeps and not ("ttlMs" in finished and "cacheScope" in finished):
        raise TypeError(f"The result of {visit.request.method} must carry ttlMs and cacheScope.")
    info = visit.service.server_info
    if info is not None:
        finished["_meta"] = {**meta_of(finished), SERVER_INFO: dict(info)}
    return finished


def with_assumptions(result: Mapping[str, Any], method: str, version: str) -> dict[str, Any]:
    """A result as a client reads it: with what it has to assume where the server said nothing of it.

    No `resultType` means complete (a MUST), no `ttlMs` or a negative one means 0 (a SHOULD). For a missing
    `cacheScope` the specification says nothing; private is the assumption that gives nothing away.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/index#resulttype
    https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#time-to-live-ttl-field
    """
    read = {"resultType": "complete", **result}
    row = method_row(method, version)
    if row is not None and row.cacheable and read["resultType"] == "complete":
        read = {"ttlMs": 0, "cacheScope": "private", **read}
        ttl_ms: Any = read["ttlMs"]
        if isinstance(ttl_ms, int) and ttl_ms < 0:
            read["ttlMs"] = 0
    return read


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a modern request.

    Attributes:
        number: 1 to 9.
        title: what the server does, in a few words.
        errors: the codes with which the step may refuse the request.
        run: the function; the eighth step's is asynchronous.
        spec: the page and anchor that the step rests on.
    """

    number: int
    title: str
    errors: tuple[int, ...]
    run: Callable[[Visit], Any]
    spec: str


STEPS: Final[tuple[Step, ...]] = (
    Step(1, "read one message", (-32700, -32600), parse_envelope, f"{SPEC}/basic/index#messages"),
    Step(2, "is it a request?", (-32600,), check_request, f"{SPEC}/basic/index#requests"),
    Step(3, "read _meta", (-32602,), read_meta, f"{SPEC}/basic/index#meta"),
    Step(
        4,
        "compare headers with the body",
        (-32020,),
        compare_headers,
        f"{SPEC}/basic/transports/streamable-http#server-validation",
    ),
    Step(
        5,
        "is the version supported?",
        (-32022,),
        check_version,
        f"{SPEC}/basic/versioning#protocol-version-negotiation",
    ),
    Step(
        6,
        "capabilities, method, parameters",
        (-32021, -32601, -32602),
        find_route,
        f"{SPEC}/basic/index#error-codes",
    ),
    Step(7, "is the caller allowed to?", (), authorise, f"{SPEC}/server/tools#security-considerations"),
    Step(8, "run the handler", (-32603,), run_handler, f"{SPEC}/basic/index#result-responses"),
    Step(9, "forget the request", (), forget, f"{SPEC}/basic/index#statelessness"),
)

_CHECKS: Final = tuple(step.run for step in STEPS[:7])
_REST: Final = _CHECKS[5:]


def _is_usual(visit: Visit) -> bool:
    """Steps 1 to 5 at a glance, for a request that was read already, without headers, and with metadata as
    nearly all have it. Where it is another one, nothing has happened, and the steps look at it one by one."""
    request = visit.message
    if visit.headers is not None or not isinstance(request, Request) or request.params is None:
        return False
    meta: Any = request.params.get("_meta")
    if not is_plain_meta(meta):
        return False
    version = meta[PROTOCOL_VERSION]
    if version not in MODERN_REVISIONS or version not in visit.service.supported_versions:
        return False
    visit.request, visit.params, visit.meta = request, request.params, meta
    visit.version, visit.capabilities = version, meta[CLIENT_CAPABILITIES]
    return True


def is_plain_meta(meta: Any) -> bool:
    """Whether this is the valid `_meta` of a request, with the version, no capabilities, perhaps a client of
    name and version, and nothing else."""
    if meta.__class__ is not dict or not _REQUIRED_KEYS <= meta.keys() <= _MODERN_KEYS:
        return False
    if meta[PROTOCOL_VERSION].__class__ is not str or meta[CLIENT_CAPABILITIES] != {}:
        return False
    info: Any = meta.get(CLIENT_INFO, _NO_INFO)
    if info.__class__ is not dict or info.keys() != _NO_INFO.keys():
        return False
    return info["name"].__class__ is str and info["version"].__class__ is str


def admit(visit: Visit) -> None:
    """Steps 1 to 7. Raises the ProtocolError of the first one that refuses the request."""
    try:
        for check in _REST if _is_usual(visit) else _CHECKS:
            check(visit)
    except ProtocolError as error:
        if visit.request.method == "initialize":
            raise _naming_versions(error, visit.service.supported_versions) from None
        raise


def _naming_versions(error: ProtocolError, supported: tuple[str, ...]) -> ProtocolError:
    """Any error that refuses `initialize`, with the versions in its text and in its data.

    A legacy client cannot fall forward; this may be all that its user gets to see.
    https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
    """
    found: Any = error.data
    given = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    data = {"supported": list(supported), **given}
    return ProtocolError(
        error.code,
        f"{error.message.removesuffix('.')}. There is no initialize in the modern protocol; this server "
        f"speaks {', '.join(supported)}.",
        data,
    )


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What one step said about one request: `passed`, `refused` (with the error), or `not reached`."""

    step: Step
    outcome: str
    error: ProtocolError | None = None

    def __str__(self) -> str:
        mark = {"passed": "✓", "refused": "✗"}.get(self.outcome, "·")
        said = f"  {self.error}" if self.error else ""
        return f"{mark} {self.step.number} {self.step.title}{said}"


def walk(
    service: Service, data: bytes, headers: Headers | None = None, principal: str = ""
) -> tuple[StepOutcome, ...]:
    """Let a request pass the checks of a server, and say what each step made of it.

    The handler is not run: steps 8 and 9 are "not reached".

    Args:
        data: the bytes of the message.
        headers: the HTTP headers; None for a transport without any.
        principal: who is asking, or "".
    """
    visit = Visit(service, data, headers, principal)
    outcomes: list[StepOutcome] = []
    for step in STEPS[:7]:
        try:
            step.run(visit)
        except ProtocolError as error:
            outcomes.append(StepOutcome(step, "refused", error))
            break
        outcomes.append(StepOutcome(step, "passed"))
    return (*outcomes, *(StepOutcome(step, "not reached") for step in STEPS[len(outcomes) :]))


def request_meta(
    version: str, capabilities: Mapping[str, Any], info: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The `_meta` of a modern request: version and capabilities always, identity unless told not to."""
    meta: dict[str, Any] = {PROTOCOL_VERSION: version}
    if info is not None:
        meta[CLIENT_INFO] = dict(info)
    meta[CLIENT_CAPABILITIES] = dict(capabilities)
    return meta


def is_modern(message: Message) -> bool:
    """Whether a message carries modern per-request metadata, be it only a part of it.

    No legacy client has a reason to send one of these keys. A request that has some and lacks others is a
    modern one with a fault, and the error that names the fault helps its sender most.
    """
    if not isinstance(message, Request) or message.params is None:
        return False
    meta: Any = message.params.get("_meta")
    # All of them should have the version, so it is looked for first.
    if isinstance(meta, dict) and PROTOCOL_VERSION in meta:
        return True
    return not _MODERN_KEYS.isdisjoint(meta_of(message.params))


LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

_MODERN_KEYS: Final = frozenset({PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES})

_REQUIRED_KEYS: Final = frozenset({PROTOCOL_VERSION, CLIENT_CAPABILITIES})
_NO_INFO: Final[Mapping[str, str]] = {"name": "", "version": ""}

_REQUIRED_META: Final[tuple[tuple[str, type, str], ...]] = (
    (PROTOCOL_VERSION, str, "a string"),
    (CLIENT_CAPABILITIES, dict, "an object"),
)


def _is_implementation(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    info = cast("dict[str, Any]", value)
    return isinstance(info.get("name"), str) and isinstance(info.get("version"), str)
