"""The ratio of sizes as a guide to the draft."""

from __future__ import annotations

from collections.abc import Iterable

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import alpha, time_texts
from minispec.lab.ledger.runs import DRAFT, SMALL_DRAFT, TARGET, model, of_each_kind
from minispec.lab.ledger.verdicts import Finding, above, spell, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

GAMMA = 3
LOW, HIGH = 1 / 50, 1 / 10

ABOUT = About(
    title="A draft should have 1/10 to 1/50 of the target's size",
    claim="In practice a draft should be ten to fifty (others say a hundred) times smaller than the target.",
    sources=("pan-practice", "kumkar"),
    kind="timed",
    instrument="Drafts of the bundled target from nothing (copying) to half of it (its own first layers), timed "
    "in turns.",
    literature="Leviathan et al. 2023 found about two orders of magnitude best; their best draft for an 11B T5 has 77M "
    "(1/143), the worst of three 800M (1/14). Chen et al. 2023 use 4B for 70B (1/17.5), Yan et al. 2024 796M "
    "for 65B (1/82).",
    thresholds={"low": LOW, "high": HIGH, "gain": 1.0, "gamma": GAMMA},
)


def _size(draft: str) -> float:
    """Return a draft's parameters over the target's; of the first k layers, with embeddings and head."""
    target = model(TARGET)
    if draft.startswith("layerskip"):
        embeddings = (target.vocab_size + target.n_positions) * target.config.n_embd
        layers = target.num_parameters - embeddings
        return (embeddings + layers * int(draft[-1]) / target.config.n_layer) / target.num_parameters
    return 0.0 if draft == "ngram" else model(draft).num_parameters / target.num_parameters


def measure(setting: Setting) -> Figures:
    """Time drafts of several sizes, in turns, greedy and sampled."""
    scale = setting.scale
    drafts = (DRAFT, SMALL_DRAFT, "layerskip:k=2", "ngram")
    sizes = {name: _size(name) for name in drafts}
    inside = [name for name in drafts if LOW <= sizes[name] <= HIGH]
    texts, comparisons = of_each_kind(scale.timed), 2 * (len(drafts) + len(inside) * (len(drafts) - len(inside)))
    found = []
    for temperature in (0.0, 1.0):
        ways = {name: {"draft": name, "gamma": GAMMA, "temperature": temperature} for name in drafts}
        times = time_texts(
            {"plain": {"draft": None, "temperature": temperature}, **ways}, texts, scale.tokens, scale.text_rounds
        )
        found += [
            {
                "draft": name,
                "temperature": temperature,
                "size": sizes[name],
                "speedup": times.faster("plain", name, comparisons),
                "alpha": alpha(times.metrics[name]),
                "cost": times.costs("plain", name).cost_ratio,
                "beaten_by": {
                    better: times.faster(name, better, comparisons) for better in inside if name not in inside
                },
            }
            for name in drafts
        ]
    return {"cases": found}


def _any(answers: Iterable[bool | None]) -> bool | None:
    """Return True if some answer is, False if all are, else None."""
    found = list(answers)
    return True if True in found else None if None in found else False


def conclude(figures: Figures) -> Conclusion:
    """Judge: the drafts inside the range must gain, and each one outside must be beaten by one inside; tallied."""
    answers: list[bool | None] = []
    for temperature in (0.0, 1.0):
        cases = [f for f in figures["cases"] if f["temperature"] == temperature]
        inside = [f for f in cases if LOW <= f["size"] <= HIGH]
        answers += [above(f["speedup"], 1.0) for f in inside]
        answers += [_any(above(faster, 1.0) for faster in f["beaten_by"].values()) for f in cases if f not in inside]
    rows = [
        (
            f["draft"],
            "none" if not f["size"] else f"1/{1 / f['size']:.1f}",
            f["temperature"],
            f"{f['cost']:.2f}",
            f"{f['alpha'][0]:.2f}",
            f["speedup"],
        )
        for f in figures["cases"]
    ]
    return Conclusion(
        "η depends on α and c, and size enters only through them. In print, a draft of 1/143 was the best and one of "
        "1/14 the worst of three for an 11B target (Leviathan et al. 2023, table 2).",
        f"Drafts for the bundled target, γ = {GAMMA}, texts of each kind:"
        + table(("draft", "size", "temperature", "c", "α", "speedup"), rows),
        Finding(
            tally(answers),
            "Faster than plain decoding: "
            + "; ".join(
                f"at temperature {t:g} "
                + spell({f["draft"]: above(f["speedup"], 1.0) for f in figures["cases"] if f["temperature"] == t})
                for t in (0.0, 1.0)
            )
            + ". Size enters only through c and α: c follows depth and overhead as well as parameters, α follows "
            "training, and a draft without parameters may copy.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw speedups by draft."""
    names = list(dict.fromkeys(f["draft"] for f in figures["cases"]))
    sizes = {f["draft"]: f["size"] for f in figures["cases"]}
    return bars(
        "Speedup and the draft's size",
        "draft (size as a part of the target)",
        "speedup",
        [f"{n}\n{'none' if not sizes[n] else f'1/{1 / sizes[n]:.0f}'}" for n in names],
        {f"temperature {t:g}": [f["speedup"] for f in figures["cases"] if f["temperature"] == t] for t in (0.0, 1.0)},
        lines=PLAIN,
    )
