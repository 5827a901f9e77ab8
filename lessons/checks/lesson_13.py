"""The checks of lesson 13: elsewhere."""

from __future__ import annotations

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "steps",
        100,
        "τ − 1 = 1.9 accepted per step; 190 / 1.9.",
        [Reply(lambda a: abs(a - 65.5) < 0.5, "190 / 2.9: but τ counts the target's own token, too.")],
        tolerance=0.01,
    ),
    Prediction(
        "rows",
        "a tree of drafts",
        "Several guesses for one position: more rows, and a better chance that one of them is right.",
        [Reply("a longer prompt", "The prompt is read once, before the first token.")],
        choices=("a tree of drafts", "a longer prompt"),
    ),
]


def read_log(accepted: int, drafted: int, mean_acceptance_length: float) -> tuple[float, float]:
    rounds = accepted / (mean_acceptance_length - 1)
    return rounds, drafted / rounds


def _own_token_counted(accepted, drafted, mean_acceptance_length):
    rounds = accepted / mean_acceptance_length
    return rounds, drafted / rounds


def _gamma_accepted(accepted, drafted, mean_acceptance_length):
    rounds = accepted / (mean_acceptance_length - 1)
    return rounds, accepted / rounds


def _from_drafted(accepted, drafted, mean_acceptance_length):
    rounds = drafted / mean_acceptance_length
    return rounds, drafted / rounds


def first_difference(one: list[int], other: list[int]) -> int | None:
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return None if len(one) == len(other) else min(len(one), len(other))


def _ignores_length(one, other):
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)


def _last(one, other):
    found = [i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    return found[-1] if found else first_difference(one, other)


def _one_too_many(one, other):
    found = first_difference(one, other)
    return None if found is None else found + 1


def launch_bound(num_layers: int, kernels_per_layer: int, launch_us: float, bytes_read: float, gb_per_s: float) -> bool:
    return num_layers * kernels_per_layer * launch_us * 1e-6 > bytes_read / (gb_per_s * 1e9)


def _one_layer(num_layers, kernels_per_layer, launch_us, bytes_read, gb_per_s):
    return kernels_per_layer * launch_us * 1e-6 > bytes_read / (gb_per_s * 1e9)


def _milliseconds(num_layers, kernels_per_layer, launch_us, bytes_read, gb_per_s):
    return num_layers * kernels_per_layer * launch_us * 1e-3 > bytes_read / (gb_per_s * 1e9)


def _reversed(num_layers, kernels_per_layer, launch_us, bytes_read, gb_per_s):
    return not launch_bound(num_layers, kernels_per_layer, launch_us, bytes_read, gb_per_s)


STEPS = [
    Step(
        "read_log",
        [(190, 400, 2.9), (50, 100, 1.5), (720, 1000, 3.88), (10, 70, 1.1), (100, 300, 4.0)],
        read_log,
        [
            Mistake("The mean acceptance length counts the target's own token: subtract 1.", _own_token_counted),
            Mistake("γ is drafted per step, not accepted per step.", _gamma_accepted),
            Mistake("The number of steps follows from *accepted* tokens.", _from_drafted),
            Mistake("γ = drafted / steps; you have the acceptance rate, accepted / drafted.",
                    lambda a, d, t: (a / (t - 1), a / d)),
            Mistake("Subtract the target's own token, do not add one more: τ − 1.",
                    lambda a, d, t: (a / (t + 1), d * (t + 1) / a)),
            Mistake("As real numbers: do not round.",
                    lambda a, d, t: (int(a / (t - 1)), d / int(a / (t - 1)))),
        ],
        ["accepted / steps = τ − 1.", "γ = drafted / steps."],
    ),
    Step(
        "first_difference",
        [([], []), ([1], [1]), ([7, 1], [8, 1]), ([9], [9, 9]), ([2], [2, 7]), ([5, 5], [5]), ([1, 2, 3, 4], [1, 2, 3, 8]), ([1, 2, 3], [1, 2]), ([1], [1, 2, 3]), ([1, 2], [3]), ([1], [1, 0]), ([5, 0], [5]), ([1, 5, 3], [1, 2, 3]), ([], [7]), ([4, 4, 9, 1], [4, 8, 9, 2])],
        first_difference,
        [
            Mistake("A text that ends earlier differs, too: at its end.", _ignores_length),
            Mistake("The *first* difference.", _last),
            Mistake("That is the first position where they are the *same*.",
                    lambda a, b: next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x == y), None)),
            Mistake("Position 0 is a position, not None: compare with `is None`.", lambda a, b: first_difference(a, b) or None),
            Mistake("Where, not only whether.", lambda a, b: a != b),
            Mistake("Return the position, not the token that stands there.",
                    lambda a, b: None if first_difference(a, b) is None else [*a, *b][first_difference(a, b)]),
            Mistake("None if they are the same.",
                    lambda a, b: len(a) if first_difference(a, b) is None else first_difference(a, b)),
            Mistake("None if they are the same.", lambda a, b: -1 if first_difference(a, b) is None else
                    first_difference(a, b)),
            Mistake("Positions count from 0.", _one_too_many),
        ],
        ["Go through both together; what remains is a question of length."],
    ),
    Step(
        "launch_bound",
        [(2, 8, 5, 3e6, 2000), (2, 100, 5, 1e9, 2000), (1, 1, 1, 1000, 1), (32, 8, 5, 14e9, 2000), (12, 8, 5, 500e6, 2000), (12, 8, 2, 250e6, 3350), (2, 6, 3, 70e6, 1000), (2, 3, 5, 27e6, 1000)],
        launch_bound,
        [
            Mistake("Every layer launches its kernels.", _one_layer),
            Mistake("A microsecond is 1e-6 seconds.", _milliseconds),
            Mistake("The other way round.", _reversed),
            Mistake("Exactly as long is not longer: >, not >=.",
                    lambda n, k, us, b, w: n * k * us >= b / w / 1e3),
            Mistake("A gigabyte has 1e9 bytes.", lambda n, k, us, b, w: n * k * us * 1e-6 > b / w),
            Mistake("Return True or False.", lambda n, k, us, b, w: n * k * us * 1e-6),
        ],
        ["Seconds of all launches against seconds of reading."],
    ),
]  # fmt: skip
