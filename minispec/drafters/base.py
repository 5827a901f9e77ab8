"""The drafter protocol: propose a few tokens, say what they were drawn from, go back when told.

Most drafters differ in one thing alone, the distribution of the next token. :func:`draft_chain` is the loop they share;
:func:`copied` is its counterpart for drafters that draw nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.noise import Address, Noise
from minispec.records import Draft
from minispec.sampling import Sampler, SamplingParams

Row = NDArray[np.float64]
"""The distribution of one token, shape (V,)."""

KeepDrafting = Callable[[Row], bool | Literal["last"]]
"""Asked with the distribution of the next draft token *before* it is drawn; False ends the draft there, and "last"
after this token, whichever it will be, which saves the forward that would come next.

That order is what keeps it lossless: a rule that looked at the drawn token and dropped it would change the law of the
tokens that are left.
"""


Params = SamplingParams | Sampler
"""How logits become what a draft is drawn from; a Sampler knows the request's penalties and constraint as well."""


class Drafter(Protocol):
    """Proposes what may come next.

    A drafter may never shorten or change the text: when it has nothing to offer (its window is full, say) it returns
    an empty draft and decoding goes on plainly.

    A drafter whose cost is simulated has an attribute ``simulated_cost`` as well: seconds per drafted token, in units
    of a one-row forward of the target.
    """

    def prefill(self, tokens: Sequence[int]) -> None:
        """Take in a prompt of committed tokens before the clock of the first step starts."""
        ...

    def propose(
        self,
        tokens: Sequence[int],
        gamma: int,
        noise: Noise,
        *,
        step: int,
        row: int = 0,
        keep_drafting: KeepDrafting | None = None,
    ) -> Draft:
        """Draft at most ``gamma`` tokens that could follow the committed ``tokens``.

        ``Draft.probs[i]`` must be the distribution that ``Draft.tokens[i]`` was really drawn from.
        """
        ...

    def rollback(self, length: int) -> None:
        """Forget whatever lies beyond the first ``length`` tokens."""
        ...


def as_sampler(params: Params) -> Sampler:
    """Return the sampler of plain sampling parameters, and a sampler as it is."""
    return params if isinstance(params, Sampler) else Sampler(params)


def draft_address(position: int, step: int, row: int, *, coupled: bool, node: int = 0) -> Address:
    """Return where the noise of a drafted token is read.

    Coupled drafters read the noise that plain sampling of the same position reads, so that the two often agree.
    """
    return Address("sample", position, row=row) if coupled else Address("draft", position, step, row, node=node)


def draft_chain(
    next_probs: Callable[[list[int]], Row | None],
    position: int,
    gamma: int,
    noise: Noise,
    *,
    vocab_size: int,
    step: int,
    row: int = 0,
    coupled: bool = False,
    keep_drafting: KeepDrafting | None = None,
) -> Draft:
    """Draw token after token.

    Parameters
    ----------
    next_probs : callable
        Maps the tokens drafted so far to the distribution of the next one, or to None where there is nothing to offer.
    position : int
        Position of the first drafted token.
    """
    drafted: list[int] = []
    rows: list[Row] = []
    while len(drafted) < gamma:
        probs = next_probs(drafted)
        answer = probs is not None and (keep_drafting is None or keep_drafting(probs))
        if probs is None or not answer:
            break
        at = draft_address(position + len(drafted), step, row, coupled=coupled)
        drafted.append(noise.categorical(probs, at))
        rows.append(probs)
        if answer == "last":
            break
    return Draft(tuple(drafted), np.asarray(rows, np.float64).reshape(len(rows), vocab_size))


def copied(tokens: Sequence[int], vocab_size: int, keep_drafting: KeepDrafting | None = None) -> Draft:
    """Return a deterministic draft: each token was certain, so its row is one-hot and no noise is read."""
    probs = one_hot(tokens, vocab_size)
    count = len(tokens)
    if keep_drafting is not None:
        count = next((i for i, row in enumerate(probs) if not keep_drafting(row)), count)
    return Draft(tuple(tokens[:count]), probs[:count])


def one_hot(tokens: Sequence[int], vocab_size: int) -> NDArray[np.float64]:
    """Return a row per token with all mass on it, shape (G, V)."""
    probs = np.zeros((len(tokens), vocab_size))
    probs[np.arange(len(tokens)), np.asarray(tokens, np.int64)] = 1.0
    return probs


def continued(tokens: Sequence[int], begin: int, count: int) -> list[int]:
    """Copy ``count`` tokens from ``begin`` on, reading on in what was just copied where the text ends (as LZ77 does).

    Examples
    --------
    >>> continued([7, 1, 2], 1, 5)
    [1, 2, 1, 2, 1]
    """
    period = list(tokens[begin:])
    return [period[i % len(period)] for i in range(count)]
