"""Makes the texts of A5: ``python lessons/assignments/a5/make_texts.py``, from the repository's root.

At temperature 0 the text is the target's, whatever is drafted. So a text, and for each place in it what the draft model
would propose there, is all that is needed to replay any way of drafting exactly, without a model.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from minispec.engine.loading import load_model
from minispec.engine.model.session import Session

LONGEST, NUM_TOKENS = 8, 240
PUBLIC = {
    "prose": ["Once upon a time there was a little girl who"],
    "code": ['def largest(values):\n    """Return the largest of some values."""\n'],
    "questions": ["Question: Tom has 5 apples. He buys 3 more apples. How many apples does he have now?\nAnswer:"],
    "changing": [
        "One day, Tom and his mom went to the park.",
        '\n\ndef merge(left, right):\n    """Merge two sorted lists into one."""\n',
    ],
}
HIDDEN = {
    "prose": ["Lily had a red ball that she loved very much."],
    "code": ['def count_words(text):\n    """Count how often each word occurs."""\n'],
    "questions": [
        "Question: There are 6 boxes. Each of the boxes holds 4 pens. How many pens are there in all?\nAnswer:"
    ],
    "changing": [
        'def is_even(number):\n    """Return True if a number is even."""\n',
        "\n\nThe little boat went down the river",
    ],
}


def written(target, tokens, count):
    """Return the ``count`` tokens the target writes greedily behind ``tokens``; the end of the text is forbidden."""
    session, made, pending = Session(target), [], list(tokens)
    forbidden = list(target.eos_token_id)
    while len(made) < count:
        logits = session.score(pending, 1)[0]
        logits[forbidden] = -np.inf
        pending = [int(np.argmax(logits))]
        made += pending
    return made


def proposed(draft, tokens, start):
    """Yield, for each place from ``start`` on, the draft's next tokens and their probabilities, without an end."""
    session, forbidden = Session(draft), list(draft.eos_token_id)
    for place in range(start, len(tokens)):
        session.rollback(place - 1)
        pending, guesses, sure = tokens[session.length : place], [], []
        for _ in range(LONGEST):
            logits = session.score(pending, 1)[0].astype(float)
            logits[forbidden] = -np.inf
            probs = np.exp(logits - logits.max())
            pending = [int(np.argmax(probs))]
            guesses += pending
            sure.append(round(float(probs.max() / probs.sum()), 2))
        yield guesses, sure


def text(target, draft, prompts):
    """Return a text as the checks read it; a second prompt is put behind what the first one gave."""
    tokens, from_target = [], []
    for prompt in prompts:
        tokens += target.tokenizer.encode(prompt)
        made = written(target, tokens, NUM_TOKENS // len(prompts))
        from_target.append([len(tokens), len(made)])
        tokens += made
    start = from_target[0][0]
    right, sure = [], []
    for place, (guesses, confidences) in enumerate(proposed(draft, tokens, start), start):
        misses = [i for i, guess in enumerate(guesses) if tokens[place + i : place + i + 1] != [guess]]
        right.append(misses[0] if misses else LONGEST)
        sure.append(confidences)
    return {"tokens": tokens, "parts": from_target, "right": right, "confidences": sure}


def main():
    """Write the two files."""
    target, draft = (load_model(name, backend="numba") for name in ("target-17m", "draft-1.6m"))
    folder = Path(__file__).parent
    for name, texts in (("texts.json", PUBLIC), ("hidden/texts.json", HIDDEN)):
        told = {kind: text(target, draft, prompts) for kind, prompts in texts.items()}
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(told, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
