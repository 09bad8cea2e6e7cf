"""The knobs of what comes in pages, of what is kept, and of who passes it on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.benches.stage import Part, Stage
from mcpsim.course.servers import archive, price_list
from mcpsim.eras.revisions import ClientEra
from mcpsim.gateway import Gateway
from mcpsim.server import Server
from mcpsim.server.resources import Hints
from mcpsim.simulation.knobs import Knob, Settings
from mcpsim.transports.link import StreamableHttp

RESULTS: Final = "Results"
GATEWAY: Final = "Gateway"

_SCOPES: Final = {"public": "public: for everybody", "private": "private: for one"}
_PRICE: Final = "price://paper"
_BALANCE: Final = "balance://mine"


def page_size_part(high: int = 10) -> Part:
    """How many members a page of the archive has."""
    knob = Knob.number("page_size", "Page size", 1, high, default=3, group=RESULTS)

    def apply(stage: Stage, settings: Settings) -> Stage:
        return replace(stage, server=partial(stage.server, page_size=settings["page_size"]))

    return Part((knob,), apply)


def archive_ttl_part(ttl_ms: int, scope: str = "public") -> Part:
    """For how long the lists of the archive are fresh.

    Args:
        ttl_ms: what the story has, in milliseconds.
        scope: what the story has.
    """

    def apply(stage: Stage, settings: Settings) -> Stage:
        # Not around the story's own server: that one says the time already.
        return replace(stage, server=partial(archive, ttl_ms=settings["ttl_ms"], cache_scope=scope))

    return Part((_ttl(ttl_ms),), apply)


def price_ttl_part(*, scopes: bool = False) -> Part:
    """For how long the price of paper is fresh.

    Args:
        scopes: whether there are several people, so that it matters for whom a result is.
    """
    knobs = (
        _ttl(30_000),
        *(
            Knob.choice(name, label, _SCOPES, default=default, group=RESULTS)
            for name, label, default in (
                ("cache_scope", "Scope of the price", "public"),
                ("balance_scope", "Scope of the balance", "private"),
            )
            if scopes
        ),
    )

    def apply(stage: Stage, settings: Settings) -> Stage:
        ttl_ms: Any = settings["ttl_ms"]
        hints = {
            _PRICE: Hints(ttl_ms, str(settings.get("cache_scope", "public"))),
            _BALANCE: Hints(ttl_ms, str(settings.get("balance_scope", "private"))),
        }
        return replace(stage, server=partial(_priced, hints))

    return Part(knobs, apply)


def _priced(hints: Mapping[str, Hints], **settings: Any) -> Server:
    shop = price_list(**settings)
    for resource in shop.resources:
        shop.remove_resource(resource.uri)
        shop.add_resource(replace(resource, hints=hints[resource.uri]))
    return shop


def _ttl(default: int) -> Knob:
    return Knob.number(
        "ttl_ms", "Time to live", 0, 120_000, default=default, step=1_000, unit="ms", group=RESULTS
    )


def cache_part(*, stale_if_error: bool = False) -> Part:
    """Whether the client keeps results, and serves them stale where asking again fails.

    Args:
        stale_if_error: whether the story is about that.
    """
    kept = Knob.switch("cache", "The client keeps results", default=True, group=RESULTS)
    stale = Knob.switch(
        "stale_if_error", "Stale is better than none", default=True, group=RESULTS, only={"cache": (True,)}
    )

    def apply(stage: Stage, settings: Settings) -> Stage:
        def clients(era: ClientEra) -> Client | Mapping[str, Client]:
            made = stage.clients(era)
            for one in made.values() if isinstance(made, Mapping) else (made,):
                one.cache = one.cache if settings["cache"] else None
                one.stale_if_error = bool(settings.get("stale_if_error", one.stale_if_error))
            return made

        return replace(stage, clients=clients)

    return Part((kept, stale) if stale_if_error else (kept,), apply)


def gateway_part(
    *,
    cache: bool | None = None,
    sticky: bool | None = None,
    replicas: int | None = None,
    most: int = 3,
) -> Part:
    """What the gateway does, and how many replicas stand behind it.

    Args:
        cache, sticky, replicas: as the story has it; None for what makes no difference in it.
        most: how many replicas there can be: not more than get a request.
    """
    offered = (
        (cache, lambda: Knob.switch("gateway_cache", "The gateway keeps results", default=bool(cache))),
        (sticky, lambda: Knob.switch("sticky", "Sessions stick to a replica", default=bool(sticky))),
        (replicas, lambda: Knob.number("replicas", "Replicas", 1, most, default=replicas)),
    )
    knobs = tuple(replace(make(), group=GATEWAY) for given, make in offered if given is not None)
    members: Mapping[str, str] = {"gateway_cache": "cache", "sticky": "sticky"}

    def apply(stage: Stage, settings: Settings) -> Stage:
        changed: dict[str, Any] = {
            member: settings[name] for name, member in members.items() if name in settings
        }
        gateway: Gateway = stage.setting["gateway"]
        setting = {**stage.setting, "gateway": replace(gateway, **changed)}
        if "replicas" in settings:
            setting["replicas"] = settings["replicas"]
        return replace(stage, setting=setting)

    return Part(knobs, apply)


def endpoint_part(name: str, label: str, low: float, high: float, default: float, unit: str) -> Part:
    """One setting of the HTTP endpoint.

    Args:
        name: as `StreamableHttp` calls it.
        label, low, high, default, unit: as for `Knob.number`.
    """
    make: Callable[..., Knob] = Knob.number
    knob = make(name, label, low, high, default=default, unit=unit, group="Endpoint")

    def apply(stage: Stage, settings: Settings) -> Stage:
        if not isinstance(stage.transport, StreamableHttp):
            return stage
        given: Any = {name: settings[name]}
        return replace(stage, transport=replace(stage.transport, **given))

    return Part((knob,), apply)
