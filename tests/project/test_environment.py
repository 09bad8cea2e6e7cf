"""environment.yml, for conda users, asks for the same packages as pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement


@pytest.fixture(scope="module")
def environment(project: Path) -> dict[str, Any]:
    return yaml.safe_load((project / "environment.yml").read_text())


@pytest.fixture(scope="module")
def metadata(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "pyproject.toml").read_text())["project"]


def floors(requirements: list[str]) -> dict[str, str]:
    """Name to version specifier, the names spelled in one way."""
    parsed = map(Requirement, requirements)
    return {re.sub(r"[-_.]+", "-", row.name).lower(): str(row.specifier) for row in parsed}


def test_it_has_the_requirements_of_the_lab(environment: dict[str, Any], metadata: dict[str, Any]) -> None:
    *conda, pip = environment["dependencies"]
    asked = floors([row for row in [*conda, *pip["pip"]] if not row.startswith("-e ")])
    # pip installs the checkout, and itself is not a requirement of it.
    assert asked.pop("python") == metadata["requires-python"]
    assert asked.pop("pip") == ""
    lab = [*metadata["dependencies"], *metadata["optional-dependencies"]["lab"]]
    assert asked == floors(lab)


def test_it_installs_the_checkout_with_the_lab(environment: dict[str, Any]) -> None:
    assert environment["dependencies"][-1]["pip"][-1] == "-e .[lab]"
    assert environment["name"] == "mcpsim"
    assert environment["channels"] == ["conda-forge"]


def test_requirements_are_floors_and_not_pins(metadata: dict[str, Any]) -> None:
    extras = metadata["optional-dependencies"]
    rows = [*metadata["dependencies"], *(row for extra in extras.values() for row in extra)]
    loose = {row: {part.operator for part in Requirement(row).specifier} for row in rows}
    assert {row: operators for row, operators in loose.items() if operators != {">="}} == {
        "mcpsim[lab,live]": set()
    }


def test_the_tested_versions_satisfy_the_floors_and_name_nothing_but_versions(
    project: Path, metadata: dict[str, Any]
) -> None:
    lines = (project / ".ci" / "constraints.txt").read_text().splitlines()
    rows = [line for line in lines if not line.startswith("#")]
    assert [row for row in rows if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.+!]*", row)] == []
    tested = {name: specifier.removeprefix("==") for name, specifier in floors(rows).items()}
    extras = metadata["optional-dependencies"]
    asked = [*metadata["dependencies"], *extras["lab"], *extras["live"]]
    asked += [row for row in extras["test"] if row != "mcpsim[lab,live]"]
    wrong = [
        row
        for row in map(Requirement, asked)
        if not row.specifier.contains(tested.get(re.sub(r"[-_.]+", "-", row.name).lower(), "0"))
    ]
    assert wrong == []
