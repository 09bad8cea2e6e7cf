"""Notebooks are run here to test them: nothing of that is a learner's progress."""

from __future__ import annotations

import os

os.environ["MCPSIM_PROGRESS"] = "off"
