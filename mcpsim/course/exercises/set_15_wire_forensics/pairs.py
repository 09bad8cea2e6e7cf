"""Exercise: which answer belongs to which request?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import integers_of, items_of
from mcpsim.course.exercises.set_15_wire_forensics.rules import BOTH_ASK, ID_FREE_AGAIN, SAME_ID
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.exercises.worlds import SEEDS

Row = dict[str, Any]
Pair = tuple[int, int]
_OTHER: Final = {"client": "server", "server": "client"}


@dataclass(slots=True)
class Trace:
    """A trace in the making, and the pairs in it.

    Attributes:
        rng: where methods and times come from.
        is_named: whether its rows say their connection.
    """

    rng: Random
    is_named: bool = True
    rows: list[Row] = field(default_factory=list[Row])
    pairs: list[Pair] = field(default_factory=list[Pair])

    def ask(self, id: Any, connection: str = "c1", side: str = "client") -> int:
        """A request; its row."""
        method = (
            "ping" if side == "server" else self.rng.choice(["tools/list", "resources/list", "prompts/list"])
        )
        return self._row(side, connection, message={"jsonrpc": "2.0", "id": id, "method": method})

    def answer(self, asked: int) -> None:
        """The answer to the request in a row: a result, or an error."""
        row = self.rows[asked]
        message: Row = {"jsonrpc": "2.0", "id": row["message"]["id"]}
        if self.rng.random() < 0.4:
            message["error"] = {"code": -32601, "message": "Method not found"}
        else:
            message["result"] = {}
        number = self._row(_OTHER[row["from"]], row.get("connection", ""), message=message)
        self.pairs.append((asked, number))

    def stray(self, id: Any, connection: str = "c1", side: str = "server") -> None:
        """An answer that nobody waits for."""
        self._row(side, connection, message={"jsonrpc": "2.0", "id": id, "result": {}})

    def aside(self, connection: str = "c1") -> None:
        """Something that has no answer: a notification, a line of a log, an error without an id."""
        kinds: list[Row] = [
            {"message": {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}},
            {"raw": "the desk is ready", "channel": "stderr"},
            {"message": {"jsonrpc": "2.0", "error": {"code": -32700, "message": "This is no JSON."}}},
            {"message": {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "No JSON."}}},
        ]
        self._row("server", connection, **self.rng.choice(kinds))

    def _row(self, side: str, connection: str, **more: Any) -> int:
        t_ms = (self.rows[-1]["t_ms"] if self.rows else 0) + self.rng.randrange(5, 50)
        where = {"connection": connection} if self.is_named and connection else {}
        self.rows.append({"from": side, "t_ms": t_ms, **where, **more})
        return len(self.rows) - 1


def _in_order(trace: Trace) -> None:
    start = trace.rng.randrange(1, 50)
    for id in range(start, start + 3):
        trace.answer(trace.ask(id))
        trace.aside()


def _unnamed(trace: Trace) -> None:
    trace.is_named = False
    _out_of_order(trace)


def _out_of_order(trace: Trace) -> None:
    start = trace.rng.randrange(1, 50)
    asked = [trace.ask(id) for id in range(start, start + 4)]
    trace.rng.shuffle(asked)
    for number in asked:
        trace.answer(number)


def _two_connections(trace: Trace) -> None:
    id = trace.rng.randrange(1, 50)
    asked = [trace.ask(id, name) for name in ("c1", "c2", "c3")]
    for number in (asked[2], asked[0], asked[1]):
        trace.answer(number)


def _both_ask(trace: Trace) -> None:
    id = trace.rng.randrange(1, 50)
    call = trace.ask(id)
    trace.answer(trace.ask(id, side="server"))
    trace.answer(call)


def _two_types(trace: Trace) -> None:
    id = trace.rng.randrange(1, 50)
    asked = [trace.ask(id), trace.ask(str(id))]
    trace.rng.shuffle(asked)
    for number in asked:
        trace.answer(number)


def _again(trace: Trace) -> None:
    id = trace.rng.choice(["a", 1])
    for _ in range(3):
        trace.answer(trace.ask(id))
        trace.aside()


def _open(trace: Trace) -> None:
    start = trace.rng.randrange(1, 50)
    trace.stray(start + 9)
    first = trace.ask(start)
    trace.ask(start + 1)
    trace.stray(str(start + 1))
    trace.answer(first)
    trace.stray(start)


def _mixed(trace: Trace) -> None:
    waiting: list[int] = []
    used: set[tuple[str, str, Any]] = set()
    for _ in range(24):
        if waiting and trace.rng.random() < 0.45:
            number = trace.rng.choice(waiting)
            waiting.remove(number)
            row = trace.rows[number]
            used.discard((row["connection"], row["from"], repr(row["message"]["id"])))
            trace.answer(number)
            continue
        key = (
            trace.rng.choice(["c1", "c2"]),
            trace.rng.choice(["client", "client", "server"]),
            trace.rng.choice([1, 2, "1", "2"]),
        )
        if (key[0], key[1], repr(key[2])) in used:
            trace.aside(key[0])
            continue
        used.add((key[0], key[1], repr(key[2])))
        waiting.append(trace.ask(key[2], key[0], key[1]))


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of trace.

    Attributes:
        what: the trace, for a sentence.
        make: fills it.
        rule: the rule that decides.
        look: what to look at.
    """

    what: str
    make: Callable[[Trace], None]
    rule: Rule
    look: str


CASES: Final = (
    Case("with one request after the other", _in_order, SAME_ID, "An answer has an id and no method."),
    Case(
        "whose answers come in another order",
        _out_of_order,
        SAME_ID,
        "The id tells which request is answered, and not the order.",
    ),
    Case(
        "whose rows have no `connection`",
        _unnamed,
        SAME_ID,
        'Where there is one connection only, the key is left out: `row.get("connection")`.',
    ),
    Case(
        "with the same id in three connections",
        _two_connections,
        SAME_ID,
        "Each connection has ids of its own.",
    ),
    Case(
        "in which the server asks too, with the id of the client's request",
        _both_ask,
        BOTH_ASK,
        "What the client asks the server answers, and the other way round: look at `from`.",
    ),
    Case(
        "with a number and the same number as a text for ids",
        _two_types,
        SAME_ID,
        'In Python `1 == "1"` is false, and `str(1) == "1"` is true.',
    ),
    Case(
        "in which an id is used again after its answer",
        _again,
        ID_FREE_AGAIN,
        "An answered request waits no longer: take it out.",
    ),
    Case(
        "with a request that is never answered, and answers that nobody waits for",
        _open,
        SAME_ID,
        "They are in no pair.",
    ),
    Case(
        "with all of this at once",
        _mixed,
        SAME_ID,
        "The key is: connection, who asked, and the id with its type.",
    ),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Pair traces of every kind."""
    for case in CASES:
        for seed in SEEDS:
            trace = Trace(Random(f"pairs:{case.what}:{seed}"))
            case.make(trace)
            said = learner.call(answer, deepcopy(trace.rows), on=f"a trace {case.what}", rule=case.rule)
            _judge(case, answer, trace, said)
    return Passed(f"{len(CASES)} kinds of traces, and every answer went to its own request.")


def _judge(case: Case, answer: object, trace: Trace, said: object) -> None:
    if is_placeholder(said):
        raise NotAttempted
    start = f"A trace {case.what}: {name_of(answer)}"
    given = _pairs(said)
    if given is None:
        raise NotYet(
            f"{start} returned {show(said)}.",
            look="Return a list of pairs: the number of the request's row, and that of its answer's.",
        )
    for pair in given:
        if pair not in trace.pairs:
            raise NotYet(f"{start} pairs {_shown(trace, pair)}.", case.rule, case.look)
    missing = [pair for pair in trace.pairs if pair not in given]
    if missing:
        raise NotYet(f"{start} did not pair {_shown(trace, missing[0])}.", case.rule, case.look)
    if len(given) != len(trace.pairs):
        raise NotYet(f"{start} has a pair twice.", look="Each pair stands in the list once.")


def _pairs(said: object) -> list[Pair] | None:
    items = items_of(said)
    if items is None:
        return None
    found: list[Pair] = []
    for one in items:
        numbers = integers_of(one)
        if numbers is None or len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
            return None
        found.append((numbers[0], numbers[1]))
    return found


def _shown(trace: Trace, pair: Sequence[int]) -> str:
    return " with ".join(_row_shown(trace, number) for number in pair)


def _row_shown(trace: Trace, number: int) -> str:
    if not 0 <= number < len(trace.rows):
        return f"row {number}, which does not exist,"
    row = trace.rows[number]
    message = row.get("message")
    if message is None:
        return f"row {number} (no message)"
    kind = message.get("method") or ("error" if "error" in message else "result")
    id = f", id {show(message['id'])}" if "id" in message else ""
    where = f", {row['connection']}" if "connection" in row else ""
    return f"row {number} ({kind}{id}, from the {row['from']}{where})"


TASK: Final = Task(
    name="pairs",
    title="Pairs",
    text="""\
Write a function that takes all rows of a trace and returns its pairs: a list of `(request, answer)`, both as
numbers of rows, counted from 0.

- A request has a method and an id. An answer has an id and no method: a result or an error.
- A row may have no `message`, and a message no id. Such rows are in no pair.
- Connections are mixed. Where there is only one, the key `connection` is missing.
- In a legacy session the server asks, too.
- A request without an answer is in no pair, and neither is an answer for which nobody waits.

The order of the list does not matter.""",
    answer="pairs_of",
    starter='''\
def pairs_of(rows):
    """The pairs (request, answer) of a trace, as numbers of rows."""
    return ...''',
    hints=(
        "Go through the rows with `enumerate`. Keep the requests that wait in a dict, and take one out when "
        "its answer comes.",
        'The key of the dict is a tuple: `row.get("connection")`, who asked, and the id. For an answer the '
        "one who asked is the other side.",
        '1 and "1" are different keys already. Only do not turn ids into texts.',
    ),
    solution=(
        """\
def pairs_of(rows):
    waiting, pairs = {}, []
    for number, row in enumerate(rows):
        message, side = row.get("message", {}), row["from"]
        if "id" in message and "method" in message:
            waiting[row.get("connection"), side, message["id"]] = number
        elif "id" in message:
            asker = "server" if side == "client" else "client"
            asked = waiting.pop((row.get("connection"), asker, message["id"]), None)
            if asked is not None:
                pairs.append((asked, number))
    return pairs""",
    ),
    why="An id means something only together with the connection, the one who asked, and its own type.",
    grade=grade,
    pages=(("requests", "basic/index#requests"), ("responses", "basic/index#responses")),
    show="print(ex.trace())",
    points=15,
)
