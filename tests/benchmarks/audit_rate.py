"""How fast a trace is audited, beside only reading it and validating every message with mcp-types.

    python tests/benchmarks/audit_rate.py [--messages 10000 100000] [--rounds 3]

Two traces, as the bytes of the interchange form: `long`, one connection with call after call (each with
progress, now and then a list in pages), and `mixed`, the recordings of the built-in stories that break
nothing, again and again, each on connections of its own. Both sides begin at the bytes, in one process, by
turns; the best round counts.

Prints JSON: for each trace and size the messages a second of `audit`, of `parse` (JSON, then what
`mcp_types.methods.parse_*` make of each body) and of `validate` (JSON, then `validate_*` alone); `ratio` is
the time of the audit over the time of `parse`, `strict_ratio` over that of `validate`; and `growth`, how much
dearer a message is in the largest trace than in the smallest.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from mcp_types import methods
from mcp_types.jsonrpc import jsonrpc_message_adapter

from mcpsim import Client, Server, Stdio, simulate
from mcpsim.audit import audit
from mcpsim.course import STORIES
from mcpsim.recording.readers import read_trace

SIZES: Final = (10_000, 100_000)
VERSION: Final = "io.modelcontextprotocol/protocolVersion"
SESSION: Final = "2025-11-25"

desk = Server("desk", page_size=2)


@desk.tool()
async def count(context: Any, parts: int = 3) -> str:
    """Count the parts."""
    for part in range(1, parts + 1):
        await context.report_progress(part, parts, f"Part {part}")
    return f"{parts} parts"


for number in range(5):
    desk.tool(name=f"tool_{number}")(lambda text="": text)


def long_trace(size: int) -> bytes:
    """One connection."""

    async def story(client: Client) -> None:
        for number in range(size // 5 + 1):
            await client.call_tool("count", {"parts": 3}, on_progress=lambda *_: None)
            if number % 10 == 0:
                async for _ in client.pages("tools/list"):
                    pass

    run = simulate(story, server=desk, era="modern", transport=Stdio(latency_ms=0), event_limit=20 * size)
    return _repeated([run.recording.to_interchange().splitlines()], size)


def mixed_trace(size: int) -> bytes:
    """All stories, again and again."""
    found: list[list[bytes]] = []
    for story in STORIES.values():
        for era in story.eras:
            recording = story.play(era=era, check=False).recording
            if not recording.audit().broken:
                found.append(recording.to_interchange().splitlines())
    return _repeated(found, size)


def _repeated(traces: list[list[bytes]], size: int) -> bytes:
    rows: list[bytes] = []
    messages = turn = 0
    while messages < size:
        for number, trace in enumerate(traces):
            for line in trace:
                row = json.loads(line)
                row["connection"] = f"{turn}-{number}-{row.get('connection', '')}"
                rows.append(json.dumps(row).encode())
                messages += "message" in row
                if messages >= size:
                    return b"\n".join(rows)
        turn += 1
    return b"\n".join(rows)


def audited(data: bytes) -> int:
    """Audit, from the bytes on."""
    return audit(read_trace(data)).messages


def parsed(data: bytes) -> int:
    """Read and parse, and nothing else."""
    return _each(data, methods.parse_client_request, methods.parse_server_result)


def validated(data: bytes) -> int:
    """Read and validate, and nothing else."""
    return _each(data, methods.validate_client_request, methods.validate_server_result)


def _each(data: bytes, request: Callable[..., Any], result: Callable[..., Any]) -> int:
    asked: dict[tuple[str, str, Any], tuple[str, str]] = {}
    count = 0
    for row, message in _messages(data):
        count += 1
        connection, side = row.get("connection", ""), row["from"]
        params = message.get("params")
        meta = (params or {}).get("_meta") or {}
        version = meta.get(VERSION, SESSION)
        method = message.get("method")
        try:
            jsonrpc_message_adapter.validate_python(message)
            if method is not None and "id" in message:
                asked[connection, side, message["id"]] = (method, version)
                if side == "client":
                    request(method, version, params)
                else:
                    methods.parse_server_request(method, version, params)
            elif method is not None:
                _notified(side, method, version, params)
            elif "result" in message:
                other = "server" if side == "client" else "client"
                method, version = asked.get((connection, other, message.get("id")), ("", version))
                if side == "server":
                    result(method, version, message["result"])
                else:
                    methods.validate_client_result(method, version, message["result"])
        except (KeyError, ValueError):
            # What a revision does not have costs as little here as it is worth.
            continue
    return count


def _notified(side: str, method: str, version: str, params: Any) -> None:
    if side == "client":
        methods.parse_client_notification(method, version, params)
    else:
        methods.parse_server_notification(method, version, params)


def _messages(data: bytes) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for line in data.split(b"\n"):
        row = json.loads(line)
        message = row.get("message")
        if isinstance(message, dict):
            yield row, message


SIDES: Final = {"audit": audited, "parse": parsed, "validate": validated}


def measure(data: bytes, messages: int, rounds: int) -> dict[str, float]:
    """The best time of each side, in seconds."""
    best = dict.fromkeys(SIDES, float("inf"))
    for _ in range(rounds):
        for name, play in SIDES.items():
            gc.collect()
            begin = time.perf_counter()
            play(data)
            best[name] = min(best[name], time.perf_counter() - begin)
    found = {f"{name}_per_s": messages / spent for name, spent in best.items()}
    return {
        **found,
        "ratio": best["audit"] / best["parse"],
        "strict_ratio": best["audit"] / best["validate"],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for name, make in {"long": long_trace, "mixed": mixed_trace}.items():
        sizes = {}
        for size in given.messages:
            sizes[size] = measure(make(size), size, given.rounds)
        rates = [sizes[size]["audit_per_s"] for size in given.messages]
        found[name] = {"sizes": sizes, "growth": rates[0] / rates[-1]}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
