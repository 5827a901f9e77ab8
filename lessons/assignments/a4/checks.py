"""A4's checks: exact for tokens, text and counts; ratios and times to 1e-9, a few operations on numbers around 1."""

from itertools import pairwise

from minispec.course.grading import Check, with_drawn

RATIOS = ("mean_acceptance_length", "draft_acceptance_rate", "alpha")
POSITIONS = "num_accepted_tokens_per_pos"


def check(check_id, function, cases, **rest):
    """Return a check that calls a function with the entries of a case, in the order of the first case."""
    names = tuple(cases[0])

    def observe(student, case):
        return getattr(student, function)(*(case[name] for name in names))

    def show(case):
        return f"{function}({', '.join(repr(case[name]) for name in names)})"

    return Check(check_id, observe, cases=cases, show=show, arguments=names, **rest)


def rooms(*rows):
    names = ("gamma", "num_generated", "max_tokens", "num_prompt", "n_positions")
    return [dict(zip(names, row, strict=True)) for row in rows]


ROOMS = rooms(
    (4, 0, 100, 10, 1024),
    (4, 95, 100, 10, 1024),
    (4, 96, 100, 10, 1024),
    (4, 97, 100, 10, 1024),
    (4, 98, 100, 10, 1024),
    (4, 99, 100, 10, 1024),
    (4, 100, 100, 10, 1024),
    (4, 3, 100, 10, 16),
    (4, 5, 100, 10, 16),
    (4, 6, 100, 10, 16),
    (4, 8, 100, 3, 12),
    (0, 0, 9, 1, 16),
    (4, 2, 5, 3, 8),
    (20, 3, 100, 10, 24),
)


def hidden_rooms(rng):
    return rooms(*(rng.integers((1, 0, 5, 1, 12), (8, 5, 12, 6, 20)).tolist() for _ in range(4)))


def search_rooms():
    from hypothesis import strategies as st

    return st.builds(
        lambda *row: rooms(row)[0],
        st.integers(0, 3),
        st.integers(0, 2),
        st.integers(2, 6),
        st.integers(1, 2),
        st.integers(4, 8),
    )


def blocks(*rows):
    return [dict(zip(("block", "num_generated", "max_tokens", "eos"), row, strict=True)) for row in rows]


BLOCKS = blocks(
    ([5], 0, 10, [2]),
    ([5, 7, 2, 9], 0, 10, [2]),
    ([2, 7, 2, 9], 0, 10, [2]),
    ([5, 7, 9], 8, 10, [2]),
    ([5, 7, 9], 7, 10, [2]),
    ([5, 2], 8, 10, [2]),
    ([5, 7, 2], 8, 10, [2]),
    ([5, 0, 7], 1, 10, [0]),
    ([5, 3, 2], 1, 10, [2, 3]),
    ([5, 3, 4], 1, 10, [2, 3]),
    ([5, 7], 0, 10, []),
    ([7, 5, 9, 8], 0, 1, [5]),
)


def hidden_blocks(rng):
    return blocks(
        *(
            (rng.integers(0, 6, 4).tolist(), int(rng.integers(0, 5)), 6, rng.integers(0, 6, 2).tolist())
            for _ in range(4)
        )
    )


def search_blocks():
    from hypothesis import strategies as st

    tokens = st.lists(st.integers(0, 3), min_size=1, max_size=4)
    return st.builds(
        lambda *row: blocks(row)[0],
        tokens,
        st.integers(0, 2),
        st.integers(3, 5),
        st.lists(st.integers(0, 3), max_size=2),
    )


TEXTS = [
    {"text": text, "stops": stops}
    for text, stops in [
        ("a b. c!", ["!", ". "]),
        ("abc", ["d"]),
        ("abc", []),
        ("", ["a"]),
        ("abc", ["bc", "abc"]),
        ("abcd", ["abcd", "bc"]),
        ("aab", ["ab"]),
        ("x\n\ny\n\nz", ["\n\n"]),
        ("stop", ["stop", "s"]),
        ("one two", ["two", "one two three"]),
        ("aXbYc", ["Y", "X"]),
        ("ABc", ["b"]),
        ("a.*c", [".*"]),
        ("xabc", ["abc", "bc"]),
    ]
]


def search_texts():
    from hypothesis import strategies as st

    stops = st.lists(st.text("ab", min_size=1, max_size=3), max_size=2)
    return st.fixed_dictionaries({"text": st.text("ab", max_size=4), "stops": stops})


def random_text(rng, size):
    return "".join(rng.choice(list("ab<"), size))


def hidden_texts(rng):
    """Texts with stops of two lengths in any order; in the last, one character completes both."""
    told = [
        {"text": random_text(rng, 9), "stops": [random_text(rng, int(n)) for n in rng.permutation([2, 3])]}
        for _ in range(3)
    ]
    stop = "<" + random_text(rng, 2)
    return [*told, {"text": "ab" + stop + "a", "stops": rng.permutation([stop, stop[1:]]).tolist()}]


PIECES = [
    {"held": held, "piece": piece, "stops": stops}
    for held, piece, stops in [
        ("", "one", ["<end>"]),
        ("", "one <", ["<end>"]),
        ("<", "en", ["<end>"]),
        ("<en", "d> two", ["<end>"]),
        ("<en", "ough", ["<end>"]),
        ("<", "<e", ["<end>"]),
        ("", "a b", []),
        ("", "", ["x"]),
        ("<e", "", ["<end>"]),
        ("", "abab", ["abac", "bb"]),
        ("", "xy", ["yz", "xyw"]),
        ("", "a\n", ["\n\n", "\nQ:"]),
        ("", "one<end>", ["<end>"]),
        ("aa", "a", ["aaab"]),
        ("<en", "ough<end> two", ["<end>"]),
        ("ab", "c.", ["abd", "."]),
    ]
]


def hidden_pieces(rng):
    """Pieces behind a beginning of a stop, which is held; some of them end it."""
    told = []
    for ends in (False, True, False, True):
        stop, other = "<" + random_text(rng, 3), random_text(rng, 3)
        held, piece = stop[: int(rng.integers(0, 3))], random_text(rng, int(rng.integers(1, 4)))
        told.append({"held": held, "piece": piece + (stop if ends else stop[:2]), "stops": [stop, "b" + other]})
    return told


def observe_stream(student, case):
    """Feed the pieces; return what is shown after each, and the stop."""
    held, shown = "", []
    for piece in case["pieces"]:
        text, held, stop = student.release(held, piece, case["stops"])
        shown.append(text)
        if stop is not None:
            return shown, stop
    return shown, None


def streams(*rows):
    return [dict(zip(("pieces", "stops"), row, strict=True)) for row in rows]


def show_stream(case):
    return f"called with the pieces {case['pieces']} with stops {case['stops']}"


STREAMS = streams(
    (["one", " two"], ["<end>"]),
    (["one <", "e", "n", "d", "> two"], ["<end>"]),
    (["one <e", "l", "se"], ["<end>"]),
    (list("ababac"), ["abac"]),
    (["a", "", "b"], ["ab", "c"]),
    (["x a", "bc"], ["bcd", "abe"]),
    (["stop", "ped"], ["stopped!", "top"]),
    (["one <e", "lse<end>"], ["<end>"]),
)


def cut_up(rng, text):
    """Random pieces of a text, or of what stands in a list."""
    places = sorted(rng.integers(0, len(text) + 1, 3).tolist())
    return [text[a:b] for a, b in pairwise([0, *places, len(text)])]


def hidden_streams(rng):
    return streams(*((cut_up(rng, random_text(rng, 12)), [random_text(rng, 3), random_text(rng, 4)]) for _ in range(4)))


def search_streams():
    from hypothesis import strategies as st

    text = st.text("ab", max_size=2)
    return st.fixed_dictionaries(
        {
            "pieces": st.lists(text, min_size=1, max_size=3),
            "stops": st.lists(st.text("ab", min_size=1, max_size=3), max_size=2),
        }
    )


def observe_decoding(student, case):
    """Feed the pieces, the last one as final; return the texts and what is held back at the end."""
    held, texts = b"", []
    for i, piece in enumerate(case["pieces"]):
        text, held = student.decode(held, piece, i + 1 == len(case["pieces"]))
        texts.append(text)
    return {"texts": texts, "held back at the end": held}


DECODINGS = [
    {"pieces": list(pieces)}
    for pieces in [
        (b"abc", b""),
        (b"a\xc3", b"\xa9b"),
        (b"\xf0", b"\x9f", b"\x98", b"\x80", b"!"),
        (b"a\xc3",),
        (b"\xc3", b"a"),
        (b"a\xff", b"b"),
        ("häß€".encode(), b"."),
        (b"x\xe2\x82", b"\xac\xc3", b"\xa9"),
        (b"", b"\xc3", b"", b"\xa9"),
    ]
]


def hidden_decodings(rng):
    """A text cut anywhere, and one cut between characters, one of them a byte that can be no character."""
    text = "".join(rng.choice(list("aé€😀"), 6)).encode()
    characters = [character.encode() for character in rng.choice(list("aé€😀"), 6)]
    characters[int(rng.integers(1, 5))] = bytes([int(rng.choice([0x80, 0xFF]))])
    return [
        {"pieces": [*cut_up(rng, text), b""]},
        {"pieces": [*(b"".join(some) for some in cut_up(rng, characters)), b""]},
    ]


def run_of(*steps):
    return {"steps": [dict(zip(("drafted", "accepted", "emitted"), step, strict=True)) for step in steps]}


RUNS = [
    run_of((4, 2, 3)),
    run_of((4, 4, 5)),
    run_of((4, 0, 1)),
    run_of((4, 4, 5), (4, 2, 3), (4, 0, 1)),
    run_of((5, 2, 3), (2, 2, 3), (0, 0, 1)),
    run_of((4, 3, 2)),
    run_of((4, 4, 5), (4, 4, 4)),
    run_of((3, 1, 2), (3, 1, 1)),
    run_of((0, 0, 1)),
    run_of(),
    run_of((1, 0, 1), (5, 3, 4)),
]


def hidden_metrics(rng):
    steps = []
    for _ in range(6):
        drafted = int(rng.integers(0, 6))
        accepted = int(rng.integers(0, drafted + 1))
        steps.append((drafted, accepted, accepted + 1))
    drafted, accepted, emitted = steps[-1]
    return [run_of(*steps[:-1], (drafted, accepted, int(rng.integers(1, emitted + 1))))]


def search_metrics():
    from hypothesis import strategies as st

    def steps_of(numbers):
        return run_of(*((d, min(a, d), min(a, d) + 1) for d, a in numbers))

    return st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3).map(steps_of)


def figures(names):
    """Observe some of the figures; the others have checks of their own."""

    def observe(student, case):
        told = student.metrics(case["steps"])
        if not isinstance(told, dict):
            return told
        return {name: told[name] for name in names if name in told}

    return observe


COUNTS = ("num_tokens", "num_steps", "num_draft_tokens", "num_accepted_tokens", "num_evaluated_tokens")

LATENCIES = [
    {"start": start, "arrivals": arrivals}
    for start, arrivals in [
        (1.0, [(1.5, 2), (2.0, 3), (3.0, 2)]),
        (0.0, [(0.25, 1), (0.5, 1), (1.0, 1)]),
        (2.0, [(2.5, 4)]),
        (2.0, []),
        (0.5, [(1.0, 1), (1.75, 3)]),
    ]
]


def hidden_latencies(rng):
    times = rng.uniform(1, 9, 5).round(3)
    return [
        {
            "start": 0.5,
            "arrivals": [(float(t), int(n)) for t, n in zip(sorted(times), rng.integers(1, 6, 5), strict=True)],
        }
    ]


COMPARISONS = [
    {"plain": plain, "speculative": speculative}
    for plain, speculative in [
        ([(2.0, 10)], [(1.0, 10)]),
        ([(2.0, 10), (4.0, 10)], [(1.0, 10), (2.0, 5)]),
        ([(2.0, 10), (6.0, 10), (2.2, 10)], [(1.0, 10), (2.5, 10), (1.6, 12)]),
        ([(2.0, 20), (2.0, 10), (2.0, 5), (3.0, 10)], [(2.0, 30), (1.0, 10), (1.0, 3), (2.0, 9)]),
        ([(1.0, 10), (3.0, 10), (2.0, 10), (2.5, 10)], [(1.0, 10), (2.0, 10), (1.0, 10), (2.3, 10)]),
    ]
]


def hidden_comparisons(rng):
    def some_runs():
        return [(float(s), int(n)) for s, n in zip(rng.uniform(1, 3, 5).round(3), rng.integers(20, 90, 5), strict=True)]

    return [{"plain": some_runs(), "speculative": some_runs()}]


SCREENS = [
    {"screens": screens}
    for screens in [
        ["the cat", "the car is", "the car is red"],
        ["a", "ab", "abc"],
        ["abc", "abc", "ab"],
        ["abc", "xbc"],
        ["ab", "", "ab"],
        [],
        ["one two", "one", "one two", "one three"],
    ]
]


def hidden_screens(rng):
    return [{"screens": [random_text(rng, int(n)) for n in rng.integers(0, 6, 6)]}]


CHECKS = [
    check("a4.q1.room", "num_drafts", with_drawn(ROOMS, hidden_rooms), hidden=hidden_rooms, search=search_rooms),
    check("a4.q2.block", "commit", with_drawn(BLOCKS, hidden_blocks), hidden=hidden_blocks, search=search_blocks),
    check("a4.q3.cut", "cut", with_drawn(TEXTS, hidden_texts), hidden=hidden_texts, search=search_texts),
    check("a4.q4.piece", "release", with_drawn(PIECES, hidden_pieces), hidden=hidden_pieces),
    Check(
        "a4.q4.stream",
        observe_stream,
        cases=with_drawn(STREAMS, hidden_streams),
        hidden=hidden_streams,
        search=search_streams,
        show=show_stream,
    ),
    Check("a4.q5.characters", observe_decoding, cases=with_drawn(DECODINGS, hidden_decodings), hidden=hidden_decodings),
    Check(
        "a4.q6.counts",
        figures(COUNTS),
        cases=with_drawn(RUNS, hidden_metrics),
        hidden=hidden_metrics,
        search=search_metrics,
    ),
    Check(
        "a4.q6.ratios",
        figures(RATIOS),
        cases=with_drawn(RUNS, hidden_metrics),
        hidden=hidden_metrics,
        search=search_metrics,
    ),
    Check(
        "a4.q6.positions",
        figures((POSITIONS,)),
        cases=with_drawn(RUNS, hidden_metrics),
        hidden=hidden_metrics,
        search=search_metrics,
    ),
    check("a4.q7.latency", "latency", with_drawn(LATENCIES, hidden_latencies), hidden=hidden_latencies),
    check("a4.q8.compare", "compare", with_drawn(COMPARISONS, hidden_comparisons), hidden=hidden_comparisons),
    check("a4.q9.retracted", "retracted", with_drawn(SCREENS, hidden_screens), hidden=hidden_screens),
]
