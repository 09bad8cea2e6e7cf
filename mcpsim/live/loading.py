"""Find the server that a command line names."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from mcpsim.eras.revisions import ServerEra, supported_by
from mcpsim.errors import ServerNotFound
from mcpsim.server import Server


def load_server(spec: str, era: ServerEra | None = None) -> Server:
    """The server that `module:name` names.

    Args:
        spec: an importable module, the current folder's too; and in it a Server, or a function that makes
            one when it is called without arguments.
        era: the era to serve; None for the server's own.

    Raises:
        ServerNotFound: there is no such module, name or server, or it does not speak the era.
        Exception: whatever the module raises when it is imported.
    """
    module_name, _, name = spec.partition(":")
    if not module_name or not name:
        raise ServerNotFound(f"{spec!r} names no server; write module:name, such as my_servers:help_desk.")
    found: Any = getattr(_module(module_name), name, None)
    if found is None:
        raise ServerNotFound(f"The module {module_name} has nothing named {name}.")
    if not isinstance(found, Server) and callable(found):
        found = found()
    if not isinstance(found, Server):
        raise ServerNotFound(
            f"{spec} is no Server, nor a function that makes one: it is {type(found).__name__}."
        )
    return found if era is None else _of_era(found, era)


def _module(name: str) -> Any:
    if "" not in sys.path:
        # As `python -m` does it; an installed command does not.
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise ServerNotFound(f"There is no module {error.name}.") from None


def _of_era(server: Server, era: ServerEra) -> Server:
    wanted = supported_by(era)
    if server.supported_versions != supported_by(server.era):
        # Somebody chose the versions; the era does not bring others back.
        wanted = tuple(one for one in wanted if one in server.supported_versions)
    if not wanted:
        raise ServerNotFound(
            f"{server.name} speaks {', '.join(server.supported_versions)}; none of them is {era}."
        )
    server.era, server.supported_versions = era, wanted
    return server
