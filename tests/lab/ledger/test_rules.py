"""Every word that a rule can say is reached by planted figures, and the figures are such as could be measured."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from minispec.lab.ledger.book import load
from minispec.lab.ledger.claims.draft_latency import SLOWER, WORSE
from minispec.lab.ledger.framework import NAMES, get_experiment

RESULTS = Path(__file__).resolve().parents[3] / "docs" / "claims"
Figures = dict[str, Any]
Plant = Callable[[Figures], None]
Value = Any
Spread = Callable[[Sequence[Value]], Plant]

TALLIED = ("holds here", "false", "depends", "undecided", "at best depends")
"""What a tally of intervals over several cases can say; of numbers without doubt only the first three."""


def sharp(value: float) -> list[float]:
    """A figure without doubt."""
    return [value, value, value]


def share(value: float) -> list[float]:
    """A share that is known to 2 %."""
    return [value, max(0.0, value - 0.02), min(1.0, value + 0.02)]


def unknown_share() -> list[float]:
    return [0.5, 0.02, 0.98]


def ratio(value: float) -> list[float]:
    """A ratio of times that is known to 3 %."""
    return [value, 0.97 * value, 1.03 * value]


def vague(value: float) -> list[float]:
    """A ratio that may be half or twice of it."""
    return [value, 0.5 * value, 2.0 * value]


def dicts(figures: Figures, key: str) -> Iterator[dict[str, Any]]:
    cases = figures[key]
    yield from cases.values() if isinstance(cases, dict) else cases


def every(*path: str) -> Spread:
    """Set a place in the dicts under ``path[0]``, the values in turn."""

    def with_values(values: Sequence[Value]) -> Plant:
        def plant(figures: Figures) -> None:
            for case, value in zip(dicts(figures, path[0]), itertools.cycle(values), strict=False):
                inner = case
                for key in path[1:-1]:
                    inner = inner[key]
                inner[path[-1]] = copy.deepcopy(value)

        return plant

    return with_values


def put(key: str) -> Spread:
    return lambda values: lambda figures: figures.update({key: values[0]})


def each(key: str) -> Spread:
    """Set the values of a dict in turn."""

    def with_values(values: Sequence[Value]) -> Plant:
        return lambda figures: figures.update({key: dict(zip(figures[key], itertools.cycle(values), strict=False))})

    return with_values


def adapting(values: Sequence[Value]) -> Plant:
    """Adaptive length: every policy that is compared, in turn."""

    def plant(figures: Figures) -> None:
        turn = itertools.cycle(values)
        for case in figures["cases"]:
            for policy in case["policies"]:
                policy["faster"] = None if policy["draft"] == "fixed" else copy.deepcopy(next(turn))

    return plant


def two_rates(alpha: Value, rate: float) -> Plant:
    def plant(figures: Figures) -> None:
        for found in figures["by_gamma"].values():
            found |= {"alpha": list(alpha), "rate": rate}

    return plant


def readings(values: Sequence[Value]) -> Plant:
    """Half-accepted: every reading at every cost, in turn."""

    def plant(figures: Figures) -> None:
        turn = itertools.cycle(values)
        figures["speedups"] = {name: [next(turn) for _ in found] for name, found in figures["speedups"].items()}

    return plant


def whole_readings(values: Sequence[Value]) -> Plant:
    """Six-tenths: all costs of a reading alike."""

    def plant(figures: Figures) -> None:
        found = figures["speedups"]
        figures["speedups"] = {n: [v] * len(found[n]) for n, v in zip(found, itertools.cycle(values), strict=False)}

    return plant


def curves(values: Sequence[Value]) -> Plant:
    def plant(figures: Figures) -> None:
        made = zip(figures["curves"].items(), itertools.cycle(values), strict=False)
        figures["curves"] = {name: [value] * len(curve) for (name, curve), value in made}

    return plant


def domain_alphas(stories: Value, code: Value, questions: Value) -> Plant:
    def plant(figures: Figures) -> None:
        for case in figures["cases"]:
            case["alpha"] = {"stories": stories, "code": code, "questions": questions}[case["domain"]]

    return plant


def creative(fall: Value, stories: Value) -> Plant:
    def plant(figures: Figures) -> None:
        for case in figures["domains"]:
            case["fall"] = fall
            case["all"] = stories if case["domain"] == "stories" else share(0.6)

    return plant


def sizes(inside: Value, faster_than_outside: Value) -> Plant:
    """Two drafts of claimed sizes, the second of which beats those outside or does not, and two others."""

    def plant(figures: Figures) -> None:
        for case in figures["cases"]:
            case["speedup"] = inside
            outside = case["draft"] not in ("draft-1.6m", "draft-0.6m")
            case["beaten_by"] = {"draft-1.6m": ratio(0.5), "draft-0.6m": faster_than_outside} if outside else {}

    return plant


def champions(found: Sequence[Value]) -> Plant:
    """The best draft of a claimed size gains, and beats each outside, by these figures in turn."""

    def plant(figures: Figures) -> None:
        values = itertools.cycle(found)
        for case in figures["cases"]:
            case["sizes"][case["champion"]]["speedup"] = next(values)
            for each_size in case["sizes"]:
                if each_size["beaten_by"] is not None:
                    each_size["beaten_by"] = next(values)

    return plant


def latency(gain: Value, by_c: bool | None, clear: bool = True) -> Plant:
    """Six drafts whose speeds follow c (by_c), or their perplexity, or both, clearly or not."""
    names = ("draft-1.6m", "draft-0.6m", "draft-1.6m-code", SLOWER, WORSE, "draft-1.6m, noise 1.5")

    def plant(figures: Figures) -> None:
        figures["faster_over_better"], figures["drafts"] = gain, []
        for i, name in enumerate(names):
            like, other = 0.02 + 0.03 * i, 0.3 - 0.03 * i
            c, perplexity = (like if by_c in both else other for both in ((True, None), (False, None)))
            costs = {"c": c, "v": 1.1, "perplexity": 100 * perplexity}
            figures["drafts"].append({"draft": name, "alpha": share(0.7), "speedup": ratio(2.0 - 0.1 * i), **costs})
        slower = ratio(0.8) if clear else vague(0.8)
        figures["orders"] = [{"pair": [a, b], "faster": slower} for a, b in itertools.combinations(names, 2)]

    return plant


def first_tokens(values: Sequence[Value]) -> Plant:
    """How much sooner the first token comes behind prompts of each length, in turn."""
    turn = itertools.cycle(values)
    cases = [{"prompt": length, "sooner": next(turn)} for length in (16, 128, 512)]
    return lambda figures: figures.update(lengths=copy.deepcopy(cases))


def short_and_long(values: Sequence[Value]) -> Plant:
    """Responses of five and ten tokens behind short prompts and behind long ones, in turn."""

    def plant(figures: Figures) -> None:
        turn = itertools.cycle(values)
        for case in figures["lengths"]:
            case["all"] = next(turn)
        figures.update(prompt_tokens=[8, 40], long_prompt=512)
        figures["behind_long"] = [{"tokens": tokens, "all": next(turn)} for tokens in (5, 10)]

    return plant


def quantised(values: Sequence[Value]) -> Plant:
    """The int8 pair against the float32 pair, and against plain decoding in int8."""

    def plant(figures: Figures) -> None:
        over_pair, over_plain = itertools.islice(itertools.cycle(values), 2)
        every("pairs", "over_pair")([over_pair])(figures)
        figures["over_plain_int8"] = over_plain

    return plant


AS_CLAIMED = (2.5, 2.5, 2.5, 2.5, 1.5, 0.9, 0.8)
"""The speedup of each batch of the sweep, if the claim on batches were true."""


def batches(curve: Sequence[float], here: Sequence[Value]) -> Plant:
    """Set every card's prediction, and what is measured of each batch that is timed."""

    def plant(figures: Figures) -> None:
        figures["predicted"] = {card: [*curve, 0.5, 0.5, 0.5] for card in figures["predicted"]}
        timed = (1, 2, 4, 8, 16, 32, 64)
        figures["measured"] = {
            str(batch): {"gamma": 2, "speedup": copy.deepcopy(value)} for batch, value in zip(timed, here, strict=True)
        }

    return plant


def upside(predicted: float, here: Value) -> Plant:
    """Set what is predicted of every draft and batch, and what is measured."""

    def plant(figures: Figures) -> None:
        every("cases", "speedups")([[predicted] * 3])(figures)
        figures["measured"] = {draft: [copy.deepcopy(here) for _ in range(3)] for draft in ("one", "other")}

    return plant


def order(values: Sequence[Value]) -> Plant:
    """Set the four comparisons of techniques in turn."""
    pairs = ("batch over speculation", "batch over int8", "speculation over fusion", "int8 over fusion")
    return lambda figures: figures.update(order=dict(zip(pairs, itertools.cycle(values), strict=False)))


def five_costs(without: Value, with_fallback: Value) -> Plant:
    def plant(figures: Figures) -> None:
        for found in figures["costs"].values():
            found["5"], found["5+fallback"] = without, with_fallback

    return plant


def worst_costs(values: Sequence[Value]) -> Plant:
    """Never slower: the worst cost of every policy in every case, in turn."""

    def plant(figures: Figures) -> None:
        turn = itertools.cycle(values)
        for policy in (policy for case in figures["cases"] for policy in case["policies"].values()):
            policy["cost"] = next(turn)

    return plant


def by_batch(same: bool, alone: Value, largest: Value) -> Plant:
    """Flat acceptance: whether batches change texts, and the speedups at both ends."""

    def plant(figures: Figures) -> None:
        every("by_batch", "same")([same])(figures)
        for curve in figures["speedups"].values():
            curve[0], curve[-1] = alone, largest

    return plant


def formats(likely: Sequence[float], ceiling: Sequence[float], fits: bool = True) -> Plant:
    def plant(figures: Figures) -> None:
        for key, values in (("likely", likely), ("ceiling", ceiling), ("fits", [fits])):
            every("formats", key)(values)(figures)

    return plant


def cards(ridge: float, decoding: float) -> Plant:
    return lambda figures: figures.update(cards=dict.fromkeys(figures["cards"], ridge), decoding=decoding)


def bandwidth(reads: float, ends: Sequence[float]) -> Plant:
    """Speedups with the least and with the most bandwidth."""

    def plant(figures: Figures) -> None:
        figures["reads"] = reads
        names = list(figures["speedups"])
        figures["speedups"] |= {names[0]: [ends[0]] * 3, names[-1]: [ends[1]] * 3}

    return plant


def pair_gains(small: float, large: float, one_small: float | None = None) -> Plant:
    def plant(figures: Figures) -> None:
        for found in figures["pairs"]:
            found["speedup"] = small if found["billions"] < 60 else large
        figures["pairs"][0]["speedup"] = small if one_small is None else one_small

    return plant


def slowest(values: Sequence[Value]) -> Plant:
    """The share of each draft's responses that are slower than plain ones, whatever gamma."""

    def plant(figures: Figures) -> None:
        drafts = list(dict.fromkeys(case["draft"] for case in figures["cases"]))
        for case in figures["cases"]:
            case["slower"] = copy.deepcopy(values[drafts.index(case["draft"]) % len(values)])

    return plant


def memory(measured: float) -> Plant:
    def plant(figures: Figures) -> None:
        for one in figures["pairs"]:
            one["measured"] = measured * one["counted"]

    return plant


def dictations(values: Sequence[Value]) -> Plant:
    """Ten dictated drafts a case: how many are kept, and what they cost."""

    def plant(figures: Figures) -> None:
        for case, (kept, spent) in zip(figures["cases"], itertools.cycle(values), strict=False):
            case["forced"] |= {"dictated": 10, "kept": kept, "spent": spent}

    return plant


def drafted(name: str, speedup: Value) -> dict[str, Any]:
    """What an entry on heads says of one way to draft."""
    return {"draft": name, "way": f"{name}, γ = 3", "c": 0.1, "v": 1.1, "length": 2.5, "speedup": speedup}


def at_each_temperature(values: Sequence[Value], make: Callable[[Value], dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"temperature": t, **make(value)} for t, value in zip((0.0, 1.0), itertools.cycle(values), strict=False)]


def beside_drafts(values: Sequence[tuple[Value, Value, Value]]) -> Plant:
    """A head beside two separate drafts: how much cheaper, longer and faster it is than the nearer, which is second."""

    def make(value: tuple[Value, Value, Value]) -> dict[str, Any]:
        far = {"cheaper": ratio(5.0), "longer": ratio(9.0), "faster": ratio(9.0)}
        near = dict(zip(("cheaper", "longer", "faster"), value, strict=True))
        both = [drafted("far", ratio(1.2)) | far, drafted("near", ratio(1.5)) | near]
        return {"head": drafted("eagle", ratio(2.0)), "drafts": both}

    return lambda figures: figures.update(cases=at_each_temperature(values, make))


def beside_a_head(values: Sequence[Value]) -> Plant:
    """Two heads: how much faster the parallel one is."""

    def make(value: Value) -> dict[str, Any]:
        heads = [drafted(name, ratio(2.0)) for name in ("eagle", "block")]
        return {"heads": heads, "cheaper": ratio(3.0), "longer": [-0.3, -0.4, -0.2], "faster": value}

    return lambda figures: figures.update(cases=at_each_temperature(values, make))


def beside_a_chain(values: Sequence[Value]) -> Plant:
    """A chain and a tree: how much faster the tree is."""

    def make(value: Value) -> dict[str, Any]:
        ways = {name: drafted(name, ratio(2.0)) for name in ("chain", "tree")}
        return {"siblings": "without", **ways, "longer": ratio(0.3), "faster": value}

    return lambda figures: figures.update(
        cases=at_each_temperature(values, make), rows=[3, 17], curve=[ratio(1.0), ratio(2.0)]
    )


def ahead(usable: Value, here: Value) -> Plant:
    """Drafts made ahead: how often they are of use, and what they gain on this machine."""
    times = {"draft": 0.2, "step": 1.2, "verified": 1.1, "both": 1.1}
    cases = [{"gamma": gamma, "usable": usable, "times": times, "speedup": here} for gamma in (1, 2, 3, 5)]
    return lambda figures: figures.update(cases=copy.deepcopy(cases), cores=2)


def tallied(spread: Spread, yes: Value, no: Value, unclear: Value = None) -> dict[str, Plant]:
    """What every tally must be able to say, from a figure that says yes, one that says no, one that does neither."""
    found = {"holds here": spread([yes]), "false": spread([no]), "depends": spread([yes, no])}
    if unclear is not None:
        found |= {"undecided": spread([yes, unclear]), "at best depends": spread([no, unclear])}
    return found


UNCLEAR_GAMMAS = {"2": vague(1.9), "5": vague(1.9)}

PLANTED: dict[str, dict[str, Plant]] = {
    "tau": {word: put("simulated")([figure]) for word, figure in
            {"holds": sharp(4.5), "false": sharp(3.69), "undecided": [4.2, 3.9, 4.5]}.items()},
    "worksheet": {"holds here": two_rates(share(0.7), 0.7), "false": two_rates(share(0.7), 0.1)},
    "alpha-threshold": tallied(every("costs", "ends"), [ratio(0.9), ratio(1.1)], [ratio(1.1), ratio(1.2)],
                               [vague(1.0), ratio(1.1)]),
    "half-accepted": tallied(readings, ratio(1.9), ratio(1.5), vague(1.8)),
    "wrong-half-the-time": tallied(every("costs", "speedup"), ratio(0.9), ratio(1.5), vague(1.05)),
    "six-tenths-five": tallied(whole_readings, ratio(2.5), ratio(1.5), vague(2.0)),
    "maximum": {"holds": every("by_gamma", "most_in_a_step")([1]),
                "false": every("by_gamma", "most_in_a_step")([99])},
    "three-to-five": tallied(every("cases", "share"), share(0.9), share(0.1), unknown_share()),
    "identical-output": {"holds": each("distance")([1e-17]), "false": each("distance")([0.1])},
    "sampling-rules": {"holds here": put("gap")([[-0.1, -0.12, -0.08]]), "false": put("gap")([[0.5, 0.48, 0.52]]),
                       "undecided": put("gap")([[0.01, -0.1, 0.12]])},
    "wrong-resampling": tallied(every("cases", "target"), [1e-17, 1e-16], [0.1, 0.2]),
    "proportional-acceptance": tallied(every("cases", "distance"), 1e-16, 0.1),
    "modified-attention": tallied(every("cases", "difference"), 3.0, 0.0),
    "model-modification": tallied(every("cases", "same_text"), False, True),
    "operations-per-byte": {
        "holds here": cards(300.0, 1.0), "false": cards(20.0, 20.0), "depends": cards(300.0, 20.0),
    },
    "memory-bandwidth": {
        "holds here": bandwidth(1.2, [1.5, 2.5]), "false": bandwidth(0.4, [2.5, 1.5]),
        "depends": bandwidth(0.4, [1.5, 2.5]),
    },
    "one-token-of-work": tallied(every("cases", "operations"), 1.1, 5.0),
    "earned-its-keep": tallied(every("cases", "speedup"), 1.5, 0.8),
    "largest-models": {
        "holds here": pair_gains(1.2, 2.5), "false": pair_gains(2.5, 2.5), "depends": pair_gains(1.2, 2.5, 2.6),
    },
    "pure-upside": {
        "holds here": upside(1.5, ratio(1.5)), "false": upside(0.8, ratio(0.8)), "depends": upside(1.5, ratio(0.8)),
        "undecided": upside(1.5, vague(1.0)), "at best depends": upside(0.8, vague(1.0)),
    },
    "bulk-work": {"holds here": each("drafts")([[1.0] * 6]), "false": each("drafts")([[2.0] * 6]),
                  "depends": each("drafts")([[2.0] * 4 + [1.0] * 2])},
    "quantisation-needs": tallied(every("cases", "kept"), share(0.7), share(0.98), unknown_share()),
    "fusion-equivalence": tallied(every("cases", "same_bits"), 96, 3),
    "parallel-drafts": {"false": lambda figures: None, "holds": every("cases", "draft_forwards")([1])},
    "several-candidates": tallied(every("cases", "gain"), ratio(0.2), sharp(0.0), [0.01, -0.02, 0.04]),
    "tree-judging": tallied(every("cases", "gain"), ratio(0.2), sharp(0.0), [0.02, -0.01, 0.05]),
    "hidden-states": tallied(
        beside_drafts, (ratio(1.2), ratio(0.5), ratio(1.5)), (ratio(0.5), [-0.5, -0.6, -0.4], ratio(0.7)),
        (ratio(1.2), [0.1, -0.1, 0.3], vague(1.0)),
    ) | {"at best depends": beside_drafts([(ratio(0.5), [-0.5, -0.6, -0.4], vague(1.0))])},
    "one-pass-drafts": tallied(beside_a_head, ratio(1.2), ratio(0.8), vague(1.0)),
    "trees-pay": tallied(beside_a_chain, ratio(1.2), ratio(0.8), vague(1.0)),
    "adaptive-length": tallied(adapting, ratio(1.2), ratio(0.8), vague(1.0)),
    "trimmed-head": tallied(every("cases", "faster"), ratio(1.2), ratio(0.8), vague(1.0)),
    "streaming": tallied(every("cases", "steps"), share(0.6), share(0.01), unknown_share()),
    "retraction": tallied(every("clients", "share"), share(0.6), sharp(0.001), unknown_share()),
    "typical-acceptance": tallied(every("cases", "alpha"), share(0.75), share(0.5), share(0.7)),
    "domain-acceptance": {
        "holds here": domain_alphas(share(0.57), share(0.75), share(0.68)),
        "false": domain_alphas(share(0.9), share(0.9), share(0.9)),
        "depends": domain_alphas(share(0.57), share(0.75), share(0.9)),
        "undecided": domain_alphas(share(0.57), share(0.75), unknown_share()),
        "at best depends": domain_alphas(share(0.9), share(0.9), unknown_share()),
    },
    "creative-text": {
        "holds here": creative(ratio(0.1), share(0.5)), "false": creative(ratio(-0.1)[::-1], share(0.8)),
        "depends": creative(ratio(0.1), share(0.8)), "undecided": creative(ratio(0.1), share(0.61)),
        "at best depends": creative(ratio(-0.1)[::-1], share(0.61)),
    },
    "dictated-tokens": tallied(dictations, (10, 0), (9, 1)),
    "long-context": {"holds here": put("fall")([ratio(0.1)]), "false": put("fall")([[-0.1, -0.12, -0.08]]),
                     "undecided": put("fall")([[0.02, -0.05, 0.09]])},
    "domain-fine-tuning": tallied(every("starts", "gain"), ratio(0.3), ratio(0.02), vague(0.2)),
    "data-mix": {"holds here": put("mix_over_data")([ratio(0.1)]),
                 "false": put("mix_over_data")([[-0.1, -0.12, -0.08]]),
                 "undecided": put("mix_over_data")([[0.0, -0.02, 0.02]])},
    "same-family": tallied(every("domains", "lead"), ratio(0.1), [-0.1, -0.12, -0.08], [0.0, -0.02, 0.02]),
    "acceptance-loss": tallied(every("cases", "lead"), ratio(0.1), [-0.1, -0.12, -0.08], [0.0, -0.02, 0.02]),
    "verification-cost": tallied(curves, ratio(1.02), ratio(3.0), vague(1.1)),
    "two-to-three-times": tallied(
        every("cases", "speedup"), dict.fromkeys("25", ratio(2.5)), dict.fromkeys("25", ratio(1.5)), UNCLEAR_GAMMAS
    ),
    "size-ratio": {
        "holds here": sizes(ratio(1.5), ratio(1.2)), "false": sizes(ratio(0.8), ratio(0.8)),
        "depends": sizes(ratio(1.5), ratio(0.8)), "undecided": sizes(ratio(1.5), vague(1.0)),
        "at best depends": sizes(ratio(0.8), vague(1.0)),
    },
    "draft-sizes": tallied(champions, ratio(1.5), ratio(0.8), vague(1.0)),
    "draft-latency": {
        "holds here": latency(ratio(1.3), True), "false": latency(ratio(0.8), False),
        "depends": latency(ratio(0.8), True), "undecided": latency(ratio(1.3), True, clear=False),
        "at best depends": latency(ratio(0.8), None),
    },
    "batch-size": {
        "holds here": batches(AS_CLAIMED, list(map(ratio, AS_CLAIMED))), "false": batches([1.1] * 7, [ratio(1.1)] * 7),
        "depends": batches(AS_CLAIMED, [ratio(1.1)] * 7),
        "undecided": batches(AS_CLAIMED, list(map(vague, AS_CLAIMED))),
        "at best depends": batches([1.1] * 7, list(map(vague, AS_CLAIMED))),
    },
    "flat-acceptance": {
        "holds here": by_batch(True, ratio(2.0), ratio(0.6)), "false": by_batch(False, ratio(0.8), ratio(1.5)),
        "depends": by_batch(True, ratio(2.0), ratio(1.5)), "undecided": by_batch(True, ratio(2.0), vague(1.0)),
        "at best depends": by_batch(False, ratio(0.8), vague(1.0)),
    },
    "row-budget": tallied(every("cases", "faster"), ratio(1.2), ratio(0.8), vague(1.0)),
    "never-slower": tallied(worst_costs, 1.01, 1.3),
    "short-responses": tallied(short_and_long, ratio(0.8), ratio(1.4), vague(1.0)),
    "first-token": tallied(first_tokens, ratio(1.5), ratio(1.0), vague(1.0)),
    "tail-latency": tallied(slowest, share(0.5), [0.002, 0.0, 0.008], [0.02, 0.004, 0.05]),
    "fallback": {word: five_costs(ratio(1.5), figure) for word, figure in
                 {"holds here": ratio(1.01), "false": ratio(1.4), "undecided": vague(1.0)}.items()},
    "two-models-memory": {"holds here": memory(1.1), "false": memory(2.0)},
    "quantised-pair": tallied(quantised, ratio(1.5), ratio(0.8), vague(1.0)),
    "four-techniques": tallied(order, ratio(1.5), ratio(0.7), vague(1.0)),
    "overlap": {
        "holds here": ahead(sharp(1.0), ratio(1.5)), "false": ahead(sharp(0.0), ratio(0.9)),
        "depends": ahead(share(0.3), ratio(0.9)), "undecided": ahead([0.5, 0.4, 0.6], vague(1.1)),
        "at best depends": ahead([0.2, 0.02, 0.35], vague(1.1)),
    },
    "seventy-billion": {
        "holds here": formats([32.0], [45.0]), "false": formats([32.0], [45.0], fits=False),
        "depends": formats([5.0, 32.0], [15.0, 45.0]),
    },
}  # fmt: skip


def test_every_rule_is_challenged() -> None:
    assert set(PLANTED) == set(NAMES) - {"production-gains"}, "that one judges nothing"


def test_every_tally_says_all_it_can() -> None:
    """A rule that never says a word is no rule for it; those with no doubt in their figures have three to say."""
    for name, words in PLANTED.items():
        if len(words) > 3:
            assert set(words) == set(TALLIED), name
        assert len(words) > 1, name


def load_figures(name: str) -> Figures:
    """Return what was measured, to plant in."""
    return copy.deepcopy((load(RESULTS, name) or {})["figures"])


@pytest.mark.parametrize(("name", "word"), [(name, word) for name, words in PLANTED.items() for word in words])
def test_planted_figures_turn_the_verdict(name: str, word: str) -> None:
    figures = load_figures(name)
    PLANTED[name][word](figures)
    assert get_experiment(name).conclude(figures).verdict.word == word


@pytest.mark.parametrize(
    ("values", "word", "as_soon"),
    [
        ([ratio(1.0)], "false", "yes: 16 tokens, 128 tokens, 512 tokens"),
        ([ratio(0.7)], "false", "no: 16 tokens, 128 tokens, 512 tokens"),
        (
            [[1.01, 1.0, 1.02], vague(1.0), ratio(0.7)],
            "at best depends",
            "yes: 16 tokens; no: 512 tokens; unclear: 128",
        ),
        ([ratio(1.04)], "undecided", "unclear: 16 tokens, 128 tokens, 512 tokens"),
        ([ratio(1.5)], "holds here", "no: 16 tokens, 128 tokens, 512 tokens"),
    ],
)
def test_a_first_token_as_soon_as_plain_is_neither_gain_nor_loss(
    values: Sequence[Value], word: str, as_soon: str
) -> None:
    """A gain that is certain and too small to matter is none; what costs nothing is told from what costs something."""
    figures: Figures = {}
    first_tokens(values)(figures)
    verdict = get_experiment("first-token").conclude(figures).verdict
    assert verdict.word == word
    assert f"As soon as plain, within 5%? {as_soon}" in verdict.because
    assert ("costs the first token nothing, and gains it nothing" in verdict.because) == (values == [ratio(1.0)])


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_could_be_measured(name: str) -> None:
    """Intervals hold their value, shares lie in [0, 1], ratios of times and costs are positive."""
    for plant in PLANTED[name].values():
        figures = load_figures(name)
        plant(figures)
        for key, (value, low, high) in intervals_of(figures):
            assert low <= value <= high, key
            if key in ("alpha", "share", "steps", "usable", "all", "slower"):
                assert 0.0 <= low <= high <= 1.0, key
            if key in ("speedup", "over_pair", "sooner", "faster_over_better", "cheaper", "faster"):
                assert low > 0.0, key


CHECKED = (
    *("alpha", "share", "steps", "usable", "slower"),
    *("speedup", "over_pair", "sooner", "faster_over_better", "cheaper", "longer", "faster", "curve"),
)


def intervals_of(value: Any, key: str = "") -> Iterator[tuple[str, list[float]]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from intervals_of(item, "speedup" if key == "speedups" and not name[0].isdigit() else str(name))
    elif key in CHECKED and (
        isinstance(value, list) and len(value) == 3 and all(isinstance(x, int | float) for x in value)
    ):
        yield key, value
    elif isinstance(value, list):
        for item in value:
            yield from intervals_of(item, key)
