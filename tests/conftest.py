"""What all tests share: how property tests run, the files of the project, and the project as a wheel."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from tests.support.every_recording import pytest_runtest_call, pytest_runtest_protocol
from tests.support.warm_servers import Warm, nursery

# pytest finds hooks by their names in a conftest.
__all__ = ["pytest_runtest_call", "pytest_runtest_protocol"]

# A deadline measures the machine, not the code. The same examples in every run: a change that breaks a
# property must fail where it was made, not in somebody else's run.
settings.register_profile("mcpsim", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("mcpsim")


#: How long building or installing may take.
LIMIT_S: Final = 600


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return Path(__file__).parents[1]


@pytest.fixture(scope="session")
def distributions(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it."""

    def make(folder: Path) -> None:
        _run("build", "--no-isolation", "--outdir", str(folder), str(project))

    return _made_once("distributions", tmp_path_factory, make)


@pytest.fixture(scope="session")
def installed_wheel(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for Python's path, into which the wheel is installed. Copy it before you change it."""

    def make(folder: Path) -> None:
        (wheel,) = distributions.glob("*.whl")
        _run("pip", "install", "--no-deps", "--no-index", "--target", str(folder), str(wheel))

    return _made_once("installed", tmp_path_factory, make)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """The command that starts a server without its imports: see `tests/support/warm_servers.py`."""
    # Not pytest's own folder: the path of a socket must be short.
    with tempfile.TemporaryDirectory() as folder, nursery(Path(folder)) as warm:
        yield warm


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that open a browser, and put their files last: Playwright keeps an event loop running in
    this thread until the end of the session, and then no other test can run one of its own. Whole files,
    because several processes (`pytest -n 3 --dist loadfile`) share the tests out by the file. What takes
    longest, and is for one process, begins before the others."""
    with_browser: set[Path] = set()
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
            with_browser.add(item.path)
    lab = Path(__file__).parent / "browser" / "lab"
    items.sort(key=lambda item: (item.path in with_browser, item.path.parent != lab))


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end: thousands of tests, and all that was imported.
    What a test makes and leaves is little, and need not be looked for every 700 objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _made_once(name: str, factory: pytest.TempPathFactory, make: Callable[[Path], None]) -> Path:
    """A folder that the first process makes which wants it, for all those that share the tests out."""
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder, done = root / name, root / f"{name}.done"
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + LIMIT_S
        while not done.exists():
            assert time.monotonic() < deadline, f"Another process did not make {folder} in {LIMIT_S} s."
            time.sleep(0.1)
        assert not done.read_text(encoding="utf-8"), f"Another process could not make {folder}."
        return folder
    wrong = "It failed."
    try:
        make(folder)
        wrong = ""
    finally:
        # Written at once: who waits sees all of it.
        text = root / f"{name}.text"
        text.write_text(wrong, encoding="utf-8")
        text.rename(done)
    return folder


def _run(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, encoding="utf-8", timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
