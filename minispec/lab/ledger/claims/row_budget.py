"""One budget of verification rows for a batch, or one draft length for all of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from minispec.lab.ledger.batches import GroupTimings
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, Interval, above, spell, tally
from minispec.lab.simulate import CostModel, decode_company
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

SIZES = (4, 8, 16)
COMPANIES = {"alike": (0.7,), "mixed": (0.9, 0.6, 0.3, 0.1)}
MACHINES = {"each row costs": CostModel(0.1, 0.05), "24 rows are free": CostModel(0.1, 1 / 24, free=24)}
NOISE = 0.97
GROUPS = 8
"""At most: a decoding by the real engine for each, twice."""

ABOUT = About(
    title="Rows for the likeliest drafts of a batch beat one length for all",
    claim="A step should verify the draft tokens that are likeliest to survive, whichever request they are of, up to a "
    "budget that the costs of the machine set. This is faster than one draft length for the whole batch.",
    sources=(),
    kind="computed",
    instrument="`--gamma budget` beside `--gamma load` in the real engine on a simulated clock. Drafts are accepted by "
    "coins, α the same at all places of a request: 0.7 for all, or 0.9, 0.6, 0.3 and 0.1 in turn.",
    literature="TETRIS (Wu et al. 2025) claims it and proves the greedy choice best for a given number of rows. vLLM's "
    "adaptive verification (2026) ranks places by survival under a profiled cost.",
    thresholds={
        "faster": 1.0,
        "noise": NOISE,
        "sizes": SIZES,
        "companies": COMPANIES,
        "machines": {name: [costs.draft, round(costs.row, 4), costs.free] for name, costs in MACHINES.items()},
    },
)


def measure(setting: Setting) -> Figures:
    """Decode groups of requests by both policies, the same coins for both."""
    tokens, groups = 2 * setting.scale.tokens, min(GROUPS, setting.scale.timed)
    return {
        "tokens": tokens,
        "groups": groups,
        "cases": [
            _compare(machine, company, size, tokens, groups)
            for machine in MACHINES
            for company in COMPANIES
            for size in SIZES
        ],
    }


def _compare(machine: str, company: str, size: int, tokens: int, groups: int) -> dict[str, Any]:
    costs, rates = MACHINES[machine], np.resize(COMPANIES[company], size)
    found: dict[str, list[list[float]]] = {"load": [], "budget": [], "load, whole": [], "budget, whole": []}
    for group in range(groups):
        coins = np.random.default_rng([group, size]).random((size, tokens + 16)) < rates[:, None]
        for policy in ("load", "budget"):
            seen = decode_company(coins, tokens, costs, gamma=policy)
            found[policy].append([1.0 / seen.rate])
            found[f"{policy}, whole"].append([1.0 / seen.whole_rate])
    times, cases = GroupTimings(found), len(MACHINES) * len(COMPANIES) * len(SIZES)
    plain_s = costs.target_cost(size) / size
    return {
        "machine": machine,
        "company": company,
        "size": size,
        "load": plain_s / float(np.mean(found["load"])),
        "budget": plain_s / float(np.mean(found["budget"])),
        "faster": times.faster("load", "budget", cases),
        "whole": times.faster("load, whole", "budget, whole", cases),
    }


def _name(case: dict[str, Any]) -> str:
    return f"{case['size']} {case['company']} ({case['machine']})"


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    Each machine, company and size says whether the budget is faster while all requests run; where both are the same to
    the bit, as nobody drafts, it is not. The tally decides.
    """
    cases = figures["cases"]
    answers = {_name(case): above(case["faster"], 1.0) for case in cases}
    answers |= {_name(case): False for case in cases if tuple(case["faster"]) == (1.0, 1.0, 1.0)}
    worst = min(cases, key=lambda case: case["faster"][0])
    last = min(cases, key=lambda case: case["whole"][0])
    noise = "in no case" if worst["faster"][0] > NOISE else f"at the worst, {_name(worst)}"
    rows = [
        (
            case["machine"],
            case["company"],
            case["size"],
            f"{case['load']:.2f}",
            f"{case['budget']:.2f}",
            Interval(*case["faster"]),
            Interval(*case["whole"]),
        )
        for case in cases
    ]
    return Conclusion(
        "The k-th draft token of request i is emitted with probability S(i, k) and takes one row, whichever it is. So "
        "the n likeliest are the best n, and they are beginnings of drafts, as S falls with k. One length for all is "
        "among the plans, so nothing promises more. What a promise leaves out is that α has to be learnt.",
        f"Speedup over plain decoding by policy, and budget over load, {figures['groups']} groups of requests with "
        f"{figures['tokens']} tokens each; a draft pass is a tenth of a target's. The last column goes on until the "
        "last request ends, with nobody coming in:"
        + table(
            ("machine", "α", "requests", "load", "budget", "budget over load", "until the last has ended"),
            rows,
        ),
        Finding(
            tally(list(answers.values())),
            f"While all run: {spell(answers)}. It gains where a step has room for a few rows, but not for one more of "
            f"each request. It is more than {1 - NOISE:.0%} slower {noise} (least: {worst['faster'][0]:.3f}). Until "
            f"the last has ended it is {last['whole'][0]:.2f} times as fast at the least, {_name(last)}: good drafts "
            "finish early, and bad ones stay behind alone.",
        ),
        [case["faster"] for case in cases],
    )


def chart(figures: Figures) -> Chart:
    """Draw how much faster the budget is."""
    groups = [(machine, company) for machine in MACHINES for company in COMPANIES]
    return bars(
        "Budget over load, while all run",
        "requests",
        "times as fast",
        tuple(map(str, SIZES)),
        {
            f"{company}, {machine}": [
                case["faster"][0]
                for case in figures["cases"]
                if (case["machine"], case["company"]) == (machine, company)
            ]
            for machine, company in groups
        },
        lines=PLAIN,
    )
