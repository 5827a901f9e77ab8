"""The checks of lesson 11: serving."""

from __future__ import annotations

from minispec.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "wait",
        2,
        '"EN" may become "END"; the "E" of "THE" is followed by something else already.',
        [
            Reply(0, "And if a D comes next? The reader would have seen the beginning of the stop."),
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
            Reply("falls", "The *mean time per token* may fall. The gap is one round, and a round gets longer."),
            Reply("stays", "A round has more drafts and more rows to verify."),
        ],
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


def batch_speedup(alpha: float, gamma: int, c: float, batch: int, ridge: float) -> float:
    tau = sum(alpha**k for k in range(gamma + 1))
    plain = max(1.0, batch / ridge)
    return tau * plain / (gamma * c * plain + max(1.0, batch * (gamma + 1) / ridge))


def _plain_is_one(alpha, gamma, c, batch, ridge):
    tau = sum(alpha**k for k in range(gamma + 1))
    return tau / (gamma * c + max(1.0, batch * (gamma + 1) / ridge))


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
            Mistake("One total over all rounds.",
                    lambda steps: [sum(len(x) for x in t[a:]) for t, a in steps]),
            Mistake("Spaces are characters, too.",
                    lambda steps: sum(len(x.strip()) for t, a in steps for x in t[a:])),
            Mistake("The accepted ones stay.", lambda steps: sum(len(x) for t, _ in steps for x in t)),
            Mistake("Everything behind a rejection goes, too, not only the rejected token.",
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
            Mistake("An unfinished character must wait.", len),
            Mistake("Count bytes, not characters.", lambda data: len(data.decode(errors="ignore"))),
            Mistake("That is what must wait; return what can be shown.", lambda data: len(data) - complete(data)),
            Mistake("Return how many bytes, not the bytes.", lambda data: data[: complete(data)]),
            Mistake("A finished character at the end may be shown, whatever its length.",
                    lambda data: max(0, len(data) - 1)),
        ],
        [
            "Look at the last byte, then further back, until you find one that does not continue (10xxxxxx).",
            "That byte says how long the character is; you know how many bytes of it are there.",
            "`byte & 0b1100_0000 == 0b1000_0000` is true for bytes that continue.",
        ],
    ),
    Step(
        "held_back",
        [("", "END"), ("THE E", "END"), ("THE EN", "END"), ("EN", "END"), ("THE N", "END"), ("a b", "bc"), ("abcab", "abd"), ("aaa", "aab"), ("xyz", "END"), ("E", "E"), ("ananan", "anana!"),
         ("nb ab x", "ab")],
        held_back,
        [
            Mistake("The *longest* end that fits: \"aaa\" before \"aab\" holds back two.", _shortest),
            Mistake("Hold back only what may become the stop; a reader is waiting.", _always_all),
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
        ],
        ["Try the lengths from long to short: does the text end with `stop[:length]`?",
         "At most len(stop) − 1 characters: the whole stop does not occur."],
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
        ],
        batch_speedup,
        [
            Mistake("Plain decoding also gets slower beyond the ridge: compare with a forward of this batch.",
                    _plain_is_one),
            Mistake("Each text has γ + 1 rows to verify.", _rows_without_gamma),
            Mistake("γ + 1 rows, not γ: the pending token is one of them.", _gamma_rows),
            Mistake("Both sides decode the same batch; its size cancels.", _tau_per_batch),
        ],
        ["Time per token of plain decoding over that of speculation.",
         "plain = max(1, B/ridge); a round = γ c · plain + max(1, B(γ+1)/ridge); it yields τ tokens per text."],
    ),
]  # fmt: skip
