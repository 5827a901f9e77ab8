"""The checks of lesson 4: draft and verify."""

from __future__ import annotations

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "rows",
        5,
        "One after the prompt, one after each draft token. The last one is the bonus row.",
        [
            Reply(4, "One more: the row after the last draft says what comes next if all are accepted."),
            Reply(1, "That is plain decoding; the point is that one pass answers several questions."),
        ],
    ),
    Prediction(
        "last_round",
        1,
        "A step of g draft tokens yields up to g + 1 tokens; two are wanted.",
        [Reply(2, "With two draft tokens the step might yield three."), Reply(0, "That works, but wastes a chance.")],
    ),
    Prediction(
        "limit",
        "no",
        "A later draft token counts only if all before it were accepted; that becomes unlikely. Lesson 6 has the formula.",
        [Reply("yes", "It cannot fall, but look at how it flattens.")],
        choices=("yes", "no"),
    ),
]


def decide(drafted: list[int], choices: list[int]) -> tuple[int, int]:
    accepted = 0
    while accepted < len(drafted) and drafted[accepted] == choices[accepted]:
        accepted += 1
    return accepted, choices[accepted]


def _counts_all(drafted: list[int], choices: list[int]) -> tuple[int, int]:
    accepted = sum(a == b for a, b in zip(drafted, choices, strict=False))
    return accepted, choices[accepted]


def _last_row(drafted: list[int], choices: list[int]) -> tuple[int, int]:
    return decide(drafted, choices)[0], choices[-1]


def _row_too_late(drafted: list[int], choices: list[int]) -> tuple[int, int]:
    accepted = decide(drafted, choices)[0]
    return accepted, choices[min(accepted + 1, len(choices) - 1)]


def _bonus_too_early(drafted: list[int], choices: list[int]) -> tuple[int, int]:
    accepted = decide(drafted, choices)[0]
    return accepted, choices[max(0, min(accepted, len(drafted) - 1))]


def _shifted(drafted: list[int], choices: list[int]) -> tuple[int, int]:
    accepted = 0
    while accepted < len(drafted) and drafted[accepted] == choices[accepted + 1]:
        accepted += 1
    return accepted, choices[accepted]


def _target(tokens: list[int]) -> int:
    return (3 * sum(tokens) + len(tokens)) % 7


def _draft(tokens: list[int]) -> int:
    """Agrees with the target except now and then."""
    return _target(tokens) if sum(tokens) % 3 else (_target(tokens) + 1) % 7


def propose(tokens: list[int], g: int) -> list[int]:
    new: list[int] = []
    for _ in range(g):
        new.append(_draft([*tokens, *new]))
    return new


def choose(tokens: list[int], drafted: list[int]) -> list[int]:
    return [_target([*tokens, *drafted[:i]]) for i in range(len(drafted) + 1)]


def _loop(propose, choose, prompt, gamma, num_tokens, *, decide=decide, room=1, bonus=True, fixed=False):
    new: list[int] = []
    rounds = 0
    while len(new) < num_tokens:
        tokens = list(prompt) if fixed else [*prompt, *new]
        size = min(gamma, max(0, num_tokens - len(new) - room)) if room is not None else gamma
        drafted = propose(tokens, size)
        accepted, following = decide(drafted, choose(tokens, drafted))
        new += drafted[:accepted]
        if bonus or accepted < len(drafted) or not drafted:
            new.append(following)
        rounds += 1
        if rounds > 200:
            break
    return new, rounds


def speculate(propose, choose, prompt, gamma, num_tokens):
    return _loop(propose, choose, prompt, gamma, num_tokens)


STEPS = [
    Step(
        "decide",
        [
            ([], [4]),
            ([5], [5, 8]),
            ([5], [6, 8]),
            ([5, 6, 7], [5, 9, 7, 1]),
            ([5, 6, 7], [5, 6, 7, 1]),
            ([1, 2, 3, 4], [1, 2, 9, 4, 5]),
            ([2, 3], [1, 2, 3]),
            ([0, 4], [0, 4, 0]),  # a token's id may be 0
            ([3, 1], [3, 0, 2]),
        ],
        decide,
        [
            Mistake("A draft after a rejection does not count, even if it agrees: it continues another text.", _counts_all),
            Mistake("After a rejection the target's token comes from the row of the rejected draft, not from the last row.",
                    _last_row),
            Mistake("The token that follows comes one row too late: row i speaks about what comes after i drafts.",
                    _row_too_late),
            Mistake("Your bonus token comes from row γ − 1; after full acceptance it is row γ, the last one.",
                    _bonus_too_early),
            Mistake("You compare draft i with row i + 1. Row 0 is the one after the prompt.", _shifted),
            Mistake("After a rejection comes the *target's* token, not the rejected draft.",
                    lambda d, c: (decide(d, c)[0], [*d, c[-1]][decide(d, c)[0]])),
            Mistake("The rejected draft itself is not accepted: stop before you count it.",
                    lambda d, c: (min(decide(d, c)[0] + 1, len(d)), decide(d, c)[1])),
            Mistake("Accept or reject one by one: a rejection does not undo what was accepted before it.",
                    lambda d, c: decide(d, c) if decide(d, c)[0] == len(d) else (0, c[0])),
            Mistake("The token that follows is missing from the result.", lambda d, c: decide(d, c)[0]),
            Mistake("Row 0 is the right one only if nothing was accepted: take row `accepted`.",
                    lambda d, c: (decide(d, c)[0], c[0])),
            Mistake("You accept every draft, whatever the target says.", lambda d, c: (len(d), c[-1])),
            Mistake("One accepted too many: do not count the rejected draft, nor the bonus.",
                    lambda d, c: (decide(d, c)[0] + 1, decide(d, c)[1])),
            Mistake("After full acceptance a row is left over: its token is the bonus, not None.",
                    lambda d, c: (decide(d, c)[0], None if decide(d, c)[0] == len(d) else decide(d, c)[1])),
            Mistake("Return how many, not which: `len(...)`.", lambda d, c: (d[: decide(d, c)[0]], decide(d, c)[1])),
        ],
        ["Count the drafts that agree, from the left, up to the first that does not.",
         "If `accepted` agree, row `accepted` holds the token that follows: in both cases."],
    ),
    Step(
        "speculate",
        [
            (propose, choose, [1], 2, 1),
            (propose, choose, [1], 2, 6),
            (propose, choose, [3, 4], 4, 17),
            (propose, choose, [3, 4], 0, 5),
            (propose, choose, [6], 7, 30),
        ],
        speculate,
        [
            Mistake("You overshoot: more tokens than were asked for.",
                    lambda p, c, prompt, g, n: _loop(p, c, prompt, g, n, room=None)),
            Mistake("You overshoot by one: g drafts yield up to g + 1 tokens, so g = wanted − 1 is the most that fits.",
                    lambda p, c, prompt, g, n: _loop(p, c, prompt, g, n, room=0)),
            Mistake("Return two things: the tokens, and the number of target passes.",
                    lambda p, c, prompt, g, n: speculate(p, c, prompt, g, n)[0]),
            Mistake("In the last step you draft one too few: g drafts yield up to g + 1 tokens, so g = wanted − 1 fits.",
                    lambda p, c, prompt, g, n: _loop(p, c, prompt, g, n, room=2)),
            Mistake("The bonus token is missing after a full acceptance.",
                    lambda p, c, prompt, g, n: _loop(p, c, prompt, g, n, bonus=False)),
            Mistake("Return the new tokens only, without the prompt.",
                    lambda p, c, prompt, g, n: ([*prompt, *speculate(p, c, prompt, g, n)[0]],
                                                speculate(p, c, prompt, g, n)[1])),
            Mistake("Every step starts from the prompt; it must go on from prompt *and* new tokens.",
                    lambda p, c, prompt, g, n: _loop(p, c, prompt, g, n, fixed=True)),
            Mistake("The draft continues the prompt only; it must continue prompt *and* new tokens.",
                    lambda p, c, prompt, g, n: _loop(lambda tokens, size: p(prompt, size), c, prompt, g, n)),
            Mistake("You never use the draft: each of your passes yields one token only.",
                    lambda p, c, prompt, g, n: _loop(lambda tokens, size: [], c, prompt, g, n)),
        ],
        [
            "While tokens are missing: draft, ask the target once, decide, append.",
            "The draft of a step: `propose([*prompt, *new], min(gamma, num_tokens - len(new) - 1))`.",
            "Append `drafted[:accepted]`, then the token that follows; count the pass.",
        ],
    ),
    Step(
        "per_pass",
        [(10, 0), (10, 5), (60, 42), (7, 6)],
        lambda num_tokens, num_accepted: num_tokens / (num_tokens - num_accepted),
        [
            Mistake("That is accepted per token, not tokens per pass.", lambda n, a: a / n),
            Mistake("Each pass emits one token of its own: passes = tokens − accepted.", lambda n, a: 1 + a / n),
            Mistake("That is tokens per accepted draft.", lambda n, a: n / a if a else 1.0),
            Mistake("Upside down: passes per token.", lambda n, a: (n - a) / n),
        ],
        ["Which tokens are not accepted drafts? Exactly one per pass."],
    ),
]  # fmt: skip
