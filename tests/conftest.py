"""What all tests share: how property tests run, and the files of the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# A deadline measures the machine, not the code. The same examples in every run: a change that breaks a
# property must fail where it was made, not in somebody else's run.
settings.register_profile("mcpsim", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("mcpsim")


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return Path(__file__).parents[1]
