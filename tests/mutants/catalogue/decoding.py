"""Wrong loops: rows, caches, rollbacks."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import numpy as np

from minispec.engine.backends.base import Backend
from minispec.engine.control.learner import Learner
from minispec.engine.drafters import (
    LayerSkipDrafter,
    ModelDrafter,
    build,
)
from minispec.engine.generation import Stream, Verified, trace
from minispec.engine.generation import api as opening
from minispec.engine.generation.transcript import Transcript
from minispec.engine.model import forward as forward_module
from minispec.engine.model.cache import KVCache
from minispec.engine.model.gpt2 import GPT2
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.sampling import Constraint, Sampler
from minispec.engine.verifiers import tree

from ..rules import make_verify, right_ratio
from .tools import (
    Patch,
    answers,
    both,
    change,
    mutant,
    rule,
    wraps,
    wrong,
)

# ── 4: rows misaligned ──────────────────────────────────────────────────────────────────────────────────────────────


@mutant(4, "law of rejection")
def row_i_plus_1_judges_draft_i():
    """The target's rows are read one too far."""
    return wrong(judge=lambda i: i + 1)


@mutant(4, "law of rejection")
def the_first_draft_is_not_judged():
    """The first drafted token is taken for committed."""

    def verify(draft, target_probs, coins):
        places = iter(range(len(draft)))
        return make_verify(ratio=lambda p, q, x: 1.0 if next(places) == 0 else right_ratio(p, q, x))(
            draft, target_probs, coins
        )

    return rule("rejection", verify)


@mutant(4, "law of rejection")
def rows_come_in_reverse():
    """The last row is read first."""

    return answers(lambda target, tokens, draft, answer: answer()[::-1])


@mutant(4, "law of tree without")
def nodes_see_their_cousins():
    """A tree is fed with the mask of a chain."""

    def make(forward):
        def wrapped(self, tokens, cache, num_logits=None, *, positions=None, visible=None):
            chain = None if visible is None else np.tri(len(visible), visible.shape[1], _before(visible), dtype=bool)
            return forward(self, tokens, cache, num_logits, positions=positions, visible=chain)

        return wrapped

    return wraps(TableModel, "forward", make)


def _before(visible):
    return visible.shape[1] - len(visible)


@mutant(4, "uncached text with trees")
def nodes_have_the_positions_of_their_slots():
    """A node's position counts its siblings."""

    def make(forward):
        return lambda self, tokens, cache, num_logits=None, *, positions=None, visible=None: forward(
            self, tokens, cache, num_logits, visible=visible
        )

    return wraps(GPT2, "forward", make)


@mutant(4, "uncached text with trees")
def a_trees_path_is_taken_from_the_first_nodes():
    """The cache keeps as many nodes as were accepted, but the first ones instead of the path."""

    def keep(self, path):
        kept = [self._nodes[node] for node in path]
        self._nodes, self._parents = [], []
        self.tokens = [*self.tokens, *kept]
        self.cache.rollback(len(self.tokens))

    return mock.patch.object(TreeSession, "keep", keep)


@mutant(4, "law of tree without")
def siblings_are_tried_in_reverse():
    """The rule takes the last sibling first, although each row is what was left when its turn came."""
    return wraps(tree, "list_children", lambda children: lambda draft: [nodes[::-1] for nodes in children(draft)])


def _stale_prefix(applies: Callable[[Sampler], bool]) -> Patch:
    """Rows of one forward are all processed with the committed tokens, the drafts before them forgotten."""

    def make(rows):
        def wrapped(self, logits, prefixes):
            if not applies(self):
                return rows(self, logits, prefixes)
            first = next(iter(prefixes))
            return rows(self, logits, [first] * len(logits))

        return wrapped

    return wraps(Sampler, "rows", make)


@mutant(4, "law of presence and frequency")
def penalties_from_a_stale_prefix():
    """Presence and frequency of the drafts before a row do not count."""
    return _stale_prefix(lambda sampler: sampler.params.presence_penalty != 0.0)


@mutant(4, "law of repetition")
def repetition_from_a_stale_prefix():
    """Repetition by the drafts before a row does not count."""
    return _stale_prefix(lambda sampler: sampler.params.repetition_penalty != 1.0)


@mutant(4, "law of minimum length")
def minimum_length_is_judged_once_per_step():
    """A block's rows all count the tokens committed before the step."""
    return _stale_prefix(lambda sampler: sampler.params.min_tokens > 0)


@mutant(4, "law of regex")
def constraint_is_not_advanced_over_the_draft():
    """A block's rows all have the mask of the committed text."""
    return _stale_prefix(lambda sampler: sampler.constraint is not None)


# ── 7: cache and rollback ───────────────────────────────────────────────────────────────────────────────────────────


class GoesBackWhenTold(TreeSession):
    """Not before it scores: what is wrong with a rollback happens where the loop asks for one."""

    def score(self, tokens, num_logits=None):
        logits = self.model.forward(tokens, self.cache, num_logits)
        self.tokens = [*self.tokens, *tokens]
        return logits


class ForgetsToRollBack(GoesBackWhenTold):
    """Believes it went back; new tokens are stored behind the stale ones."""

    def rollback(self, length):
        self.tokens = self.tokens[:length]


class KeepsOneTooMany(ForgetsToRollBack):
    def rollback(self, length):
        super().rollback(length)
        self.cache.rollback(length + 1)


class NeverGoesBack(TreeSession):
    def rollback(self, length):
        _ = self.tokens[:length]


class KeepsOneTooFew(GoesBackWhenTold):
    def rollback(self, length):
        super().rollback(max(0, length - 1))


class StartsAgain(TreeSession):
    def rollback(self, length):
        super().rollback(0 if length < self.length else length)


class DropsLastTokens(GoesBackWhenTold):
    def rollback(self, length):
        stale = max(0, self.length - length)
        super().rollback(len(self.tokens[:-stale]))


class CountsPositionsOn(TreeSession):
    num_fed = 0

    def score(self, tokens, num_logits=None):
        last = self.model.n_positions - 1
        positions = [min(last, self.num_fed + i) for i in range(len(tokens))]
        self.rollback(self.length)
        logits = self.model.forward(tokens, self.cache, num_logits, positions=positions)
        self.tokens = [*self.tokens, *tokens]
        self.num_fed += len(tokens)
        return logits


@mutant(7, "law of rejection")
def target_cache_is_not_rolled_back():
    """Rejected drafts stay in the target's cache."""
    return mock.patch.object(opening, "TreeSession", ForgetsToRollBack)


@mutant(7, "law of rejection")
def target_cache_keeps_one_too_many():
    """One rejected draft stays in the target's cache."""
    return mock.patch.object(opening, "TreeSession", KeepsOneTooMany)


@mutant(7, "law of rejection")
def rollback_without_assignment():
    """The trimmed list is computed and thrown away."""
    return mock.patch.object(opening, "TreeSession", NeverGoesBack)


@mutant(7, "cost of the target")
def target_cache_keeps_one_too_few():
    """Right output; a token is fed twice per step."""
    return mock.patch.object(opening, "TreeSession", KeepsOneTooFew)


@mutant(7, "cost of the target")
def target_starts_again_after_a_rejection():
    """Right output; the whole text is fed again."""
    return mock.patch.object(opening, "TreeSession", StartsAgain)


@mutant(7, "cost of the target")
def slice_up_to_minus_zero():
    """tokens[:-0] empties the cache where nothing is to be dropped. Right output, wasted work."""
    return mock.patch.object(opening, "TreeSession", DropsLastTokens)


@mutant(7, "sources of rejection")
def draft_cache_is_not_rolled_back():
    """The draft's cache keeps rejected tokens: the text's law is right for any q, and acceptance falls."""
    return mock.patch.object(build, "Session", ForgetsToRollBack)


@mutant(7, "sources of rejection")
def draft_cache_keeps_one_too_many():
    """The draft's cache keeps one rejected token."""
    return mock.patch.object(build, "Session", KeepsOneTooMany)


@mutant(7, "cost of the draft")
def draft_cache_keeps_one_too_few():
    """The draft feeds a token twice."""
    return wraps(ModelDrafter, "rollback", lambda rollback: lambda self, length: rollback(self, max(0, length - 1)))


@mutant(7, "law of rejection")
def the_pending_token_is_fed_twice():
    """The last committed token is in the cache and is fed once more."""

    def how(target, tokens, draft, answer):
        target.score(tokens[target.length :], num_logits=1)
        return target.score([tokens[-1], *draft.tokens], num_logits=len(draft) + 1)

    return answers(how)


@mutant(7, "greedy identity")
def positions_are_not_rewound():
    """Position ids count fed tokens instead of the text's."""
    return mock.patch.object(opening, "TreeSession", CountsPositionsOn)


@mutant(7, "greedy identity")
def layer_skip_leaves_its_rows_in_the_targets_cache():
    """The drafts' rows of the first layers count as the target's."""

    def make(propose):
        def wrapped(self, *args):
            cache, length = self._target.cache, self._target.length
            draft = yield from propose(self, *args)
            cache.lengths = [min(cache.capacity - 8, length + 1) if len(draft) else length] * len(cache.lengths)
            return draft

        return wrapped

    def score(self, tokens, num_logits=None):
        logits = self.model.forward(tokens, self.cache, num_logits)
        self.tokens = [*self.tokens, *tokens]
        return logits

    return both(wraps(LayerSkipDrafter, "propose", make), mock.patch.object(Session, "score", score))


@mutant(7, "cached logits")
def a_row_is_stored_in_the_wrong_slot():
    """After a rollback the first new token overwrites the last kept one."""

    def make(rollback):
        return lambda self, length: (rollback(self, length), self.cache.rollback(max(0, length - 1)))[0]

    return both(wraps(Session, "rollback", make), mock.patch.object(Session, "score", GoesBackWhenTold.score))


# ── prompts, trees, interruptions ───────────────────────────────────────────────────────────────────────────────────

change(
    7, "long prompts", "a third chunk loses a token", "Behind 128 tokens each chunk of a prompt is one short.",
    Session, "prepare_prefill", "tokens[i : i + PREFILL_CHUNK]",
    "tokens[i : i + PREFILL_CHUNK - (i >= 128)]",
)  # fmt: skip
change(
    7, "long prompts", "chunks overlap", "Each chunk begins one token before the last one's end.",
    Session, "prepare_prefill", "tokens[i : i", "tokens[max(0, i - 1) : i",
)  # fmt: skip
change(
    7, "long prompts", "a chunk sees all of itself", "Every token of a forward attends to the last one too.",
    KVCache, "feed", "slots + 1 if visible is None", "np.full(count, last) if visible is None",
)  # fmt: skip
change(
    4, "long prompts", "logits of the first tokens", "Of a forward's rows the first ones are answered, not the last.",
    forward_module, "compute", "x[len(x) - feed.num_logits :]", "x[: feed.num_logits]",
)  # fmt: skip
change(
    7, "prompts that share a beginning", "a longer cache is kept",
    "What goes beyond the shared beginning stays in the cache.",
    Session, "prepare_prefill", "self.rollback(count_shared(self.tokens, tokens))", "pass",
)  # fmt: skip
change(
    7, "prompts that share a beginning", "a prompt is always fed whole", "Nothing of the cache is used again.",
    Session, "prepare_prefill", "self.rollback(count_shared(self.tokens, tokens))", "self.rollback(0)",
)  # fmt: skip
change(
    7, "kept paths", "values stay where they were", "Of a kept path only the keys are moved.",
    KVCache, "keep", "for array in self.arrays():", "for array in (self.keys,):",
)  # fmt: skip
change(
    7, "kept paths", "the last node stays where it was", "Of a kept path all slots but the last are moved.",
    KVCache, "keep", "np.flatnonzero(kept != np.arange(len(kept)))",
    "np.flatnonzero(kept != np.arange(len(kept)))[:-1]",
)  # fmt: skip
change(
    7, "kept paths", "the first layer is moved", "Deeper layers keep the tree's slots.",
    Backend, "move", "slots[:, targets] = slots[:, sources]", "slots[:1, targets] = slots[:1, sources]",
)  # fmt: skip
change(
    4, "kept paths", "grown nodes forget their elders", "A tree that is added to counts the new nodes' parents from 0.",
    TreeSession, "_place", "tree = [*self._parents, *parents]",
    "tree = [*self._parents, *(min(p, len(parents) - 2) for p in parents)]",
)  # fmt: skip
change(
    7, "paths found", "a cousin is a child", "A path goes on with any node that bears the token.",
    TreeSession, "find_path", " and self._parents[i] == here", " and self._parents[i] >= here",
)  # fmt: skip
change(
    15, "interrupted forwards", "an interrupted growth leaves its nodes",
    "A tree that is grown again begins behind them.",
    TreeSession, "_place", "self.cache.rollback(len(self.tokens) + len(self._nodes))", "pass",
)  # fmt: skip
change(
    15, "interrupted forwards", "an interrupted chain leaves its tokens",
    "Run again, it lies behind what it wrote before.",
    Session, "score", "self._forget_rest()", "pass",
)  # fmt: skip
change(
    15, "abandoned draft", "layers that ran ahead stay ahead", "Going back is asked of the tokens, not of the cache.",
    Session, "_forget_rest", "self.cache.rollback(len(self.tokens))",
    "self.cache.lengths[-1] = min(self.cache.lengths[-1], len(self.tokens))",
)  # fmt: skip

# ── what is told ────────────────────────────────────────────────────────────────────────────────────────────────────

change(
    15, "events of a run", "rejected is what comes behind", "The rejected sibling of an accepted node is left out.",
    Verified, "from_step", "if i not in verdict.accepted", "if i >= verdict.num_accepted",
)  # fmt: skip
change(
    15, "events of a run", "a step begins behind itself",
    "A step's position is counted after its tokens are committed.",
    Transcript, "commit", "position=position,", "position=len(self.tokens),",
)  # fmt: skip
change(
    15, "interrupted runs", "half a lesson counts",
    "An observation that was interrupted is made again on top of what it has left.",
    Learner, "set_back", "self._mark.observing or ", "",
)  # fmt: skip
change(
    15, "interrupted runs", "a lesson that was due comes late",
    "What an interruption left unobserved is observed behind the next step's draft.",
    Stream, "drive", "self._learner.learn(transcript.steps)", "",
)  # fmt: skip
change(
    15, "interrupted runs", "a verdict is told again", "After an interruption behind it, a verdict comes twice.",
    Stream, "_report_committed", "step.index >= self._deliveries.num_verified", "True",
)  # fmt: skip
change(
    15, "interrupted runs", "what was due is lost", "A step that was committed and not told is left out afterwards.",
    Stream, "drive", "self._deliveries.num_emitted :]", "self._deliveries.num_emitted + 1 :]",
)  # fmt: skip
change(
    15, "interrupted runs", "nobody learns from an interrupted step",
    "A policy hears of no step whose observation was due.",
    Stream, "drive", "self._learner.learn(transcript.steps)",
    "mark = self._learner._mark; self._learner._mark = mark._replace(next_step=len(transcript.steps))",
)  # fmt: skip
change(
    15, "traces read again", "lines end where text does",
    "A trace is cut at every separator that its text may contain.",
    trace, "read_trace", '.split("\\n")', ".splitlines()",
)  # fmt: skip
change(
    15, "traces read again", "a draft has one text", "Every drafted token is read with the text of the first.",
    trace, "read_trace", 'zip(line["tokens"], line["texts"], strict=True)',
    '((token, line["texts"][0]) for token in line["tokens"])',
)  # fmt: skip

# ── forms ───────────────────────────────────────────────────────────────────────────────────────────────────────────

change(
    6, "answers of a form", "a form only goes forward", "The matcher is not set back to what two prefixes share.",
    Constraint, "_walk", "self._matcher.rollback(len(self._consumed) - shared)", "pass",
)  # fmt: skip
change(
    6, "answers of a form", "a form outlives its text", "Tokens that could not be read count as read.",
    Constraint, "_walk", "self._consumed = tokens[: shared + consumed]", "self._consumed = tokens",
)  # fmt: skip
change(
    6, "answers of a form", "masks are read from the other end", "The bits of a byte of the mask are reversed.",
    Constraint, "mask", 'bitorder="little"', 'bitorder="big"',
)  # fmt: skip
