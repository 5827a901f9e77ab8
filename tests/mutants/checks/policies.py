"""How many tokens to draft: each policy's decisions, worked out by hand or derived again from all it has seen."""

from __future__ import annotations

import itertools
import math
import random
import tempfile
from pathlib import Path

import numpy as np

from minispec.engine.control import AutoGamma, ConfidenceGamma, Fallback, FixedGamma, HeuristicGamma, ReplayedGamma
from minispec.engine.control import fallback as fallbacks
from minispec.engine.control.gamma import UNLIMITED
from minispec.engine.control.registry import get_policy
from minispec.engine.generation.events import Drafted, Prefilled
from minispec.engine.generation.trace import to_line
from minispec.engine.records import Step, Verdict

from .base import check


def _step(drafted: int, accepted: int, draft_s: float = 0.0, step_s: float = 0.0, index: int = 0) -> Step:
    verdict = Verdict(accepted, 0, "recovered" if accepted < drafted else "bonus")
    tokens = (0,) * (accepted + 1)
    sources = (*["accepted"] * accepted, verdict.source)
    return Step(index, 0, (0,) * drafted, verdict, tokens, sources, draft_s, 0.0, step_s)


@check("value", "the heuristic's schedule: two more, one less, from 1 to the largest, and no lesson without a draft")
def heuristic_schedule() -> float:
    policy, found = HeuristicGamma(4, largest=7), []
    for drafted, accepted in ((4, 4), (6, 6), (7, 6), (6, 0), (0, 0), (5, 4), (4, 0), (3, 2), (2, 1), (1, 0), (1, 1)):
        policy.observe(_step(drafted, accepted))
        found.append(policy.gamma())
    return float(found != [6, 7, 6, 5, 5, 4, 3, 2, 1, 1, 3])


@check("value", "a draft goes on while its likeliest token has the threshold's probability, exactly that included")
def confidence_threshold() -> float:
    policy = ConfidenceGamma(0.5, gamma=9)
    rows = ([0.5, 0.25, 0.25], [0.499, 0.4, 0.101], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4])
    found = [policy.more(np.array(row)) for row in rows]
    return float(found != [UNLIMITED, 0, UNLIMITED, 0] or policy.gamma() != 9)


@check("value", "a replay takes each step's length by the step's number, and 0 behind the last")
def replayed_lengths() -> float:
    policy, found = ReplayedGamma([3, 1, 4]), []
    for index in (1, 2, 2, 3, 4):  # step 2 is reported twice, as after an interruption
        found.append(policy.gamma())
        policy.observe(_step(0, 0, index=index))
    return float(found != [3, 1, 4, 4, 0] or policy.gamma() != 0 or policy.more(np.ones(1)) < 4)


@check("value", "a trace in which a step was drafted twice, and a text has line separators, replays the later draft")
def replayed_trace() -> float:
    drafts = ((1, (1, 2)), (2, (3, 4, 5)), (2, (6,)), (3, ()))
    events = [Prefilled(2, 0.1), *(Drafted(step, 2, tokens, (0.5,) * len(tokens), 0.1) for step, tokens in drafts)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        path.write_text("\n".join(to_line(event, lambda ids: "\u2028") for event in events) + "\n", encoding="utf-8")
        policy, found = get_policy(f"replay:trace={path}"), []
    for index in range(1, 5):
        found.append(policy.gamma())
        policy.observe(_step(0, 0, index=index))
    return float(found != [2, 1, 0, 0])


# ── auto ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_FADES = math.exp(-1.0 / 32.0)


class SlowAuto:
    """``AutoGamma`` from its docstring: every figure is computed anew from a list of all observations."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.steps: list[tuple[list[float], int, int, float, float]] = []

    def _acceptance(self, keys: int, find) -> tuple[np.ndarray, float]:
        seen, kept = np.zeros(keys), np.zeros(keys)
        for age, (confidences, accepted, *_) in enumerate(reversed(self.steps)):
            for place, confidence in enumerate(confidences[: accepted + 1]):
                seen[find(place, confidence)] += _FADES**age
                kept[find(place, confidence)] += _FADES**age * (place < accepted)
        mean = (kept.sum() + 2.0 * 0.7) / (seen.sum() + 2.0)
        return (kept + 4.0 * mean) / (seen + 4.0), mean

    def _line(self) -> tuple[float, float]:
        """T(1) and the time of one more row."""
        if not self.steps:
            return 1.0, 0.05
        x = np.array([len(confidences) + 1.0 for confidences, *_ in self.steps])
        y = np.array([target_s for *_, target_s in self.steps])
        w = _FADES ** np.arange(len(x))[::-1]
        w = w / w.sum()
        mean_x, mean_y = w @ x, w @ y
        variance = w @ (x - mean_x) ** 2
        if variance <= 0.05:
            first = mean_y / (1.0 + 0.05 * (mean_x - 1.0))
            return first, 0.05 * first
        slope = max(0.0, w @ ((x - mean_x) * (y - mean_y)) / variance)
        return max(mean_y + slope * (1.0 - mean_x), 0.1 * mean_y), slope

    def plan(self) -> int:
        first, self.row = self._line()
        self.by_place, _ = self._acceptance(self.largest, lambda place, confidence: place)
        self.by_bin, self.mean = self._acceptance(8, lambda place, confidence: min(7, int(8 * confidence)))
        usual = [
            step for before, step in itertools.pairwise([([], 0, 1, 0.0, 0.0), *self.steps]) if before[2] and step[2]
        ]
        w = _FADES ** np.arange(len(usual))[::-1]
        looks, spent = (float(w @ np.array([step[i] for step in usual])) if usual else 0.0 for i in (2, 3))
        self.draft = spent / looks if looks else 0.1 * first
        rates = [1.0 / first]
        for gamma in range(1, self.largest + 1):
            survivals = np.cumprod(self.by_place[:gamma])
            rates.append((1.0 + survivals.sum()) / (first + self.row * gamma + gamma * self.draft))
        self.rate, self.survival = max(rates), 1.0
        return self.largest if max(rates) > rates[0] else 0

    def more(self, place: int, confidence: float) -> int:
        a = min(1.0, self.by_place[place] * self.by_bin[min(7, int(8 * confidence))] / self.mean)
        if self.survival * a <= self.rate * self.row:
            return 0
        self.survival *= a
        last = place + 1 == self.largest
        return (
            1 if last or self.survival * self.by_place[place + 1] <= self.rate * (self.draft + self.row) else UNLIMITED
        )


@check("value", "auto decides as the inequality of its docstring does, with figures computed anew from all steps")
def decisions_of_auto() -> float:
    wrong = 0
    for seed, (row_s, draft_s) in enumerate(((0.02, 0.05), (0.15, 0.1), (0.15, 0.25))):
        generator, fast, slow = random.Random(seed), AutoGamma(largest=5), SlowAuto(5)
        for number in range(120):
            quality = (0.95, 0.2, 0.7)[number // 40]
            gamma = fast.gamma()
            wrong += gamma != slow.plan()
            confidences, looks, go_on = [], 0, gamma
            while len(confidences) < gamma and go_on:
                confidence = generator.random() ** 0.5
                go_on, looks = fast.more(np.array([confidence, 1.0 - confidence, 0.0])), looks + 1
                confidence = max(confidence, 1.0 - confidence)
                wrong += go_on != slow.more(len(confidences), confidence)
                confidences += [confidence] * bool(go_on)
                go_on -= go_on == 1
            accepted = 0
            while accepted < len(confidences) and generator.random() < quality * confidences[accepted] ** 0.2:
                accepted += 1
            target_s = 2.0 + row_s * 2.0 * len(confidences) + 0.01 * generator.random()
            spent = looks * 2.0 * draft_s * (1.0 + 3.0 * bool(slow.steps and not slow.steps[-1][2]))
            wrong += fast.gamma() != gamma  # asked again behind the draft, as in a batch
            fast.observe(_step(len(confidences), accepted, spent, spent + target_s))
            slow.steps.append((confidences, accepted, looks, spent, target_s))
    return float(wrong)


# ── fallback ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _runs(costs, num_steps: int) -> list[int]:
    """How many steps in a row a fallback pauses (negative) or drafts; ``costs(number)`` is of a speculative step.

    A plain step takes a second and emits a token. A speculative one drafts one token, in a tenth of its time, and emits
    one; the draft that follows a pause takes ten seconds more, to catch up.
    """
    policy, runs, drafted = Fallback(FixedGamma(1)), [], 0
    for _ in range(num_steps):
        drafting = policy.drafting
        if drafting:
            seconds = costs(drafted)
            late = 10.0 if runs and runs[-1] < 0 and drafted else 0.0
            policy.observe(_step(1, 0, 0.1 * seconds + late, seconds + late))
            drafted += 1
        else:
            policy.observe(_step(0, 0, 0.0, 1.0))
        sign = 1 if drafting else -1
        if runs and runs[-1] * sign > 0:
            runs[-1] += sign
        else:
            runs.append(sign)
    return runs


@check("value", "a fallback's pauses and windows: a loss, a draw, a win by a little, a loss after a win")
def fallback_schedule() -> float:
    wrong = 0
    # Each step loses two plain tokens: a window is over after two. Pauses double, up to 768.
    wrong += _runs(lambda n: 3.0, 3000) != [-2, 2, -24, 2, -48, 2, -96, 2, -192, 2, -384, 2, -768, 2, -768, 2, -702]
    # A draw is no reason to stop,
    wrong += _runs(lambda n: 1.02, 100) != [-2, 98]
    # and no reason to begin again: a probe has to win by the margin.
    wrong += _runs(lambda n: 3.0 if n < 2 else 0.98, 140) != [-2, 2, -24, 16, -48, 16, -32]
    # One that wins goes on, and the next loss costs a short pause again.
    wrong += _runs(lambda n: 3.0 if n < 2 or n >= 34 else 0.9, 100) != [-2, 2, -24, 34, -24, 2, -12]
    return float(wrong)


@check("value", "a fallback learns plain cost from steps that drafted nothing, less what the attempt took")
def plain_cost_of_a_fallback() -> float:
    policy = Fallback(FixedGamma(1))
    for _ in range(2):
        policy.observe(_step(0, 0, 5.0, 6.0))  # one second of it plain
    runs = 0
    while policy.drafting and runs < 40:
        policy.observe(_step(1, 0, 0.1, 1.5))  # half a token lost per step: over after five
        runs += 1
    return float(runs != 5)


@check("value", "who begins with what a fallback has found: the pair's later requests, of a target or of the process")
def memory_of_a_fallback() -> float:
    class Loaded:
        """A target."""

    one, other, pair, another = Loaded(), Loaded(), ("a name", "a draft"), ("a name", "another")

    def recall(scope, pair, session, seed=2) -> Fallback:
        return fallbacks.recall_fallback(scope, FixedGamma(3), pair, session, seed)

    beside = recall("session", pair, one, 3)
    beside.gamma()  # it has begun before anything was found
    for scope in fallbacks.SCOPES:
        first = recall(scope, pair, one, 1)
        for _ in range(2):  # then plain cost is known, and whoever knows it drafts
            first.gamma()
            first.observe(_step(0, 0, 0.0, 1.0))
    asked = [
        beside, recall("request", pair, one), recall("session", pair, one), recall("session", pair, other),
        recall("session", another, one), recall("process", pair, other), recall("process", another, one),
        recall("session", pair, one, 1),
    ]  # fmt: skip
    return float([each.gamma() for each in asked] != [0, 0, 3, 0, 0, 3, 0, 0])
