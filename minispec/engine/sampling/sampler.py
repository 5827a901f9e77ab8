"""Logits and their prefixes to distributions: every processor, in one order, for one request.

Repetition penalty, presence and frequency penalties, constraint, minimum length, then temperature, top-k, top-p, min-p.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minispec.engine.sampling import history
from minispec.engine.sampling.draw import distribution
from minispec.engine.sampling.params import SamplingParams

if TYPE_CHECKING:
    from minispec.engine.sampling.constraint import Constraint


@dataclass(frozen=True)
class Sampler:
    """Makes the distributions of one request, for its target and its draft alike.

    Parameters
    ----------
    params : SamplingParams
    num_prompt_tokens : int
        What comes before is prompt, what comes after was generated.
    eos_token_id : frozenset of int
        Impossible before ``params.min_tokens`` tokens.
    constraint : Constraint or None
    """

    params: SamplingParams
    num_prompt_tokens: int = 0
    eos_token_id: frozenset[int] = frozenset()
    constraint: Constraint | None = None

    def __call__(self, logits: NDArray[np.float32], tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the distributions of a chain's last rows.

        Parameters
        ----------
        logits : ndarray of shape (T, V)
            Row T - 1 follows all of ``tokens``, row T - 2 all but the last one, and so on.
        tokens : sequence of int

        Returns
        -------
        ndarray of shape (T, V), float64
        """
        first = len(tokens) - len(logits) + 1
        return self.rows(logits, (tokens[: first + i] for i in range(len(logits))))

    def rows(self, logits: NDArray[np.float32], prefixes: Iterable[Sequence[int]]) -> NDArray[np.float64]:
        """Return the distributions of rows that each follow a prefix of their own (the nodes of a tree).

        Parameters
        ----------
        logits : ndarray of shape (T, V)
        prefixes : iterable of sequence of int
            The T prefixes; consumed only if some processor looks at them, so a generator costs nothing otherwise.
        """
        if not self._looks_back:
            return distribution(logits, self.params)
        processed = np.array(logits, np.float64)
        for row, prefix in zip(processed, prefixes, strict=True):
            row[:] = self._process(row, prefix)
        return distribution(processed, self.params)

    @functools.cached_property
    def _looks_back(self) -> bool:
        params = self.params
        return (
            self.constraint is not None
            or params.min_tokens > 0
            or params.repetition_penalty != 1.0
            or params.presence_penalty != 0.0
            or params.frequency_penalty != 0.0
        )

    def _process(self, logits: NDArray[np.float64], prefix: Sequence[int]) -> NDArray[np.float64]:
        params, generated = self.params, prefix[self.num_prompt_tokens :]
        if params.repetition_penalty != 1.0:
            logits = history.repetition_penalty(logits, prefix, params.repetition_penalty)
        if (params.presence_penalty, params.frequency_penalty) != (0.0, 0.0):
            logits = history.presence_and_frequency(
                logits, generated, params.presence_penalty, params.frequency_penalty
            )
        if self.constraint is not None:
            logits = np.where(self.constraint.mask(generated), logits, -np.inf)
        if len(generated) < params.min_tokens and not self._only_eos(logits):
            logits = history.forbid(logits, sorted(self.eos_token_id))
        return logits

    def _only_eos(self, logits: NDArray[np.float64]) -> bool:
        """Whether a constraint leaves nothing but the end: then the text ends, minimum length or not."""
        possible = set(np.flatnonzero(logits > -np.inf).tolist()) if self.constraint is not None else set()
        return bool(possible) and possible <= self.eos_token_id


Params = SamplingParams | Sampler
"""How logits become what a draft is drawn from; a Sampler knows the request's penalties and constraint as well."""


def make_sampler(params: Params) -> Sampler:
    """Return the sampler of plain sampling parameters, and a sampler as it is."""
    return params if isinstance(params, Sampler) else Sampler(params)
