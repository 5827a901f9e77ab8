"""Policies judged by what they would cost: the real engine on a stated machine, the same text for all of them.

Two things make the judgement fair. The clock is simulated, so that a policy which reacts to time meets exactly the
costs it is judged by. And the rule is by default ``gumbel``, under which text *and* drafts are functions of the seed:
every policy decodes the same tokens, and the figures differ by what the policies do and by nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minispec.engine.control import Fallback, GammaPolicy, get_policy
from minispec.engine.drafters import ModelDrafter
from minispec.engine.generation.run import Stream
from minispec.engine.generation.stopping import Limits
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.session import Session
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler, SamplingParams
from minispec.engine.verifiers import get_verifier
from minispec.lab.simulate import CostedModel, CostModel, SimulatedClock

PLAIN = "0"
FIXED = tuple(str(gamma) for gamma in range(1, 13))
ADAPTIVE = ("heuristic", "confidence", "auto", "auto+fallback", "5+fallback")
POLICIES = (PLAIN, *FIXED, *ADAPTIVE)


@dataclass(frozen=True)
class Text:
    """What is decoded: a few prompts in a row, each put behind what was generated so far.

    With more than one prompt the text changes midway, under one and the same policy object.

    Attributes
    ----------
    prompts : sequence of sequence of int
    num_tokens : int
        To generate after each of them; the end of the text is forbidden.
    temperature : float
    seed : int
    """

    prompts: Sequence[Sequence[int]]
    num_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0


def new_policy(name: str) -> GammaPolicy:
    """Return a fresh policy: what ``--gamma`` takes, and ``+fallback`` behind it for ``--fallback``.

    Examples
    --------
    >>> type(new_policy("5+fallback")).__name__
    'Fallback'
    """
    gamma, plus, _ = name.partition("+fallback")
    policy = get_policy(gamma)
    return Fallback(policy) if plus else policy


def cost_per_token(
    target: LanguageModel,
    draft: LanguageModel,
    text: Text,
    policy: GammaPolicy,
    costs: CostModel,
    *,
    verify: str = "gumbel",
) -> float:
    """Decode ``text`` and return its simulated cost per token, in units of a one-row target forward.

    Plain decoding costs 1 by definition. Prefills are left out: they are alike for every policy.
    """
    clock = SimulatedClock()
    verifier = get_verifier(verify)
    params = SamplingParams(text.temperature, top_p=1.0, min_tokens=text.num_tokens)
    tokens: list[int] = []
    spent, emitted = 0.0, 0
    for number, prompt in enumerate(text.prompts):
        tokens += prompt
        sampler = Sampler(params, len(tokens), target.eos_token_id)
        run = Stream(
            tokens,
            TreeSession(CostedModel(target, clock, costs.target_cost)),
            ModelDrafter(Session(CostedModel(draft, clock, costs.draft_cost)), sampler, coupled=verifier.coupled),
            sampler,
            PhiloxNoise(text.seed + number),
            Limits(text.num_tokens, target.n_positions, (), target.eos_token_id),
            policy=policy,
            verifier=verifier,
            clock=clock,
        ).run()
        tokens += run.token_ids
        spent += run.metrics.decode_s
        emitted += run.metrics.num_decode_tokens
    return spent / emitted


def judge(
    target: LanguageModel,
    draft: LanguageModel,
    texts: Sequence[Text],
    costs: CostModel,
    policies: Iterable[str] = POLICIES,
    *,
    verify: str = "gumbel",
) -> dict[str, float]:
    """Return every policy's mean cost per token; with a ``RememberingModel`` each text is computed once."""
    return {
        name: float(
            np.mean([cost_per_token(target, draft, text, new_policy(name), costs, verify=verify) for text in texts])
        )
        for name in policies
    }


def best_fixed(costs: Mapping[str, float]) -> str:
    """Return the cheapest fixed γ of a table that :func:`judge` made, 0 among them.

    Examples
    --------
    >>> best_fixed({"0": 1.0, "4": 0.7, "8": 0.8, "auto": 0.6})
    '4'
    """
    return min((name for name in costs if name.isdigit()), key=costs.__getitem__)
