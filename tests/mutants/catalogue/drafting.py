"""Wrong drafters: what is reported is not what was drawn from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from unittest import mock

import numpy as np

from minispec.drafters import (
    CascadeDrafter,
    ModelDrafter,
    NgramDrafter,
    SyntheticDrafter,
    TranslatingDrafter,
    TreeDrafter,
)
from minispec.drafters.synthetic import mix_to_acceptance
from minispec.records import Draft
from minispec.sampling import draw, processors

from ..rules import normalised, one_hot, softmax
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
    return draws(ModelDrafter, lambda probs: normalised(probs**2))


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
    def make(pick):
        return lambda self, probs, *args: [(token, changed(probs, row)) for token, row in pick(self, probs, *args)]

    return wraps(TreeDrafter, "_pick", make)


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

    return wraps(TreeDrafter, "propose", make)
