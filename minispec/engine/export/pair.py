"""From a target and a draft to a folder that Transformers, llama.cpp, Ollama or vLLM reads."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from minispec.engine.export.gguf import write_gguf
from minispec.engine.files import new_folder
from minispec.engine.loading.checkpoint import Checkpoint, read_json
from minispec.engine.loading.folder import check_tokenizer, find_folder, load_tokenizer
from minispec.engine.loading.tokenizer_files import GENERATION, settle_ends
from minispec.engine.model.config import GPT2Config
from minispec.engine.tokenizer import Tokenizer, describe_difference
from minispec.errors import ModelFileError, VocabularyError


@dataclass(frozen=True)
class Source:
    """A model as it is on disk, checked.

    Attributes
    ----------
    name : str
        As it was asked for.
    folder : Path
    config : GPT2Config
    checkpoint : Checkpoint
    tokenizer : Tokenizer
    """

    name: str
    folder: Path
    config: GPT2Config
    checkpoint: Checkpoint
    tokenizer: Tokenizer

    @classmethod
    def open(cls, name: str) -> Source:
        """Find a model and check its files against each other; weights are not read yet."""
        folder = find_folder(name)
        config = GPT2Config.from_dict(read_json(folder / "config.json"), str(folder / "config.json"))
        checkpoint = Checkpoint(folder)
        config = checkpoint.check(config)
        tokenizer = load_tokenizer(folder)
        check_tokenizer(tokenizer, config, folder)
        config = settle_ends(config, folder, tokenizer)
        return cls(name=name, folder=folder, config=config, checkpoint=checkpoint, tokenizer=tokenizer)


def export_pair(target: str, draft: str | None, form: str, folder: Path, gamma: int) -> str:
    """Write a target and its draft in the form of another engine.

    Parameters
    ----------
    target, draft : str
        Folders, bundled names or hub names; without a draft the target alone is written.
    form : str
        One of :data:`FORMS`.
    folder : Path
        Made; it is there as a whole or not at all.
    gamma : int
        Tokens to draft per step, in the lines that run the pair.

    Returns
    -------
    str
        The lines that run it.

    Raises
    ------
    InputError
        If a model cannot be used or does not go with the form, or the folder cannot be made.
    """
    models = {"target": Source.open(target)} | ({} if draft is None else {"draft": Source.open(draft)})
    if draft is not None:
        _check_alike(models["target"], models["draft"])
    with new_folder(folder) as partial:
        return FORMS[form](models, partial, folder, gamma)


def _check_alike(target: Source, draft: Source) -> None:
    difference = describe_difference(target.tokenizer, draft.tokenizer)
    if difference is None and target.config.vocab_size != draft.config.vocab_size:
        difference = f"the target has {target.config.vocab_size} tokens, the draft {draft.config.vocab_size}"
    if difference is not None:
        raise VocabularyError(
            f"target {target.name} and draft {draft.name} have different vocabularies ({difference}); other engines "
            "need one shared vocabulary. Name another draft, or --draft none"
        )


_COPIED = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "*.safetensors",
    "model.safetensors.index.json",
)
"""What a published folder may hold and its readers look for; never a pickle."""


def _copy(model: Source, folder: Path) -> None:
    """Copy a Hugging Face folder; what its readers guess, or would not see as minispec does, is written out."""
    if model.checkpoint.is_wrapped:
        raise ModelFileError(
            f"{model.folder}: the tensors have names of torch.compile or DistributedDataParallel, which other readers "
            "do not know. Save the model's own state, or try --to gguf"
        )
    folder.mkdir()
    for pattern in _COPIED:
        for path in model.folder.glob(pattern):
            shutil.copyfile(path, folder / path.name)
    config = read_json(folder / "config.json")
    config |= {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if ends := sorted(model.config.eos_token_id):
        path = folder / GENERATION
        generation = read_json(path) if path.is_file() else {}
        generation["eos_token_id"] = ends if len(ends) > 1 else ends[0]
        path.write_text(json.dumps(generation, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if not (folder / "tokenizer.json").is_file():
        (folder / "tokenizer.json").write_text(model.tokenizer.to_json(), encoding="utf-8")


def _to_hugging_face(models: dict[str, Source], partial: Path, folder: Path, gamma: int) -> str:
    for role, model in models.items():
        _copy(model, partial / role)
    loaded = {role: f"Model.from_pretrained({str(folder / role)!r}, dtype='float32')" for role in models}
    options = "assistant_model=draft, num_assistant_tokens={gamma}, " if "draft" in models else ""
    script = (
        "from transformers import AutoModelForCausalLM as Model, AutoTokenizer\n"
        f"words, {', '.join(loaded)} = AutoTokenizer.from_pretrained({str(folder / 'target')!r}), "
        f"{', '.join(loaded.values())}\n"
        "print(words.decode(target.generate(**words('Once upon a time', return_tensors='pt'), "
        f"{options.format(gamma=gamma)}do_sample=False, max_new_tokens=64)[0]))\n"
    )
    (partial / "run.py").write_text(script, encoding="utf-8")
    return script


def _to_vllm(models: dict[str, Source], partial: Path, folder: Path, gamma: int) -> str:
    for role, model in models.items():
        _copy(model, partial / role)
    target = str(folder / "target")
    serve = f"vllm serve {shlex.quote(target)}"
    if "draft" in models:
        config = json.dumps({"method": "draft_model", "model": str(folder / "draft"), "num_speculative_tokens": gamma})
        (partial / "speculative.json").write_text(config + "\n", encoding="utf-8")
        serve += f" --speculative-config {shlex.quote(config)}"
    request = json.dumps({"model": target, "prompt": "Once upon a time", "temperature": 0})
    lines = (
        f"pip install vllm  # a version that takes draft models, on a GPU\n{serve}\n"
        f"curl localhost:8000/v1/completions -H 'Content-Type: application/json' -d {shlex.quote(request)}\n"
    )
    (partial / "run.sh").write_text(lines, encoding="utf-8")
    return lines


def _to_gguf(models: dict[str, Source], partial: Path, folder: Path, gamma: int) -> str:
    for role, model in models.items():
        write_gguf(model.checkpoint, model.config, partial / f"{role}.gguf", "f32", model.tokenizer, name=model.name)
    modelfile = "FROM ./target.gguf\nTEMPLATE {{ .Prompt }}\nPARAMETER temperature 0.8\n"
    (partial / "Modelfile").write_text(modelfile, encoding="utf-8")
    target, draft, recipe, name = (
        shlex.quote(text)
        for text in (*(str(folder / file) for file in ("target.gguf", "draft.gguf", "Modelfile")), folder.name.lower())
    )
    drafting = f" -md {draft}" if "draft" in models else ""
    lines = (
        f"llama-server -m {target}{drafting}  # llama.cpp\n"
        f"ollama create {name} -f {recipe}  # Ollama runs the target; it takes no draft\n"
        f"ollama run {name} 'Once upon a time'\n"
    )
    (partial / "run.sh").write_text(lines, encoding="utf-8")
    return lines


FORMS: dict[str, Callable[[dict[str, Source], Path, Path, int], str]] = {
    "hf": _to_hugging_face,
    "gguf": _to_gguf,
    "vllm": _to_vllm,
}
"""What writes each form into a folder that will have another name, and returns the lines that run it there."""
