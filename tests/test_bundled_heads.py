"""The bundled heads: whatever kinds there are, each fits its target, drafts for it, and changes no greedy token."""

from __future__ import annotations

import pytest

import minispec
from minispec.engine.drafters.heads import find_heads, load_head
from minispec.engine.generation import generate
from minispec.engine.loading.bundled import CHECKSUMS, DEFAULT_TARGET, bundled_folders
from minispec.engine.model import GPT2
from tests.test_bundled import PROMPTS

HEADS = find_heads(bundled_folders()[DEFAULT_TARGET])
pytestmark = pytest.mark.skipif("eagle" not in HEADS, reason=f"no eagle head is bundled for {DEFAULT_TARGET}")


@pytest.fixture(scope="module")
def target() -> GPT2:
    return minispec.load_model(DEFAULT_TARGET)


@pytest.mark.parametrize("kind", HEADS)
def test_a_bundled_head_fits_its_target_and_has_a_card(target: GPT2, kind: str) -> None:
    head = load_head(None, kind, target)  # fingerprint and checksums are compared
    assert head.config.target == DEFAULT_TARGET
    assert {path.name for path in HEADS[kind].iterdir()} == {"README.md", CHECKSUMS, "config.json", "model.safetensors"}
    card = (HEADS[kind] / "README.md").read_text(encoding="utf-8")
    assert head.config.fingerprint in card
    for temperature in (0, 1):
        assert card.count(f" | {temperature} | 0.") >= 3  # a row for each domain


@pytest.mark.parametrize("shape", ["", "tree:draft={},shape=dynamic,siblings=likeliest"])
@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("prompt", PROMPTS[::5])
def test_greedy_text_is_that_of_plain_decoding(target: GPT2, kind: str, shape: str, prompt: str) -> None:
    plain, drafted = (
        generate(prompt, target=target, draft=each, verify=rule, temperature=0.0, max_tokens=60)
        for each, rule in ((None, "rejection"), (shape.format(kind) or kind, "tree"))
    )
    assert drafted.token_ids == plain.token_ids
    assert drafted.guarantee == "bit-exact"


@pytest.mark.parametrize("kind", HEADS)
def test_its_drafts_are_often_right(target: GPT2, kind: str) -> None:
    """Tokens per target forward over all prompts; a head that was never right has one."""
    runs = [generate(prompt, target=target, draft=kind, temperature=0.0, max_tokens=60) for prompt in PROMPTS]
    assert sum(run.metrics.num_decode_tokens for run in runs) > 1.5 * sum(run.metrics.num_steps for run in runs)
