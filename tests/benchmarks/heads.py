"""What the bundled heads gain: ``python -m tests.benchmarks.heads [--rounds 5] [--write]``.

Heads, the default draft (whole, and with a trimmed head) and plain decoding take turns. With ``--write`` the tables
replace what stands in docs/lab-notes/performance.md between their markers, each head's card says what a drafted
token costs, and README and docs/performance.md what the default pair gains.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from minispec.engine.drafters import load_draft
from minispec.engine.drafters.heads import find_heads
from minispec.engine.generation import stream
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.engine.model import GPT2
from minispec.lab.prompts import bundled_prompts
from minispec.lab.timer import interleave
from minispec.lab.viz.plots.claims import PLAIN as AS_PLAIN
from minispec.lab.viz.plots.claims import bars as draw_bars
from minispec.lab.viz.plots.claims import draw_claim
from tests.benchmarks.performance import machine, put

DOMAINS = ("stories", "code", "questions")
GREEDY, SAMPLED, OPEN = "T = 0", "T = 1, top-p 0.95", "T = 1"
SAMPLING: Mapping[str, Mapping[str, float]] = {
    GREEDY: {"temperature": 0.0},
    SAMPLED: {"temperature": 1.0, "top_p": 0.95},
    OPEN: {"temperature": 1.0, "top_p": 1.0},
}
TIMED = (GREEDY, SAMPLED)
BARS = {("float32", GREEDY): 2.6, ("float32", SAMPLED): 2.3, ("float16", GREEDY): 2.3, ("float16", SAMPLED): 2.0}
"""End to end over plain decoding, by the target's number format."""
PLAIN, TREE, TREES = "plain", "tree", ("eagle",)
DRAFTS = (DEFAULT_DRAFT, f"{DEFAULT_DRAFT}:words=3072")
"""Separate drafts: the default one with its whole head, and with one for the common words."""
GAMMAS, GAMMA = (3, 5, 7), 5
MEAN = "geometric mean"
DEFAULT = ("float16", f"{DEFAULT_DRAFT}, γ = 3")
"""What ``minispec generate`` does without options: the target's format, and the contender."""
ROOT = Path(__file__).resolve().parents[2]
QUOTED = (ROOT / "README.md", ROOT / "docs/performance.md")
PICTURE = ROOT / "docs/_static/speedups.svg"

_COST = re.compile(r"^(cost_per_token|cost_measured_on): .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Spent:
    """What one turn took: texts behind all prompts of a domain.

    Attributes
    ----------
    token_s : float
        Seconds per token behind the first, prompts left out.
    draft_s, target_s : float
        Median seconds of drafting `GAMMA` tokens, and of a target's forward; nan if there was none.
    length : float
        Tokens per target forward, behind the first token.
    texts : list of list of int
    """

    token_s: float
    draft_s: float
    target_s: float
    length: float
    texts: list[list[int]]


Turns = Mapping[str, Sequence[Spent]]
"""The turns of each contender, a round each."""
Gains = Mapping[tuple[str, str], tuple[float, float, float]]
"""Speedups over plain decoding by sampling and domain: median, lowest and highest of the rounds."""


def contenders(kinds: Sequence[str], sampling: str) -> dict[str, dict[str, Any]]:
    """Return who takes turns, with options of ``stream``."""
    chains = itertools.product((*DRAFTS, *kinds), GAMMAS)
    siblings = "likeliest" if sampling == GREEDY else "without"
    trees = {
        f"{kind}, {TREE}": f"tree:draft={kind},shape=dynamic,siblings={siblings}" for kind in kinds if kind in TREES
    }
    return {
        PLAIN: {"draft": None},
        **{name_chain(draft, gamma): {"draft": draft, "gamma": gamma} for draft, gamma in chains},
        **{name: {"draft": draft, "verify": "tree"} for name, draft in trees.items()},
    }


def name_chain(draft: str, gamma: int) -> str:
    return f"{draft}, γ = {gamma}"


def decode(
    target: GPT2, draft: Any, domain: str, sampling: str, tokens: int, *, seed: int = 0, **options: Any
) -> Spent:
    """Continue every prompt of a domain once."""
    prompts = [prompt.text for prompt in bundled_prompts() if prompt.domain == domain]
    runs = [
        stream(prompt, target=target, draft=draft, max_tokens=tokens, seed=seed, **SAMPLING[sampling], **options).run()
        for prompt in prompts
    ]
    steps = [step for run in runs for step in run.steps[1:]]  # the prompt gives the first token
    full = [step.draft_s for step in steps if len(step.draft_tokens) == GAMMA]
    count = sum(len(step.tokens) for step in steps)
    return Spent(
        token_s=sum(step.step_s for step in steps) / count,
        draft_s=statistics.median(full) if full else math.nan,
        target_s=statistics.median(step.target_s for step in steps),
        length=count / len(steps),
        texts=[list(run.token_ids) for run in runs],
    )


def measure_lengths(target: GPT2, drafts: Mapping[str, Any], tokens: int) -> dict[tuple[str, str], list[float]]:
    """Return tokens per target forward at γ = 5 by draft and sampling, one for each domain."""
    return {
        (name, sampling): [decode(target, draft, domain, sampling, tokens, gamma=GAMMA).length for domain in DOMAINS]
        for name, draft in drafts.items()
        for sampling in SAMPLING
    }


def with_other_seeds(run: Callable[..., Any]) -> Callable[[], Any]:
    """Return what runs with seed 0 and then, each time, with the next: a round's spread is also that of its texts.

    Examples
    --------
    >>> again = with_other_seeds(lambda seed: f"seed {seed}")
    >>> again(), again()
    ('seed 0', 'seed 1')
    """
    seeds = itertools.count()
    return lambda: run(seed=next(seeds))


def measure_times(
    target: GPT2, kinds: Sequence[str], drafts: Mapping[str, Any], rounds: int, tokens: int
) -> dict[tuple[str, str], Turns]:
    """Return the turns by sampling and domain.

    Raises
    ------
    SystemExit
        If greedy text is not plain decoding's.
    """
    found: dict[tuple[str, str], Turns] = {}
    for sampling, domain in itertools.product(TIMED, DOMAINS):
        runs = {}
        for name, options in contenders(kinds, sampling).items():
            model = drafts.get(options["draft"], options["draft"])
            once = partial(
                decode, target, domain=domain, sampling=sampling, tokens=tokens, **options | {"draft": model}
            )
            runs[name] = with_other_seeds(once)
            runs[name]()  # once for nothing: caches, thread pools
        turns = interleave(runs, rounds)
        if sampling == GREEDY and any(
            spent.texts != turns[PLAIN][0].texts for each in turns.values() for spent in each
        ):
            raise SystemExit(f"{domain}: speculative and plain greedy text differ")
        found[sampling, domain] = turns
    return found


def speedups(times: Mapping[tuple[str, str], Turns], sampling: str, name: str) -> dict[str, list[float]]:
    """Return plain seconds over a contender's, one for each round: of each domain, and their geometric mean."""
    found = {
        domain: [
            plain.token_s / other.token_s
            for plain, other in zip(times[sampling, domain][PLAIN], times[sampling, domain][name], strict=True)
        ]
        for domain in DOMAINS
    }
    return {**found, MEAN: [statistics.geometric_mean(each) for each in zip(*found.values(), strict=True)]}


def drafting_shares(times: Mapping[tuple[str, str], Turns], sampling: str, name: str) -> list[float]:
    """Return the time of drafting `GAMMA` tokens over that of a plain forward, one for each round and domain."""
    return [
        other.draft_s / plain.target_s
        for domain in DOMAINS
        for plain, other in zip(times[sampling, domain][PLAIN], times[sampling, domain][name], strict=True)
    ]


def best_of(times: Mapping[tuple[str, str], Turns], sampling: str, names: Sequence[str]) -> str:
    """Return who has the best geometric mean, in hindsight."""
    return max(names, key=lambda name: statistics.median(speedups(times, sampling, name)[MEAN]))


def show(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} … {max(values):.2f})"


def lengths_table(lengths: Mapping[tuple[str, str], Sequence[float]]) -> str:
    lines = [
        f"| tokens per target forward, γ = {GAMMA} | {' | '.join(DOMAINS)} | mean |",
        "|---" * (2 + len(DOMAINS)) + "|",
    ]
    for (draft, sampling), row in lengths.items():
        cells = " | ".join(f"{length:.2f}" for length in (*row, statistics.mean(row)))
        lines.append(f"| {draft}, {sampling} | {cells} |")
    return "\n".join(lines)


def shares_table(all_times: Mapping[str, Any], names: Sequence[str]) -> str:
    columns = list(itertools.product(all_times, TIMED))
    lines = [
        f"| drafting {GAMMA} tokens / a one-row forward | {' | '.join(', '.join(each) for each in columns)} |",
        "|---" * (1 + len(columns)) + "|",
    ]
    for name in names:
        cells = (show(drafting_shares(all_times[dtype], sampling, name)) for dtype, sampling in columns)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def times_table(times: Mapping[tuple[str, str], Turns], dtype: str) -> str:
    names = [name for name in times[GREEDY, DOMAINS[0]] if name != PLAIN]
    lines = [f"| target in {dtype}: times plain decoding | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for sampling in TIMED:
        columns = [speedups(times, sampling, name) for name in names]
        lines += [
            f"| {sampling}, {row} | {' | '.join(show(column[row]) for column in columns)} |" for row in (*DOMAINS, MEAN)
        ]
    return "\n".join(lines)


def bars(
    kinds: Sequence[str], lengths: Mapping[tuple[str, str], Sequence[float]], all_times: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a line for each bar: the figure, the bar, what was reached."""

    def line(figure: str, bar: float, reached: float, shown: str, at_most: bool = False) -> str:
        verdict = "reached" if (reached <= bar if at_most else reached >= bar) else "**missed**"
        return f"| {figure} | {'≤' if at_most else '≥'} {bar:g} | {shown} | {verdict} |"

    for kind in kinds:
        more = statistics.mean(lengths[kind, OPEN]) - statistics.mean(lengths[DEFAULT_DRAFT, OPEN])
        figure = f"{kind}: tokens per target forward at γ = {GAMMA}, {OPEN}, more than {DEFAULT_DRAFT}"
        yield line(figure, 0.5, more, f"{more:.2f}")
    for kind, (dtype, times), sampling in itertools.product(kinds, all_times.items(), TIMED):
        shares = drafting_shares(times, sampling, name_chain(kind, GAMMA))
        figure = f"{kind}: drafting {GAMMA} tokens / a one-row forward, {dtype}, {sampling}"
        yield line(figure, 0.3, statistics.median(shares), show(shares), at_most=True)
    for (dtype, times), sampling in itertools.product(all_times.items(), TIMED):
        shares = [share / GAMMA for share in drafting_shares(times, sampling, name_chain(DEFAULT_DRAFT, GAMMA))]
        figure = f"{DEFAULT_DRAFT}: drafting a token / a one-row forward, {dtype}, {sampling}"
        yield line(figure, 0.1, statistics.median(shares), show(shares), at_most=True)
    for (dtype, times), sampling in itertools.product(all_times.items(), TIMED):
        best = best_of(times, sampling, [name for name in contenders(kinds, sampling) if name != PLAIN])
        means = speedups(times, sampling, best)[MEAN]
        yield line(f"{dtype}, {sampling}, {best}", BARS[dtype, sampling], statistics.median(means), show(means))
    for kind, (dtype, times), sampling in itertools.product(
        filter(TREES.__contains__, kinds), all_times.items(), TIMED
    ):
        tree, chain = f"{kind}, {TREE}", best_of(times, sampling, [name_chain(kind, gamma) for gamma in GAMMAS])
        pairs = zip(*(speedups(times, sampling, name)[MEAN] for name in (tree, chain)), strict=True)
        ratios = [of_tree / of_chain for of_tree, of_chain in pairs]
        yield line(f"{dtype}, {sampling}, {tree} / {chain}", 1, statistics.median(ratios), show(ratios))


def tables(
    kinds: Sequence[str], lengths: Mapping[tuple[str, str], Sequence[float]], all_times: Mapping[str, Any]
) -> str:
    """Return everything the page says in figures."""
    judged = "\n".join(["| figure | bar | reached | |", "|---|---|---|---|", *bars(kinds, lengths, all_times)])
    shares = shares_table(all_times, [name_chain(draft, GAMMA) for draft in (*DRAFTS, *kinds)])
    gains = [times_table(times, dtype) for dtype, times in all_times.items()]
    return "\n\n".join([judged, lengths_table(lengths), shares, *gains])


def quote(gains: Gains) -> str:
    """Return the table of what the default pair gains; losses are bold.

    Examples
    --------
    >>> print(quote({("T = 0", "code"): (0.9, 0.8, 1.0), ("T = 0", "sums"): (1.2, 1.1, 1.3)}))
    | temperature | code | sums |
    |---|---|---|
    | 0 | **0.90x** (0.80–1.00) | 1.20x (1.10–1.30) |
    """
    rows: dict[str, list[str]] = {}
    for (sampling, _), (median, low, high) in gains.items():
        shown = f"**{median:.2f}x**" if median < 1 else f"{median:.2f}x"
        rows.setdefault(sampling.removeprefix("T = "), []).append(f"{shown} ({low:.2f}–{high:.2f})")
    domains = dict.fromkeys(domain for _, domain in gains)
    lines = [f"| {sampling} | {' | '.join(cells)} |" for sampling, cells in rows.items()]
    return "\n".join([f"| temperature | {' | '.join(domains)} |", "|---" * (1 + len(domains)) + "|", *lines])


def draw(gains: Gains) -> str:
    """Return the picture of what the default pair gains."""
    series = {sampling: [gains[sampling, domain] for domain in DOMAINS] for sampling in TIMED}
    chart = draw_bars("The default pair with default options", "text", "speedup", DOMAINS, series, lines=AS_PLAIN)
    return draw_claim(chart, "Speedup by kind of text and temperature")


def put_cost(card: str, share: float, machine: str) -> str:
    r"""Return a card that says what a drafted token costs, measured on a machine, as a share of a target's forward.

    Examples
    --------
    >>> put_cost("---\nkind: eagle\n---\n# A head\n", 0.05, "a machine").splitlines()[1:3]
    ['cost_per_token: 0.050', 'cost_measured_on: "a machine"']
    """
    opening, _, rest = _COST.sub("", card).partition("\n")
    return f'{opening}\ncost_per_token: {share:.3f}\ncost_measured_on: "{machine}"\n{rest}'


def gains_of(all_times: Mapping[str, Any]) -> Gains:
    """Return what the default pair gains, with the digits that are printed."""
    dtype, name = DEFAULT
    found = {(sampling, domain): speedups(all_times[dtype], sampling, name)[domain]
             for sampling in TIMED for domain in DOMAINS}  # fmt: skip
    return {where: (round(statistics.median(x), 2), round(min(x), 2), round(max(x), 2)) for where, x in found.items()}


def put_gains(gains: Gains) -> None:
    """Write what the default pair gains, into both pages and the picture."""
    for page in QUOTED:
        put("speedups", quote(gains), page)
    PICTURE.write_text(draw(gains), encoding="utf-8")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=48, help="at most, behind each prompt")
    parser.add_argument(
        "--write", action="store_true", help="put what is measured into the lab note, cards, README and performance.md"
    )
    asked = parser.parse_args()
    whole = load_model(DEFAULT_DRAFT)
    separate = {draft: load_draft(draft, {DEFAULT_DRAFT: whole}.__getitem__) for draft in DRAFTS}
    targets = {dtype: load_model(DEFAULT_TARGET, dtype=dtype) for dtype in ("float32", "float16")}
    for target in targets.values():
        target.backend.warm_up(target.dtype)
    heads = find_heads(targets["float32"].folder)
    drafts = {**separate, **{kind: kind for kind in heads}}
    lengths = measure_lengths(targets["float16"], drafts, asked.tokens)
    all_times = {
        dtype: measure_times(target, list(heads), separate, asked.rounds, asked.tokens)
        for dtype, target in targets.items()
    }
    where, found = machine(asked.rounds, peers=()), tables(list(heads), lengths, all_times)
    print(f"{where}\n\n{found}")
    if asked.write:
        put("heads", f"{where}\n\n{found}")
        put_gains(gains_of(all_times))
        for kind, folder in heads.items():
            card = folder / "README.md"
            shares = drafting_shares(all_times["float32"], SAMPLED, name_chain(kind, GAMMA))
            told = put_cost(card.read_text(encoding="utf-8"), statistics.median(shares) / GAMMA, where)
            card.write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
