"""Public tests of A5: `python -m pytest test_a5.py`. What a plan costs, `minispec grade` says."""

import a5

STEP = {"copied": False, "drafted": 3, "accepted": 1, "confidences": [0.9, 0.7, 0.4]}


def is_a_plan(told):
    if "copy" in told:
        return all(isinstance(token, int) for token in told["copy"])
    return isinstance(told["gamma"], int) and told["gamma"] >= 0 and 0.0 <= told["stop_below"] <= 1.0


def test_the_first_step_has_a_plan():
    assert is_a_plan(a5.plan([5, 3, 8], [], 0.2, 0.1))


def test_later_steps_have_one():
    assert is_a_plan(a5.plan([5, 3, 8, 5, 3, 8, 5, 3], [STEP] * 32, 0.2, 0.1))
