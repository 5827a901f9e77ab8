"""Wrong drafts from inside the target."""

from __future__ import annotations

from unittest import mock

import numpy as np

from minispec.drafters.heads import BlockDrafter, EagleDrafter, EagleSource, MedusaDrafter, ParallelSource, folder
from minispec.drafters.heads.eagle import EagleRows
from minispec.drafters.heads.parallel import ParallelDrafter
from minispec.model.cache import KVCache
from minispec.model.features import FeatureKeeper
from minispec.model.pages import PagePool

from .tools import change, mutant, reports, wraps

# ── 3: q is not what the token was drawn from ───────────────────────────────────────────────────────────────────────


@mutant(3, "law of heads")
def a_block_reports_the_row_of_the_next_place():
    """Each place reports the row behind its own."""
    return reports(ParallelDrafter, lambda draft: np.roll(draft.probs, -1, axis=0))


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

    return wraps(FeatureKeeper, "read_features", shift)


@mutant(4, "rows of heads")
def features_of_another_layer():
    """A forward leaves the stream before a layer in the place of the one after it."""
    return wraps(FeatureKeeper, "read_features", lambda read: lambda self, layers, first, last: np.roll(
        read(self, layers, first, last), 1, axis=1))  # fmt: skip


@mutant(4, "rows of heads")
def a_medusa_guesses_without_the_state():
    """The guess leaves out h in h + gelu(h W + b)."""

    def forget(guess):
        def without(self, tokens, num_places):
            backend = self._model.backend
            state = self._target.cache.read_features(self._layers, self._target.length - 1, self._target.length)
            state = backend.layer_norm(state, self._model.weights.ln_f)
            guessed = self._backend.linear(state, self._guess, activation="gelu_new").reshape(-1, state.shape[1])
            return backend.linear(guessed[:num_places], self._model.weights.lm_head)

        return without

    return wraps(MedusaDrafter, "guess", forget)


@mutant(4, "rows of heads")
def a_block_sees_only_what_comes_before():
    """The places of a block attend as a causal model does."""
    return wraps(KVCache, "feed", lambda feed: lambda self, tokens, *, visible=None, **options: feed(
        self, tokens, visible=None, **options))  # fmt: skip


@mutant(4, "rows of heads")
def eagle_goes_on_with_the_targets_state():
    """Behind the first token the head is fed the target's last state again, not its own."""

    def stay(feed):
        def feed_again(self, tokens, states, parents=None):
            if len(tokens) > 1 or not hasattr(self, "_fed"):
                self._fed = states[-1:]
                return feed(self, tokens, states, parents)
            return feed(self, tokens, self._fed, parents)

        return feed_again

    return wraps(EagleRows, "feed", stay)


change(
    4, "rows of trees of heads", "a node goes on from its cousins state",
    "Along a tree a row of the head is fed the output of the row before its parent's.",
    EagleSource, "grow", "np.asarray(parents) + 1", "np.maximum(parents, 0)",
)  # fmt: skip
change(
    4, "rows of trees of heads", "a node sees its cousins", "Along a tree a row sees all rows that were fed before it.",
    EagleRows, "feed", "mask_tree(parents, self._num_true)", "mask_tree(range(-1, len(parents) - 1), self._num_true)",
)  # fmt: skip
change(
    4, "rows of trees of heads", "a guess of the level above", "The children of a node have the row that the node had.",
    ParallelSource, "grow", "1 + (self._levels", "(self._levels",
)  # fmt: skip


@mutant(4, "rows of heads")
def a_cut_vocabulary_keeps_mass_outside():
    """Tokens that a head does not know get a logit of 0."""
    return mock.patch.object(folder, "_UNLIKELY", np.float32(0.0))


# ── 7: cache and rollback ───────────────────────────────────────────────────────────────────────────────────────────


@mutant(7, "heads after a history")
def eagle_keeps_rows_of_a_rejected_draft():
    """Rows fed with the head's own states stay when the draft is rejected."""

    def keep(rollback):
        def not_back(self, length):
            self._num_true = self._cache.length

        return not_back

    return wraps(EagleRows, "rollback", keep)


@mutant(7, "heads after a history")
def a_block_keeps_states_of_rejected_tokens():
    """What was taken in stays when the text goes back."""
    return wraps(BlockDrafter, "rollback", lambda rollback: lambda self, length: None)


@mutant(7, "heads after a history")
def features_stay_when_a_path_moves():
    """A tree's path takes its keys and values along and leaves its hidden states behind."""
    return wraps(FeatureKeeper, "arrays", lambda arrays: lambda self: [self.keys, self.values])


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
