"""What a server makes of a message before its handler runs, step by step, for the message lab.

`Mirror` is beside a server and takes in what the server takes in. It asks the very functions and tables that
the server asks: `STEPS` for a modern request, the session's own table for a legacy message. What it says is
therefore what the server does, and the tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mcpsim.eras import legacy, modern
from mcpsim.eras.capabilities import missing_capabilities
from mcpsim.eras.legacy import Action, Phase
from mcpsim.eras.negotiation import choose_era_of_server
from mcpsim.eras.pages import LEGACY, MODERN, spec_url
from mcpsim.eras.revisions import era_of
from mcpsim.errors import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, MalformedMessage, ProtocolError
from mcpsim.messages import (
    Batch,
    Message,
    Notification,
    Request,
    RequestId,
    describe,
    read_batch,
    read_message,
)
from mcpsim.server.operations.checking import check_params
from mcpsim.server.server import Server
from mcpsim.server.sessions import SETTINGS
from mcpsim.simulation.world import principal_of
from mcpsim.transports.http import (
    EVENT_STREAM_TYPE,
    JSON_TYPE,
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
    Headers,
    HttpRequest,
    accepts,
    origin_allowed,
)
from mcpsim.widgets.text import one_line

PASSED: Final = "passed"
REFUSED: Final = "refused"
IGNORED: Final = "ignored"
RUNNING: Final = "running"
NOT_REACHED: Final = "not reached"
#: How many messages of a batch, or lines of one sending, are looked at one by one.
MAX_MESSAGES: Final = 20


class Check(NamedTuple):
    """What one step said.

    Attributes:
        title: what the server looks at, in a few words.
        outcome: "passed", "refused", "ignored", "running" or "not reached".
        said: why, in a sentence; "" where there is nothing to say.
        url: where the specification says it.
        code: of the error, or the HTTP status; 0 where there is none.
    """

    title: str
    outcome: str
    said: str = ""
    url: str = ""
    code: int = 0


@dataclass(frozen=True, slots=True)
class Walked:
    """The way of one message.

    Attributes:
        label: what it is, in short.
        era: "modern", "legacy", or "" where it did not come so far.
        why: why the server takes it for that, in a sentence.
        checks: the steps, in order; those of a handler are "not reached" as yet.
        before, after: the phase of the legacy session, or "".
        action: what the session's table says, or "".
        id: of a request, or None.
        awaits: whether it passed all the checks, and a handler runs for it.
    """

    label: str
    era: str = ""
    why: str = ""
    checks: tuple[Check, ...] = ()
    before: str = ""
    after: str = ""
    action: str = ""
    id: RequestId | None = None
    awaits: bool = False

    @property
    def refused(self) -> Check | None:
        """The step that refuses it, or None."""
        return next((one for one in self.checks if one.outcome == REFUSED), None)


@dataclass(slots=True)
class _Held:
    """A session of the server, as far as it is known here."""

    session: legacy.Session
    principal: str = ""


@dataclass(slots=True)
class Mirror:
    """What a server knows about one connection.

    Attributes:
        is_http: whether sessions are named by a header.
        held: the legacy sessions by id; on stdio the only one, whose id is "".
    """

    server: Server
    is_http: bool
    held: dict[str, _Held] = field(default_factory=dict[str, _Held])
    _born: _Held | None = None

    def __post_init__(self) -> None:
        if not self.is_http:
            self.held[""] = _Held(legacy.Session(self.server.legacy_versions))

    @property
    def latest(self) -> legacy.Session | None:
        """The session that was begun last, or None."""
        return next(reversed(self.held.values())).session if self.held else None

    def began(self, id: str) -> None:
        """The server gave the session that the last `initialize` opened this id (HTTP)."""
        if self._born is not None and id:
            self._born.session.id = id
            self.held[id] = self._born
        self._born = None

    def hang_up(self) -> None:
        """The connection is closed. On HTTP a session outlives connections."""
        if not self.is_http:
            self.held[""].session.phase = Phase.CLOSED

    def take_line(self, line: bytes, in_work: AbstractSet[RequestId] = frozenset()) -> list[Walked]:
        """Take in a line of stdio; several messages where it is a batch.

        Args:
            line: without its newline.
            in_work: the ids of the requests that are being worked on.
        """
        held = self.held[""]
        session = held.session
        era = MODERN if session.phase is Phase.NEW else LEGACY
        read = _read(line, batches=session.batches, era=era)
        if not isinstance(read.message, Batch):
            return [self._walk(read, line, None, held, in_work)]
        return [self._legacy(held, one) for one in _members(read)]

    def take_request(self, request: HttpRequest) -> list[Walked]:
        """Take in an HTTP request."""
        checks: list[Check] = []
        era = self._era_of_head(request)
        for row in TRANSPORT_CHECKS:
            if not row.applies(self, request):
                continue
            problem = row.problem(self, request)
            page = row.page if era == LEGACY else row.modern_page
            checks.append(_check(row.title, problem, page, row.status, era))
            if problem:
                return [Walked(f"HTTP {request.method}", checks=tuple(checks))]
        if request.method in ("GET", "DELETE"):
            return [self._of_session(request, checks)]
        held = self._named_by(request)
        batches = held is not None and held.session.batches
        read = _read(request.body, batches=batches, is_http=True, era=era)
        if read.message is None:
            # What cannot be read belongs to its session all the same, and that may be over.
            names_one = SESSION_ID_HEADER in request.headers and self.server.era != "modern"
            if names_one and era_of(request.headers.get(PROTOCOL_VERSION_HEADER) or "") != "modern":
                problem = self._session_problem(request, "This message")
                if problem:
                    return [Walked(read.label, checks=(*checks, problem), id=read.id)]
            return [_plus(Walked(read.label, checks=(read.check,), id=read.id), checks)]
        if isinstance(read.message, Batch):
            return [_plus(one, checks) for one in self._batch(request, read)]
        if self._era(read.message, request.headers, held) == MODERN:
            walked = self._modern(read, request.body, request.headers, frozenset())
            return [_plus(walked, checks)]
        return [_plus(self._legacy_post(request, read), checks)]

    # ----------------------------------------------------------------------------------- which era

    def _era(self, message: Message, headers: Headers | None, held: _Held | None) -> str:
        if self.server.era != "both":
            return self.server.era
        if headers is None:
            has_session = held is not None and held.session.phase is not Phase.NEW
            return choose_era_of_server(message, has_session=has_session)
        header_era = era_of(headers.get(PROTOCOL_VERSION_HEADER) or "")
        if header_era == "modern" and not isinstance(message, Request):
            return MODERN
        has_session = SESSION_ID_HEADER in headers or header_era == "legacy"
        return choose_era_of_server(message, has_session=has_session)

    def _era_of_head(self, request: HttpRequest) -> str:
        """By whose rules the head of a request is looked at, as far as the head itself tells."""
        version = era_of(request.headers.get(PROTOCOL_VERSION_HEADER) or "")
        in_session = SESSION_ID_HEADER in request.headers and version != "modern"
        return LEGACY if self.server.era == "legacy" or version == "legacy" or in_session else MODERN

    def _why(self, message: Message, era: str) -> str:
        if self.server.era != "both":
            return f"This server speaks the {self.server.era} protocol only."
        if modern.is_modern(message):
            return "It carries modern metadata: it is answered by itself, whatever came before."
        if era == LEGACY:
            if isinstance(message, Request) and message.method == "initialize":
                return "`initialize` without modern metadata opens a legacy session."
            if isinstance(message, Request) and message.method == "ping":
                return "A `ping` without modern metadata: only the legacy protocol has it."
            return "It carries no modern metadata, and so it belongs to the legacy session."
        return "No session is open here, so it is taken for a modern message."

    # ----------------------------------------------------------------------------------- modern

    def _walk(
        self,
        read: _Read,
        data: bytes,
        headers: Headers | None,
        held: _Held,
        in_work: AbstractSet[RequestId],
    ) -> Walked:
        if read.message is None:
            return Walked(read.label, checks=(read.check,), id=read.id)
        assert not isinstance(read.message, Batch)
        if self._era(read.message, headers, held) == MODERN:
            return self._modern(read, data, headers, in_work)
        return self._legacy(held, read)

    def _modern(
        self, read: _Read, data: bytes, headers: Headers | None, in_work: AbstractSet[RequestId]
    ) -> Walked:
        message = read.message
        assert message is not None
        assert not isinstance(message, Batch)
        why = self._why(message, MODERN)
        if isinstance(message, Notification) or (headers is None and not isinstance(message, Request)):
            return Walked(read.label, MODERN, why, (read.check, self._modern_aside(message, headers)))
        principal = principal_of(headers) if headers is not None else ""
        outcomes = modern.walk(self.server, data, headers, principal)
        checks = [
            Check(
                f"Step {one.step.number}: {one.step.title}",
                one.outcome,
                "" if one.error is None else one.error.message,
                one.step.spec,
                0 if one.error is None else one.error.code,
            )
            for one in outcomes
        ]
        if headers is None:
            checks[3] = checks[3]._replace(
                said="There are no headers on stdio." if _passed(checks[3]) else ""
            )
        request = message if isinstance(message, Request) else None
        admitted = request is not None and all(_passed(one) for one in checks[:7])
        if request is not None and admitted and headers is None and request.id in in_work:
            problem = f"A request with the id {request.id!r} is still being worked on."
            busy = _check("Is the id free?", problem, "basic/index#requests", INVALID_REQUEST, MODERN)
            return Walked(read.label, MODERN, why, (*checks[:7], busy, *checks[7:]), id=request.id)
        id = request.id if request is not None else None
        return Walked(read.label, MODERN, why, tuple(checks), id=id, awaits=admitted)

    def _modern_aside(self, message: Message, headers: Headers | None) -> Check:
        title = "Is there something to do?"
        if not isinstance(message, Notification):
            text = "A modern server sends no requests, so nobody waits for a response."
            return Check(title, IGNORED, text, spec_url(MODERN, "basic/index#responses"))
        if headers is not None:
            text = "No notification goes to a server over HTTP. It is accepted (202) and does nothing."
            url = spec_url(MODERN, "basic/transports/streamable-http#cancellation")
            return Check(title, IGNORED, text, url)
        if message.method == "notifications/cancelled":
            url = spec_url(MODERN, "basic/transports/stdio#cancellation")
            return Check(title, PASSED, "The request that it names is stopped, if it is in work.", url)
        text = f"{message.method} means nothing to a modern server."
        return Check(title, IGNORED, text, spec_url(MODERN, "basic/index#notifications"))

    # ----------------------------------------------------------------------------------- legacy

    def _legacy_post(self, request: HttpRequest, read: _Read) -> Walked:
        message = read.message
        if isinstance(message, Request) and SESSION_ID_HEADER not in request.headers:
            return self._without_session(request, read, message)
        problem = self._session_problem(request, _method_of(read))
        if problem is not None:
            why = self._why_of(read)
            return Walked(read.label, LEGACY, why, (read.check, problem), id=_id_of(read))
        held = self._named_by(request)
        assert held is not None
        return self._legacy(held, read, (self._session_passed(request),))

    def _without_session(self, request: HttpRequest, read: _Read, message: Request) -> Walked:
        title = "Which session is it?"
        if message.method == "ping":
            problem = self._version_problem(request, self.server.legacy_versions, "this server")
            said = problem or "None is named. A ping may come before the handshake."
            outcome = REFUSED if problem else PASSED
            check = Check(title, outcome, said, _session_url(), 400 if problem else 0)
            return Walked(read.label, LEGACY, self._why_of(read), (read.check, check), id=message.id)
        if message.method != "initialize":
            check = _check(title, _missing(message.method), "basic/transports#session-management", 400)
            return Walked(read.label, LEGACY, self._why_of(read), (read.check, check), id=message.id)
        held = _Held(legacy.Session(self.server.legacy_versions), principal_of(request.headers))
        begins = Check(title, PASSED, "None is named: `initialize` begins a new one.", _session_url())
        walked = self._legacy(held, read, (begins,))
        self._born = held if held.session.phase is not Phase.NEW else None
        return walked

    def _legacy(self, held: _Held, read: _Read, more: tuple[Check, ...] = ()) -> Walked:
        message = read.message
        if message is None:
            return Walked(read.label, LEGACY, "", (read.check, *more), id=read.id)
        assert not isinstance(message, Batch)
        session = held.session
        before = str(session.phase)
        action, _ = legacy.next_step(session.phase, legacy.arrival_of(message))
        checks = [read.check, *more]
        awaits = False
        if isinstance(message, Request):
            steps = tuple(self._legacy_checks(held, message, action))
            checks += steps
            awaits = action is Action.SERVE and message.method not in SETTINGS
            awaits = awaits and all(_passed(one) for one in steps)
            if awaits:
                title, url = "Run the handler", spec_url(LEGACY, "basic/index#result-responses")
                checks.append(Check(title, NOT_REACHED, "", url))
        else:
            session.take(message)
            checks.append(_taken(message, action, before))
        return Walked(
            read.label,
            LEGACY,
            self._why_of(read),
            tuple(checks),
            before,
            str(session.phase),
            str(action),
            message.id if isinstance(message, Request) else None,
            awaits,
        )

    def _legacy_checks(self, held: _Held, request: Request, action: Action) -> Iterator[Check]:
        """The steps of a legacy request; those after the one that refuses it are not reached."""
        rows = _ROWS_OF.get(action, REQUEST_ROWS)
        if action is Action.SERVE and request.method in SETTINGS:
            rows = SETTING_ROWS
        visit = _LegacyVisit(self.server, held.session, held.principal, request)
        refused = False
        for row in rows:
            url = spec_url(LEGACY, row.page)
            if refused:
                yield Check(row.title, NOT_REACHED, "", url)
                continue
            try:
                said = row.run(visit) or ""
            except ProtocolError as error:
                refused = True
                yield Check(row.title, REFUSED, error.message, url, error.code)
            else:
                yield Check(row.title, PASSED, said, url)

    def _why_of(self, read: _Read) -> str:
        message = read.message
        return "" if message is None or isinstance(message, Batch) else self._why(message, LEGACY)

    def _batch(self, request: HttpRequest, read: _Read) -> list[Walked]:
        problem = self._session_problem(request, "A batch")
        held = self._named_by(request)
        if problem is not None or held is None:
            return [Walked(read.label, LEGACY, "", (read.check, *((problem,) if problem else ())))]
        session = (self._session_passed(request),)
        return [self._legacy(held, one, session) for one in _members(read)]

    # ----------------------------------------------------------------------------------- sessions on HTTP

    def _named_by(self, request: HttpRequest) -> _Held | None:
        id = request.headers.get(SESSION_ID_HEADER)
        found = self.held.get(id) if id is not None else None
        return found if found is not None and found.principal == principal_of(request.headers) else None

    def _of_session(self, request: HttpRequest, checks: list[Check]) -> Walked:
        """A GET or a DELETE."""
        problem = self._session_problem(request, request.method)
        if problem is not None:
            return Walked(f"HTTP {request.method}", LEGACY, "", (*checks, problem))
        held = self._named_by(request)
        assert held is not None
        before = str(held.session.phase)
        if request.method == "DELETE":
            held.session.phase = Phase.CLOSED
            del self.held[held.session.id]
        passed = self._session_passed(request)
        after = str(held.session.phase)
        return Walked(f"HTTP {request.method}", LEGACY, "", (*checks, passed), before, after)

    def _session_passed(self, request: HttpRequest) -> Check:
        id = request.headers.get(SESSION_ID_HEADER) or ""
        return Check("Which session is it?", PASSED, f"The one of the id {one_line(id, 8)}", _session_url())

    def _session_problem(self, request: HttpRequest, what: str) -> Check | None:
        title = "Which session is it?"
        if SESSION_ID_HEADER not in request.headers:
            return Check(title, REFUSED, _missing(what), _session_url(), 400)
        held = self._named_by(request)
        if held is None:
            text = "There is no such session (any more); initialize again."
            return Check(title, REFUSED, text, _session_url(), 404)
        problem = self._version_problem(request, (held.session.version,), "this session")
        if problem:
            url = spec_url(LEGACY, "basic/transports#protocol-version-header")
            return Check(title, REFUSED, problem, url, 400)
        return None

    def _version_problem(self, request: HttpRequest, spoken: tuple[str, ...], who: str) -> str:
        version = request.headers.get(PROTOCOL_VERSION_HEADER)
        if version is None or version in spoken:
            return ""
        return f"{PROTOCOL_VERSION_HEADER} says {version!r}; {who} speaks {', '.join(spoken)}."

    def legacy_methods(self, request: HttpRequest) -> bool:
        """Whether GET and DELETE mean anything for this request."""
        speaks_modern = era_of(request.headers.get(PROTOCOL_VERSION_HEADER) or "") == "modern"
        return bool(self.server.legacy_versions) and not (speaks_modern and self.server.era != "legacy")


# ----------------------------------------------------------------------------------------- the rows


@dataclass(frozen=True, slots=True)
class TransportCheck:
    """Something that an HTTP endpoint looks at before it reads the body.

    Attributes:
        status: what a request is refused with.
        page, modern_page: where the two protocols say so.
        applies: whether it is asked of this request at all.
        problem: what is wrong, or "".
    """

    title: str
    status: int
    page: str
    modern_page: str
    applies: Callable[[Mirror, HttpRequest], bool]
    problem: Callable[[Mirror, HttpRequest], str]


def _origin_problem(mirror: Mirror, request: HttpRequest) -> str:
    if origin_allowed(request.headers):
        return ""
    return f"The origin {request.headers.get('Origin')!r} is not allowed here."


def _method_problem(mirror: Mirror, request: HttpRequest) -> str:
    if request.method == "POST" or (request.method in ("GET", "DELETE") and mirror.legacy_methods(request)):
        return ""
    allowed = ["POST", *(("GET", "DELETE") if mirror.legacy_methods(request) else ())]
    return f"{request.method} is not among {', '.join(allowed)}."


def _accept_problem(mirror: Mirror, request: HttpRequest) -> str:
    if request.method == "GET":
        listed = accepts(request.headers, EVENT_STREAM_TYPE)
        return "" if listed else f"The Accept header of a GET must list {EVENT_STREAM_TYPE}."
    listed = accepts(request.headers, JSON_TYPE) and accepts(request.headers, EVENT_STREAM_TYPE)
    return "" if listed else f"The Accept header must list {JSON_TYPE} and {EVENT_STREAM_TYPE}."


def _type_problem(mirror: Mirror, request: HttpRequest) -> str:
    given = (request.headers.get("Content-Type") or "").split(";")[0].strip().lower()
    return "" if given == JSON_TYPE else f"The Content-Type must be {JSON_TYPE}, not {given!r}."


TRANSPORT_CHECKS: Final = (
    TransportCheck(
        "HTTP: may it come from there?",
        403,
        "basic/transports#security-warning",
        "basic/transports/streamable-http#security-endpoint",
        lambda mirror, request: True,
        _origin_problem,
    ),
    TransportCheck(
        "HTTP: is the method right?",
        405,
        "basic/transports#sending-messages-to-the-server",
        "basic/transports/streamable-http#sending-messages",
        lambda mirror, request: True,
        _method_problem,
    ),
    TransportCheck(
        "HTTP: can the client take both kinds of answer?",
        406,
        "basic/transports#sending-messages-to-the-server",
        "basic/transports/streamable-http#sending-messages",
        lambda mirror, request: request.method != "DELETE",
        _accept_problem,
    ),
    TransportCheck(
        "HTTP: is the body said to be JSON?",
        415,
        "basic/transports#sending-messages-to-the-server",
        "basic/transports/streamable-http#sending-messages",
        lambda mirror, request: request.method == "POST",
        _type_problem,
    ),
)


@dataclass(frozen=True, slots=True)
class _LegacyVisit:
    server: Server
    session: legacy.Session
    principal: str
    request: Request

    @property
    def params(self) -> dict[str, Any]:
        return self.request.params or {}


class LegacyStep(NamedTuple):
    """Something that a server looks at in a legacy request; `run` raises ProtocolError, or says a word."""

    title: str
    page: str
    run: Callable[[_LegacyVisit], str | None]


def _may_come_now(visit: _LegacyVisit) -> str:
    # Only the refusal of the table is of interest here: the id is the next row's.
    action, _ = legacy.next_step(visit.session.phase, legacy.arrival_of(visit.request))
    if action is Action.REFUSE:
        visit.session.take(visit.request)
    return f"In the phase “{visit.session.phase}”: {action}."


def _is_new(visit: _LegacyVisit) -> None:
    visit.session.take(visit.request)


def _open(visit: _LegacyVisit) -> str:
    session = visit.session
    version = session.open(visit.params)
    session.declared = visit.server.capabilities(version)
    asked = visit.params.get("protocolVersion")
    if asked == version:
        return f"Both will speak {version}."
    return f"The client asked for {asked!r:.40}. This server does not speak it, and offers {version}."


def _is_offered(visit: _LegacyVisit) -> None:
    request, session = visit.request, visit.session
    legacy.check_method(request.method, session.version, session.declared)


def _client_can(visit: _LegacyVisit) -> None:
    required = visit.server.required_capabilities(visit.request)
    missing = missing_capabilities(required, visit.session.capabilities) if required else {}
    if missing:
        raise ProtocolError(
            INVALID_REQUEST,
            f"{visit.request.method} needs client capabilities that initialize did not declare: "
            f"{', '.join(missing)}.",
        )


def _are_parameters_right(visit: _LegacyVisit) -> None:
    route = visit.server.route(visit.request.method)
    if route is None:
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {visit.request.method}")
    route.check(visit.params, visit.session.version)


def _is_allowed(visit: _LegacyVisit) -> None:
    route = visit.server.route(visit.request.method)
    if route is not None:
        route.authorise(visit.principal, route.check(visit.params, visit.session.version))


def _set(visit: _LegacyVisit) -> str:
    method = visit.request.method
    check_params(method, visit.params, visit.session.version)
    SETTINGS[method](visit.session, visit.params)
    return "The session remembers it from now on."


def _nothing(visit: _LegacyVisit) -> str:
    return "The answer is an empty result."


_NOW: Final = LegacyStep("May it come now?", "basic/lifecycle#initialization", _may_come_now)
_ID: Final = LegacyStep("Is its id new in this session?", "basic/index#requests", _is_new)
_OFFERED: Final = LegacyStep("Is the method offered?", "basic/lifecycle#operation", _is_offered)

REQUEST_ROWS: Final = (
    _NOW,
    _ID,
    _OFFERED,
    LegacyStep("Can the client do what is needed?", "basic/lifecycle#capability-negotiation", _client_can),
    LegacyStep("Are the parameters right?", "basic/index#requests", _are_parameters_right),
    LegacyStep("Is the caller allowed to?", "server/tools#security-considerations", _is_allowed),
)
SETTING_ROWS: Final = (
    _NOW,
    _ID,
    _OFFERED,
    LegacyStep("Are the parameters right?", "basic/index#requests", _set),
)
_ROWS_OF: Final[Mapping[Action, tuple[LegacyStep, ...]]] = {
    Action.ANSWER_INITIALIZE: (
        _NOW,
        _ID,
        LegacyStep("Agree on a version", "basic/lifecycle#version-negotiation", _open),
    ),
    Action.ANSWER_PING: (
        _NOW,
        _ID,
        LegacyStep("Answer the ping", "basic/utilities/ping#behavior-requirements", _nothing),
    ),
}


# ----------------------------------------------------------------------------------------- reading


class _Read(NamedTuple):
    label: str
    check: Check
    message: Message | Batch | None
    # Of what is no message: its id may still be readable, and then the answer repeats it.
    id: RequestId | None = None


def _read(data: bytes, *, batches: bool, is_http: bool = False, era: str = MODERN) -> _Read:
    title, url = "Read one message", spec_url(era, "basic/index#messages")
    try:
        message = read_batch(data) if batches else read_message(data)
    except MalformedMessage as error:
        # On a pipe nothing goes back for what is no request. An HTTP request always has a response.
        return _unread(error, url, refused=is_http or error.expects_answer)
    if isinstance(message, Batch):
        label = f"a batch of {len(message.members)}"
        batching = spec_url(LEGACY, "basic/index#messages")
        said = "This session's revision has batches."
        return _Read(label, Check("Read the messages", PASSED, said, batching), message)
    kind = _KINDS[type(message).__name__]
    return _Read(describe(message), Check(title, PASSED, f"It is {kind}.", url), message)


def _unread(error: MalformedMessage, url: str, *, refused: bool) -> _Read:
    label = "not JSON" if error.code == PARSE_ERROR else "not a message"
    said = error.message if refused else f"{error.message} It is no request: nobody answers it."
    outcome = REFUSED if refused else IGNORED
    return _Read(label, Check("Read one message", outcome, said, url, error.code), None, error.id)


_KINDS: Final = {
    "Request": "a request",
    "Notification": "a notification",
    "Response": "a response",
    "ErrorResponse": "an error response",
}


def _members(read: _Read) -> Iterator[_Read]:
    batch = read.message
    assert isinstance(batch, Batch)
    for number, member in enumerate(batch.members, start=1):
        if isinstance(member, MalformedMessage):
            yield _unread(member, read.check.url, refused=member.expects_answer)
        else:
            title = f"Read message {number} of the batch"
            check = Check(title, PASSED, f"It is {_KINDS[type(member).__name__]}.", read.check.url)
            yield _Read(describe(member), check, member)


def _taken(message: Message, action: Action, phase: str) -> Check:
    """What the session makes of a message that nobody answers."""
    ignored = action is Action.IGNORE
    said = f"In the phase “{phase}”: {action}."
    return Check(
        _NOW.title, IGNORED if ignored else PASSED, said, spec_url(LEGACY, "basic/lifecycle#initialization")
    )


def _check(title: str, problem: str, page: str, code: int, era: str = LEGACY) -> Check:
    url = spec_url(era, page)
    return Check(title, REFUSED, problem, url, code) if problem else Check(title, PASSED, "", url)


def _plus(walked: Walked, before: list[Check]) -> Walked:
    return Walked(
        walked.label,
        walked.era,
        walked.why,
        (*before, *walked.checks),
        walked.before,
        walked.after,
        walked.action,
        walked.id,
        walked.awaits,
    )


def _passed(check: Check) -> bool:
    return check.outcome == PASSED


def _method_of(read: _Read) -> str:
    message = read.message
    return message.method if isinstance(message, Request | Notification) else "This message"


def _id_of(read: _Read) -> RequestId | None:
    return read.message.id if isinstance(read.message, Request) else read.id


def _missing(what: str) -> str:
    return (
        f"{what} came without the header {SESSION_ID_HEADER}. A legacy session begins with a handshake: send "
        "initialize first, its response gives a session id out."
    )


def _session_url() -> str:
    return spec_url(LEGACY, "basic/transports#session-management")
