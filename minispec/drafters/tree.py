"""A tree of candidates from a draft model: several guesses at each place, verified in one target forward.

Sources: SpecInfer (Miao et al. 2023) and SpecTr (Sun et al. 2023) draw siblings independently, *with* replacement;
Sequoia (Chen et al. 2024) draws them *without*, so that a sibling never repeats a token that was just rejected; EAGLE
and Medusa take the likeliest tokens, which draws nothing. Each candidate carries the row it was really drawn from: the
draft model's row, the row that was left when its turn came, or a one-hot row. The verifying rule needs no more.

The tree grows level by level, one draft forward each, over all nodes that get children; leaves are never fed. What the
target keeps is found again among the fed nodes, so that the next step feeds only what is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from minispec.drafters.base import MoreTokens, Params, make_sampler, one_hot
from minispec.drafters.shapes import TreeShape
from minispec.model.session import Asks
from minispec.model.tree_session import AskTree, TreeSession
from minispec.noise import Coins
from minispec.records import Draft, Probs

Siblings = Literal["with replacement", "without replacement", "likeliest"]


class TreeDrafter:
    """Drafts a tree of a given shape.

    Parameters
    ----------
    session : TreeSession
        The draft model's own session.
    params : SamplingParams or Sampler
    shape : TreeShape
    siblings : {"without replacement", "with replacement", "likeliest"}
        How the children of a node are chosen.
    num_slots : int
        Slots of the *target's* cache: near the end of its context the tree is cut to what fits beside the text.
    """

    def __init__(
        self,
        session: TreeSession,
        params: Params,
        shape: TreeShape,
        siblings: Siblings = "without replacement",
        *,
        num_slots: int,
    ) -> None:
        self.session = session
        self.shape = shape
        self.siblings = siblings
        self._sampler = make_sampler(params)
        self._num_slots = min(num_slots, session.cache.capacity)

    def prefill(self, tokens: Sequence[int]) -> Asks[None]:
        """Feed the prompt, unless it leaves the draft model no room to draft at all."""
        if self.session.model.n_positions >= len(tokens):
            yield from self.session.ask_prefill(tokens)

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft the shape, at most ``gamma`` levels of it and no more nodes than fit; chosen by lengths alone.

        ``more`` is asked for each node before its children are drawn.
        """
        window = self.session.model.n_positions
        depth = min(gamma, window + 1 - len(tokens))
        size = min(self._num_slots - len(tokens), sum(level <= depth for level in self.shape.depths))
        drafted = Draft((), np.zeros((0, self.session.model.vocab_size)), ())
        if depth < 1 or size < 1:
            return drafted
        wanted = list(zip(self.shape.parents[:size], self.shape.ranks[:size], strict=True))
        widths = {node: sum(parent == node for parent, _ in wanted) for node in range(-1, size)}
        placed = {-1: -1}  # node of the shape -> node of the draft; the two differ where a subtree was left out
        feeding = [-1]
        fed: dict[int, int] = {-1: -1}  # node of the draft -> node of the session's tree
        while feeding:
            logits = yield self._ask(tokens, [placed[node] for node in feeding], drafted, fed)
            placed_now: list[int] = []
            prefixes = [[*tokens, *_path(drafted, placed[node])] for node in feeding]
            for node, probs in zip(feeding, self._sampler.rows(logits, prefixes), strict=True):
                if not more(probs):
                    continue
                children = [child for child, (parent, _) in enumerate(wanted) if parent == node]
                level = self.shape.depths[node] if node >= 0 else 0
                picked = self._pick(probs, children, coins, level)
                for child, (token, drawn_from) in zip(children, picked, strict=False):
                    placed[child] = len(drafted)
                    drafted = _append(drafted, token, drawn_from, placed[node])
                    placed_now.append(child)
            feeding = [node for node in placed_now if widths[node]]
        return drafted

    def rollback(self, length: int) -> None:
        """Set the text back; the fed nodes stay for the next step to find the accepted path in."""
        if length < self.session.length:
            self.session.rollback(length)

    def _ask(self, tokens: Sequence[int], nodes: list[int], drafted: Draft, fed: dict[int, int]) -> AskTree:
        """Ask for the draft model's logits after each of ``nodes``; first of all, of the text alone."""
        if nodes == [-1]:
            self.session.keep(self.session.find_path(tokens[self.session.length : len(tokens) - 1]))
            return AskTree(self.session, tokens[self.session.length :], 1, (), ())
        assert drafted.parents is not None
        parents = [fed[drafted.parents[node]] for node in nodes]
        for node in nodes:
            fed[node] = len(fed) - 1
        return AskTree(self.session, (), len(nodes), [drafted.tokens[node] for node in nodes], parents)

    def _pick(self, probs: Probs, children: Sequence[int], coins: Coins, level: int) -> list[tuple[int, Probs]]:
        """Choose a token for each child and say what it was drawn from; fewer where the support is used up."""
        if self.siblings == "likeliest":
            tokens = [int(token) for token in np.argsort(-probs, kind="stable")[: len(children)] if probs[token] > 0.0]
            return list(zip(tokens, one_hot(tokens, len(probs)), strict=True))
        picked: list[tuple[int, Probs]] = []
        left = probs
        for child in children:
            token = coins.draft(level, left, node=child)
            picked.append((token, left))
            if self.siblings == "without replacement":
                left = left.copy()
                left[token] = 0.0
                if not left.any():
                    break
                left /= left.sum()
        return picked


def _path(draft: Draft, node: int) -> list[int]:
    """Return the tokens from the root to ``node``, itself included."""
    path: list[int] = []
    while node >= 0 and draft.parents is not None:
        path.append(draft.tokens[node])
        node = draft.parents[node]
    return path[::-1]


def _append(draft: Draft, token: int, probs: Probs, parent: int) -> Draft:
    return Draft((*draft.tokens, token), np.vstack([draft.probs, probs]), (*(draft.parents or ()), parent))
