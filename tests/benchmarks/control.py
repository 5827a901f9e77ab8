"""The figures of docs/lab-notes/draft-length.md: ``python -m tests.benchmarks.control [SECTION ...] [--write]``.

Without ``--write`` they are printed; with it they also replace what stands in the page between their markers.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from minispec.engine.control import FixedGamma
from minispec.engine.generation import stream
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.engine.model import GPT2
from minispec.engine.records import Step, Verdict
from minispec.lab.ledger.claims.dictated_tokens import FORMS, build_constraint
from minispec.lab.simulate import (
    ADAPTIVE,
    FIXED,
    PLAIN,
    CostedModel,
    CostModel,
    MisleadingDraft,
    RememberingModel,
    SimulatedClock,
    Text,
    best_fixed,
    judge,
    new_policy,
)
from minispec.lab.timer import interleave
from tests.engine.control.test_policies import World

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab-notes" / "draft-length.md"
PROSE = ("Once upon a time there was a little girl who", "One day, Tom and his mom went to the park.")
CODE = (
    'def largest(values):\n    """Return the largest of some values."""\n',
    'def merge(left, right):\n    """Merge two sorted lists into one."""\n',
)
QUESTIONS = (
    "Question: Tom has 5 apples. He buys 3 more apples. How many apples does he have now?\nAnswer:",
    "Question: There are 6 boxes. Each of the boxes holds 4 pens. How many pens are there in all?\nAnswer:",
)
MORE_PROSE = (
    "Once upon a time",
    "One day, Tom and his mom went to the park.",
    "In the middle of the forest there stood a little house.",
    "It was a dark night, and Lily could not sleep.",
    '"Who are you?" asked the fox.',
    "The little boat went down the river",
)
CHEAP, DEAR = CostModel(draft=0.1), CostModel(draft=0.5)
MEASURED = CostModel(draft=0.2, row=0.1)  # about what `minispec generate --compare` prints for the pair here
USELESS = ("5", *ADAPTIVE)


def texts(target: GPT2, temperature: float) -> dict[str, list[Text]]:
    """512 tokens each, those that change after 256; two per kind where text is greedy and repeats itself by chance."""
    assert target.tokenizer is not None
    encode, several = target.tokenizer.encode, 2 if temperature == 0.0 else 1
    found = {
        name: [Text([encode(prompt)], 512, temperature, seed) for seed, prompt in enumerate(prompts[:several])]
        for name, prompts in (("prose", PROSE), ("code", CODE), ("questions", QUESTIONS))
    }
    turns = ((PROSE[0], CODE[0]), (QUESTIONS[0], PROSE[1]))
    found["changing midway"] = [
        Text([encode(first), encode("\n\n" + second)], 256, temperature, 10 * seed)
        for seed, (first, second) in enumerate(turns[:several])
    ]
    found["useless draft"] = found["code"][:1]
    return found


def costs_of(target: GPT2, draft: GPT2, temperature: float, name: str) -> dict[CostModel, dict[str, float]]:
    """Return the costs of all policies on one kind of text."""
    useless = name == "useless draft"
    remembering = RememberingModel(target), RememberingModel(MisleadingDraft(draft) if useless else draft)
    fixed = FIXED if temperature == 0.0 else FIXED[:8]  # longer drafts lose where text is sampled, and take long
    policies = (PLAIN, *(USELESS if useless else (*fixed, *ADAPTIVE)))
    return {costs: judge(*remembering, texts(target, temperature)[name], costs, policies) for costs in (CHEAP, DEAR)}


def policies(target: GPT2, draft: GPT2, temperature: float) -> str:
    """Return the table of simulated costs, and of what the best fixed γ would have cost in units of it."""
    lines = [
        f"| c | text | best fixed γ | {' | '.join(ADAPTIVE)} |",
        "|---|---|---|" + "---|" * len(ADAPTIVE),
    ]
    rows: dict[CostModel, list[str]] = {CHEAP: [], DEAR: []}
    for name in texts(target, temperature):
        for costs, found in costs_of(target, draft, temperature, name).items():
            best = PLAIN if name == "useless draft" else best_fixed(found)
            shown = " | ".join(f"{found[policy]:.3f} ({found[best] / found[policy]:.0%})" for policy in ADAPTIVE)
            rows[costs].append(f"| {costs.draft:g} | {name} | γ = {best}: {found[best]:.3f} | {shown} |")
        print(f"{name} at temperature {temperature:g} is done", file=sys.stderr, flush=True)
    return "\n".join([*lines, *rows[CHEAP], *rows[DEAR]])


def prose(target: GPT2, draft: GPT2, costs: tuple[CostModel, ...] = (CHEAP, MEASURED, DEAR)) -> str:
    """Return how ``auto`` fares on greedy prose as a whole: six beginnings, and one best fixed γ for all of them."""
    assert target.tokenizer is not None
    texts = [Text([target.tokenizer.encode(prompt)], seed=seed) for seed, prompt in enumerate(MORE_PROSE)]
    remembering = RememberingModel(target), RememberingModel(draft)
    lines = ["| c | v(m) | best fixed γ | auto |", "|---|---|---|---|"]
    for cost in costs:
        found = judge(*remembering, texts, cost, (PLAIN, *FIXED[:7], "auto"))
        best = best_fixed(found)
        lines.append(
            f"| {cost.draft:g} | 1 + {cost.row:g} (m - 1) | γ = {best}: {found[best]:.3f} | "
            f"{found['auto']:.3f} ({found[best] / found['auto']:.0%}) |"
        )
    return "\n".join(lines)


def constraints(target: GPT2, draft: GPT2, seeds: int = 8) -> str:
    """Return acceptance and simulated speedup with and without a form, at temperature 1."""
    lines = [
        "| text | forced | draft | α free | in form | tokens per forward free | in form | speedup free | in form |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (prompt, kind, form) in FORMS.items():
        forced, all_tokens = 0, 0
        for shown, drafts in (("draft model", draft), ("`ngram`", "ngram"), ("`suffix`", "suffix")):
            figures = []
            for options in ({}, {kind: form}):
                emitted, steps, accepted, evaluated, spent = 0, 0, 0, 0, 0.0
                for seed in range(seeds):
                    clock = SimulatedClock()
                    run = stream(
                        prompt,
                        target=CostedModel(target, clock, CHEAP.target_cost),
                        clock=clock,
                        seed=seed,
                        gamma=5,
                        draft=drafts if isinstance(drafts, str) else CostedModel(drafts, clock, CHEAP.draft_cost),
                        temperature=1.0,
                        top_p=1.0,
                        max_tokens=96,
                        **options,
                    ).run()
                    emitted, steps = emitted + run.metrics.num_decode_tokens, steps + run.metrics.num_steps
                    accepted += run.metrics.num_accepted_tokens
                    evaluated += run.metrics.num_evaluated_tokens
                    spent += run.metrics.decode_s
                    if options and drafts is draft:
                        forced += num_forced(kind, form, run.token_ids)
                        all_tokens += len(run.token_ids)
                figures.append((accepted / evaluated if evaluated else 0.0, emitted / steps, emitted / spent))
            (a, b), (c, d), (e, f) = zip(*figures, strict=True)
            lines.append(
                f"| {name} | {forced / all_tokens:.0%} | {shown} | {a:.2f} | {b:.2f} | {c:.2f} | {d:.2f} | "
                f"{e:.2f}x | {f:.2f}x |"
            )
    return "\n".join(lines)


def num_forced(kind: str, form: str, tokens: tuple[int, ...]) -> int:
    """Count the tokens whose mask allowed nothing else."""
    constraint = build_constraint(kind, form)
    return sum(int(constraint.mask(tokens[:i]).sum() == 1) for i in range(len(tokens)))


def clock(target: GPT2, draft: GPT2, repeats: int = 5, tokens: int = 192) -> str:
    """Return wall-clock speedups over plain decoding: medians of interleaved runs, and the range of the ratios."""
    names = ("1", "3", "5", "heuristic", "auto", "auto+fallback")
    lines = [f"| T | text | {' | '.join(names)} |", "|---|---|" + "---|" * len(names)]

    def seconds(prompt: str, temperature: float, policy: str) -> float:
        gamma, plus, _ = policy.partition("+")
        run = stream(
            prompt,
            target=target,
            draft=None if policy == PLAIN else draft,
            gamma=gamma if gamma != PLAIN else 5,
            fallback="request" if plus else "off",
            temperature=temperature,
            top_p=1.0,
            min_tokens=tokens,
            max_tokens=tokens,
        ).run()
        return run.metrics.decode_s / run.metrics.num_decode_tokens

    for temperature in (0.0, 1.0):
        for name, (prompt, _) in (("prose", PROSE), ("code", CODE), ("questions", QUESTIONS)):
            runs = {
                policy: lambda policy=policy, prompt=prompt, temperature=temperature: seconds(
                    prompt, temperature, policy
                )
                for policy in (PLAIN, *names)
            }
            times = interleave(runs, repeats)
            cells = []
            for policy in names:
                ratios = [plain / other for plain, other in zip(times[PLAIN], times[policy], strict=True)]
                middle = statistics.median(times[PLAIN]) / statistics.median(times[policy])
                cells.append(f"{middle:.2f}x ({min(ratios):.2f} to {max(ratios):.2f})")
            lines.append(f"| {temperature:g} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def first_token(target: GPT2, draft: GPT2, costs: CostModel = CHEAP) -> str:
    """Return when the first token comes, and the last of a short and of a long answer, by the prompt's length."""
    assert target.tokenizer is not None
    text = target.tokenizer.encode(" ".join(MORE_PROSE))
    remembering = RememberingModel(target), RememberingModel(draft)
    lines = ["| prompt | policy | first token | 16 tokens | 128 tokens |", "|---|---|---|---|---|"]
    for length in (16, 128, 512):
        prompt = (text * (1 + length // len(text)))[:length]
        for policy in (PLAIN, "5"):
            seconds = []
            for tokens in (16, 128):
                clock = SimulatedClock()
                run = stream(
                    prompt,
                    target=CostedModel(remembering[0], clock, costs.target_cost),
                    draft=None if policy == PLAIN else CostedModel(remembering[1], clock, costs.draft_cost),
                    clock=clock,
                    gamma=policy,
                    verify="gumbel",
                    temperature=1.0,
                    top_p=1.0,
                    min_tokens=tokens,
                    max_tokens=tokens,
                ).run()
                assert run.metrics.ttft_s is not None
                seconds += [run.metrics.ttft_s] * (not seconds) + [run.metrics.prefill_s + run.metrics.decode_s]
            shown = "plain" if policy == PLAIN else f"γ = {policy}"
            lines.append(f"| {length} | {shown} | {' | '.join(f'{each:.1f}' for each in seconds)} |")
    return "\n".join(lines)


def thinking(target: GPT2, draft: GPT2, looks: int = 5, steps: int = 500) -> str:
    """Return the processor time that each policy takes for a step of ``looks`` drafts, and what `auto` loses by it."""
    row = np.random.default_rng(0).dirichlet(np.ones(target.vocab_size))
    lines = ["| policy | µs per step | of the best fixed γ | thinking for nothing |", "|---|---|---|---|"]
    for name in ("5", "heuristic", "confidence", "auto"):
        seconds = []
        for _ in range(5):
            policy, began = new_policy(name), time.process_time()
            for index in range(steps):
                policy.gamma()
                for _ in range(looks):
                    policy.more(row)
                accepted = looks if index % 3 else 0
                verdict, tokens = Verdict(accepted, 0, "plain"), (0,) * (accepted + 1)
                policy.observe(Step(index, index, (0,) * looks, verdict, tokens, ("accepted",), 5e-4, 1e-3, 2e-3))
            seconds.append((time.process_time() - began) / steps)
        kept = [f"{keep_of_best(name, own):.0%}" if name == "auto" else "" for own in (1e3 * min(seconds) / looks, 0.0)]
        lines.append(f"| {name} | {1e6 * min(seconds):.0f} | {' | '.join(kept)} |")
    return "\n".join(lines)


def keep_of_best(name: str, own_time: float, tokens: int = 128, seeds: int = 12) -> float:
    """Return best fixed cost / a policy's, over texts of several acceptances, its own time charged in plain steps."""
    shares = []
    for alpha in (0.5, 0.65, 0.8):
        for costs in ((0.1, 0.05), (0.2, 0.05)):
            free, charged = (World(lambda _, alpha=alpha: alpha, *costs, own_time=own) for own in (0.0, own_time))
            best = min(statistics.mean(free.run(FixedGamma(g), tokens, s) for s in range(seeds)) for g in range(9))
            shares.append(best / statistics.mean(charged.run(new_policy(name), tokens, s) for s in range(seeds)))
    return statistics.mean(shares)


SECTIONS = {
    "greedy": partial(policies, temperature=0.0),
    "prose": prose,
    "sampled": partial(policies, temperature=1.0),
    "constraints": constraints,
    "first": first_token,
    "thinking": thinking,
    "clock": clock,
}


def put(section: str, table: str) -> None:
    """Replace what stands between the section's markers."""
    page = PAGE.read_text(encoding="utf-8")
    marked = re.compile(rf"(<!-- {section} -->\n).*?(\n<!-- end {section} -->)", re.DOTALL)
    changed, count = marked.subn(lambda found: found[1] + table + found[2], page)
    if count != 1:
        raise SystemExit(f"{PAGE} has {count} places for {section}")
    PAGE.write_text(changed, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="all, if none is named")
    parser.add_argument("--target", default=DEFAULT_TARGET)
    parser.add_argument("--draft", default=DEFAULT_DRAFT)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/lab-notes/draft-length.md")
    asked = parser.parse_args()
    target, draft = load_model(asked.target), load_model(asked.draft)
    for section in asked.sections or SECTIONS:
        table = SECTIONS[section](target, draft)
        print(f"## {section}\n\n{table}\n", flush=True)
        if asked.write:
            put(section, table)


if __name__ == "__main__":
    main()
