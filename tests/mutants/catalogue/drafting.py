"""Wrong drafters: what is reported is not what was drawn from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from unittest import mock

import numpy as np

from minispec.engine.drafters import (
    CascadeDrafter,
    DynamicTreeDrafter,
    FixedTreeDrafter,
    ForcedDrafter,
    LayerSkipDrafter,
    ModelDrafter,
    NgramDrafter,
    SuffixDrafter,
    SyntheticDrafter,
    TranslatingDrafter,
    base,
    ngram,
    synthetic,
)
from minispec.engine.drafters.layerskip import AskLayers
from minispec.engine.drafters.spec import DraftSpec
from minispec.engine.drafters.suffix import SuffixAutomaton
from minispec.engine.drafters.synthetic import mix_to_acceptance
from minispec.engine.drafters.tables import TokenTable
from minispec.engine.drafters.trees import TreeDrafter, shapes
from minispec.engine.model import quantize
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.records import Draft
from minispec.engine.sampling import Constraint, draw, processors

from ..rules import normalise, one_hot, softmax
from .tools import (
    Patch,
    both,
    change,
    draws,
    mutant,
    reports,
    wraps,
)

# ── 3: q is not what the token was drawn from ───────────────────────────────────────────────────────────────────────


@mutant(3, "law of rejection")
def drafts_by_argmax_reports_soft_q():
    """The draft takes its likeliest token and reports the row as if it had drawn."""
    return draws(ModelDrafter, lambda probs: one_hot(np.argmax(probs), len(probs)))


@mutant(3, "law of temperature")
def drafts_at_half_the_temperature():
    """The draft draws sharper than the q it reports."""
    return draws(ModelDrafter, lambda probs: normalise(probs**2))


@mutant(3, "law of top-k")
def drafts_filtered_reports_unfiltered():
    """The draft draws from its two best tokens and reports all of its row."""
    patch = draws(ModelDrafter, lambda probs: processors.top_k(probs, 2))
    plain = wraps(
        ModelDrafter,
        "probs",
        lambda probs: (
            lambda self, logits, prefix: draw.distribution(logits, dataclasses.replace(self.sampler.params, top_k=0))[0]
        ),
    )
    return both(patch, plain)


@mutant(3, "law of rejection")
def reports_a_double_softmax():
    """q passes through a softmax a second time."""
    return reports(ModelDrafter, lambda draft: np.array([softmax(row) for row in draft.probs]))


@mutant(3, "law of rejection")
def reports_q_in_half_precision():
    """q is stored as float16 on its way to the rule."""
    return reports(ModelDrafter, lambda draft: draft.probs.astype(np.float16).astype(np.float64))


@mutant(3, "law of n-gram")
def n_gram_with_a_soft_q():
    """A copied token is reported as if it had been drawn with probability 0.9."""
    return reports(NgramDrafter, lambda draft: 0.85 * draft.probs + 0.05)


@mutant(3, "law of translation")
def translation_with_a_soft_q():
    """A translated token is reported as drawn with probability 0.9."""
    return reports(TranslatingDrafter, lambda draft: 0.85 * draft.probs + 0.05)


@mutant(3, "law of synthetic")
def synthetic_reports_the_unspoilt_row():
    """The synthetic draft draws from its mixture and reports the target's own row."""
    return both(
        mock.patch.object(SyntheticDrafter, "probs", ModelDrafter.probs),
        draws(SyntheticDrafter, lambda probs: mix_to_acceptance(probs, 0.6)),
    )


@mutant(3, "law of cascade")
def cascade_does_not_judge_its_inner_draft():
    """An inner guess stays whatever the draft model thinks of it, and the draft model's row is reported."""

    def make(decide):
        return lambda self, guessed, *args: decide(self, guessed, *args) if guessed is None else guessed

    return wraps(CascadeDrafter, "_decide", make)


@mutant(3, "law of cascade")
def cascade_drops_the_token_that_corrects_the_inner_draft():
    """Only tokens the inner drafter guessed right are kept: which ones those are depends on what they are."""

    def make(judge):
        def wrapped(self, text, rows, *args):
            failed = self.num_inner - self.num_inner_accepted
            end = judge(self, text, rows, *args)
            if self.num_inner - self.num_inner_accepted > failed:
                text.pop()
                rows.pop()
                return len(text)
            return end

        return wrapped

    return wraps(CascadeDrafter, "_verify", make)


def _siblings_report(changed: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Patch:
    def make(branch):
        def wrapped(self, node, probs, *args):
            children = branch(self, node, probs, *args)
            for child in children:
                child.probs = changed(probs, child.probs)
            return children

        return wrapped

    return wraps(TreeDrafter, "_branch", make)


@mutant(3, "law of tree without")
def siblings_without_replacement_are_not_renormalised():
    """The row that is left is reported with the mass of the drawn siblings missing."""
    return _siblings_report(lambda probs, row: np.where(row > 0.0, probs, 0.0))


@mutant(3, "law of tree without")
def siblings_without_replacement_report_the_whole_row():
    """All siblings report the draft's row, as if drawn with replacement."""
    return _siblings_report(lambda probs, row: probs)


@mutant(3, "law of tree likeliest")
def likeliest_siblings_report_the_soft_row():
    """Deterministic candidates report the draft's row."""
    return _siblings_report(lambda probs, row: probs)


@mutant(3, "law of tree with")
def repeated_siblings_are_dropped():
    """A token drawn twice is judged once."""

    def make(propose):
        def wrapped(self, *args):
            draft = yield from propose(self, *args)
            placed, nodes = {-1: -1}, []
            for node, (token, parent) in enumerate(zip(draft.tokens, draft.parents, strict=True)):
                twins = [other for other in nodes if draft.parents[other] == parent and draft.tokens[other] == token]
                if parent in placed and not twins:
                    placed[node] = len(nodes)
                    nodes.append(node)
            return Draft(
                tuple(draft.tokens[node] for node in nodes),
                draft.probs[nodes],
                tuple(placed[draft.parents[node]] for node in nodes),
            )

        return wrapped

    return wraps(FixedTreeDrafter, "propose", make)


change(
    3, "law of growing trees", "drawn nodes are dropped for being unlikely",
    "The nodes of a tree that grows are ranked by what was drawn, not by what was known before the draw.",
    DynamicTreeDrafter, "propose", "child.value = value",
    "child.value = node.value * float(probs[child.path[-1]])",
)  # fmt: skip
change(
    13, "growing trees", "a node counts by itself", "A child is as likely as its token, whatever leads to it.",
    DynamicTreeDrafter, "propose", "node.value * probs[", "probs[",
)  # fmt: skip
change(
    13, "growing trees", "what better nodes push out stays", "Nodes that were among the best once are kept.",
    DynamicTreeDrafter, "propose", "nodes = kept + grown", "nodes = nodes + grown",
)  # fmt: skip

# ── what is copied ──────────────────────────────────────────────────────────────────────────────────────────────────

change(
    13, "copies", "the first occurrence is copied", "Not the most recent one.",
    NgramDrafter, "propose", "ends[-2]", "ends[0]",
)  # fmt: skip
change(
    13, "copies", "the shortest match is copied", "Single tokens are looked up before longer ends of the text.",
    NgramDrafter, "propose", "for n in self._sizes:", "for n in reversed(self._sizes):",
)  # fmt: skip
change(
    13, "copies", "rejected tokens stay in the index",
    "A rollback shortens the text and leaves its n-grams where they are.",
    NgramDrafter, "rollback", "self._ends[gram].pop()", "pass",
)  # fmt: skip
change(
    13, "copies", "a clone has no past", "A split state of the automaton forgets where its substrings ended last.",
    SuffixAutomaton, "_split", "self._recent[target]", "-1",
)  # fmt: skip
change(
    13, "copies", "only the whole text is recent", "Shorter ends keep the place where they were first seen.",
    SuffixAutomaton, "push", "here = self._link[here]", "break",
)  # fmt: skip
change(
    13, "copies", "undoing begins at the beginning", "A rollback puts the oldest of a token's changes back first.",
    SuffixAutomaton, "pop", "reversed(self._journal.pop())", "self._journal.pop()",
)  # fmt: skip
change(
    13, "copies", "a clone shares its transitions", "A split state and the one it came from grow together.",
    SuffixAutomaton, "_split", "dict(self._next[target])", "self._next[target]",
)  # fmt: skip
change(
    13, "copies beside a corpus", "the corpus comes first", "Its match is copied where the text's own is as long.",
    SuffixDrafter, "propose", "length_there > length", "length_there >= length",
)  # fmt: skip
change(
    13, "copies beside a corpus", "a match that ended goes on", "A shorter match keeps the length of the longer one.",
    SuffixAutomaton, "follow", "length = self._length[state]", "pass",
)  # fmt: skip
change(
    13, "copies beside a corpus", "the corpus remembers rejected tokens", "A rollback leaves the place in it.",
    SuffixDrafter, "rollback", "del self._places[length + 1 :]", "pass",
)  # fmt: skip
change(
    13, "copies beside a corpus", "the corpus repeats the last token", "What is copied begins one token too early.",
    SuffixAutomaton, "read_on", "self._recent[state] + 1", "self._recent[state]",
)  # fmt: skip
change(
    13, "copies of copies", "a copy ends with the text", "The last token is repeated where the text ends.",
    ngram, "copy_on", "period[i % len(period)]", "period[min(i, len(period) - 1)]",
)  # fmt: skip

# ── what a form dictates ────────────────────────────────────────────────────────────────────────────────────────────

change(
    10, "law of forced", "a token beside the dictated one", "Where a form dictates a token, the mask allows more.",
    Constraint, "mask", "allowed = np.unpackbits(", "allowed = (np.arange(self._vocab_size) == 0) | np.unpackbits(",
)  # fmt: skip
change(
    13, "dictated tokens", "a dictated token is left out", "The draft begins with the second of the dictated tokens.",
    Constraint, "find_forced", "for token in forced]", "for token in forced[1:]]",
)  # fmt: skip
change(
    13, "dictated tokens", "one of two is called forced", "Where a form leaves a choice, its first token is drafted.",
    Constraint, "find_forced", "for token in forced]",
    "for token in forced] or [int(np.argmax(self.mask(generated)))]",
)  # fmt: skip
change(
    13, "dictated tokens", "a single dictated token is nobody's", "It is left to the other drafter.",
    ForcedDrafter, "propose", "if forced:", "if len(forced) > 1:",
)  # fmt: skip
change(
    13, "dictated tokens", "the prompt is part of the form", "What is dictated is looked up behind prompt and text.",
    ForcedDrafter, "propose", "tokens[self._sampler.num_prompt_tokens :]", "tokens",
)  # fmt: skip
change(
    13, "dictated tokens", "dictated tokens know no budget", "They are drafted beyond γ and the room that is left.",
    ForcedDrafter, "propose", "forced[:gamma]", "forced",
)  # fmt: skip

# ── how much is drafted ─────────────────────────────────────────────────────────────────────────────────────────────

change(
    13, "answers to a draft", "one last token is one too many", "A policy's 1 lets this token and another be drafted.",
    base.ChainDrafter, "propose", "len(drafted) + more(probs)", "len(drafted) + 1 + more(probs)",
)  # fmt: skip
change(
    13, "answers to a draft", "a draft looks one forward ahead",
    "After the last token allowed the draft model runs once more.",
    base.ChainDrafter, "propose", "while len(drafted) < gamma:",
    "while len(drafted) < gamma or (rows and len(drafted) == gamma):",
)  # fmt: skip
change(
    13, "answers to a draft", "copies are asked once", "A policy sees the first row of a copy and no other.",
    ngram, "copy_draft", "gamma = min(gamma, count + more(probs[count]))",
    "gamma = min(gamma, count + more(probs[count])) if not count else gamma",
)  # fmt: skip
change(
    13, "answers to a draft", "an inner round is not asked about", "A cascade asks for its first token only.",
    CascadeDrafter, "_verify", "end = min(end, len(text) + more(own))",
    "end = min(end, len(text) + more(own)) if not rows else end",
)  # fmt: skip
change(
    13, "answers to a draft", "a tree grows against advice", "A node has children although its policy says 0.",
    FixedTreeDrafter, "propose", "if more(probs):", "if more(probs) >= 0:",
)  # fmt: skip
change(
    13, "windows", "the last slot of a window is not used",
    "The draft ends one token early where the draft model's context ends.",
    base.ChainDrafter, "propose", "self.window + 1 - len(tokens)", "self.window - len(tokens)",
)  # fmt: skip
change(
    13, "windows", "a cascade leaves a slot", "It ends one token before its window does.",
    CascadeDrafter, "propose", "window + 1 - len(tokens)", "window - len(tokens)",
)  # fmt: skip
change(
    13, "length of a translation", "a translation is as long as its text", "It is not cut to what may be drafted.",
    TranslatingDrafter, "propose", "[:gamma]", "",
)  # fmt: skip

# ── from what ───────────────────────────────────────────────────────────────────────────────────────────────────────

change(
    13, "tables", "a bigram counts backwards", "It knows what came before a token.",
    TokenTable, "__init__", "self._followers[token].append(follower)", "self._followers[follower].append(token)",
)  # fmt: skip
change(
    13, "tables", "a bigram is smoothed flat", "Its prior is uniform, not the unigram.",
    TokenTable, "next_probs", "self._k * self.unigram)", "self._k / len(self.unigram))",
)  # fmt: skip
change(
    13, "tables", "each token has k pseudo-counts", "The unigram's prior has V times the weight.",
    TokenTable, "__init__", "(counts + k / vocab_size) / (len(tokens) + k)",
    "(counts + k) / (len(tokens) + k * vocab_size)",
)  # fmt: skip
change(
    13, "tables", "the first token is the context", "A bigram looks at the beginning of the text.",
    TokenTable, "next_probs", "context[-1]", "context[0]",
)  # fmt: skip
change(
    13, "first layers", "a layer too many is run", "The draft is better than it says, and dearer.",
    AskLayers, "feed", "num_layers=self.k", "num_layers=self.k + 1",
)  # fmt: skip
change(
    13, "first layers", "half is rounded up", "By default the larger half of the layers drafts.",
    LayerSkipDrafter, "__init__", "k = depth // 2 if k is None", "k = (depth + 1) // 2 if k is None",
)  # fmt: skip
change(
    13, "abandoned draft", "a new draft trusts what an old one left",
    "The first layers are not set back before drafting.",
    LayerSkipDrafter, "propose", "self._target.rollback(self._target.length)\n    draft =", "draft =",
)  # fmt: skip
change(
    13, "rounded models", "a rounded model keeps its head", "The head of an untied model stays in full precision.",
    quantize, "round_model", "else matrix(weights.lm_head)", "else weights.lm_head",
)  # fmt: skip
change(
    13, "rounded models", "the first projection stays exact", "Queries, keys and values are not rounded.",
    quantize, "round_model", "Attention(matrix(block.attn.c_attn)", "Attention(block.attn.c_attn",
)  # fmt: skip
change(
    13, "synthetic acceptance", "noise is always flat",
    "Where a uniform row is too near, the wanted acceptance is missed.",
    synthetic, "mix_to_acceptance", "if distance < 1.0 - alpha:", "if False:",
)  # fmt: skip
change(
    13, "synthetic acceptance", "noise on the likeliest token", "The farthest row is put on the wrong end.",
    synthetic, "mix_to_acceptance", "np.argmin(target_probs)", "np.argmax(target_probs)",
)  # fmt: skip
change(
    13, "synthetic acceptance", "the share of noise is what is rejected", "It is not divided by how far the noise is.",
    synthetic, "mix_to_acceptance", "(1.0 - alpha) / distance", "1.0 - alpha",
)  # fmt: skip

# ── trees ───────────────────────────────────────────────────────────────────────────────────────────────────────────

change(
    13, "tree shapes", "nephews before siblings", "A sibling is ranked by its own chance, not by that of its path.",
    shapes, "sequoia_tree", "-_reach(ranks, sibling)", "-ranks[rank + 1]",
)  # fmt: skip
change(
    13, "tree shapes", "children inherit their parents chance", "A first child counts as likely as its parent.",
    shapes, "sequoia_tree", "-reached * ranks[0]", "-reached",
)  # fmt: skip
change(
    13, "tree shapes", "a level too many", "The limit of a tree's depth is one too large.",
    shapes, "sequoia_tree", "best.level < depth", "best.level <= depth",
)  # fmt: skip
change(
    13, "tree shapes", "the youngest is tried first", "The children of a fixed tree are ranked from behind.",
    shapes, "fixed_tree", "rank for _ in level for rank in range(width)",
    "rank for _ in level for rank in reversed(range(width))",
)  # fmt: skip
change(
    13, "cost of a tree", "an accepted path is fed again", "The draft model forgets the nodes that the target kept.",
    TreeSession, "find_path", "path.append(child)", "break",
)  # fmt: skip
change(
    13, "trees at the end of the context", "a tree is larger than its room", "It is cut one node too late.",
    FixedTreeDrafter, "propose", "self._num_slots - len(tokens)", "self._num_slots + 1 - len(tokens)",
)  # fmt: skip


@mutant(3, "trees that count")
def a_growing_tree_is_taken_for_a_fixed_one():
    """A rule that divides by the number of siblings judges a tree in which that number was drawn."""
    known = property(lambda self: self.options["siblings"] == "with")
    return mock.patch.object(DraftSpec, "has_independent_siblings", known)
