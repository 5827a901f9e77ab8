"""Mutate the files of a small model and load what comes out: a model, or an error of ours. Nothing else.

A process of its own, so that memory can be limited and a hang or a crash ends this process alone::

    python -m tests.engine.loading.fuzz FIRST COUNT FOLDER

Case number ``i`` is always the same mutation. The last line printed is a JSON object that counts what happened.
"""

from __future__ import annotations

import copy
import json
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from minispec.engine.loading import load_model
from minispec.errors import InputError
from tests.engine.loading.folders import CONFIG, assert_clear, tokenizer_json, write_model, write_vocab_and_merges
from tests.engine.loading.forms import token

MEMORY_BYTES = 2**30  # address space beyond what the imports take; the model itself has some 10 kB
SECONDS = 2.0  # for one case; an honest one takes 2 ms

KINDS = ("header", "config", "index", "tokenizer", "vocab", "more")

MORE: dict[str, Any] = {
    "generation_config.json": {"eos_token_id": [0, 256], "bos_token_id": 256},
    "tokenizer_config.json": {
        **dict.fromkeys(("add_prefix_space", "add_bos_token", "add_eos_token"), True),
        "tokenizer_class": "GPT2Tokenizer",
        "added_tokens_decoder": {"260": token("<|user|>"), "261": token("<|bot|>", lstrip=True, special=False)},
        "eos_token": "<|user|>",
        "bos_token": {"__type": "AddedToken", **token("<|endoftext|>")},
        "extra_special_tokens": ["<|bot|>"],
    },
    "added_tokens.json": {"<|user|>": 260, "<|bot|>": 261},
    "special_tokens_map.json": {"pad_token": token("<pad>"), "additional_special_tokens": ["<|user|>"]},
}
"""The files that say more of ends and tokens."""

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64,
    10**40, 0.5, -0.0, 1e-5, 1e308, float("inf"), float("nan"), "", "x", "gpt2", "gelu", "F16", "BF16", "F32", "I64",
    "model.safetensors", "../x", "a/b", "\0", "\ud800", "日本", "#version", "ByteLevel", "BPE", "WordPiece", "Unigram",
    "x" * 3000, "\n", [], {}, [0], [[]], {"": None}, [0, 2**63], ["a", "b"], {"type": "Sequence", "decoders": []},
    {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}, {"type": "Split"}, {"type": "NFC"},
)  # fmt: skip

SCRAPS = (
    b"", b"\0", b"\xff", b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"-1", b"1e999", b"9" * 40, b"\\ud800",
    b"[" * 2000, b'{"a":' * 500, b"\n", b"\xed\xa0\x80", b"  ", b"0x", b"NaN", b"t h", b"#",
)  # fmt: skip


def mutate_bytes(content: bytes, chance: random.Random) -> bytes:
    """Change a few bytes: flip, cut, repeat, insert."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(data) + 1)
        span = chance.choice((1, 1, 2, 8, 100))
        match chance.randrange(5):
            case 0:
                data[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del data[place : place + span]
            case 2:
                data[place:place] = data[place : place + span]
            case 3:
                data[place:place] = chance.choice(SCRAPS)
            case 4:
                del data[place:]
    return bytes(data)


def mutate_json(content: Any, chance: random.Random) -> Any:
    """Change a few values: replace, remove, swap, or add one somewhere in the tree."""
    content = copy.deepcopy(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        holder, key = None, None
        node = content
        while isinstance(node, dict | list) and node and (holder is None or chance.random() < 0.8):
            holder, key = node, chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
            node = node[key]
        if holder is None:
            return copy.deepcopy(chance.choice(VALUES))
        match chance.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[chance.choice(("", "x", "__metadata__", "type", "transformer." + str(key)))] = node
            case 1:
                holder.insert(chance.randrange(len(holder) + 1), copy.deepcopy(chance.choice(VALUES)))
            case 2:
                other = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
                holder[key], holder[other] = holder[other], holder[key]
            case 3 if isinstance(node, int) and not isinstance(node, bool):
                holder[key] = node + chance.choice((-1, 1, 8, -8, 2**32))
            case _:
                holder[key] = copy.deepcopy(chance.choice(VALUES))
    return content


def mutate_json_or_bytes(content: Any, chance: random.Random) -> bytes:
    if chance.random() < 0.7:
        return json.dumps(mutate_json(content, chance)).encode()
    return mutate_bytes(json.dumps(content).encode(), chance)


def make_case(case: int, folder: Path, weights: bytes) -> str:
    """Break one file of the model in ``folder``; return the kind of file."""
    chance, kind = random.Random(case), KINDS[case % len(KINDS)]
    header_size = int.from_bytes(weights[:8], "little")
    if kind == "header":
        header, data = json.loads(weights[8 : 8 + header_size]), weights[8 + header_size :]
        text = mutate_json_or_bytes(header, chance)
        size = len(text) if chance.random() < 0.8 else chance.choice((0, len(text) + 1, 2**20, 2**40, 2**64 - 1))
        (folder / "model.safetensors").write_bytes(size.to_bytes(8, "little") + text + data)
    elif kind == "config":
        (folder / "config.json").write_bytes(mutate_json_or_bytes(CONFIG | {"n_inner": None}, chance))
    elif kind == "index":
        (folder / "model.safetensors").unlink()
        (folder / "model-1.safetensors").write_bytes(weights)
        names = [name for name in json.loads(weights[8 : 8 + header_size]) if name != "__metadata__"]
        index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(names, "model-1.safetensors")}
        (folder / "model.safetensors.index.json").write_bytes(mutate_json_or_bytes(index, chance))
    elif kind == "tokenizer":
        (folder / "tokenizer.json").write_bytes(mutate_json_or_bytes(tokenizer_json(), chance))
    elif kind == "more":
        files = {name: MORE[name] for name in chance.sample(list(MORE), chance.randrange(1, len(MORE) + 1))}
        broken = chance.choice(list(files))
        for name, content in files.items():
            changed = mutate_json_or_bytes(content, chance) if name == broken else json.dumps(content).encode()
            (folder / name).write_bytes(changed)
        if chance.random() < 0.5:
            (folder / "tokenizer.json").unlink()
            write_vocab_and_merges(folder)
    else:
        (folder / "tokenizer.json").unlink()
        write_vocab_and_merges(folder)
        name = chance.choice(("vocab.json", "merges.txt"))
        content = (folder / name).read_bytes()
        vocab_tree = name == "vocab.json" and chance.random() < 0.5
        changed = json.dumps(mutate_json(json.loads(content), chance)).encode() if vocab_tree else None
        (folder / name).write_bytes(mutate_bytes(content, chance) if changed is None else changed)
    return kind


def load_and_use(folder: Path) -> str:
    """Load the folder and run it a little; return what became of it."""
    try:
        model = load_model(folder, backend="numpy")
    except InputError as error:
        assert_clear(error)
        return "refused"
    assert model.logits([0]).shape == (1, model.vocab_size)
    if model.tokenizer is None:
        return "loaded without tokenizer"
    try:
        tokens = model.tokenizer.encode_prompt("the théa\n <|endoftext|>")
    except InputError as error:
        assert_clear(error)
        return "loaded, refused a text"
    assert all(0 <= token < model.vocab_size or token in model.tokenizer.added_ids for token in tokens)
    model.tokenizer.decode(tokens)
    model.tokenizer.fingerprint()
    return "loaded"


def main(first: int, count: int, place: Path) -> None:
    """Run the cases ``first`` to ``first + count - 1``."""
    folder = write_model(place / "model")
    load_and_use(folder)  # whatever is imported or compiled lazily is there before memory is limited
    pristine = {path.name: path.read_bytes() for path in folder.iterdir()}
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, used + MEMORY_BYTES))
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    slowest = 0.0
    for case in range(first, first + count):
        for path in folder.iterdir():
            if path.name not in pristine:
                path.unlink()
        for name, content in pristine.items():
            (folder / name).write_bytes(content)
        try:
            kind = make_case(case, folder, pristine["model.safetensors"])
            start = time.perf_counter()
            counts[kind][load_and_use(folder)] += 1
            slowest = max(slowest, time.perf_counter() - start)
        except BaseException:
            print(f"case {case}:", file=sys.stderr)
            raise
        if slowest > SECONDS:
            raise SystemExit(f"case {case} took {slowest:.1f} s")
    print(json.dumps({"cases": count, "slowest_s": slowest, **counts}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
