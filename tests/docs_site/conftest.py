"""Doctests import every module; the one that drives a browser needs a package the default suite does without."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("playwright") else ["browser.py"]
