"""Ctrl-C at any line: for tests of what must survive it."""

from __future__ import annotations

import sys


def run_with_interrupt_at(line_number, run, events, within="minispec."):
    """Collect what a run yields, with a KeyboardInterrupt at the n-th line of the package that it executes.

    Parameters
    ----------
    line_number : int
    run : iterable
    events : list
        Receives what the run yields.
    within : str
        How the names of the modules begin whose lines count.

    Returns
    -------
    bool
        Whether that line was reached.
    """
    seen = 0

    def trace(frame, event, arg):
        nonlocal seen
        if not str(frame.f_globals.get("__name__")).startswith(within):
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
