"""Exports where they are to run: greedy tokens of Transformers' assisted generation and of llama.cpp."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from minispec.engine.export import export_pair
from minispec.engine.generation import generate
from minispec.engine.loading import load_model
from minispec.engine.model import GPT2

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]  # their warnings are theirs

PROMPTS = ("Once upon a time there was a little fox", "def add(a, b):", "Tom has 3 apples.")
COUNT = 48
CLOSE = 1e-2
"""A margin between the two likeliest tokens that another order of sums may turn around."""


def agree(target: GPT2, prompt: list[int], ours: list[int], theirs: list[int]) -> None:
    """Equal, or parted where the two likeliest tokens are closer than rounding."""
    assert len(theirs) == len(ours)
    first = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b), None)
    if first is not None:
        one, two = np.sort(target.logits([*prompt, *ours[:first]])[-1])[-2:]
        assert two - one < CLOSE, f"token {first} differs although its margin is {two - one:.3g}"


@pytest.fixture(scope="module")
def target() -> GPT2:
    return load_model("target-17m")


def greedy(target: GPT2, prompt: str) -> list[int]:
    made = generate(prompt, target=target, temperature=0.0, max_tokens=COUNT, min_tokens=COUNT)
    assert made.guarantee == "bit-exact"
    return list(made.token_ids)


def test_transformers_assisted_generation_writes_the_same_tokens(target: GPT2, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the dependency group 'peers'")
    transformers = pytest.importorskip("transformers", reason="needs the dependency group 'peers'")
    export_pair("target-17m", "draft-1.6m", "hf", tmp_path / "out", gamma=5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out" / "target")
    theirs, assistant = (
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out" / role, dtype=torch.float32)
        for role in ("target", "draft")
    )
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt")
        assert target.tokenizer is not None
        assert ids["input_ids"][0].tolist() == target.tokenizer.encode(prompt)
        with torch.no_grad():
            made = theirs.generate(
                **ids,
                assistant_model=assistant,
                num_assistant_tokens=5,
                do_sample=False,
                max_new_tokens=COUNT,
                min_new_tokens=COUNT,
            )
        start = ids["input_ids"].shape[1]
        agree(target, ids["input_ids"][0].tolist(), greedy(target, prompt), made[0].tolist()[start:])


def test_the_printed_lines_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers", reason="needs the dependency group 'peers'")
    script = export_pair("target-17m", "draft-1.6m", "hf", tmp_path / "out", gamma=5)
    exec(compile(script, "run.py", "exec"), {})
    assert capsys.readouterr().out.startswith("Once upon a time")


def test_llama_cpp_writes_the_same_tokens_and_cuts_prompts_alike(target: GPT2, tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="needs the dependency group 'engines'")
    llama_cpp = pytest.importorskip("llama_cpp", reason="needs the dependency group 'engines'")
    export_pair("target-17m", "draft-1.6m", "gguf", tmp_path / "out", gamma=5)
    assert target.tokenizer is not None
    for role in ("target", "draft"):
        theirs = llama_cpp.Llama(str(tmp_path / "out" / f"{role}.gguf"), n_ctx=512, n_threads=2, verbose=False)
        model = target if role == "target" else load_model("draft-1.6m")
        for prompt in PROMPTS:
            ids = theirs.tokenize(prompt.encode(), add_bos=True, special=True)  # the file says that there is none
            assert ids == target.tokenizer.encode(prompt)
            ours = generate(prompt, target=model, draft=None, temperature=0.0, max_tokens=COUNT).token_ids
            theirs.reset()
            stream = theirs.generate(ids, temp=0.0, top_k=1, repeat_penalty=1.0)  # it does not stop at an end
            agree(model, ids, list(ours), list(itertools.islice(stream, len(ours))))


def test_vllms_configuration_names_the_draft(tmp_path: Path) -> None:
    """vLLM itself needs a GPU; here only that its folders are those that Transformers reads, and its file is JSON."""
    export_pair("target-17m", "draft-1.6m", "vllm", tmp_path / "out", gamma=3)
    told = json.loads((tmp_path / "out" / "speculative.json").read_text())
    assert load_model(Path(told["model"])).num_parameters == load_model("draft-1.6m").num_parameters
