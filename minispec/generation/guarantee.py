"""What a run may promise about its tokens, computed from what it does, not from a flag."""

from __future__ import annotations

from typing import Literal

Guarantee = Literal["bit-exact", "same-seed", "same-distribution"]

MEANING: dict[Guarantee, str] = {
    "bit-exact": "the tokens are those of plain greedy decoding, always",
    "same-seed": "the tokens are those of plain sampling with this seed",
    "same-distribution": "the tokens are distributed as in plain sampling, up to rounding",
}


def guarantee(*, speculative: bool, temperature: float, batch_invariant: bool) -> Guarantee:
    """Return the strongest true statement about a run.

    Parameters
    ----------
    speculative : bool
        Whether a drafter takes part; rejection sampling then judges it.
    temperature : float
    batch_invariant : bool
        Whether the *target's* rows have the same bits however many are computed together. Without that a verified row
        may round differently from a decoded one, and a near-tie may fall the other way, also at temperature 0.
    """
    if not speculative:
        return "bit-exact" if temperature == 0.0 else "same-seed"
    return "bit-exact" if temperature == 0.0 and batch_invariant else "same-distribution"
