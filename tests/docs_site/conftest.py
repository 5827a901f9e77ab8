"""Doctests import every module; the one that drives a browser needs a package the default suite does without."""

from __future__ import annotations

import importlib.util

import pytest

collect_ignore = [] if importlib.util.find_spec("playwright") else ["browser.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the site, which takes longest: whoever has it may be the last to end."""
    items.sort(key=lambda item: item.path.name != "test_site.py")
