"""The checks of lesson 15: EAGLE, blocks and trees."""

from __future__ import annotations

import itertools
import math

import numpy as np

from minispec.course.teaching import Mistake, Prediction, Reply, Step
from minispec.course.teaching.heads import gelu

PREDICTIONS = [
    Prediction(
        "passes",
        (5, 1),
        "EAGLE reads its own output before each further position. A block has placeholders and reads none.",
        [
            Reply((1, 5), "The other way round: which of the two has a loop?"),
            Reply((5, 5), "A block gets all its distributions from one pass."),
            Reply((4, 1), "The pass for position 1 counts, too."),
            Reply((1, 1), "EAGLE needs the output of position 1 before it can begin position 2."),
        ],
    ),
    Prediction(
        "pruned",
        "wrong",
        "What is left after the choice was not drawn from q any more; likelier tokens come through more often.",
        [Reply("right", "Ask what distribution the guess has that you judge: is it still q?")],
        choices=("right", "wrong"),
    ),
]


def feed_itself(state, tokens, W, b):
    outputs = []
    for token in tokens:
        state = state + gelu(np.concatenate([state, token]) @ W + b)
        outputs.append(state)
    return np.array(outputs)


def _step_on(state, token, W, b):
    return state + gelu(np.concatenate([state, token]) @ W + b)


def _loop(step):
    """A head that goes on by another step."""

    def run(state, tokens, W, b):
        outputs = []
        for token in tokens:
            state = step(state, token, W, b)
            outputs.append(state)
        return np.array(outputs)

    return run


def _adds_the_first_state(state, tokens, W, b):
    first, outputs = state, []
    for token in tokens:
        state = first + gelu(np.concatenate([state, token]) @ W + b)
        outputs.append(state)
    return np.array(outputs)


def _same_token(state, tokens, W, b):
    return feed_itself(state, np.repeat(tokens[:1], len(tokens), axis=0), W, b)


def _heads() -> list[tuple[np.ndarray, ...]]:
    """State, tokens, W, b: C = 3."""
    rng = np.random.default_rng(21)
    cases = [(np.array([1.0, 2.0, 0.5]), np.eye(3)[:2], np.zeros((6, 3)), np.zeros(3))]
    cases.append((np.array([1.0, 0.0, -1.0]), np.eye(3)[:1], np.eye(6)[:, :3], np.array([0.0, 1.0, -1.0])))
    drawn = (tuple(rng.normal(size=shape) for shape in ((3,), (count, 3), (6, 3), (3,))) for count in (1, 2, 4, 5))
    return [*cases, *drawn]


def keep_best(rows: np.ndarray, num_nodes: int) -> list[tuple[int, ...]]:
    best, level = [], [((), 1.0)]
    for row in rows:
        likeliest = np.argsort(-row, kind="stable")[:num_nodes]
        level = [((*path, int(x)), value * row[x]) for path, value in level for x in likeliest]
        best = sorted(best + level, key=lambda node: -node[1])[:num_nodes]
        level = [node for node in level if node in best]
    return [path for path, _ in best]


def _paths(rows):
    """All paths with their values, level by level."""
    places = [np.argsort(-row, kind="stable").tolist() for row in rows]
    for depth in range(1, len(rows) + 1):
        for path in itertools.product(*places[:depth]):
            yield path, math.prod(float(row[x]) for row, x in zip(rows, path, strict=False))


def _best_by(rows, num_nodes, key):
    """The largest of all paths by another value."""
    return [path for path, _ in sorted(_paths(rows), key=lambda node: -key(*node))[:num_nodes]]


def _chain(rows, num_nodes):
    return [tuple(int(row.argmax()) for row in rows[:depth]) for depth in range(1, len(rows) + 1)][:num_nodes]


def _rows() -> list[tuple[np.ndarray, int]]:
    rng = np.random.default_rng(18)
    two = np.array([[0.6, 0.25, 0.15], [0.72, 0.2, 0.08]])
    return [
        (two, 3),
        (two, 1),
        (two, 6),
        (np.array([[0.1, 0.2, 0.7]]), 2),
        (np.array([[0.3, 0.7], [0.8, 0.2]]), 10),
        (np.array([[0.05, 0.9, 0.05], [0.2, 0.35, 0.45], [0.6, 0.1, 0.3]]), 4),
        *((rng.dirichlet([0.4] * 6, 3), size) for size in (5, 9)),
    ]


STEPS = [
    Step(
        "feed_itself",
        _heads,
        feed_itself,
        [
            Mistake("Each output must read the output before it; here every one reads the target's state.",
                    lambda s, t, W, b: np.array([_step_on(s, token, W, b) for token in t])),
            Mistake("The state is left out: an output is s + gelu(…).",
                    _loop(lambda s, token, W, b: gelu(np.concatenate([s, token]) @ W + b))),
            Mistake("gelu is missing.", _loop(lambda s, token, W, b: s + np.concatenate([s, token]) @ W + b)),
            Mistake("The state comes first, then the token: [s, token].",
                    _loop(lambda s, token, W, b: s + gelu(np.concatenate([token, s]) @ W + b))),
            Mistake("Every output adds to the output before it, not to the target's state.", _adds_the_first_state),
            Mistake("Each output reads a token of its own; here all of them read the first.", _same_token),
            Mistake("The tokens come in order: the pending token is the first.",
                    lambda s, t, W, b: feed_itself(s, t[::-1], W, b)),
            Mistake("An output for each token, not the last one alone.", lambda s, t, W, b: feed_itself(s, t, W, b)[-1]),
            Mistake("The target's state is not an output of the head.",
                    lambda s, t, W, b: np.concatenate([s[None], feed_itself(s, t, W, b)])),
            Mistake("The last output is missing: there is one for each token.",
                    lambda s, t, W, b: np.concatenate([s[None], feed_itself(s, t, W, b)])[:-1]),
            Mistake("The bias belongs inside gelu.", _loop(lambda s, token, W, b: s + gelu(np.concatenate([s, token]) @ W) + b)),
            Mistake("The bias is missing.", _loop(lambda s, token, W, b: s + gelu(np.concatenate([s, token]) @ W))),
            Mistake("The state goes past gelu: s + gelu(…), not gelu(s + …).",
                    _loop(lambda s, token, W, b: gelu(s + np.concatenate([s, token]) @ W + b))),
            Mistake("Add to the state, not to the token.",
                    _loop(lambda s, token, W, b: token + gelu(np.concatenate([s, token]) @ W + b))),
            Mistake("That is relu; the heads have gelu.",
                    _loop(lambda s, token, W, b: s + np.maximum(np.concatenate([s, token]) @ W + b, 0))),
        ],
        [
            "`np.concatenate([state, token]) @ W + b` is what gelu reads.",
            "In a loop over the tokens: compute the output, append it, and let it be the state of the next turn.",
        ],
    ),
    Step(
        "keep_best",
        _rows,
        keep_best,
        [
            Mistake("That is a chain: a tree may have several guesses at a position.", _chain),
            Mistake("A node is worth the *product* along its path: its own probability says nothing of its parents.",
                    lambda rows, n: _best_by(rows, n, lambda path, _: rows[len(path) - 1][path[-1]])),
            Mistake("The product along the path, not the sum.",
                    lambda rows, n: _best_by(rows, n, lambda path, _: sum(rows[i][x] for i, x in enumerate(path)))),
            Mistake("The mean along the path makes deep nodes too cheap: the product.",
                    lambda rows, n: _best_by(rows, n, lambda path, _: np.mean([rows[i][x] for i, x in enumerate(path)]))),
            Mistake("Level by level fills up the first position with guesses that nobody needs: take the best of all levels.",
                    lambda rows, n: _best_by(rows, n, lambda path, value: value - 2 * len(path))),
            Mistake("Those are the *least* likely paths.", lambda rows, n: _best_by(rows, n, lambda _, value: -value)),
            Mistake("That is the first position alone: a tree goes on.", lambda rows, n: keep_best(rows[:1], n)),
            Mistake("The tokens of a path stand in the order of their positions.",
                    lambda rows, n: [path[::-1] for path in keep_best(rows, n)]),
            Mistake("The last position comes first: rows[0] is the one right after the text.",
                    lambda rows, n: keep_best(rows[::-1], n)),
            Mistake("The *product* along the path, not its smallest factor.",
                    lambda rows, n: _best_by(rows, n, lambda path, _: min(rows[i][x] for i, x in enumerate(path)))),
            Mistake("The root of the product makes deep nodes too cheap: the product itself.",
                    lambda rows, n: _best_by(rows, n, lambda path, value: value ** (1 / len(path)))),
            Mistake("The nodes between count too, not the leaves alone.",
                    lambda rows, n: [path for path in keep_best(rows, n)
                                     if not any(path == other[:-1] for other in keep_best(rows, n))]),
            Mistake("Only the likeliest node of each position grows: the children of the others may be worth more.",
                    lambda rows, n: [path for path in keep_best(rows, 9999)
                                     if all(x == rows[i].argmax() for i, x in enumerate(path[:-1]))][:n]),
            Mistake("Only whole paths: a node of any level counts.",
                    lambda rows, n: [p for p in _best_by(rows, 9999, lambda _, value: value) if len(p) == len(rows)][:n]),
            Mistake("All of them: cut to `num_nodes`.", lambda rows, n: keep_best(rows, 9999)),
            Mistake("One too few.", lambda rows, n: keep_best(rows, n)[:-1] if len(keep_best(rows, n)) == n else keep_best(rows, n)),
            Mistake("One too many.", lambda rows, n: keep_best(rows, n + 1)),
            Mistake("The root is the committed text: it is none of the candidates.", lambda rows, n: [(), *keep_best(rows, n)]),
            Mistake("The largest value first.", lambda rows, n: sorted(keep_best(rows, n))),
            Mistake("By level and then by value? The largest value first.",
                    lambda rows, n: sorted(keep_best(rows, n), key=len)),
            Mistake("Paths alone, without their values.", lambda rows, n: _valued(rows, n)),
            Mistake("A path holds all tokens from the root on, not the last alone.",
                    lambda rows, n: [path[-1:] for path in keep_best(rows, n)]),
            Mistake("That many nodes in all, not at every level.",
                    lambda rows, n: [path for depth in range(1, len(rows) + 1)
                                     for path in [p for p in keep_best(rows, 9999) if len(p) == depth][:n]]),
        ],
        [
            "The value of a path is the product of its tokens' probabilities.",
            "Go position by position: grow what is among the best so far, then keep the best of all.",
        ],
    ),
]  # fmt: skip


def _valued(rows, num_nodes):
    found = dict(_paths(rows))
    return [(path, found[path]) for path in keep_best(rows, num_nodes)]
