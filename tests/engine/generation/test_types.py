"""What Python lets one write by mistake: refused in one line, before anything is loaded or computed."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from minispec import Engine, generate, generate_many, load_model, stream
from minispec.engine.generation.options import Options, RequestOptions
from minispec.engine.model.toy import TableModel
from minispec.errors import InputError, OptionError, PromptError
from tests.tiny import write_model

TARGET, DRAFT = TableModel(4), TableModel(4, seed=1)


@pytest.mark.parametrize("prompt", [[1.9, 2.0], [True], b"Once", ["1"], [float("nan")], None, 5, [None], [[1]]])
def test_prompts_that_are_neither_text_nor_token_ids(prompt):
    for draft in (None, DRAFT):
        with pytest.raises(PromptError, match=r"^(the prompt|a token id of the prompt) is .*; it must be a [^\n]+$"):
            generate(prompt, target=TARGET, draft=draft, max_tokens=3)


@pytest.mark.parametrize(
    "options",
    [
        {name: value}
        for name in ("temperature", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty")
        for value in ("0.5", None, True, [0.5])
    ]
    + [
        {name: value}
        for name in ("max_tokens", "seed", "top_k", "min_tokens")
        for value in (1.5, None, True, "3", float("nan"))
    ]
    + [{"gamma": value} for value in (2.0, None, [3])]
    + [{"verify": value} for value in (3, None)],
    ids=str,
)
def test_options_of_other_types(options):
    (name,) = options
    with pytest.raises(OptionError, match=r"^[a-z-]+ is .*; it must be [^\n]+$") as caught:
        generate([0], target=TARGET, draft=DRAFT, **options)
    assert str(caught.value).startswith(name.replace("_", "-"))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: generate([0], target=None), "target is None; it must be a name, a folder or a loaded model"),
        (
            lambda: generate([0], target=TARGET, draft=5),
            "draft is 5; it must be a name, a folder, a loaded model, a dra",
        ),
        (lambda: Engine(target=[1]), "target is [1]; it must be"),
        (lambda: Engine(TARGET).add([0], draft=5), "draft is 5; it must be"),
        (lambda: load_model(None), "the model is None; it must be a folder, a bundled or a hub name"),
        (lambda: generate_many(None), "prompts is None; it must be a list of texts"),
        (lambda: generate_many("a"), "prompts is 'a'; it must be a list of texts. Put one text into brackets"),
        (
            lambda: generate([0], tempreature=1.0),
            "tempreature is no option of a generation. Did you mean 'temperature'?",
        ),
        (lambda: Engine(TARGET).add([0], sead=1), "sead is no option of a generation. Did you mean 'seed'?"),
        (lambda: generate([0], qqq=1), "qqq is no option of a generation. help(minispec.generate) lists them all"),
    ],
)
def test_what_cannot_be_is_one_line(call, words):
    with pytest.raises(InputError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_least_length_beyond_the_most():
    with pytest.raises(
        OptionError, match=r"min-tokens is 5 and max-tokens 3; the first must be at most the second\. Try"
    ):
        generate([0], target=TARGET, draft=DRAFT, min_tokens=5, max_tokens=3)


def test_numpys_numbers_are_numbers():
    plain = {"temperature": 0.5, "max_tokens": 6, "seed": 3, "gamma": 2, "top_p": 0.9, "top_k": 3}
    kinds = {"temperature": np.float32, "max_tokens": np.int64, "seed": np.uint64, "gamma": np.int32}
    numpys = {name: kinds.get(name, type(value))(value) for name, value in plain.items()}
    made = [generate(prompt, target=TARGET, draft=DRAFT, **options).token_ids
            for prompt in ([0, 1], np.array([0, 1])) for options in (plain, numpys)]  # fmt: skip
    assert len(set(made)) == 1


def test_models_by_path_and_a_draft_that_is_none(tmp_path: Path):
    target, draft = (write_model(tmp_path / str(seed), seed=seed) for seed in (1, 2))
    named = generate("the", target=str(target), draft=str(draft), backend="numpy", max_tokens=4, seed=1)
    assert (
        generate("the", target=target, draft=draft, backend="numpy", max_tokens=4, seed=1).token_ids == named.token_ids
    )
    assert named.metrics.num_draft_tokens
    plain = generate("the", target=target, draft="none", backend="numpy", max_tokens=4, seed=1)
    assert plain.options["draft"] is None
    engine = Engine(target, backend="numpy")
    for each in (draft, str(draft), "none", None):
        engine.add("the", draft=each, gamma=3, max_tokens=4, seed=1)
    made = engine.run()
    assert made[0].token_ids == made[1].token_ids == named.token_ids
    assert made[2].token_ids == made[3].token_ids == plain.token_ids
    with pytest.raises(InputError):
        generate("the", target="none", draft=None)


@pytest.mark.parametrize("function", [generate, stream, generate_many, Engine.add], ids=lambda each: each.__name__)
def test_help_and_completion_know_every_option_with_its_default_and_meaning(function):
    assert set(RequestOptions.__annotations__) == {each.name for each in fields(Options)}
    shown = inspect.signature(function).parameters
    for each in fields(Options):
        assert shown[each.name].default == each.default, each.name
        assert f"{each.name} : " in function.__doc__
        assert each.metadata["help"] in " ".join(function.__doc__.split())
