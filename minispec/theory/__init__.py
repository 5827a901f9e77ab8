"""What speculation gains, given how often drafts are accepted and what they cost. Formulas only; NumPy only.

Letters follow Leviathan, Kalman and Matias, "Fast Inference from Transformers via Speculative Decoding" (ICML 2023):
p is the target's distribution, q the draft's, beta the acceptance probability at one prefix, alpha its expectation.
Costs are in plain steps, the time plain decoding takes per token: c of a drafted token, v(m) of a target pass over m
rows in place of one, o of whatever else a step takes more than a plain one. ``docs/theory.md`` has the proofs and says
where the formulas fail.

=============== ===================================================================================
acceptance      beta, tau; accepted / drafted and back to alpha
tokens          the distribution of the tokens per step; acceptances by position; pools of unlike steps
walltime        the cost of a step, speedup, drafting ahead, operations
draft_length    the best gamma; when to stop a draft
breakeven       what alpha, what acceptance rate, what draft cost a speedup needs
response        a finite response: the law of its steps, its speedup
estimate        alpha from a run, with an interval
batch           roofline: how far verification is free, where speculation stops paying
trees           expected tokens of a tree of candidates, of chains with independent fates
candidates      several candidates for one position: the most any rule accepts, and K-SEQ
=============== ===================================================================================

Two more live where their rules are: :func:`minispec.engine.verifiers.expected_accepted`, the expected length of any
rule (block verification among them) on laws small enough to enumerate;
:func:`minispec.engine.drafters.trees.shapes.sequoia_tree`, the tree with the most expected tokens.
"""

from minispec.theory.acceptance import acceptance_probability, alpha_from_rate, draft_acceptance_rate, tau
from minispec.theory.batch import (
    batch_break_even,
    free_batch,
    read_cost_ratio,
    ridge_tokens,
    roofline_verify_cost,
)
from minispec.theory.breakeven import alpha_for_speedup, break_even_rate, can_pay, cost_ratio_for_speedup
from minispec.theory.candidates import k_seq_acceptance, k_seq_divisor, optimal_acceptance
from minispec.theory.draft_length import BestGamma, best_gamma, best_gamma_by_position, one_more_pays
from minispec.theory.estimate import Estimate, alpha_from_counts, alpha_from_drafts, alpha_from_overlaps
from minispec.theory.laws import CountLaw
from minispec.theory.response import expected_steps, expected_steps_asymptote, response_speedup, steps_law
from minispec.theory.tokens import (
    conditional_acceptances,
    exact_tau,
    pooled_tau,
    survivals,
    tau_by_position,
    tokens_law,
    tokens_law_by_position,
)
from minispec.theory.trees import chains_tokens, tree_reach, tree_tokens
from minispec.theory.walltime import VerifyCost, ahead_speedup, operations_factor, speedup, step_cost

__all__ = [
    "BestGamma",
    "CountLaw",
    "Estimate",
    "VerifyCost",
    "acceptance_probability",
    "ahead_speedup",
    "alpha_for_speedup",
    "alpha_from_counts",
    "alpha_from_drafts",
    "alpha_from_overlaps",
    "alpha_from_rate",
    "batch_break_even",
    "best_gamma",
    "best_gamma_by_position",
    "break_even_rate",
    "can_pay",
    "chains_tokens",
    "conditional_acceptances",
    "cost_ratio_for_speedup",
    "draft_acceptance_rate",
    "exact_tau",
    "expected_steps",
    "expected_steps_asymptote",
    "free_batch",
    "k_seq_acceptance",
    "k_seq_divisor",
    "one_more_pays",
    "operations_factor",
    "optimal_acceptance",
    "pooled_tau",
    "read_cost_ratio",
    "response_speedup",
    "ridge_tokens",
    "roofline_verify_cost",
    "speedup",
    "step_cost",
    "steps_law",
    "survivals",
    "tau",
    "tau_by_position",
    "tokens_law",
    "tokens_law_by_position",
    "tree_reach",
    "tree_tokens",
]
