"""Every colour that minispec shows: on a terminal, in a notebook, on a page, in a plot.

The hues are those of Okabe and Ito, which colour-blind readers can tell apart. Text needs more contrast than they have:
each hue has a shade for light backgrounds, one for dark ones, and one that can be read on white and on black, for
terminals, which do not say what they have. Every shade of text has a contrast of at least 4.5 (WCAG 2, level AA) on its
backgrounds; the tests compute it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from minispec.engine.records import Source

Fate = Literal[Source, "prompt", "drafted", "rejected", "unseen"]
"""What a piece of text is: a source, the prompt, a draft that waits for its verdict, a draft that was rejected, a draft
behind a rejected one."""


@dataclass(frozen=True, slots=True)
class Shade:
    """A hue as text: on :data:`PAPER`, on :data:`NIGHT`, and on :data:`BLACK` and :data:`WHITE` alike."""

    light: str
    dark: str
    either: str


BLACK, WHITE = "#000000", "#ffffff"
PAPER = WHITE
NIGHT = "#1e1e1e"
INK = Shade(light="#222222", dark="#e6e6e6", either="#757575")

SHADES: dict[str, Shade] = {
    "blue": Shade("#0072b2", "#56b4e9", "#007bc0"),
    "vermilion": Shade("#b65000", "#fd7000", "#c15500"),
    "green": Shade("#007e5c", "#00b080", "#008661"),
    "purple": Shade("#b44582", "#d083ad", "#bc4e8b"),
    "grey": Shade("#6e6e6e", "#9b9b9b", "#757575"),
}

HUES: dict[Fate, str] = {
    "accepted": "blue",
    "recovered": "vermilion",
    "bonus": "green",
    "drafted": "grey",
    "rejected": "purple",
    "unseen": "grey",
}
"""The hue of each fate. The prompt and plain tokens have none: they are in the reader's own colour."""

PLOT: dict[str, str] = {
    "blue": "#0072b2",
    "orange": "#e69f00",
    "green": "#009e73",
    "red": "#d55e00",
    "purple": "#cc79a7",
    "sky": "#56b4e9",
    "ink": INK.light,
    "grey": SHADES["grey"].light,
}
"""Lines and areas of plots, in the order to use them: the palette as published. Text is in ``ink`` or ``grey``."""

FILLS: dict[str, str] = {"blue": "#cfe8f7", "purple": "#f7dcea", "green": "#bfe6d8"}
"""Backgrounds behind text in ``INK.light``."""

GRID = "#e4e4e4"


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21, as WCAG 2 defines it.

    Examples
    --------
    >>> contrast("#ffffff", "#000000"), round(contrast("#757575", "#ffffff"), 2)
    (21.0, 4.61)
    """
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
