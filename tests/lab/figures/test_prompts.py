"""Prompt files: what is read, what is refused and by which line, and when a text has arrived at its answer."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.loading import load_model
from minispec.errors import PromptError
from minispec.lab.prompts import (
    OWN,
    PRESETS,
    Form,
    Prompt,
    arrives_at,
    bundled_prompts,
    parse_prompts,
    read_prompts,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def test_the_bundled_prompts_are_of_three_kinds_and_only_questions_have_answers() -> None:
    prompts = bundled_prompts()
    assert Counter(prompt.domain for prompt in prompts) == {"stories": 8, "code": 8, "questions": 8}
    assert all((prompt.answer is not None) == (prompt.domain == "questions") for prompt in prompts)


def test_the_bundled_prompts_leave_room_for_a_text() -> None:
    tokenizer = load_model("draft-0.6m", backend="numpy").tokenizer
    assert tokenizer is not None
    for prompt in bundled_prompts():
        tokens = tokenizer.encode(prompt.text)
        assert 5 <= len(tokens) <= 64, prompt.id
        assert tokenizer.decode(tokens) == prompt.text


@given(st.lists(TEXTS, min_size=1))
def test_json_lines_give_back_any_text(texts: list[str]) -> None:
    lines = "\n\n".join(json.dumps({"prompt": text}) for text in texts)
    assert [prompt.text for prompt in parse_prompts(lines, "a file", OWN)] == texts


@given(st.lists(TEXTS.filter(lambda text: text.strip() and not set(text) & set("\r\n\ufeff")), min_size=1))
def test_lines_are_prompts(texts: list[str]) -> None:
    for end in ("\n", "\r\n", "\n \n"):
        assert [prompt.text for prompt in parse_prompts(end.join(texts), "a file", None)] == texts


def test_what_a_line_may_say(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "1+1=", "id": "sum", "domain": "sums", "answer": 2}\n\n{"prompt": "x"}\n')
    assert read_prompts(path) == (Prompt("1+1=", "sum", "sums", "2"), Prompt("x", "3", "no domain", None))
    path.write_text('{"prompt": "1+1=", "answer": " "}\n')
    assert read_prompts(path)[0].answer is None, "every text ends with a blank one"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "line 2 is not JSON"),
        pytest.param("[" * 100_000, "line 2 is not JSON", id="deep"),
        ("[]", "line 2 has no"),
        ('{"prompt": ""}', "line 2 has no"),
        ('{"text": "x"}', "line 2 has no"),
        ('{"prompt": 5}', "line 2: prompt is 5; it must be text"),
        ('{"question": "x", "answer": "2"}', "--preset gsm8k"),
        ('{"turns": ["x", "y"]}', "--preset mt-bench"),
        ('{"instruction": "x"}', "rename one, or try --prompt-key KEY, which `minispec measure` has"),
        ('{"prompt": "\\ud800"}', "line 2: prompt holds half a surrogate pair"),
        ('{"prompt": "x", "id": "\\ud800"}', "line 2: id holds half a surrogate pair"),
        ('{"prompt": "x", "domain": "\\ud800"}', "line 2: domain holds half a surrogate pair"),
        ('{"prompt": "x", "answer": "\\ud800"}', "line 2: answer holds half a surrogate pair"),
        ('{"prompt": "x", "answer": [2]}', "line 2: answer"),
        ('{"prompt": "x", "id": "1"}', "two prompts with the id '1'"),
    ],
)
def test_a_malformed_line_is_named(line: str, complaint: str) -> None:
    with pytest.raises(PromptError, match=complaint) as caught:
        parse_prompts('{"prompt": "fine"}\n' + line, "prompts.jsonl", OWN)
    assert len(str(caught.value)) < 250
    assert "\n" not in str(caught.value)


# A line of each as it is published, shortened.
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": "def add(a, b):\n",
    "entry_point": "add",
    "canonical_solution": "    return a + b\n",
    "test": "def check(candidate): ...",
}
GSM8K = {
    "question": "Natalia sold 48 clips in April, and half as many in May. How many?",
    "answer": "She sold 48/2 = <<48/2=24>>24 clips in May.\n48+24 = <<48+24=72>>72\n#### 72",
}
MT_BENCH = {"question_id": 81, "category": "writing", "turns": ["Write a post.", "Rewrite it."]}


@pytest.mark.parametrize(
    ("record", "preset", "expected"),
    [
        (HUMANEVAL, "humaneval", Prompt("def add(a, b):\n", "HumanEval/0", "", None)),
        (GSM8K, "gsm8k", Prompt(str(GSM8K["question"]), "1", "", "72")),
        (MT_BENCH, "mt-bench", Prompt("Write a post.", "81", "writing", None)),
    ],
)
@pytest.mark.parametrize("name", ["test.jsonl", "test.jsonl.gz", "test"])
def test_known_collections_are_read_as_they_are_published(
    tmp_path: Path, record: dict[str, object], preset: str, expected: Prompt, name: str
) -> None:
    path, content = tmp_path / name, json.dumps(record).encode() + b"\n"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert read_prompts(path, PRESETS[preset]) == (expected,)
    assert [prompt.text for prompt in read_prompts(path, Form(prompt=PRESETS[preset].prompt))] == [expected.text]


def test_a_compressed_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"prompt": "x"}\n' * 1000)[:-20])
    with pytest.raises(PromptError, match=r"prompts.jsonl.gz' cannot be read"):
        read_prompts(path)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "prompts.txt"
    path.write_bytes(content)
    with pytest.raises(PromptError, match="holds no prompt"):
        read_prompts(path)


def test_what_is_no_file_of_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="cannot be read"):
        read_prompts(tmp_path / "nowhere.txt")
    (tmp_path / "latin.txt").write_bytes("déjà".encode("latin-1"))
    with pytest.raises(PromptError, match="not UTF-8 at byte 1"):
        read_prompts(tmp_path / "latin.txt")


@pytest.mark.parametrize(
    ("text", "answer", "right"),
    [
        (" 3 x 4 = 12\n12 - 2 = 10\nThe answer is 10.", "10", True),
        (" The answer is 10.\nQuestion: … The answer is 12.", "10", True),
        (" The answer is 12.\nQuestion: … The answer is 10.", "10", False),
        (" The answer is $1,000.", "1000", True),
        (" The answer is 2.5.", "2.50", True),
        (" The answer is 100.", "10", False),
        (" so it is 10", "10", True),
        (" 10 - 3 = 7", "10", False),
        (" nothing", "10", False),
        (" The answer is Paris.", "paris", True),
        (" it is Paris.", "Paris", True),
        (" Paris is far", "Paris", False),
        ("", "10", False),
    ],
)
def test_when_a_text_has_arrived(text: str, answer: str, right: bool) -> None:
    assert arrives_at(text, answer) is right
