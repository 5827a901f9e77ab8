"""A faster draft or a better one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minispec.analysis.timer import interleave
from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import (
    CODE_DRAFT,
    DRAFT,
    SMALL_DRAFT,
    alpha,
    decode,
    model,
    one_of_each,
    ratios,
    seconds_per_token,
)
from minispec.experiments.verdicts import Interval, Verdict, above, difference, tally
from minispec.model.cache import KVCache
from minispec.model.language_model import LanguageModel
from minispec.sampling import SamplingParams
from minispec.sampling.draw import distribution
from minispec.theory import speedup, tau
from minispec.viz.plots.claims import Chart, with_errors

GAMMA = 3


class Altered:
    """A draft model made slower (its forward is run several times) or worse (noise on its logits).

    Parameters
    ----------
    inner : LanguageModel
    times : int
        Forwards per forward.
    noise : float
        Standard deviation of what is added to each logit; a function of the position.
    """

    def __init__(self, inner: LanguageModel, times: int = 1, noise: float = 0.0) -> None:
        self._inner, self._times, self._noise = inner, times, noise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def forward(self, tokens: Sequence[int], cache: KVCache, num_logits: int | None = None, **chain: Any) -> Any:
        """Run the model's forward, as often and as badly as asked for."""
        length = cache.length()
        for _ in range(self._times - 1):
            self._inner.forward(tokens, cache, num_logits, **chain)
            cache.rollback(length)
        logits = self._inner.forward(tokens, cache, num_logits, **chain)
        if not self._noise:
            return logits
        first = length + len(tokens) - len(logits)
        spoilt = [np.random.default_rng(first + i).standard_normal(logits.shape[1]) for i in range(len(logits))]
        return (logits + self._noise * np.asarray(spoilt).reshape(logits.shape)).astype(np.float32)


def measure(setting: Setting) -> Figures:
    """Time seven drafts in turns; score each on text the target wrote."""
    scale = setting.scale
    drafts: dict[str, Any] = {
        DRAFT: model(DRAFT),
        SMALL_DRAFT: model(SMALL_DRAFT),
        CODE_DRAFT: model(CODE_DRAFT),
        f"{DRAFT}, 2x slower": Altered(model(DRAFT), times=2),
        f"{DRAFT}, 4x slower": Altered(model(DRAFT), times=4),
        f"{DRAFT}, noise 0.5": Altered(model(DRAFT), noise=0.5),
        f"{DRAFT}, noise 1.5": Altered(model(DRAFT), noise=1.5),
    }
    texts, tokens = one_of_each(), scale.tokens // 2
    runs = {name: seconds_per_token(texts, tokens, draft=draft, gamma=GAMMA) for name, draft in drafts.items()}
    times = interleave({"plain": seconds_per_token(texts, tokens, draft=None), **runs}, scale.repeats)
    plain = sorted(times["plain"])[scale.repeats // 2]
    written = [(len(text), [*text, *decode(text, scale.tokens, draft=None).token_ids]) for text in texts]
    found: list[dict[str, Any]] = []
    for name, draft in drafts.items():
        made = [decode(text, tokens, draft=draft, gamma=GAMMA, seed=i) for i, text in enumerate([*texts, *texts])]
        found.append(
            {
                "draft": name,
                "perplexity": _perplexity(draft, written),
                "alpha": alpha(made),
                "c": sum(r.metrics.draft_s for r in made) / sum(r.metrics.num_draft_tokens for r in made) / plain,
                "v": sum(r.metrics.target_s for r in made) / sum(r.metrics.num_steps for r in made) / plain,
                "speedup": ratios(times, "plain", name),
            }
        )
    first = found[0]
    return {"drafts": found, "elasticity": _elasticities(first["alpha"][0], first["c"], first["v"])}


def _perplexity(draft: LanguageModel, written: Sequence[tuple[int, list[int]]]) -> float:
    """Return exp of the mean cross-entropy of a draft on what the target wrote."""
    losses: list[float] = []
    for start, tokens in written:
        logits = draft.forward(tokens[:-1], draft.new_cache(capacity=len(tokens)))[start - 1 :]
        probs = distribution(logits, SamplingParams(temperature=1.0, top_p=1.0))
        losses += (-np.log(np.maximum(probs[np.arange(len(probs)), tokens[start:]], 1e-300))).tolist()
    return math.exp(sum(losses) / len(losses))


def _elasticities(a: float, c: float, v: float) -> dict[str, float]:
    """Return by how many per cent the speedup changes for one per cent of alpha, and of c, by the formula."""

    def eta(a: float, c: float) -> float:
        return math.log(speedup(tau(min(1.0, a), GAMMA), GAMMA, c, v))

    step = math.log(1.02)
    return {"alpha": (eta(a * 1.01, c) - eta(a / 1.01, c)) / step, "c": (eta(a, c * 1.01) - eta(a, c / 1.01)) / step}


def conclude(figures: Figures) -> Conclusion:
    """Tally two answers: does the worse, faster draft win; does one per cent of c weigh more than one of alpha."""
    better, faster = figures["drafts"][0], figures["drafts"][1]
    gap = difference(faster["speedup"], better["speedup"])
    weights = figures["elasticity"]
    answers = [above(gap, 0.0), abs(weights["c"]) > abs(weights["alpha"])]
    rows = [
        (f["draft"], f"{f['perplexity']:.0f}", Interval(*f["alpha"]), f"{f['c']:.2f}", Interval(*f["speedup"]))
        for f in figures["drafts"]
    ]
    return Conclusion(
        f"One per cent more α changes the speedup by {weights['alpha']:+.2f} %, one per cent more c by "
        f"{weights['c']:+.2f} %, at γ = {GAMMA} and this draft's α, c and v: α always weighs more, as −γc/(γc + v) "
        "lies above −1. But drafts differ by factors in cost and by a few per cent in α.",
        "Drafts of the bundled target at temperature 1, perplexity on text the target wrote:"
        + table(("draft", "perplexity", "α", "c", "speedup"), rows),
        Verdict(
            tally(answers),
            f"{faster['draft']} costs {faster['c'] / better['c']:.0%} of {better['draft']} and has an α of "
            f"{faster['alpha'][0]:.2f} instead of {better['alpha'][0]:.2f}: {gap.value:+.2f} in speedup. Neither "
            "latency nor perplexity decides alone; what counts is α against c, and perplexity says little of α once "
            "it is mixed over texts.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups."""
    return Chart(
        "The same draft slower, worse, and other drafts", "draft", "plain / speculative, temperature 1",
        (with_errors("speedup", (), [f["speedup"] for f in figures["drafts"]]),),
        categories=[f["draft"].replace("draft-", "").replace(", ", "\n") for f in figures["drafts"]],
        lines=(("plain", 1.0),),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="draft-latency",
    title="The draft's latency matters more than its perplexity",
    claim="A draft's perplexity hardly correlates with the speedup; its latency decides. A slightly worse draft "
    "that is three times as fast wins.",
    seeds=("001",),
    kind="timed",
    instrument="Three bundled drafts; one of them made slower by running its forward several times, or worse by "
    "noise on its logits; all timed in turns.",
    measure=measure,
    conclude=conclude,
    chart=chart,
)
