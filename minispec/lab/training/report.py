"""The figures of the bundled models, from the exported folders themselves, and the model cards made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from minispec.lab.training import checkpoint
from minispec.lab.training.cards import write_cards
from minispec.lab.training.checks import check, documents, perplexity, story_beginnings
from minispec.lab.training.data import load_packed, validation_rows
from minispec.lab.training.export import load_exported
from minispec.lab.training.generate import continue_texts
from minispec.lab.training.measure import agreement, mean_alpha
from minispec.lab.training.mixture import DOMAINS
from minispec.lab.training.model import GPT2
from minispec.lab.training.python_files import prompt_of
from minispec.lab.training.recipe import DRAFT, TARGET
from minispec.lab.training.stages import BUNDLED, MEMBERS, STAGES, Workshop
from minispec.lab.training.sums import held_out_sums

GAMMA = 5
TEMPERATURES = (0.0, 1.0)
PROMPT_TOKENS = 32
SAMPLE_TOKENS = 120
SAMPLE_TEMPERATURE = 0.8
SEED = 7


def stage_record(workshop: Workshop, stage: str) -> dict[str, Any] | None:
    """Return what a stage's checkpoint says of itself, or None when the stage was not run."""
    if not (workshop.folder(stage) / "best").exists():
        return None
    last = checkpoint.read_state(workshop.folder(stage) / "last")
    best = checkpoint.read_state(workshop.folder(stage) / "best")
    manifest = workshop.manifest
    mix = last["plan"]["mix"]
    return {
        "init": {name: last.get("inputs", {}).get(f"init {name}") for name in MEMBERS[stage]},
        "steps": best["step"],
        "tokens": best["tokens"],
        "finished": last["finished"],
        "seed": last["plan"]["seed"],
        "dropout": last["plan"].get("dropout", 0.0),
        "kl_weight": last["plan"]["kl_weight"],
        "acceptance_weight": last["plan"].get("acceptance_weight", 0.0),
        "mix": mix,
        "epochs": {
            domain: best["tokens"] * share / manifest[f"{domain}.train"]["tokens"] for domain, share in mix.items()
        },
    }


def beginnings(workshop: Workshop, tokenizer: Tokenizer) -> dict[str, str]:
    """Return what the samples begin with: the first held-out text of each kind, whatever it is."""
    valid = load_packed(workshop.packed, "valid", tuple(DOMAINS))
    return {
        "stories": tokenizer.decode(story_beginnings(valid["stories"])[0]),
        "questions, one step": held_out_sums(1, False, 1)[0].prompt,
        "questions, two steps": held_out_sums(2, False, 1)[0].prompt,
        "code": prompt_of(tokenizer.decode(documents(valid["code"])[0].tolist())),
    }


def samples(model: GPT2, tokenizer: Tokenizer, prompts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Continue each beginning greedily and by seeded sampling, up to the end of the text."""
    result: dict[str, dict[str, str]] = {}
    for kind, prompt in prompts.items():
        result[kind] = {"prompt": prompt}
        for temperature in (0.0, SAMPLE_TEMPERATURE):
            (written,) = continue_texts(model, [tokenizer.encode(prompt).ids], SAMPLE_TOKENS, temperature, SEED)
            result[kind][f"{temperature:g}"] = tokenizer.decode(written)
    return result


def alphas(
    workshop: Workshop, target: GPT2, drafts: dict[str, GPT2], num_rows: int, num_new: int
) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Measure every draft against the target.

    Returns
    -------
    dict
        Draft -> domain -> temperature -> ``alpha``, its ``interval``, and ``mean_acceptance_length``.
    """
    valid = load_packed(workshop.packed, "valid", tuple(DOMAINS))
    result: dict[str, dict[str, dict[str, dict[str, Any]]]] = {name: {} for name in drafts}
    for domain, tokens in valid.items():
        rows = torch.from_numpy(validation_rows(tokens, num_rows, PROMPT_TOKENS)[:, :-1]).to(workshop.device)
        for temperature in TEMPERATURES:
            found = agreement(target, drafts, rows, num_new, temperature, GAMMA, SEED)
            for name, value in found.items():
                result[name].setdefault(domain, {})[f"{temperature:g}"] = {
                    "alpha": value.alpha.value,
                    "interval": [value.alpha.low, value.alpha.high],
                    "mean_acceptance_length": value.mean_acceptance_length,
                }
    return result


def make_report(
    workshop: Workshop, weights: Path, num_rows: int, num_new: int, names: Sequence[str] = ()
) -> dict[str, Any]:
    """Measure the exported models, write ``report.json`` beside them and a card into each folder.

    Parameters
    ----------
    workshop : Workshop
        Whose held-out tokens, stage records and undistilled drafts are used.
    weights : Path
        Folder of the exported models.
    num_rows, num_new : int
        Continuations per domain and temperature, and their length in tokens.
    names : sequence of str
        Exported models; all by default.
    """
    device = workshop.device
    names = tuple(names) or tuple(BUNDLED)
    models = {name: load_exported(weights / name).to(device) for name in names}
    target = models[TARGET]
    tokenizer = Tokenizer.from_file(str(weights / TARGET / "tokenizer.json"))
    valid = load_packed(workshop.packed, "valid", tuple(DOMAINS))
    checks = check(target, tokenizer, workshop)
    prompts = beginnings(workshop, tokenizer)
    drafts = {name: model for name, model in models.items() if name != TARGET}
    for stage in ("drafts", "control"):  # what distillation is compared with
        if (workshop.folder(stage) / "best").exists():
            drafts[f"{DRAFT} ({stage})"] = workshop.load(stage, DRAFT).to(device).eval()
    report: dict[str, Any] = {
        "preset": workshop.preset.name,
        "torch": torch.__version__,
        "gamma": GAMMA,
        "rows": num_rows,
        "new_tokens": num_new,
        "sample_tokens": SAMPLE_TOKENS,
        "seed": SEED,
        "corpus": workshop.manifest,
        "stages": {stage: record for stage in STAGES if (record := stage_record(workshop, stage)) is not None},
        "parameters": {name: model.num_parameters for name, model in models.items()},
        "perplexity": {
            name: {
                domain: perplexity(model, tokenizer, part, device)["perplexity"].value for domain, part in valid.items()
            }
            for name, model in {**models, **drafts}.items()
        },
        "agreement": alphas(workshop, target, drafts, num_rows, num_new),
        "checks": checks,
        "samples": {name: samples(model, tokenizer, prompts) for name, model in models.items()},
    }
    for temperature in TEMPERATURES if DRAFT in drafts else ():
        checks[f"alpha at T = {temperature:g}"] = mean_alpha(report["agreement"][DRAFT], f"{temperature:g}")
    (weights / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    write_cards(report, weights)
    return report
