"""Exercise: which replica a gateway sends a request to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_integer, as_text
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.pages import LEGACY, spec_url
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN, VERSION_HEADER_REVISIONS
from mcpsim.transports.http import Headers

VERSION_HEADER: Final = "MCP-Protocol-Version"
SESSION_HEADER: Final = "MCP-Session-Id"
NOT_FOUND, UNAVAILABLE = 404, 503
SEEDS: Final = (1, 2, 3)
SESSIONS: Final = "basic/transports#session-management"

STICKY: Final = Rule(
    "A client MUST send the session id with all requests that follow. Whoever has the session has to get "
    "them.",
    SESSIONS,
    LEGACY,
)
GONE: Final = Rule(
    "A client that gets 404 for a session id MUST start a new session. No other status says that.",
    SESSIONS,
    LEGACY,
)
FREE: Final = Rule(
    "A server MUST NOT rely on what earlier requests said: any replica can answer a modern request.",
    "basic/index#statelessness",
)
NO_SESSION: Final = Rule(
    "This revision has no sessions: a session id in a request SHOULD be ignored.",
    "basic/transports/streamable-http#earlier-streamable-http-revisions",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One request at the gateway.

    Attributes:
        what: the request, in words.
        headers: its headers.
        sessions: where each session lives, by id.
        alive: the replicas that can be reached.
        places: the replicas that are right.
        status: the status that is right, or also right; 0 for none.
        rule: what decides.
        look: what to look at.
    """

    what: str
    headers: Headers
    sessions: dict[str, str]
    alive: tuple[str, ...]
    places: tuple[str, ...]
    status: int
    rule: Rule
    look: str


def _headers(rng: Random, version: str | None, session: str | None) -> Headers:
    lines = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if version is not None:
        lines[VERSION_HEADER] = version
    if session is not None:
        lines[SESSION_HEADER] = session
    # Names of headers may be spelled in any way.
    spell = rng.choice((str, str.lower, str.upper))
    return Headers({spell(name): value for name, value in lines.items()})


def _cases(rng: Random) -> list[Case]:
    """The kinds of request, in a deployment that is another one for each seed."""
    names = [f"server-{number}" for number in range(1, rng.randrange(4, 7))]
    rng.shuffle(names)
    dead = names.pop()
    alive = tuple(names)
    ids = [f"{rng.randrange(16**8):08x}" for _ in range(6)]
    sessions = {id: rng.choice(alive) for id in ids[:3]} | dict.fromkeys(ids[3:5], dead)
    home, lost, unknown = rng.choice(ids[:3]), rng.choice(ids[3:5]), ids[5]
    old = rng.choice(sorted(VERSION_HEADER_REVISIONS - {LATEST_MODERN}))
    late = "The session is known, so it has to go where it lives, as long as that replica is alive."
    gone = "Return 404, or a replica that is alive: it does not know the session and will say 404 itself."
    free = "`alive[turn % len(alive)]` is the next one that is alive."

    def case(
        what: str,
        version: str | None,
        session: str | None,
        places: tuple[str, ...],
        rule: Rule,
        look: str,
        *,
        status: int = 0,
        up: tuple[str, ...] = alive,
    ) -> Case:
        return Case(what, _headers(rng, version, session), sessions, up, places, status, rule, look)

    return [
        case("a legacy request of a session", old, home, (sessions[home],), STICKY, late),
        case(
            "a legacy request of a session, without a version",
            None,
            home,
            (sessions[home],),
            STICKY,
            "Not every legacy request names a version: the first revisions had no such header.",
        ),
        case("an `initialize`: no version, no session", None, None, alive, STICKY, free),
        case("a modern request", LATEST_MODERN, None, alive, FREE, free),
        case(
            "a modern request with the id of a session at a dead replica",
            LATEST_MODERN,
            lost,
            alive,
            NO_SESSION,
            "Look at the version first. In the modern era a session id means nothing.",
        ),
        case(
            "a legacy request of a session whose replica is dead",
            old,
            lost,
            alive,
            GONE,
            gone,
            status=NOT_FOUND,
        ),
        case(
            "a legacy request of a session that nobody knows",
            old,
            unknown,
            alive,
            GONE,
            gone,
            status=NOT_FOUND,
        ),
        case(
            "a modern request, and no replica is alive",
            LATEST_MODERN,
            None,
            (),
            FREE,
            f"If `alive` is empty: {UNAVAILABLE}.",
            status=UNAVAILABLE,
            up=(),
        ),
        case(
            "an `initialize`, and no replica is alive",
            None,
            None,
            (),
            STICKY,
            f"If `alive` is empty: {UNAVAILABLE}.",
            status=UNAVAILABLE,
            up=(),
        ),
    ]


def grade(answer: object, learner: Learner) -> Passed:
    """Ask the function about each kind of request, and about many in a row."""
    count = 0
    for seed in SEEDS:
        rng = Random(f"route:{seed}")
        for case in _cases(rng):
            _judge(answer, learner, case, rng.randrange(1000))
            count += 1
        for case in _cases(rng):
            if len(case.places) > 1 and not case.status:
                count += _judge_turns(answer, learner, case, rng.randrange(1000))
        count += _judge_modern_is_not_sticky(answer, learner, rng)
    return Passed(
        f"{count} requests: each session found its replica, and everything else was shared out.", STICKY
    )


def _call(answer: object, learner: Learner, case: Case, turn: int) -> Any:
    value = learner.call(
        answer, case.headers, dict(case.sessions), list(case.alive), turn, on=case.what, rule=case.rule
    )
    if is_placeholder(value):
        raise NotAttempted
    return value


def _told(case: Case) -> str:
    shown = {name: value for name, value in case.headers.items() if name.lower().startswith("mcp-")}
    return f"{case.what[0].upper()}{case.what[1:]}: headers {show(shown)}, alive {show(list(case.alive))}."


def _judge(answer: object, learner: Learner, case: Case, turn: int) -> None:
    value = _call(answer, learner, case, turn)
    place, status = as_text(value), as_integer(value)
    if (place is not None and place in case.places) or (case.status and status == case.status):
        return
    home = case.sessions.get(case.headers.get(SESSION_HEADER) or "")
    lives = f" The session began at {home}." if home and case.rule is not NO_SESSION else ""
    if case.status and not case.places:
        wanted = str(case.status)
    elif case.status:
        wanted = f"{case.status}, or a replica that is alive"
    else:
        wanted = " or ".join(case.places)
    raise NotYet(
        f"{_told(case)}{lives} {name_of(answer)} returned {show(value)}; right is {wanted}.",
        case.rule,
        case.look,
    )


def _judge_turns(answer: object, learner: Learner, case: Case, turn: int) -> int:
    rounds = 3
    number = rounds * len(case.alive)
    got = Counter(as_text(_call(answer, learner, case, turn + step)) or "nobody" for step in range(number))
    if any(got[name] != rounds for name in case.alive):
        shares = ", ".join(f"{name}: {got[name]}" for name in sorted({*got, *case.alive}))
        raise NotYet(
            f"{number} times in a row {case.what}. They went to {shares}. Each of the {len(case.alive)} "
            "that are "
            f"alive should get {rounds}.",
            case.rule,
            "What belongs to no session is shared out by turns: `alive[turn % len(alive)]`.",
        )
    return number


def _judge_modern_is_not_sticky(answer: object, learner: Learner, rng: Random) -> int:
    """The id of a session that lives somewhere binds no modern request."""
    case = _cases(rng)[0]
    session = case.headers.get(SESSION_HEADER)
    modern = Case(
        "a modern request with the id of a session that is known",
        _headers(rng, LATEST_MODERN, session),
        case.sessions,
        case.alive,
        case.alive,
        0,
        NO_SESSION,
        "",
    )
    return _judge_turns(answer, learner, modern, rng.randrange(1000))


TITLE: Final = "The way through the gateway"

TASK: Final = Task(
    name="route",
    title=TITLE,
    text=f"""\
Write the function by which a gateway decides where a request goes. It serves legacy and modern clients.

- `headers`: `headers.get(name)` is the value of a header, or None; how the name is spelled does not matter.
- `sessions`: a dict, at which replica each session began, by its id.
- `alive`: the replicas that can be reached, a list of names.
- `turn`: how many requests there were before.

Return the name of a replica, or an HTTP status.

- A modern request (`{VERSION_HEADER}` is `{LATEST_MODERN}`) may go to any replica that is alive. What belongs
  to no session is shared out by turns.
- A legacy request with an `{SESSION_HEADER}` belongs to the replica where that session began. If that replica
  is dead, or if nobody knows the session, the client has to learn that the session is gone: return what
  tells it so.
- If nobody is alive: {UNAVAILABLE}.

The legacy rules: [session management, {LATEST_LEGACY}]({spec_url(LEGACY, SESSIONS)}).""",
    answer="route",
    starter='''\
def route(headers, sessions, alive, turn):
    """The replica for a request, or an HTTP status."""
    return ...''',
    hints=(
        "Two questions come before all others: is anybody alive, and is the request modern?",
        "Which status makes a legacy client begin a new session? The page on sessions names it.",
        '`session = headers.get("MCP-Session-Id")`. Modern, or no session: by turns. Otherwise '
        "`home = sessions.get(session)`, and `home if home in alive else 404`.",
    ),
    solution=(
        f"""\
def route(headers, sessions, alive, turn):
    if not alive:
        return {UNAVAILABLE}
    session = headers.get("{SESSION_HEADER}")
    is_modern = headers.get("{VERSION_HEADER}") == "{LATEST_MODERN}"
    if is_modern or session is None:
        return alive[turn % len(alive)]
    home = sessions.get(session)
    return home if home in alive else {NOT_FOUND}""",
    ),
    why="Only a session binds a request to a replica, and only the legacy era has sessions. When the "
    "replica is "
    "gone, the session is gone with it, and the sooner the client hears of that the better.",
    grade=grade,
    points=15,
    pages=(
        ("statelessness", "basic/index#statelessness"),
        ("earlier revisions", "basic/transports/streamable-http#earlier-streamable-http-revisions"),
    ),
    play="",
)
