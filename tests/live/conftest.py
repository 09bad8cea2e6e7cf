"""Small programs in the place of servers, and what the tests of live connections share."""

from __future__ import annotations

import importlib.util
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent

# Without the site packages Python starts at once.
PYTHON = (sys.executable, "-I", "-S", "-u", "-c")


def load(path: Path) -> ModuleType:
    """A module by its path: test folders are not packages."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def load_beside() -> Callable[[str], ModuleType]:
    """Load a file of this folder as a module."""
    return lambda name: load(HERE / name)


@pytest.fixture(scope="session")
def program() -> Callable[[str], list[str]]:
    """The command that runs a piece of Python as a server."""
    return lambda source: [*PYTHON, textwrap.dedent(source)]


@pytest.fixture(scope="session")
def check_recording() -> Callable[..., None]:
    """Check every message of a recording with the official models."""
    return load(HERE.parent / "support" / "checked.py").check_recording


@pytest.fixture(scope="session")
def is_gone() -> Callable[[int | None], bool]:
    """Whether there is no process of that id."""

    def is_gone(pid: int | None) -> bool:
        assert pid is not None
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    return is_gone


@pytest.fixture(scope="session")
def npm_package(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Path]:
    """The folder of an npm package in a version; it is kept from test run to test run."""
    kept: Any = getattr(request.config, "cache", None)
    cache = kept.mkdir("mcpsim-npm") if kept is not None else tmp_path_factory.mktemp("mcpsim-npm")
    return lambda package, version: load(HERE / "npm.py").installed(cache, package, version)
