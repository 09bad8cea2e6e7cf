"""`python -m mcpsim.live SERVER`: serve on stdin and stdout."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import get_args

from mcpsim.eras.revisions import ServerEra
from mcpsim.errors import ConnectionClosed, ServerNotFound
from mcpsim.live.loading import load_server
from mcpsim.live.serving import run_stdio


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve; returns the exit code: 0, or 2 where there is no such server, or no stdin to serve on."""
    parser = argparse.ArgumentParser(
        prog="python -m mcpsim.live", description="Serve MCP on stdin and stdout, until stdin ends."
    )
    parser.add_argument(
        "server", metavar="SERVER", help="module:name; a Server, or a function that makes one"
    )
    parser.add_argument(
        "--era", choices=get_args(ServerEra), help="the era to serve (default: the server's own)"
    )
    options = parser.parse_args(arguments)
    try:
        run_stdio(lambda: load_server(options.server, options.era))
    except (ServerNotFound, ConnectionClosed) as error:
        print(f"mcpsim: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
