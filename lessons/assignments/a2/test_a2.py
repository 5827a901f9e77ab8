"""Public tests of A2: `python -m pytest test_a2.py`. The grader asks more.

`law` replays a function over every answer of its noise and adds up the probabilities: with it you can test anything.
"""

import a2
import numpy as np
import pytest

P, Q = np.array([0.2, 0.5, 0.3]), np.array([0.5, 0.25, 0.25])


class Script:
    """Noise that gives the answers of a script, then always the first possible one."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def bernoulli(self, prob):
        return bool(self.answer((1, 0), (min(1.0, max(0.0, prob)), 1.0 - min(1.0, max(0.0, prob)))))

    def categorical(self, probs):
        assert np.isclose(np.sum(probs), 1.0), f"{probs} is no distribution"
        return self.answer(range(len(probs)), probs)

    def answer(self, answers, probs):
        possible = [(answer, float(prob)) for answer, prob in zip(answers, probs, strict=True) if prob > 0.0]
        place = len(self.asked)
        chosen = self.answers[place] if place < len(self.answers) else 0
        self.asked.append((chosen, possible))
        return possible[chosen][0]


def law(run):
    """Return the probability of each outcome of run(noise)."""
    total, script = {}, []
    while script is not None:
        noise = Script(script)
        outcome = run(noise)
        prob = float(np.prod([possible[chosen][1] for chosen, possible in noise.asked]))
        total[outcome] = total.get(outcome, 0.0) + prob
        script = None  # change the last answer that has an alternative
        for place in reversed(range(len(noise.asked))):
            chosen, possible = noise.asked[place]
            if chosen + 1 < len(possible):
                script = [answer for answer, _ in noise.asked[:place]] + [chosen + 1]
                break
    return total


class Session:
    """A model over two tokens whose law depends on all that its cache holds."""

    def __init__(self, seed):
        self.seed, self.tokens, self.num_forwards = seed, [], 0

    def next_probs(self, text):
        prob = np.random.default_rng([self.seed, len(text), *text]).uniform(0.1, 0.9)
        return np.array([prob, 1.0 - prob])

    def score(self, tokens):
        if not len(tokens):
            raise ValueError("score needs at least one token")
        self.num_forwards += 1
        rows = []
        for token in tokens:
            self.tokens.append(int(token))
            rows.append(self.next_probs(self.tokens))
        return np.array(rows)

    def rollback(self, length):
        del self.tokens[length:]

    def length(self):
        return len(self.tokens)


def test_accept():
    assert a2.accept(P, Q, 0, 0.39)
    assert not a2.accept(P, Q, 0, 0.41)
    assert a2.accept(P, Q, 1, 0.99)


def test_residual():
    np.testing.assert_allclose(a2.residual(P, Q), [0.0, 5 / 6, 1 / 6])


def test_residual_of_equal_laws():
    np.testing.assert_allclose(a2.residual(P, P), P)


def test_sample_is_one_of_the_tokens_that_can_be():
    for u in (0.0, 0.3, 0.999999):
        assert a2.sample(np.array([0.0, 0.5, 0.5]), np.array([u, u, u])) in (1, 2)


def test_draft_and_verify_together_have_the_targets_law():
    def first_token(noise):
        draft = noise.categorical(Q)
        accepted, token = a2.verify([draft], Q[None], np.array([P, P]), noise)
        return draft if accepted else token

    found = law(first_token)
    assert [found[token] for token in range(3)] == pytest.approx(P.tolist())


def test_the_bonus():
    rows = np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.9]])
    assert law(lambda noise: a2.verify([0, 1], rows[:2], rows, noise)) == pytest.approx({(2, 0): 0.1, (2, 1): 0.9})


def test_propose_feeds_what_is_missing():
    session = Session(1)
    session.tokens = [1]
    drafted, rows = a2.propose(session, [1, 0, 0], 2, Script([]))
    assert session.num_forwards == 2
    np.testing.assert_allclose(rows[0], session.next_probs([1, 0, 0]))
    np.testing.assert_allclose(rows[1], session.next_probs([1, 0, 0, drafted[0]]))


@pytest.mark.parametrize("gamma", [0, 1, 2])
def test_the_loop_has_the_targets_law(gamma):
    target = Session(1)

    def run(noise):
        return tuple(map(int, a2.speculative(Session(1), Session(2), [1], 3, gamma, noise)))

    found = law(run)
    for text, prob in found.items():
        right = 1.0
        for place, token in enumerate(text):
            right *= target.next_probs([1, *text[:place]])[token]
        assert prob == pytest.approx(right), text
    assert sum(found.values()) == pytest.approx(1.0)


def test_a_perfect_draft_saves_forwards():
    target = Session(1)
    a2.speculative(target, Session(1), [1], 6, 2, Script([]))
    assert target.num_forwards == 2


def test_eos_ends_the_text():
    text = a2.speculative(Session(1), Session(1), [1], 6, 3, Script([]), eos=0)
    assert 0 not in text[:-1]
