"""Coins that are all but certain are still thrown: a rule that rounds them up misses the law by what it rounds."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.engine.laws import Enumerator
from minispec.engine.noise import Coins, Noise
from minispec.engine.records import Draft
from minispec.engine.verifiers import get_verifier

LOSSLESS = ("rejection", "block", "tree", "match", "gumbel")


@pytest.mark.parametrize("doubt", [1e-3, 3e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("rule", [rule for rule in LOSSLESS if rule != "gumbel"])  # its noise is continuous
def test_two_positions_where_the_draft_is_almost_right(rule: str, doubt: float) -> None:
    """The first token is accepted all but surely, the second is likely to be rejected."""
    p = [np.array([0.5 - doubt, 0.5 + doubt]), np.array([0.05, 0.95])]
    q = [np.array([0.5, 0.5]), np.array([0.9, 0.1])]
    verify = get_verifier(rule).verify

    def first_two(noise: Noise) -> tuple[int, int]:
        coins = Coins(noise, position=0)
        drafted = tuple(coins.draft(i, q[i]) for i in range(2))
        verdict = verify(Draft(drafted, np.array(q)), np.array([*p, [0.5, 0.5]]), coins)
        tokens = [*drafted[: verdict.num_accepted], verdict.next_token]
        while len(tokens) < 2:
            tokens.append(Coins(noise, position=len(tokens), step=1).bonus(0, p[len(tokens)]))
        return tokens[0], tokens[1]

    law = Enumerator(first_two).law()
    for a in range(2):
        for b in range(2):
            assert abs(law[a, b] - p[0][a] * p[1][b]) < 1e-15
