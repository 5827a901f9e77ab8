"""Ctrl-C at any line: for tests of what must survive it."""

from __future__ import annotations

import sys


def run_with_interrupt_at(line_number, run, events):
    """Collect what a run yields, with a KeyboardInterrupt at the n-th line of the package that it executes.

    Returns
    -------
    bool
        Whether that line was reached.
    """
    seen = 0

    def trace(frame, event, arg):
        nonlocal seen
        if not str(frame.f_globals.get("__name__")).startswith("minispec."):
            return None
        if event == "line":
            seen += 1
            if seen == line_number:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        for event in run:
            events.append(event)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False
