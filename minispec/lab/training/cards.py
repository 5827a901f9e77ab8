"""Model cards: the report, in words. Nothing is measured here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from minispec.lab.training.checks import BARS
from minispec.lab.training.generate import WRITTEN
from minispec.lab.training.measure import mean_alpha
from minispec.lab.training.mixture import DOMAINS
from minispec.lab.training.recipe import CODE, DRAFT, TARGET
from minispec.lab.training.stages import BUNDLED, MEMBERS

LICENCES = {
    "tinystories": "CDLA-Sharing-1.0",
    "storybooks": "CC BY 4.0 (each story in `weights/storybooks.tsv`)",
    "oldbooks": "public domain in the US",
    "sums": "ours",
    "drills": "ours",
    "svamp": "MIT (SVAMP, Patel et al.)",
    "gsm8k": "MIT (GSM8K, OpenAI)",
    "functions": "PSF License Version 2; BSD-3-Clause and MIT for the packages",
    "mbpp": "CC BY 4.0 (MBPP, Google)",
    "modules": "PSF License Version 2",
    WRITTEN: "ours",
}
WHAT = {
    "tinystories": "very simple modern stories",
    "storybooks": "picture books",
    "oldbooks": "the simplest third of some old children's books, by rare words and length of sentences",
    "sums": "one- and two-step word problems, made by a generator",
    "drills": "rows of ten bare sums, made by a generator",
    "svamp": "one-step word problems, less those with held-out numbers",
    "gsm8k": "school problems with worked answers, less those with held-out numbers",
    "functions": "small functions, docstrings cut to their summaries",
    "mbpp": "short tasks and their solutions",
    "modules": "the plainest third of the standard library's files",
    WRITTEN: "what the target wrote behind beginnings of these texts",
}
SUMMARY = "simple stories, school sums, small Python functions"
HEADER = """---
license: cc0-1.0
summary: "{summary}"
language: [en]
library_name: transformers
pipeline_tag: text-generation
---
"""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Lay out a Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in (list(head), *map(list, rows))]
    return "\n".join([lines[0], "|" + "---|" * (lines[0].count("|") - 1), *lines[1:]])


def data_section(corpus: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Say what the model read: text, licence, tokens, share of the rows, passes."""
    rows = []
    for name, share in record["mix"].items():
        entry = corpus[f"{name}.train"]
        rows.append(
            [
                f"{name}: {WHAT[name]}",
                entry["source"],
                LICENCES[name],
                f"{entry['tokens'] / 1e6:.1f}M",
                f"{100 * share:g} %",
                f"{record['epochs'][name]:.2f}",
            ]
        )
    sums = "\n".join(f"- `{entry['sha256']}` {name} ({entry['source']})" for name, entry in corpus.items())
    return (
        table(("text", "from", "licence", "tokens", "share of rows", "passes"), rows)
        + "\n\nSHA-256 of the cleaned documents (each followed by its separator line):\n\n"
        + sums
    )


def stages_behind(report: Mapping[str, Any], stage: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the stages that made a model, the last one first, each with the model's name there."""
    while True:
        yield stage, name
        origin = MEMBERS[stage][name]
        if origin is None or report["stages"][stage]["init"][name]:
            return
        stage, name = origin


def history(report: Mapping[str, Any], name: str) -> str:
    """Say which stages made the model, with their tokens."""
    lines = []
    for stage, member in stages_behind(report, BUNDLED[name], name):
        record = report["stages"][stage]
        taught = {"KL(target ‖ draft)": record["kl_weight"], "-log(α)": record.get("acceptance_weight", 0.0)}
        parts = {**taught, "cross-entropy": 1 - sum(taught.values())}
        loss = " + ".join(f"{weight:g} {part}" for part, weight in parts.items() if weight).removeprefix("1 ")
        only = ", on code only" if set(record["mix"]) <= set(DOMAINS["code"]) else ""
        dropout = f", dropout {record['dropout']:g}" if record.get("dropout") else ""  # older reports do not say
        lines.append(
            f"stage `{stage}`: {record['tokens']:,} tokens in {record['steps']:,} steps, {loss}{only}{dropout}"
        )
        if given := record["init"][member]:
            lines.append(
                f"weights from before (SHA-256 `{given[:12]}`), given with `--init`; `NOTICE` names what they had "
                "read, which is not in the table below"
            )
    return "\n".join(f"{number}. {line}" for number, line in enumerate(reversed(lines), 1))


def is_from_scratch(report: Mapping[str, Any], name: str) -> bool:
    """Whether no stage behind a model began with weights that were given (``--init``)."""
    behind = stages_behind(report, BUNDLED[name], name)
    return not any(report["stages"][stage]["init"][member] for stage, member in behind)


def agreement_table(agreement: Mapping[str, Any], names: Iterable[str]) -> str:
    """Tabulate alpha and mean acceptance length per domain and temperature."""
    rows = []
    for name in names:
        for domain, temperatures in agreement[name].items():
            cells = [temperatures[key] for key in ("0", "1")]
            alphas = [with_interval((cell["alpha"], *cell["interval"])) for cell in cells]
            rows.append([name, domain, *alphas, *(f"{cell['mean_acceptance_length']:.2f}" for cell in cells)])
    return table(("draft", "domain", "α at T=0", "α at T=1", "length at T=0", "length at T=1"), rows)


def perplexity_table(perplexity: Mapping[str, Any], names: Iterable[str]) -> str:
    """Tabulate held-out perplexity per domain."""
    names = list(names)
    domains = list(perplexity[names[0]])
    return table(
        ("model", *domains), ([name, *(f"{perplexity[name][domain]:.1f}" for domain in domains)] for name in names)
    )


def with_interval(figure: Sequence[float | None], scale: float = 1.0, digits: int = 2) -> str:
    """Write a figure and its 95 % interval."""
    value, low, high = figure
    if value is None:
        return "–"
    text = f"{scale * value:.{digits}f}"
    return text if low is None or high is None else f"{text} ({scale * low:.{digits}f}–{scale * high:.{digits}f})"


def _format_figure(name: str, figure: Sequence[float | None]) -> str:
    """Write a figure in the unit its name calls for: shares as percentages."""
    if name.startswith(("perplexity", "bits", "alpha")):
        return with_interval(figure)
    return with_interval(figure, 100, 0) + " %"


def figures_table(figures: Mapping[str, Sequence[float | None]]) -> str:
    """Tabulate all figures of the checks."""
    return table(
        ("check", "figure (95 % interval)"), ((name, _format_figure(name, value)) for name, value in figures.items())
    )


def bars_table(figures: Mapping[str, Sequence[float | None]]) -> str:
    """Compare the figures that have a bar with it."""
    rows = []
    for bar in BARS:
        if bar.name in figures and (value := figures[bar.name][0]) is not None:
            bound = _format_figure(bar.name, (bar.bound, None, None))
            bound = f"{'≤' if bar.at_most else '≥'} {bound}"
            rows.append(
                (bar.what, bound, _format_figure(bar.name, figures[bar.name]), "yes" if bar.holds(value) else "no")
            )
    return table(("what", "bar", "figure (95 % interval)", "reached"), rows)


def distillation_gain(report: Mapping[str, Any]) -> str:
    """Compare the distilled draft with what it started from and with its twin trained without a teacher."""
    agreement, lines = report["agreement"], []
    for stage in ("drafts", "control", "distilled"):
        name = DRAFT if stage == "distilled" else f"{DRAFT} ({stage})"
        if name in agreement:
            tokens = sum(report["stages"][past]["tokens"] for past, _ in stages_behind(report, stage, DRAFT))
            lines.append(
                [name, f"{tokens / 1e6:.1f}M", *(f"{mean_alpha(agreement[name], key).value:.3f}" for key in ("0", "1"))]
            )
    text = table(("draft", "tokens seen in all", "mean α at T=0", "mean α at T=1"), lines)
    return (
        f"{text}\n\n`drafts` is the checkpoint distillation starts from; `control` goes on without the teacher, "
        "by cross-entropy alone, with the same batches and peak rates."
    )


def fence(text: str, language: str = "text") -> str:
    """Show text as it is, whatever is in it."""
    return f"````{language}\n{text.rstrip()}\n````"


def samples_section(samples: Mapping[str, Mapping[str, str]], new_tokens: int) -> str:
    """Show the seeded continuations."""
    parts = [
        "The first held-out beginning of each kind, whatever it is, greedily and at a fixed seed: none was chosen. Up "
        f"to {new_tokens} tokens each; everything after `▸` is the model's."
    ]
    for domain, entry in samples.items():
        for temperature in (key for key in entry if key != "prompt"):
            language = "python" if domain == "code" else "text"
            parts += [
                f"{domain}, temperature {temperature}:",
                fence(f"{entry['prompt']}▸{entry[temperature]}", language),
            ]
    return "\n\n".join(parts)


def limits(report: Mapping[str, Any], name: str) -> str:
    """Say what not to expect."""
    tokens = report["stages"]["target"]["tokens"]
    lines = [
        "Made to teach speculative decoding, not to be relied on: facts are invented, plots wander, and sums outside "
        "the ranges of its training text (numbers up to 40, products up to 100) are mostly wrong.",
        "Greedy text repeats itself sooner than sampled text does; sample at a temperature of about 0.8. Repetition is "
        "easy to draft, so α at temperature 0 flatters: temperature 1 is the fairer figure.",
        "English only, mostly as simple stories for small children are written. Nothing was filtered for taste, and "
        "there is no instruction tuning of any kind.",
        "Most training rows are 256 tokens long; coherence over more than a few hundred tokens was never its aim.",
    ]
    if report["preset"] == "cpu":
        ratio = tokens / report["parameters"][TARGET]
        before = "" if is_from_scratch(report, TARGET) else ", besides what the weights it began with had read"
        short = (
            f"**Trained on two CPU cores, far from convergence**: the target saw {tokens / 1e6:.1f}M tokens, "
            f"{ratio:.1f} per parameter{before}."
        )
        lines = [short, *lines]
    else:
        lines[-1] = "Training rows are 1024 tokens long, which is also the context."
    if name == CODE:
        lines.append("Fine-tuned on code alone: on prose it proposes worse than the draft it came from.")
    return "\n".join(f"- {line}" for line in lines)


def checks_section(figures: Mapping[str, Sequence[float | None]]) -> str:
    """Say what the target can do."""
    return (
        "## What it can do\n\nMeasured on held-out beginnings, numbers and signatures, always the same ones. The bars "
        f"were set before the training.\n\n{bars_table(figures)}\n\nEverything that was measured:\n\n"
        f"{figures_table(figures)}\n\n"
        "English is what the word list of the recipe has: words that simple modern stories use at least twice, or old "
        "children's books three times; names in a beginning count. A loop is a sentence that stands in a text three "
        "times, or three sentences in a row that come again. Held-out numbers: ordered pairs that no training text "
        "works out; the other order may have been there. A completion is read up to the end of its function."
    )


def card(report: Mapping[str, Any], name: str) -> str:
    """Write the model card of one bundled model."""
    agreement = report["agreement"]
    drafts = [key for key in agreement if key in BUNDLED] if name == TARGET else [name]
    compared = [key for key in report["perplexity"] if key in BUNDLED]
    role = "the target" if name == TARGET else "a draft"
    begun = " from scratch" if is_from_scratch(report, name) else ""
    gamma, tokens = report["gamma"], report["new_tokens"]
    sections = [
        HEADER.format(summary=SUMMARY + (", then Python alone" if name == CODE else "")) + f"# {name}",
        f"GPT-2 architecture, {report['parameters'][name]:,} parameters (head tied), context 1024, float16; an "
        f"8192-token byte-level BPE shared by all bundled models. It is {role} of minispec's bundled pair, "
        f"trained{begun} by `python -m minispec.lab.training`; see `docs/train.md`.",
        "## How it was trained\n\n"
        f"{history(report, name)}\n\nMuon for the matrices of the blocks, AdamW for the rest; warm-up, flat, linear "
        f"fall; early stop on held-out text; preset `{report['preset']}`; data order seeded. The text of its last "
        "stage:\n\n" + data_section(report["corpus"], report["stages"][BUNDLED[name]]),
        "## Perplexity on held-out text\n\nPer token of this vocabulary, over rows of 256 tokens.\n\n"
        + perplexity_table(report["perplexity"], compared),
        *([checks_section(report["checks"])] if name == TARGET else []),
        f"## Agreement with {TARGET}\n\nOn text the target wrote after {report['rows']} held-out beginnings per domain "
        f"({tokens} tokens each). α is the mean of Σ min(p, q); length is tokens per target forward (mean acceptance "
        f"length) at γ = {gamma}; plain decoding has 1, the most possible is {gamma + 1}.\n\n"
        + agreement_table(agreement, drafts),
    ]
    if name == DRAFT and "control" in report["stages"]:
        sections.append("## What distillation gained\n\n" + distillation_gain(report))
    sections += [
        "## Samples\n\n" + samples_section(report["samples"][name], report["sample_tokens"]),
        "## Limits\n\n" + limits(report, name),
        "## Licence\n\nWeights: CC0-1.0, apart from the code's MIT licence: whatever rights we hold in these numbers "
        "we give up. What they were trained on keeps its own licence (table above; notices in `NOTICE`): text that a "
        "model repeats from it at length stays under that.",
        "Every figure here is printed by `python -m minispec.lab.training report` and kept in `weights/report.json`.",
    ]
    return "\n\n".join(sections) + "\n"


def write_cards(report: Mapping[str, Any], weights: Path) -> None:
    """Write ``README.md`` into the folder of every model of the report."""
    for name in report["parameters"]:
        (weights / name / "README.md").write_text(card(report, name))
