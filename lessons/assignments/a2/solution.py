"""A2: rejection sampling and the speculative loop.

Axes: V vocabulary, G drafted tokens. p is the target's distribution and q the draft's, both of shape (V,), float64.

Randomness arrives as an argument. `noise.bernoulli(prob)` is True with probability `prob`; `noise.categorical(probs)`
is token x with probability `probs[x]`. Ask it and nothing else: the grader replays your functions over every answer.
"""

import numpy as np


def accept(p, q, token, u):
    """Q1. Say whether a token drawn from q is accepted: with probability min(1, p / q), by the uniform u in [0, 1).

    Accept exactly if u < p[token] / q[token]. A token of probability 0 under p is never accepted.

    Parameters
    ----------
    p, q : ndarray of shape (V,)
    token : int
        Drawn from q, so q[token] > 0.
    u : float

    Returns
    -------
    bool

    Examples
    --------
    >>> p, q = np.array([0.2, 0.8]), np.array([0.5, 0.5])
    >>> accept(p, q, 0, 0.39), accept(p, q, 0, 0.41), accept(p, q, 1, 0.99)
    (True, False, True)
    """
    # BEGIN SOLUTION
    return bool(u < p[token] / q[token])
    # END SOLUTION


def residual(p, q):
    """Q2. Return what a rejected token is replaced from: max(p - q, 0), made to sum to 1.

    If p - q has no positive part, return p.

    Returns
    -------
    ndarray of shape (V,)

    Examples
    --------
    >>> residual(np.array([0.2, 0.5, 0.3]), np.array([0.5, 0.25, 0.25])).round(3)
    array([0.   , 0.833, 0.167])
    """
    # BEGIN SOLUTION
    positive = np.maximum(p - q, 0.0)
    mass = positive.sum()
    return positive / mass if mass > 0.0 else p
    # END SOLUTION


def sample(probs, uniforms):
    """Q3. Draw a token from probs.

    Parameters
    ----------
    probs : ndarray of shape (V,)
    uniforms : ndarray of shape (V,)
        Independent uniforms on [0, 1). Use one of them or all: any method is right whose law is `probs`.

    Returns
    -------
    int
    """
    # BEGIN SOLUTION
    below = uniforms[0] < np.cumsum(probs)
    below[np.flatnonzero(probs)[-1]] = True  # the sum may round to a little less than 1
    return int(np.argmax(below))
    # END SOLUTION


def verify(draft_tokens, draft_probs, target_probs, noise):
    """Q4. Judge a draft: accept its tokens one after the other until the first rejection, then draw one token more.

    After a rejection that token comes from the residual, after full acceptance from the target's last row (the bonus).

    Parameters
    ----------
    draft_tokens : list of int, length G
        May be empty.
    draft_probs : ndarray of shape (G, V)
        Row i is what draft_tokens[i] was drawn from.
    target_probs : ndarray of shape (G + 1, V)
        Row i is the target's distribution of the token at the place of draft_tokens[i].
    noise : object
        With `bernoulli(prob)` and `categorical(probs)`.

    Returns
    -------
    (int, int)
        How many drafts are accepted, and the token that follows them.
    """
    # BEGIN SOLUTION
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
    # END SOLUTION


def propose(draft, tokens, gamma, noise):
    """Q5. Draw `gamma` tokens from the draft model, one after the other.

    Parameters
    ----------
    draft : session
        `draft.score(tokens)` feeds tokens to its cache and returns the distributions after each, shape (T, V);
        `draft.rollback(length)` keeps at most the first `length` tokens; `draft.length()` is how many it holds.
    tokens : list of int
        The text so far. The session holds a beginning of it, and never all of it.
    gamma : int
        May be 0: then nothing is fed.
    noise : object

    Returns
    -------
    (list of int, ndarray of shape (gamma, V))
        The drafted tokens, and what each was drawn from; without drafts an array of any shape with no rows. One
        forward per token: `gamma` calls of `score`.
    """
    # BEGIN SOLUTION
    drafted, rows = [], []
    for _ in range(gamma):
        text = [*tokens, *drafted]
        rows.append(draft.score(text[draft.length() :])[-1])
        drafted.append(noise.categorical(rows[-1]))
    return drafted, np.array(rows)
    # END SOLUTION


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    """Q6. Generate text with the law of the target, several tokens per target forward.

    Each step drafts tokens, scores them all with one call of `target.score`, and takes both caches back to what the
    text holds. Draft at most `gamma` tokens, and never so many that the step could exceed `max_tokens`.

    Parameters
    ----------
    target, draft : session
        See `propose`; both empty at first.
    prompt : list of int, not empty
    max_tokens : int, >= 0
    gamma : int, >= 0
    noise : object
    eos : int or None
        The text ends with this token, wherever in a step it appears; one in the prompt means nothing.

    Returns
    -------
    list of int
        The generated tokens: `max_tokens` of them, or fewer and the last is `eos`.
    """
    # BEGIN SOLUTION
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    while len(tokens) < end:
        drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
        pending = tokens[target.length() :]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
        for emitted in [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
    # END SOLUTION
