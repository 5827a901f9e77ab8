"""The checks of lesson 11: batches, serving and streaming."""

from __future__ import annotations

import math
from collections.abc import Callable

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "wait",
        2,
        '"EN" may become "END"; the "E" of "THE" is followed by something else already.',
        [
            Reply(0, "And if a D comes next? The user would have seen the beginning of the stop."),
            Reply(3, "The text ends with two letters of it."),
            Reply(6, "Everything? Only what may still become the stop."),
        ],
    ),
    Prediction(
        "gap",
        "grows",
        "More drafting and more rows between two bursts.",
        choices=("grows", "falls", "stays"),
        replies=[
            Reply("falls", "The *mean time per token* may fall. The gap is one step, and a step gets longer."),
            Reply("stays", "A step has more draft tokens and more rows to verify."),
        ],
    ),
    Prediction(
        "in_step",
        0.8**8,
        "All eight must be lucky: 0.8 to the eighth, about 0.17.",
        [
            Reply(lambda a: abs(a - 0.8) < 0.01, "That is one text alone; all eight must be lucky."),
            Reply(lambda a: a > 1, "A probability is at most 1."),
            Reply(lambda a: abs(a - (1 - 0.2**8)) < 0.001, "That is one of them at least; all eight must be lucky."),
        ],
        0.05,
    ),
    Prediction(
        "begins",
        3,
        "The second request gives its place back after 3 steps.",
        [
            Reply(25, "That is a fixed batch, which waits for its longest. Here a place is free earlier."),
            Reply(4, "After the third step the place is free, so the fourth request runs in the fourth."),
            Reply(6, "The third request needs 6; is there an earlier one?"),
            Reply(0, "There are three places, and they are taken."),
        ],
    ),
    Prediction(
        "empty",
        1 - 64 / 1024,
        "64 of 1024 slots are used: 15/16 stay empty.",
        [
            Reply(lambda a: abs(a - 64 / 1024) < 0.01, "That is the share that is used."),
            Reply(lambda a: a > 1, "A share is at most 1."),
        ],
        0.01,
    ),
    Prediction(
        "rows",
        40,
        "Each text has its four drafts and the token before them: 8 x 5.",
        [
            Reply(32, "Each text also has the token before its drafts."),
            Reply(5, "That is one text; there are eight."),
            Reply(8, "That is plain decoding."),
        ],
    ),
    Prediction(
        "likelier",
        "sixth",
        "0.9 to the sixth is 0.53, and 0.5 is 0.5.",
        choices=("sixth", "first"),
        replies=[Reply("first", "0.9 to the sixth is 0.53: even then the good draft is ahead.")],
    ),
]


def retracted(steps: list[tuple[list[str], int]]) -> int:
    return sum(len(text) for texts, accepted in steps for text in texts[accepted:])


def complete(data: bytes) -> int:
    for back in range(1, min(4, len(data)) + 1):
        first = data[-back]
        if first & 0b1100_0000 == 0b1000_0000:
            continue
        length = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        return len(data) if back >= length else len(data) - back
    return len(data)


def _to_last_ascii(data: bytes) -> int:
    return max((i + 1 for i, byte in enumerate(data) if byte < 0x80), default=0)


def _drops_last_character(data: bytes) -> int:
    for back in range(1, min(4, len(data)) + 1):
        if data[-back] & 0b1100_0000 != 0b1000_0000:
            return len(data) if data[-back] < 0x80 else len(data) - back
    return len(data)


def _two_bytes_only(data: bytes) -> int:
    return len(data) - 1 if data and data[-1] >= 0xC0 else len(data)


def _looks_back_two(data: bytes) -> int:
    three_of_four = len(data) > 2 and data[-3] >= 0b1111_0000
    return len(data) if three_of_four else complete(data)


def held_back(text: str, stop: str) -> int:
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0


def _shortest(text: str, stop: str) -> int:
    for length in range(1, min(len(text), len(stop) - 1) + 1):
        if text.endswith(stop[:length]):
            return length
    return 0


def _always_all(text: str, stop: str) -> int:
    return min(len(text), len(stop) - 1)


def _first_letter(text: str, stop: str) -> int:
    at = text.rfind(stop[0])
    return len(text) - at if at >= 0 else 0


def _first_letter_near(text: str, stop: str) -> int:
    end = text[max(0, len(text) - len(stop) + 1) :]
    return len(end) - end.find(stop[0]) if stop[0] in end else 0


def _last_letter_near(text: str, stop: str) -> int:
    far = _first_letter(text, stop)
    return far if far < len(stop) else 0


def lockstep(accepted: list[list[int]]) -> int:
    return sum(min(step) + 1 for step in accepted)


def ends(steps: list[int], places: int) -> list[int]:
    free = [0] * places
    ended = []
    for count in steps:
        place = free.index(min(free))
        free[place] += count
        ended.append(free[place])
    return ended


def _fixed_batches(steps: list[int], places: int) -> list[int]:
    ended, start = [], 0
    for first in range(0, len(steps), places):
        batch = steps[first : first + places]
        ended += [start + count for count in batch]
        start += max(batch)
    return ended


def _own_place(steps: list[int], places: int) -> list[int]:
    return [sum(steps[i % places : i + 1 : places]) for i in range(len(steps))]


def _shortest_first(steps: list[int], places: int) -> list[int]:
    order = sorted(range(len(steps)), key=lambda i: steps[i])
    ended = ends([steps[i] for i in order], places)
    return [ended[order.index(i)] for i in range(len(steps))]


def _begins(steps: list[int], places: int) -> list[int]:
    return [end - count for end, count in zip(ends(steps, places), steps, strict=True)]


def _busiest_place(steps: list[int], places: int) -> list[int]:
    free, ended = [0] * places, []
    for count in steps:
        place = free.index(0) if 0 in free else free.index(max(free))
        free[place] += count
        ended.append(free[place])
    return ended


def pages_held(lengths: list[int], shared: int, size: int) -> int:
    whole = shared // size
    return whole + sum(-(-length // size) - whole for length in lengths)


def _up(slots: int, size: int) -> int:
    return -(-slots // size)


def batch_speedup(alpha: float, gamma: int, c: float, batch: int, ridge: float) -> float:
    tau = sum(alpha**k for k in range(gamma + 1))
    plain = max(1.0, batch / ridge)
    return tau * plain / (gamma * c * plain + max(1.0, batch * (gamma + 1) / ridge))


def _take(chances: list[list[float]], rows: int, survival: Callable[[list[float], int], float]) -> list[int]:
    """Share rows by whatever stands for survival."""
    places = [(survival(row, k), i) for i, row in enumerate(chances) for k in range(len(row))]
    taken = [i for _, i in sorted(places, reverse=True)[:rows]]
    return [taken.count(i) for i in range(len(chances))]


def share_rows(chances: list[list[float]], rows: int) -> list[int]:
    return _take(chances, rows, lambda row, k: math.prod(row[: k + 1]))


def _in_turn(chances: list[list[float]], rows: int) -> list[int]:
    given = [0] * len(chances)
    for k in range(max(map(len, chances), default=0)):
        for i, row in enumerate(chances):
            if k < len(row) and sum(given) < rows:
                given[i] += 1
    return given


def _best_first(chances: list[list[float]], rows: int) -> list[int]:
    given = [0] * len(chances)
    for i in sorted(range(len(chances)), key=lambda i: -chances[i][0] if chances[i] else 0.0):
        given[i] = min(len(chances[i]), rows - sum(given))
    return given


def _plain_is_one(alpha, gamma, c, batch, ridge):
    tau = sum(alpha**k for k in range(gamma + 1))
    return tau / (gamma * c + max(1.0, batch * (gamma + 1) / ridge))


def _draft_of_one(alpha, gamma, c, batch, ridge):
    return batch_speedup(alpha, gamma, c / max(1.0, batch / ridge), batch, ridge)


def _whole_ridges(alpha, gamma, c, batch, ridge):
    plain, verify = (max(1.0, -(-rows // ridge)) for rows in (batch, batch * (gamma + 1)))
    return sum(alpha**k for k in range(gamma + 1)) * plain / (gamma * c * plain + verify)


def _rows_without_gamma(alpha, gamma, c, batch, ridge):
    tau = sum(alpha**k for k in range(gamma + 1))
    plain = max(1.0, batch / ridge)
    return tau * plain / (gamma * c * plain + plain)


def _tau_per_batch(alpha, gamma, c, batch, ridge):
    return batch * batch_speedup(alpha, gamma, c, batch, ridge)


def _gamma_rows(alpha, gamma, c, batch, ridge):
    tau = sum(alpha**k for k in range(gamma + 1))
    plain = max(1.0, batch / ridge)
    return tau * plain / (gamma * c * plain + max(1.0, batch * gamma / ridge))


TEXTS = ["n", "né", "a🙂", "日本", "🙂🙂", "a\x7f", "ก", "ߊ", "！"]
DATA = [(b"",), *((text.encode()[:cut],) for text in TEXTS for cut in range(1, len(text.encode()) + 1))]

STEPS = [
    Step(
        "retracted",
        [
            ([],),
            ([(["the ", "cat"], 1)],),
            ([(["a", "bc"], 2), (["def"], 0)],),
            ([([], 0), (["x", "yz", "uvw"], 0)],),
            ([(["née", "日本"], 0), (["é"], 1)],),
            ([(["a ", " b"], 1), (["c", "dd"], 1)],),
        ],
        retracted,
        [
            Mistake("Characters, not tokens.", lambda steps: sum(len(t) - a for t, a in steps)),
            Mistake("Characters, not bytes: \"é\" is one character.",
                    lambda steps: sum(len(x.encode()) for t, a in steps for x in t[a:])),
            Mistake("That is what stays; count what is taken back.",
                    lambda steps: sum(len(x) for t, a in steps for x in t[:a])),
            Mistake("The first rejected token has to go, too.",
                    lambda steps: sum(len(x) for t, a in steps for x in t[a + 1 :])),
            Mistake("Tokens have texts of several characters: add up their lengths.",
                    lambda steps: sum(len(t) for t, a in steps)),
            Mistake("One total over all steps.",
                    lambda steps: [sum(len(x) for x in t[a:]) for t, a in steps]),
            Mistake("Spaces are characters, too.",
                    lambda steps: sum(len(x.strip()) for t, a in steps for x in t[a:])),
            Mistake("The accepted ones stay.", lambda steps: sum(len(x) for t, _ in steps for x in t)),
            Mistake("Everything after a rejection goes, too, not only the rejected token.",
                    lambda steps: sum(len(x) for t, a in steps for x in t[a : a + 1])),
        ],
        ["`texts[accepted:]` is what has to go."],
    ),
    Step(
        "complete",
        DATA,
        complete,
        [
            Mistake("A finished character need not be ASCII.", _to_last_ascii),
            Mistake("A last character that is finished may be shown.", _drops_last_character),
            Mistake("Characters have up to four bytes.", _two_bytes_only),
            Mistake("Characters have up to four bytes: look up to three bytes back.", _looks_back_two),
            Mistake("An unfinished character must wait.", len),
            Mistake("Count bytes, not characters.", lambda data: len(data.decode(errors="ignore"))),
            Mistake("That is what must wait; return what can be shown.", lambda data: len(data) - complete(data)),
            Mistake("Return how many bytes, not the bytes.", lambda data: data[: complete(data)]),
            Mistake("A finished character at the end may be shown, whatever its length.",
                    lambda data: max(0, len(data) - 1)),
            Mistake("A finished character at the end may be shown, and of nothing there is nothing to show.",
                    lambda data: len(data) - 1),
        ],
        [
            "Look at the last byte, then further back, until you find one that does not continue (10xxxxxx).",
            "That byte says how long the character is; you know how many bytes of it are there.",
            "`byte & 0b1100_0000 == 0b1000_0000` is true for bytes that continue.",
        ],
    ),
    Step(
        "held_back",
        [("", "END"), ("THE E", "END"), ("THE EN", "END"), ("EN", "END"), ("THE N", "END"), ("THE EX", "END"), ("abcax", "abd"), ("a b", "bc"), ("abcab", "abd"), ("aaa", "aab"), ("xyz", "END"), ("n", "E"), ("ananan", "anana!"),
         ("nb a x", "ab")],
        held_back,
        [
            Mistake("The *longest* end that fits: \"aaa\" before \"aab\" holds back two.", _shortest),
            Mistake("Hold back only what may become the stop; a user is waiting.", _always_all),
            Mistake("A single character at the end may be the beginning, too.",
                    lambda text, stop: held_back(text, stop) if held_back(text, stop) > 1 else 0),
            Mistake("The end of the text must be the *beginning* of the stop, not any part of it.",
                    lambda text, stop: next((n for n in range(min(len(text), len(stop) - 1), 0, -1)
                                             if text[-n:] in stop), 0)),
            Mistake("The end of the text must be the *beginning* of the stop, not its end.",
                    lambda text, stop: next((n for n in range(min(len(text), len(stop) - 1), 0, -1)
                                             if text.endswith(stop[-n:])), 0)),
            Mistake("Look at the *end* of the text.",
                    lambda text, stop: next((n for n in range(min(len(text), len(stop) - 1), 0, -1)
                                             if text.startswith(stop[:n])), 0)),
            Mistake("That is what may be shown; return what must wait.",
                    lambda text, stop: len(text) - held_back(text, stop)),
            Mistake("How many, not only whether.", lambda text, stop: held_back(text, stop) > 0),
            Mistake("More than one character may have to wait.",
                    lambda text, stop: int(len(stop) > 1 and text.endswith(stop[0]))),
            Mistake("Up to len(stop) − 1 characters: one more than you try.",
                    lambda text, stop: next((n for n in range(len(stop) - 2, 0, -1) if text.endswith(stop[:n])), 0)),
            Mistake("Return how many characters, not which.",
                    lambda text, stop: text[len(text) - held_back(text, stop):]),
            Mistake("A letter of the stop somewhere in the text is not yet a beginning of it: it must reach the end.",
                    _first_letter),
            *(
                Mistake("All of the end must begin the stop, not only its first character.", function)
                for function in (_first_letter_near, _last_letter_near)
            ),
            Mistake("The beginning of the stop must stand at the *end* of the text; you find it anywhere.",
                    lambda text, stop: max(n for n in range(len(stop)) if stop[:n] in text)),
        ],
        ["Try the lengths from long to short: does the text end with `stop[:length]`?",
         "At most len(stop) − 1 characters: the whole stop does not occur."],
    ),
    Step(
        "lockstep",
        [
            ([[4, 0], [3, 2]],),
            ([[2, 1, 3]],),
            ([[0, 0], [4, 4], [1, 3]],),
            ([[2], [0]],),
            ([[4, 0], [0, 4]],),
            ([],),
        ],
        lockstep,
        [
            Mistake("All must stay in step: the unluckiest decides, not the luckiest.",
                    lambda accepted: sum(max(step) + 1 for step in accepted)),
            Mistake("The target adds one token of its own in every step.",
                    lambda accepted: sum(min(step) for step in accepted)),
            Mistake("That is all texts together, each at its own pace; here they stay in step, and it is per text.",
                    lambda accepted: sum(sum(step) + len(step) for step in accepted)),
            Mistake("Per text, not for the whole batch.",
                    lambda accepted: sum(len(step) * (min(step) + 1) for step in accepted)),
            Mistake("Another text may be the unluckiest in every step: look at each step by itself.",
                    lambda accepted: min((sum(texts) + len(texts) for texts in zip(*accepted, strict=True)), default=0)),
            Mistake("The target's own token comes in every step, not once.",
                    lambda accepted: sum(min(step) for step in accepted) + 1),
            Mistake("That is the first text, as if it were alone.",
                    lambda accepted: sum(step[0] + 1 for step in accepted)),
            Mistake("Whether all drafts are kept is not the question; count how many all can keep.",
                    lambda accepted: sum(1 if 0 in step else 2 for step in accepted)),
        ],
        ["In one step each text keeps `min(step)` draft tokens.",
         "And one token of the target's own: `min(step) + 1`, summed over the steps."],
    ),
    Step(
        "ends",
        [
            ([2, 3], 1),
            ([3, 1, 2], 2),
            ([25, 3, 6, 4, 5], 3),
            ([5, 1, 1, 1, 1], 2),
            ([4, 6, 1, 1, 7, 2], 2),
            ([4], 3),
            ([1, 1, 2, 2, 9, 3, 3, 1], 4),
            ([], 2),
        ],
        ends,
        [
            Mistake("That is a fixed batch, which waits for its longest; here the next one joins as soon as a place is free.",
                    _fixed_batches),
            Mistake("A request has no place of its own: it takes the one that is free first.", _own_place),
            Mistake("First come, first served: a short request does not overtake.", _shortest_first),
            Mistake("That is when each begins; say when it has ended.", _begins),
            Mistake("There are only so many places: the others wait.", lambda steps, places: list(steps)),
            Mistake("There are several places: they do not all wait for one another.",
                    lambda steps, places: ends(steps, 1)),
            Mistake("Take the place that is free *first*.", _busiest_place),
            Mistake("One entry for each request, in the order of arrival, not sorted.",
                    lambda steps, places: sorted(ends(steps, places))),
            Mistake("In the order of the list: you sort the requests.",
                    lambda steps, places: ends(sorted(steps), places)),
            Mistake("A place is free at once: the next request takes its first step in the very next step.",
                    lambda steps, places: [end - 1 for end in ends([count + 1 for count in steps], places)]),
            Mistake("Say it for each request, not only for the last.",
                    lambda steps, places: max(ends(steps, places), default=0)),
            Mistake("Each one by one step late: a place that is given back after step 3 is taken in step 4, "
                    "which is the new request's first.",
                    lambda steps, places: [end + (i >= places) for i, end in enumerate(ends(steps, places))]),
        ],
        ["Keep for each place the step after which it is free: `free = [0] * places`.",
         "The next request takes the place with the smallest entry, and adds its own steps to it."],
    ),
    Step(
        "pages_held",
        [
            ([16], 0, 16),
            ([17], 0, 16),
            ([20, 40], 16, 16),
            ([20, 40], 20, 16),
            ([48, 48, 48], 32, 16),
            ([33, 50, 64, 41], 33, 8),
            ([5, 7], 3, 4),
            ([9, 9, 10], 9, 2),
            ([100, 12], 0, 10),
            ([4097, 9000], 4096, 4096),
        ],
        pages_held,
        [
            Mistake("A page that is partly filled is a page: round up.",
                    lambda lengths, shared, size: shared // size
                    + sum(length // size - shared // size for length in lengths)),
            Mistake("What all begin with is held once, not by each of them.",
                    lambda lengths, shared, size: sum(_up(length, size) for length in lengths)),
            Mistake("Only *whole* pages can be shared: in the one where texts part, each writes something else.",
                    lambda lengths, shared, size: _up(shared, size)
                    + sum(_up(length, size) - _up(shared, size) for length in lengths)),
            Mistake("The common pages are held, too: count them once.",
                    lambda lengths, shared, size: sum(_up(length, size) - shared // size for length in lengths)),
            Mistake("Each text begins a page of its own: round up for each, not for all together.",
                    lambda lengths, shared, size: shared // size
                    + _up(sum(length - shared // size * size for length in lengths), size)),
            Mistake("What comes after the *whole* shared pages is the text's own, the rest of the common beginning too.",
                    lambda lengths, shared, size: shared // size
                    + sum(_up(length - shared, size) for length in lengths)),
            Mistake("Pages, not slots.", lambda lengths, shared, size: size * pages_held(lengths, shared, size)),
            Mistake("Count all texts, not only the longest.",
                    lambda lengths, shared, size: _up(max(lengths), size)),
            Mistake("A full last page needs no empty one after it.",
                    lambda lengths, shared, size: shared // size
                    + sum(length // size + 1 - shared // size for length in lengths)),
        ],
        ["A text of n slots has n / size pages, rounded up: `-(-n // size)`.",
         "`shared // size` pages are held once; each text holds the rest of its pages alone."],
    ),
    Step(
        "batch_speedup",
        [
            (0.8, 4, 0.0, 1, 1e9),
            (0.8, 4, 0.05, 1, 8.0),
            (0.8, 4, 0.05, 64, 8.0),
            (0.8, 4, 0.05, 12, 8.0),
            (0.5, 2, 0.1, 4, 10.0),
            (0.9, 8, 0.02, 16, 100.0),
            (1.0, 3, 0.1, 4, 8.0),
        ],
        batch_speedup,
        [
            Mistake("Plain decoding also gets slower beyond the ridge: compare with a plain step of this batch.",
                    _plain_is_one),
            Mistake("Each text has γ + 1 rows to verify.", _rows_without_gamma),
            Mistake("γ + 1 rows, not γ: the pending token is one of them.", _gamma_rows),
            Mistake("Both sides decode the same batch; its size cancels.", _tau_per_batch),
            Mistake("A draft pass takes c of a *plain step of this batch*, which is slower beyond the ridge: γ c · plain.",
                    _draft_of_one),
            Mistake("Plain decoding also gets slower beyond the ridge: compare with a plain step of this batch.",
                    lambda a, g, c, b, r: batch_speedup(a, g, c, b, r) / max(1.0, b / r)),
            Mistake("At α = 1 the closed form of τ is 0/0. Use the sum.",
                    lambda a, g, c, b, r: float("nan") if a == 1 else batch_speedup(a, g, c, b, r)),
            Mistake("A pass takes m / ridge beyond the ridge, not whole multiples of it.", _whole_ridges),
        ],
        ["Time per token of plain decoding over that of speculation.",
         "plain = max(1, B/ridge); a step = γ c · plain + max(1, B(γ+1)/ridge); it yields τ tokens per text."],
    ),
    Step(
        "share_rows",
        [
            ([[0.9, 0.9], [0.3, 0.3]], 2),
            ([[0.9, 0.85, 0.8], [0.7, 0.6, 0.5]], 3),
            ([[0.5, 0.99, 0.98], [0.6, 0.3, 0.2], [0.55, 0.1, 0.1]], 4),
            ([[0.2, 0.1], [0.8, 0.7], [0.6, 0.9]], 3),
            ([[0.4, 0.7], [0.6, 0.6]], 1),
            ([[0.9, 0.9, 0.9], [0.4, 0.3, 0.2]], 0),
            ([[0.9, 0.5], [0.8]], 9),
            ([[0.95], [0.94, 0.93, 0.92], [0.1, 0.2]], 4),
            ([[0.3, 0.99, 0.99, 0.99], [0.5, 0.62, 0.2, 0.1]], 3),
            ([], 3),
        ],
        share_rows,
        [
            Mistake("A place counts only if all before it are accepted, too: multiply the chances up to it.",
                    lambda chances, rows: _take(chances, rows, lambda row, k: row[k])),
            Mistake("Multiply up to the place and with it: `row[: k + 1]`.",
                    lambda chances, rows: _take(chances, rows, lambda row, k: math.prod(row[:k]))),
            Mistake("That gives everyone the same; a row goes to the likeliest place, whoever has it.", _in_turn),
            Mistake("The best draft does not get everything: its later places may be less likely than another's first.",
                    _best_first),
            Mistake("The likeliest, not the unlikeliest.",
                    lambda chances, rows: _take(chances, rows, lambda row, k: -math.prod(row[: k + 1]))),
            Mistake("Chances of one draft multiply; they do not add up or average.",
                    lambda chances, rows: _take(chances, rows, lambda row, k: sum(row[: k + 1]) / (k + 1))),
            Mistake("`rows` draft tokens in all, not one fewer.",
                    lambda chances, rows: share_rows(chances, max(0, rows - 1))),
            Mistake("`rows` draft tokens in all: the tokens before the drafts are not counted here.",
                    lambda chances, rows: share_rows(chances, max(0, rows - len(chances)))),
            Mistake("How many each request drafts, not which requests are served.",
                    lambda chances, rows: [int(count > 0) for count in share_rows(chances, rows)]),
            Mistake("In the order of the requests, not sorted.",
                    lambda chances, rows: sorted(share_rows(chances, rows), reverse=True)),
            Mistake("One number for each request, not their sum.",
                    lambda chances, rows: sum(share_rows(chances, rows))),
        ],
        ["How probably does place k of request i survive? The product of its first k + 1 chances.",
         "Make a list of (survival, i) for all places, sort it, and count how often each i is among the first `rows`."],
    ),
]  # fmt: skip
