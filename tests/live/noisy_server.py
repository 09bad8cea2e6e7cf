"""A server whose handlers do with stdin and stdout what handlers should not do."""

from __future__ import annotations

import os
import subprocess

import anyio

from mcpsim import Context, Server

print("printed while the module is imported")


def make() -> Server:
    """A new server."""
    server = Server("noisy")

    @server.tool()
    def print_it() -> str:
        print("printed by a handler", flush=True)
        return "done"

    @server.tool()
    def write_to_descriptor_1() -> str:
        os.write(1, b"written to descriptor 1\n")
        return "done"

    @server.tool()
    def start_a_program() -> str:
        subprocess.run(["echo", "from a program"], check=True)
        return "done"

    @server.tool()
    def ask_the_user() -> str:
        try:
            return input()
        except EOFError:
            return "nobody there"

    @server.tool()
    def break_down() -> str:
        raise RuntimeError("the disk is full")

    @server.tool()
    def make_token(context: Context) -> str:
        return context.tokens("basket")

    @server.tool()
    async def wait_long() -> str:
        await anyio.sleep(60)
        return "waited"

    @server.tool()
    def write_a_lot() -> str:
        return "x" * 1_000_000

    return server
