"""The recordings made by hand, for the tests of the player."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from mcpsim.recording import Recording


def load_made() -> ModuleType:
    """The module beside this file. Test folders are not packages, so it has to be loaded by its path."""
    path = Path(__file__).with_name("made.py")
    spec = importlib.util.spec_from_file_location("made_recordings", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = load_made()


@pytest.fixture(scope="session")
def made() -> ModuleType:
    """The module that makes the recordings."""
    return MADE


@pytest.fixture(params=sorted(MADE.MADE))
def recording(request: pytest.FixtureRequest) -> Recording:
    """Each of the recordings in turn."""
    # What holds for two hundred messages holds for two thousand, and takes a tenth of the time.
    return MADE.long(200) if request.param == "long" else MADE.MADE[request.param]()
