"""What the target must be able to do, measured: stories, sums, Python, repetition. Figures have 95 % intervals.

Every text comes from held-out beginnings, always the same ones, in their order; none is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from minispec.errors import CheckpointError, CorpusError
from minispec.lab.training import text_checks
from minispec.lab.training.data import END_ID, load_packed, validation_rows
from minispec.lab.training.generate import continue_texts
from minispec.lab.training.mixture import DOMAINS
from minispec.lab.training.model import GPT2
from minispec.lab.training.python_files import prompt_of
from minispec.lab.training.stages import Workshop
from minispec.lab.training.sums import Problem, held_out_sums
from minispec.lab.training.text_checks import words_of
from minispec.theory.intervals import CONFIDENCE, Figure, ratio, share

#: Texts of each check.
NUM_TEXTS = 100
NUM_SUMS = 200
#: Tokens of a story's beginning, tokens written after it, after a sum and after a signature.
BEGINNING_TOKENS, STORY_TOKENS, SUM_TOKENS, CODE_TOKENS = 16, 200, 64, 200
#: Temperatures of stories and of code.
STORY_TEMPERATURE, CODE_TEMPERATURES = 0.8, (0.0, 0.8)
#: Held-out rows per domain, and their length in tokens, that perplexity is measured on.
PERPLEXITY_ROWS, ROW_TOKENS = 200, 256
SEED = 7


@dataclass(frozen=True)
class Bar:
    """A figure the target is held to.

    Attributes
    ----------
    name : str
        Key of the figure among those of :func:`check`, or of the report.
    what : str
        In words.
    bound : float
        The figure must be at least this; at most, where `at_most`.
    at_most : bool
        Which of the two.
    """

    name: str
    what: str
    bound: float
    at_most: bool = False

    def holds(self, value: float) -> bool:
        """Whether a figure reaches the bar."""
        return value <= self.bound if self.at_most else value >= self.bound


BARS = (
    Bar("perplexity: stories", "perplexity per token, held-out stories", 8.0, at_most=True),
    Bar("stories: words and no loop", "stories at T = 0.8 whose words are all English, without a loop", 0.9),
    Bar("sums: one step", "one-step sums with held-out numbers, T = 0", 0.8),
    Bar("sums: two steps", "two-step sums with held-out numbers, T = 0", 0.4),
    Bar("code: parses, T = 0", "completions of held-out signatures that parse, T = 0", 0.6),
    Bar("repeated 4-grams: all", "repeated 4-grams in greedy text, median", 0.25, at_most=True),
    Bar("alpha at T = 0", "α of the default draft, T = 0, mean over domains", 0.8),
    Bar("alpha at T = 1", "α of the default draft, T = 1, mean over domains", 0.75),
)


def documents(tokens: np.ndarray) -> list[np.ndarray]:
    """Cut packed tokens at their ends of text, which are left out."""
    ends = np.flatnonzero(np.asarray(tokens) == END_ID)
    starts = np.concatenate([[0], ends[:-1] + 1])
    return [np.asarray(tokens[start:end]) for start, end in zip(starts, ends, strict=True)]


def evenly(items: Sequence[Any], count: int) -> list[Any]:
    """Take `count` items evenly spaced, or all where there are fewer."""
    return [items[number] for number in np.linspace(0, len(items) - 1, min(count, len(items))).astype(int)]


@torch.inference_mode()
def row_losses(model: GPT2, rows: np.ndarray, device: str) -> np.ndarray:
    """Return the cross-entropy of each row, in nats summed over its tokens.

    Parameters
    ----------
    rows : ndarray of shape (B, T + 1), int64

    Returns
    -------
    ndarray of shape (B,), float64
    """
    losses = []
    for part in torch.split(torch.from_numpy(rows).to(device), 8):
        logits = model(part[:, :-1]).float().transpose(1, 2)  # (b, V, T)
        losses.append(functional.cross_entropy(logits, part[:, 1:], reduction="none").double().sum(1).cpu().numpy())
    return np.concatenate(losses)


def perplexity(model: GPT2, tokenizer: Tokenizer, tokens: np.ndarray, device: str) -> dict[str, Figure]:
    """Measure held-out tokens: perplexity per token, and bits per character, which no vocabulary flatters."""
    rows = validation_rows(tokens, PERPLEXITY_ROWS, ROW_TOKENS)
    losses = row_losses(model, rows, device)
    chars = [len(tokenizer.decode(row[1:].tolist(), skip_special_tokens=True)) for row in rows]
    nats = ratio(losses, np.full(len(rows), rows.shape[1] - 1))
    bits = ratio(losses / math.log(2), chars)
    return {"perplexity": Figure(*(None if x is None else math.exp(x) for x in nats)), "bits per character": bits}


def median(values: Sequence[float]) -> Figure:
    """Return the median with the interval between the order statistics that hold it 95 times in 100."""
    ordered = sorted(values)
    n = len(ordered)
    below, total = 0, 0.0
    while below < n // 2 and total + math.comb(n, below) * 0.5**n <= (1 - CONFIDENCE) / 2:
        total += math.comb(n, below) * 0.5**n
        below += 1
    below = max(0, below - 1)
    return Figure(float(np.median(ordered)), ordered[below], ordered[n - 1 - below])


def story_beginnings(tokens: np.ndarray) -> list[list[int]]:
    """Return the first tokens of evenly spaced held-out stories."""
    long_enough = [document for document in documents(tokens) if len(document) > BEGINNING_TOKENS]
    if not long_enough:
        raise CorpusError(
            f"no held-out story has more than {BEGINNING_TOKENS} tokens; stories are begun there. Give more"
        )
    return [document[:BEGINNING_TOKENS].tolist() for document in evenly(long_enough, NUM_TEXTS)]


def check_stories(
    model: GPT2, tokenizer: Tokenizer, beginnings: Sequence[Sequence[int]], known: Collection[str]
) -> dict[str, Figure]:
    """Continue held-out beginnings, and count texts whose words are all English, and texts without a loop.

    Words that stand in the beginning (a name, say) may stand in the story.
    """
    words = loops = both = 0
    for beginning, written in zip(
        beginnings, continue_texts(model, beginnings, STORY_TOKENS, STORY_TEMPERATURE, SEED), strict=True
    ):
        ended = len(written) < STORY_TOKENS
        text = tokenizer.decode([*beginning, *written])
        text = text if ended else text_checks.without_cut_word(text)
        own = words_of(tokenizer.decode(list(beginning)))
        good, loop = not text_checks.unknown_words(text, {*known, *own}), text_checks.has_loop(text)
        words, loops, both = words + good, loops + (not loop), both + (good and not loop)
    count = len(beginnings)
    return {
        "stories: words": share(words, count),
        "stories: no loop": share(loops, count),
        "stories: words and no loop": share(both, count),
    }


def solve(model: GPT2, tokenizer: Tokenizer, problems: Sequence[Problem]) -> list[bool]:
    """Ask problems greedily; return which answers are right."""
    prompts = [tokenizer.encode(problem.prompt).ids for problem in problems]
    written = continue_texts(model, prompts, SUM_TOKENS, 0.0, SEED)
    return [
        text_checks.answer_of(tokenizer.decode(row)) == problem.answer
        for row, problem in zip(written, problems, strict=True)
    ]


def check_sums(model: GPT2, tokenizer: Tokenizer) -> dict[str, Figure]:
    """Ask sums whose number pairs are all held out, in trained and in held-out wording."""
    result = {}
    for num_steps, name in ((0, "bare"), (1, "one step"), (2, "two steps")):
        for held_out_words in (False, True):
            problems = held_out_sums(num_steps, held_out_words, NUM_SUMS)
            right = solve(model, tokenizer, problems)
            result[f"sums: {name}{', held-out wording' if held_out_words else ''}"] = share(sum(right), len(right))
            if num_steps == 1 and not held_out_words:
                for sign, verb in (("+", "add"), ("-", "subtract"), ("x", "multiply")):
                    own = [good for good, problem in zip(right, problems, strict=True) if problem.steps[0][1] == sign]
                    result[f"sums: one step, {verb}"] = share(sum(own), len(own))
    return result


def check_code(model: GPT2, tokenizer: Tokenizer, tokens: np.ndarray) -> dict[str, Figure]:
    """Complete held-out signatures, and count the functions that parse."""
    functions = [tokenizer.decode(document.tolist()) for document in documents(tokens)]
    prompts = [prompt_of(function) for function in evenly(functions, NUM_TEXTS)]
    rows = [tokenizer.encode(prompt).ids for prompt in prompts]
    result = {}
    for temperature in CODE_TEMPERATURES:
        good = [
            text_checks.parses(text_checks.function_of(prompt, tokenizer.decode(written), len(written) < CODE_TOKENS))
            for prompt, written in zip(
                prompts, continue_texts(model, rows, CODE_TOKENS, temperature, SEED), strict=True
            )
        ]
        result[f"code: parses, T = {temperature:g}"] = share(sum(good), len(good))
    return result


def check_repetition(model: GPT2, valid: dict[str, np.ndarray]) -> dict[str, Figure]:
    """Continue held-out beginnings greedily to the end of the text, at most 200 tokens; look for repeated 4-grams."""
    result, values = {}, []
    for domain, tokens in valid.items():
        long_enough = [document for document in documents(tokens) if len(document) > BEGINNING_TOKENS]
        beginnings = [document[:BEGINNING_TOKENS].tolist() for document in evenly(long_enough, NUM_TEXTS)]
        rows = continue_texts(model, beginnings, STORY_TOKENS, 0.0, SEED)
        shares = [text_checks.repeated_share(row) for row in rows]
        values += shares
        result[f"repeated 4-grams: {domain}"] = median(shares)
    return {**result, "repeated 4-grams: all": median(values)}


def check(model: GPT2, tokenizer: Tokenizer, workshop: Workshop) -> dict[str, Figure]:
    """Measure everything the target is held to, but for agreement with a draft.

    Parameters
    ----------
    model : GPT2
        On the device of the preset, in evaluation mode.
    tokenizer : Tokenizer
        The model's own.
    workshop : Workshop
        Whose held-out tokens and word list are used.

    Returns
    -------
    dict of str to Figure
        Shares between 0 and 1; perplexity per token; bits per character.

    Raises
    ------
    CheckpointError
        The model has another vocabulary than the packed tokens.
    """
    if tokenizer.to_str() != Tokenizer.from_file(str(workshop.tokenizer_file)).to_str():
        raise CheckpointError(
            f"the model has another vocabulary than {workshop.tokenizer_file}, whose tokens it is measured on. "
            "Export the model from this --work, or give its own"
        )
    valid = load_packed(workshop.packed, "valid", tuple(DOMAINS))
    known = frozenset(read_words(workshop.packed))
    result = {}
    for domain, tokens in valid.items():
        for name, figure in perplexity(model, tokenizer, tokens, workshop.device).items():
            result[f"{name}: {domain}"] = figure
    return {
        **result,
        **check_stories(model, tokenizer, story_beginnings(valid["stories"]), known),
        **check_sums(model, tokenizer),
        **check_code(model, tokenizer, valid["code"]),
        **check_repetition(model, valid),
    }


def read_words(packed: Path) -> tuple[str, ...]:
    """Read the word list that was made with the packed tokens.

    Raises
    ------
    CorpusError
        There is none.
    """
    path = packed / "words.txt"
    if not path.is_file():
        raise CorpusError(f"{path} does not exist; stories are checked against it. Run the pack stage first")
    return tuple(path.read_text(encoding="utf-8").split())
