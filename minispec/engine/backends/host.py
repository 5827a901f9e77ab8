"""How much memory this machine has, and how much of it is left, as the system says."""

from __future__ import annotations

import os
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container's limit is, in the second and the first version of Linux's control groups."""


def total_bytes() -> int | None:
    """Return the bytes of main memory, if the system says."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # no such call, or no such name, on this system
        return None


def free_bytes() -> int | None:
    """Return the bytes a program can still ask for: what Linux calls available, elsewhere all there are.

    Available counts the files the system keeps in memory and would drop; a container's limit is an upper bound.
    """
    known = [_available(), *map(_limit, LIMITS)]
    return min((value for value in known if value is not None), default=None)


def _available() -> int | None:
    try:
        for line in MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass  # not Linux, or one that writes it otherwise
    return total_bytes()


def _limit(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such group; or "max", which is none
        return None
