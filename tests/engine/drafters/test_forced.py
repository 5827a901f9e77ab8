"""What a constraint leaves no choice about: found as the tokenizer cuts it, proposed for nothing, verified like all."""

from __future__ import annotations

import dataclasses
import json

import pytest

from minispec.engine.batching import Engine
from minispec.engine.drafters import ForcedDrafter, NoDrafter
from minispec.engine.generation import generate, stream
from minispec.engine.generation.events import Drafted
from minispec.engine.laws import Enumerator, outcome, total_variation
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Constraint, Sampler
from tests.engine.generation.tiny import PLAIN
from tests.engine.laws.forms import (
    EOS,
    LANGUAGE,
    MAX_TOKENS,
    PROMPT,
    REGEX,
    TEXTS,
    TOKENIZER,
    VOCABULARY,
    V,
    find_common,
    make_target,
    wanted_law,
)
from tests.engine.laws.space import EXACT
from tests.models import random_gpt2

pytest.importorskip("llguidance", reason="constraints need the extra `constraints`")


def test_what_is_forced_is_what_all_texts_go_on_with() -> None:
    """At every beginning, in any order of asking: nothing that some text lacks, and something where all agree."""
    constraint = Constraint(REGEX, "regex", TOKENIZER, {EOS}, V)
    beginnings = sorted({text[:end] for text in TEXTS for end in range(len(text) + 1)}, key=lambda text: text[::-1])
    found = {}
    for beginning in beginnings:
        forced = constraint.find_forced([VOCABULARY.index(letter.encode()) for letter in beginning])
        found[beginning] = b"".join(map(TOKENIZER.token_bytes, forced)).decode()
        assert find_common(beginning).startswith(found[beginning]), beginning
    for two in ("aa", "ab", "ba", "bb"):
        assert found[two] == "ab"  # the next "a" may be the beginning of the token "ab", so it is left open
        assert found[f"{two}a"] == "b"
    assert found[""] == found["a"] == found["b"] == found["aaaba"] == ""


@pytest.mark.parametrize("tokens", [[EOS], [0, 0, 0, 1, 0, EOS], [1, 1, 1]], ids=["end", "text and end", "outside"])
def test_nothing_is_forced_behind_the_end_or_outside_the_form(tokens: list[int]) -> None:
    assert Constraint(REGEX, "regex", TOKENIZER, {EOS}, V).find_forced(tokens) == []


def new_stream(draft: object, noise: object, **options: object):
    return stream(PROMPT, target=make_target(), draft=draft, noise=noise, regex=REGEX, max_tokens=MAX_TOKENS, **options)


def engine_law(draft: object, **options: object):
    settings = {"temperature": 1.0, "top_p": 1.0, **options}
    return Enumerator(lambda noise: outcome(new_stream(draft, noise, **settings).run())).law()


@pytest.mark.parametrize("gamma", [1, 2, 4])
@pytest.mark.parametrize("draft", ["forced:draft=none", "forced:draft=ngram", "forced:draft=suffix"])
@pytest.mark.parametrize("verify", ["rejection", "block", "match", "gumbel"])
def test_the_law_is_the_targets(verify: str, draft: str, gamma: int) -> None:
    assert total_variation(engine_law(draft, verify=verify, gamma=gamma), wanted_law()) < EXACT


def test_any_cut_of_what_is_forced_has_another_law() -> None:
    """The control: "ab" may be cut in two ways, and a mask that allowed both would be noticed."""
    assert total_variation(wanted_law(LANGUAGE), wanted_law()) > 0.1


SCHEMA = json.dumps(
    {"type": "object", "properties": {"name": {"enum": ["Tom", "Sam"]}, "apples": {"enum": [1, 2, 3]}},
     "required": ["name", "apples"], "additionalProperties": False}
)  # fmt: skip


def test_a_schemas_names_and_brackets_come_for_nothing() -> None:
    """The bundled target, greedy: the same text as plainly, in half the forwards or less."""
    plain, forced = (
        generate("Tom has apples: ", draft=draft, json_schema=SCHEMA, temperature=0.0, gamma=8, max_tokens=40)
        for draft in (None, "forced:draft=none")
    )
    assert forced.text == plain.text
    assert json.loads(forced.text).keys() == {"name", "apples"}
    assert 2 * forced.metrics.num_steps <= plain.metrics.num_steps
    assert forced.metrics.num_accepted_tokens == forced.metrics.num_draft_tokens > 0


def test_in_a_batch_the_text_is_the_same_and_no_page_is_left() -> None:
    target = dataclasses.replace(random_gpt2("numba", vocab_size=V, eos_token_id=EOS), tokenizer=TOKENIZER)
    small = random_gpt2("numba", seed=1, vocab_size=V, eos_token_id=EOS)
    options = {"regex": "(ab){2,9}", "max_tokens": 12, "seed": 3}
    for draft in ("forced:draft=ngram", "forced:draft=none"):
        engine = Engine(target, max_running=2, page_size=4)
        numbers = [engine.add(PROMPT, draft=draft, **options) for _ in range(2)]
        engine.run()
        alone = generate(PROMPT, target=target, draft=draft, **options)
        assert [engine.generation(number).token_ids for number in numbers] == [alone.token_ids] * 2
        assert engine.target.pool.num_free == engine.target.pool.num_pages
    inner = ForcedDrafter(_Sessioned(small), Sampler(PLAIN), V)
    assert inner.session == small


class _Sessioned(NoDrafter):
    def __init__(self, session: object) -> None:
        self.session = session


def test_without_a_constraint_the_inner_drafter_proposes() -> None:
    def drafts(draft: str) -> list[tuple[int, ...]]:
        run = stream([0, 1, 0, 1, 0, 1], target=make_target(), draft=draft, noise=PhiloxNoise(2), max_tokens=9)
        return [event.tokens for event in run if isinstance(event, Drafted)]

    assert drafts("forced:draft=ngram") == drafts("ngram")
    assert any(drafts("ngram"))
