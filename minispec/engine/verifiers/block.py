"""Block verification: judge the draft as a whole, not token by token.

Sun et al., "Block Verification Accelerates Speculative Decoding" (2024; ICLR 2025). Rejection sampling gives up at
the first failed coin and so wastes ratios above 1: a token that the target likes much *more* than the draft does
cannot make up for an earlier one that it likes a little less. Here the ratios are multiplied first, clipped only at 1,

    p_i = min(1, p_{i-1} p(x_i) / q(x_i)),     p_0 = 1,

every prefix gets a coin of its own, and the longest prefix whose coin says yes is kept, even if a shorter one's says
no. Never worse than rejection sampling (prod min(1, r_j) <= p_i on every path), and the same with gamma = 1.

Why the output is exactly the target's. Call tau the number of kept drafts. Then for every i

    P(tau >= i | x_1..x_i) = p_i                                                                             (1)

At i = gamma that is the last coin. Going back from i + 1 to i: the next draft makes tau >= i + 1 with probability
sum_x q(x) min(1, p_i p(x) / q(x)) = sum_x min(p_i p(x), q(x)) = p_i - Z_i, with Z_i = sum_x max(p_i p(x) - q(x), 0);
otherwise the coin h_i = Z_i / (Z_i + 1 - p_i) decides, and p_i - Z_i + (1 - p_i + Z_i) h_i = p_i.
So x_1..x_i are kept with probability prod_j q(x_j) p_i. Among those cases, tau >= i + 1 puts min(p_i p(x), q(x)) on the
next token x, and tau = i has probability Z_i and draws x from max(p_i p - q, 0) / Z_i. Together p_i p(x): given the
kept prefix, the next token has the target's distribution.

From (1) follows the expected length: E[tau] = sum_i E[p_i].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs, Verdict
from minispec.engine.verifiers.base import require_chain, require_drawn
from minispec.theory import acceptance_probability as acceptance_probability  # with one draft it is rejection sampling


def survival(before: float, target_probs: Probs, draft_probs: Probs, token: int) -> float:
    """Return p_i = min(1, p_{i-1} p(x_i) / q(x_i)); q(x_i) > 0."""
    p, q = before * float(target_probs[token]), float(draft_probs[token])
    return 1.0 if p >= q else p / q


def block_residual(survived: float, target_probs: Probs, draft_probs: Probs) -> Probs:
    """Return max(p_i p - q, 0), what the target still wants after i kept drafts; its mass is Z_i."""
    return np.maximum(survived * target_probs - draft_probs, 0.0)


def verify(draft: Draft, target_probs: NDArray[np.float64], coins: Coins) -> Verdict:
    """Keep the longest prefix whose coin says yes; see :class:`verifiers.base.Verify`.

    ``accept_probs`` holds p_i of *every* draft: the probability that it stays, given the drafts up to it (not, as
    elsewhere, given that those before it stayed). Their sum predicts ``num_accepted`` without bias.

    Raises
    ------
    InvariantError
        If the draft is a tree, or the drafter gives a token it proposed probability 0.
    """
    require_chain(draft)
    gamma = len(draft)
    survived = [1.0]  # p_0, p_1, ..., p_gamma
    for i, token in enumerate(draft.tokens):
        require_drawn(draft, i)
        survived.append(survival(survived[i], target_probs[i], draft.probs[i], token))
    accept_probs = tuple(survived[1:])

    # The longest prefix first: the coins are independent, so those of shorter ones need not be thrown after a yes.
    for kept in range(gamma, 0, -1):
        if kept == gamma:
            coin = survived[gamma]
        else:
            mass = float(block_residual(survived[kept], target_probs[kept], draft.probs[kept]).sum())
            # h_i = Z_i / (Z_i + 1 - p_i); 0/0 is a sure yes: p_i = 1 and nothing left to recover
            coin = 1.0 if survived[kept] == 1.0 else mass / (mass + 1.0 - survived[kept])
        if coins.accept(kept - 1, coin):
            break
    else:
        kept = 0

    if not gamma:
        return Verdict(0, coins.sample(0, target_probs[0]), "plain")
    if kept == gamma:
        bonus = coins.bonus(gamma, target_probs[gamma])
        return Verdict(gamma, bonus, "bonus", accept_probs)
    wanted = block_residual(survived[kept], target_probs[kept], draft.probs[kept])
    mass = wanted.sum()
    probs = wanted / mass if mass > 0.0 else target_probs[kept]  # no mass: only rounding can have led here
    recovered = coins.residual(kept, probs)
    return Verdict(kept, recovered, "recovered", accept_probs)
