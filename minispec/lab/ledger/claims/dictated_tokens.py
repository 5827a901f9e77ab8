"""What a form leaves no choice about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minispec.engine.drafters import ForcedDrafter, ModelDrafter
from minispec.engine.generation import Drafted, Stream, Verified, stream
from minispec.engine.sampling import Constraint
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.runs import DRAFT, TARGET, model, read_prompt
from minispec.lab.ledger.verdicts import Finding, spell, tally
from minispec.lab.viz.plots.claims import Chart, bars

GAMMA = 8
TEMPERATURES = (0.0, 1.0)
COST = 0.1  # of a draft's pass, in plain steps

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
}
"""Prompt, kind and form; by name."""

ABOUT = About(
    title="What a form dictates is drafted for nothing and always kept",
    claim="Constrained output suits speculation: the tokens that a form dictates cost no drafting, and none of them is "
    "rejected.",
    sources=("day-05",),
    kind="counted",
    instrument="The bundled pair under two regular expressions and two JSON schemas; the draft model counts its "
    "passes, and the constraint says of each step what it dictated.",
    literature="SGLang (Zheng et al. 2024) appends what a regular expression dictates without asking the model "
    "(jump-forward decoding).",
    thresholds={
        "rejected": 0,
        "forwards": 0,
        "gamma": GAMMA,
        "cost": COST,
        "temperatures": TEMPERATURES,
        "forms": list(FORMS),
    },
)


def build_constraint(kind: str, form: str) -> Constraint:
    """Return a form's constraint for the bundled target."""
    target = model(TARGET)
    assert target.tokenizer is not None  # the bundled models have one
    return Constraint(form, kind, target.tokenizer, target.eos_token_id, target.vocab_size)


def measure(setting: Setting) -> Figures:
    """Decode each form with the draft model alone, and with what the form dictates drafted before it is asked."""
    found = []
    for name, (_, kind, form) in FORMS.items():
        constraint = build_constraint(kind, form)
        for temperature in TEMPERATURES:
            case: dict[str, Any] = {"form": name, "temperature": temperature}
            for way, draft in (("model", DRAFT), ("forced", f"forced:draft={DRAFT}")):
                seeds = range(setting.scale.prompts if temperature else 1)
                runs = (_start(name, draft, temperature, seed, setting.scale.tokens) for seed in seeds)
                case[way] = count_runs(runs, constraint)
            found.append(case)
    return {"cases": found}


def _start(name: str, draft: str, temperature: float, seed: int, tokens: int) -> Stream:
    prompt, kind, form = FORMS[name]
    options: dict[str, Any] = {kind: form}
    return stream(
        prompt,
        target=model(TARGET),
        draft=model(draft) if draft == DRAFT else draft,
        gamma=GAMMA,
        temperature=temperature,
        top_p=1.0,
        seed=seed,
        max_tokens=tokens,
        **options,
    )


def count_runs(runs: Iterable[Stream], constraint: Constraint) -> dict[str, int]:
    """Count the tokens and passes of runs, and what became of the drafts where the form dictates what comes next."""
    names = ("tokens", "steps", "draft_forwards", "dictated", "kept", "spent")
    total = dict.fromkeys(names, 0)
    for run in runs:
        drafter = run.drafter.inner if isinstance(run.drafter, ForcedDrafter) else run.drafter
        assert isinstance(drafter, ModelDrafter)
        session = drafter.session
        num_prompt_tokens, dictated = len(run.tokens), 0
        read_prompt(run)
        begin = before = session.num_forwards
        for event in run:
            if isinstance(event, Drafted):
                forced = constraint.find_forced(run.tokens[num_prompt_tokens:])
                dictated = min(len(forced), len(event.tokens))
                total["dictated"] += dictated
                total["spent"] += session.num_forwards - before if dictated else 0
            elif isinstance(event, Verified):
                total["kept"] += min(dictated, event.num_accepted)
            before = session.num_forwards
        total["tokens"] += run.generation.metrics.num_decode_tokens
        total["steps"] += run.generation.metrics.num_steps
        total["draft_forwards"] += before - begin
    return total


def conclude(figures: Figures) -> Conclusion:
    """Each form and temperature: no dictated draft was rejected and none took a draft pass; tally: the verdict."""
    answers = {
        _name(f): f["forced"]["kept"] == f["forced"]["dictated"] and f["forced"]["spent"] == 0 for f in figures["cases"]
    }
    sooner = {_name(f): _speedup(f["forced"]) > _speedup(f["model"]) for f in figures["cases"]}
    rows = []
    for f in figures["cases"]:
        forced, plain = f["forced"], f["model"]
        rows.append(
            (
                f["form"],
                f"{f['temperature']:g}",
                f"{forced['dictated'] / forced['tokens']:.0%}",
                f"{forced['kept']} of {forced['dictated']}",
                forced["spent"],
                *(f"{way['draft_forwards'] / way['tokens']:.2f}" for way in (plain, forced)),
                *(f"{way['tokens'] / way['steps']:.2f}" for way in (plain, forced)),
                *(f"{_speedup(way):.2f}x" for way in (plain, forced)),
            )
        )
    return Conclusion(
        "Where a form allows one token, the target's processed law is one-hot, and so is the draft's: min(1, p/q) = 1, "
        "whatever the model and the temperature. A form that dictates a share f of the tokens leaves 1 − f to be "
        "drafted by a model.",
        f"The bundled pair under four forms, γ = {GAMMA}, with the draft model alone (*model*), and with what the form "
        "dictates drafted by itself (*forced*). Draft passes per token, tokens per pass of the target, and what "
        f"that makes of the speedup if a draft's pass takes {COST:g} plain steps and verification one:"
        + table(
            (
                "form", "temperature", "drafted as dictated", "kept", "draft passes for it", "passes/token, model",
                "forced", "tokens/step, model", "forced", "speedup, model", "forced",
            ),
            rows,
        ),
        Finding(
            tally(list(answers.values())),
            f"Kept, and without a pass? {spell(answers)}. What is dictated costs the constraint "
            "library's look-up and a row of the target; a draft model reads it later, with the pass of its next own "
            f"draft. That is not yet a gain. More than with the draft model alone? {spell(sooner)}. A form's two or "
            "three tokens are a draft of their own here, and its step ends behind them, where the draft model would "
            "have gone on.",
        ),
    )  # fmt: skip


def _name(case: Figures) -> str:
    return f"{case['form']} (T = {case['temperature']:g})"


def _speedup(way: Figures) -> float:
    return float(way["tokens"] / (way["steps"] + COST * way["draft_forwards"]))


def chart(figures: Figures) -> Chart:
    """Draw the speedup of both ways, at temperature 1."""
    cases = [f for f in figures["cases"] if f["temperature"] == 1.0]
    return bars(
        f"Output of a given form, T = 1, γ = {GAMMA}, c = {COST:g}",
        "form",
        "speedup",
        [f["form"] for f in cases],
        {
            label: [_speedup(f[way]) for f in cases]
            for label, way in (("draft model", "model"), ("dictated tokens by themselves", "forced"))
        },
        lines=(("plain decoding", 1.0),),
    )
