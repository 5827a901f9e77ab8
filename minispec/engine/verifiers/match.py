"""Sample from the target, and accept draft tokens as long as they equal the sampled ones.

The rule of several production systems. It is lossless for the simplest of reasons: every emitted token *is* a draw
from the target's row, and the draft only decides how many rows the target could prepare at once. Because the draws
use the ``sample`` noise, addressed by position alone, they are the very draws of plain sampling: same seed, same text,
whatever the draft, its quality or gamma. The price is acceptance: a token must be drawn twice, independently, so
sum p q <= sum min(p, q), and a perfect draft is still rejected if the text is open.

The rule never reads q. A deterministic draft x has acceptance p(x) under this rule as under rejection sampling: there
the two are the same algorithm, since the residual of p - onehot(x) is p without x.

A tree works the same way: go down to the child that was sampled, if there is one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs, Source, Verdict
from minispec.engine.verifiers.base import list_children, to_path


def acceptance_probability(target_probs: Probs, draft_probs: Probs) -> float:
    """Return sum_x p(x) q(x), for a token drawn from q independently of the target's draw.

    Examples
    --------
    >>> round(acceptance_probability(np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.5, 0.2])), 6)
    0.35
    """
    return float(target_probs @ draft_probs)


def survival(before: float, target_probs: Probs, draft_probs: Probs, token: int) -> float:
    """Return s_i = s_{i-1} p(x_i): the target's own draw must be x_i too."""
    return before * float(target_probs[token])


def verify(draft: Draft, target_probs: NDArray[np.float64], coins: Coins) -> Verdict:
    """Keep the drafts that the target samples too; see :class:`verifiers.base.Verify`.

    ``accept_probs`` holds p(x) of every candidate that was compared with a draw: the probability of acceptance for a
    draft that is independent of that draw.
    """
    following = list_children(draft)
    path: list[int] = []
    accept_probs: list[float] = []
    here = 0  # the row of the target, and the entry of ``following``, for the node we are at
    while True:
        own = coins.sample(len(path), target_probs[here])
        for node in following[here]:
            accept_probs.append(float(target_probs[here, draft.tokens[node]]))
            if draft.tokens[node] == own:
                path.append(node)
                here = node + 1
                break
        else:
            source: Source = "recovered" if following[here] else "bonus" if len(draft) else "plain"
            return Verdict(
                num_accepted=len(path),
                next_token=own,
                source=source,
                accept_probs=tuple(accept_probs),
                path=to_path(draft, path),
            )
