"""What times depend on besides machine and settings, noted before a run."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

_WORDS = {"kernel": "{}", "mhz": "{} MHz", "load": "load {} before", "commit": "commit {}"}


def find_state() -> dict[str, Any]:
    """Say what times depend on besides: the code's commit, the kernel, the clock, and how busy the machine is.

    What cannot be told here is left out. "dirty" behind a commit says that the code had been changed since.
    """
    state: dict[str, Any] = {"kernel": f"{platform.system()} {platform.release()}"}
    git = ["git", "-C", str(Path(__file__).parent)]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        ask = partial(subprocess.run, check=True, capture_output=True, text=True)
        commit = ask([*git, "rev-parse", "--short", "HEAD"]).stdout.strip()
        changed = ask([*git, "status", "--porcelain", "--untracked-files=no", "--", ":/minispec"]).stdout.strip()
        state["commit"] = f"{commit} dirty" if changed else commit
    with contextlib.suppress(OSError, AttributeError):  # not on Windows
        state["load"] = round(os.getloadavg()[0], 2)
    with contextlib.suppress(OSError, StopIteration):  # not on Linux
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        state["mhz"] = round(float(next(line for line in lines if line.startswith("cpu MHz")).partition(":")[2]))
    return state


def describe_state(facts: Mapping[str, Any]) -> str:
    """Return what :func:`find_state` told, for the last line of an entry; nothing of entries that measure no time.

    Examples
    --------
    >>> describe_state({"cpu": "Zen 3", "mhz": 2445, "load": 0.1})
    ' · 2445 MHz, load 0.1 before'
    """
    told = [form.format(facts[key]) for key, form in _WORDS.items() if key in facts]
    return f" · {', '.join(told)}" if told else ""
