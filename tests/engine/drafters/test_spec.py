"""``KIND[:key=value,...]``: what it means, and one clear line for what it cannot mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine import drafters
from minispec.engine.drafters import build_drafter, parse_draft
from minispec.engine.drafters.spec import EXAMPLES, KINDS
from minispec.engine.loading.bundled import DEFAULT_DRAFT
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler
from minispec.engine.verifiers import match
from minispec.errors import CorpusError, OptionError, VocabularyError
from tests.engine.generation.tiny import byte_tokenizer
from tests.models import random_gpt2

from .laws import PLAIN, drafted_run, plain_tokens, propose


@pytest.mark.parametrize(
    ("text", "kind", "options"),
    [
        ("ngram", "ngram", {"n": 3, "min_n": 1}),
        ("ngram:n=5,min_n=2", "ngram", {"n": 5, "min_n": 2}),
        ("suffix:min=2", "suffix", {"min": 2, "corpus": None}),
        ("suffix:corpus=a/b.txt", "suffix", {"min": 1, "corpus": "a/b.txt"}),
        ("layerskip", "layerskip", {"k": None}),
        ("layerskip:k=2", "layerskip", {"k": 2}),
        ("self", "self", {"dtype": "int8"}),
        ("self:dtype=bfloat16", "self", {"dtype": "bfloat16"}),
        ("bigram:text=some dir/a=b.txt,k=0.5", "bigram", {"text": "some dir/a=b.txt", "k": 0.5}),
        ("synthetic:alpha=0.7,cost=0.05", "synthetic", {"alpha": 0.7, "cost": 0.05}),
        ("cascade:draft=some/folder,by=suffix", "cascade", {"draft": "some/folder", "by": "suffix", "n": 3}),
        ("eagle", "eagle", {"head": None}),
        ("block:head=some/folder", "block", {"head": "some/folder"}),
    ],
)
def test_kinds_and_options(text, kind, options):
    spec = parse_draft(text)
    assert (spec.kind, spec.options, spec.text) == (kind, options, text)


@pytest.mark.parametrize(
    ("text", "name", "translate"),
    [
        ("draft-1.6m", "draft-1.6m", False),
        ("./ngram", "./ngram", False),
        ("owner/name", "owner/name", False),
        ("owner/name:translate=true", "owner/name", True),
        ("a folder: with colon", "a folder: with colon", False),
        ("c:/models/x:translate=false", "c:/models/x", False),
        ("engrams-model", "engrams-model", False),
        ("", "", False),
    ],
)
def test_anything_else_is_a_model(text, name, translate):
    spec = parse_draft(text)
    assert (spec.kind, spec.name, spec.options["translate"]) == ("model", name, translate)


@pytest.mark.parametrize(
    ("text", "problem", "way_out"),
    [
        ("ngram:n=0", "n is 0", "ngram:n=3"),
        ("ngram:n=2,min_n=3", "min_n is 3", "ngram:n=2"),
        ("ngram:n=three", "n is 'three'", "ngram:n=3"),
        ("ngram:k=3", "'k=3' is none of its keys", "ngram:n=3"),
        ("ngram:n", "'n' is none of its keys", "ngram:n=3"),
        ("ngram:n=3,n=4", "n is given twice", "ngram:n=3"),
        ("suffix:min=0", "min is 0", "suffix:min=1"),
        ("suffix:corpus=", "corpus is empty", "suffix:corpus=PATH"),
        ("layerskip:k=0", "k is 0", "layerskip:k=1"),
        ("layerskip:k=1.5", "k is '1.5'", "layerskip:k=2"),
        ("self:dtype=int4", "dtype is 'int4'", "self:dtype=int8"),
        ("unigram", "text is missing", "unigram:text=PATH"),
        ("bigram:text=x,k=0", "k is 0.0", "k=1"),
        ("synthetic:alpha=2", "alpha is 2.0", "alpha=0.7"),
        ("synthetic:alpha=nan", "alpha is 'nan'", "alpha=0.7"),
        ("synthetic:cost=-1", "cost is -1.0", "cost=0.05"),
        ("synthetic:alpha=", "alpha is ''", "alpha=0.7"),
        ("cascade:by=tree", "by is 'tree'", "cascade:by=ngram"),
        ("cascade:n=0", "n is 0", "ngram:n=3"),
        ("cascade:draft=ngram", "draft is 'ngram'", "cascade:draft=draft-1.6m"),
        ("eagle:head=", "head is empty", "eagle:head=FOLDER"),
        ("forced:draft=tree", "draft is 'tree'", "forced:draft=ngram"),
        ("tree:shape=4x", "shape is '4x'", "tree:shape=4x2x1"),
        ("tree:shape=4x0", "shape is '4x0'", "tree:shape=4x2x1"),
        ("tree:shape=999x999", "1024 nodes or more", "tree:shape=4x2x1"),
        ("tree:shape=sequoia,nodes=0", "nodes is 0", "nodes=16"),
        ("tree:shape=sequoia,depth=0", "depth is 0", "depth=4"),
        ("tree:shape=sequoia,acceptance=0.1/0.2", "0.1/0.2", "acceptance=0.6/0.15/0.08"),
        ("tree:shape=sequoia,acceptance=..", "acceptance is '..'", "tree:shape"),
        ("tree:siblings=all", "siblings is 'all'", "tree:shape=4x2x1"),
        ("model-x:k=3", "'k=3' is none of its keys", "translate=true"),
        ("owner/name:translate=yes", "translate is 'yes'", "translate=true"),
        ("ngram:n=" + "9" * 400, "n is", "ngram:n=3"),
        ("ngram:\n=\x1b[31m", "none of its keys", "ngram:n=3"),
    ],
)
def test_what_cannot_be_is_one_clear_line(text, problem, way_out):
    with pytest.raises(OptionError) as caught:
        parse_draft(text)
    message = str(caught.value)
    assert problem in message
    assert way_out in message
    assert message.isprintable()
    assert len(message) < 400


@given(st.text(max_size=40) | st.tuples(st.sampled_from(sorted(KINDS)), st.text(max_size=20)).map(":".join))
def test_any_text_is_a_spec_or_an_option_error(text):
    try:
        message, spec = "", parse_draft(text)
    except OptionError as error:
        message, spec = str(error), None
    assert message.isprintable()
    assert spec is None or spec.options.keys() == KINDS[spec.kind].keys()


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_each_kind_works(kind):
    assert parse_draft(EXAMPLES[kind]).kind == kind


class Named:
    """A model with a tokenizer, so that every kind can be built."""

    def __new__(cls, tokenizer, **fields):
        import dataclasses

        return dataclasses.replace(random_gpt2(**fields), tokenizer=tokenizer)


BYTES = byte_tokenizer([bytes([b]) for b in range(97)])
TARGET = Named(BYTES, n_layer=3)
SMALL = Named(BYTES, n_layer=1, seed=1)


def build(text, *, target=None, load=lambda name: SMALL, coupled=False):
    return build_drafter(text, target or TreeSession(TARGET), Sampler(PLAIN), load_model=load, coupled=coupled)


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "text"
    path.write_text("ABABCABAB", encoding="utf-8")
    return path


CASES = [
    ("ngram:n=2", "NgramDrafter"),
    ("suffix", "SuffixDrafter"),
    ("suffix:corpus={}", "SuffixDrafter"),
    ("layerskip:k=1", "LayerSkipDrafter"),
    ("self:dtype=float16", "SelfDrafter"),
    ("unigram:text={}", "TableDrafter"),
    ("bigram:text={}", "TableDrafter"),
    ("synthetic:alpha=0.5", "SyntheticDrafter"),
    ("cascade", "CascadeDrafter"),
    ("cascade:by=suffix,draft=x", "CascadeDrafter"),
    ("forced", "ForcedDrafter"),
    ("forced:draft=none", "ForcedDrafter"),
    ("forced:draft=suffix", "ForcedDrafter"),
    ("some/folder", "ModelDrafter"),
]


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize(("text", "kind"), CASES)
def test_every_chain_is_built_and_decodes(text, kind, coupled, text_file):
    """With the coupled rule the tokens are those of plain sampling, whatever drafts."""
    built = []

    def new_drafter(session):
        built.append(build(text.format(text_file), target=session, coupled=coupled))
        return built[0]

    rule = {"verify": match.verify} if coupled else {}
    generation = drafted_run(TARGET, new_drafter, [1, 2, 1, 2], PLAIN, 20, **rule)
    assert type(built[0]).__name__ == kind
    assert len(generation.token_ids) == 20
    if coupled:
        assert generation.token_ids == plain_tokens(TARGET, [1, 2, 1, 2], PLAIN, 20)


@pytest.mark.parametrize(
    "text", ["tree", "tree:shape=sequoia,nodes=9,depth=3,siblings=with", "tree:siblings=likeliest"]
)
def test_trees_are_built(text):
    drafter = build(text)
    assert isinstance(drafter, drafters.FixedTreeDrafter)
    assert parse_draft(text).is_tree
    draft = propose(drafter, [1, 2, 3], 9, PhiloxNoise(1))
    assert draft.parents is not None
    assert len(draft) > 4
    with pytest.raises(OptionError, match="Try --draft ngram"):
        build(text, coupled=True)


def test_models_are_loaded_by_name_and_their_vocabulary_is_checked():
    names = []

    def load(name):
        names.append(name)
        return SMALL

    for text in ("cascade", "tree:draft=x", "owner/name"):
        build(text, load=load)
    assert names == [DEFAULT_DRAFT, "x", "owner/name"]
    other = Named(byte_tokenizer([bytes([b + 1]) for b in range(97)]))
    for text in ("cascade", "tree", "owner/name"):
        with pytest.raises(VocabularyError):
            build(text, load=lambda name: other)
    assert isinstance(build("owner/name:translate=true", load=lambda name: other), drafters.TranslatingDrafter)


def test_kinds_without_a_model_load_none(text_file):
    for text, kind in CASES:
        if kind not in ("CascadeDrafter", "ModelDrafter") and text != "forced":
            build(text.format(text_file), load=lambda name: pytest.fail("loaded a model"))


def test_what_does_not_go_together_names_a_way_out(tmp_path):
    bare = TreeSession(TableModel(3))
    for text in ("unigram:text=x", "bigram:text=x", "owner/name:translate=true", "layerskip", "self"):
        with pytest.raises(OptionError, match="Try --draft ngram"):
            build(text, target=bare)
    with pytest.raises(OptionError, match="layerskip:k=1"):
        build("layerskip:k=3")
    with pytest.raises(CorpusError, match="cannot be read"):
        build(f"bigram:text={tmp_path / 'missing'}")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ngramm", "ngram"),
        ("ngrams", "ngram"),
        ("n-gram:n=3", "ngram"),
        ("sufix", "suffix"),
        ("bigrams", "bigram"),
        ("layer-skip", "layerskip"),
        ("cascades", "cascade"),
        ("trees", "tree"),
    ],
)
def test_a_misspelt_kind_is_not_looked_for_on_the_hub(text: str, meant: str) -> None:
    with pytest.raises(OptionError, match=f"Did you mean '{meant}'") as caught:
        parse_draft(text)
    assert "layerskip, self, unigram" in str(caught.value)


def test_a_folder_that_is_called_nearly_like_a_kind_is_a_model(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ngramm").mkdir()
    for name in ("ngramm", "./sufix", "someone/trees", "gpt2", "distilgpt2"):
        assert parse_draft(name).kind == "model"
