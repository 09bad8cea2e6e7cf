"""Ask a server one thing, in any revision and on both transports, and check everything that was said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from checked import simulate_checked

from mcpsim import Client, Server, Stdio, StreamableHttp
from mcpsim.errors import ProtocolError

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
LATEST_LEGACY, MODERN = REVISIONS[-2:]

EVERY_REVISION = pytest.mark.parametrize("revision", REVISIONS)
BOTH_ERAS = pytest.mark.parametrize("revision", [LATEST_LEGACY, MODERN])
BOTH_TRANSPORTS = pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])


def client_of(revision: str, **more: Any) -> Client:
    return Client(era="modern" if revision == MODERN else "legacy", protocol_version=revision, **more)


def ask(
    server: Server,
    revision: str,
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    transport: Any = None,
    broken: tuple[str | int, ...] = (),
    **more: Any,
) -> Any:
    """The result, without what belongs to every modern result; or the ProtocolError."""

    async def story(client: Client) -> Any:
        try:
            return await client.request(method, params)
        except ProtocolError as error:
            return error

    run = simulate_checked(
        story, server=server, client=client_of(revision, **more), transport=transport, broken=broken
    )
    if isinstance(run.value, ProtocolError):
        return run.value
    return {key: value for key, value in run.value.items() if key not in ("_meta", "resultType")}


def notes(run: Any) -> list[str]:
    return [event.detail["text"] for event in run.recording.events if event.kind == "note"]
