"""The figures of docs/control.md: ``python -m tests.benchmarks.control [SECTION ...] [--write]``.

Without ``--write`` they are printed; with it they also replace what stands in the page between their markers.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from functools import partial
from pathlib import Path

from minispec.analysis.judge import ADAPTIVE, FIXED, PLAIN, Text, best_fixed, judge
from minispec.analysis.simulate import CostedModel, CostModel, MisleadingDraft, RememberingModel, SimulatedClock
from minispec.analysis.timer import interleave
from minispec.generation import stream
from minispec.loading import load_model
from minispec.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.model import GPT2
from minispec.sampling import Constraint

PAGE = Path(__file__).resolve().parents[2] / "docs" / "control.md"
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

FORMS = {
    "dates": ("The days:\n", "regex", r"([0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]\n){4}"),
    "choices": (
        "Answers to the ten questions:\n",
        "regex",
        r"([1-9]: (yes, certainly|no, never|perhaps, who knows)\n){8}",
    ),
    "a JSON record": (
        "Tom is a boy of ten years. As JSON: ",
        "json_schema",
        '{"type": "object", "properties": {"first_name": {"enum": ["Tom", "Sara", "Jack"]}, "age_in_years": {"type": '
        '"integer", "minimum": 1, "maximum": 99}, "favourite_animal": {"enum": ["cat", "dog", "horse"]}, "is_happy": '
        '{"type": "boolean"}}, "required": ["first_name", "age_in_years", "favourite_animal", "is_happy"], '
        '"additionalProperties": false}',
    ),
    "a JSON string": (
        "What the fox said, as JSON: ",
        "json_schema",
        '{"type": "object", "properties": {"said": {"type": "string", "maxLength": 80}}, "required": ["said"], '
        '"additionalProperties": false}',
    ),
}  # fmt: skip


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
                        prompt, target=CostedModel(target, clock, CHEAP.target_cost), clock=clock, seed=seed, gamma=5,
                        draft=drafts if isinstance(drafts, str) else CostedModel(drafts, clock, CHEAP.draft_cost),
                        temperature=1.0, top_p=1.0, max_tokens=96, **options,
                    ).run()  # fmt: skip
                    emitted, steps = emitted + run.metrics.num_tokens, steps + run.metrics.num_steps
                    accepted += run.metrics.num_accepted_tokens
                    evaluated += run.metrics.num_evaluated_tokens
                    spent += run.metrics.decode_s
                    if options and drafts is draft:
                        forced += num_forced(target, kind, form, run.token_ids)
                        all_tokens += len(run.token_ids)
                figures.append((accepted / evaluated if evaluated else 0.0, emitted / steps, emitted / spent))
            (a, b), (c, d), (e, f) = zip(*figures, strict=True)
            lines.append(
                f"| {name} | {forced / all_tokens:.0%} | {shown} | {a:.2f} | {b:.2f} | {c:.2f} | {d:.2f} | "
                f"{e:.2f}x | {f:.2f}x |"
            )
    return "\n".join(lines)


def num_forced(target: GPT2, kind: str, form: str, tokens: tuple[int, ...]) -> int:
    """Count the tokens whose mask allowed nothing else."""
    assert target.tokenizer is not None
    constraint = Constraint(form, kind, target.tokenizer, min(target.eos_token_id), target.vocab_size)
    return sum(int(constraint.allowed(tokens[:i]).sum() == 1) for i in range(len(tokens)))


def clock(target: GPT2, draft: GPT2, repeats: int = 5, tokens: int = 192) -> str:
    """Return wall-clock speedups over plain decoding: medians of interleaved runs, and the range of the ratios."""
    names = ("1", "3", "5", "heuristic", "auto", "auto+fallback")
    lines = [f"| T | text | {' | '.join(names)} |", "|---|---|" + "---|" * len(names)]

    def seconds(prompt: str, temperature: float, policy: str) -> float:
        gamma, plus, _ = policy.partition("+")
        run = stream(
            prompt, target=target, draft=None if policy == PLAIN else draft, gamma=gamma if gamma != PLAIN else 5,
            fallback="request" if plus else "off", temperature=temperature, top_p=1.0, min_tokens=tokens,
            max_tokens=tokens,
        ).run()  # fmt: skip
        return run.metrics.decode_s / run.metrics.num_tokens

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


SECTIONS = {
    "greedy": partial(policies, temperature=0.0),
    "prose": prose,
    "sampled": partial(policies, temperature=1.0),
    "constraints": constraints,
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
    parser.add_argument("--write", action="store_true", help="put the tables into docs/control.md")
    asked = parser.parse_args()
    target, draft = load_model(asked.target), load_model(asked.draft)
    for section in asked.sections or SECTIONS:
        table = SECTIONS[section](target, draft)
        print(f"## {section}\n\n{table}\n", flush=True)
        if asked.write:
            put(section, table)


if __name__ == "__main__":
    main()
