"""Heads: what is trained is what drafts, and training teaches."""
# ruff: noqa: E402 - PyTorch is optional: skip before importing what needs it

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner

from minispec.engine.drafters import build_drafter
from minispec.engine.drafters.base import allow_all
from minispec.engine.generation import generate
from minispec.engine.loading import load_model
from minispec.engine.model.asks import answer
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import SamplingParams
from minispec.engine.sampling.sampler import make_sampler
from minispec.errors import InputError
from minispec.lab.training import head_stage, head_text
from minispec.lab.training.data import validation_rows
from minispec.lab.training.export import export_model
from minispec.lab.training.head_card import HeadPlan
from minispec.lab.training.head_stage import HeadStage, look
from minispec.lab.training.head_text import BEGINNING
from minispec.lab.training.heads import ANCHORS, HEADS, loss_of
from minispec.lab.training.mixture import DOMAINS
from minispec.lab.training.model import GPT2, attend
from minispec.lab.training.recipe import TARGET
from tests.lab.training.toys import VOCAB_SIZE, documents, toy_preset

KINDS = ("medusa", "eagle", "block")
LENGTH = 3
PLAN = HeadPlan("eagle", (), LENGTH, width=16, num_heads=2, inner=24, num_layers=2, num_words=100, row_length=24)


@pytest.fixture(scope="module")
def target_folder(packed_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target far from its initial weights, so that a state or a bias that is lost shows."""
    torch.manual_seed(0)
    model = GPT2(replace(toy_preset().shapes[TARGET], num_layers=3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    folder = tmp_path_factory.mktemp("target") / "toy-target"
    export_model(model, packed_folder / "tokenizer.json", folder)
    return folder


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "toy.txt"
    path.write_text("".join(documents(seed) for seed in range(6)), encoding="utf-8")
    return path


def draft(kind: str, head: Path, target: Path, tokens: list[int], gamma: int):
    """Return the draft behind some tokens; every token of it is a draw."""
    session = TreeSession(load_model(target))
    sampler = make_sampler(SamplingParams(temperature=1.0, top_p=1.0))
    drafter = build_drafter(f"{kind}:head={head}", session, sampler, load_model=load_model)
    session.prefill(tokens[:-1])
    answer(drafter.prefill(tokens[:-1]))
    coins = Coins(PhiloxNoise(len(tokens)), position=len(tokens))
    return answer(drafter.propose(tokens, gamma, coins, allow_all))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_trained_is_what_drafts(kind: str, target_folder: Path, text: Path, tmp_path: Path) -> None:
    """The rows of a draft are those that training scores at the same place of the same text."""
    stage = HeadStage(replace(PLAN, kind=kind), target_folder, [text])
    with torch.no_grad():
        for parameter in stage.head.parameters():
            parameter.copy_((parameter + 0.2 * torch.randn_like(parameter)).half().float())
    stage.export(tmp_path / kind, stage.measure(2))
    tokens = stage.text.train["toy"][:40].astype(int).tolist()

    def score(row: list[int]) -> list[torch.Tensor]:
        with torch.no_grad():
            seen = look(stage.target, torch.tensor([row]), 0)
            places = stage.head.places(seen, torch.Generator().manual_seed(1))
        return [torch.softmax(logits, dim=-1) for logits, _ in places]

    def compare(known: list[int], rows: list[torch.Tensor], drafted) -> None:
        words = stage.config.words or range(VOCAB_SIZE)
        for probs, row in zip(drafted.probs, rows, strict=True):
            expected = np.zeros(VOCAB_SIZE)
            expected[list(words)] = row.numpy()
            np.testing.assert_allclose(probs, expected, atol=3e-5)

    generator, count = torch.Generator().manual_seed(1), len(tokens)
    if kind == "medusa":
        places = score(tokens)
        ends = (torch.randint(count - LENGTH, (ANCHORS * LENGTH,), generator=generator) + 2).tolist()
        for number, known in enumerate(ends[:6]):
            drafted = draft(kind, tmp_path / kind, target_folder, tokens[:known], LENGTH)
            compare(tokens[:known], [probs[number] for probs in places], drafted)
        return
    for known in (2, 9):  # what was drafted is the text that is trained along
        drafted = draft(kind, tmp_path / kind, target_folder, tokens[:known], LENGTH)
        places, row = score([*tokens[:known], *drafted.tokens]), known - 2
        if kind == "block":
            row = torch.randint(1, known + 1, (ANCHORS,), generator=generator.manual_seed(1)).tolist().index(known - 1)
        compare(tokens[:known], [probs[row] for probs in places], drafted)


@pytest.mark.parametrize("kind", KINDS)
def test_training_teaches_and_can_be_repeated(kind: str, target_folder: Path, text: Path) -> None:
    plan = replace(PLAN, kind=kind, num_words=0, steps=30, num_rows=4, rate=5e-3)
    losses, acceptance = [], []
    for _ in range(2):
        stage = HeadStage(plan, target_folder, [text])
        before = stage.measure(4)
        losses.append([tick.loss for tick in stage.run(report_every=5)])
        acceptance.append(stage.measure(4))
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0]
    assert acceptance[0] == acceptance[1]
    for better, worse in zip(acceptance[0], before, strict=True):
        assert sum(better.shares) > sum(worse.shares)


def test_the_loss_is_its_formula() -> None:
    """Over a cut vocabulary, the later place counting less; in NumPy."""
    generator = np.random.default_rng(0)
    words, fade = [1, 2, 4], 0.5
    drafted, wanted = (generator.dirichlet(np.ones(size), (2, 7)) for size in (3, 6))
    places = [(torch.from_numpy(np.log(q) + 3.0), torch.from_numpy(p)) for q, p in zip(drafted, wanted, strict=True)]
    entropies = -(wanted[..., words] * np.log(drafted)).sum(-1).mean(-1)
    loss = loss_of(places, torch.tensor(words), fade)
    assert float(loss) == pytest.approx((entropies[0] + fade * entropies[1]) / (1 + fade), rel=1e-5)


def test_the_report_does_not_depend_on_how_many_rows_are_read_at_once(target_folder: Path, text: Path) -> None:
    found = [HeadStage(replace(PLAN, num_rows=rows), target_folder, [text]).measure(5) for rows in (2, 5)]
    for one, other in zip(*found, strict=True):
        assert one.shares == pytest.approx(other.shares, rel=1e-4)


def test_a_head_drafts_the_likeliest_words_and_rows_begin_as_documents_do(target_folder: Path, text: Path) -> None:
    stage = HeadStage(replace(PLAN, num_words=15, steps=1), target_folder, [text])
    counts = Counter(stage.text.train["toy"].tolist())
    assert len(stage.config.words) == 15
    assert min(counts[word] for word in stage.config.words) >= max(
        counts[word] for word in {*counts} - {*stage.config.words}
    )
    stage._end = 77  # as where the target is another one's
    with mock.patch.object(head_stage, "Batches", wraps=head_stage.Batches) as made:
        list(stage.run())
    assert made(*made.call_args.args, **made.call_args.kwargs).end_id == 77


@pytest.mark.parametrize("kind", ["eagle", "block"])
def test_a_head_begins_with_what_the_target_says(kind: str, target_folder: Path, text: Path) -> None:
    """The truncated SVD is the target's own output matrix where the head is wide enough, and better than chance."""
    stage = HeadStage(replace(PLAN, kind=kind, width=32, num_heads=4, inner=48, num_words=0), target_folder, [text])
    begun, rows, gain = stage.head, stage.target.wte.weight, stage.target.ln_f.weight
    with torch.no_grad():
        np.testing.assert_allclose(begun.lm_head.weight @ begun.token.weight.T, rows, atol=1e-5)
        np.testing.assert_allclose(begun.lm_head.weight @ begun.fuse.weight[-32:].T, rows * gain, atol=1e-5)

    def first_loss(head: torch.nn.Module) -> float:
        tokens = torch.from_numpy(np.stack([stage.text.train["toy"][i : i + 24] for i in range(0, 960, 24)]))
        with torch.no_grad():
            return float(loss_of(head.places(look(stage.target, tokens, 0), torch.Generator()), head.known, 0.8))

    with mock.patch.object(HEADS[kind], "begin_with"):
        assert first_loss(begun) < first_loss(stage._make_head())


def test_the_command_writes_a_head_that_drafts(toy_command, target_folder: Path, text: Path, tmp_path: Path) -> None:
    head = tmp_path / "head"
    options = ["--target", target_folder, "--text", text, "-o", head, "--steps", 4, "--width", 16, "--words", 15]
    result = CliRunner().invoke(toy_command, ["head", "eagle", *map(str, options)])
    assert result.exit_code == 0, result.output
    assert "acceptance by place" in result.output
    config = json.loads((head / "config.json").read_text())
    assert config["layers"] == [1, 3]
    assert len(config["words"]) == 15
    card = (head / "README.md").read_text()
    assert "| text | temperature | 1 | 2 | 3 | 4 | 5 |" in card
    for told in (config["fingerprint"], "toy-target", "drafts 15 words", "4 steps", "given text: toy", "rate 0.005"):
        assert told in card
    options = {"target": str(target_folder), "temperature": 0.0, "max_tokens": 20}
    drafted = generate("The fox", draft=f"eagle:head={head}", **options)
    assert drafted.token_ids == generate("The fox", draft=None, **options).token_ids
    assert drafted.metrics.num_draft_tokens


def test_a_head_in_its_targets_folder_is_taken_without_a_name(
    toy_command, target_folder: Path, text: Path, tmp_path: Path
) -> None:
    """Which stays a model's folder, with checksums of its own."""
    target = tmp_path / "target"
    shutil.copytree(target_folder, target)
    options = ["--target", target, "--text", text, "-o", target / "eagle", "--steps", 1, "--width", 8, "--words", 15]
    result = CliRunner().invoke(toy_command, ["head", "eagle", *map(str, options)])
    assert result.exit_code == 0, result.output
    assert result.output.endswith("--draft eagle\n")
    drafted = generate("The fox", target=str(target), draft="eagle", max_tokens=10)
    assert drafted.metrics.num_draft_tokens


def test_the_target_writes_what_the_head_is_trained_along(target_folder: Path, text: Path) -> None:
    """It goes on from the text's own tokens, and a second time writes the same; what is held out stays as given."""
    stages = [HeadStage(replace(PLAN, written=3000), target_folder, [text]) for _ in range(2)]
    given = stages[0].text
    with mock.patch.object(head_text, "generate_many", wraps=head_text.generate_many) as made:
        for stage in stages:
            stage.write()
    (written,) = stages[0].text.train.values()
    assert len(written) >= 3000
    np.testing.assert_array_equal(written, *stages[1].text.train.values())
    assert stages[0].text.valid is given.valid
    source = ",".join(map(str, given.train["toy"].tolist()))
    prompts = [prompt for call in made.call_args_list for prompt in call.args[0]]
    assert {len(prompt) for prompt in prompts} == {BEGINNING}
    assert all(",".join(map(str, prompt)) in source for prompt in prompts)
    assert written[:BEGINNING].tolist() == prompts[0]
    own, others = (mean_likelihood(stages[0].target, tokens[:2000]) for tokens in (written, given.train["toy"]))
    assert own > others  # to the target its own text is the likelier one


def mean_likelihood(target: GPT2, tokens: np.ndarray) -> torch.Tensor:
    rows = torch.from_numpy(tokens[: len(tokens) // 97 * 97].reshape(-1, 97))
    logits = target(rows[:, :-1]).log_softmax(-1)
    return logits.gather(-1, rows[:, 1:, None]).mean()


def test_the_recipes_text_is_as_much_of_each_domain(target_folder: Path, packed_folder: Path) -> None:
    """Shares, likeliest words and held-out texts, found by hand in the packed files."""
    stage = HeadStage(replace(PLAN, num_words=40), target_folder, work=packed_folder)
    shares = {domain: sum(stage.text.mix[name] for name in DOMAINS[domain]) for domain in DOMAINS}
    assert shares == pytest.approx(dict.fromkeys(("stories", "code", "questions"), 1 / 3))
    assert stage.text.mix["tinystories"] / stage.text.mix["storybooks"] == pytest.approx(47 / 3)
    counts: Counter[int] = Counter()
    for name, share in stage.text.mix.items():
        tokens = np.load(packed_folder / "packed" / f"{name}.train.npy").tolist()
        for token, count in Counter(tokens).items():
            counts[token] += share * count / len(tokens)
    assert {*stage.config.words} == {token for token, _ in counts.most_common(40)}
    assert [each.text for each in stage.measure(2)[::2]] == ["stories", "code", "questions"]
    assert [tick.step for tick in HeadStage(replace(PLAN, steps=1), target_folder, work=packed_folder).run()] == [1]


def test_a_text_is_given_once_and_in_the_targets_tokens(
    toy_command, target_folder: Path, packed_folder: Path, text: Path, tmp_path: Path
) -> None:
    head = ["head", "eagle", "--target", str(target_folder), "-o", str(tmp_path / "head")]
    other = tmp_path / "work"
    shutil.copytree(packed_folder, other)
    tokens = json.loads((other / "tokenizer.json").read_text())
    (other / "tokenizer.json").write_text(json.dumps(tokens, indent=3))
    for options, words in [
        ([], "Give --text or --work"),
        (["--text", text, "--work", packed_folder], "both --text and --work"),
        (["--work", other], "is not encoded with the tokenizer of"),
        (["--work", tmp_path], "is not encoded with the tokenizer of"),
    ]:
        result = CliRunner().invoke(toy_command, [*head, *map(str, options)])
        assert (result.exit_code, result.output.count("\n")) == (2, 1), result.output
        assert words in result.output
    assert not (tmp_path / "head").exists()


def test_acceptance_is_that_of_the_definition_in_every_text(target_folder: Path, text: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(documents(9) + documents(10), encoding="utf-8")
    stage = HeadStage(replace(PLAN, kind="eagle"), target_folder, [text, other])
    found = stage.measure(2)
    assert [(each.text, each.temperature) for each in found] == [("toy", 0), ("toy", 1), ("other", 0), ("other", 1)]
    rows = torch.from_numpy(validation_rows(stage.text.valid["other"], 2, PLAN.row_length))[:, :-1]
    with torch.no_grad():
        places = stage.head.places(look(stage.target, rows, 0), torch.Generator())
    for place, (logits, wanted) in enumerate(places):
        drafted = np.zeros(wanted.shape)
        drafted[:, list(stage.config.words)] = logits.softmax(-1).numpy()
        agreed = drafted.argmax(1) == wanted.numpy().argmax(1)
        assert found[2].shares[place] == pytest.approx(agreed.mean(), abs=1e-6)
        assert found[3].shares[place] == pytest.approx(np.minimum(drafted, wanted.numpy()).sum(1).mean(), abs=1e-6)


def test_ablations_differ_in_one_thing(target_folder: Path, text: Path) -> None:
    """Without states nothing of the target reaches the head; without its own, training looks at the first place."""
    stage = HeadStage(replace(PLAN, kind="eagle", steps=2, num_rows=2), target_folder, [text])
    whole, blind, first = stage.make_ablations(2)
    assert [each.plan.without for each in (whole, blind, first)] == ["", "states", "own states"]
    rows = torch.from_numpy(stage.text.train["toy"][None, : PLAN.row_length])
    seen = look(stage.target, rows, 0)
    changed = replace(seen, states=[state + 1.0 for state in seen.states])
    with torch.no_grad():
        for each, same in ((stage, False), (blind, True), (first, False)):
            told = [each.head.places(given, torch.Generator())[0][0] for given in (seen, changed)]
            assert torch.equal(*told) == same
    for name, parameter in stage.head.named_parameters():
        assert torch.equal(parameter, dict(first.head.named_parameters())[name])
    losses = [[tick.loss for tick in each.run(report_every=1)] for each in (stage, whole, first)]
    assert losses[0] == losses[1] != losses[2]
    with pytest.raises(InputError, match="leave --ablate out"):
        HeadStage(replace(PLAN, kind="medusa"), target_folder, [text]).make_ablations(1)


def test_the_command_puts_ablations_on_the_card(toy_command, target_folder: Path, text: Path, tmp_path: Path) -> None:
    head = tmp_path / "head"
    options = ["--target", target_folder, "--text", text, "-o", head, "--steps", 2, "--width", 16, "--words", 15]
    result = CliRunner().invoke(toy_command, ["head", "block", *map(str, options), "--write", "2000", "--ablate", "1"])
    assert result.exit_code == 0, result.output
    card = (head / "README.md").read_text()
    wrote = re.search(r"the target wrote ([0-9,]+) tokens", result.output)
    assert wrote is not None
    assert int(wrote[1].replace(",", "")) >= 2000
    assert f"along {wrote[1]} tokens that the target wrote" in card
    own, compared = card.split("each trained for 1 steps")
    assert own.count("| toy |") == compared.count("| toy |") == compared.count("| toy, trained without states |") == 2
    assert own.split("\n\n")[-2].strip() in result.output


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"layers": (0, 2)}, "has layers 1 to 3"),
        ({"layers": (4,)}, "has layers 1 to 3"),
        ({"kind": "medusa", "layers": (1,)}, "reads layer 3"),
        ({"width": 15}, "multiple of 2 heads"),
        ({"length": 24}, "--length is 24; .* Give 23 or less"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_any_work(
    fields: dict, words: str, target_folder: Path, text: Path
) -> None:
    with pytest.raises(InputError, match=words) as error:
        HeadStage(replace(PLAN, **fields), target_folder, [text])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\xff", b"<|endoftext|>\n", b"The fox is too short.\n"])
def test_texts_that_are_none_are_refused(content: bytes, target_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(content)
    with pytest.raises(InputError, match="text") as error:
        HeadStage(PLAN, target_folder, [tmp_path / "bad.txt"])
    assert "\n" not in str(error.value)


def test_layers_that_are_no_numbers_are_refused(toy_command, target_folder: Path, text: Path, tmp_path: Path) -> None:
    options = ["--target", target_folder, "--text", text, "-o", tmp_path / "head", "--layers", "top"]
    result = CliRunner().invoke(toy_command, ["head", "eagle", *map(str, options)])
    assert result.exit_code == 2
    assert "--layers is 'top'" in result.output
    assert not (tmp_path / "head").exists()


def test_a_target_of_a_short_context_gets_a_head(packed_folder: Path, text: Path, tmp_path: Path) -> None:
    """Rows of text are no longer than what the target can read."""
    export_model(GPT2(toy_preset(16).shapes[TARGET]), packed_folder / "tokenizer.json", tmp_path)
    stage = HeadStage(replace(PLAN, row_length=128, steps=1), tmp_path, [text])
    assert [tick.step for tick in stage.run()] == [1]
    assert [len(each.shares) for each in stage.measure(4)] == [LENGTH] * 2
    with pytest.raises(InputError, match="--length is 16"):
        HeadStage(replace(PLAN, row_length=128, length=16), tmp_path, [text])


@pytest.mark.parametrize("taken", ["a file", "the target", "other files", "below a file"])
def test_a_head_replaces_nothing_but_a_head(
    taken: str, toy_command, target_folder: Path, text: Path, tmp_path: Path
) -> None:
    """It is refused before the training, and whatever is there stays as it is."""
    place = tmp_path / "place"
    if taken == "the target":
        place = target_folder
    elif taken == "other files":
        place.mkdir()
        (place / "model.safetensors").write_text("mine")
    else:
        place.write_text("mine")
    before = {path: path.read_bytes() for path in [place, *place.glob("*")] if path.is_file()}
    output = place / "head" if taken == "below a file" else place
    options = ["--target", target_folder, "--text", text, "-o", output, "--width", 16, "--steps", 1]
    result = CliRunner().invoke(toy_command, ["head", "eagle", *map(str, options)])
    assert result.exit_code == 2
    assert result.output.startswith("error: ")
    assert result.output.count("\n") == 1
    assert "step 1/1" not in result.output
    assert {path: path.read_bytes() for path in [place, *place.glob("*")] if path.is_file()} == before


def test_a_head_may_be_trained_again_into_its_folder(target_folder: Path, text: Path, tmp_path: Path) -> None:
    for kind in KINDS:
        HeadStage(replace(PLAN, kind=kind), target_folder, [text]).export(tmp_path, [])
        assert json.loads((tmp_path / "config.json").read_text())["kind"] == kind


def test_attention_of_one_row_in_half_precision_is_near_that_of_float64() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(3, 2, count, 8).bfloat16() for count in (1, 40, 40))
    exact = torch.softmax((query.double() @ key.double().transpose(-1, -2)) / 8**0.5, dim=-1) @ value.double()
    torch.testing.assert_close(attend(query, key, value, causal=False).double(), exact, atol=0.02, rtol=0.02)
