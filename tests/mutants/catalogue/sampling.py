"""Wrong distributions and wrong noise."""

from __future__ import annotations

import dataclasses

import numpy as np

from minispec.engine.drafters import (
    ModelDrafter,
    base,
    cascade,
)
from minispec.engine.generation.stopping import Stopper
from minispec.engine.noise import Address, Coins, race
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Verdict
from minispec.engine.sampling import Sampler, _kernels, history, processors, sampler
from minispec.engine.verifiers import match, registry
from tests.engine.laws.space import PROMPT

from ..rules import normalise
from .tools import (
    Readdressed,
    both,
    change,
    mutant,
    processing,
    rule,
    with_noise,
    wraps,
    wrong,
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
        return normalise(np.maximum(p, 0.0))

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


# ── filters and penalties ───────────────────────────────────────────────────────────────────────────────────────────

change(
    10, "filters", "ties at the cut are all kept", "Tokens that weigh as much as the last one kept stay, whatever ids.",
    _kernels, "_keep", "(weights[i] == cut and i > last)", "False",
)  # fmt: skip
change(
    10, "filters", "a filter takes one token too many", "The cut goes on until the target is exceeded.",
    _kernels, "_find_cut", "taken < count and reached + taken * each < target",
    "taken < count and reached + taken * each <= target",
)  # fmt: skip
change(
    10, "filters", "the search goes on behind its target", "A bucket that reaches the target exactly is passed over.",
    _kernels, "_find_cut", "reached + sums[bucket] < target", "reached + sums[bucket] <= target",
)  # fmt: skip
change(
    10, "filters", "the nuclear floor is too high", "top-p looks only at tokens of the mean weight and more.",
    _kernels, "_filter", "0.5 * (1.0 - top_p) * total / size", "total / size",
)  # fmt: skip
change(
    10, "filters", "min-p of the sum", "Dropped below p times the sum of the weights, not times the largest.",
    _kernels, "_filter", "_keep(x, min_p, size)", "_keep(x, min(1.0, min_p * _add_up(x)), size)",
)  # fmt: skip
change(
    10, "filters", "all but one are all", "top-k of one token fewer than there are keeps all.",
    _kernels, "_filter", "0 < top_k < size", "0 < top_k < size - 1",
)  # fmt: skip
change(
    10, "filters", "heat is left out", "Temperatures above 1 count as 1.",
    _kernels, "_filter", "temperature != 1.0", "temperature < 1.0",
)  # fmt: skip
change(
    10, "filters", "a sum leaves out its odd end",
    "Where the vocabulary is no multiple of eight, the rest weighs nothing.",
    _kernels, "_add_up", "range(whole, x.shape[0])", "range(whole, whole)",
)  # fmt: skip
change(
    10, "exponential", "small weights are no weights", "exp(x) is 0 from -700 down, where float64 reaches -745.",
    _kernels, "exponential", "t = -800.0 if x[i] < -800.0", "t = -800.0 if x[i] < -700.0",
)  # fmt: skip
change(
    10, "exponential", "a term is missing", "The polynomial of exp ends three terms early.",
    _kernels, "exponential", "(_C10 + r * (_C11 + r * (_C12 + r * _C13)))", "_C10",
)  # fmt: skip
change(
    10, "filters", "unlikely tokens are impossible", "What weighs less than exp(-3) of the likeliest may be left out.",
    _kernels, "_process_row", "_VANISHES", "-3.0",
)  # fmt: skip
change(
    10, "broken rows", "only a first NaN is seen", "A NaN behind the first token passes for a small logit.",
    _kernels, "_find_largest", "if not x[i] <= best", "if x[i] > best",
)  # fmt: skip
change(
    10, "tiny temperatures", "dividing comes before subtracting", "A tiny temperature makes infinity minus infinity.",
    _kernels, "_filter", "x[i] -= best  #", "x[i] = x[i] / temperature - best / temperature  #",
)  # fmt: skip
change(
    10, "logits are read only", "float64 logits are processed in place", "np.asarray where np.array was meant.",
    sampler, "distribution", "np.array(logits", "np.asarray(logits",
)  # fmt: skip
change(
    10, "long histories", "repetition looks back 64 tokens", "What occurred earlier may be repeated.",
    history, "repetition_penalty", "np.asarray(tokens, np.int64)", "np.asarray(tokens[-64:], np.int64)",
)  # fmt: skip
change(
    10, "long histories", "presence looks back 64 tokens", "What was generated earlier does not count.",
    history, "presence_and_frequency", "np.asarray(generated, np.int64)", "np.asarray(generated[-64:], np.int64)",
)  # fmt: skip
change(
    10, "long histories", "positive logits are multiplied",
    "A penalty makes a repeated token of positive logit likelier.",
    history, "repetition_penalty", "logits[seen] / penalty", "logits[seen] * penalty",
)  # fmt: skip
change(
    10, "long histories", "a chains rows follow one token fewer", "Row i is processed with the prefix of row i - 1.",
    Sampler, "__call__", "len(tokens) - len(logits) + 1", "len(tokens) - len(logits)",
)  # fmt: skip
change(
    10, "minimum length under a form", "minimum length forbids the only end",
    "A form that leaves only the end of the text leaves nothing.",
    Sampler, "_process", " and not self._only_eos(logits)", "",
)  # fmt: skip
change(
    10, "minimum length under a form", "one end among others is the only one",
    "Minimum length gives way as soon as a form allows the end.",
    Sampler, "_only_eos", "possible <= self.eos_token_id", "not possible.isdisjoint(self.eos_token_id)",
)  # fmt: skip

# ── noise ───────────────────────────────────────────────────────────────────────────────────────────────────────────

change(
    10, "races", "level and node share bits", "Node 65536 of level 0 has the noise of level 1.",
    PhiloxNoise, "_words", "level << 32 | node", "level << 16 | node",
)  # fmt: skip
change(
    10, "races", "row and purpose share bits", "Samples of one seed read each other's noise under another purpose.",
    PhiloxNoise, "_words", "self.row << 8 |", "self.row |",
)  # fmt: skip
change(
    10, "races", "blocks follow the support", "A sparse row goes on to the next four numbers after four tokens.",
    race, "find_winner", "if token // 4 != current:", "if i % 4 == 0:",
)  # fmt: skip
change(
    10, "races", "uniforms run the race", "u / p in place of -log(1 - u) / p: the winner's law is another.",
    race, "find_winner", "time = -math.log1p(-u) / prob", "time = u / prob",
)  # fmt: skip
change(
    10, "subnormal supports", "a race that nobody ends has no winner", "A token whose time is infinite cannot win.",
    race, "find_winner", "if first < 0 or time < earliest", "if time < earliest",
)  # fmt: skip
change(
    10, "near certain coins", "nearly certain is certain", "A probability above 0.999 needs no coin.",
    PhiloxNoise, "bernoulli", "if prob <= 0.0 or prob >= 1.0:",
    "if prob > 0.999:\n        return True\n    if prob <= 0.0:",
)  # fmt: skip
change(
    10, "near certain coins", "coins of 32 bits", "A uniform keeps the upper half of its word.",
    race, "_unit", "np.float64(word >> _DROPPED) * 2.0**-53", "np.float64(word >> np.uint64(32)) * 2.0**-32",
)  # fmt: skip
