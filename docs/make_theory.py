"""Draw the four plots of docs/theory.md from the formulas: ``python docs/make_theory.py``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from minispec.theory import alpha_for_speedup, roofline_verify_cost, speedup, tau

PICTURE = Path(__file__).resolve().parent / "_static" / "theory.svg"
WIDTH, HEIGHT = 270, 150
"""Of a plot's area, in pixels."""
ROWS = [1 + k / 4 for k in range(33)]
COSTS = [k / 80 for k in range(1, 41)]
RIDGE = 16
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 490" width="800" height="490" role="img" \
aria-labelledby="t d">
<title id="t">What α, γ, c and the batch decide</title>
<desc id="d">Four plots from the formulas: tokens per pass by draft length, speedup by draft length, \
verify cost by rows, break-even acceptance by cost ratio.</desc>
<style>
  text { font: 15px system-ui, sans-serif; fill: #1f2328; }
  .small { font-size: 13px; fill: #59636e; }
  .bold { font-weight: 600; }
  .mid { text-anchor: middle; }
  .line { stroke: #818b98; fill: none; stroke-width: 1.5; }
  .curve { fill: none; stroke-width: 2; }
  .c0 { stroke: #0969da; } .c1 { stroke: #1a7f37; } .c2 { stroke: #bc4c00; } .c3 { stroke: #bf3989; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .small { fill: #9198a1; }
    .c0 { stroke: #58a6ff; } .c1 { stroke: #3fb950; } .c2 { stroke: #f0883e; } .c3 { stroke: #f778ba; }
  }
</style>"""

Curves = dict[str, tuple[Sequence[float], Sequence[float]]]
"""By label: the x and y of each point."""


@dataclass(frozen=True)
class Plot:
    """A plot: its message, the names and ticks of its axes, the curves."""

    title: str
    axes: tuple[str, str]
    xticks: Sequence[float]
    yticks: Sequence[float]
    curves: Curves
    level: float | None = None
    """A dashed line at this y."""

    def draw(self, left: int, top: int) -> list[str]:
        """Return the elements, with the upper left corner of the area at ``left`` and ``top`` pixels."""
        x = _scale(self.xticks, left, left + WIDTH)
        y = _scale(self.yticks, top + HEIGHT, top)
        low, middle = top + HEIGHT, top + HEIGHT // 2
        turned = f'transform="rotate(-90 {left - 32} {middle})" x="{left - 32}" y="{middle}"'
        drawn = [
            f'<text x="{left}" y="{top - 14}" class="bold">{self.title}</text>',
            f'<path class="line" d="M{left} {top} V{low} H{left + WIDTH}"/>',
            f'<text x="{left + WIDTH // 2}" y="{low + 38}" class="small mid">{self.axes[0]}</text>',
            f'<text class="small mid" {turned}>{self.axes[1]}</text>',
            *(f'<text x="{x(tick):.0f}" y="{low + 18}" class="small mid">{tick:g}</text>' for tick in self.xticks),
            *(
                f'<text class="small" text-anchor="end" x="{left - 6}" y="{y(t) + 4:.0f}">{t:g}</text>'
                for t in self.yticks
            ),
        ]
        if self.level is not None:
            drawn.append(f'<path class="line" stroke-dasharray="3 4" d="M{left} {y(self.level):.0f} H{left + WIDTH}"/>')
        labels = _apart([y(ys[-1]) + 5 for _, ys in self.curves.values()])
        for k, ((label, (xs, ys)), at) in enumerate(zip(self.curves.items(), labels, strict=True)):
            points = [f"{x(a):.1f} {y(b):.1f}" for a, b in zip(xs, ys, strict=True)]
            drawn.append(f'<path class="curve c{k}" d="M{" L".join(points)}"/>')
            drawn.append(f'<text x="{left + WIDTH + 5}" y="{at:.0f}" class="small">{label}</text>')
        return drawn


def _scale(ticks: Sequence[float], begin: float, end: float) -> Callable[[float], float]:
    return lambda value: begin + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (end - begin)


def _apart(heights: Sequence[float], least: float = 16) -> list[float]:
    """Return heights of labels, each at least so many pixels above the one below it."""
    order = sorted(range(len(heights)), key=lambda k: -heights[k])
    placed = list(heights)
    for below, above in itertools.pairwise(order):
        placed[above] = min(placed[above], placed[below] - least)
    return placed


def plots() -> list[Plot]:
    """Return the four plots."""
    gammas = range(11)
    steady = {f"α = {alpha}": (gammas, [tau(alpha, g) for g in gammas]) for alpha in (0.5, 0.7, 0.8, 0.9)}
    gains = {f"c = {c}": (gammas, [speedup(tau(0.7, g), g, c) for g in gammas]) for c in (0.02, 0.1, 0.2, 0.4)}
    verify = {f"batch {batch}": (ROWS, list(map(roofline_verify_cost(batch, RIDGE), ROWS))) for batch in (1, 4, 8)}
    needed = {f"γ = {g}": (COSTS, [alpha_for_speedup(1.0, g, c) or 1.0 for c in COSTS]) for g in (1, 3, 5, 10)}
    lengths, rows, tenths = range(0, 11, 2), range(1, 10, 2), [k / 10 for k in range(6)]
    return [
        Plot("τ approaches 1 / (1 − α)", ("γ", "tokens per pass τ"), lengths, (0, 1, 3, 5, 7), steady),
        Plot("The best γ falls as c rises (α = 0.7)", ("γ", "speedup"), lengths, (0.5, 1, 2, 3), gains, 1),
        Plot("Batches reach the ridge sooner", ("rows m", "verify cost v(m)"), rows, (0, 1, 2, 4, 6), verify, 1),
        Plot("Long drafts need a higher α", ("cost ratio c", "break-even α"), tenths, (0, 0.5, 1), needed),
    ]


def picture() -> str:
    """Return the picture."""
    places = ((54, 38), (454, 38), (54, 290), (454, 290))
    drawn = [line for plot, place in zip(plots(), places, strict=True) for line in plot.draw(*place)]
    return "\n".join([HEAD, *drawn, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE)
