"""What a run promises about its tokens. The promise follows from what the run does; no option sets it."""

from __future__ import annotations

from typing import Literal

from minispec.engine.verifiers import Verifier

Guarantee = Literal["bit-exact", "same-seed", "same-distribution", "lossy"]

MEANING: dict[Guarantee, str] = {
    "bit-exact": "the tokens are those of plain greedy decoding, always",
    "same-seed": "the tokens are those of plain sampling with this seed",
    "same-distribution": "the tokens are distributed as in plain sampling, up to rounding",
    "lossy": "the tokens do not follow the target's distribution, on purpose",
}


def find_guarantee(verifier: Verifier | None, *, temperature: float, batch_invariant: bool) -> Guarantee:
    """Return the strongest true statement about a run.

    Parameters
    ----------
    verifier : Verifier or None
        The rule that judges drafts; None for plain decoding.
    temperature : float
    batch_invariant : bool
        Whether the *target's* rows have the same bits however many are computed together. Without that a verified row
        may round differently from a decoded one, and a near-tie may fall the other way, also at temperature 0.
    """
    if verifier is None:
        return "bit-exact" if temperature == 0.0 else "same-seed"
    if not verifier.lossless:
        return "lossy"
    if not batch_invariant:
        return "same-distribution"
    if temperature == 0.0:
        return "bit-exact"
    return "same-seed" if verifier.same_seed else "same-distribution"


def is_reproducible(run: Guarantee, *, timed: bool) -> bool:
    """Return whether the same seed and options give the same tokens again.

    A γ that depends on measured time changes which noise is read, and with it the text, unless the text does not
    depend on γ at all. The draft lengths are in the trace; replaying them reproduces the run.
    """
    return not timed or run in ("bit-exact", "same-seed")
