"""What it costs to verify several rows."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import verify_curve
from minispec.lab.ledger.runs import SMALL_DRAFT, TARGET, model
from minispec.lab.ledger.verdicts import Finding, below, tally
from minispec.lab.roofline.forwards import random_model
from minispec.lab.roofline.shapes import get_shape, to_config
from minispec.lab.viz.plots.claims import Chart, Curve
from minispec.theory import ridge_tokens

ROWS = (2, 4, 6, 8, 16)
SIMILAR = 1.1  # a tenth more is granted as "similar"
SHAPE = "gpt2"  # 124M parameters: too large for the caches of this machine

ABOUT = About(
    title="Verifying several tokens costs as much as one",
    claim="The verifying pass costs about as much as processing a single token, as the time goes into loading weights.",
    sources=("pan-practice", "kumkar"),
    kind="timed",
    instrument="Forwards over 1 to 16 rows taking turns: the bundled target with a short and a long context, and "
    "a model of GPT-2 small's shape with random weights, too large for the caches of this machine.",
    literature="Leviathan et al. 2023 assume it. Liu et al. 2026, “Performance or Illusion?”: verification is 42 to "
    "95 % of the time in vLLM on an H100.",
    thresholds={"similar": SIMILAR, "rows": 6},
)


def measure(setting: Setting) -> Figures:
    """Time passes over several rows, in turns, on two models and at two lengths of the context."""
    scale = setting.scale
    config = to_config(get_shape(SHAPE)) if scale.repeats > 2 else model(SMALL_DRAFT).config
    large = random_model(config, model(TARGET).backend)
    cases = {
        f"{TARGET}, context 64": (model(TARGET), 64),
        f"{TARGET}, context {scale.long - 48}": (model(TARGET), max(1, scale.long - 48)),
        f"{large.num_parameters / 1e6:.0f}M random weights, context 64": (large, 64),
    }
    curves = {
        name: verify_curve(m, ROWS, context, 2 * scale.repeats, of=len(cases)) for name, (m, context) in cases.items()
    }
    return {
        "rows": ROWS,
        "curves": {name: [curve[rows] for rows in ROWS] for name, curve in curves.items()},
        "ridge_h100": ridge_tokens(989e12, 3.35e12, 2),
    }


def conclude(figures: Figures) -> Conclusion:
    """Each case says whether six rows cost at most a tenth more than one; the tally is the verdict."""
    six = figures["rows"].index(6)
    answers = [below(curve[six], SIMILAR) for curve in figures["curves"].values()]
    rows = [(name, *curve) for name, curve in figures["curves"].items()]
    return Conclusion(
        "In arithmetic six rows are six times one. In time they are as one while reading the weights takes longer "
        f"than the arithmetic: up to about {figures['ridge_h100']:.0f} rows on an H100 by its data sheet, fewer on a "
        "CPU, and only if the kernel reads each weight once for all rows.",
        "t(m)/t(1), the time of a pass over m rows over that of one row (v(m), where a plain step is little else):"
        + table(("model", *(f"m = {m}" for m in figures["rows"])), rows),
        Finding(
            tally(answers),
            "v(6) is "
            + ", ".join(f"{curve[six][0]:.2f} ({name})" for name, curve in figures["curves"].items())
            + ". Far cheaper than six steps; whether as cheap as one depends on machine, model and "
            "kernels, and has to be measured.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw v(m)."""
    return Chart(
        "Cost of verifying m rows",
        "m, rows of the pass",
        "v(m), times one row",
        (
            *(Curve(name, figures["rows"], curve) for name, curve in figures["curves"].items()),
            Curve("as claimed", figures["rows"], [1.0] * len(figures["rows"]), look="dashed"),
        ),
    )
