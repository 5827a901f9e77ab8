"""Settings shared by the suite: hypothesis is deterministic, so a red run is red again; kernels are compiled once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "deterministic", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deterministic")

KERNELS = (["--backend", "panel"], ["--backend", "numba", "--dtype", "float32"])
"""What most tests run on: of the bundled models, and of small random ones."""


def pytest_configure(config: pytest.Config) -> None:
    """Before there are several processes, compile what each of them would compile for itself."""
    if getattr(config.option, "numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ:
        command = [sys.executable, "-m", "minispec", "warmup"]
        helpers = [subprocess.Popen([*command, *each], stdout=subprocess.DEVNULL) for each in KERNELS]
        for helper in helpers:
            helper.wait()
