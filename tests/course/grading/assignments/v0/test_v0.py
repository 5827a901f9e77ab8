"""Public tests of V0."""

import pytest
import v0
from v0 import share


def test_share():
    assert share([1, 3], 0) == pytest.approx(0.25)


def test_level():
    assert v0.level(0.0) == v0.FLOOR


def test_spread():
    assert v0.spread([1, 3]) == pytest.approx(0.5)
