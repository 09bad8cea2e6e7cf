"""`mcpsim serve`: serve a server to a real client."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Final, get_args

from mcpsim.cli.command import Command
from mcpsim.course import servers
from mcpsim.eras.revisions import ServerEra
from mcpsim.errors import McpSimError, ServerNotFound
from mcpsim.server import Server

LOOPBACK: Final = "127.0.0.1"
LAST_PORT: Final = 65_535

SERVERS: Final[Mapping[str, Callable[..., Server]]] = {
    name.replace("_", "-"): getattr(servers, name) for name in servers.__all__
}


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "server",
        metavar="SERVER",
        help="module:name, a Server or a function that makes one, also from the current folder; or a "
        f"built-in one: {', '.join(SERVERS)}",
    )
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--stdio", action="store_true", help="on standard input and output, until input ends")
    how.add_argument(
        "--http",
        type=_port,
        metavar="PORT",
        help="on HTTP, until Ctrl-C; 0 takes any port that is free. The URL is printed.",
    )
    parser.add_argument(
        "--host",
        help=f"with --http: the address to listen on (default: {LOOPBACK}, which is this machine alone). "
        "Whoever can reach another address can use the server: nobody is asked who they are.",
    )
    parser.add_argument(
        "--era", choices=get_args(ServerEra), help="the era to serve (default: the server's own)"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a whole number from 0 to {LAST_PORT}")
    return int(text)


def _run(options: argparse.Namespace) -> int:
    # Only this needs threads, sockets and signals, which do not exist everywhere.
    from mcpsim.live import run_http, run_stdio

    if options.stdio and options.host is not None:
        raise McpSimError("--host is for --http: stdio has no address.")
    if options.stdio:
        run_stdio(lambda: _made(options.server, options.era))
    else:
        server = _made(options.server, options.era)
        run_http(server, options.host or LOOPBACK, options.http, on_ready=_announce)
    return 0


def _made(name: str, era: ServerEra | None) -> Server:
    from mcpsim.live import load_server

    if ":" in name:
        return load_server(name, era)
    if name not in SERVERS:
        raise ServerNotFound(
            f"There is no built-in server {name!r}, but {', '.join(SERVERS)}. For your own, "
            "write module:name."
        )
    return SERVERS[name](**({} if era is None else {"era": era}))


def _announce(url: str) -> None:
    print(f"Serving at {url} until Ctrl-C.", file=sys.stderr, flush=True)


SERVE: Final = Command("serve", "Serve a server to a real client.", _declare, _run)
