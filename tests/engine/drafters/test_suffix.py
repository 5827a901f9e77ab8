"""The suffix automaton against a search over all suffixes."""

from __future__ import annotations

import copy
from itertools import product
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.batching import Engine
from minispec.engine.drafters import SuffixDrafter, suffix
from minispec.engine.drafters.suffix import SuffixAutomaton, index_tokens
from minispec.engine.generation import generate
from minispec.engine.model.toy import TableModel
from minispec.errors import CorpusError, OptionError
from tests.engine.laws.space import TOKENIZER, with_tokenizer

from .laws import propose, while_true
from .test_ngram import slow_twin

TEXTS = st.lists(st.integers(0, 2), max_size=24)


def slow_match(tokens):
    """Length of the longest suffix that also ends earlier, and where it does last."""
    for size in range(len(tokens) - 1, 0, -1):
        for end in range(len(tokens) - 2, size - 2, -1):
            if tokens[end - size + 1 : end + 1] == tokens[len(tokens) - size :]:
                return size, end
    return 0, -1


def snapshot(automaton):
    return (automaton.tokens, automaton.match, automaton._length, automaton._link, automaton._next, automaton._recent)


@given(TEXTS)
def test_match_equals_the_slow_twin_at_every_length(tokens):
    automaton = SuffixAutomaton()
    for i, token in enumerate(tokens):
        automaton.push(token)
        length, end = slow_match(tokens[: i + 1])
        assert automaton.match[i][0] == length
        assert length == 0 or automaton.match[i][1] == end


@given(TEXTS)
def test_it_holds_exactly_the_substrings(tokens):
    automaton = SuffixAutomaton()
    for token in tokens:
        automaton.push(token)
    found, paths = set(), [((), 0)]
    while paths:
        word, state = paths.pop()
        found.add(word)
        paths += [((*word, token), follower) for token, follower in automaton._next[state].items()]
    assert found == {tuple(tokens[i:j]) for i in range(len(tokens) + 1) for j in range(i, len(tokens) + 1)}
    assert len(automaton._length) <= max(2, 2 * len(tokens))


@given(TEXTS, st.integers(0, 4), st.integers(1, 3))
def test_draft_equals_the_slow_twin(tokens, gamma, min_length):
    """It is the n-gram lookup without a bound on n."""
    draft = propose(SuffixDrafter(3, min_length), tokens, gamma)
    assert draft.tokens == slow_twin(tokens, gamma, max(min_length, len(tokens)), min_length)


@given(st.lists(st.tuples(TEXTS, st.integers(0, 24)), max_size=6))
def test_rollbacks_at_any_point_leave_no_trace(rounds):
    drafter, text = SuffixDrafter(3), []
    for more, length in rounds:
        text = [*text, *more]
        assert propose(drafter, text, 3).tokens == slow_twin(text, 3, max(1, len(text)), 1)
        text = text[:length]
        drafter.rollback(length)
    fresh = SuffixDrafter(3)
    fresh.prefill(text)
    drafter.prefill(text)
    assert snapshot(drafter.automaton) == snapshot(fresh.automaton)


def slow_draft(corpus, text, gamma, min_length):
    """What the longest end of the text that occurs in either is followed by there, by looking everywhere."""
    own, _ = slow_match(text)
    there, behind = 0, 0
    for size in range(len(text), 0, -1):
        ends = [i + size for i in range(len(corpus) - size + 1) if corpus[i : i + size] == text[len(text) - size :]]
        if ends:
            there, behind = size, ends[-1]
            break
    if there > own and behind < len(corpus) and gamma:
        return tuple(corpus[behind : behind + gamma]) if there >= min_length else ()
    return slow_twin(text, gamma, max(min_length, own, 1), min_length) if own >= min_length else ()


@given(TEXTS, st.lists(st.tuples(TEXTS, st.integers(0, 24)), max_size=4), st.integers(0, 4), st.integers(1, 3))
def test_a_corpus_is_searched_beside_the_text(corpus, rounds, gamma, min_length):
    """Also after rollbacks; and a corpus is not changed by who reads it."""
    index = index_tokens(corpus)
    before = copy.deepcopy(snapshot(index))
    drafter, other, text = SuffixDrafter(3, min_length, index), SuffixDrafter(3, 1, index), []
    for more, length in rounds:
        text = [*text, *more]
        propose(other, [*more, 1], 3)
        assert propose(drafter, text, gamma).tokens == slow_draft(corpus, text, gamma, min_length)
        text = text[:length]
        drafter.rollback(length)
    assert snapshot(index) == before


def test_a_corpus_is_worth_something_at_once():
    corpus = [0, 1, 2, 3, 4, 0, 1]
    drafter = SuffixDrafter(6, 1, index_tokens(corpus))
    assert propose(drafter, [5, 1], 9).tokens == ()  # it was last where the corpus ends
    assert propose(drafter, [5, 1, 2], 2).tokens == (3, 4)
    assert propose(drafter, [5, 2, 4, 2], 2).tokens == (4, 2)  # as long a match in the text itself comes first
    assert propose(drafter, [2, 5, 1, 2], 2).tokens == (3, 4)  # a longer one in the corpus comes before that


def test_an_interruption_in_the_middle_leaves_no_trace():
    """Ctrl-C between the two automata: what is half changed is made again."""
    index = index_tokens([0, 1, 2, 0])
    drafter = SuffixDrafter(3, 1, index)
    with (
        mock.patch.object(SuffixAutomaton, "follow", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        drafter.prefill([2, 0, 1])
    assert propose(drafter, [2, 0, 1], 2).tokens == (2, 0)
    text, index = [2, 0, 1, 1, 0, 1], index_tokens([0, 1, 2, 0, 2, 2, 1, 0, 0, 1, 2, 1, 2, 0, 0, 1, 1, 0, 2, 2])
    drafter = SuffixDrafter(3, 1, index)
    for length, token in product(range(5, -1, -1), range(3)):
        drafter.prefill(text[:4])
        with (
            mock.patch.object(SuffixAutomaton, "follow", side_effect=KeyboardInterrupt),
            pytest.raises(KeyboardInterrupt),
        ):
            drafter.prefill(text[:5])
        drafter.prefill(text)
        drafter.rollback(length)
        changed = [*text[:length], token]
        assert propose(drafter, changed, 2).tokens == propose(SuffixDrafter(3, 1, index), changed, 2).tokens
        drafter.rollback(0)


def test_a_corpus_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(suffix, "LARGEST_CORPUS", 3)
    assert index_tokens([1, 2, 1]).tokens == [1, 2, 1]
    with pytest.raises(CorpusError, match="at most 3"):
        index_tokens([1, 2, 1, 2])


def test_edges():
    assert propose(SuffixDrafter(4), [], 3).probs.shape == (0, 4)
    assert propose(SuffixDrafter(4), [2], 3).tokens == ()
    assert propose(SuffixDrafter(1), [0, 0], 3).tokens == (0, 0, 0)
    assert propose(SuffixDrafter(2), [0, 1, 0], 0).tokens == ()
    assert propose(SuffixDrafter(2), [0, 1, 0], 3, more=while_true(lambda row: row[0] == 0.0)).tokens == (1,)
    with pytest.raises(OptionError, match="suffix:min=1"):
        SuffixDrafter(4, 0)


def test_requests_share_an_index_and_each_has_the_text_it_has_alone(tmp_path):
    """In any company; and the index is made once, as long as the file says the same."""
    path = tmp_path / "corpus.txt"
    path.write_text("abbaabab" * 4, encoding="utf-8")
    target = with_tokenizer(TableModel(3, 64, seed=1), TOKENIZER)
    options = {"draft": f"suffix:corpus={path}", "temperature": 0.7, "gamma": 3, "max_tokens": 24}
    prompts = [[0, 1], [1, 1, 0], [0], [0, 1]]
    alone = [generate(prompt, target=target, seed=i, **options) for i, prompt in enumerate(prompts)]
    assert any("accepted" in one.sources for one in alone)
    assert alone[0].sources != generate(prompts[0], target=target, seed=0, **options | {"draft": "suffix"}).sources
    with mock.patch.object(suffix, "index_tokens", side_effect=AssertionError("it is there already")):
        for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
            engine = Engine(target, max_running=2)
            numbers = {i: engine.add(prompts[i], seed=i, **options) for i in order}
            engine.run()
            for i, number in numbers.items():
                made = engine.generation(number)
                assert (made.token_ids, made.sources) == (alone[i].token_ids, alone[i].sources)
        path.write_text("bb", encoding="utf-8")
        with pytest.raises(AssertionError):
            generate([0], target=target, **options)


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "cannot be read"), (b"", "is empty"), (b"\xff\xfe", "is not UTF-8")]
)
def test_a_corpus_that_is_none_is_one_clear_line(content, problem, tmp_path):
    path = tmp_path / "corpus.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CorpusError, match=problem) as caught:
        generate([0], target=with_tokenizer(TableModel(3), TOKENIZER), draft=f"suffix:corpus={path}")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_corpus_needs_a_tokenizer(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("ab", encoding="utf-8")
    with pytest.raises(OptionError, match="has no tokenizer"):
        generate([0], target=TableModel(3), draft=f"suffix:corpus={path}")
