"""What log messages say: no secrets, something at all, under one name, and not too often."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.audit.model import Connection, Item
from mcpsim.audit.order import burst
from mcpsim.audit.rule import ALL, MUST, NOTE, SHOULD, Found, Rule, each, notifications
from mcpsim.audit.rules.logging import LOG, PAGE, log_messages
from mcpsim.eras.revisions import Era
from mcpsim.recording.words import show

SECURITY: Final[Mapping[Era, str]] = {"modern": f"{PAGE}#security", "legacy": f"{PAGE}#security"}
CONSIDERATIONS: Final[Mapping[Era, str]] = {
    "modern": f"{PAGE}#implementation-considerations",
    "legacy": f"{PAGE}#implementation-considerations",
}

#: What counts as a flood; the specification gives no number.
FLOOD: Final = 200
FLOOD_MS: Final = 1_000.0
#: A credential that is shorter than this may stand in a text by chance.
SHORTEST: Final = 12
DEEPEST: Final = 50

_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----")
_BEARER: Final = re.compile(r"\b(?:Bearer|Basic) +[A-Za-z0-9+/._~=-]{16,}", re.IGNORECASE)
_SECRET_NAME: Final = re.compile(
    r"(?:^|[_-])(?:password|passwd|secret|api[_-]?key|access[_-]?token|refresh[_-]?token|private[_-]?key)$",
    re.IGNORECASE,
)
_MASKED: Final = re.compile(r"\s|\*{2,}|\.{3}|x{4,}|redacted|hidden|masked|removed|none|null", re.IGNORECASE)


def _credentials(connection: Connection) -> dict[str, Item]:
    """The credentials that the client sent in the heads of its requests, and where first."""
    found: dict[str, Item] = {}
    for exchange in connection.exchanges:
        value = exchange.headers.get("authorization")
        if value is None or exchange.request is None:
            continue
        secret = value.split(" ", 1)[-1].strip()
        if len(secret) >= SHORTEST:
            found.setdefault(secret, exchange.request)
    return found


def _text_of(item: Item) -> str:
    try:
        return json.dumps(item.params.get("data"), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def _secrets(connection: Connection) -> Iterator[Found]:
    logged = log_messages(connection)
    if not logged:
        return
    credentials = _credentials(connection)
    several = re.compile("|".join(map(re.escape, credentials))) if credentials else None
    for item in logged:
        text = _text_of(item)
        match = several.search(text) if several is not None else None
        if match is not None:
            where = credentials[match[0]].index
            yield Found(
                item,
                f"This log message holds the credential that the {item.other} sent in row {where}.",
                hint="Take credentials out before anything is logged, and replace this one: it is known now.",
            )
            continue
        likely = _likely_secret(item, text)
        if likely:
            yield Found(
                item,
                f"This log message probably holds a secret: {likely}.",
                hint="Take secrets out before anything is logged.",
                level=SHOULD,
            )


def _likely_secret(item: Item, text: str) -> str:
    if _PRIVATE_KEY.search(text):
        return "a private key"
    match = _BEARER.search(text)
    if match is not None and _looks_secret(match[0].split()[-1]):
        return "the value of an `Authorization` header"
    name = _secret_member(item.params.get("data"))
    return f"its member {show(name)} has a value that is not masked" if name is not None else ""


def _looks_secret(value: str) -> bool:
    """Whether a value is not a word, a name or a mask: those tell of a secret, and are none."""
    return any(character.isdigit() for character in value) and not _MASKED.search(value)


def _secret_member(data: Any) -> str | None:
    left: list[tuple[Any, int]] = [(data, 0)]
    while left:
        value, depth = left.pop()
        if depth > DEEPEST:
            continue
        if isinstance(value, dict):
            for name, member in cast("dict[str, Any]", value).items():
                if isinstance(member, str) and _SECRET_NAME.search(name) and _looks_secret(member):
                    return name
                left.append((member, depth + 1))
        elif isinstance(value, list):
            left.extend((member, depth + 1) for member in cast("list[Any]", value))
    return None


def _says_nothing(item: Item) -> Iterator[Found]:
    if "data" not in item.params:
        return
    data = item.params["data"]
    if data is None or data == {} or data == [] or (isinstance(data, str) and not data.strip()):
        yield Found(
            item,
            f"The data of this log message is {show(data)}, which tells nothing.",
            hint="Put what happened into `data`, and what helps to understand it.",
        )


def _names_differ(connection: Connection) -> Iterator[Found]:
    known: dict[str, str] = {}
    told: set[str] = set()
    for item in log_messages(connection):
        name = item.params.get("logger")
        if not isinstance(name, str):
            continue
        plain = re.sub(r"[\W_]+", "", name).casefold()
        before = known.setdefault(plain, name)
        if before != name and plain and name not in told:
            told.add(name)
            yield Found(
                item,
                f"This logger is called {show(name)}; before, it probably was called {show(before)}.",
                hint="Give each logger one name, always written in the same way.",
            )


def _flood(connection: Connection) -> Iterator[Found]:
    found = burst(log_messages(connection), FLOOD, FLOOD_MS)
    if found is not None:
        yield Found(
            found,
            f"The {found.party} has sent {FLOOD} log messages within a second, which probably is more than"
            " anybody can read.",
            hint="Send a few a second at most, and count what is left out.",
            level=NOTE,
        )


LOG_CONTENTS: Final[tuple[Rule, ...]] = (
    Rule(
        "log-holds-no-secret",
        MUST,
        "server",
        ALL,
        SECURITY,
        "A log message holds no credentials and no other secrets.",
        on=each(Connection, needs=(LOG,)),
        check=_secrets,
    ),
    Rule(
        "log-says-something",
        SHOULD,
        "server",
        ALL,
        CONSIDERATIONS,
        "The data of a log message tells what happened.",
        on=notifications(LOG),
        check=_says_nothing,
    ),
    Rule(
        "log-names-are-consistent",
        SHOULD,
        "server",
        ALL,
        CONSIDERATIONS,
        "A logger has one name.",
        on=each(Connection, needs=(LOG,)),
        check=_names_differ,
    ),
    Rule(
        "log-is-no-flood",
        SHOULD,
        "server",
        ALL,
        CONSIDERATIONS,
        "Log messages are sent at a bounded rate.",
        on=each(Connection, needs=(LOG,)),
        check=_flood,
    ),
)
