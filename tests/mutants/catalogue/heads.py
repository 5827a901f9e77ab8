"""Wrong drafts from inside the target."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np

from minispec.engine.drafters.heads import EagleDrafter, ParallelSource
from minispec.engine.drafters.heads.block import BlockSession
from minispec.engine.drafters.heads.eagle import EagleSession
from minispec.engine.drafters.heads.medusa import MedusaHead
from minispec.engine.drafters.heads.parallel import ParallelDrafter
from minispec.engine.model import together, trim
from minispec.engine.model.cache import KVCache
from minispec.engine.model.pages import PagePool

from .tools import change, mutant, reports, wraps

# ── 3: q is not what the token was drawn from ───────────────────────────────────────────────────────────────────────


@mutant(3, "law of heads")
def a_block_reports_the_row_of_the_next_place():
    """Each place reports the row behind its own."""
    return reports(ParallelDrafter, lambda draft: np.roll(draft.probs, -1, axis=0))


@mutant(3, "law of heads")
def a_block_reports_the_row_of_the_place_alone():
    """Each token's row is what its place said before the token in front of it was known."""

    def report(propose):
        def propose_wrong(self, tokens, *given):
            draft = yield from propose(self, tokens, *given)
            rows = [self.sampler(self._logits[place : place + 1], list(tokens))[0] for place in range(len(draft))]
            return replace(draft, probs=np.array(rows)) if rows else draft

        return propose_wrong

    return wraps(ParallelDrafter, "propose", report)


@mutant(3, "law of heads")
def eagle_reports_the_row_before_its_own():
    """Each token reports the row of the token before it, as if states had come one late."""
    return reports(EagleDrafter, lambda draft: np.roll(draft.probs, 1, axis=0))


# ── 4: rows misaligned ──────────────────────────────────────────────────────────────────────────────────────────────


@mutant(4, "rows of heads")
def features_of_the_position_before():
    """A head reads the hidden states one token early."""

    def shift(read):
        def read_early(self, layers, first, last):
            rows = read(self, layers, max(first - 1, 0), last)
            return rows[: last - first]

        return read_early

    return wraps(KVCache, "read_features", shift)


@mutant(4, "rows of heads")
def features_of_another_layer():
    """A forward leaves the stream before a layer in the place of the one after it."""
    return wraps(KVCache, "read_features", lambda read: lambda self, layers, first, last: np.roll(
        read(self, layers, first, last), 1, axis=1))  # fmt: skip


change(
    4, "rows of heads", "a medusa guesses without the state", "The guess leaves out h in h + gelu(h W + b).",
    MedusaHead, "compute", "states[text] + guessed", "guessed",
)  # fmt: skip
change(
    4, "rows of heads", "a block sees only what comes before", "The places of a block attend as a causal model does.",
    BlockSession, "feed", "np.full(len(tokens), last)", "feed.ends",
)  # fmt: skip
change(
    4, "rows of heads", "eagle goes on with the targets state",
    "Behind the first token the head goes on from its last row over a state of the target, not from the row before.",
    EagleSession, "feed", "feed.slots - 1", "[self.target.length - 1] * len(tokens)",
)  # fmt: skip
change(
    4, "rows of trees of heads", "a node goes on from its cousins state",
    "Along a tree a row of the head is fed the output of the row before its parent's.",
    EagleSession, "feed_tree", "np.asarray(parents)", "np.maximum(np.asarray(parents) - 1, -1)",
)  # fmt: skip


@mutant(4, "rows of trees of heads")
def a_node_sees_its_cousins():
    """Along a tree a row sees all rows that were fed before it."""

    def see(feed_tree):
        def see_all(self, chain, nodes, parents):
            feed = feed_tree(self, chain, nodes, parents)
            return replace(feed, visible=None, ends=feed.slots + 1)

        return see_all

    return wraps(EagleSession, "feed_tree", see)


change(
    4, "rows of trees of heads", "a guess of the level above", "The children of a node have the row that the node had.",
    ParallelSource, "grow", "1 + (self._levels", "(self._levels",
)  # fmt: skip


@mutant(4, "rows of heads")
def a_cut_vocabulary_keeps_mass_outside():
    """Tokens that a head does not know get a logit of 0."""
    return mock.patch.object(trim, "_UNLIKELY", np.float32(0.0))


# ── 7: cache and rollback ───────────────────────────────────────────────────────────────────────────────────────────


change(
    7, "heads after a history", "eagle keeps rows of a rejected draft",
    "Rows fed with the head's own states stay when the draft is rejected.",
    EagleDrafter, "propose", "self.rollback(len(tokens))\n", "pass\n",
)  # fmt: skip


@mutant(7, "heads after a history")
def a_block_keeps_states_of_rejected_tokens():
    """What was taken in stays when the text goes back."""
    return wraps(ParallelDrafter, "rollback", lambda rollback: lambda self, length: None)


@mutant(7, "heads after a history")
def features_stay_when_a_path_moves():
    """A tree's path takes its keys and values along and leaves its hidden states behind."""
    return wraps(KVCache, "arrays", lambda arrays: lambda self: [self.keys, self.values])


@mutant(17, "heads together")
def pages_without_features_are_taken_up():
    """A text takes up a page that was filled before anybody read hidden states."""

    def remember(keep):
        def go_on(self: PagePool, layers):
            before = dict(self._published), dict(self._beginnings), dict(self._remembered), list(self._blank)
            keep(self, layers)
            self._published, self._beginnings, self._remembered, self._blank = before
            self._lacking = set()

        return go_on

    return wraps(PagePool, "keep_features", remember)


def _swap(field: str):
    """Let each request of a joint forward have a field of its neighbour's rows."""

    def make(join):
        def join_wrong(feeds):
            if not hasattr(feeds[0], "origins"):
                return join(feeds)
            widths = {getattr(feed, field).shape for feed in feeds}
            others = [*feeds[1:], feeds[0]] if len(widths) == 1 else feeds
            return join(
                [replace(feed, **{field: getattr(other, field)}) for feed, other in zip(feeds, others, strict=True)]
            )

        return join_wrong

    return wraps(together, "join", make)


@mutant(17, "heads in one forward")
def a_row_has_its_neighbours_features():
    """Where heads of several texts run in one forward, each reads the hidden states of another text."""
    return _swap("features")


@mutant(17, "heads in one forward")
def a_row_has_its_neighbours_pages():
    """Where heads of several texts run in one forward, each attends to the rows of another text."""
    return _swap("pages")
