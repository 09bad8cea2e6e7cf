"""Elicitation by URL: where a user is sent, the ids, and the error that asks for the visit."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Any, Final

from mcpsim.audit.model import Call, Connection, Item, Trace
from mcpsim.audit.occurring import items_with
from mcpsim.audit.once import once
from mcpsim.audit.questions import HOLDING, Json, mapping, sequence
from mcpsim.audit.rule import MODERN, MUST, NOTE, SHOULD, Found, Rule, calls, each, errors
from mcpsim.audit.rules.elicitation import METHOD, elicitations, page
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import URL_ELICITING
from mcpsim.errors import URL_ELICITATION_REQUIRED
from mcpsim.recording.words import show
from mcpsim.utilities.elicitation import is_url, names_user

COMPLETE: Final = "notifications/elicitation/complete"

# --- URLs --------------------------------------------------------------------------------------------


def _asked_urls(call: Call) -> Iterator[tuple[Item, str, str]]:
    """Each URL that a user is sent to: the item, what to call it, and the URL."""
    for question in elicitations(call, "url"):
        url = question.params.get("url")
        if isinstance(url, str):
            yield question.item, question.name, url
    answer = call.answer
    if answer is not None and answer.code == URL_ELICITATION_REQUIRED and answer.era == "legacy":
        for one in _required(answer):
            url = mapping(one).get("url")
            if isinstance(url, str):
                yield answer, "This error", url


def _url_is_valid(call: Call) -> Iterator[Found]:
    for item, name, url in _asked_urls(call):
        if not is_url(url):
            yield Found(
                item,
                f"{name} sends the user to {show(url)}, which is no URL.",
                hint="An absolute URL, such as https://example.com/connect.",
            )


def _url_is_https(call: Call) -> Iterator[Found]:
    for item, name, url in _asked_urls(call):
        parts = _parts(url)
        if parts is None or parts[1].lower() != "http" or _is_for_development(parts[3].strip("[]")):
            continue
        yield Found(
            item,
            f"{name} sends the user to {show(url)}; it should be https outside of development.",
        )


# As far as it takes to see whose page it is, and what stands in it: scheme, user, host, query.
_ADDRESS: Final = re.compile(
    r"([a-z][a-z0-9+.-]*)://(?:([^/?#@]*)@)?(\[[^\]/?#]*\]|[^/?#:@]*)[^?#]*(?:\?([^#]*))?", re.IGNORECASE
)


def _parts(url: str) -> re.Match[str] | None:
    return _ADDRESS.match(url)


def _is_for_development(host: str) -> bool:
    host = host.rstrip(".").lower()
    if "." not in host and ":" not in host:
        return True
    if host.endswith(_DEVELOPMENT):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_private or address.is_loopback or address.is_link_local


_DEVELOPMENT: Final = (".localhost", ".local", ".test", ".internal", ".lan", ".home.arpa")


def _url_tells_no_secret(call: Call) -> Iterator[Found]:
    for item, name, url in _asked_urls(call):
        token = (call.principal or "").rpartition(" ")[2]
        if len(token) >= _SHORTEST_TOKEN and token in url:
            yield Found(item, f"{name} has the access token of the client in its URL.")
            continue
        if names_user(url):
            yield Found(
                item,
                f"{name} has the name of a user, or a name and password, in its URL: {show(url)}.",
                hint="Let the page ask who it is; whoever sees the URL could be that user.",
                level=None if _has_password(url) else NOTE,
            )
            continue
        found = _telling_names(url)
        if found:
            yield Found(
                item,
                f"{name} has {', '.join(map(show, found))} in its URL, which probably says something about "
                "the user, or lets anybody in who has the URL.",
                hint="Put a reference that means nothing into the URL.",
                level=NOTE,
            )


def _has_password(url: str) -> bool:
    parts = _parts(url)
    return parts is not None and bool((parts[2] or "").partition(":")[2])


def _telling_names(url: str) -> list[str]:
    parts = _parts(url)
    fields = ((parts and parts[4]) or "").split("&", _FIELDS_LOOKED_AT)[:_FIELDS_LOOKED_AT]
    found: list[str] = []
    for field in fields:
        name, _, value = field.partition("=")
        if value and (_TELLING.fullmatch(name) or _MAIL.fullmatch(value.replace("%40", "@"))):
            found.append(name)
    return found


_SHORTEST_TOKEN: Final = 8
_FIELDS_LOOKED_AT: Final = 100
_TELLING: Final = re.compile(
    r"(?:access[_-]?|auth[_-]?|session[_-]?|id[_-]?|refresh[_-]?)?token|pass(?:word|wd|phrase)?|pwd|secret"
    r"|client[_-]?secret|api[_-]?key|jwt|bearer|session(?:[_-]?id)?|ssn|card[_-]?number|e?mail|phone",
    re.IGNORECASE,
)
_MAIL: Final = re.compile(r"[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+")


# --- Ids, completion, and the error that asks for a visit --------------------------------------------


def _required(answer: Item) -> list[Any]:
    error = mapping(mapping(answer.value).get("error"))
    return sequence(mapping(error.get("data")).get("elicitations"))


def _error_lists(item: Item) -> Iterator[Found]:
    if item.code != URL_ELICITATION_REQUIRED:
        return
    listed = _required(item)
    if not listed:
        yield Found(
            item,
            f"Error {URL_ELICITATION_REQUIRED} lists no elicitations; data.elicitations says what has to be "
            "done before the request can be sent again.",
        )
    for number, one in enumerate(listed, 1):
        members = mapping(one)
        if members.get("mode") != "url":
            fault = f"has the mode {show(members.get('mode'))}, and must be url"
        elif not isinstance(members.get("elicitationId"), str):
            fault = "has no elicitationId"
        elif not isinstance(members.get("url"), str) or not isinstance(members.get("message"), str):
            fault = "must have a url and a message"
        else:
            continue
        yield Found(item, f"Elicitation {number} of error {URL_ELICITATION_REQUIRED} {fault}.")


def _error_has_its_code(item: Item) -> Iterator[Found]:
    if item.code == URL_ELICITATION_REQUIRED:
        return
    if any(mapping(one).get("mode") == "url" for one in _required(item)):
        yield Found(
            item,
            f"This error lists elicitations that are needed first, and has the code {item.code}; it must be "
            f"{URL_ELICITATION_REQUIRED}.",
        )


def _credentials_stay(connection: Connection) -> Iterator[Found]:
    sent_somewhere = False
    for item in connection.items:
        call = item.call
        if call is None or item is not call.answer:
            if call is not None and item is call.request and item.method == METHOD:
                sent_somewhere = sent_somewhere or item.params.get("mode") == "url"
            continue
        if any(True for _ in _asked_urls(call)):
            sent_somewhere = True
        elif sent_somewhere and item.kind == "response" and item.method == "tools/call":
            found = next(filter(None, map(_CREDENTIAL.search, _texts(item))), None)
            if found is not None:
                yield Found(
                    item,
                    f"After a user was sent to a URL, this result has something like {show(found[1])} in it: "
                    "probably what the user got or gave there. It must not go to the client.",
                    level=NOTE,
                )


def _texts(item: Item) -> Iterator[str]:
    for block in sequence(item.result.get("content")):
        text = mapping(block).get("text")
        if isinstance(text, str):
            yield text
    for name, value in mapping(item.result.get("structuredContent")).items():
        if isinstance(value, str):
            yield f"{name}={value}"


_CREDENTIAL: Final = re.compile(
    r"\b(access_?token|refresh_?token|client_?secret|api_?key|password)[\"']?\s*[:=]\s*[\"']?[\w.~+/-]{8,}",
    re.IGNORECASE,
)


def _error_only_for_url(item: Item) -> Iterator[Found]:
    session = item.session
    if item.code != URL_ELICITATION_REQUIRED or session is None:
        return
    if not declares(session.client_capabilities, "elicitation.url"):
        yield Found(
            item,
            f"Error {URL_ELICITATION_REQUIRED} sends a user to a URL, and the client has not declared "
            "elicitation.url: it may not know what to do.",
        )


@once
def _ids(trace: Trace) -> tuple[tuple[Item, str, str | None], ...]:
    """Each elicitation id, in order: where it stands, the id, and its URL; None where its end is told."""
    return tuple(_find_ids(trace))


def _find_ids(trace: Trace) -> Iterator[tuple[Item, str, str | None]]:
    for item in items_with(trace, (METHOD, COMPLETE, "error")):
        if item.era != "legacy" or item.sender != "server":
            continue
        if item.kind == "request" and item.method == METHOD:
            yield from _id_of(item, item.params)
        elif item.kind == "error" and item.code == URL_ELICITATION_REQUIRED:
            for one in _required(item):
                yield from _id_of(item, mapping(one))
        elif item.kind == "notification" and item.method == COMPLETE:
            id = item.params.get("elicitationId")
            if isinstance(id, str):
                yield item, id, None


def _id_of(item: Item, params: Json) -> Iterator[tuple[Item, str, str | None]]:
    id, url = params.get("elicitationId"), params.get("url")
    if isinstance(id, str):
        yield item, id, url if isinstance(url, str) else ""


def _complete_is_known(trace: Trace) -> Iterator[Found]:
    given: dict[tuple[str, str], dict[str, str]] = {}
    for item, id, url in _ids(trace):
        key = item.connection.hop, id
        if url is not None:
            given.setdefault(key, {}).setdefault(item.connection.key, _principal(item))
            continue
        asked = given.get(key)
        if asked is None:
            if item.session is not None and not item.connection.began_late:
                yield Found(
                    item,
                    f"No elicitation in this trace has the id {show(id)}; probably it is a wrong one.",
                    hint="Send the elicitationId of the elicitation that is complete.",
                    level=SHOULD,
                )
        elif item.connection.key not in asked:
            here = _principal(item)
            surely = bool(here) and all(other and other != here for other in asked.values())
            yield Found(
                item,
                f"The elicitation {show(id)} was asked on another connection, "
                + ("and of somebody with another token." if surely else "probably of another client."),
                hint="Tell only the client that was asked.",
                level=None if surely else SHOULD,
            )


def _principal(item: Item) -> str:
    return "" if item.exchange is None else item.exchange.headers.get("authorization") or ""


def _completes_once(trace: Trace) -> Iterator[Found]:
    done: set[tuple[str, str, str]] = set()
    for item, id, url in _ids(trace):
        key = item.connection.hop, item.connection.key, id
        if url is not None:
            done.discard(key)
        elif key in done:
            yield Found(item, f"The elicitation {show(id)} was complete already; clients ignore this.")
        else:
            done.add(key)


def _ids_are_unique(trace: Trace) -> Iterator[Found]:
    urls: dict[tuple[str, str, str], str] = {}
    for item, id, url in _ids(trace):
        if url is None:
            continue
        first = urls.setdefault((item.connection.hop, item.connection.key, id), url)
        if first != url:
            yield Found(
                item,
                f"The elicitationId {show(id)} was that of another URL before, {show(first)}"
                ". Each has its own.",
            )


_MODERN_AND_URL: Final = MODERN | URL_ELICITING
ELICITATION_URLS: Final[tuple[Rule, ...]] = (
    Rule(
        "elicitation-url-is-valid",
        MUST,
        "server",
        _MODERN_AND_URL,
        page("url-mode-elicitation-requests"),
        "The url of an elicitation is a valid URL.",
        on=calls(among=(*HOLDING, "error")),
        check=_url_is_valid,
    ),
    Rule(
        "elicitation-url-is-https",
        SHOULD,
        "server",
        _MODERN_AND_URL,
        page("safe-url-handling"),
        "The url of an elicitation is https, outside of development.",
        on=calls(among=(*HOLDING, "error")),
        check=_url_is_https,
    ),
    Rule(
        "elicitation-url-tells-no-secret",
        MUST,
        "server",
        _MODERN_AND_URL,
        page("safe-url-handling"),
        "The url of an elicitation holds nothing about the user, and nothing that lets anybody in.",
        on=calls(among=(*HOLDING, "error")),
        check=_url_tells_no_secret,
    ),
    Rule(
        "elicitation-error-lists-elicitations",
        MUST,
        "server",
        URL_ELICITING,
        {"legacy": "client/elicitation#url-elicitation-required-error"},
        "Error -32042 lists the elicitations that are needed, each in url mode and with its id.",
        on=errors(),
        check=_error_lists,
    ),
    Rule(
        "elicitation-error-has-its-code",
        MUST,
        "server",
        URL_ELICITING,
        {"legacy": "client/elicitation#error-handling"},
        "The error that sends a user to a URL first is -32042.",
        on=errors(),
        check=_error_has_its_code,
    ),
    Rule(
        "elicitation-url-credentials-stay",
        MUST,
        "server",
        _MODERN_AND_URL,
        page("understanding-the-distinction"),
        "What a user gives or gets at the URL does not go to the client.",
        on=each(Connection, needs=("tools/call",), among=(METHOD, "inputRequests", "error")),
        check=_credentials_stay,
    ),
    Rule(
        "elicitation-error-to-a-client-with-url-mode",
        NOTE,
        "server",
        URL_ELICITING,
        {"legacy": "client/elicitation#url-elicitation-required-error"},
        "Error -32042 goes to clients that have declared url mode.",
        on=errors(),
        check=_error_only_for_url,
    ),
    Rule(
        "elicitation-complete-is-of-a-known-id",
        MUST,
        "server",
        URL_ELICITING,
        {"legacy": "client/elicitation#completion-notifications-for-url-mode-elicitation"},
        "The notification of an elicitation's end has its id, and goes to the client that was asked.",
        on=each(Trace, needs=(COMPLETE,)),
        check=_complete_is_known,
    ),
    Rule(
        "elicitation-completes-once",
        NOTE,
        "server",
        URL_ELICITING,
        {"legacy": "client/elicitation#completion-notifications-for-url-mode-elicitation"},
        "An elicitation ends once.",
        on=each(Trace, needs=(COMPLETE,)),
        check=_completes_once,
    ),
    Rule(
        "elicitation-ids-are-unique",
        NOTE,
        "server",
        URL_ELICITING,
        {"legacy": "client/elicitation#url-mode-elicitation-requests"},
        "Each elicitation by URL has an id of its own.",
        on=each(Trace, among=(METHOD, "error")),
        check=_ids_are_unique,
    ),
)
