"""Values survive the trip; nothing else makes it; comparisons say what differs and are not fooled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispec.course.grading import Close, LocalSubject, Oracle, Refusal, StudentError, exact_law
from minispec.course.grading.host import NotAValueError, decode, dumps, encode, loads

SCALARS = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text() | st.binary()
KEYS = st.integers(-(2**60) + 1, 2**60 - 1)
ARRAYS = hnp.arrays(
    st.sampled_from([np.bool_, np.int32, np.uint8, np.float32, np.float64]), hnp.array_shapes(min_dims=0)
)
VALUES = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | KEYS, inner, max_size=3),
    max_leaves=8,
)


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float) and math.isnan(a):
        return isinstance(b, float) and math.isnan(b)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert same(value, decode(loads(dumps(encode(value)))))


@pytest.mark.parametrize(
    "thing",
    [object(), lambda: 1, {1.5: 2}, {(1,): 2}, np.array([object()]), {2**61: 1}, 10**200, {1, 2}, 1j, type],
)
def test_what_is_no_value_is_refused(thing: object) -> None:
    with pytest.raises(NotAValueError):
        encode(thing)


def test_depth_ends_somewhere() -> None:
    value: list[object] = []
    for _ in range(10_000):
        value = [value]
    with pytest.raises(NotAValueError):
        encode(value)
    with pytest.raises(NotAValueError):
        loads(b"[" * 100_000 + b"]" * 100_000)


@pytest.mark.parametrize(
    "tree",
    [
        {"@": "array", "dtype": "|O", "shape": [1], "data": ""},
        {"@": "array", "dtype": "<f8", "shape": [10**12], "data": ""},
        {"@": "array", "dtype": "<f8", "shape": [-1], "data": "AAAA"},
        {"@": "array", "dtype": "<f8", "shape": [True], "data": "AAAAAAAAAAA="},
        {"@": "dict", "items": [[1.5, 2]]},
        {"@": "handle", "id": 0},
        {"@": ["x"]},
        {},
    ],
)
def test_malformed_values_are_refused(tree: object) -> None:
    with pytest.raises(NotAValueError):
        decode(tree)


@pytest.mark.parametrize("message", [b"NaN", b"[Infinity]", b"\xff", b"", b"1" * 5000, b'{"a":1}x'])
def test_malformed_messages_are_refused(message: bytes) -> None:
    with pytest.raises(NotAValueError):
        loads(message)


@given(VALUES)
def test_a_value_equals_itself(value: object) -> None:
    assert Close()(value, value) is None


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (True, 1), (2, True), (1, False), (1.0, True), (None, 0), ("1", 1), (math.nan, 1.0), ([1], [1, 2]),
        (np.ones(2), np.ones((1, 2))),
        (np.ones(()), np.ones(3)), (np.array([1.5]), np.array([1])), (np.array([1 + 1e-12]), np.array([1])),
        (np.array([True]), np.array([1])), (np.array([1.0]), np.array([True])), (np.array(2), True),
        (np.array([np.nan]), np.array([0.5])),
        ({"a": 1}, {"a": 1, "b": 2}), ({"a": 1, "b": 2}, {"a": 1}), ([[1], [2, 3]], [[1], [2, 4]]), (1, 1.0 + 1e-6),
        ({"law": {"a": 1.0}, "calls": 3}, {"law": {"a": 1.0}, "calls": 2}), ({"law": {"a": 1.0}}, {"law": {"b": 1.0}}),
        ({"law": {}, "broken": "x"}, {"law": {"a": 1.0}}), (1.5, [1.5]), ([1.5], 1.5), (1e300, 1.0), (2.5, 2),
    ],
)  # fmt: skip
def test_differences_are_seen(observed: object, expected: object) -> None:
    assert Close()(observed, expected)


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        ((1, 2), [1, 2]),
        (np.array([1, 2]), [1, 2]),
        (1, 1.0),
        (2.0, 2),
        (np.array([2.0, 3.0]), (2, 3)),
        (1, True),
        (0, False),
        (np.array(1), True),
        (math.nan, math.nan),
        (np.float32(0.5), 0.5),
        (math.inf, math.inf),
        ([], []),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        ({"a": [1.0 + 1e-13]}, {"a": [1.0]}),
    ],
)
def test_forms_of_one_value_are_alike(observed: object, expected: object) -> None:
    assert Close()(observed, expected) is None


ASKS = """
def law(noise):
    return [noise.bernoulli(0.25), noise.categorical([0.5, 0.5])]
def clock(noise):
    global n
    n = globals().get("n", 0) + 1
    return noise.bernoulli(0.5 if n < 2 else 0.25)
def bad(noise):
    return noise.categorical([0.5, 0.6])
def ask(oracle, x):
    return oracle(x)
def peek(oracle):
    return oracle.secret()
"""


def test_exact_laws_come_from_the_code_under_test() -> None:
    subject = LocalSubject(ASKS, "asks")
    found = exact_law(subject.law)["law"]
    assert found == {"[False, 0]": 0.375, "[False, 1]": 0.375, "[True, 0]": 0.125, "[True, 1]": 0.125}


def test_what_does_not_depend_on_its_noise_alone_has_no_law() -> None:
    found = exact_law(LocalSubject(ASKS, "asks").clock)
    assert "does not do the same" in found["broken"]


def test_no_distribution_no_answer() -> None:
    with pytest.raises(StudentError, match="no distribution"):
        exact_law(LocalSubject(ASKS, "asks").bad)


def test_calls_are_counted_where_they_are_answered() -> None:
    subject, oracle = LocalSubject(ASKS, "asks"), Oracle(lambda x: 2 * x, max_calls=2)
    assert [subject.ask(oracle, x) for x in (1, 2)] == [2, 4]
    with pytest.raises(StudentError, match="more than 2 calls"):
        subject.ask(oracle, 3)
    assert oracle.num_calls == 3


def test_only_what_is_lent_can_be_called() -> None:
    class Model:
        def secret(self) -> int:
            raise AssertionError("not lent")

    with pytest.raises(StudentError, match="no attribute"):
        LocalSubject(ASKS, "asks").peek(Oracle(Model(), methods=("score",)))
    with pytest.raises(Refusal, match="no method 'secret'"):
        Oracle(Model(), methods=("score",)).answer("secret", [], {})


WATCHED = """
def part(x, weight=1):
    return x
def whole(*parts):
    return [part(one) for one in parts] + [part(x=[1.0, 2.0])]
def forge():
    for cell in part.__closure__:
        if cell.cell_contents.__class__.__name__ != "function":
            cell.cell_contents(-100)
"""


def test_what_passes_through_a_function_is_counted_until_the_next_case() -> None:
    subject = LocalSubject(WATCHED, "watched")
    counts = subject.watch("part", "missing")
    assert len(subject.whole(np.ones((2, 3)), 4)) == 3
    assert counts == {"part": 6 + 1 + 2, "missing": 0}
    subject.part([])
    subject.part(np.zeros(5))
    subject.part(3, np.zeros(50))  # the first argument alone is counted
    assert counts == {"part": 15, "missing": 0}
    subject.forget()
    subject.whole(1)
    assert counts == {"part": 15, "missing": 0}


def test_a_watched_function_of_ours_is_put_back() -> None:
    subject = LocalSubject(WATCHED, "watched")
    subject.replace({"part": Oracle(lambda x: [x, "ours"])})
    counts = subject.watch("part")
    assert subject.part(7) == [7, "ours"]
    subject.forget()
    assert subject.part(7) == [7, "ours"]
    assert counts == {"part": 1}


def test_a_count_cannot_be_lowered() -> None:
    subject = LocalSubject(WATCHED, "watched")
    counts = subject.watch("part")
    with pytest.raises(StudentError, match="whole numbers from 0 on"):
        subject.forge()
    assert counts == {"part": 0}
