"""What is made of a model, or loaded beside it, keeps keys and values in the format that was asked for."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from rich.console import Console

from minispec import load_model
from minispec.cli import pair as pair_module
from minispec.cli.pair import Pair
from minispec.engine.batching import models as models_module
from minispec.engine.drafters.heads.load import load_head
from minispec.engine.generation import api
from minispec.engine.generation.options import Options
from minispec.engine.model.quantize import round_model
from minispec.engine.model.trim import trim_words
from minispec.errors import OptionError
from minispec.lab.measure.sweep import Sweep, load_named
from minispec.lab.prompts import Prompt
from tests.engine.drafters.random_head import write_head
from tests.models import random_gpt2
from tests.tiny import write_model

HALVES = random_gpt2("numpy", kv_dtype="float16")
MADE = {"rounded": lambda model: round_model(model, "int8"), "trimmed": lambda model: trim_words(model, 50)}


@pytest.mark.parametrize("pages", [None, 3])
@pytest.mark.parametrize("made", MADE)
def test_models_made_of_a_model(made, pages):
    model = HALVES if pages is None else HALVES.with_pages(pages)
    cache = MADE[made](model).new_cache()
    assert cache.keys.dtype == cache.values.dtype == np.float16


@pytest.mark.parametrize("pages", [None, 3])
@pytest.mark.parametrize("kind", ["medusa", "eagle", "block"])
def test_heads(kind, pages, tmp_path):
    model = HALVES if pages is None else HALVES.with_pages(pages)
    cache = load_head(write_head(tmp_path / kind, kind, HALVES), kind, model).new_cache()
    assert cache.keys.dtype == cache.values.dtype == np.float16


@pytest.fixture
def folders(tmp_path) -> dict[str, str]:
    return {name: str(write_model(tmp_path / name, seed=i)) for i, name in enumerate(("target", "draft"))}


def spied_on(module, name="recall_model"):
    """Watch what a module loads."""
    return mock.patch.object(module, name, side_effect=load_model)


def test_a_draft_by_name_of_a_run(folders):
    with spied_on(api) as load:
        told = api.generate([1, 2], **folders, backend="numpy", kv_dtype="float16", max_tokens=4)
    assert [call.args[3] for call in load.call_args_list] == ["float16", "float16"]
    assert told.options["kv_dtype"] == "float16"


def test_a_draft_by_name_of_a_command(folders):
    formats = {"backend": "numpy", "dtype": "auto", "draft_dtype": None, "kv_dtype": "float16"}
    with spied_on(pair_module, "load_model"):
        pair = Pair.load({**folders, **formats, **Options().to_dict()}, Console(quiet=True))
    assert (pair.target.kv_dtype, pair.draft.kv_dtype) == ("float16", "float16")


def test_a_draft_by_name_of_a_server(folders):
    build = pytest.importorskip("minispec.serving.build", reason="needs the extra 'serve'")
    target = load_model(folders["target"], "numpy", kv_dtype="float16")
    with spied_on(models_module) as load:
        build.build_server(target, folders["target"], [folders["draft"]], kv_dtype="float16")
    assert [call.args[3] for call in load.call_args_list] == ["float16"]


def test_models_of_a_sweep(folders):
    prompts = [Prompt("Once", "1")]
    sweep = Sweep(prompts, targets=[folders["target"]], drafts=[folders["draft"]], options={"kv_dtype": "float16"})
    assert sweep.loading["kv_dtype"] == "float16"
    assert load_named(folders["draft"], "draft", "numpy", **sweep.loading).kv_dtype == "float16"


@pytest.mark.parametrize("kv_dtype", ["int8", "half", ""])
def test_a_format_that_no_cache_has_is_refused(kv_dtype, tmp_path):
    said = f"kv_dtype is {kv_dtype!r}; beside weights in float32, backend numpy has float32, float16. Try --kv-dtype"
    with pytest.raises(OptionError, match=said):
        random_gpt2("numpy", kv_dtype=kv_dtype)
    folder = Path(write_model(tmp_path))
    with pytest.raises(OptionError, match=said):
        load_model(folder, "numpy", "float32", kv_dtype)
