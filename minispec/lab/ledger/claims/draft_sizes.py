"""Drafts of five sizes, trained alike, on a machine where parameters are all that costs."""

from __future__ import annotations

import statistics

from minispec.engine.model import GPT2
from minispec.lab.ledger.claims.size_ratio import HIGH, LOW
from minispec.lab.ledger.framework import About, Conclusion, Figures, Scale, Setting, table
from minispec.lab.ledger.instruments import alpha, estimate_speedup
from minispec.lab.ledger.runs import TARGET, Texts, decode_texts, model, of_each_kind
from minispec.lab.ledger.small_drafts import BATCH_TOKENS, SEEDS, Recipe, over_seeds, workshop
from minispec.lab.ledger.verdicts import Finding, above, spell, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

SHAPES = ((1, 32), (1, 64), (2, 128), (4, 192), (6, 256))  # layers, width
STEPS = 192
LENGTHS = (1, 2, 3, 5, 8)
TEMPERATURES = (0.0, 1.0)

ABOUT = About(
    title="Of drafts trained alike, the best has 1/10 to 1/50 of the target's size",
    claim="In practice a draft should be ten to fifty times smaller than the target: a smaller one agrees too rarely, "
    "a larger one costs too much.",
    sources=("pan-practice", "kumkar"),
    kind="trained",
    instrument="Drafts of five shapes, the same text, batches and tokenizer, three seeds each; counted, at the cost "
    "that the claim supposes, so that no machine's overhead decides.",
    literature="Leviathan et al. 2023, table 2: of three drafts for an 11B T5 the smallest (1/143) was the best. Yan "
    "et al. 2024 find that a draft's latency counts for more than its quality as a model.",
    thresholds={"low": LOW, "high": HIGH, "gain": 1.0, "shapes": SHAPES, "seeds": SEEDS, "lengths": LENGTHS},
)


def measure(setting: Setting) -> Figures:
    """Train five sizes with three seeds; count what each gains where a pass costs what its parameters weigh."""
    place = workshop(setting)
    drafts = [
        [place.load(Recipe("mix", STEPS, seed, layers=layers, width=width)) for seed in SEEDS]
        for layers, width in SHAPES
    ]
    cases = [_compare(drafts, temperature, setting.scale) for temperature in TEMPERATURES]
    return {"tokens": STEPS * BATCH_TOKENS, "cases": cases}


def _compare(drafts: list[list[GPT2]], temperature: float, scale: Scale) -> Figures:
    """Compare the sizes at one temperature; each has its seeds."""
    sizes = [of_size[0].num_parameters / model(TARGET).num_parameters for of_size in drafts]
    tuning, judged = of_each_kind(scale.timed), of_each_kind(scale.prompts, skip=scale.timed)

    def decode(draft: GPT2, texts: list[tuple[int, ...]], gamma: int) -> Texts:
        return decode_texts(texts, scale.tokens, draft=draft, gamma=gamma, temperature=temperature)

    def choose_length(of_size: list[GPT2], size: float) -> tuple[float, int]:
        """Return what the best length gains on the prompts set aside, mean over seeds, and that length."""
        return max(
            (statistics.mean(estimate_speedup(decode(draft, tuning, gamma), size).value for draft in of_size), gamma)
            for gamma in LENGTHS
        )

    chosen = [choose_length(of_size, size) for of_size, size in zip(drafts, sizes, strict=True)]
    texts = [
        [decode(draft, judged, gamma) for draft in of_size] for of_size, (_, gamma) in zip(drafts, chosen, strict=True)
    ]
    gains = [
        [estimate_speedup(each, size).value for each in of_size] for of_size, size in zip(texts, sizes, strict=True)
    ]
    champion = max((i for i, size in enumerate(sizes) if LOW <= size <= HIGH), key=lambda i: chosen[i])
    comparisons = len(TEMPERATURES) * (1 + sum(not LOW <= size <= HIGH for size in sizes))

    def describe(i: int) -> Figures:
        lead = [best / own for best, own in zip(gains[champion], gains[i], strict=True)]
        return {
            "layers": SHAPES[i][0],
            "width": SHAPES[i][1],
            "size": sizes[i],
            "length": chosen[i][1],
            "alpha": over_seeds([alpha(each).value for each in texts[i]]),
            "speedup": over_seeds(gains[i], comparisons),
            "beaten_by": None if LOW <= sizes[i] <= HIGH else over_seeds(lead, comparisons),
        }

    return {"temperature": temperature, "champion": champion, "sizes": [describe(i) for i in range(len(sizes))]}


def conclude(figures: Figures) -> Conclusion:
    """Judge: the best size inside the range must gain, and beat each size outside it, at each temperature; tallied."""
    judged: dict[str, list[float]] = {}
    for case in figures["cases"]:
        at = f"at T = {case['temperature']:g}"
        judged[f"{_name(case['sizes'][case['champion']])} gains {at}"] = case["sizes"][case["champion"]]["speedup"]
        judged |= {f"it beats {_name(f)} {at}": f["beaten_by"] for f in case["sizes"] if f["beaten_by"] is not None}
    answers = {name: above(figure, 1.0) for name, figure in judged.items()}
    said = spell(answers)
    rows = [
        (
            f"{case['temperature']:g}",
            f"{f['layers']} × {f['width']}",
            _name(f),
            f["length"],
            f["alpha"],
            f["speedup"],
            "" if f["beaten_by"] is None else f["beaten_by"],
        )
        for case, f in ((case, f) for case in figures["cases"] for f in case["sizes"])
    ]
    return Conclusion(
        "At c = size and v = 1, η = τ / (1 + γ c): a draft of half the size pays if α falls by less than c gives back. "
        "How fast α grows with size no formula says.",
        f"Five shapes, each trained on {figures['tokens'] / 1e6:.1f}M tokens of the target's mix with {len(SEEDS)} "
        "seeds. A pass costs its parameters, verification nothing; the chain's length is the one that was best on "
        "other prompts:"
        + table(
            (
                "temperature",
                "layers × width",
                "part of the target",
                "γ",
                "α",
                "speedup",
                "the best in the range / this one",
            ),
            rows,
        ),
        Finding(
            tally(list(answers.values())),
            f"{said[0].upper()}{said[1:]}. All five saw as many tokens; the large ones "
            "would gain the most from more. On a real machine a small draft costs more than its parameters: see "
            "size-ratio.",
        ),
        list(judged.values()),
    )


def _name(found: Figures) -> str:
    return f"1/{1 / found['size']:.1f}"


def chart(figures: Figures) -> Chart:
    """Draw the speedups by size."""
    return bars(
        "Five sizes of draft, trained alike",
        "parameters, as a part of the target's",
        "speedup, where parameters are all that costs",
        [_name(f) for f in figures["cases"][0]["sizes"]],
        {f"temperature {case['temperature']:g}": [f["speedup"] for f in case["sizes"]] for case in figures["cases"]},
        lines=PLAIN,
    )
