"""Public tests of A4: `python -m pytest test_a4.py`. The grader asks more."""

import a4
import pytest


def test_room():
    assert a4.num_drafts(4, 97, 100, 10, 1024) == 2
    assert a4.num_drafts(4, 99, 100, 10, 1024) == 0


@pytest.mark.parametrize(
    ("block", "before", "kept", "reason"),
    [([5, 7, 2, 9], 0, [5, 7, 2], "eos"), ([5, 7, 2], 8, [5, 7], "length"), ([5], 0, [5], None)],
)
def test_blocks(block, before, kept, reason):
    found, why = a4.commit(block, before, 10, [2])
    assert (list(found), why) == (kept, reason)


def test_the_first_stop_to_be_completed():
    assert tuple(a4.cut("abcd", ["abcd", "bc"])) == ("a", "bc")
    assert tuple(a4.cut("abc", ["bc", "abc"])) == ("", "abc")


def test_what_may_be_shown():
    held, shown = "", []
    for piece in ("one <", "e", "lse <en", "d> two"):
        text, held, stop = a4.release(held, piece, ["<end>"])
        shown.append(text)
    assert (shown, held, stop) == (["one ", "", "<else ", ""], "", "<end>")


def test_characters():
    text, held = a4.decode(b"", b"a\xc3", False)
    assert (text, held) == ("a", b"\xc3")
    assert tuple(a4.decode(held, b"\xa9", False)) == ("é", b"")
    assert tuple(a4.decode(held, b"", True)) == ("\ufffd", b"")


def test_figures():
    steps = [{"drafted": 4, "accepted": accepted, "emitted": accepted + 1} for accepted in (4, 2, 0)]
    told = a4.metrics(steps)
    counts = (told["num_tokens"], told["num_draft_tokens"], told["num_accepted_tokens"], told["num_evaluated_tokens"])
    assert counts == (9, 12, 6, 8)
    assert list(told["num_accepted_tokens_per_pos"]) == [2, 2, 1, 1]
    assert told["alpha"] == pytest.approx(6 / 8)
    assert told["draft_acceptance_rate"] == pytest.approx(6 / 12)
    assert told["mean_acceptance_length"] == pytest.approx(3.0)


def test_latency():
    assert tuple(a4.latency(1.0, [(1.5, 2), (2.0, 3), (3.0, 2)])) == pytest.approx((0.5, 0.3))


def test_speedup():
    assert tuple(a4.compare([(2.0, 10), (4.0, 10)], [(1.0, 10), (2.0, 5)])) == pytest.approx((1.5, 1.0, 2.0))


def test_retractions():
    assert a4.retracted(["the cat", "the car is", "the car is red"]) == 1
