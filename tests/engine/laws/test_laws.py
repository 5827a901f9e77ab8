"""The engine's exact law is the target's: rule x draft x policy x processors x stop, by enumeration.

By default a covering array with every compatible pair of levels; under ``exhaustive`` the full compatible product of
the levels that no other one contains. The product adds mistakes that need three or more particular levels at once.
"""

from __future__ import annotations

import itertools
import re

import pytest

from .space import COVERING, EXACT, FULL_PRODUCT, REGEX, REGEX_TEXTS, distance, name


@pytest.mark.parametrize("case", COVERING, ids=name)
def test_law_is_the_targets(case):
    assert distance(case) < EXACT


GROUPS = sorted({(case["verify"], case["draft"]) for case in FULL_PRODUCT})


def wrong(cases, verify, draft):
    own = [case for case in cases if (case["verify"], case["draft"]) == (verify, draft)]
    assert own
    return [name(case) for case in own if not distance(case) < EXACT]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("verify", "draft"), GROUPS, ids=map(" | ".join, GROUPS))
def test_law_is_the_targets_in_the_full_product(verify, draft):
    assert not wrong(FULL_PRODUCT, verify, draft)


def test_the_regex_is_the_language_written_out():
    words = {bytes(letters) for n in range(6) for letters in itertools.product(b"ab", repeat=n)}
    assert {word for word in words if re.fullmatch(REGEX.encode(), word)} == set(REGEX_TEXTS)
