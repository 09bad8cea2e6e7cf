"""Exercises 15: wire forensics. What learners might write, right and wrong; and the trace with ten faults.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pytest

from mcpsim.course import exercises, found_trace, numbered, recorded
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.set_15_wire_forensics import guilty, ten_faults, whose
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

VERSION: Final = "io.modelcontextprotocol/protocolVersion"


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.forensics


# --- The trace ------------------------------------------------------------------------------------


def test_the_trace_is_of_a_realistic_size_and_the_same_every_time() -> None:
    trace = found_trace()
    assert trace.sha256() == found_trace().sha256()
    assert 25 <= len(trace.frames) <= 45
    rows = exercises.forensics().rows()
    assert len(rows) == ten_faults.ROWS
    assert {row["connection"] for row in rows} == {"c1", "c2", "c3"}
    assert [row["t_ms"] for row in rows] == sorted(row["t_ms"] for row in rows)


def test_the_audit_finds_what_the_answers_say_and_nothing_else() -> None:
    found = sorted((one.index, one.rule) for one in found_trace().audit().findings)
    assert found == sorted((row, one.audited) for one in ten_faults.FAULTS if one.audited for row in one.rows)
    assert sum(not one.audited for one in ten_faults.FAULTS) == 2
    assert {one.level for one in found_trace().audit().findings} == {"MUST"}


def test_the_two_faults_that_no_audit_sees_are_there() -> None:
    messages = [row.get("message", {}) for row in exercises.forensics().rows()]
    numbers = [messages[row]["params"]["arguments"]["number"] for row in (9, 10, 14)]
    texts = [messages[row]["result"]["content"][0]["text"] for row in (11, 12, 15)]
    assert [messages[row]["id"] for row in (9, 10)] == [messages[row]["id"] for row in (11, 12)]
    # The third connection asks for the first ticket, too, and gets what the second question got here.
    assert numbers == ["T-1001", "T-1002", "T-1001"]
    assert (texts[0], texts[1]) != (texts[2], texts[2])
    assert texts[1] == texts[2]
    assert "not booked" in messages[25]["result"]["content"][0]["text"]
    assert messages[25]["result"]["isError"] is False


def test_without_its_twists_nothing_is_left_but_what_the_clients_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcpsim.course import evidence

    def nothing() -> Any:
        return lambda one: None

    monkeypatch.setattr(evidence, "on_message", lambda *arguments, **named: nothing)
    monkeypatch.setattr(evidence, "_OF_THE_SECOND", nothing)
    monkeypatch.setattr(evidence, "_OF_THE_THIRD", nothing)
    assert Counter(one.party for one in found_trace().audit().findings) == {"client": 4}


def test_an_innocent_row_is_no_fault_and_its_reason_is_true() -> None:
    faulty = {row for fault in ten_faults.FAULTS for row in fault.rows}
    assert not faulty & ten_faults.INNOCENT.keys()
    rows = exercises.forensics().rows()
    for row, (why, _) in ten_faults.INNOCENT.items():
        message = rows[row].get("message", {})
        if "error" in why:
            assert "error" in message, row
        if "cancelled in row" in why:
            number = int(why.split("row ")[1].rstrip("."))
            end = rows[number]
            named = end.get("message", {}).get("params", {}).get("requestId")
            assert named == message["id"] or end["exchange"] == rows[row]["exchange"]


def test_each_row_of_the_text_is_that_of_the_audit() -> None:
    lines = numbered(found_trace(), width=400).splitlines()
    assert len(lines) == ten_faults.ROWS
    assert lines[16].startswith(" 16  c3    430 ms  client  POST tools/call #2 ")
    assert lines[28].startswith(' 28  c3    650 ms  server  HTTP 200 result #"4" ')
    assert max(map(len, numbered(found_trace(), width=70).splitlines())) == 70
    plain = numbered(recorded("sdk_server_legacy")).splitlines()
    assert plain[0].startswith("  0     22 ms  client  initialize #1 ")
    assert plain[-1] == " 13   1564 ms  server  closes stdout (closed)"


def test_a_connection_can_be_read_alone() -> None:
    ex = exercises.forensics()
    assert sum(len(ex.trace(name).splitlines()) for name in ("c1", "c2", "c3")) == ten_faults.ROWS
    with pytest.raises(LookupError, match="c1, c2 and c3"):
        ex.trace("c4")


@pytest.mark.parametrize("letter", guilty.CHARGES)
def test_the_audit_says_the_same_of_each_charge(letter: str) -> None:
    found = {one.level for one in exercises.forensics().charge(letter).audit().findings}
    strongest = next((level for level in ("MUST", "SHOULD") if level in found), guilty.NOTHING)
    assert strongest == guilty.CHARGES[letter].specimen.word
    assert "note" not in found


def test_no_title_says_what_is_wrong() -> None:
    ex = exercises.forensics()
    letters = list(guilty.CHARGES)
    assert [ex.charge(letter).title for letter in letters] == [f"Trace {letter}" for letter in letters]
    assert [ex.case(letter).title for letter in whose.CASES] == [f"Case {one}" for one in whose.CASES]


@pytest.mark.parametrize("letter", whose.CASES)
def test_the_audit_blames_the_same_side_in_each_case(letter: str) -> None:
    found = exercises.forensics().case(letter).audit().findings
    # Whoever hands on what is wrong comes later.
    first = found[0].party if found else whose.NOBODY
    assert first == whose.CASES[letter].specimen.word


def test_what_decides_can_be_seen_in_the_texts() -> None:
    ex = exercises.forensics()
    charges, cases = ex.charges().split("\n\n"), ex.cases().split("\n\n")
    assert [text[0] for text in charges] == list(guilty.CHARGES)
    assert [text[0] for text in cases] == list(whose.CASES)
    assert charges[4].count('"progress": 1,') == 3
    assert charges[5].count('"message": " "}') == 3
    for text, names in ((cases[0], ["find_ticket", "add_hours"]), (cases[4], ["add_hours", "add_hours"])):
        assert [line.split("[Mcp-Name: ")[1].split("]")[0] for line in text.splitlines()[1:3]] == names
    assert max(len(line) for text in (*charges, *cases) for line in text.splitlines()) <= 140


def test_a_letter_without_a_trace_is_refused() -> None:
    for ask in (exercises.forensics().charge, exercises.forensics().case):
        with pytest.raises(LookupError, match="no trace 'Z'"):
            ask("Z")


# --- 15, a tracer -----------------------------------------------------------------------------------


def era_by_text(row: Any) -> Any:
    """Looks at the JSON of each part, and never at a value."""
    message = row.get("message")
    parts = message if isinstance(message, dict) else {}
    params = parts.get("params") if isinstance(parts.get("params"), dict) else {}
    marks = [f'"{VERSION}":' in json.dumps(params.get("_meta")), "resultType" in (parts.get("result") or {})]
    marks[1] = marks[1] and isinstance(parts.get("result"), dict)
    if True in marks:
        return "modern"
    names = ",".join(row.get("headers") or ()).lower().split(",")
    starts = parts.get("method") in ["initialize", "notifications/initialized"]
    return "legacy" if starts or "mcp-session-id" in names else "undecided"


def era_by_trying(row: Any) -> Any:
    def looks(path: tuple[str, ...]) -> bool:
        value = row
        try:
            for name in path[:-1]:
                value = value[name]
            return isinstance(value, dict) and path[-1] in value
        except (KeyError, TypeError, AttributeError):
            return False

    if looks(("message", "params", "_meta", VERSION)) or looks(("message", "result", "resultType")):
        return "modern"
    try:
        if row["message"]["method"] in ("initialize", "notifications/initialized"):
            return "legacy"
    except (KeyError, TypeError):
        pass
    return "legacy" if "mcp-session-id" in {name.lower() for name in row.get("headers", {})} else "undecided"


def era_of_the_lesson(row: Any) -> Any:
    message = row.get("message", {})
    meta = message.get("params", {}).get("_meta", {})
    headers = [name.lower() for name in row.get("headers", {})]
    if VERSION in meta or "resultType" in message.get("result", {}):
        return "modern"
    legacy = (
        message.get("method") in ("initialize", "notifications/initialized") or "mcp-session-id" in headers
    )
    return "legacy" if legacy else "undecided"


class Remembering:
    """Takes what comes after a handshake for a part of the session."""

    def __init__(self) -> None:
        self.seen = False

    def __call__(self, row: Any) -> Any:
        word = era_by_trying(row)
        self.seen = self.seen or word == "legacy"
        return "legacy" if self.seen and word == "undecided" else word


def era_without_meta_is_legacy(row: Any) -> Any:
    word = era_by_trying(row)
    message = row.get("message")
    asks = isinstance(message, dict) and "method" in message
    return "legacy" if word == "undecided" and asks else word


def era_session_first(row: Any) -> Any:
    names = {name.lower() for name in row.get("headers", {})}
    return "legacy" if "mcp-session-id" in names else era_by_trying(row)


def era_exact_header(row: Any) -> Any:
    word = era_by_trying(row)
    if word == "legacy" and "headers" in row and "MCP-Session-Id" not in row["headers"]:
        return "undecided"
    return word


def era_any_meta(row: Any) -> Any:
    message = row.get("message")
    params = message.get("params") if isinstance(message, dict) else None
    return "modern" if isinstance(params, dict) and params.get("_meta") else era_by_trying(row)


def era_by_words(row: Any) -> Any:
    text = json.dumps(row)
    if VERSION in text or "resultType" in text:
        return "modern"
    return "legacy" if "initialize" in text or "session-id" in text.lower() else "undecided"


def era_in_capitals(row: Any) -> Any:
    return era_by_trying(row).upper()


def era_by_version(row: Any) -> Any:
    """Takes the value of the version for the sign, and not the key."""
    message = row.get("message")
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    is_old = isinstance(meta, dict) and meta.get(VERSION) == "2025-11-25"
    return "legacy" if is_old else era_by_trying(row)


def era_by_complete(row: Any) -> Any:
    message = row.get("message")
    result = message.get("result") if isinstance(message, dict) else None
    if isinstance(result, dict) and result.get("resultType") != "complete":
        return "undecided"
    return era_by_trying(row)


async def era_later(row: Any) -> Any:
    return era_by_trying(row)


ERAS: Final = [
    ("tracer", era_by_trying),
    ("tracer", era_by_text),
    ("tracer", era_of_the_lesson, "raised AttributeError", ""),
    ("tracer", Remembering(), "a `tools/list` without any sign", "Judge each row alone"),
    (
        "tracer",
        era_without_meta_is_legacy,
        "returned 'legacy', and it is 'undecided'",
        "Judge each row alone",
    ),
    ("tracer", era_session_first, "and has a session id too", "SHOULD ignore one"),
    ("tracer", era_exact_header, "with a session id in its headers", "small or capital letters"),
    ("tracer", era_any_meta, "a progress token and nothing else", "Ask for the version in it"),
    ("tracer", era_by_words, "returned 'legacy', and it is 'undecided'", "a word anywhere in the row"),
    ("tracer", era_by_version, "names an old version in `_meta`", "whatever its value is"),
    ("tracer", era_by_complete, "asks for input", "whatever its value is"),
    ("tracer", era_in_capitals, "returned 'LEGACY'", "Return one of 'modern'"),
    ("tracer", era_later, "is an `async def`", "Begin it with `def`"),
]

# --- 15, pairs ----------------------------------------------------------------------------------------


def pairs_backwards(rows: Any) -> Any:
    """From each request on, the first answer that fits and is not taken yet."""
    taken: set[int] = set()
    found: list[Any] = []
    for asked, row in enumerate(rows):
        message = row.get("message") or {}
        if "method" not in message or "id" not in message:
            continue
        for number in range(asked + 1, len(rows)):
            other = rows[number].get("message") or {}
            fits = (
                "method" not in other
                and other.get("id") is not None
                and (type(other["id"]), other["id"]) == (type(message["id"]), message["id"])
                and rows[number]["from"] != row["from"]
                and rows[number].get("connection") == row.get("connection")
            )
            if fits and number not in taken:
                taken.add(number)
                found.append([asked, number])
                break
    return tuple(reversed(found))


def pairs_with(key: Callable[[Any, Any, Any], Any], *, keep: bool = False, twice: bool = False) -> Any:
    def pairs_of(rows: Any) -> Any:
        waiting: dict[Any, int] = {}
        pairs: list[Any] = []
        for number, row in enumerate(rows):
            message = row.get("message", {})
            if "id" not in message:
                continue
            side = row["from"]
            if "method" in message:
                waiting[key(row, side, message["id"])] = number
                continue
            asker = "server" if side == "client" else "client"
            wanted = key(row, asker, message["id"])
            if wanted in waiting:
                pairs.append((waiting[wanted], number))
                if not keep:
                    del waiting[wanted]
        return pairs * 2 if twice else pairs

    return pairs_of


def where(row: Any) -> Any:
    return row.get("connection")


def pairs_in_order(rows: Any) -> Any:
    """The oldest request first, whatever its id."""
    waiting, pairs = [], []
    for number, row in enumerate(rows):
        message = row.get("message", {})
        if "method" in message and "id" in message:
            waiting.append(number)
        elif message.get("id") is not None and waiting:
            pairs.append((waiting.pop(0), number))
    return pairs


def pairs_of_results(rows: Any) -> Any:
    """Does not count an error as an answer."""
    right = pairs_backwards(rows)
    return [pair for pair in right if "result" in rows[pair[1]]["message"]]


def pairs_need_a_connection(rows: Any) -> Any:
    return pairs_with(lambda row, side, id: (row["connection"], side, id))(rows)


def pairs_need_a_message(rows: Any) -> Any:
    return [(number, number) for number, row in enumerate(rows) if row["message"]["id"] is ...]


def pairs_as_dict(rows: Any) -> Any:
    return dict(pairs_backwards(rows))


def pairs_of_ids(rows: Any) -> Any:
    return [(rows[asked]["message"]["id"], str(number)) for asked, number in pairs_backwards(rows)]


def pairs_turned(rows: Any) -> Any:
    return [(number, asked) for asked, number in pairs_backwards(rows)]


PAIRS: Final = [
    ("pairs", pairs_backwards),
    ("pairs", pairs_with(lambda row, side, id: (where(row), side, type(id), id))),
    ("pairs", pairs_with(lambda row, side, id: (where(row), side, json.dumps(id)))),
    ("pairs", pairs_with(lambda row, side, id: (side, id)), "in three connections", "ids of its own"),
    ("pairs", pairs_with(lambda row, side, id: (where(row), id)), "in which the server asks too", "`from`"),
    ("pairs", pairs_with(lambda row, side, id: (where(row), side, str(id))), "as a text for ids", "is true"),
    (
        "pairs",
        pairs_with(lambda row, side, id: (where(row), side, id), keep=True),
        "answers that nobody waits for",
        "in no pair",
    ),
    (
        "pairs",
        pairs_with(lambda row, side, id: (where(row), side, id), twice=True),
        "has a pair twice",
        "stands in the list once",
    ),
    ("pairs", pairs_in_order, "whose answers come in another order", "and not the order"),
    ("pairs", pairs_of_results, "did not pair row", "An answer has an id and no method"),
    ("pairs", pairs_need_a_connection, "raised KeyError: 'connection'", ""),
    ("pairs", pairs_need_a_message, "raised KeyError", ""),
    ("pairs", pairs_as_dict, "returned {", "Return a list of pairs"),
    ("pairs", pairs_of_ids, "returned [(", "Return a list of pairs"),
    ("pairs", pairs_turned, "pairs row", "An answer has an id and no method"),
]

# --- 15, ten faults -------------------------------------------------------------------------------------

TEN: Final[dict[Any, Any]] = {
    16: "header",
    28: "wrong id",
    40: "no resultType",
    12: "crossed answers",
    21: "late progress",
    22: "id used again",
    24: "not declared",
    25: "hidden failure",
    32: "status",
    35: "cursor",
}


def without(*rows: int) -> dict[Any, Any]:
    return {row: word for row, word in TEN.items() if row not in rows}


FOUND: Final = [
    ("ten_faults", TEN),
    ("ten_faults", {**TEN, 11: "crossed answers"}),
    ("ten_faults", {**without(12), 11: "crossed answers"}),
    ("ten_faults", {**TEN, 30: ...}),
    ("ten_faults", {16: "header"}, "1 of 10 faults are found: row 16.", "each connection alone"),
    ("ten_faults", without(12, 25), "8 of 10 faults are found: rows 16, 21", "what the texts say"),
    ("ten_faults", {17: "header"}, "0 of 10 faults are found. Row 17 is none", "MUST reject what does not"),
    (
        "ten_faults",
        {**TEN, 23: "wrong code"},
        "10 of 10 faults are found: rows 12",
        "MUST NOT have been used",
    ),
    ("ten_faults", {**TEN, 4: "id used again"}, "The server asks here", "both sides may send requests"),
    ("ten_faults", {**TEN, 33: "silent cancellation"}, "it was cancelled in row 43", "closes the response"),
    ("ten_faults", {16: "header", 28: "wrong code"}, "wrong in row 28, but not 'wrong code'", "once more"),
    ("ten_faults", {**TEN, 46: "session"}, "Row 46 is none of them. So a connection", "Take it out"),
    (
        "ten_faults",
        {**TEN, 7: "capabilities"},
        "Row 7 is none of them. Nothing is wrong there.",
        "Take it out",
    ),
    ("ten_faults", {26: "wrong id"}, "The request is in order. Look at its answer.", "MUST have the same id"),
    ("ten_faults", {48: "session"}, "There is no row 48", "0 to 47"),
    ("ten_faults", {"16": "header"}, "There is no row '16'", "0 to 47"),
    ("ten_faults", {True: "header"}, "There is no row True", "0 to 47"),
    ("ten_faults", {16: "the header"}, "'the header' is none of the words", "stand in the task"),
    ("ten_faults", {}, "The answer has no row.", "is a dict"),
    ("ten_faults", list(TEN), "The answer is [16", "is a dict"),
]


def test_who_made_the_ten_is_said_rightly() -> None:
    assert "clients made four of them, the server six" in ten_faults.TASK.why
    senders = Counter(exercises.forensics().rows()[one.rows[0]]["from"] for one in ten_faults.FAULTS)
    assert senders == {"client": 4, "server": 6}


def test_a_part_of_the_ten_is_worth_a_part_of_the_points() -> None:
    some = exercises.forensics().ten_faults.grade({**without(12, 25, 40), 21: "cursor"})
    assert 0 < some.points < some.worth
    assert exercises.forensics().ten_faults.grade(TEN).points == some.worth


# --- 15, guilty or not, and whose fault -----------------------------------------------------------------

SAID: Final = {letter: charge.specimen.word for letter, charge in guilty.CHARGES.items()}
BY: Final = {letter: charge.specimen.word for letter, charge in whose.CASES.items()}

WORDS: Final = [
    ("guilty", dict(reversed(SAID.items()))),
    (
        "guilty",
        {**SAID, "A": "nothing"},
        "8 of 9 are right. A is not 'nothing'.",
        "a request gets one response",
    ),
    ("guilty", {**SAID, "B": "MUST"}, "no rule fixes the order", "same id"),
    ("guilty", {**SAID, "C": "MUST"}, "the code is -32602", "SHOULD answer with the code -32002"),
    ("guilty", {**SAID, "D": "MUST"}, "answered before", "After the answer it is free"),
    ("guilty", {**SAID, "G": "MUST"}, "pings its client", "Either side may ping"),
    ("guilty", {**SAID, "H": "nothing"}, "this is no session", "MUST NOT send requests"),
    ("guilty", {**SAID, "I": "must"}, "I: 'must' is none of the words", "The words are"),
    ("guilty", {**SAID, "I": ...}, "8 of 9 are answered", "Still open: I"),
    ("whose", dict(reversed(BY.items()))),
    ("whose", {**BY, "A": "client"}, "7 of 8 are right. A is not 'client'. The header left", "MUST reject"),
    ("whose", {**BY, "B": "server"}, "The error says so, and is right", "MUST NOT have been used"),
    ("whose", {**BY, "C": "gateway"}, "The gateway only handed it on", "MUST have the same id"),
    ("whose", {**BY, "D": "server"}, "had left when the cancellation was sent", "may cross"),
    ("whose", {**BY, "E": "gateway"}, "when it left the client", "MUST reject"),
    ("whose", {**BY, "H": "server"}, "what its own era asks", "rejects `initialize`"),
    ("whose", {**BY, "H": "both"}, "H: 'both' is none of the words", "The words are"),
]


ALL: Final = [*ERAS, *PAIRS, *FOUND, *WORDS]
