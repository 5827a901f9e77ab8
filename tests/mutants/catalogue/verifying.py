"""Wrong rules: what stays of a draft, what replaces the rest, and what a policy may know."""

from __future__ import annotations

import dataclasses
from typing import Any
from unittest import mock

import numpy as np

from minispec.engine.control import ConfidenceGamma
from minispec.engine.control.gamma import UNLIMITED
from minispec.engine.drafters import (
    ModelDrafter,
)
from minispec.engine.generation import Stream
from minispec.engine.generation import api as opening
from minispec.engine.generation.transcript import Transcript
from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Finish, Verdict
from minispec.engine.sampling import processors, sampler
from minispec.engine.verifiers import block, expected, gumbel, kseq, lenient, match, rejection, traversal, tree, typical
from tests.engine.laws import peeking

from ..rules import half_normal, make_verify, normalise, one_hot, right_residual, softmax
from .tools import (
    MUTANTS,
    Mutant,
    Patch,
    answers,
    both,
    change,
    mutant,
    processing,
    rewrite,
    rule,
    wraps,
    wrong,
)

# ── 1: the law after a rejection ────────────────────────────────────────────────────────────────────────────────────


@mutant(1, "law of rejection")
def residual_is_p():
    """A rejected token is replaced by a draw from p."""
    return wrong(residual=lambda p, q: p)


@mutant(1, "law of rejection")
def residual_is_a_softmax():
    """softmax(max(p - q, 0)) instead of dividing by the sum."""
    return wrong(residual=lambda p, q: softmax(np.maximum(p - q, 0.0)))


@mutant(1, "law of rejection")
def residual_is_absolute():
    """|p - q| instead of its positive part."""
    return wrong(residual=lambda p, q: normalise(np.abs(p - q)))


@mutant(1, "law of rejection")
def residual_is_swapped():
    """max(q - p, 0)."""
    return wrong(residual=lambda p, q: right_residual(q, p))


@mutant(1, "law of rejection")
def residual_is_its_argmax():
    """The likeliest token of the residual instead of a draw."""
    return wrong(residual=lambda p, q: one_hot(np.argmax(p - q), len(p)))


@mutant(1, "law of rejection")
def residual_in_logits():
    """The difference of log probabilities, clamped, through a softmax."""
    return wrong(residual=lambda p, q: softmax(np.maximum(np.log(p) - np.log(q), 0.0)))


@mutant(1, "law of rejection")
def residual_is_not_normalised():
    """max(p - q, 0) handed to the sampler as it is."""
    return wrong(residual=lambda p, q: np.maximum(p - q, 0.0))


@mutant(1, "law of top-k")
def residual_is_filtered_again():
    """The residual passes through top-k once more."""
    return wrong(residual=lambda p, q: processors.top_k(right_residual(p, q), 1))


@mutant(1, "law of disjoint supports")
def residual_leaks_epsilon():
    """A small constant against division by zero lets impossible tokens through."""
    return wrong(residual=lambda p, q: normalise(np.maximum(p - q, 0.0) + 1e-3))


@mutant(1, "law of rejection")
def residual_of_the_next_row():
    """The residual is taken from the row after the rejected one."""

    def verify(draft, target_probs, coins):
        shifted = make_verify(residual=lambda p, q: right_residual(_after(target_probs, p), q))
        return shifted(draft, target_probs, coins)

    return rule("rejection", verify)


def _after(rows, row):
    place = next(i for i, other in enumerate(rows) if other is row or np.array_equal(other, row))
    return rows[min(place + 1, len(rows) - 1)]


@mutant(1, "law of block")
def token_residual_in_block():
    """Block verification that replaces from max(p - q, 0) instead of max(p_i p - q, 0)."""
    return mock.patch.object(block, "block_residual", lambda survived, p, q: np.maximum(p - q, 0.0))


@mutant(1, "law of tree with")
def tree_does_not_update_what_is_wanted():
    """Each sibling is judged against p, as if none had been rejected before."""
    return mock.patch.object(tree, "residual", lambda wanted, q: wanted)


@mutant(1, "same seed under match")
def match_draws_again():
    """After a mismatch the token is drawn anew instead of keeping the draw that did not match."""

    def verify(draft, target_probs, coins):
        verdict = match.verify(draft, target_probs, coins)
        if verdict.source != "recovered":
            return verdict
        place = verdict.num_accepted
        return dataclasses.replace(verdict, next_token=coins.residual(place, target_probs[place]))

    return rule("match", verify)


# ── 2: greedy with soft probabilities ───────────────────────────────────────────────────────────────────────────────


def _soft_rows() -> Patch:
    """At temperature 0 the rows stay soft, and the rule is left to make them greedy."""
    return wraps(
        sampler,
        "distribution",
        lambda distribution: (
            lambda logits, params: distribution(
                logits, dataclasses.replace(params, temperature=params.temperature or 1.0)
            )
        ),
    )


@mutant(2, "law of greedy")
def greedy_is_temperature_one():
    """Temperature 0 falls back to 1."""
    return _soft_rows()


@mutant(2, "law of greedy")
def greedy_corrects_from_the_soft_residual():
    """Drafts are compared with the argmax, but a mismatch is replaced by the argmax of p - q."""
    return both(
        _soft_rows(),
        wrong(
            ratio=lambda p, q, x: float(x == np.argmax(p)),
            residual=lambda p, q: one_hot(np.argmax(p - q), len(p)),
            bonus=lambda t, d: one_hot(np.argmax(t[len(d)]), t.shape[1]),
        ),
    )


@mutant(2, "law of greedy")
def greedy_accepts_with_soft_ratios():
    """Replacement and bonus are the argmax, but acceptance is a coin of p/q."""
    return both(
        _soft_rows(),
        wrong(
            residual=lambda p, q: one_hot(np.argmax(p), len(p)),
            bonus=lambda t, d: one_hot(np.argmax(t[len(d)]), t.shape[1]),
        ),
    )


@mutant(2, "law of ties")
def greedy_ties_go_to_the_highest_id():
    """The argmax of a reversed row: the last of several best tokens."""

    def make(row):
        def reversed_ties(logits, params):
            if params.temperature > 0.0:
                return row(logits, params)
            return one_hot(len(logits) - 1 - int(np.argmax(logits[::-1])), len(logits))

        return reversed_ties

    return processing(process_row=make(processors.process_row))


# ── 5: the bonus token ──────────────────────────────────────────────────────────────────────────────────────────────


@mutant(5, "cost of a perfect draft")
def no_bonus():
    """After full acceptance the last draft ends the step, and the target's row behind it is thrown away."""

    def verify(draft, target_probs, coins):
        verdict = rejection.verify(draft, target_probs, coins)
        if verdict.source != "bonus":
            return verdict
        return dataclasses.replace(verdict, num_accepted=len(draft) - 1, next_token=draft.tokens[-1])

    return rule("rejection", verify)


@mutant(5, "law of rejection")
def bonus_from_the_last_drafts_row():
    """The bonus is drawn from row gamma - 1."""
    return wrong(bonus=lambda t, d: t[len(d) - 1])


@mutant(5, "law of rejection")
def bonus_is_the_argmax():
    """The bonus is the likeliest token at any temperature."""
    return wrong(bonus=lambda t, d: one_hot(np.argmax(t[len(d)]), t.shape[1]))


@mutant(5, "law of rejection")
def bonus_from_the_draft():
    """The bonus is drawn from the draft's last row."""
    return wrong(bonus=lambda t, d: d.probs[-1])


@mutant(5, "cost of the target")
def an_extra_forward_for_the_bonus():
    """The target runs once more over the last token to get the bonus row."""

    def how(target, tokens, draft, answer):
        logits = answer()
        last = target.tokens[-1]
        target.rollback(target.length - 1)
        target.score([last], num_logits=1)
        return logits

    return answers(how)


@mutant(5, "ends")
def bonus_although_the_budget_is_full():
    """Drafts may fill the budget, and the target's token comes on top."""

    def make(advance):
        def wrapped(self, tokens, sources):
            kept = advance(self, tokens, sources)
            if self.finish == Finish("length") and kept == len(tokens) - 1:
                self.tokens.append(tokens[-1])
                return len(tokens)
            return kept

        return wrapped

    room = property(lambda self: self._stopper.room + 1)
    return both(wraps(Transcript, "_advance", make), mock.patch.object(Transcript, "room", room))


# ── 6: acceptance rule and control ──────────────────────────────────────────────────────────────────────────────────


@mutant(6, "law of rejection")
def ratio_is_inverted():
    """Accept with min(1, q/p)."""
    return wrong(ratio=lambda p, q, x: q[x] / p[x])


@mutant(6, "law of rejection")
def accepts_iff_p_is_at_least_q():
    """No coin."""
    return wrong(ratio=lambda p, q, x: float(p[x] >= q[x]))


@mutant(6, "law of rejection")
def accepts_with_p():
    """Accept with p(x), but replace from the residual of rejection sampling."""
    return wrong(ratio=lambda p, q, x: p[x])


@mutant(6, "law of rejection")
def accepts_above_a_threshold():
    """Accept iff p(x) > 0.2, else draw from p."""
    return wrong(ratio=lambda p, q, x: float(p[x] > 0.2), residual=lambda p, q: p)


@mutant(6, "law of rejection")
def accepts_the_argmax():
    """Accept iff the draft is the target's argmax, at any temperature."""
    return wrong(ratio=lambda p, q, x: float(x == np.argmax(p)), residual=lambda p, q: p)


@mutant(6, "law of rejection")
def accepts_everything():
    """No judgement."""
    return wrong(ratio=lambda p, q, x: 1.0)


@mutant(6, "law of rejection")
def lenient_by_a_factor_of_two():
    """Accept with min(1, 2 p/q) under the name of rejection sampling."""
    return wrong(ratio=lambda p, q, x: 2.0 * p[x] / q[x])


@mutant(6, "law of rejection")
def normal_coin():
    """randn() < p/q where rand() is meant."""
    return wrong(ratio=lambda p, q, x: half_normal(min(1.0, p[x] / q[x])))


@mutant(6, "law of rejection")
def goes_on_after_a_rejection():
    """Counts accepted drafts wherever they stand."""
    return wrong(count=sum)


@mutant(6, "law of rejection")
def keeps_the_rejected_token():
    """The prefix is one too long after a rejection."""
    return wrong(count=lambda accepted: min(len(accepted), 1 + (accepted.index(False) if False in accepted else 99)))


@mutant(6, "law of rejection")
def one_coin_for_all_positions():
    """The uniform is drawn once per step."""
    return wrong(accept=lambda coins, i, prob: coins.accept(0, prob))


@mutant(6, "law of rejection")
def coins_forget_the_step():
    """A generator reseeded at each step: coin i is the same in every step."""
    return wrong(accept=lambda coins, i, prob: Coins(coins.noise, position=0).accept(i, prob))


@mutant(6, "law of block")
def block_stops_at_the_first_failure():
    """Block verification's coins, but the draft ends at the first no."""

    def verify(draft, target_probs, coins):
        if not len(draft):
            return block.verify(draft, target_probs, coins)
        survived, chances = [1.0], []
        for i, token in enumerate(draft.tokens):
            survived.append(block.survival(survived[i], target_probs[i], draft.probs[i], token))
            chances.append(survived[-1])
            if i + 1 < len(draft):
                mass = block.block_residual(survived[-1], target_probs[i + 1], draft.probs[i + 1]).sum()
                chances[-1] = 1.0 if survived[-1] == 1.0 else mass / (mass + 1.0 - survived[-1])
        kept = 0
        while kept < len(draft) and coins.accept(kept, chances[kept]):
            kept += 1
        if kept == len(draft):
            bonus = coins.bonus(kept, target_probs[kept])
            return Verdict(kept, bonus, "bonus", tuple(survived[1:]))
        law = normalise(block.block_residual(survived[kept], target_probs[kept], draft.probs[kept]))
        recovered = coins.residual(kept, law)
        return Verdict(kept, recovered, "recovered", tuple(survived[1:]))

    return rule("block", verify)


@mutant(6, "law of block")
def block_without_its_clip():
    """Ratios are multiplied without the min: an early excess pays for any later lack."""
    return mock.patch.object(block, "survival", lambda before, p, q, token: before * float(p[token]) / float(q[token]))


@mutant(6, "sources of block")
def block_judges_token_by_token():
    """Rejection sampling under the name of block: the same text law, shorter accepted prefixes."""
    return rule("block", rejection.verify)


@mutant(6, "sources of rejection")
def rejection_by_matching():
    """Match under the name of rejection sampling: the same text law, sum p q instead of sum min(p, q)."""
    return rule("rejection", match.verify)


@mutant(6, "law of confidence")
def confidence_drops_the_drawn_token():
    """The draft ends before a token that was drawn with little probability, because of which token it is."""

    def make(propose):
        def wrapped(self, *args):
            draft = yield from propose(self, *args)
            sure = [draft.probs[i, token] >= 0.5 for i, token in enumerate(draft.tokens)]
            end = sure.index(False) if False in sure else len(draft)
            return Draft(draft.tokens[:end], draft.probs[:end])

        return wrapped

    return both(
        wraps(ModelDrafter, "propose", make),
        mock.patch.object(ConfidenceGamma, "more", return_value=UNLIMITED),
    )


def _peeking(policy: type) -> Patch:
    def new_stream(*args: Any, **options: Any) -> Stream:
        stream = Stream(*args, **options)
        policy().take_over(stream)
        return stream

    return mock.patch.object(opening, "Stream", new_stream)


@mutant(6, "law of rejection")
def gamma_peeks_at_the_targets_rows():
    """The draft ends before a token the target likes less than the draft does."""
    return _peeking(peeking.PeeksAtTargetRows)


@mutant(6, "law of rejection")
def gamma_peeks_at_the_coins():
    """The draft ends before the coin that says no."""
    return _peeking(peeking.PeeksAtCoins)


@mutant(6, "law of rejection")
def gamma_peeks_at_the_draft():
    """A drafted token is discarded because of which token it is."""
    return _peeking(peeking.PeeksAtTheDraft)


@mutant(6, "law of rejection")
def a_second_chance_after_a_rejection():
    """A rejected draft is discarded and the position drawn plainly."""
    return _peeking(peeking.RetriesAfterRejection)


# ── rules, one passage changed ────────────────────────────────────────────────────────────────────────────────────────


def change_rule(family: int, killed_by: str, name: str, what: str, module: Any, old: str, new: str) -> None:
    """Add the rule of a module with one passage of its source changed, put in place under the rule's name."""
    of = module.__name__.rpartition(".")[2]
    MUTANTS.append(Mutant(name, what, family, killed_by, lambda: rule(of, rewrite(module, "verify", old, new))))


change_rule(
    6, "coins of block", "nearly survived is survived", "A survival above 0.999 is a sure yes.",
    block, "survived[kept] == 1.0", "survived[kept] > 0.999",
)  # fmt: skip
change_rule(
    6, "coins of block", "block coins ignore what is missing", "The coin of a prefix is its survival.",
    block, "mass / (mass + 1.0 - survived[kept])", "survived[kept]",
)  # fmt: skip
change_rule(
    6, "coins of block", "block reports what it kept", "The survivals behind the kept prefix are left out.",
    block, 'Verdict(kept, recovered, "recovered", accept_probs)',
    'Verdict(kept, recovered, "recovered", accept_probs[: kept + 1])',
)  # fmt: skip
change_rule(
    6, "law of traversal", "a child is judged at full rate", "A ratio is clipped by itself, without its parent's rate.",
    traversal, "survival(here.rate, ", "survival(1.0, ",
)  # fmt: skip
change_rule(
    1, "law of traversal", "a failed child is forgotten", "The node goes on as if the child had not been tried.",
    traversal, "_miss(path[-1], draft.probs[here.node])", "pass",
)  # fmt: skip
change(
    1, "law of traversal", "a failed child leaves its parents rate", "What is missing is wanted, as surely as before.",
    traversal, "_miss", "mass / (mass + 1.0 - place.rate)", "place.rate",
)  # fmt: skip
change(
    1, "law of traversal", "a failed child leaves its parents row", "The whole row is wanted again, at a lower rate.",
    traversal, "_miss", "place.wanted = missing / mass", "pass",
)  # fmt: skip
change_rule(
    6, "law of k-seq", "k-seq divides by nothing", "Each candidate is judged as if it were alone.",
    kseq, "k_seq_divisor(p, q, len(siblings))", "1.0",
)  # fmt: skip
change_rule(
    1, "law of k-seq", "k-seq replaces as for one candidate", "max(p - q, 0) instead of max(p - rho q, 0).",
    kseq, "residual(p, rho * q)", "residual(p, q)",
)  # fmt: skip
change_rule(
    6, "law of k-seq", "k-seq counts one candidate more", "rho is that of K + 1 candidates.",
    kseq, "len(siblings))\n        for", "len(siblings) + 1)\n        for",
)  # fmt: skip
change_rule(
    6, "reported coins", "k-seq reports an undivided ratio", "The verdict says min(1, p/q), the coin is another.",
    kseq, "coins.accept(len(path), accept_probs[-1], node)",
    "coins.accept(len(path), accept_probs[-1] / rho, node)",
)  # fmt: skip
change(
    6, "law of lossy rules", "lenience is strictness", "p is multiplied by the lenience.",
    lenient, "keep", "target_probs / lenience", "target_probs * lenience",
)  # fmt: skip
change(
    1, "law of lossy rules", "lenience replaces from p", "A rejected token is replaced by a plain draw.",
    lenient, "verify", "replace=residual", "replace=lambda p, q: p",
)  # fmt: skip
change(
    6, "law of lossy rules", "typical includes its threshold", "A token of exactly the threshold's probability stays.",
    typical, "keep", "target_probs >", "target_probs >=",
)  # fmt: skip
change(
    6, "typical thresholds", "entropy in bits", "exp(-H) of an entropy to base 2.",
    typical, "threshold", "np.log(support)", "np.log2(support)",
)  # fmt: skip
change(
    6, "typical thresholds", "the larger bound is the threshold", "max(epsilon, delta exp(-H)).",
    typical, "threshold", "return min(epsilon,", "return max(epsilon,",
)  # fmt: skip
change(
    6, "acceptance of coupled races", "races are lost to both",
    "Rates of the two races are added up instead of the larger taken.",
    gumbel, "match_probability", "np.maximum(q * (target_probs / p), draft_probs)",
    "(q * (target_probs / p) + draft_probs)",
)  # fmt: skip
change(
    6, "expected lengths", "each position survives anew", "What came before is forgotten.",
    expected, "expected_accepted", "from_here((*prefix, token), survived)", "from_here((*prefix, token), before)",
)  # fmt: skip
change_rule(
    6, "impossible drafts", "chains are not asked for", "A rule for chains judges a tree as one.",
    rejection, "require_chain(draft)", "pass",
)  # fmt: skip
change_rule(
    6, "impossible drafts", "k-seq trusts its siblings", "Siblings of several laws are judged by the first one's.",
    kseq, "if any(", "if False and any(",
)  # fmt: skip
change_rule(
    6, "impossible drafts", "a tree is not asked whether it was drawn", "q(x) = 0 is divided by.",
    tree, "require_drawn(draft, node)", "float(draft.probs[node, draft.tokens[node]]) or 1e-300",
)  # fmt: skip
