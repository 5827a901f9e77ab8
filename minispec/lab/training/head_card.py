"""How a head is made, and what its folder says of it: its size, its training, and how often its drafts are accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minispec.engine.drafters.heads import HeadConfig

#: Peak learning rate by kind.
RATES: Mapping[str, float] = {"medusa": 2e-3, "eagle": 5e-3, "block": 5e-3}


@dataclass(frozen=True)
class HeadPlan:
    """How a head is made.

    Attributes
    ----------
    kind : str
        ``medusa``, ``eagle`` or ``block``.
    layers : tuple of int
        Whose output it reads, from 1 on; empty: a low, a middle and the top layer (a medusa reads the top one).
    length : int
        Places of the drafts it is trained for.
    width, num_heads, inner, num_layers : int
        Of its own layers.
    num_words : int
        The likeliest tokens of the text, which it can draft; 0: all.
    steps, num_rows, row_length : int
        Steps of training, rows of text per step and tokens per row; at most the target's context.
    rate : float
        Peak learning rate of AdamW.
    fade : float
        Weight of a place against the one before it.
    seed : int
    written : int
        Tokens that the target writes itself, to train along; 0: the texts as they are given.
    without : str
        One of ``ABLATIONS``, or nothing: the hidden states of the target are zero, or the head is trained for the
        first place alone, where it is not fed its own.
    """

    kind: str
    layers: tuple[int, ...] = ()
    length: int = 5
    width: int = 128
    num_heads: int = 4
    inner: int = 512
    num_layers: int = 1
    num_words: int = 2048
    steps: int = 400
    num_rows: int = 8
    row_length: int = 128
    rate: float = 2e-3
    fade: float = 0.8
    seed: int = 30
    written: int = 0
    without: str = ""


@dataclass(frozen=True)
class Acceptance:
    """How often each place of a draft is accepted along a held-out text, given that all places before it are right.

    Attributes
    ----------
    text : str
    without : str
        What the head was trained without.
    temperature : int
        0: how often draft and target agree; 1: the mean of ``sum(min(p, q))``.
    shares : tuple of float
    """

    text: str
    without: str
    temperature: int
    shares: Sequence[float]


@dataclass(frozen=True)
class Ablations:
    """What a head and those that lack a part of it reach after as many steps each."""

    steps: int
    acceptance: Sequence[Acceptance]


def acceptance_table(acceptance: Sequence[Acceptance]) -> str:
    """Return a table in Markdown, a row for each text, temperature and ablation."""
    length = max((len(each.shares) for each in acceptance), default=0)
    lines = [
        "| text | temperature |" + "".join(f" {place + 1} |" for place in range(length)),
        "|---" * (2 + length) + "|",
    ]
    for each in acceptance:
        name = each.text + (f", trained without {each.without}" if each.without else "")
        lines.append(f"| {name} | {each.temperature} |" + "".join(f" {share:.3f} |" for share in each.shares))
    return "\n".join(lines) + "\n"


def write_card(
    plan: HeadPlan,
    config: HeadConfig,
    num_parameters: int,
    share: float,
    acceptance: Sequence[Acceptance],
    ablations: Ablations | None,
) -> str:
    """Return the card of a head whose parameters are so large a share of the target's."""
    layers, words = ", ".join(map(str, config.layers)), f"{len(config.words):,}" if config.words else "all"
    texts = ", ".join(dict.fromkeys(each.text for each in acceptance))
    along = f"{plan.written:,} tokens that the target wrote behind beginnings of" if plan.written else "the given text:"
    read = "a drafted token" if config.kind == "eagle" else "a draft"
    return (
        f"---\nkind: {config.kind}\ntarget: {config.target}\n---\n"
        f"# {'An' if config.kind[0] in 'aeiou' else 'A'} {config.kind} head for {config.target}\n\n"
        f"It belongs to the target with the fingerprint `{config.fingerprint}` and to no other: it reads the output of "
        f"that target's layers {layers}, and drafts {words} words, up to {config.length} tokens at a time as it was "
        f"trained. Its {num_parameters:,} parameters, {share:.1%} of the target's, are kept in float16 and read for "
        f"{read}. `python -m tests.benchmarks.heads --write` puts `cost_per_token` above: the time of a drafted token, "
        "its draw included, as a share of a one-row forward of the target.\n\n"
        f"Trained by `python -m minispec.lab.training head {config.kind}` "
        f"for {plan.steps:,} steps of {plan.num_rows} x "
        f"{plan.row_length} tokens along {along} {texts}; AdamW, peak rate {plan.rate:g}, seed {plan.seed}.\n\n"
        "Acceptance by place along held-out text, given that all places before it are the text's:\n\n"
        f"{acceptance_table(acceptance)}{_describe(ablations) if ablations else ''}"
    )


def _describe(ablations: Ablations) -> str:
    return (
        f"\nWhat each part adds: the same head and those that lack a part, each trained for {ablations.steps:,} steps, "
        f"from the same seed along the same text:\n\n{acceptance_table(ablations.acceptance)}"
    )
