"""The formulas against the engine itself, by exact enumeration of its branches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Enumerator, speculative_stream
from minispec.engine.model.toy import TableModel
from minispec.theory import acceptance_probability, steps_law, tau, tokens_law
from tests.engine.generation.tiny import PLAIN

P, Q = [0.6, 0.4], [0.3, 0.7]
EVERYWHERE = [prefix for length in range(1, 6) for prefix in itertools.product(range(2), repeat=length)]
ALPHA = acceptance_probability(np.array(P), np.array(Q))


def stream(noise, gamma, num_tokens):
    """Tables that are the same after every prefix: acceptances are independent and equally likely, as tau assumes."""
    target = TableModel(2, 64, table=dict.fromkeys(EVERYWHERE, P))
    draft = TableModel(2, 64, table=dict.fromkeys(EVERYWHERE, Q))
    return speculative_stream(noise, target, draft, PLAIN, (0,), Limits(num_tokens, 64), gamma=gamma)


@pytest.mark.parametrize("gamma", [0, 1, 2, 3])
def test_the_engines_tokens_per_step_have_the_capped_geometric_law(gamma):
    """The step behind the first token has room for gamma + 1 tokens. Tolerance: float32 logits, 6e-8 relative each."""

    def first_step(noise):
        run = stream(noise, gamma, gamma + 2)
        while len(run.generation.steps) < 2:
            next(run)
        return len(run.generation.steps[1].tokens)

    law = Enumerator(first_step).law()
    predicted = tokens_law(ALPHA, gamma).probs
    assert [law.get(k, 0.0) for k in range(gamma + 2)] == pytest.approx(predicted.tolist(), abs=1e-6)
    assert sum(length * prob for length, prob in law.items()) == pytest.approx(tau(ALPHA, gamma), abs=1e-6)


@pytest.mark.parametrize(("gamma", "num_tokens"), [(1, 3), (2, 3), (3, 4)])
def test_the_engines_steps_have_the_law_of_a_finite_response(gamma, num_tokens):
    """Of so many tokens behind the first, which the prompt's forward gives.

    The engine cuts the last drafts to the room that is left; the number of steps does not notice.
    """

    def num_steps(noise):
        run = stream(noise, gamma, 1 + num_tokens)
        for _ in run:
            pass
        return run.generation.metrics.num_steps

    law = Enumerator(num_steps).law()
    predicted = steps_law(num_tokens, tokens_law(ALPHA, gamma)).probs
    assert [law.get(r, 0.0) for r in range(num_tokens + 1)] == pytest.approx(predicted.tolist(), abs=1e-6)
