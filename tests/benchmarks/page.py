"""How fast the page decodes in a headless Chromium: ``python -m tests.benchmarks.page``.

The worker of a written page decodes three arithmetic questions plainly and with drafts, in turns. Medians, and the
smallest and largest figure; each gain is that of its round.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

from minispec.lab.prompts import bundled_prompts
from minispec.lab.timer import interleave, ratios, spread
from minispec.serving.static import write_page
from tests.serving.alone import chromium, served

RUN = """async (body) => {
  const { complete } = await import("./stream.js");
  for await (const { event, data } of complete(body)) if (event === "finished") return data.metrics;
}"""
READY = "() => document.getElementById('status').textContent === 'Ready.'"
DRAFT = {"draft": "draft-1.6m", "verify": "rejection"}


def measure(page: Any, prompt: str, options: dict[str, object], gamma: int, rounds: int) -> None:
    """Print tokens per second behind the first token, plainly and with drafts."""

    def rate(speculative: object) -> float:
        body = {"model": "target-17m", "prompt": prompt, "speculative": speculative, **options}
        return 1 / page.evaluate(RUN, body)["tpot_s"]

    arms = {"plain": lambda: rate(False), "drafts": lambda: rate({**DRAFT, "gamma": gamma})}
    for arm in arms.values():
        arm()  # until the browser has compiled what it runs
    found = interleave(arms, rounds)
    found["gain"] = ratios(found["drafts"], found["plain"])
    cells = [
        f"{name} {statistics.median(each):.2f} ({low:.2f} to {high:.2f})"
        for name, each in found.items()
        for low, high in [spread(each)]
    ]
    print(f"{prompt[:40]!r}: {', '.join(cells)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--gamma", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    options = {"temperature": asked.temperature, "top_p": 0.95, "max_tokens": 60, "seed": 2}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "page"
        write_page(folder)
        with served(folder) as url, chromium() as browser:
            page = browser.new_page()
            page.set_default_timeout(180_000)
            page.goto(f"{url}/")
            page.wait_for_function(READY)
            print(f"tokens per second, gamma {asked.gamma}, {options}, {asked.rounds} rounds")
            for prompt in [one.text for one in bundled_prompts() if one.domain == "questions"][:3]:
                measure(page, prompt, options, asked.gamma, asked.rounds)


if __name__ == "__main__":
    main()
