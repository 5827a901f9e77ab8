"""What large systems report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minispec.lab.ledger.batches import PAIR, Group, make_groups, on_card, serve, time_groups
from minispec.lab.ledger.framework import About, Conclusion, Figures, Scale, Setting, table
from minispec.lab.ledger.runs import DRAFT, TARGET, model
from minispec.lab.ledger.verdicts import Finding
from minispec.lab.viz.plots.claims import Chart, Curve
from minispec.theory import alpha_for_speedup

CONCURRENCIES, REQUESTS = (1, 4, 16), 32
LENGTHS = (16, 96, 32, 48)
"""Tokens of the requests of a load, in turns."""
CARD, ALPHA, GAMMA = "h100", 0.7, 4
COSTS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
GAMMAS = (2, 3, 4, 5, 6, 8, 10, 12)

ABOUT = About(
    title="Google and Meta see two- to threefold throughput",
    claim="Google's Gemini gains two to three times in throughput, and Meta's Llama 3 70B about as much.",
    sources=("nikolatesla",),
    kind="timed",
    instrument="None of those systems, which are not public. The formula says what their gains would need; loads of "
    "requests served by the engine here, with and without drafts, say what one engine gains over itself.",
    literature="Leviathan et al. 2023 report 2.3x to 3.4x on T5-XXL for the small draft; arXiv 2508.08192 (Meta, 2025) "
    "1.4x to 2.0x for Llama at large batches in production. Neither is the system that is claimed.",
    thresholds={
        "costs": COSTS,
        "gammas": GAMMAS,
        "concurrencies": CONCURRENCIES,
        "requests": REQUESTS,
        "lengths": LENGTHS,
    },
)


def measure(setting: Setting) -> Figures:
    """Ask what acceptance the reported gains would take; serve loads here, and compute such batches on a large card."""

    def find_alpha(wanted: float, c: float) -> float | None:
        found = [a for gamma in GAMMAS if (a := alpha_for_speedup(wanted, gamma, c)) is not None]
        return min(found, default=None)

    points = on_card(CARD, CONCURRENCIES, alpha=ALPHA, gamma=GAMMA)
    return {
        "needed": {str(wanted): [find_alpha(wanted, c) for c in COSTS] for wanted in (2.0, 3.0)},
        "requests": count_requests(setting.scale),
        "served": {str(count): measure_load(count, setting.scale) for count in CONCURRENCIES},
        "on_card": {str(point.batch): point.speedup for point in points},
    }


def count_requests(scale: Scale) -> int:
    """Return the requests of a load."""
    return REQUESTS if scale.repeats > 2 else 2


def measure_load(concurrency: int, scale: Scale) -> dict[str, Any]:
    """Time loads of requests of mixed lengths, served as places become free: plainly, and speculatively in two ways."""
    target, draft = model(TARGET), model(DRAFT)
    lengths = [max(1, length * scale.tokens // 64) for length in LENGTHS]

    def way(gamma: int | str | None) -> Callable[[Group], float]:
        drafts = None if gamma is None else draft
        return lambda group: serve(target, drafts, group, lengths, concurrency, gamma or 1)

    groups = make_groups(scale.timed, count_requests(scale))
    times = time_groups({"plain": way(None), "fixed": way(GAMMA), "load": way("load")}, groups, scale.text_rounds)
    return {name: times.faster("plain", name) for name in ("fixed", "load")}


def conclude(figures: Figures) -> Conclusion:
    """Nothing is measured of the systems that the claim names, so nothing is judged."""

    def show(a: float | None) -> str:
        return "out of reach" if a is None else f"{a:.2f}"

    rows = [
        (c, show(two), show(three))
        for c, two, three in zip(COSTS, figures["needed"]["2.0"], figures["needed"]["3.0"], strict=True)
    ]
    served = [
        (count, found["fixed"], found["load"], f"{figures['on_card'][count]:.2f}")
        for count, found in figures["served"].items()
    ]
    told = (
        "Of those systems nothing: the reports name neither draft, acceptance, batch size nor baseline. What this "
        "engine gains in throughput, against itself without drafts, bundled pair, greedy: loads of "
        f"{figures['requests']} requests of mixed lengths that wait from the beginning, prompts included, served "
        f"as places become free. γ is {GAMMA}, or follows the load. Beside, by data sheet, a {PAIR[0]} with a "
        f"draft of {PAIR[1]} on {CARD} at such batches, α = {ALPHA}, γ = {GAMMA}, float16:"
        + table(("requests at a time", f"γ = {GAMMA}", "γ by load", f"{CARD}, computed"), served)
    )
    return Conclusion(
        "Two- and threefold gains are what ordinary figures give. The α they need at the best γ (of 2 to 12), with "
        "free verification:" + table(("c", "for 2x", "for 3x"), rows),
        told,
        Finding(
            "not testable here",
            "It would take those systems: their models, their accelerators, their traffic, and the plain engine with "
            "the same kernels as the baseline. What can be said is that nothing in the figures contradicts the "
            "formula, and that the gain of one engine over itself depends on how many requests it serves at a time.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the acceptance needed."""
    return Chart(
        "Acceptance that the reported gains need",
        "c, cost of a draft token",
        "α, at the best γ and v = 1",
        tuple(
            Curve(
                f"{wanted}x",
                [c for c, a in zip(COSTS, found, strict=True) if a is not None],
                [a for a in found if a is not None],
            )
            for wanted, found in figures["needed"].items()
        ),
    )
