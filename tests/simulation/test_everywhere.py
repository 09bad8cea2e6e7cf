"""The same recordings in every process, for every hash seed, and on every Python, the browser's too."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.check_stories import DIGESTS, digests
from tests.simulation.pythons import (
    PYODIDE_PLATFORM,
    PYODIDE_PYTHON,
    Target,
    other_pythons,
    packages_for,
    pyodide,
    run_python,
)

SCRIPT = Path(__file__).with_name("check_stories.py")
OTHERS = other_pythons()
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


@pytest.mark.parametrize("hash_seed", ["1", "random"])
def test_another_process_with_another_hash_seed(here: Digests, project: Path, hash_seed: str) -> None:
    printed = run_python(sys.executable, SCRIPT, [project], PYTHONHASHSEED=hash_seed)
    assert json.loads(printed) == here


@pytest.mark.parametrize("version", list(OTHERS), ids=lambda version: f"{version[0]}.{version[1]}")
def test_another_python(here: Digests, project: Path, cache: Path, version: tuple[int, int]) -> None:
    packages = packages_for(Target(version), cache)
    assert json.loads(run_python(OTHERS[version], SCRIPT, [project, packages])) == here


def test_the_browsers_python(here: Digests, project: Path, cache: Path) -> None:
    node = shutil.which("node")
    assert node, "node is not there: the digests in the browser's Python cannot be compared."
    packages = packages_for(Target(PYODIDE_PYTHON, PYODIDE_PLATFORM), cache)
    runner, file = Path(__file__).with_name("in_pyodide.mjs"), SCRIPT.relative_to(project)
    done = subprocess.run(
        [node, str(runner), str(pyodide(cache)), str(packages), str(project), file.as_posix()],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    printed = json.loads(done.stdout.splitlines()[-1])
    assert (printed.pop("platform"), tuple(printed.pop("python"))) == ("emscripten", PYODIDE_PYTHON)
    assert printed == here
