"""The common mistakes of benchmarks of speculation, named where a measurement shows them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np

from minispec.engine.loading import load_model, load_tokenizer
from minispec.engine.model.session import Session
from minispec.lab.measure.record import Record
from minispec.lab.measure.report import count_of
from minispec.lab.measure.sweep import Sweep
from minispec.lab.prompts import Prompt

FEW_PROMPTS = 8
"""From so many on, intervals hold what they say (:mod:`minispec.theory.intervals`)."""
FEW_TOKENS = 32
FEW_ROUNDS = 2
_GUESSING = 0.9  # of log V, the surprise per token of a model that knows nothing
_READ = 64  # tokens of a prompt that are judged
_LOOPING = 0.25  # compressed bytes / bytes, below which a text repeats itself; prose of so many bytes has 0.5
_JUDGED = 120  # bytes that a text must have for that


def surprise(target: str, prompts: Sequence[Prompt]) -> dict[str, float]:
    """Return the target's surprise per token of each prompt that is long enough to tell, over log V, by its id.

    1 is that of a model that guesses; the target has it, or more, for tokens drawn at random.
    """
    model, tokenizer, found = load_model(target), load_tokenizer(target), {}
    for prompt in prompts:
        tokens = tokenizer.encode(prompt.text)[: min(_READ, model.n_positions)]
        if len(tokens) < 8:
            continue
        logits = np.asarray(Session(model).score(tokens), np.float64)[:-1]
        highest = logits.max(-1)
        log_sum = highest + np.log(np.exp(logits - highest[:, None]).sum(-1))
        losses = log_sum - logits[np.arange(len(logits)), tokens[1:]]
        found[prompt.id] = float(losses.mean()) / math.log(model.vocab_size)
    return found


def find_mistakes(sweep: Sweep, records: Sequence[Record], surprises: dict[str, float]) -> list[str]:
    """Return a line for each mistake that is seen: what it is, and what to do.

    Parameters
    ----------
    surprises : dict of str to float
        What :func:`surprise` returns.
    """
    texts, found = [prompt.text for prompt in sweep.prompts], []
    random = [name for name, each in surprises.items() if each > _GUESSING]
    if random:
        found.append(
            f"random prompts: to the target, {_name(random)} might be random tokens; acceptance behind them says "
            "nothing of your texts. Take prompts that people wrote"
        )
    if len(set(texts)) < len(texts):
        found.append(
            f"repeated prompts: {len(texts) - len(set(texts))} of {len(texts)} are there twice; they count as "
            "independent and are not. Leave them out"
        )
    if len(texts) < FEW_PROMPTS:
        found.append(f"too few prompts: {len(texts)}; intervals need {FEW_PROMPTS} or more. Add some")
    if len({prompt.domain for prompt in sweep.prompts}) == 1:
        found.append(
            "one kind of text: acceptance differs more between kinds than between drafts. Give prompts a domain, as "
            "many kinds as you serve"
        )
    if sweep.max_tokens < FEW_TOKENS:
        found.append(
            f"too few tokens: {sweep.max_tokens} per prompt, so beginnings weigh most. Try --max-tokens "
            f"{2 * FEW_TOKENS}"
        )
    short = sorted({record.prompt_id for record in records if record.num_tokens < sweep.max_tokens})
    if short:
        found.append(
            f"unequal lengths: {_name(short)} filled the context before {sweep.max_tokens} tokens. Ask for fewer tokens"
        )
    looping = sorted({record.prompt_id for record in records if record.draft is not None and _loops(record.text)})
    if looping:
        found.append(
            f"loops: the text behind {_name(looping)} repeats itself, and repetition is accepted more often than "
            "text. Try --temperature 1"
        )
    if sweep.repeats < FEW_ROUNDS:
        rounds = "no timed round: tokens per pass are no speedup" if not sweep.repeats else "one timed round: no spread"
        found.append(f"{rounds}. Try --repeats 3 and no --no-timing")
    return found


def _loops(text: str) -> bool:
    given = text.encode()
    return len(given) >= _JUDGED and len(zlib.compress(given, 9)) < _LOOPING * len(given)


def _name(ids: Sequence[str]) -> str:
    return f"{', '.join(ids[:3])}{', …' if len(ids) > 3 else ''} ({count_of(len(ids), 'prompt')})"
