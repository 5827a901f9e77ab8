"""An engine that checks itself: every pass of the target again without a cache, and the invariants after every step.

Slow on purpose: an audited forward costs a whole prefill. Any difference stops the run and says where.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minispec.engine.backends.base import Array
from minispec.engine.generation.result import Metrics
from minispec.engine.generation.transcript import Transcript
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.tree_session import TreeSession
from minispec.errors import InvariantError

_TOLERANCE = 1e-4
"""Of a backend that is not batch-invariant, relative to max(1, |logit|): float32 sums of a few thousand terms in
another order differ by about 1e-6; a stale or misplaced row differs by about 1."""


class AuditedSession(TreeSession):
    """A session that recomputes what it returns, from the first token and without a cache.

    Parameters
    ----------
    model : LanguageModel
    role : str
        How a message calls it: "target" or "draft".
    """

    def __init__(self, model: LanguageModel, role: str = "target") -> None:
        super().__init__(model)
        self.role = role

    def note(self, tokens: Sequence[int], logits: Array) -> None:
        """Count tokens in, and compare each row of logits with an uncached pass of its prefix.

        Raises
        ------
        InvariantError
            At the first row that differs.
        """
        super().note(tokens, logits)
        text = self.tokens
        fresh = self.model.forward(text, self.model.new_cache(capacity=len(text)), len(logits))
        self._compare(logits, fresh, [len(text) - len(logits) + i for i in range(len(logits))])

    def note_tree(self, chain: Sequence[int], nodes: Sequence[int], parents: Sequence[int], logits: Array) -> None:
        """Count a tree in, and compare each of its rows with an uncached pass of the node's own path.

        Raises
        ------
        InvariantError
            At the first row that differs.
        """
        super().note_tree(chain, nodes, parents, logits)
        paths: list[list[int]] = [list(self.tokens)]
        for token, parent in zip(nodes, parents, strict=True):
            paths.append([*paths[parent + 1], token])
        fresh = [self.model.forward(path, self.model.new_cache(capacity=len(path)), 1)[0] for path in paths]
        self._compare(logits, np.asarray(fresh), [len(path) - 1 for path in paths])

    def _compare(self, cached: Array, fresh: Array, positions: Sequence[int]) -> None:
        for ours, theirs, position in zip(cached, fresh, positions, strict=True):
            if np.array_equal(ours, theirs):
                continue
            finite = np.isfinite(ours) & np.isfinite(theirs)
            difference = np.abs(ours[finite] - theirs[finite])
            bound = _TOLERANCE * np.maximum(1.0, np.abs(theirs[finite]))
            if self.model.batch_invariant or np.any(difference > bound) or np.any(np.isfinite(ours) != finite):
                worst = float(difference.max()) if difference.size else float("inf")
                raise InvariantError(
                    f"audit: the {self.role}'s cached logits at position {position} differ from an uncached forward by "
                    f"up to {worst:.3g}. The cache is not what the text says; please report this"
                )


def audit_step(transcript: Transcript, target: TreeSession, other_forwards: int) -> None:
    """Check lengths and counters after a step.

    Parameters
    ----------
    transcript : Transcript
    target : TreeSession
    other_forwards : int
        The target's passes that belong to no committed step.

    Raises
    ------
    InvariantError
        Naming the step and the invariant.
    """
    step, tokens = transcript.steps[-1], transcript.tokens
    metrics = Metrics.from_steps(transcript.steps, 0, 0.0)
    forwards = target.num_forwards - other_forwards
    checks = {
        "the target's cache holds all committed tokens but the last": target.tokens == tokens[:-1],
        "the cache is as long as the session": target.cache.length == target.length,
        "one target forward per step": forwards == len(transcript.steps),
        "every token has a source": len(step.tokens) == len(step.sources),
        "accepted <= evaluated <= drafted + recovered": (
            metrics.num_accepted_tokens <= metrics.num_evaluated_tokens
            and metrics.num_accepted_tokens <= metrics.num_draft_tokens
        ),
        "accepted tokens per position add up": (
            sum(metrics.num_accepted_tokens_per_pos) == metrics.num_accepted_tokens
        ),
        "acceptance probabilities are probabilities": all(0.0 <= prob <= 1.0 for prob in step.verdict.accept_probs),
    }
    broken = [rule for rule, holds in checks.items() if not holds]
    if broken:
        raise InvariantError(f"audit: after step {step.index} at position {step.position}: broken: {'; '.join(broken)}")
