"""The page of figures says "missed" where a bar is missed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.benchmarks import performance
from tests.benchmarks.peers.__main__ import CANNOT_VERIFY, OURS, PEERS, ROWS

DTYPES = ("float32", "float16", "int8")


def planted() -> dict[str, Any]:
    """Return results that reach every bar of the bundled target."""
    shares = {f"{dtype} decode, share of the read bandwidth": 0.95 for dtype in DTYPES}
    shares |= {f"{dtype} verify {rows} / floor": 1.1 for dtype in DTYPES for rows in ROWS}
    for dtype in DTYPES:
        for peer in (*PEERS, "minispec numpy"):
            for what in ("decode", "verify 6"):
                shares[f"minispec {dtype} {what}, times faster than {peer}"] = 3.5
    figures = {f"{name}: decode": {"median": 2e-3, "low": 1e-3, "high": 3e-3} for name in (*OURS, *PEERS)}
    for name in set(OURS + PEERS) - set(CANNOT_VERIFY):
        figures |= {f"{name}: verify {rows}": {"median": 4e-3, "low": 1e-3, "high": 3e-3} for rows in ROWS}
    figures |= {f"limits {n}: read": {"median": 1e-3, "low": 1e-3, "high": 1e-3} for n in (4, 2, 1)}
    row = {"best gamma": 3, "speedup over our plain": 2.5, "over the fastest peer": 2.5, "speedups": {"3": 2.5}}
    speculation = {f"T={t} {domain}": dict(row) for t in (0, 1) for domain in ("prose", "code", "questions")}
    accuracy = {name: {"largest relative error": 1e-3, "same largest logit": 1.0} for name in OURS}
    same = dict.fromkeys(OURS, True)
    return {
        "shares": shares,
        "figures": figures,
        "speculation": speculation,
        "accuracy": accuracy,
        "same_greedy_tokens": same,
    }


def test_every_bar_reached_reads_so() -> None:
    table = performance.targets({"bundled": planted()})
    assert "missed" not in table
    assert len(table.splitlines()) == 2 + 13


@pytest.mark.parametrize(
    ("figure", "value", "row"),
    [
        ("float32 decode, share of the read bandwidth", 0.79, "share of the read bandwidth"),
        ("float32 verify 7 / floor", 1.26, "the worst"),
        ("minispec int8 decode, times faster than llama.cpp q8_0", 1.29, "q8_0"),
        ("minispec float32 verify 6, times faster than llama.cpp f32", 1.79, "verify 6 rows"),
    ],
)
def test_one_figure_below_its_bar_is_that_row_and_no_other(figure: str, value: float, row: str) -> None:
    result = planted()
    result["shares"][figure] = value
    missed = [line for line in performance.targets({"bundled": result}).splitlines() if "missed" in line]
    assert len(missed) == 1
    assert row in missed[0]


def test_speculation_is_judged_by_its_geometric_mean() -> None:
    result = planted()
    for domain, value in (("prose", 1.0), ("code", 1.9), ("questions", 3.2)):  # arithmetic mean 2.03, geometric 1.83
        result["speculation"][f"T=0 {domain}"]["speedup over our plain"] = value
    missed = [line for line in performance.targets({"bundled": result}).splitlines() if "missed" in line]
    assert len(missed) == 1
    assert "our plain decoding, T=0 | ≥ 2× | 1.83×" in missed[0]
