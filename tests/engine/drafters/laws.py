"""What every drafter is held to: its rows are the law of its tokens. (`tests/engine/laws` has the engine's law.)"""

from __future__ import annotations

import math

import numpy as np

from minispec.engine.control import FixedGamma
from minispec.engine.drafters.base import allow_all
from minispec.engine.generation import Stream
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Enumerator, outcome, total_variation
from minispec.engine.model.asks import answer
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler, SamplingParams
from minispec.engine.verifiers import Verifier, rejection
from tests.audited_noise import AuditedNoise
from tests.engine.laws.oracle import slow_law

PLAIN = SamplingParams(1.0, 0, 1.0, 0.0)
GREEDY = SamplingParams(0.0, 0, 1.0, 0.0)
EXACT = 1e-12  # products of a few dozen float64 factors, each with a relative error of about 1e-16


def propose(drafter, tokens, gamma, noise=None, *, step=0, more=allow_all):
    noise = AuditedNoise(PhiloxNoise(7)) if noise is None else noise
    answer(drafter.prefill(tokens[:-1]))
    coins = Coins(noise, position=len(tokens), step=step)
    return answer(drafter.propose(list(tokens), gamma, coins, more))


def while_true(condition):
    """Draft on while a condition on the next row holds."""
    return lambda row: allow_all(row) if condition(row) else 0


def check_rows_are_the_law(new_drafter, tokens, gamma, more=allow_all):
    """P(draft) = the product of its rows, over every branch of the noise; return the drafts with their laws."""
    seen = {}

    def run(noise):
        draft = propose(new_drafter(), tokens, gamma, noise, more=more)
        assert draft.probs.shape[0] == len(draft) <= gamma or draft.parents is not None
        assert np.allclose(draft.probs.sum(axis=1), 1.0, atol=EXACT)
        known = seen.setdefault(draft.tokens, draft)
        assert known.probs.tobytes() == draft.probs.tobytes(), "a row depends on more than the tokens before it"
        return draft.tokens

    law = Enumerator(run).law()
    for drafted, prob in law.items():
        product = math.prod(seen[drafted].probs[i, token] for i, token in enumerate(drafted))
        assert abs(prob - product) < EXACT, (drafted, prob, product)
    return {drafted: (prob, seen[drafted]) for drafted, prob in law.items()}


def engine_distance(target, new_drafter, *, num_tokens, gamma):
    """Total variation between the real loop's law and the target's; ``new_drafter`` gets the target's session.

    ``num_tokens`` are those behind the first, which no draft reaches.
    """
    prompt, limits = (0, 1), Limits(1 + num_tokens, target.n_positions)

    def run(noise):
        session = TreeSession(target)
        return outcome(_stream(prompt, session, new_drafter(session), PLAIN, noise, limits, gamma).run())

    return total_variation(Enumerator(run).law(), slow_law(target, PLAIN, prompt, limits))


def plain_tokens(target, prompt, params, num_tokens, seed=3):
    limits = Limits(num_tokens, target.n_positions)
    return _stream(prompt, TreeSession(target), None, params, PhiloxNoise(seed), limits).run().token_ids


def drafted_run(target, new_drafter, prompt, params, num_tokens, *, gamma=4, seed=3, verify=rejection.verify):
    session = TreeSession(target)
    limits = Limits(num_tokens, target.n_positions)
    noise = PhiloxNoise(seed)
    return _stream(prompt, session, new_drafter(session), params, noise, limits, gamma, verify).run()


def _stream(prompt, session, drafter, params, noise, limits, gamma=0, verify=rejection.verify):
    sampler = Sampler(params, len(prompt), limits.eos_token_id)
    rule = Verifier("rule under test", verify)
    return Stream(prompt, session, drafter, sampler, noise, limits, policy=FixedGamma(gamma), verifier=rule)
