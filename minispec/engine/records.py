"""What neighbouring parts hand each other: plain frozen records, no behaviour beyond counting.

``Draft`` goes from a drafter to a verifier, ``Verdict`` comes back, ``Step`` is what remains of both once the
stopping rules have cut the block, and ``Finish`` says why a generation ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from minispec.engine.frozen import record

Source = Literal["accepted", "recovered", "bonus", "plain"]
"""Where an emitted token comes from: a draft that was kept, a draw from the residual, a draw from the target after
a full acceptance, or a plain draw from the target because nothing was drafted."""

Probs = NDArray[np.float64]
"""The distribution of one token, shape (V,)."""

FinishReason = Literal["eos", "stop", "length", "context", "interrupted"]


@record(frozen=True, slots=True)
class Draft:
    """Tokens proposed for one step: a chain, or a tree of candidates.

    Parameters
    ----------
    tokens : tuple of int, length G
        Drafted token ids; G may be smaller than asked for, also 0.
    probs : ndarray of shape (G, V), float64
        Row i is the distribution from which ``tokens[i]`` was *really* drawn. A deterministic drafter's rows are
        one-hot. Where siblings are drawn without replacement, each has the row that was left when its turn came.
    parents : tuple of int, length G, or None
        The node each token follows, -1 for the committed text; a parent comes before its children, and siblings are
        tried in order. None is a chain: token i follows token i - 1.
    """

    tokens: tuple[int, ...]
    probs: NDArray[np.float64]
    parents: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def is_chain(self) -> bool:
        """Whether each token follows the one before it."""
        return self.parents is None

    def paths(self) -> Iterator[tuple[int, ...]]:
        """Yield the tokens that lead to each row of the target's distributions, the root's empty path first."""
        parents = range(-1, len(self) - 1) if self.parents is None else self.parents
        paths: list[tuple[int, ...]] = [()]
        yield paths[0]
        for token, parent in zip(self.tokens, parents, strict=True):
            paths.append((*paths[parent + 1], token))
            yield paths[-1]


@record(frozen=True, slots=True)
class Verdict:
    """What the target made of a draft.

    Parameters
    ----------
    num_accepted : int
        Length of the accepted prefix of the draft, 0..G.
    next_token : int
        The token that follows it, drawn from the residual, the bonus row, or (G = 0) the plain row.
    source : {"recovered", "bonus", "plain"}
        Which of the three.
    accept_probs : tuple of float
        What the rule says of the drafts it evaluated, in the order of evaluation. Under rejection sampling min(1, p/q)
        of the accepted ones and the first rejected one; each rule's own docstring says what its entries are (block
        verification's are survivals, a tree's include rejected siblings).
    path : tuple of int or None
        The accepted nodes of a tree, root first; None for a chain, where they are the first ``num_accepted``.
    """

    num_accepted: int
    next_token: int
    source: Source
    accept_probs: tuple[float, ...] = ()
    path: tuple[int, ...] | None = None

    @property
    def accepted(self) -> tuple[int, ...]:
        """Indices of the accepted drafts."""
        return tuple(range(self.num_accepted)) if self.path is None else self.path


@record(frozen=True, slots=True)
class Piece:
    """Released text and the source of the token that completed it."""

    text: str
    source: Source


@record(frozen=True, slots=True)
class Finish:
    """Why a generation ended; ``stop`` is the stop string that matched, if one did."""

    reason: FinishReason
    stop: str | None = None


@record(frozen=True, slots=True)
class Likely:
    """One of the tokens that the target thought likeliest at a place.

    Parameters
    ----------
    token : int
    logprob : float
        Before processing.
    target_prob : float
        p, after processing.
    """

    token: int
    logprob: float
    target_prob: float


@record(frozen=True, slots=True)
class TokenDetail:
    """What target and draft thought of one emitted token.

    Parameters
    ----------
    logprob, processed_logprob : float
        The target's log probability of the token, before and after processing (temperature, top-k, ...).
    target_prob, draft_prob : float
        p, after processing, and q of the draft this token is; q is None for tokens that were not drafted.
    accept_prob : float or None
        The probability with which the draft was accepted; None for tokens that were not drafted.
    top : tuple of Likely
        The likeliest tokens before processing, the likeliest first; of equals, the lowest ids.
    """

    logprob: float
    processed_logprob: float
    target_prob: float
    draft_prob: float | None
    accept_prob: float | None
    top: tuple[Likely, ...] = ()


@record(frozen=True, slots=True)
class Step:
    """One target forward and its consequences, after the cut.

    Parameters
    ----------
    index : int
        Number of the step; 0 is the first token, which the prefill gives without a draft or a forward of its own.
    position : int
        Position of the first token it emits, i.e. how many tokens were committed before.
    draft_tokens : tuple of int
        What was proposed.
    verdict : Verdict
        What the target made of it, before any stop cut the block.
    tokens, sources : tuple
        What was emitted: the accepted drafts and the next token, cut where the generation stopped.
    draft_s, target_s, step_s : float
        Seconds spent drafting, in the target's forward, and in the whole step; what the prefill takes is in none.
    finish : Finish or None
        Set on the last step if it ended the generation.
    details : tuple of TokenDetail
        One per emitted token, if they were asked for.
    draft_target_probs : tuple of float
        p of each drafted token, if details were asked for.
    draft_parents : tuple of int, or None
        Of a tree, the node that each drafted token follows; see :class:`Draft`.
    """

    index: int
    position: int
    draft_tokens: tuple[int, ...]
    verdict: Verdict
    tokens: tuple[int, ...]
    sources: tuple[Source, ...]
    draft_s: float = 0.0
    target_s: float = 0.0
    step_s: float = 0.0
    finish: Finish | None = None
    details: tuple[TokenDetail, ...] = ()
    draft_target_probs: tuple[float, ...] = ()
    draft_parents: tuple[int, ...] | None = None

    @property
    def num_accepted(self) -> int:
        """Accepted drafts that were emitted."""
        return self.sources.count("accepted")

    @property
    def num_evaluated(self) -> int:
        """Emitted tokens that answer an acceptance test: the accepted drafts and a recovered token."""
        return self.num_accepted + self.sources.count("recovered")
