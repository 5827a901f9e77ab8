"""Folders of every published form beside transformers: token ids, text, logits, and where greedy text ends.

``python -m tests.peers.test_folders`` writes what transformers answers to tests/engine/loading/forms.json.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.engine.loading.forms import ANSWERS, FORMS, NUM_TOKENS, PROMPT, TEXTS, write_form

torch = pytest.importorskip("torch", reason="needs the dependency group 'peers'")
transformers = pytest.importorskip("transformers", reason="needs the dependency group 'peers'")

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]  # their warnings are theirs


def ask(folder: Path) -> dict[str, Any]:
    """Return what transformers makes of a folder."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = [tokenizer(text)["input_ids"] for text in TEXTS]
    prompt = torch.as_tensor([tokenizer(PROMPT)["input_ids"]])
    with torch.no_grad():
        logits = model(prompt).logits[0, -1, :260:20]
        made = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=NUM_TOKENS, pad_token_id=0
        )
    return {
        "ids": ids,
        "texts": [tokenizer.decode(each, skip_special_tokens=True) for each in ids],
        "logits": [round(float(value), 4) for value in logits],
        "greedy": made[0, prompt.shape[1] :].tolist(),
    }


@pytest.mark.parametrize("name", FORMS)
def test_transformers_answers_what_is_written_down(name: str, tmp_path: Path) -> None:
    found, expected = ask(write_form(tmp_path / "model", **FORMS[name])), json.loads(ANSWERS.read_text("utf-8"))[name]
    assert found.pop("logits") == pytest.approx(expected.pop("logits"), abs=1e-3)
    assert found == expected


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        answers = {name: ask(write_form(Path(place) / f"{i}", **form)) for i, (name, form) in enumerate(FORMS.items())}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    ANSWERS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
