"""The checks of lesson 14: looking inside the target."""

from __future__ import annotations

import numpy as np

from minispec.course.teaching import Mistake, Prediction, Reply, Step
from minispec.course.teaching.heads import gelu, gelu_slope, gradient, guess_logits, layer_norm, softmax

PREDICTIONS = [
    Prediction(
        "states",
        19,
        "The last token was drawn from the state of the 19th and waits: it is *pending*. The next step feeds it, together "
        "with the drafts.",
        [
            Reply(20, "That would be so if each token were fed as soon as it is drawn."),
            Reply(21, "No state comes before its token."),
            Reply(18, "Only one of them has not been fed."),
        ],
    ),
    Prediction(
        "start",
        "pending",
        "gelu(0) is 0, so the guess is h itself under the target's own output matrix: the distribution of the token "
        "that has been drawn already.",
        [
            Reply("uniform", "That would need logits that are all alike."),
            Reply("position 1", "Then there would be nothing to learn."),
        ],
        choices=("uniform", "pending", "position 1"),
    ),
    Prediction(
        "worth",
        "state",
        "The embedding says which token was last. The state is what all the layers made of the whole text.",
        [
            Reply("embedding", "It is the same for that token in every text."),
            Reply("same", "They have as many weights; they do not have the same to read."),
        ],
        choices=("state", "embedding", "same"),
    ),
]


def read_state(slots: np.ndarray, length: int, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return layer_norm(slots[length - 1], weight, bias)


def acceptance(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.minimum(p, q).sum(axis=1).mean())


def _slope(q_less_p, a, seen, output, share):
    """The gradient, from the difference of the two distributions on."""
    da = q_less_p @ output * gelu_slope(a) * share
    return seen.T @ da, da.sum(axis=0)


def _q(state, seen, W, b, output):
    return softmax(guess_logits(state, seen, W, b, output))


def _slots() -> list[tuple[np.ndarray, int, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(14)
    ones, zeros = np.ones(4), np.zeros(4)
    small = np.array([[1.0, 2, 3, 6], [3, 1, 1, 3], [0, 0, 4, 4], [2, 0, 2, 8], [0, 0, 0, 0], [0, 0, 0, 0]])
    return [
        (small, 3, ones, zeros),
        (small, 4, ones, zeros),
        (small, 1, 2 * ones, np.array([0.0, 1, 0, -1])),
        (rng.normal(1, 2, (7, 5)), 7, rng.normal(1, 0.3, 5), rng.normal(0, 0.3, 5)),
        (rng.normal(1, 2, (5, 5)), 2, rng.normal(1, 0.3, 5), rng.normal(0, 0.3, 5)),
    ]


def _laws() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(15)
    return [
        (np.array([[0.5, 0.3, 0.2]]), np.array([[0.2, 0.3, 0.5]])),
        (np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.25, 0.75]])),
        (np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])),
        (np.array([[0.5, 0.3, 0.2]]), np.array([[0.501, 0.3, 0.199]])),
        (rng.dirichlet([0.5] * 4, 3), rng.dirichlet([0.5] * 4, 3)),
        (rng.dirichlet([0.5] * 3, 5), rng.dirichlet([0.5] * 3, 5)),
    ]


def _heads() -> list[tuple[np.ndarray, ...]]:
    """State, what is seen, W, b, output: C = 3, V = 4."""
    rng = np.random.default_rng(16)
    output = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
    state = np.array([[1.0, 2.0, 0.5]])
    cases = [
        (state, state, np.zeros((3, 3)), np.zeros(3), output),
        (state, state, np.eye(3), np.array([0.0, 1.0, -1.0]), output),
    ]
    for rows, read in ((2, 5), (3, 3), (5, 6)):
        cases.append(tuple(rng.normal(size=shape) for shape in ((rows, 3), (rows, read), (read, 3), (3,), (4, 3))))
    return cases


def _trainings() -> list[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(17)
    return [(*case, rng.dirichlet([0.7] * 4, len(case[0]))) for case in _heads()]


STEPS = [
    Step(
        "read_state",
        _slots,
        read_state,
        [
            Mistake("Slot `length` is the next free one: what lies there counts for nothing. The last token fed is before it.",
                    lambda s, n, w, b: layer_norm(s[n % len(s)], w, b)),
            Mistake("Slot `length` is the next free one: what lies there counts for nothing. The last token fed is before it.",
                    lambda s, n, w, b: layer_norm(s[n], w, b)),
            Mistake("The last slot of the memory is not the last one filled: count to `length`.",
                    lambda s, n, w, b: layer_norm(s[-1], w, b)),
            Mistake("One token too early: slots are counted from 0, the last of `length` is `length - 1`.",
                    lambda s, n, w, b: layer_norm(s[n - 2], w, b)),
            Mistake("That is the state of the first token.", lambda s, n, w, b: layer_norm(s[0], w, b)),
            Mistake("The final norm is missing: the output matrix expects normed rows.", lambda s, n, w, b: s[n - 1]),
            Mistake("The norm has a weight and a bias.", lambda s, n, w, b: layer_norm(s[n - 1], 1.0, 0.0)),
            Mistake("One row is asked for: that of the last token fed.", lambda s, n, w, b: layer_norm(s[:n], w, b)),
            Mistake("A row, without an axis of its own: index, do not slice.",
                    lambda s, n, w, b: layer_norm(s[n - 1 : n], w, b)),
            Mistake("One state, not the mean of all: the layers have mixed them already.",
                    lambda s, n, w, b: layer_norm(s[:n].mean(axis=0), w, b)),
            Mistake("Weight and bias come after the norm; the norm itself is missing.", lambda s, n, w, b: s[n - 1] * w + b),
            Mistake("Weight and bias come *after* the norm.", lambda s, n, w, b: layer_norm(s[n - 1] * w + b, 1.0, 0.0)),
            Mistake("One state, not the sum of all: the layers have mixed them already.",
                    lambda s, n, w, b: layer_norm(s[:n].sum(axis=0), w, b)),
        ],
        ["Slots 0 to length - 1 are filled.", "`layer_norm(row, weight, bias)` stands above."],
    ),
    Step(
        "acceptance",
        _laws,
        acceptance,
        [
            Mistake("That is how often independent draws agree; rejection sampling accepts Σ min(p, q).",
                    lambda p, q: float((p * q).sum(axis=1).mean())),
            Mistake("Add up over the tokens of a row; the mean is over the rows.", lambda p, q: float(np.minimum(p, q).mean())),
            Mistake("The mean over the rows, not their sum.", lambda p, q: float(np.minimum(p, q).sum())),
            Mistake("One number: the mean over the rows.", lambda p, q: np.minimum(p, q).sum(axis=1)),
            Mistake("The smaller of the two, not the larger.", lambda p, q: float(np.maximum(p, q).sum(axis=1).mean())),
            Mistake("That is half of Σ|p − q|, what is *rejected*.",
                    lambda p, q: float(np.abs(p - q).sum(axis=1).mean() / 2)),
            Mistake("Only the likeliest tokens are compared: at temperature 1 all of them count.",
                    lambda p, q: float((p.argmax(axis=1) == q.argmax(axis=1)).mean())),
            Mistake("Σ|p − q| counts every difference twice.", lambda p, q: float(1 - np.abs(p - q).sum(axis=1).mean())),
            Mistake("Each row for itself: the mean of p against the mean of q hides the differences.",
                    lambda p, q: float(np.minimum(p.mean(axis=0), q.mean(axis=0)).sum())),
            Mistake("The rows lie along axis 0, the tokens along axis 1: add up the tokens.",
                    lambda p, q: float(np.minimum(p, q).sum(axis=0).mean())),
            Mistake("The overlap of a row is a sum over all its tokens, not its largest.",
                    lambda p, q: float(np.minimum(p, q).max(axis=1).mean())),
            Mistake("All rows count, not the first alone.", lambda p, q: float(np.minimum(p, q).sum(axis=1)[0])),
            Mistake("That is the chance that *every* row is accepted.", lambda p, q: float(np.minimum(p, q).sum(axis=1).prod())),
            Mistake("min(1, p/q) is the chance of one token, given that it was drafted: weigh it by q and add up.",
                    lambda p, q: float(np.minimum(1, p / q).mean())),
            Mistake("That is the acceptance of the draft's likeliest token; at temperature 1 it is drawn.",
                    lambda p, q: float(p[np.arange(len(p)), q.argmax(axis=1)].mean())),
        ],
        ["Lesson 5: a token drawn from q is accepted with Σ min(p, q).", "`np.minimum`, then a sum over axis 1, then a mean."],
    ),
    Step(
        "guess_logits",
        _heads,
        guess_logits,
        [
            Mistake("The state is left out: add it before the output matrix.",
                    lambda h, x, W, b, o: gelu(x @ W + b) @ o.T),
            Mistake("gelu is missing: without it the head is one more matrix.", lambda h, x, W, b, o: (h + x @ W + b) @ o.T),
            Mistake("gelu goes around what the head reads; the state goes past it.",
                    lambda h, x, W, b, o: gelu(h + x @ W + b) @ o.T),
            Mistake("The bias belongs inside gelu.", lambda h, x, W, b, o: (h + gelu(x @ W) + b) @ o.T),
            Mistake("The bias is missing.", lambda h, x, W, b, o: (h + gelu(x @ W)) @ o.T),
            Mistake("That is relu; the target and its heads have gelu.",
                    lambda h, x, W, b, o: (h + np.maximum(x @ W + b, 0)) @ o.T),
            Mistake("Logits are asked for, before the softmax.", _q),
            Mistake("That is the state the head guesses. The target's output matrix makes logits of it.",
                    lambda h, x, W, b, o: h + gelu(x @ W + b)),
            Mistake("Add the state, do not multiply by it.", lambda h, x, W, b, o: (h * gelu(x @ W + b)) @ o.T),
            Mistake("Those are the target's own logits: the head is not in them.", lambda h, x, W, b, o: h @ o.T),
            Mistake("The state goes through the output matrix too: h + gelu(…) first, then the product.",
                    lambda h, x, W, b, o: np.pad(h, ((0, 0), (0, len(o) - h.shape[1]))) + gelu(x @ W + b) @ o.T),
            Mistake("Add what gelu returns: h + gelu(…).", lambda h, x, W, b, o: (h - gelu(x @ W + b)) @ o.T),
            Mistake("gelu acts on C numbers, before the output matrix.", lambda h, x, W, b, o: gelu((h + x @ W + b) @ o.T)),
            Mistake("That is tanh; the target and its heads have gelu.",
                    lambda h, x, W, b, o: (h + np.tanh(x @ W + b)) @ o.T),
            Mistake("The last row alone? All rows are guesses.", lambda h, x, W, b, o: guess_logits(h, x, W, b, o)[-1]),
            Mistake("The likeliest tokens are one thing that can be made of the logits; return the logits.",
                    lambda h, x, W, b, o: guess_logits(h, x, W, b, o).argmax(axis=1)),
        ],
        ["`seen @ W + b` has the shape of `state`.", "Rows of `output` are tokens: multiply by `output.T`."],
        rtol=1e-5,
    ),
    Step(
        "gradient",
        _trainings,
        gradient,
        [
            Mistake("Uphill: the slope of −Σ p log q in the logits is q − p.",
                    lambda h, x, W, b, o, p: tuple(-part for part in gradient(h, x, W, b, o, p))),
            Mistake("The loss is the *mean* over the rows: divide by their number.",
                    lambda h, x, W, b, o, p: _slope(_q(h, x, W, b, o) - p, x @ W + b, x, o, 1.0)),
            Mistake("The slope of gelu is missing in the chain.",
                    lambda h, x, W, b, o, p: (
                        x.T @ ((_q(h, x, W, b, o) - p) @ o) / len(p), ((_q(h, x, W, b, o) - p) @ o).mean(axis=0))),
            Mistake("The chain rule needs the *slope* of gelu at a, not gelu(a).",
                    lambda h, x, W, b, o, p: (
                        x.T @ ((_q(h, x, W, b, o) - p) @ o * gelu(x @ W + b)) / len(p),
                        ((_q(h, x, W, b, o) - p) @ o * gelu(x @ W + b)).mean(axis=0))),
            Mistake("The slope of gelu is taken at gelu(a); it belongs at a.",
                    lambda h, x, W, b, o, p: _slope(_q(h, x, W, b, o) - p, gelu(x @ W + b), x, o, 1 / len(p))),
            Mistake("The slope of gelu is taken at the whole guess; it belongs at a.",
                    lambda h, x, W, b, o, p: _slope(_q(h, x, W, b, o) - p, h + gelu(x @ W + b), x, o, 1 / len(p))),
            Mistake("The slope of gelu is taken at seen @ W, without the bias.",
                    lambda h, x, W, b, o, p: _slope(_q(h, x, W, b, o) - p, x @ W, x, o, 1 / len(p))),
            Mistake("q is the softmax of the logits *with* the state in them.",
                    lambda h, x, W, b, o, p: _slope(softmax(gelu(x @ W + b) @ o.T) - p, x @ W + b, x, o, 1 / len(p))),
            Mistake("The logits are not a distribution: q is their softmax.",
                    lambda h, x, W, b, o, p: _slope(guess_logits(h, x, W, b, o) - p, x @ W + b, x, o, 1 / len(p))),
            Mistake("That is the slope of −log q alone: p is missing.",
                    lambda h, x, W, b, o, p: _slope(_q(h, x, W, b, o), x @ W + b, x, o, 1 / len(p))),
            Mistake("Weighted by p, it is no slope: q − p, and nothing else.",
                    lambda h, x, W, b, o, p: _slope(p * (_q(h, x, W, b, o) - p), x @ W + b, x, o, 1 / len(p))),
            Mistake("That is q's own entropy in disguise: the slope of −Σ p log q is q − p, not log(q/p).",
                    lambda h, x, W, b, o, p: _slope(np.log(_q(h, x, W, b, o) / p), x @ W + b, x, o, 1 / len(p))),
            Mistake("The slope for b: the sum over the rows of what W's slope is made of; the mean divides twice.",
                    lambda h, x, W, b, o, p: (gradient(h, x, W, b, o, p)[0], gradient(h, x, W, b, o, p)[1] / len(p))),
            Mistake("W's slope has W's shape: seen.T @ …, not … .T @ seen.",
                    lambda h, x, W, b, o, p: (gradient(h, x, W, b, o, p)[0].T, gradient(h, x, W, b, o, p)[1])),
            Mistake("W multiplies `seen`, so its slope has `seen` in it, not the state.",
                    lambda h, x, W, b, o, p: (
                        h.T @ ((_q(h, x, W, b, o) - p) @ o * gelu_slope(x @ W + b)) / len(p),
                        gradient(h, x, W, b, o, p)[1])),
            Mistake("Two parts, in this order: for W and for b.", lambda h, x, W, b, o, p: gradient(h, x, W, b, o, p)[::-1]),
            Mistake("Both are asked for: for W and for b.", lambda h, x, W, b, o, p: gradient(h, x, W, b, o, p)[0]),
            Mistake("Twice too steep: there is no square in the loss.",
                    lambda h, x, W, b, o, p: tuple(2 * part for part in gradient(h, x, W, b, o, p))),
            Mistake("Divided twice by the number of rows.",
                    lambda h, x, W, b, o, p: tuple(part / len(p) for part in gradient(h, x, W, b, o, p))),
            Mistake("The mean over the *rows*; over the tokens of a row it is a sum.",
                    lambda h, x, W, b, o, p: tuple(part / p.shape[1] for part in gradient(h, x, W, b, o, p))),
            Mistake("The mean over the *rows*, and only over them: p.size counts the tokens too.",
                    lambda h, x, W, b, o, p: tuple(part * len(p) / p.shape[1] for part in gradient(h, x, W, b, o, p))),
            Mistake("Return the slopes; `train` takes the step.",
                    lambda h, x, W, b, o, p: (
                        W - gradient(h, x, W, b, o, p)[0], b - gradient(h, x, W, b, o, p)[1])),
            Mistake("The slope in log q is −p; the softmax between log q and the logits is missing.",
                    lambda h, x, W, b, o, p: _slope(-p, x @ W + b, x, o, 1 / len(p))),
            Mistake("−p/q is the slope in q; the softmax between q and the logits is missing.",
                    lambda h, x, W, b, o, p: _slope(-p / _q(h, x, W, b, o), x @ W + b, x, o, 1 / len(p))),
        ],
        [
            "In the logits the slope is q − p, a row for a row.",
            "Back through the output matrix: `@ output`; back through gelu: times `gelu_slope(a)`; then the mean.",
            "W: `seen.T @ da`; b: the sum of da over the rows.",
        ],
        rtol=1e-5,
        atol=1e-8,
    ),
]  # fmt: skip
