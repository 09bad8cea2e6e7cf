"""The keys of `_meta`, wherever it stands: their form, and whose they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.audit.model import Item
from mcpsim.audit.rule import MUST, NOTE, SHOULD, Found, Rule, inside, messages
from mcpsim.audit.rules.envelopes import is_object, members, on_both
from mcpsim.eras.revisions import META_KEY_REVISIONS, META_PREFIX_REVISIONS
from mcpsim.messages.meta import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    PROTOCOL_VERSION,
    SERVER_INFO,
    SUBSCRIPTION_ID,
    is_reserved_meta_key,
    is_valid_meta_key,
)
from mcpsim.recording.words import show

PAGE: Final = "basic/index#meta"

#: The lists of a body whose entries may have `_meta` of their own.
LISTS: Final = frozenset(
    {
        "tools",
        "resources",
        "resourceTemplates",
        "prompts",
        "contents",
        "content",
        "messages",
        "roots",
    }
)

# The members of an entry that may have `_meta` as well.
_HOLDERS: Final = ("content", "resource")

_PREFIX: Final = "io.modelcontextprotocol/"
_DEFINED: Final = frozenset(
    {
        PROTOCOL_VERSION,
        CLIENT_INFO,
        CLIENT_CAPABILITIES,
        LOG_LEVEL,
        SUBSCRIPTION_ID,
        SERVER_INFO,
        f"{_PREFIX}related-task",
        f"{_PREFIX}model-immediate-response",
    }
)
_BY_SMALL: Final[Mapping[str, str]] = {key.lower(): key for key in _DEFINED}

# Labels with which a domain ends, and hardly ever begins.
_ENDS: Final = frozenset({"com", "org", "net", "io", "dev", "app", "ai", "co", "edu", "gov", "info"})


def metas(item: Item) -> Iterator[Mapping[str, Any]]:
    """Every `_meta` of a message: its own, and that of what it carries."""
    if item.meta:
        yield item.meta
    body = item.result if item.kind == "response" else item.params
    for name, entries in body.items():
        if name in LISTS and isinstance(entries, list):
            for entry in cast("list[Any]", entries):
                yield from _inside(entry)


def _inside(entry: Any) -> Iterator[Mapping[str, Any]]:
    holder = members(entry)
    found = holder.get("_meta")
    if is_object(found):
        yield found
    for name in _HOLDERS:
        if name in holder:
            found = members(holder[name]).get("_meta")
            if is_object(found):
                yield found


def _with_keys(check: Callable[[Item], Iterator[Found]]) -> Callable[[Item], Iterable[Found]]:
    """A check of messages with other keys than those of the protocol, or with lists of what may have some."""

    def of_item(item: Item) -> Iterable[Found]:
        body = item.result if item.kind == "response" else item.params
        if item.meta.keys() <= _DEFINED and LISTS.isdisjoint(body):
            return ()
        return check(item)

    return of_item


def _form(item: Item) -> Iterator[Found]:
    wrong = [
        key for meta in metas(item) for key in meta if key not in _DEFINED and not is_valid_meta_key(key)
    ]
    if wrong:
        yield Found(
            item,
            f"The key {show(wrong[0])} in `_meta` has not the form of one{_and_more(wrong)}: a prefix of "
            "labels with dots and a slash, if any, and a name that begins and ends with a letter or digit.",
            hint="Name it like com.example/thing.",
        )


def _and_more(keys: list[str]) -> str:
    more = len(set(keys)) - 1
    return f" ({more} more as well)" if more > 0 else ""


def _reserved(item: Item) -> Iterator[Found]:
    for meta in metas(item):
        for key in meta:
            if "/" not in key or key in _DEFINED or not is_reserved_meta_key(key):
                continue
            if key.lower() in _BY_SMALL:
                text = f"The key {show(key)} in `_meta` is not known; is {_BY_SMALL[key.lower()]} meant?"
            elif key.startswith(_PREFIX):
                text = f"The key {show(key)} in `_meta` is none of the protocol's own. Is it of an extension?"
            else:
                text = f"The key {show(key)} in `_meta` has a prefix that is kept for the protocol itself."
            yield Found(
                item, text, hint="Keys of your own have a prefix of your own, like com.example/thing."
            )
            return


def _backwards(item: Item) -> Iterator[Found]:
    for meta in metas(item):
        for key in meta:
            if key in _DEFINED:
                continue
            prefix, slash, _ = key.partition("/")
            if not slash or not prefix or not is_valid_meta_key(key):
                continue
            labels = prefix.lower().split(".")
            if len(labels) == 1:
                text = f"The prefix of the key {show(key)} in `_meta` is no domain, written backwards."
            elif labels[-1] in _ENDS and labels[0] not in _ENDS and len(labels[0]) > 2:
                text = (
                    f"The prefix of the key {show(key)} in `_meta` is a domain, probably, and not backwards."
                )
            else:
                continue
            yield Found(item, text, hint="Write com.example/thing, and not example.com/thing.")
            return


META_KEYS: Final[tuple[Rule, ...]] = (
    Rule(
        "meta-key-has-its-form",
        MUST,
        "sender",
        META_KEY_REVISIONS,
        on_both(PAGE),
        "A key of `_meta` has a prefix of labels or none, and a name.",
        on=messages(needs=inside("_meta")),
        check=_with_keys(_form),
    ),
    Rule(
        "meta-key-is-not-reserved",
        NOTE,
        "sender",
        META_PREFIX_REVISIONS,
        on_both(PAGE),
        "Keys of `_meta` with a prefix of the protocol are those that the protocol or an extension defines.",
        on=messages(needs=inside("_meta")),
        check=_with_keys(_reserved),
    ),
    Rule(
        "meta-prefix-is-reverse-dns",
        SHOULD,
        "sender",
        META_PREFIX_REVISIONS,
        on_both(PAGE),
        "The prefix of a key of `_meta` is a domain, written backwards.",
        on=messages(needs=inside("_meta")),
        check=_with_keys(_backwards),
    ),
)
