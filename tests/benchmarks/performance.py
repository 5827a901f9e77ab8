"""All figures of docs/lab-notes/performance.md: ``python -m tests.benchmarks.performance [--rounds 7] [--write]``.

Without ``--write`` the tables are printed; with it they also replace what stands in the page between their markers.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.benchmarks.peers.__main__ import OURS, PEERS, ROOT, ROWS
from tests.benchmarks.peers.shapes import SHAPES

PAGE = ROOT / "docs" / "lab-notes" / "performance.md"
TITLES = {
    "bundled": "bundled target, 17M",
    "full": "full-size target shape, 23.6M, random weights",
    "124M": "GPT-2 124M shape, random weights",
}
Shape = Mapping[str, Any]


def bars(shape: str, result: Shape) -> list[tuple[str, str, float, float, bool]]:
    """Return (figure, how it reads, bar, reached, larger is better) for every bar that a shape is held to."""
    small = shape != "124M"
    shares = result["shares"]

    def faster(ours: str, peer: str, what: str = "decode") -> float:
        return float(shares[f"minispec {ours} {what}, times faster than {peer}"])

    found = [
        ("float32 decode, share of the read bandwidth", "", 0.80 if small else 0.90,
         shares["float32 decode, share of the read bandwidth"], True),
        ("decode vs llama.cpp f32", "×", 1.15 if small else 0.97, faster("float32", "llama.cpp f32"), True),
        ("verify 2..9 rows / floor, the worst", "×", 1.25 if small else 1.15,
         max(shares[f"float32 verify {rows} / floor"] for rows in ROWS), False),
        ("verify 6 rows vs llama.cpp f32", "×", 1.8, faster("float32", "llama.cpp f32", "verify 6"), True),
        ("decode f16 vs llama.cpp f16", "×", 1.2 if small else 1.1, faster("float16", "llama.cpp f16"), True),
        ("decode int8 vs llama.cpp q8_0", "×", 1.3 if small else 1.2, faster("int8", "llama.cpp q8_0"), True),
        ("decode vs transformers", "×", 3.0, faster("float32", "transformers float32"), True),
        ("decode vs CTranslate2 float32", "×", 1.3 if small else 1.1, faster("float32", "CTranslate2 float32"), True),
        ("decode vs NumPy with a KV cache", "×", 1.7 if small else 1.2, faster("float32", "minispec numpy"), True),
    ]  # fmt: skip
    if "speculation" in result:
        for temperature, bar in (("0", 2.0), ("1", 1.7)):
            found.append(
                (
                    f"speculation vs our plain decoding, T={temperature}",
                    "×",
                    bar,
                    _mean(result, temperature, "speedup over our plain"),
                    True,
                )
            )
            found.append(
                (
                    f"speculation vs llama.cpp f32's plain decoding, T={temperature}",
                    "×",
                    2.0,
                    _mean(result, temperature, "over the fastest peer"),
                    True,
                )
            )
    return found


def _mean(result: Shape, temperature: str, figure: str) -> float:
    """Geometric mean over the domains."""
    values = [row[figure] for name, row in result["speculation"].items() if name.startswith(f"T={temperature} ")]
    return math.exp(sum(map(math.log, values)) / len(values))


def targets(results: Mapping[str, Shape]) -> str:
    """One row per bar and shape."""
    lines = ["| shape | figure | bar | reached | |", "|---|---|---|---|---|"]
    for shape, result in results.items():
        for figure, unit, bar, reached, more in bars(shape, result):
            good = reached >= bar if more else reached <= bar
            sign = "≥" if more else "≤"
            verdict = "reached" if good else "**missed**"
            lines.append(f"| {TITLES[shape]} | {figure} | {sign} {bar:g}{unit} | {reached:.2f}{unit} | {verdict} |")
    return "\n".join(lines)


def times(results: Mapping[str, Shape]) -> str:
    """Median milliseconds of decoding and of verifying, with their spread."""
    lines = []
    for shape, result in results.items():
        lines += [
            f"\n{TITLES[shape]}:\n",
            "| | decode, ms (lowest … highest) | 2 rows | 4 rows | 6 rows | 9 rows |",
            "|---|---|---|---|---|---|",
        ]
        for name in (*OURS, *PEERS):
            decode = _ms(result["figures"][f"{name}: decode"], spread=True)
            rows = [_ms(result["figures"].get(f"{name}: verify {m}")) for m in (2, 4, 6, 9)]
            lines.append(f"| {name} | {decode} | {' | '.join(rows)} |")
        for limit, what in (("limits 4", "float32"), ("limits 2", "float16"), ("limits 1", "int8")):
            read = _ms(result["figures"][f"{limit}: read"], spread=True)
            lines.append(f"| *reading as many bytes as {what}* | {read} | | | | |")
    return "\n".join(lines).strip()


def _ms(figure: Mapping[str, float] | None, spread: bool = False) -> str:
    if figure is None:
        return "–"
    median = f"{figure['median'] * 1e3:.2f}"
    return f"{median} ({figure['low'] * 1e3:.2f} … {figure['high'] * 1e3:.2f})" if spread else median


def accuracy(results: Mapping[str, Shape]) -> str:
    """How far each contender's logits are from our float32's."""
    lines = [
        "| shape | | largest error / largest logit | same largest logit | same 32 greedy tokens |",
        "|---|---|---|---|---|",
    ]
    for shape, result in results.items():
        for name, row in result["accuracy"].items():
            same = "yes" if result["same_greedy_tokens"][name] else "no"
            lines.append(
                f"| {TITLES[shape]} | {name} | {row['largest relative error']:.1e} | "
                f"{row['same largest logit']:.1%} | {same} |"
            )
    return "\n".join(lines)


def speculation(results: Mapping[str, Shape]) -> str:
    """Speculation by domain, the bundled pair."""
    lines = [
        "| | best γ | vs our plain decoding | vs llama.cpp f32's plain decoding | at every γ |",
        "|---|---|---|---|---|",
    ]
    for name, row in results.get("bundled", {}).get("speculation", {}).items():
        every = ", ".join(f"{gamma}: {speedup:.2f}" for gamma, speedup in row["speedups"].items())
        lines.append(
            f"| {name} | {row['best gamma']} | {row['speedup over our plain']:.2f}× | "
            f"{row['over the fastest peer']:.2f}× | {every} |"
        )
    return "\n".join(lines)


def machine(rounds: int, peers: Sequence[str] = ("llama-cpp-python", "ctranslate2", "transformers", "torch")) -> str:
    """Name the machine and the versions, also of packages that are raced against."""
    doctor = subprocess.run(
        [sys.executable, "-m", "minispec", "doctor", "--json"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    facts = json.loads(doctor.stdout)
    kept = {key: facts[key] for key in ("cpu", "threads", "numpy", "numba") if key in facts}
    described = "; ".join(f"{key} {value}" for key, value in (kept | {name: version(name) for name in peers}).items())
    return f"{described}; {rounds} rounds, medians of the rounds' ratios."


SECTIONS: dict[str, Callable[[Mapping[str, Shape]], str]] = {
    "targets": targets,
    "times": times,
    "accuracy": accuracy,
    "speculation": speculation,
}


def put(section: str, table: str, page: Path = PAGE) -> None:
    """Replace what stands between the section's markers."""
    marked = re.compile(rf"(<!-- {section} -->\n).*?(\n<!-- end {section} -->)", re.DOTALL)
    changed, count = marked.subn(lambda found: found[1] + table + found[2], page.read_text(encoding="utf-8"))
    if count != 1:
        raise SystemExit(f"{page} has {count} places for {section}")
    page.write_text(changed, encoding="utf-8")


def main() -> None:
    """Measure (or read what was measured), print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--read", type=Path, nargs="+", help="results of tests.benchmarks.peers --json, not new ones")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    results: dict[str, Shape] = {}
    for path in args.read or _measured(args.rounds):
        results |= json.loads(path.read_text())
    tables = {name: section(results) for name, section in SECTIONS.items()} | {"machine": machine(args.rounds)}
    for name, table in tables.items():
        print(f"\n{name}\n{table}")
        if args.write:
            put(name, table)


def _measured(rounds: int) -> list[Path]:
    paths = []
    for shape in SHAPES:
        path = Path(tempfile.gettempdir()) / f"minispec-peers-{shape}.json"
        command = [sys.executable, "-m", "tests.benchmarks.peers", "--shape", shape, "--rounds", str(rounds)]
        subprocess.run([*command, "--json", str(path)], check=True, cwd=ROOT)
        paths.append(path)
    return paths


if __name__ == "__main__":
    main()
