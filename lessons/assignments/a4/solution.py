"""A4: where a text ends, what may be shown of it, and what may be said of a run.

A step emits several tokens at once. Nothing a reader sees or a report says may depend on how they happened to fall into
steps.
"""

import codecs
from itertools import pairwise
from statistics import median


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    """Q1. Return how many tokens the next step may draft: at most gamma, and never so many that the step overshoots.

    A step emits up to one token more than it drafts. The text ends with `max_tokens` generated tokens, or when prompt
    and generated tokens fill the context of `n_positions`. Never negative.

    Examples
    --------
    >>> num_drafts(4, 0, 100, 10, 1024), num_drafts(4, 97, 100, 10, 1024), num_drafts(4, 99, 100, 10, 1024)
    (4, 2, 0)
    """
    # BEGIN SOLUTION
    room = min(max_tokens, n_positions - num_prompt) - num_generated
    return max(0, min(gamma, room - 1))
    # END SOLUTION


def commit(block, num_generated, max_tokens, eos):
    """Q2. Return which tokens of a step's block are kept, and why the text ends with them.

    Parameters
    ----------
    block : list of int
        What a step emits.
    num_generated : int
        Tokens generated before, fewer than `max_tokens`.
    max_tokens : int
    eos : list of int
        Tokens that end the text; the first one that appears is kept, and nothing after it.

    Returns
    -------
    (list of int, str or None)
        The reason is "eos", "length", or None where the text goes on; "eos" if the last token allowed is one.

    Examples
    --------
    >>> commit([5, 7, 2, 9], 0, 10, [2]), commit([5, 7, 9], 8, 10, [2]), commit([5], 0, 10, [2])
    (([5, 7, 2], 'eos'), ([5, 7], 'length'), ([5], None))
    """
    # BEGIN SOLUTION
    for i, token in enumerate(block):
        if token in eos:
            return block[: i + 1], "eos"
        if num_generated + i + 1 == max_tokens:
            return block[: i + 1], "length"
    return block, None
    # END SOLUTION


def cut(text, stops):
    """Q3. Return the text before the stop that ends it, and that stop; or all of it and None.

    As if the text arrived one character at a time: the first character that completes any stop ends it. If it
    completes several, the longest counts.

    Parameters
    ----------
    text : str
    stops : list of str
        None of them empty.

    Returns
    -------
    (str, str or None)

    Examples
    --------
    >>> cut("a b. c!", ["!", ". "]), cut("abc", ["bc", "abc"]), cut("abc", ["d"])
    (('a b', '. '), ('', 'abc'), ('abc', None))
    """
    # BEGIN SOLUTION
    for end in range(1, len(text) + 1):
        complete = [stop for stop in stops if text[:end].endswith(stop)]
        if complete:
            stop = max(complete, key=len)
            return text[: end - len(stop)], stop
    return text, None
    # END SOLUTION


def release(held, piece, stops):
    """Q4. Take a new piece of text; return what may be shown now, what must be held back, and the stop, if one is there.

    Held back is the longest end of the text that may turn out to be the beginning of a stop, and nothing more. Text
    from a stop on is never shown; then nothing is held back either.

    Parameters
    ----------
    held : str
        What the last call held back; "" at first.
    piece : str
        May be empty, or of any length.
    stops : list of str

    Returns
    -------
    (str, str, str or None)
        Shown, held, stop.

    Examples
    --------
    >>> release("", "one <", ["<end>"]), release("<", "en", ["<end>"]), release("<en", "d> two", ["<end>"])
    (('one ', '<', None), ('', '<en', None), ('', '', '<end>'))
    """
    # BEGIN SOLUTION
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    for start in range(len(text)):
        if any(stop.startswith(text[start:]) for stop in stops):
            return text[:start], text[start:], None
    return text, "", None
    # END SOLUTION


def decode(held, piece, final):
    """Q5. Take new bytes of a UTF-8 text; return the characters that are complete, and the bytes that are not.

    A token may end in the middle of a character. Bytes that can be no character become U+FFFD, as in
    `bytes.decode("utf-8", "replace")`; so does an unfinished character at the end.

    Parameters
    ----------
    held : bytes
        What the last call held back; b"" at first.
    piece : bytes
    final : bool
        Whether nothing follows; then nothing is held back.

    Returns
    -------
    (str, bytes)

    Examples
    --------
    >>> decode(b"", b"a\\xc3", False), decode(b"\\xc3", b"\\xa9", False), decode(b"\\xc3", b"", True)
    (('a', b'\\xc3'), ('é', b''), ('�', b''))
    """
    # BEGIN SOLUTION
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(held + piece, final)
    return text, decoder.getstate()[0]
    # END SOLUTION


def metrics(steps):
    """Q6. Return the figures of a run.

    Parameters
    ----------
    steps : list of dict
        Each with "drafted", "accepted" (by the rule) and "emitted": accepted drafts and one more token, or fewer where
        a stop or the budget cut the step. What was cut away was neither accepted nor judged, but it was drafted.

    Returns
    -------
    dict
        num_tokens : tokens emitted.
        num_steps : target forwards.
        num_draft_tokens : tokens drafted.
        num_accepted_tokens : drafts accepted and emitted.
        num_evaluated_tokens : drafts answered by an emitted token: accepted, or rejected and replaced.
        num_accepted_tokens_per_pos : list; entry i counts the steps whose draft i was accepted and emitted. As long
            as the longest draft.
        mean_acceptance_length : tokens per target forward.
        draft_acceptance_rate : accepted / drafted.
        alpha : accepted / evaluated.
        A ratio without a denominator is None.
    """
    # BEGIN SOLUTION
    accepted = [min(step["accepted"], step["emitted"]) for step in steps]
    evaluated = [min(step["drafted"], step["accepted"] + 1, step["emitted"]) for step in steps]
    drafted = [step["drafted"] for step in steps]
    num_tokens = sum(step["emitted"] for step in steps)
    return {
        "num_tokens": num_tokens,
        "num_steps": len(steps),
        "num_draft_tokens": sum(drafted),
        "num_accepted_tokens": sum(accepted),
        "num_evaluated_tokens": sum(evaluated),
        "num_accepted_tokens_per_pos": [sum(a > i for a in accepted) for i in range(max(drafted, default=0))],
        "mean_acceptance_length": num_tokens / len(steps) if steps else None,
        "draft_acceptance_rate": sum(accepted) / sum(drafted) if sum(drafted) else None,
        "alpha": sum(accepted) / sum(evaluated) if sum(evaluated) else None,
    }
    # END SOLUTION


def latency(start, arrivals):
    """Q7. Return the time to the first token and the time per output token after it.

    Parameters
    ----------
    start : float
        When the request came, in seconds.
    arrivals : list of (float, int)
        Per step: when its tokens arrived, and how many, in order.

    Returns
    -------
    (float or None, float or None)
        The second is the time from the first arrival to the last over the tokens that came after the first arrival.
        None where there is nothing to measure.

    Examples
    --------
    >>> latency(1.0, [(1.5, 2), (2.0, 3), (3.0, 2)])
    (0.5, 0.3)
    """
    # BEGIN SOLUTION
    if not arrivals:
        return None, None
    first, last = arrivals[0][0], arrivals[-1][0]
    later = sum(count for _, count in arrivals[1:])
    return first - start, (last - first) / later if later else None
    # END SOLUTION


def compare(plain, speculative):
    """Q8. Return the measured speedup of alternating runs: the median of the pairs' ratios, the lowest and the highest.

    Run i of both was made one right after the other, so a machine that slows down slows both; runs may have produced
    different numbers of tokens, so times are per token.

    Parameters
    ----------
    plain, speculative : list of (float, int)
        Seconds and tokens of each run; equally many runs, at least one.

    Returns
    -------
    (float, float, float)

    Examples
    --------
    >>> compare([(2.0, 10), (4.0, 10)], [(1.0, 10), (2.0, 5)])
    (1.5, 1.0, 2.0)
    """
    # BEGIN SOLUTION
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative, strict=True)]
    return median(ratios), min(ratios), max(ratios)
    # END SOLUTION


def retracted(screens):
    """Q9. Return how many characters a reader saw and then saw disappear.

    A stream that shows drafts before they are verified must take the rejected ones back. Going from one screen to the
    next, every character behind their common beginning is taken back.

    Parameters
    ----------
    screens : list of str
        What the reader sees after each update.

    Examples
    --------
    >>> retracted(["the cat", "the car is", "the car is red"])
    1
    """
    # BEGIN SOLUTION
    lost = 0
    for before, after in pairwise(screens):
        shared = 0
        while shared < min(len(before), len(after)) and before[shared] == after[shared]:
            shared += 1
        lost += len(before) - shared
    return lost
    # END SOLUTION
