"""A faster draft or a better one."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.engine.model.cache import KVCache
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.sampling import SamplingParams
from minispec.engine.sampling.draw import distribution
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import alpha, time_texts
from minispec.lab.ledger.runs import CODE_DRAFT, DRAFT, SMALL_DRAFT, Sample, decode_texts, model, of_each_kind
from minispec.lab.ledger.verdicts import Finding, Interval, above, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars
from minispec.theory import speedup, tau

GAMMA = 3
SLOW_FORWARDS = 7  # make a drafted token, its draw included, about three times as dear
SLIGHT_NOISE = 0.5
SLOWER, WORSE = f"{DRAFT}, {SLOW_FORWARDS} forwards each", f"{DRAFT}, noise {SLIGHT_NOISE:g}"

ABOUT = About(
    title="The draft's latency matters more than its perplexity",
    claim="A draft's perplexity hardly correlates with the speedup; its latency decides. A slightly worse draft "
    "that is three times as fast wins.",
    sources=("pan-practice",),
    kind="timed",
    instrument="Three bundled drafts; one of them made slower by running its pass several times, or worse by "
    "noise on its logits; all timed in turns.",
    literature="Yan, Agarwal and Venkataraman 2024 (NAACL 2025), over 350 experiments: speed depends heavily on the "
    "draft's latency and does not correlate strongly with its quality as a language model; a draft "
    "that they designed for the hardware gives 111 % more throughput than the drafts there were.",
    thresholds={"speedup": 1.0, "gamma": GAMMA, "slow_forwards": SLOW_FORWARDS, "slight_noise": SLIGHT_NOISE},
)


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
        length = cache.length
        for _ in range(self._times - 1):
            self._inner.forward(tokens, cache, num_logits, **chain)
            cache.rollback(length)
        logits = self._inner.forward(tokens, cache, num_logits, **chain)
        if not self._noise:
            return logits
        first = length + len(tokens) - len(logits)
        spoilt = [_draw_noise(first + i, logits.shape[1]) for i in range(len(logits))]
        return logits + np.float32(self._noise) * np.asarray(spoilt, np.float32).reshape(logits.shape)


@functools.lru_cache(maxsize=1024)  # of a context: it must not cost the draft time
def _draw_noise(position: int, size: int) -> NDArray[np.float32]:
    """Return the noise of a position, (V,)."""
    return np.random.default_rng(position).standard_normal(size, np.float32)


def measure(setting: Setting) -> Figures:
    """Time six drafts in turns; score each on text the target wrote."""
    scale = setting.scale
    drafts: dict[str, Any] = {
        DRAFT: model(DRAFT),
        SMALL_DRAFT: model(SMALL_DRAFT),
        CODE_DRAFT: model(CODE_DRAFT),
        SLOWER: Altered(model(DRAFT), times=SLOW_FORWARDS),
        WORSE: Altered(model(DRAFT), noise=SLIGHT_NOISE),
        f"{DRAFT}, noise 1.5": Altered(model(DRAFT), noise=1.5),
    }
    texts, tokens = of_each_kind(scale.timed), scale.tokens
    ways = {name: {"draft": draft, "gamma": GAMMA} for name, draft in drafts.items()}
    times = time_texts({"plain": {"draft": None}, **ways}, texts, tokens, scale.text_rounds)
    written = [runs[0] for runs in decode_texts(texts, scale.tokens, draft=None)]
    found: list[dict[str, Any]] = []
    for name, draft in drafts.items():
        costs = times.costs("plain", name)
        found.append(
            {
                "draft": name,
                "perplexity": _perplexity(draft, written),
                "alpha": alpha(times.metrics[name]),
                "c": costs.cost_ratio,
                "v": costs.verify_cost + costs.overhead,
                "speedup": times.faster("plain", name, len(drafts)),
            }
        )
    pairs = list(combinations(drafts, 2))
    return {
        "drafts": found,
        "faster_over_better": times.faster(SLOWER, WORSE),
        "orders": [{"pair": [a, b], "faster": times.faster(a, b, of=len(pairs))} for a, b in pairs],
    }


def _perplexity(draft: LanguageModel, written: Sequence[Sample]) -> float:
    """Return exp of the mean cross-entropy of a draft on what the target wrote."""
    losses: list[float] = []
    for run in written:
        start, tokens = len(run.prompt), run.text
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


def _orders(figures: Figures, by: str) -> tuple[int, int]:
    """Return of how many pairs of drafts a lower ``by`` foretells the faster one, and of how many.

    Counted are pairs whose speeds clearly differ; a ``by`` that is the same for both foretells nothing.
    """
    value = {draft["draft"]: draft[by] for draft in figures["drafts"]}
    clear = [
        (value[a], value[b], second)
        for (a, b), second in ((each["pair"], above(each["faster"], 1.0)) for each in figures["orders"])
        if second is not None
    ]
    return sum(b < a if second else a < b for a, b, second in clear), len(clear)


def _spread(drafts: Sequence[dict[str, Any]], read: Callable[[dict[str, Any]], float]) -> float:
    """Return by how much the largest of some figures exceeds the smallest, as a factor."""
    values = [read(draft) for draft in drafts]
    return max(values) / min(values)


def conclude(figures: Figures) -> Conclusion:
    """Tally two answers.

    Is a slightly worse draft faster than the better one made about three times as dear; and of the pairs of drafts
    whose speeds clearly differ, does a lower c foretell more than a lower perplexity does.
    """
    drafts = figures["drafts"]
    better = drafts[0]
    slower, worse = (next(f for f in drafts if f["draft"] == name) for name in (SLOWER, WORSE))
    gain = Interval(*figures["faster_over_better"])
    weights = _elasticities(better["alpha"][0], better["c"], better["v"])
    (by_c, clear), (by_perplexity, _) = _orders(figures, "c"), _orders(figures, "perplexity")
    lead = by_c - by_perplexity
    word = tally([above(gain, 1.0), None if not lead else lead > 0])
    rows = [(f["draft"], f"{f['perplexity']:.0f}", f["alpha"], f"{f['c']:.2f}", f["speedup"]) for f in drafts]
    return Conclusion(
        f"One per cent more α changes the speedup by {weights['alpha']:+.2f} %, one per cent more c by "
        f"{weights['c']:+.2f} %, at γ = {GAMMA} and this draft's α, c and v. Which weighs more depends on them: at α = "
        "0.3, c = 0.5 and v = 1 it is c. And it counts by how much drafts differ in each: of these the dearest token "
        f"costs {_spread(drafts, lambda f: f['c']):.1f} times the cheapest, the largest α is "
        f"{_spread(drafts, lambda f: f['alpha'][0]):.1f} times the smallest.",
        "Drafts of the bundled target at temperature 1, perplexity on text the target wrote:"
        + table(("draft", "perplexity", "α", "c", "speedup"), rows)
        + f"\n\nOf the {len(figures['orders'])} pairs of drafts {clear} clearly differ in speed. Which is "
        f"faster a lower c foretells in {by_c} of them, a lower perplexity in {by_perplexity}.",
        Finding(
            word,
            f"With {worse['c'] / slower['c']:.0%} of the cost per token and an α of {worse['alpha'][0]:.2f} instead of "
            f"{slower['alpha'][0]:.2f}, {WORSE} is {gain} times as fast as {SLOWER}."
            + ("" if word == "holds here" else " Neither latency nor perplexity decides alone; α against c does."),
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups."""
    return bars(
        "The same draft slower, worse, and other drafts",
        "draft",
        "speedup, temperature 1",
        [f["draft"].replace("draft-", "").replace(", ", "\n") for f in figures["drafts"]],
        {"speedup": [f["speedup"] for f in figures["drafts"]]},
        lines=PLAIN,
    )
