"""The checks of lesson 2: the cache."""

from __future__ import annotations

import numpy as np

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "without",
        5050,
        "1 + 2 + … + 100 = 100 · 101 / 2.",
        [
            Reply(100, "That is with a cache: each token once."),
            Reply(10000, "The text is not 100 tokens long from the start; it grows."),
            Reply(4950, "Almost: the last forward reads all 100."),
        ],
    ),
    Prediction(
        "per_token",
        24576,
        "2 (a key and a value) · 8 layers · 384 · 4 bytes = 24576.",
        [
            Reply(12288, "Keys *and* values."),
            Reply(3072, "One key and one value for *each layer*."),
            Reply(6144, "That counts numbers; each takes 4 bytes."),
        ],
    ),
]


def visible(num_new: int, num_slots: int) -> np.ndarray:
    own = num_slots - num_new + np.arange(num_new)[:, None]
    return np.arange(num_slots)[None, :] <= own


def _columns(num_new: int, num_slots: int) -> np.ndarray:
    return np.arange(num_slots)[None, :] + np.zeros((num_new, 1), int)


def after(operations: list) -> list[int]:
    kept: list[int] = []
    for name, argument in operations:
        kept = kept + list(argument) if name == "store" else kept[:argument]
    return kept


def _drops(operations: list) -> list[int]:
    kept: list[int] = []
    for name, argument in operations:
        kept = kept + list(argument) if name == "store" else kept[: max(0, len(kept) - argument)]
    return kept


def _stale(operations: list) -> list[int]:
    slots: list[int] = []
    length = 0
    for name, argument in operations:
        if name == "store":
            slots[length : length + len(argument)] = argument
            length += len(argument)
        else:
            length = min(length, argument)
    return slots


def _appends_only(operations: list) -> list[int]:
    return [token for name, argument in operations if name == "store" for token in argument]


def _never_shorter(operations: list) -> list[int]:
    slots, length = [-1] * 64, 0
    for name, argument in operations:
        if name == "store":
            slots[length : length + len(argument)] = argument
            length += len(argument)
        else:
            length = argument
    return slots[:length]


def cache_bytes(n_layer: int, n_embd: int, num_tokens: int, bytes_per_number: int = 4) -> int:
    return 2 * n_layer * n_embd * num_tokens * bytes_per_number


def lacking(tokens: list[int], in_cache: list[int]) -> tuple[int, list[int]]:
    shared = 0
    while shared < min(len(tokens), len(in_cache)) and tokens[shared] == in_cache[shared]:
        shared += 1
    return shared, tokens[shared:]


def _by_length(tokens: list[int], in_cache: list[int]) -> tuple[int, list[int]]:
    shared = min(len(tokens), len(in_cache))
    return shared, tokens[shared:]


def _counts_matches(tokens: list[int], in_cache: list[int]) -> tuple[int, list[int]]:
    shared = sum(a == b for a, b in zip(tokens, in_cache, strict=False))
    return shared, tokens[shared:]


STEPS = [
    Step(
        "visible",
        [(1, 1), (2, 3), (1, 6), (3, 3), (4, 9)],
        visible,
        [
            Mistake("One too far: a new token must not see the one after it.",
                    lambda n, s: _columns(n, s) <= s - n + 1 + np.arange(n)[:, None]),
            Mistake("A new token must see itself: `<=`, not `<`.",
                    lambda n, s: _columns(n, s) < s - n + np.arange(n)[:, None]),
            Mistake("Every new token sees all the others: the first would look into the future.",
                    lambda n, s: np.ones((n, s), bool)),
            Mistake("You count from the first slot; the new tokens are the *last* ones.",
                    lambda n, s: _columns(n, s) <= np.arange(n)[:, None]),
            Mistake("Only old tokens are seen; new ones attend to earlier new ones, and to themselves.",
                    lambda n, s: _columns(n, s) < s - n),
        ],
        ["Where does new token i stand? At slot S − m + i.", "Compare a row of slots with a column of own places."],
    ),
    Step(
        "after",
        [
            ([("store", [5])],),
            ([("store", [5, 6, 7]), ("rollback", 1), ("store", [8])],),
            ([("store", [1, 2, 3]), ("rollback", 2), ("rollback", 2)],),
            ([("store", [1, 2]), ("rollback", 9), ("store", [3])],),
            ([("store", [7, 7, 3])],),
            ([("store", [1, 2, 3, 4]), ("rollback", 0), ("store", [9, 8]), ("rollback", 1)],),
            ([("store", [0, 4, 0]), ("rollback", 2), ("store", [0])],),  # a token's id may be 0
        ],
        after,
        [
            Mistake("rollback(n) keeps the first n; you drop n.", _drops),
            Mistake("You never go back.", _appends_only),
            Mistake("You return stale slots too: those behind the length were rolled back.", _stale),
            Mistake("rollback(n) keeps n tokens, not n − 1.",
                    lambda ops: after([(n, max(0, a - 1) if n == "rollback" else a) for n, a in ops])),
            Mistake("rollback(n) keeps n tokens, not n + 1.",
                    lambda ops: after([(n, a + 1 if n == "rollback" else a) for n, a in ops])),
            Mistake("A rollback beyond the length must change nothing: what lies there was never written.",
                    _never_shorter),
        ],
        [
            "`slots[length : length + k] = tokens` writes at the next free slots.",
            "Going back: `length = min(length, n)`. Nothing else.",
        ],
    ),
    Step(
        "cache_bytes",
        [(1, 1, 1), (8, 384, 1), (8, 384, 1024), (12, 768, 100, 2), (2, 3, 5, 8), (4, 8, 0), (80, 8192, 131072, 2)],
        cache_bytes,
        [
            Mistake("Keys *and* values: a factor of 2.", lambda l, c, n, b=4: l * c * n * b),
            Mistake("Each layer has a cache of its own.", lambda l, c, n, b=4: 2 * c * n * b),
            Mistake("You count numbers, not bytes.", lambda l, c, n, b=4: 2 * l * c * n),
            Mistake("A byte has 8 bits, but the question is for bytes.", lambda l, c, n, b=4: 16 * l * c * n * b),
            Mistake("Keys and values are two arrays, not a square: 2 · C, not C².",
                    lambda l, c, n, b=4: l * c * c * n * b),
            Mistake("`bytes_per_number` is 4 only by default: use the argument.", lambda l, c, n, b=4: 8 * l * c * n),
        ],
        ["Two arrays of shape [layers, tokens, width]."],
    ),
    Step(
        "lacking",
        [
            ([1], []),
            ([1, 2, 3, 4], [1, 2, 9]),
            ([1, 2, 3], [1, 2, 3]),
            ([1, 2], [1, 2, 3, 4]),
            ([1, 5, 3], [1, 2, 3]),
            ([7, 8], [1, 8]),
            ([0, 0, 5], [0, 0]),
            ([], [3]),
        ],
        lacking,
        [
            Mistake("You compare lengths only; a token in the cache may be another one (it was rejected).", _by_length),
            Mistake("The first token that differs is missing from the cache, too: feed from it on.",
                    lambda t, c: (lacking(t, c)[0], t[lacking(t, c)[0] + 1 :])),
            Mistake("A cache that is longer than `tokens` must be rolled back, too.",
                    lambda t, c: (len(c), t[len(c) :])),
            Mistake("Stop at the *first* difference: everything after it was computed from the wrong token.",
                    _counts_matches),
            Mistake("Feed what comes after the shared part: `tokens[shared:]`, not everything.",
                    lambda t, c: (lacking(t, c)[0], t)),
            Mistake("The last shared token is in the cache already; do not feed it again.",
                    lambda t, c: (max(0, lacking(t, c)[0] - 1), t[max(0, lacking(t, c)[0] - 1):])),
            Mistake("That feeds everything again; keep what is right already.", lambda t, c: (0, t)),
        ],
        ["How many leading tokens do both share?", "Roll back to that number, and feed the rest of `tokens`."],
    ),
]  # fmt: skip
