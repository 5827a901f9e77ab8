"""Changes that look like mistakes and are none, each with the reason; they are not counted."""

from __future__ import annotations

import numpy as np

from minispec.engine.backends import _kernels
from minispec.engine.backends.panel import products
from minispec.engine.drafters import (
    CascadeDrafter,
    ModelDrafter,
)
from minispec.engine.drafters.ngram import one_hot
from minispec.engine.noise import race
from minispec.engine.records import Draft, Verdict
from minispec.engine.sampling import draw
from minispec.engine.verifiers import rejection, tree

from ..rules import right_residual
from .tools import (
    both,
    equivalent,
    in_python,
    processing,
    reports,
    rule,
    wraps,
    wrong,
)

# ── no mistakes ─────────────────────────────────────────────────────────────────────────────────────────────────────


@equivalent(
    10, "law of top-p", "They are what the loops are tested against: the same order, the same filters, other roundings."
)
def processors_in_numpy():
    """Distributions come from the processors in NumPy instead of the compiled loops."""
    return processing()


@equivalent(
    6, "law of rejection", "A drafted token was drawn with probability q(x), so q(x) > 0; the engine refuses another."
)
def accepts_where_q_is_zero():
    """Accept if q(x) = 0 instead of refusing."""
    return wrong(ratio=lambda p, q, x: 1.0 if q[x] == 0.0 else p[x] / q[x])


@equivalent(
    1,
    "law of rejection",
    "A residual of no mass means p <= q everywhere, and both sum to 1, so p = q: every ratio is 1, none is rejected.",
)
def no_residual_is_uniform():
    """Where max(p - q, 0) has no mass, draw uniformly."""
    return wrong(
        residual=lambda p, q: right_residual(p, q) if np.any(p > q) else np.full(len(p), 1.0 / len(p)),
    )


@equivalent(6, "law of rejection", "u < min(1, r) and u < r say the same of every u in [0, 1).")
def ratio_without_the_minimum():
    """The coin is asked with p/q, also above 1."""

    def verify(draft, target_probs, coins):
        for i, token in enumerate(draft.tokens):
            ratio = target_probs[i, token] / draft.probs[i, token]
            if not coins.accept(i, ratio):
                law = right_residual(target_probs[i], draft.probs[i])
                recovered = coins.residual(i, law)
                return Verdict(i, recovered, "recovered")
        if not len(draft):
            return Verdict(0, coins.sample(0, target_probs[0]), "plain")
        end = len(draft)
        return Verdict(end, coins.bonus(end, target_probs[end]), "bonus")

    return rule("rejection", verify)


@equivalent(
    4, "law of tree with", "Siblings drawn independently from one row are exchangeable, and so are their subtrees."
)
def independent_siblings_in_reverse():
    """Siblings drawn with replacement are tried last first."""
    return wraps(tree, "list_children", lambda children: lambda draft: [nodes[::-1] for nodes in children(draft)])


@equivalent(
    6,
    "law of cascade",
    "The length is settled by drafts that are all kept, and what follows them has the target's law either way: it is a "
    "stopping time of the draft. (Dropping the correcting token is a mistake, and listed.)",
)
def cascade_ends_with_the_token_that_corrects_the_inner_draft():
    """The draft ends after the first guess of the inner drafter that was wrong, the correction included."""

    def make(judge):
        def wrapped(self, text, *args):
            failed = self.num_inner - self.num_inner_accepted
            end = judge(self, text, *args)
            return end if self.num_inner - self.num_inner_accepted == failed else len(text)

        return wrapped

    return wraps(CascadeDrafter, "_verify", make)


@equivalent(
    10,
    "law of presence and frequency",
    "Rejection sampling is exact for every q that was really drawn from; the draft's q is the one without penalties.",
)
def penalties_for_the_target_alone():
    """The draft is drawn without presence and frequency penalties."""

    def make(probs):
        return lambda self, logits, prefix: draw.distribution(logits, self.sampler.params)[0]

    return wraps(ModelDrafter, "probs", make)


@equivalent(
    6, "law of match", "Accepting x with p(x), else drawing from p without x, is drawing from p and comparing with x."
)
def match_by_a_coin():
    """Accept with p(x); replace from p without x."""

    def verify(draft, target_probs, coins):
        certain = Draft(draft.tokens, one_hot(draft.tokens, target_probs.shape[1]))
        return rejection.verify(certain, target_probs, coins)

    return rule("match", verify)


@equivalent(
    3,
    "law of cascade",
    "For each value of its noise the drafter is deterministic, for which one-hot rows are the truth; an average of "
    "exact laws is exact. It costs acceptance.",
)
def a_random_draft_reported_as_certain():
    """A cascade that reports one-hot rows, as its inner n-gram does."""
    return reports(CascadeDrafter, lambda draft: one_hot(draft.tokens, draft.probs.shape[1]))


@equivalent(
    11,
    "products of panels",
    "The same sums in another order; this is also the test of what stands in for instructions where loops are wrong.",
)
def panel_kernels_in_python():
    """The loops of the panel kernels run as plain Python, on NumPy where they call instructions."""
    return in_python(products)


@equivalent(11, "attention", "As above.")
def attention_in_python():
    """Attention of panels and of plain loops as plain Python."""
    return both(in_python(products), in_python(_kernels))


@equivalent(10, "races", "Python's integers have the product that compiled code takes from the processor.")
def races_in_python():
    """Philox and the race as plain Python."""
    return in_python(race)
