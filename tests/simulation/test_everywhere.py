"""The same recordings in every process, for every hash seed, and on every Python, the browser's too."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.check_stories import DIGESTS, digests
from tests.simulation.pythons import (
    PYODIDE_PYTHON,
    Target,
    Version,
    other_pythons,
    packages_for,
    run_in_pyodide,
    run_python,
)

SCRIPT = Path(__file__).with_name("check_stories.py")
HERE = sys.version_info[:2]
# Where there is no other Python, this one in a process of its own.
OTHERS = other_pythons() or {HERE: sys.executable}
Digests = dict[str, dict[str, str]]


@pytest.fixture(scope="session")
def here() -> Digests:
    """The digests in this process."""
    return digests()


@pytest.fixture(scope="session")
def cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where packages for other Pythons are kept from run to run."""
    kept: Any = getattr(request.config, "cache", None)
    return kept.mkdir("mcpsim-envs") if kept is not None else tmp_path_factory.mktemp("mcpsim-envs")


def test_the_recordings_are_the_ones_that_were_written_down(here: Digests) -> None:
    """If this fails and recordings were meant to change: python tests/simulation/check_stories.py --write"""
    written = json.loads(DIGESTS.read_text(encoding="utf-8"))
    assert written == {name: digest[:16] for name, digest in here["check"].items()}


def test_every_run_is_another(here: Digests) -> None:
    names = here["check"]
    assert len(names) > 50
    assert len(set(names.values())) == len(names)
    assert here["course"]


@pytest.fixture(scope="session")
def elsewhere(project: Path, cache: Path) -> Iterator[Mapping[str, Future[str]]]:
    """What the script prints in every other place; all of them are at work at the same time."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = {"Pyodide": pool.submit(run_in_pyodide, SCRIPT, project, cache)}
        for seed, version in enumerate(OTHERS, 1):
            running[str(version)] = pool.submit(in_another, version, str(seed), project, cache)
        yield running


def in_another(version: Version, hash_seed: str, project: Path, cache: Path) -> str:
    packages = [] if version == HERE else [packages_for(Target(version), cache)]
    return run_python(OTHERS[version], SCRIPT, [project, *packages], cache, PYTHONHASHSEED=hash_seed)


@pytest.mark.parametrize("version", list(OTHERS), ids=lambda version: f"{version[0]}.{version[1]}")
def test_another_process_with_another_python_and_another_hash_seed(
    here: Digests, elsewhere: Any, version: Version
) -> None:
    assert json.loads(elsewhere[str(version)].result()) == here


def test_the_browsers_python(here: Digests, elsewhere: Any) -> None:
    printed = json.loads(elsewhere["Pyodide"].result().splitlines()[-1])
    assert (printed.pop("platform"), tuple(printed.pop("python"))) == ("emscripten", PYODIDE_PYTHON)
    assert printed == here
