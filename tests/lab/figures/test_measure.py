"""The like-for-like experiment: alike in all but one thing, exact where it can be, and safe to interrupt."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import joblib
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from minispec.engine.backends import threads
from minispec.engine.files import HeldFile
from minispec.engine.generation import generate
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import CHECKSUMS, bundled_folders
from minispec.engine.model import GPT2
from minispec.errors import OptionError, OutputError
from minispec.lab.measure.record import Record
from minispec.lab.measure.report import prompt_table, tables, to_csv, to_dict, to_markdown
from minispec.lab.measure.summary import summarise
from minispec.lab.measure.sweep import Journal, Load, Sweep, fingerprints, run_unit, run_units
from minispec.lab.prompts import Prompt
from minispec.lab.simulate import CostedModel, CostModel, SimulatedClock
from tests.tiny import write_model

PROMPTS = (
    Prompt("the end", "a", "stories"),
    Prompt("them", "b", "code"),
    Prompt("these", "c", "questions", "10"),
)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("models")
    return (
        str(write_model(folder / "target", seed=1, scale=0.3)),
        str(write_model(folder / "draft", seed=1, n_layer=1, scale=0.3)),
    )


@pytest.fixture(scope="module")
def sweep(names: tuple[str, str]) -> Sweep:
    return Sweep(
        PROMPTS,
        (names[0],),
        (names[1], "ngram"),
        (1, 3),
        (0.0, 1.0),
        max_tokens=10,
        repeats=0,
        options={"backend": "numpy"},
    )


@pytest.fixture(scope="module")
def records(sweep: Sweep) -> list[Record]:
    return [record for unit in run_units(sweep, list(sweep.units())) for record in unit]


def told(records: list[Record]) -> list[str]:
    """Return records in a form that has no tuples or lists in it, to compare."""
    return sorted(json.dumps(dataclasses.asdict(record), sort_keys=True) for record in records)


def test_a_total_is_that_of_the_median_round(records: list[Record]) -> None:
    """And no sum of the medians of its parts, which may be of several rounds."""
    plain = {"prefill_s": (1.0, 2.0, 9.0), "decode_s": (9.0, 1.0, 2.0)}  # 10, 3, 11; the parts' medians are 2 and 2
    drafted = {"prefill_s": (1.0, 1.0, 1.0), "decode_s": (4.0, 4.0, 4.0)}
    found = summarise([dataclasses.replace(r, **(plain if r.variant.plain else drafted)) for r in records])
    assert {each.total_speedup.value for each in found if not each.variant.plain} == {2.0}
    assert {each.speedup.value for each in found if not each.variant.plain} == {0.5}
    assert {each.total_s["p50"] for each in found} == {10.0, 5.0}
    rounds = dataclasses.replace(records[0], **plain, draft_s=(0.0, 0.0, 6.0), target_s=(1.0, 1.0, 7.0)).totals
    assert (rounds.prefill_s, rounds.decode_s, rounds.draft_s, rounds.target_s) == (2.0, 2.0, 0.0, 1.0)


def timed(sweep: Sweep, costs: CostModel) -> list[Record]:
    """Run a sweep on a simulated machine."""
    clock = SimulatedClock()

    def load(name: str, role: str) -> CostedModel:
        model = load_model(name, backend="numpy")
        return CostedModel(model, clock, costs.target_cost if role == "target" else costs.draft_cost)

    return [record for unit in sweep.units() for record in run_unit(sweep, unit, load, clock)]


def test_every_run_of_a_prompt_is_alike(sweep: Sweep, records: list[Record]) -> None:
    assert len(records) == len(PROMPTS) * 2 * (1 + 2 * 2)
    assert {record.num_tokens for record in records} == {10}
    for unit in sweep.units():
        seeds = {sweep.engine_options(variant, unit.seed)["seed"] for variant in unit.variants}
        assert seeds == {unit.seed}
        assert [variant.plain for variant in unit.variants] == [True, False, False, False, False]
    seeds_of = {unit.prompt.id: unit.seed for unit in sweep.units()}
    assert len(set(seeds_of.values())) == len(PROMPTS)


def test_lengths_are_equal_where_the_model_would_end_early(names: tuple[str, str]) -> None:
    class Eager:
        """Half of the vocabulary ends the text."""

        def __init__(self, model: GPT2) -> None:
            self._model = model
            self.eos_token_id = frozenset(range(0, model.vocab_size, 2))

        def __getattr__(self, name: str) -> object:
            return getattr(self._model, name)

    def load(name: str, role: str) -> Eager:
        return Eager(load_model(name, backend="numpy"))

    made = Sweep(PROMPTS, (names[0],), (names[1],), max_tokens=12, repeats=0, options={"backend": "numpy"})
    lengths = [record.num_tokens for unit in made.units() for record in run_unit(made, unit, load)]
    assert set(lengths) == {12}
    free = [
        generate(p.text, target=load(names[0], ""), draft=None, seed=i, max_tokens=12) for i, p in enumerate(PROMPTS)
    ]
    assert min(len(run.token_ids) for run in free) < 12  # the control: left to itself it stops


def test_tokens_are_accounted_for(records: list[Record]) -> None:
    for record in records:
        own = record.num_accepted_tokens + record.num_recovered_tokens + record.num_bonus_tokens
        assert record.num_decode_tokens == record.num_tokens - 1 >= own  # the first token is none of its steps'
        assert record.num_evaluated_tokens == record.num_accepted_tokens + record.num_recovered_tokens
        assert sum(record.accepted_per_pos) == record.num_accepted_tokens
        assert sum(record.evaluated_per_pos) == record.num_evaluated_tokens
        assert record.num_draft_tokens >= record.num_evaluated_tokens
    for summary in summarise(records, by_domain=True):
        counts = summary.counts
        assert counts["drafted"] == counts["accepted"] + counts["rejected"]
        assert summary.mean_acceptance_length.value == (counts["emitted"] - summary.num_prompts) / counts["steps"]


@pytest.mark.parametrize(
    ("draft", "gamma", "verify", "low", "high"),
    [("ngram", 3, "rejection", 1.0, 4.0), ("ngram", "auto", "rejection", 1.0, None), ("tree", 3, "tree", 1.0, None)],
)
def test_tokens_per_step_lie_where_they_can(
    records: list[Record], draft: str, gamma: int | str, verify: str, low: float, high: float | None
) -> None:
    """Two prompts that differ as much as they can: by themselves they say nothing."""
    first, other = [r for r in records if r.draft is None and r.temperature == 0.0][:2]
    made = [first, other]
    for record, steps in ((first, 9), (other, 3)):
        made.append(dataclasses.replace(record, draft=draft, gamma=gamma, verify=verify, num_steps=steps))
    plain, found = (summary.mean_acceptance_length for summary in summarise(made))
    assert plain == (1.0, 1.0, 1.0)
    assert found.low == low
    assert found.high is not None
    assert found.high == high if high is not None else found.high > 4.0


def test_the_log_likelihood_is_the_targets_own(sweep: Sweep, records: list[Record]) -> None:
    model = load_model(sweep.targets[0], backend="numpy")
    assert model.tokenizer is not None
    for record in (r for r in records if r.draft is not None and "draft" in r.draft):
        unit = next(u for u in sweep.units() if u.name == (record.target, record.temperature, record.prompt_id))
        options = sweep.engine_options(record.variant, unit.seed)
        tokens = generate(
            unit.prompt.text, target=model, draft=load_model(record.draft or "", "numpy"), **options
        ).token_ids
        prompt = model.tokenizer.encode(unit.prompt.text)
        logits = model.logits([*prompt, *tokens]).astype(np.float64)[len(prompt) - 1 : -1]
        logprobs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        assert record.logprob == pytest.approx(logprobs[range(len(tokens)), tokens].sum(), abs=1e-3)


def test_with_free_drafts_and_free_verification_the_speedup_is_tau(names: tuple[str, str]) -> None:
    made = Sweep(PROMPTS, (names[0],), (names[1],), (1, 3), (1.0,), max_tokens=12, repeats=2)
    for summary in summarise(timed(made, CostModel(0.0, 0.0))):
        if not summary.variant.plain:
            assert summary.speedup.value == pytest.approx(summary.mean_acceptance_length.value)
            assert summary.num_timings == 2 * len(PROMPTS)
            assert summary.step_s == {"p50": 1.0, "p90": 1.0, "p99": 1.0}


def test_costs_make_the_speedup_they_should(names: tuple[str, str]) -> None:
    """Ratio of sums: tokens behind the first over the charged seconds; the control charges nothing for verification."""
    made = Sweep(PROMPTS, (names[0],), (names[1],), (3,), (1.0,), max_tokens=12, repeats=1)
    dear, cheap = (summarise(timed(made, CostModel(0.1, row)))[1] for row in (0.5, 0.0))
    records = [record for record in timed(made, CostModel(0.1, 0.5)) if record.draft is not None]
    rows = sum(record.num_steps + record.num_draft_tokens for record in records)
    verify = sum(r.num_steps for r in records) + 0.5 * (rows - sum(r.num_steps for r in records))
    drafting = sum(sum(r.draft_s) for r in records)
    assert dear.speedup.value == pytest.approx(sum(r.num_decode_tokens for r in records) / (verify + drafting))
    assert dear.speedup.value != pytest.approx(cheap.speedup.value)


def test_what_the_draft_model_reads_is_in_the_first_wait_and_in_the_time_per_token(names: tuple[str, str]) -> None:
    """It reads the prompt behind the first token: whoever reads the text waits for that once."""
    long = Prompt("the end " * 3, "long", "stories")
    made = Sweep((long,), (names[0],), (names[1],), (3,), (0.0,), max_tokens=12, repeats=1)
    (plain, drafted) = timed(made, CostModel(0.1, 0.0))
    (reading,), (ttft,) = drafted.prefill_s, drafted.ttft_s
    assert reading - ttft == pytest.approx(0.1)
    assert drafted.tpot_s == pytest.approx([sum(drafted.step_s) / drafted.num_decode_tokens])
    assert sum(drafted.step_s) == pytest.approx(drafted.decode_s[0] + 0.1)
    assert drafted.step_s[0] == pytest.approx(drafted.step_s[1] + 0.1)
    assert sum(plain.step_s) == pytest.approx(plain.decode_s[0])


def test_texts_of_one_token_have_no_steps_to_speak_of(names: tuple[str, str]) -> None:
    """The prefill gives that token: what there is to say of steps is nothing, and all else is said."""
    made = Sweep(PROMPTS, (names[0],), (names[1],), (3,), (0.0,), max_tokens=1, repeats=2)
    records = timed(made, CostModel(0.1, 0.5))
    assert {(r.num_tokens, r.num_decode_tokens, r.num_steps) for r in records} == {(1, 0, 0)}
    plain, drafted = summarise(records)
    for summary in (plain, drafted):
        assert summary.mean_acceptance_length.value is summary.s_per_token.value is summary.speedup.value is None
        assert (summary.step_s, summary.tpot_s, summary.doubts) == (None, None, [])
        assert summary.ttft_s is not None
    assert drafted.total_speedup.value == 1.0  # no draft was ever needed, and no draft model read a prompt
    assert [row[4:] for row in prompt_table(records)[1]] == [("–", "–", "–", "yes")] * len(PROMPTS)
    for table in tables([plain, drafted]).values():
        assert table[1]


def test_identity_is_promised_and_kept_or_the_report_shows_it(names: tuple[str, str]) -> None:
    made = Sweep(PROMPTS, (names[0],), (names[1],), (3,), (0.0,), max_tokens=12, repeats=0)

    def quality(load: Load) -> tuple[str, ...]:
        found = summarise([record for unit in made.units() for record in run_unit(made, unit, load)])
        return tables(found)["Quality"][1][1]

    def honest(name: str, role: str) -> GPT2:
        return load_model(name)

    turn = itertools.count()

    def swapped(name: str, role: str) -> GPT2:
        """The control: another target as soon as drafts come in."""
        other = role == "target" and next(turn) % 2 == 1
        return load_model(names[1] if other else name)

    assert "3 of 3, promised" in quality(honest)
    assert "3 of 3, promised" not in quality(swapped)


def test_an_interruption_costs_one_unit_at_most(sweep: Sweep, records: list[Record], tmp_path: Path) -> None:
    units = list(sweep.units())
    key = sweep.key(fingerprints(sweep))
    path = tmp_path / "journal.jsonl"
    with HeldFile(path) as file:
        first = Journal(file, key)
        for done in itertools.islice(run_units(sweep, units), 2):
            first.add(done)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"records": [{"target"')  # a line that was being written

    with HeldFile(path) as file:
        second = Journal(file, key)
        missing = second.missing(units)
        assert len(missing) == len(units) - 2
        for done in run_units(sweep, missing):
            second.add(done)
    with HeldFile(path) as file:
        whole = Journal(file, key)
    assert whole.missing(units) == []
    assert told([record for unit in units for record in whole.units[unit.name]]) == told(records)


def changed(sweep: Sweep) -> Iterator[Sweep]:
    other = Prompt("another", "z")
    yield dataclasses.replace(sweep, prompts=(*sweep.prompts[:2], other))
    yield dataclasses.replace(sweep, prompts=sweep.prompts[::-1])
    yield dataclasses.replace(sweep, gammas=(1,))
    yield dataclasses.replace(sweep, drafts=("ngram",))
    yield dataclasses.replace(sweep, temperatures=(1.0, 0.0))
    yield dataclasses.replace(sweep, verifies=("match",))
    yield dataclasses.replace(sweep, max_tokens=11)
    yield dataclasses.replace(sweep, seed=1)
    yield dataclasses.replace(sweep, repeats=1)
    yield dataclasses.replace(sweep, options={"backend": "numpy", "top_p": 0.5})


def test_sweeps_that_are_not_alike_refuse_one_journal(
    sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prints = fingerprints(sweep)
    key = sweep.key(prints)
    assert key == dataclasses.replace(sweep).key(dict(reversed(prints.items())))
    path = tmp_path / "journal.jsonl"
    with HeldFile(path) as file:
        Journal(file, key)
    content = path.read_bytes()
    keys = [other.key(prints) for other in changed(sweep)]
    keys.append(sweep.key(prints | {next(iter(prints)): "another model of that name"}))
    with monkeypatch.context() as patch:
        patch.setattr(threads, "num_threads", lambda: threads.max_threads() + 1)
        keys.append(sweep.key(prints))
    for other in keys:
        with pytest.raises(OutputError, match="another sweep"), HeldFile(path) as file:
            Journal(file, other)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        b"once upon a time\n",
        b"{}\n",
        b"[1]\n",
        b'{"minispec measure": "k"}\n{}\n',
        b'{"minispec measure": 5}\n',
        b'{"minispec measure": "k"}\n{"records": []}\n',
    ],
)
def test_what_is_no_journal_is_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(OutputError, match="is no journal"), HeldFile(path) as file:
        Journal(file, "k")
    assert path.read_bytes() == content


def test_models_of_one_name_are_told_apart(sweep: Sweep, names: tuple[str, str]) -> None:
    def swapped(name: str, role: str) -> GPT2:
        return load_model(names[1] if name == names[0] else names[0], "numpy")

    mine, others = fingerprints(sweep), fingerprints(sweep, swapped)
    assert mine.keys() == others.keys()
    assert all(mine[name] != others[name] for name in mine)


def test_a_model_is_told_from_one_that_differs_in_what_one_token_alone_does_not_show(tmp_path: Path) -> None:
    """Queries and keys, and every position but the first: of one token the logits are the same."""

    def prints(*, in_memory: bool) -> str:
        def load(name: str, role: str) -> GPT2:
            model = load_model(name, "numpy")
            return dataclasses.replace(model, folder=None) if in_memory else model

        return fingerprints(Sweep(PROMPTS, (str(folder),), ("ngram",)), load)[f"target {folder}"]

    folder = write_model(tmp_path / "model", seed=1)
    path = folder / "model.safetensors"
    before = [prints(in_memory=each) for each in (False, True)]
    assert before == [prints(in_memory=each) for each in (False, True)]
    for name, part in (("h.0.attn.c_attn.weight", np.s_[:, :32]), ("wpe.weight", np.s_[1:])):
        tensors = load_file(path)
        tensors[f"transformer.{name}"][part] *= 2
        save_file(tensors, path)
        after = [prints(in_memory=each) for each in (False, True)]
        assert [one == other for one, other in zip(before, after, strict=True)] == [False, False], name
        before = after


@pytest.mark.parametrize(
    ("draft", "file"),
    [
        ("tree:draft=FOLDER,shape=2x1", "config.json"),
        ("cascade:draft=FOLDER", "model.safetensors"),
        ("forced:draft=FOLDER", "tokenizer.json"),
        ("forced:draft=unigram:text=FOLDER/a.txt", "a.txt"),
        ("suffix:corpus=FOLDER/a.txt", "a.txt"),
        ("bigram:text=FOLDER/a.txt", "a.txt"),
        ("block:head=HEAD", "config.json"),
        ("tree:draft=block:head=HEAD,shape=2x1", "model.safetensors"),
    ],
)
def test_a_file_that_a_draft_names_makes_another_sweep(draft: str, file: str, tmp_path: Path) -> None:
    """Negative control: with nothing changed the key is the same."""
    folder = write_model(tmp_path / "model")
    (folder / "a.txt").write_text("the end", encoding="utf-8")
    if "HEAD" in draft:
        own = bundled_folders()["target-17m"] / "block"
        folder = Path(shutil.copytree(own, tmp_path / "head", ignore=lambda *_: [CHECKSUMS]))
    draft = draft.replace("FOLDER", str(folder)).replace("HEAD", str(folder))
    verify = "tree" if draft.startswith("tree") else "rejection"
    made = Sweep(PROMPTS, ("target-17m",), (draft,), verifies=(verify,), repeats=0)
    before = made.key(fingerprints(made))
    assert before == made.key(fingerprints(made))
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if "safetensors" in file else content + b" ")
    assert before != made.key(fingerprints(made))


def test_a_trace_that_a_length_names_makes_another_sweep(tmp_path: Path) -> None:
    """Negative control: with nothing changed the key is the same."""
    trace = tmp_path / "t.jsonl"
    event = {"event": "drafted", "step": 1, "tokens": [1, 2]}
    trace.write_text(json.dumps(event), encoding="utf-8")
    made = Sweep(PROMPTS, ("target-17m",), ("ngram",), gammas=(f"replay:trace={trace}",), repeats=0)
    before = made.key(fingerprints(made))
    assert before == made.key(fingerprints(made))
    trace.write_text(json.dumps(event | {"tokens": [1]}), encoding="utf-8")
    assert before != made.key(fingerprints(made))


def test_jobs_change_nothing_but_the_order(sweep: Sweep, records: list[Record]) -> None:
    with joblib.parallel_config("threading"):
        found = [record for unit in run_units(sweep, list(sweep.units()), jobs=2) for record in unit]
    assert told(found) == told(records)


def test_jobs_do_not_measure_time(sweep: Sweep) -> None:
    with pytest.raises(OptionError, match="cannot measure time"):
        next(run_units(dataclasses.replace(sweep, repeats=1), [], jobs=2))
    for jobs in (0, -2):
        with pytest.raises(OptionError, match="jobs is"):
            next(run_units(sweep, [], jobs=jobs))


@pytest.mark.parametrize(
    "fields",
    [
        {"prompts": ()},
        {"gammas": (2, 2)},
        {"gammas": (-1,)},
        {"temperatures": (-1.0,)},
        {"verifies": ("guess",)},
        {"drafts": ("ngram:m=3",)},
        {"drafts": ("tree:shape=2x1",)},
        {"max_tokens": 0},
        {"repeats": -1},
        {"options": {"fallback": "session"}},
    ],
)
def test_nonsense_is_refused_before_anything_is_loaded(sweep: Sweep, fields: dict[str, object]) -> None:
    with pytest.raises(OptionError) as caught:
        dataclasses.replace(sweep, **fields)
    assert "\n" not in str(caught.value)


def test_what_is_written_can_be_read_back(sweep: Sweep, records: list[Record]) -> None:
    summaries = summarise(records, by_domain=True)
    report = json.loads(json.dumps(to_dict(sweep, records, summaries, {"cpu": "a | b"}), allow_nan=False))
    assert len(report["records"]) == len(records)
    assert report["summaries"][1]["alpha"].keys() == {"value", "low", "high"}
    rows = list(csv.DictReader(io.StringIO(to_csv(records))))
    assert [row["prompt_id"] for row in rows] == [record.prompt_id for record in records]
    assert [int(row["num_steps"]) for row in rows] == [record.num_steps for record in records]
    page = to_markdown(sweep, summaries, {"cpu": "x"})
    for block in page.split("\n\n"):
        if block.startswith("|"):
            assert len({line.replace("\\|", "").count("|") for line in block.splitlines()}) == 1
    assert "Time" not in tables(summaries)
    assert len(tables(summaries)["Acceptance"][1]) == 2 * 4 * (1 + 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_local_dask_cluster_takes_the_work(sweep: Sweep, records: list[Record]) -> None:
    distributed = pytest.importorskip("dask.distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        found = [record for unit in run_units(sweep, list(sweep.units()), jobs=-1) for record in unit]
    assert told(found) == told(records)
