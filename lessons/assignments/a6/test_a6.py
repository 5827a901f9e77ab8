"""Public tests of A6: `python -m pytest test_a6.py`. The grader asks more."""

import a6
import pytest


def request(number, prompt, made=0, fed=0, gamma=0):
    return {"id": number, "prompt": prompt, "made": made, "fed": fed, "gamma": gamma}


@pytest.mark.parametrize(("slots", "found"), [(0, 0), (15, 1), (16, 1), (17, 2)])
def test_pages(slots, found):
    assert a6.pages(slots, 16) == found


@pytest.mark.parametrize(("free", "admitted"), [(9, [4, 7]), (3, [4]), (1, [])])
def test_first_come_first_served(free, admitted):
    assert list(a6.admit([request(7, 5), request(4, 20)], [], free, 4, 16)) == admitted


def test_who_was_set_back_is_still_first():
    assert list(a6.admit([request(7, 5), request(4, 20, made=9)], [request(1, 5, 2, 6)], 9, 2, 16)) == [4]


def test_decoding_first_then_prompts():
    running = [request(0, 9, 3, 11, gamma=4), request(2, 100), request(1, 100, 0, 64)]
    assert a6.rows(running, 64, 64) == {0: 5, 1: 35, 2: 24}
    assert a6.rows(running, 4, 64) == {0: 5, 1: 1}


def test_who_was_set_back_is_fed_all_again():
    assert a6.rows([request(0, 10, 20)], 64, 64) == {0: 29}


def test_the_youngest_makes_room():
    assert list(a6.preempt({3: 5, 8: 2, 5: 4}, {3: 1, 8: 1}, 2)) == []
    assert list(a6.preempt({3: 5, 8: 2, 5: 4}, {3: 1, 5: 1}, 1)) == [8]
    assert list(a6.preempt({6: 3}, {6: 1}, 0)) == []


def test_a_step():
    state = {
        "waiting": [request(1, 20)],
        "running": [request(0, 10, 3, 12)],
        "free": 9,
        "max_running": 8,
        "max_rows": 256,
        "chunk": 64,
        "page_size": 16,
    }
    plan = a6.schedule(state)
    assert list(plan["admitted"]) == [1]
    assert list(plan["preempted"]) == []
    assert plan["rows"] == {0: 1, 1: 19}


def test_how_many_to_draft():
    assert a6.best_gamma([0.8], [1.0] * 40, 0.1, 8) == 6
    assert a6.best_gamma([0.8] * 8, [1 + 0.1 * m for m in range(80)], 0.1, 8) == 2
