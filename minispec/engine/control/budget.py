"""One budget of verification rows per step for a whole batch, given to the draft places likeliest to survive.

The k-th draft token of request i is emitted with probability S_i(k), that all of its first k drafts are accepted; it
takes one row of the target's forward, whichever it is. So with n rows beyond the pending tokens, the n places of the
largest S are the best there are. They are prefixes of the drafts, since S_i falls with k: none is given a row before
the one in front of it. What remains is a choice of two numbers, n and the depth g, in how many forwards of the draft
model that is done:

    (P + B + Σ of the n largest S_i(k), k <= g) / (T(P + B + n) + D(n / g + w) + (g - 1) D(n / g))

tokens per second, for B requests that draft and P that do not; w of them, on average, have a draft that was accepted
whole, whose last token the draft model reads late. For a cost that is a straight line in the rows, the draft's forwards
cost what they would with their real numbers of rows. A common γ is n = g B; so no plan of
:mod:`minispec.engine.control.load` promises more. It gains where requests differ, and where a forward has room for a
few rows but not for one of each.

S is the product of acceptances that are learnt by place in the draft, so it is known before anything is drafted: the
plan depends on finished steps and on time only, as ``load`` does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minispec.engine.control.load import LARGEST, LoadGamma


class Shares(NamedTuple):
    """The best plan, the tokens per second that it promises, and those of plain decoding."""

    lengths: list[int]
    rate: float
    plain: float

    @property
    def num_rows(self) -> int:
        """Rows of the target beyond the pending tokens."""
        return sum(self.lengths)


def share_rows(
    survivals: NDArray[np.float64],
    num_plain: int,
    target_s: NDArray[np.float64],
    draft_s: NDArray[np.float64],
    reading_s: float = 0.0,
) -> Shares:
    """Return how far each request is to draft.

    Parameters
    ----------
    survivals : array, shape (B, G)
        S_i(k), falling with k.
    num_plain : int
        Requests beside these, which do not draft.
    target_s : array, shape (B G + 1,)
        Seconds of the target's forward with so many rows beyond the pending tokens.
    draft_s : array, shape (>= 2 B + 1,)
        Seconds of the draft's forward by its rows.
    reading_s : float
        Seconds that a step with drafts takes besides.

    Examples
    --------
    Two rows more are free: both go to the better draft.

    >>> survivals = np.array([[0.9, 0.8], [0.3, 0.1]])
    >>> share_rows(survivals, 0, np.array([1.0, 1.0, 1.0, 2.0, 3.0]), np.full(5, 0.01)).lengths
    [2, 0]

    Of equals the older request's come first, and of its places those in front:

    >>> share_rows(np.ones((2, 2)), 0, np.array([1.0, 1.0, 1.0, 1.0, 9.0]), 0.1 * np.arange(5)).lengths
    [2, 1]
    """
    together, most = survivals.shape
    plain = (num_plain + together) / float(target_s[0])
    best = Shares([0] * together, plain, plain)
    late = np.diff(survivals, axis=1, prepend=0.0)  # a place more: who is accepted whole up to there, not before
    for depth in range(1, most + 1):
        flat = survivals[:, :depth].ravel()
        order = np.argsort(-flat, kind="stable")  # of equals the place in front comes first
        num_rows = np.arange(1, len(flat) + 1)
        each = num_rows / depth
        tokens = num_plain + together + np.cumsum(flat[order])
        drafting = np.interp(each + np.cumsum(late[:, :depth].ravel()[order]), np.arange(len(draft_s)), draft_s)
        drafting += (depth - 1) * np.interp(each, np.arange(len(draft_s)), draft_s)
        rates = np.where(num_rows < depth, 0.0, tokens / (target_s[num_rows] + drafting + reading_s))
        count = int(rates.argmax())
        if rates[count] > best.rate:
            lengths = np.bincount(order[: count + 1] // depth, minlength=together)
            best = Shares(lengths.tolist(), float(rates[count]), plain)
    return best


class BudgetGamma(LoadGamma):
    """The γ of one request of a batch whose rows are one budget. It learns acceptance by the place in the draft.

    Where one request of a batch has it, requests with ``load`` draw on the budget too.
    """

    name = "budget"
    shares_budget = True
    _num_places = LARGEST
