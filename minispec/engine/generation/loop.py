"""Stop 1 of 13: the loop: draft, verify, commit, go back.

Algorithm 1 of Leviathan, Kalman and Matias 2023 ("Fast Inference from Transformers via Speculative Decoding"), for any
drafter and any rule; with a drafter that proposes nothing it is plain decoding.

Between steps **the target's cache holds all committed tokens but the last**, so one token is always pending (first: all
that is left of the prompt). A fully accepted draft is no special case: the next pass feeds what its cache lacks.
The loop runs no pass: it yields an ``Ask`` and is sent the logits, so that one pass can answer several loops.

Next: `verifiers/rejection.py`, the rule of its third step.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from minispec.engine.backends.base import Array
from minispec.engine.control import GammaPolicy
from minispec.engine.drafters import Drafter, draft_nothing
from minispec.engine.generation.transcript import Transcript
from minispec.engine.model.asks import Ask, ask_for
from minispec.engine.model.tree_session import AskTree, TreeSession
from minispec.engine.noise import Coins, Noise
from minispec.engine.records import Draft, Step
from minispec.engine.sampling import Sampler
from minispec.engine.verifiers import Verify


def decode(
    transcript: Transcript,
    target: TreeSession,
    drafter: Drafter,
    *,
    sampler: Sampler,
    noise: Noise,
    verify: Verify,
    policy: GammaPolicy,
) -> Generator[Ask | Draft | Step, Array, None]:
    """Decode until the transcript is finished.

    Parameters
    ----------
    transcript : Transcript
        Receives the steps.
    target : TreeSession
        Exactly one pass per step, over the pending token and the draft.
    drafter : Drafter
    sampler : Sampler
        Turns logits into what tokens are drawn from, for target and draft alike.
    noise : Noise
    verify : Verify
    policy : GammaPolicy
        How many tokens to draft per step; fewer are drafted where room ends, so that no step overshoots.

    Yields
    ------
    Ask, Draft or Step
        What it needs, to be sent the logits, and what it has: a draft to be verified, then the step that came of it.
    """
    while transcript.finish is None:
        tokens = transcript.tokens
        coins = Coins(noise, position=len(tokens), step=len(transcript.steps))

        # 1. Draft a few tokens, each from the drafter's distribution q given those before it; none for the first.
        draft = draft_nothing(target.model.vocab_size)
        if transcript.steps:
            gamma = min(policy.gamma(), transcript.room - 1)
            draft = yield from ask_for(drafter.propose(tokens, gamma, coins, policy.more))
        yield draft

        # 2. One target forward over them all: its distribution p for each of their places, and for the one behind.
        logits = yield ask_target(target, tokens, draft)  # (G + 1, V)
        target_probs = sampler.rows(logits, ([*tokens, *path] for path in draft.paths()))

        # 3. Keep what the rule accepts; the target's own token follows.
        verdict = verify(draft, target_probs, coins)

        # 4. Commit, and set both back to all committed tokens but the last.
        step = transcript.commit(draft, verdict, logits, target_probs)
        del logits, target_probs  # free now, so that the next sequence reuses cache-warm memory
        if not draft.is_chain:
            target.keep(verdict.accepted)
        target.rollback(len(transcript.tokens) - 1)
        drafter.rollback(len(transcript.tokens) - 1)
        yield step


def ask_target(target: TreeSession, tokens: Sequence[int], draft: Draft) -> Ask:
    """Ask for what the target says of a draft: feed what its cache lacks, then the draft; row 0 follows the text."""
    pending, rows = tokens[target.length :], len(draft) + 1
    if draft.parents is None:
        return Ask(target, [*pending, *draft.tokens], rows)
    return AskTree(target, pending, rows, nodes=draft.tokens, parents=draft.parents)
