"""Wrong decoders: the real engine with one mistake, made on purpose, and the check that must notice.

Each entry is a function that returns a context manager; inside it the engine has the mistake its docstring describes.
The families are those in which such mistakes are found in public code. ``EQUIVALENT`` holds changes that are no
mistakes, each with the reason: they are outside the score.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest import mock

import numpy as np

from minispec.control import ConfidenceGamma
from minispec.control.gamma import UNLIMITED
from minispec.drafters import (
    CascadeDrafter,
    LayerSkipDrafter,
    ModelDrafter,
    NgramDrafter,
    SyntheticDrafter,
    TranslatingDrafter,
    TreeDrafter,
    base,
    build,
    cascade,
)
from minispec.drafters.synthetic import mix_to_acceptance
from minispec.generation import Stream, api, loop
from minispec.generation.held_text import HeldText
from minispec.generation.limits import Limits
from minispec.generation.metrics import Metrics
from minispec.generation.stopping import Stopper
from minispec.generation.transcript import Transcript
from minispec.model.asks import Ask, ask_for
from minispec.model.gpt2 import GPT2
from minispec.model.session import Session
from minispec.model.toy import TableModel
from minispec.model.tree_session import TreeSession
from minispec.noise import Address, Coins
from minispec.philox import PhiloxNoise
from minispec.records import Draft, Finish, Verdict
from minispec.sampling import Sampler, draw, history, processors, sampler
from minispec.verifiers import block, match, registry, rejection, tree
from tests.laws import peeking
from tests.laws.space import PROMPT

from .rules import half_normal, make_verify, normalised, one_hot, right_ratio, right_residual, softmax

FAMILIES = {
    1: "wrong law after a rejection",
    2: "greedy with soft probabilities",
    3: "q is not what the token was drawn from",
    4: "rows misaligned",
    5: "the bonus token",
    6: "acceptance rule and control",
    7: "cache and rollback",
    8: "end of text, budget, context",
    9: "figures",
    10: "state, noise, filters, ties",
}

Patch = AbstractContextManager[Any]


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A wrong decoder.

    Parameters
    ----------
    name, what : str
    family : int
    killed_by : str
        The check that must notice.
    patch : callable
        Returns the context manager that puts the mistake in place.
    proof : str
        Why it is no mistake; empty for a wrong decoder.
    """

    name: str
    what: str
    family: int
    killed_by: str
    patch: Callable[[], Patch]
    proof: str = ""


MUTANTS: list[Mutant] = []
EQUIVALENT: list[Mutant] = []


def mutant(family: int, killed_by: str):
    def register(patch: Callable[[], Patch]) -> Callable[[], Patch]:
        name, what = patch.__name__.replace("_", " "), " ".join((patch.__doc__ or "").split())
        MUTANTS.append(Mutant(name, what, family, killed_by, patch))
        return patch

    return register


def equivalent(family: int, passes: str, proof: str):
    def register(patch: Callable[[], Patch]) -> Callable[[], Patch]:
        name, what = patch.__name__.replace("_", " "), " ".join((patch.__doc__ or "").split())
        EQUIVALENT.append(Mutant(name, what, family, passes, patch, proof))
        return patch

    return register


# ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def rule(name: str, verify: Any) -> Patch:
    """Put another function behind the name of a rule."""
    return mock.patch.dict(registry._PLAIN, {name: dataclasses.replace(registry._PLAIN[name], verify=verify)})


def wrong(**parts: Any) -> Patch:
    """Rejection sampling with one wrong part."""
    return rule("rejection", make_verify(**parts))


def wraps(owner: Any, name: str, make: Callable[[Any], Any]) -> Patch:
    """Replace an attribute by something made from it."""
    return mock.patch.object(owner, name, make(getattr(owner, name)))


def both(*patches: Patch) -> Patch:
    stack = ExitStack()
    for patch in patches:
        stack.enter_context(patch)
    return stack


def processing(**parts: Any) -> Patch:
    """The engine on the processors in NumPy, some of them replaced."""
    return both(
        mock.patch.object(sampler, "distribution", processors.distribution),
        *(mock.patch.object(processors, name, part) for name, part in parts.items()),
    )


class Redrawing:
    """Noise that draws from something else than it is asked to."""

    def __init__(self, noise: Any, law: Callable[[np.ndarray], np.ndarray]) -> None:
        self._noise, self._law = noise, law

    def bernoulli(self, prob, at):
        return self._noise.bernoulli(prob, at)

    def categorical(self, probs, at):
        return self._noise.categorical(self._law(probs), at)


class Readdressed:
    """Noise that is read at other addresses."""

    def __init__(self, noise: Any, move: Callable[[Address], Address]) -> None:
        self._noise, self._move = noise, move

    def bernoulli(self, prob, at):
        return self._noise.bernoulli(prob, self._move(at))

    def categorical(self, probs, at):
        return self._noise.categorical(probs, self._move(at))


def with_noise(coins: Coins, noise: Any) -> Coins:
    return dataclasses.replace(coins, noise=noise)


def draws(kind: type, law: Callable[[np.ndarray], np.ndarray]) -> Patch:
    """A drafter whose tokens are drawn from ``law(row)`` while it reports the row."""

    def make(propose):
        return lambda self, tokens, gamma, coins, more: propose(
            self, tokens, gamma, with_noise(coins, Redrawing(coins.noise, law)), more
        )

    return wraps(kind, "propose", make)


def reports(kind: type, change: Callable[[Draft], np.ndarray]) -> Patch:
    """A drafter that reports other rows than it drew from."""

    def make(propose):
        def wrapped(self, *args):
            draft = yield from ask_for(propose(self, *args))
            return Draft(draft.tokens, change(draft), draft.parents) if len(draft) else draft

        return wrapped

    return wraps(kind, "propose", make)


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
    return wrong(residual=lambda p, q: normalised(np.abs(p - q)))


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
    return wrong(residual=lambda p, q: normalised(np.maximum(p - q, 0.0) + 1e-3))


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


@mutant(1, "law of match")
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


def _siblings_report(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Patch:
    def make(pick):
        return lambda self, probs, *args: [(token, change(probs, row)) for token, row in pick(self, probs, *args)]

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

    return _answers(lambda target, tokens, draft, answer: answer()[::-1])


@dataclasses.dataclass(frozen=True)
class Instead(Ask):
    """Asks for logits, and is answered in another way."""

    how: Callable[[], Any]

    def answer(self):
        return self.how()


def _answers(how: Callable[..., Any]) -> Patch:
    """What the loop asks of the target for a draft is answered by ``how(target, tokens, draft, answer)``."""

    def make(ask_target):
        def wrapped(target, tokens, draft):
            ask = ask_target(target, tokens, draft)
            committed = list(tokens)
            return Instead(ask.session, ask.tokens, ask.num_logits, lambda: how(target, committed, draft, ask.answer))

        return wrapped

    return wraps(loop, "ask_target", make)


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

    return _answers(how)


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
        law = normalised(block.block_residual(survived[kept], target_probs[kept], draft.probs[kept]))
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

    return mock.patch.object(api, "Stream", new_stream)


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
    return mock.patch.object(api, "TreeSession", ForgetsToRollBack)


@mutant(7, "law of rejection")
def target_cache_keeps_one_too_many():
    """One rejected draft stays in the target's cache."""
    return mock.patch.object(api, "TreeSession", KeepsOneTooMany)


@mutant(7, "law of rejection")
def rollback_without_assignment():
    """The trimmed list is computed and thrown away."""
    return mock.patch.object(api, "TreeSession", NeverGoesBack)


@mutant(7, "cost of the target")
def target_cache_keeps_one_too_few():
    """Right output; a token is fed twice per step."""
    return mock.patch.object(api, "TreeSession", KeepsOneTooFew)


@mutant(7, "cost of the target")
def target_starts_again_after_a_rejection():
    """Right output; the whole text is fed again."""
    return mock.patch.object(api, "TreeSession", StartsAgain)


@mutant(7, "cost of the target")
def slice_up_to_minus_zero():
    """tokens[:-0] empties the cache where nothing is to be dropped. Right output, wasted work."""
    return mock.patch.object(api, "TreeSession", DropsLastTokens)


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

    return _answers(how)


@mutant(7, "greedy identity")
def positions_are_not_rewound():
    """Position ids count fed tokens instead of the text's."""
    return mock.patch.object(api, "TreeSession", CountsPositionsOn)


@mutant(7, "greedy identity")
def layer_skip_leaves_its_rows_in_the_targets_cache():
    """The drafts' rows of the first layers count as the target's."""

    def make(propose):
        def wrapped(self, *args):
            cache, length = self._target.cache, self._target.length
            draft = yield from propose(self, *args)
            cache.lengths[:] = min(cache.capacity - 8, length + 1) if len(draft) else length
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


# ── 8: end of text, budget, context ─────────────────────────────────────────────────────────────────────────────────


@mutant(8, "law of eos")
def eos_is_looked_for_at_the_end_of_a_block():
    """Stopping rules see only the last token of a step."""

    def advance(self, tokens, sources):
        released = []
        for token, source in zip(tokens, sources, strict=True):
            pieces, self.finish, _ = self._stopper.push(token, source)
            released += pieces
        self.tokens += tokens
        self.pieces.append(released)
        return len(tokens)

    return mock.patch.object(Transcript, "_advance", advance)


@mutant(8, "law of eos")
def tokens_after_eos_are_kept():
    """The text ends, but the rest of the block stays."""

    def make(advance):
        def wrapped(self, tokens, sources):
            kept = advance(self, tokens, sources)
            self.tokens += tokens[kept:]
            return len(tokens)

        return wrapped

    return wraps(Transcript, "_advance", make)


@mutant(8, "ends")
def eos_in_the_prompt_ends_the_text():
    """An end-of-text token is looked for in the whole sequence."""

    def make(rebuild):
        def wrapped(self):
            rebuild(self)
            if set(self._prompt) & self._stopper._limits.eos_token_id:
                self.finish = Finish("eos")

        return wrapped

    return wraps(Transcript, "rebuild", make)


@mutant(8, "ends")
def budget_counts_the_prompt():
    """max_tokens is taken for the length of prompt and text."""

    def limits(max_tokens, *args):
        return Limits(max(0, max_tokens - len(PROMPT)), *args)

    return mock.patch.object(api, "Limits", limits)


@mutant(8, "ends")
def budget_is_one_short():
    """The text ends one token early."""
    return mock.patch.object(api, "Limits", lambda max_tokens, *args: Limits(max(0, max_tokens - 1), *args))


@mutant(8, "ends")
def the_first_token_is_dropped():
    """The result begins with the second token."""
    shorter = property(lambda self: _generation(self, lambda ids: ids[1:]))
    return mock.patch.object(Stream, "generation", shorter)


_real_generation = Stream.generation.fget


def _generation(stream: Stream, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    generation = _real_generation(stream)
    return dataclasses.replace(generation, token_ids=change(generation.token_ids))


@mutant(8, "ends")
def the_last_slot_of_the_context_is_not_used():
    """The context limit is one too small."""
    return mock.patch.object(api, "Limits", lambda budget, context, *args: Limits(budget, context - 1, *args))


@mutant(8, "law of small window")
def the_drafts_window_limits_the_text():
    """The context limit is the smaller model's."""
    return mock.patch.object(api, "Limits", lambda budget, context, *args: Limits(budget, min(context, 4), *args))


@mutant(8, "cost of the last step")
def gamma_is_not_clipped_to_the_room():
    """Drafts are made that can never be emitted."""
    return mock.patch.object(Transcript, "room", property(lambda self: 99))


@mutant(8, "cost of the last step")
def one_draft_although_one_token_is_left():
    """The room is not reduced by the token the target adds."""
    return mock.patch.object(Transcript, "room", property(lambda self: self._stopper.room + 1))


@mutant(8, "law of stop string")
def stop_strings_within_one_token_only():
    """A stop string that spans tokens is missed."""

    def make(find):
        def wrapped(self, text):
            held, self._held = self._held, []
            try:
                return find(self, text)
            finally:
                self._held = held

        return wrapped

    return wraps(HeldText, "find_stop", make)


@mutant(8, "law of stop string")
def the_stop_string_stays_in_the_text():
    """The text is cut behind the first character of the stop string."""
    return wraps(HeldText, "cut", lambda cut: lambda self, piece, begin: cut(self, piece, begin + 1))


@mutant(8, "law of minimum length")
def minimum_length_is_one_too_long():
    """The end is forbidden for one token more."""

    def make(process):
        def wrapped(self, row, prefix):
            params = self.params
            longer = dataclasses.replace(params, min_tokens=params.min_tokens + (params.min_tokens > 0))
            return process(dataclasses.replace(self, params=longer), row, prefix)

        return wrapped

    return wraps(Sampler, "_process", make)


# ── 9: figures ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _figures(change: Callable[[Metrics, Any], dict[str, Any]]) -> Patch:
    real = Metrics.from_steps

    def from_steps(steps, *args):
        figures = real(steps, *args)
        return dataclasses.replace(figures, **change(figures, steps))

    return mock.patch.object(Metrics, "from_steps", staticmethod(from_steps))


@mutant(9, "worked example")
def alpha_is_accepted_by_drafted():
    """The rest of a rejected draft counts against alpha."""
    return _figures(lambda m, steps: {"alpha": m.draft_acceptance_rate})


@mutant(9, "worked example")
def the_bonus_counts_as_accepted():
    """Full acceptance counts one more."""
    return _figures(
        lambda m, steps: {"num_accepted_tokens": m.num_accepted_tokens + sum("bonus" in s.sources for s in steps)}
    )


@mutant(9, "worked example")
def recovered_tokens_count_as_accepted():
    """Every token but the bonus counts as a draft."""
    return _figures(
        lambda m, steps: {"num_accepted_tokens": m.num_accepted_tokens + sum("recovered" in s.sources for s in steps)}
    )


@mutant(9, "figures of the last step")
def drafted_is_gamma_times_steps():
    """A draft that was cut short counts in full."""
    return _figures(lambda m, steps: {"num_draft_tokens": 3 * len(steps)})


@mutant(9, "worked example")
def everything_drafted_counts_as_evaluated():
    """Drafts behind a rejection count as tested."""
    return _figures(lambda m, steps: {"num_evaluated_tokens": m.num_draft_tokens})


@mutant(9, "worked example")
def the_prompt_counts_as_generated():
    """Tokens per second with the prompt in them."""
    return _figures(lambda m, steps: {"num_tokens": m.num_tokens + m.num_prompt_tokens})


@mutant(9, "worked example")
def acceptance_length_without_the_targets_token():
    """Accepted drafts per step are called tokens per step."""
    return _figures(lambda m, steps: {"mean_acceptance_length": m.num_accepted_tokens / max(1, m.num_steps)})


@mutant(9, "worked example")
def acceptance_per_position_counts_exactly():
    """Entry i counts the drafts of which exactly i + 1 were accepted."""
    return _figures(
        lambda m, steps: {
            "num_accepted_tokens_per_pos": tuple(sum(s.num_accepted == i + 1 for s in steps) for i in range(4))
        }
    )


# ── 10: state, noise, filters, ties ─────────────────────────────────────────────────────────────────────────────────


@mutant(10, "same seed of plain decoding")
def seed_zero_is_no_seed():
    """``seed or 1``."""

    def make(init):
        return lambda self, seed, *row: init(self, seed or 1, *row)

    return wraps(PhiloxNoise, "__init__", make)


@mutant(10, "same seed under match")
def noise_is_a_stream():
    """Each read takes the next numbers, whatever its address."""

    def make(words):
        def wrapped(self, at):
            self.reads = getattr(self, "reads", 0) + 1
            return words(self, Address("sample", self.reads))

        return wrapped

    return wraps(PhiloxNoise, "_words", make)


@mutant(10, "same seed without drafts")
def a_step_without_drafts_has_noise_of_its_own():
    """With gamma 0 the token is drawn with bonus noise."""
    return wrong(plain=lambda coins, probs: coins.bonus(0, probs))


def _sample_noise_by_step(coins: Coins) -> Coins:
    def move(at):
        return at._replace(step=coins.step) if at.purpose == "sample" else at

    return with_noise(coins, Readdressed(coins.noise, move))


@mutant(10, "same seed under match")
def match_with_noise_by_step():
    """The target's draws are addressed by the step too."""

    def verify(draft, target_probs, coins):
        return match.verify(draft, target_probs, _sample_noise_by_step(coins))

    return rule("match", verify)


@mutant(10, "same seed under gumbel")
def gumbel_with_noise_by_step():
    """Draft and target share noise, but it is addressed by the step too."""
    verify = registry._PLAIN["gumbel"].verify

    def by_step(draft, target_probs, coins):
        return verify(draft, target_probs, _sample_noise_by_step(coins))

    def make(propose):
        return lambda self, tokens, gamma, coins, more: propose(self, tokens, gamma, _sample_noise_by_step(coins), more)

    return both(rule("gumbel", by_step), wraps(ModelDrafter, "propose", make))


@mutant(10, "acceptance of gumbel")
def gumbel_without_its_coupling():
    """The draft draws with noise of its own: the same text, fewer acceptances."""

    def make(propose):
        def wrapped(self, *args):
            self.coupled = False
            return propose(self, *args)

        return wrapped

    return wraps(base.ChainDrafter, "propose", make)


@mutant(10, "same seed with fallback")
def a_pause_draws_with_other_noise():
    """While the fallback rests, tokens come from other noise: it changes the text."""

    def verify(draft, target_probs, coins):
        if len(draft):
            return match.verify(draft, target_probs, coins)
        return Verdict(0, coins.bonus(0, target_probs[0]), "plain")

    return rule("match", verify)


@mutant(10, "law of fallback")
def a_pause_skips_the_filters():
    """While the fallback rests, single rows are drawn from without top-k."""

    def make(rows):
        def wrapped(self, logits, prefixes):
            plain = dataclasses.replace(self, params=dataclasses.replace(self.params, top_k=0))
            return rows(plain if len(logits) == 1 else self, logits, prefixes)

        return wrapped

    return wraps(Sampler, "rows", make)


@mutant(10, "law of cascade")
def cascade_shares_its_coins():
    """The inner verification reads the outer one's coins."""
    return wraps(
        cascade,
        "replace",
        lambda replace: lambda coins, **fields: coins if list(fields) == ["level"] else replace(coins, **fields),
    )


@mutant(10, "law of temperature")
def temperature_is_applied_twice():
    """The row is divided by the temperature once more."""
    return wraps(
        sampler,
        "distribution",
        lambda distribution: (
            lambda logits, params: distribution(logits, dataclasses.replace(params, temperature=params.temperature**2))
        ),
    )


@mutant(10, "law of ties")
def top_k_keeps_all_ties():
    """Tokens that tie for the last place all stay."""

    def top_k(probs, k):
        return processors._keep(probs, np.flatnonzero(probs >= np.sort(probs)[-min(k, len(probs))]))

    return processing(top_k=top_k)


@mutant(10, "law of top-p")
def top_p_drops_the_crossing_token():
    """The token with which the mass reaches p is left out."""

    def top_p(probs, p):
        order = np.argsort(-probs, kind="stable")
        inside = int(np.searchsorted(np.cumsum(probs[order]), p))
        return probs if p >= 1.0 else processors._keep(probs, order[: max(1, inside)])

    return processing(top_p=top_p)


@mutant(10, "law of min-p")
def min_p_is_absolute():
    """Tokens below p itself are dropped, not below p times the largest."""

    def min_p(probs, p):
        kept = np.flatnonzero(probs >= p)
        return processors._keep(probs, kept if len(kept) else np.array([np.argmax(probs)]))

    return processing(min_p=min_p)


@mutant(10, "law of top-k")
def filters_do_not_renormalise():
    """Dropped tokens leave their mass missing."""

    def keep(probs, tokens):
        kept = np.zeros_like(probs)
        kept[tokens] = probs[tokens]
        return kept

    return processing(_keep=keep)


@mutant(10, "law of token zero")
def token_zero_is_no_token():
    """``if token and token in eos``: an end-of-text token with id 0 ends nothing."""

    def make(push):
        def wrapped(self, token, source):
            limits = self._limits
            self._limits = dataclasses.replace(limits, eos_token_id=limits.eos_token_id - {0})
            try:
                return push(self, token, source)
            finally:
                self._limits = limits

        return wrapped

    return wraps(Stopper, "push", make)


@mutant(10, "rows are read only")
def residual_in_place():
    """p - q is written into the target's row."""

    def residual(p, q):
        np.subtract(p, q, out=p)
        return normalised(np.maximum(p, 0.0))

    return wrong(residual=residual)


@mutant(10, "law of repetition")
def repetition_forgets_the_prompt():
    """Only generated tokens count as repeated."""
    return wraps(
        history,
        "repetition_penalty",
        lambda penalise: lambda logits, tokens, penalty: penalise(logits, tokens[len(PROMPT) :], penalty),
    )


@mutant(10, "law of presence and frequency")
def presence_counts_the_prompt():
    """Tokens of the prompt count as generated."""
    return wraps(
        history,
        "presence_and_frequency",
        lambda penalise: lambda logits, generated, *penalties: penalise(logits, [*PROMPT, *generated], *penalties),
    )


@mutant(10, "law of presence and frequency")
def frequency_counts_once():
    """The frequency penalty ignores how often a token occurred."""
    return wraps(
        history,
        "presence_and_frequency",
        lambda penalise: lambda logits, generated, *penalties: penalise(logits, sorted(set(generated)), *penalties),
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
        certain = Draft(draft.tokens, base.one_hot(draft.tokens, target_probs.shape[1]))
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
    return reports(CascadeDrafter, lambda draft: base.one_hot(draft.tokens, draft.probs.shape[1]))
