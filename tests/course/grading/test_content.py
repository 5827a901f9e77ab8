"""The assignments' content, in this process: what they catch, what they name, and that our solutions are right.

`test_assignments.py` holds them to the rules through workers.
"""

from __future__ import annotations

import ast
import doctest
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from minispec import theory
from minispec.course.grading.catalogue import Overlay
from minispec.course.grading.check import Check
from minispec.course.grading.diagnose import Anew, Reference, diagnose, run_anew
from minispec.course.grading.host import Host, encode, load
from minispec.course.grading.manifest import Assignment, load_assignment
from minispec.course.grading.observe import Failed, difference, observe, observe_all
from minispec.course.grading.subject import LocalSubject
from minispec.engine.batching import Engine
from minispec.engine.control import FixedGamma
from minispec.engine.generation.events import Finished
from minispec.engine.generation.stopping import Limits, Stopper
from minispec.engine.loading import load_model
from minispec.engine.model.toy import TableModel
from minispec.lab.simulate import CostModel, Text, cost_per_token

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # submissions divide by zero

REPOSITORY = Path(__file__).resolve().parents[3]
ALL = ("a1", "a2", "a3", "a4", "a5", "a6")
FAST, SLOW = ("a3", "a4", "a6"), ("a1", "a2", "a5")
EVERY_SPEED = [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


@cache
def reference(name: str) -> Reference:
    return Reference(load_assignment(name))


def subject(assignment: Assignment, source: str) -> LocalSubject:
    return LocalSubject(source, assignment.module)


def failing(name: str, source: str, only: str = "") -> dict[str, dict[str, list]]:
    """Return the failing checks, each with what was seen on all checks of its question."""
    known, told = reference(name), {}
    student = subject(known.assignment, source)
    for question in known.assignment.questions:
        if only and not only.startswith(question.id + "."):
            continue
        checks = [known.assignment.checks[info.id] for info in question.checks]
        seen = {check.id: observe_all(check, student, check.cases) for check in checks}
        for check in checks:
            pairs = zip(seen[check.id], known.expect(check), strict=False)
            if any(difference(check, ours, right) for ours, right in pairs):
                told[check.id] = seen
    return told


def drawn_anew(check: Check, student: LocalSubject) -> Callable[[], Anew]:
    """Return what draws cases and runs a submission on them, always the same."""
    return lambda: run_anew(check, student, np.random.default_rng(1))


def named(name: str, source: str, only: str = "") -> dict[str, str]:
    """Return the failing checks and what the mistake is called in each."""
    known, called = reference(name), {}
    student = subject(known.assignment, source)
    for failed, seen in failing(name, source, only).items():
        check = known.assignment.checks[failed]
        found = diagnose(known, seen, check, drawn_anew(check, student))
        called[failed] = found.mistake.name if found else ""
    return called


def overlays(name: str, catalogue: str) -> list[Overlay]:
    return load_assignment(name).overlays(catalogue)


# The starter, the solution, correct variants.


@pytest.mark.parametrize("name", ALL)
def test_the_starter_gains_nothing(name):
    assignment = load_assignment(name)
    starter = subject(assignment, assignment.starter)
    for check in assignment.checks.values():
        seen = observe_all(check, starter, check.cases)
        assert any(isinstance(one, Failed) and one.kind == "not implemented" for one in seen), check.id


@pytest.mark.parametrize("name", ALL)
def test_the_solution_is_plain_numpy_and_its_examples_hold(name):
    assignment = load_assignment(name)
    tree = ast.parse(assignment.solution)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"numpy", "codecs", "itertools", "statistics"}
    module = load(assignment.module, assignment.solution, f"{name}/solution.py")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", [*FAST, "a1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("a2", "a5"))])
def test_correct_variants_pass_every_check_on_hidden_cases_too(name):
    known = reference(name)
    variants = {one.name: subject(known.assignment, one.source) for one in overlays(name, "correct")}
    assert len(variants) >= (5 if name != "a5" else 2)
    for check in known.assignment.checks.values():
        hidden = (
            [case for seed in range(2) for case in check.hidden(np.random.default_rng(seed))] if check.hidden else []
        )
        cases = [*check.cases, *hidden]
        expected = known.expect_on(check, cases)
        for variant, student in variants.items():
            for case, right in zip(cases, expected, strict=True):
                assert difference(check, observe(check, student, case), right) is None, (check.id, variant)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_public_tests_pass_on_the_solution_and_all_fail_on_the_starter(name, tmp_path):
    """With NumPy and pytest alone, as a student runs them."""
    assignment = load_assignment(name)
    for folder, source, wanted in (("right", assignment.solution, "passed"), ("starter", assignment.starter, "failed")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / assignment.entry).write_text(source, encoding="utf-8")
        tests = f"test_{assignment.module}.py"
        shutil.copy(assignment.folder / tests, tmp_path / folder)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests]
        run = subprocess.run(command, cwd=tmp_path / folder, capture_output=True, text=True, check=False)
        assert re.fullmatch(rf"\d+ {wanted} in .*", run.stdout.splitlines()[-1]), run.stdout


# Wrong submissions.


@pytest.mark.parametrize("name", EVERY_SPEED)
def test_every_mistake_of_the_catalogue_fails_its_check_and_is_called_by_its_name(name):
    catalogue = overlays(name, "mutants")
    assert len(catalogue) >= (12 if name != "a5" else 5)
    wrong = {one.name: named(name, one.source, only=one.fails).get(one.fails) for one in catalogue}
    assert {mistake: called for mistake, called in wrong.items() if called != mistake} == {}


@pytest.mark.parametrize("name", ALL)
def test_every_mistake_of_the_catalogue_says_a_sentence(name):
    """One had been cut to "p - q"."""
    catalogue = overlays(name, "mutants")
    assert [one.name for one in catalogue if len(one.what.split()) < 3 or not one.what.endswith((".", ")"))] == []
    assert [one.name for one in catalogue if one.mistake is not None] == []  # that is for what is held out


@pytest.mark.parametrize("name", ["a1", "a2"])
def test_a_sample_of_the_catalogue_fails_its_check(name):
    for one in overlays(name, "mutants")[::8]:
        assert one.fails in failing(name, one.source, only=one.fails), one.name


def test_decoding_without_the_cache_costs_points_and_a_slow_cache_costs_them_once():
    catalogue = {one.name: one.source for one in overlays("a1", "mutants")}
    assert list(failing("a1", catalogue["generate_without_cache"])) == ["a1.q7.cost"]
    assert "a1.q7.cost" not in failing("a1", catalogue["cache_recomputed"])


ESTIMATE = """
def estimate(drafted, accepted):
    judged = sum(min(a + 1, d) for d, a in zip(drafted, accepted))
    shares = [a / d for d, a in zip(drafted, accepted) if d]
    return ({rate} if shares else None), (sum(accepted) / judged if judged else None)
"""


@pytest.mark.parametrize(
    ("rate", "name"),
    [
        ("sum(shares) / len(shares)", "estimate_mean_of_steps"),
        ("(sum(accepted) + len(accepted)) / sum(drafted)", "estimate_counts_the_bonus"),
        ("sum(accepted) ** 2 / sum(drafted)", ""),
    ],
)
def test_a_mistake_is_known_by_the_one_figure_it_is_in(rate, name):
    """The catalogue's have it in both figures. What is wrong in another way stays without a name."""
    source = load_assignment("a3").solution + ESTIMATE.replace("{rate}", rate)
    assert named("a3", source, only="a3.q3.estimate") == {"a3.q3.estimate": name}


def published(name: str) -> tuple[int, ...]:
    """Return the row of the lab note's table."""
    page = (REPOSITORY / "docs" / "lab-notes" / "grader.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| {name.upper()} | ") and line.count("|") == 7)
    return tuple(int(cell) for cell in row.split("|")[2:-1])


@pytest.mark.parametrize(
    "name", ["a3", "a4", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("a1", "a2", "a6"))]
)
def test_held_out_mistakes_are_caught_and_most_are_named(name):
    """At least 97 % caught and 60 % of those named; a mistake the catalogue has no name for counts as not named."""
    known = overlays(name, "mutants")
    tried = overlays(name, "held_out")
    assert len(tried) >= 15
    assert not {one.source for one in tried} & {one.source for one in known}
    called = {one.name: (one, named(name, one.source)) for one in tried}
    caught = [(one, mistakes) for one, mistakes in called.values() if mistakes]
    right = [one.name for one, mistakes in caught if one.mistake and one.mistake in mistakes.values()]
    print(f"{name}: {len(caught)} of {len(tried)} caught, {len(right)} of these named")
    assert len(caught) >= 0.97 * len(tried), sorted(set(called) - {one.name for one, _ in caught})
    assert len(right) >= 0.6 * len(caught), sorted({one.name for one, _ in caught} - set(right))
    counts = len(tried), len(caught), len(right), len(known), len(overlays(name, "correct"))
    assert counts == published(name), "the table in docs/lab-notes/grader.md has other counts"


def test_of_all_held_out_mistakes_three_quarters_are_named():
    """By the guide's table, whose rows the tests above hold to what they count."""
    tried, caught, right, _, _ = map(sum, zip(*map(published, ("a1", "a2", "a3", "a4", "a6")), strict=True))
    assert tried >= 300
    assert caught >= 0.97 * tried
    assert right >= 0.75 * tried


def test_an_adapter_is_called_instead_of_the_function_it_names():
    solution = load("a2", *_source("a2", "solution.py"))
    adapters = load("adapters", "def residual(p, q):\n    return 'adapted'\n", "adapters.py")
    host = Host([solution, adapters], lambda asked: None, "")
    for name, wanted in (("residual", {"is": "value", "value": "adapted"}), ("accept", {"is": "value", "value": True})):
        args = [encode(np.array([0.5, 0.5]))] * 2 + ([0, 0.5] if name == "accept" else [])
        assert host.handle({"do": "call", "name": name, "keep": False, "args": args, "kwargs": []}) == wanted


# The solutions against the package: two writings of the same thing.


def test_a1s_forward_is_the_packages():
    solution = load("a1", *_source("a1", "solution.py"))
    model = load_model("draft-0.6m", backend="numpy")
    tensors = load_file(REPOSITORY / "weights" / "draft-0.6m" / "model.safetensors")
    params = {name.removeprefix("transformer."): tensor.astype(np.float64) for name, tensor in tensors.items()}
    params |= {"wte": params["wte.weight"], "wpe": params["wpe.weight"]}
    tokens = [3, 141, 59, 26, 5]
    found = solution.forward(params, model.config.n_head, tokens)
    np.testing.assert_allclose(found, model.logits(tokens), rtol=1e-3, atol=1e-3)


def test_a1s_greedy_texts_leave_rounding_no_say():
    checks, solution = load("a1_checks", *_source("a1", "checks.py")), load("a1", *_source("a1", "solution.py"))
    for seed in checks.CLEAR:
        case = checks.text_case(seed, 9)
        params, n_head = checks.model_of(case)
        text = case["prompt"] + solution.generate(params, n_head, case["prompt"], 9)
        best = np.sort(solution.forward(params, n_head, text[:-1])[len(case["prompt"]) - 1 :])
        assert np.min(best[:, -1] - best[:, -2]) > 0.05, seed


def _source(name: str, file: str) -> tuple[str, str]:
    path = load_assignment(name).folder / file
    return path.read_text(encoding="utf-8"), str(path)


def test_a3s_formulas_are_the_packages():
    solution = load("a3", *_source("a3", "solution.py"))
    for alpha, gamma, c in ((0.0, 3, 0.1), (0.7, 4, 0.2), (1.0, 2, 0.3), (0.9, 7, 0.05)):
        verify = [1.0 + 0.1 * m for m in range(9)]

        def v(rows: float, verify=verify) -> float:
            return verify[int(rows) - 1]

        tau, law = theory.tau(alpha, gamma), theory.tokens_law(alpha, gamma)
        assert solution.tau(alpha, gamma) == pytest.approx(tau)
        assert solution.tokens_law(alpha, gamma) == pytest.approx(law.probs[1:])
        assert solution.speedup(alpha, gamma, c, verify) == pytest.approx(theory.speedup(tau, gamma, c, v))
        assert solution.best_gamma(alpha, c, verify) == theory.best_gamma(alpha, c, v, max_gamma=8).gamma
        assert solution.expected_steps(13, alpha, gamma) == pytest.approx(theory.expected_steps(13, law))
    ridge = theory.ridge_tokens(4e11, 4e10, 4)
    assert solution.ridge_rows(4e11, 4e10, 4) == pytest.approx(ridge)
    batched = theory.roofline_verify_cost(8, ridge)
    assert solution.roofline_verify_cost(8, 6, ridge) == pytest.approx([batched(m) for m in range(1, 7)])


def test_a4s_room_is_the_engines():
    solution = load("a4", *_source("a4", "solution.py"))
    for max_tokens, n_positions in ((3, 99), (9, 7)):
        stopper = Stopper(Limits(max_tokens, n_positions), None, 2)
        while stopper.room > 0:
            drafts = solution.num_drafts(4, stopper.num_tokens, max_tokens, 2, n_positions)
            assert drafts == min(4, stopper.room - 1)
            stopper.push(5, "plain")


@pytest.mark.parametrize(("pages", "max_running"), [(40, 2), (9, 4), (7, 3)])
def test_a6s_schedule_is_the_engines(pages: int, max_running: int) -> None:
    """Step for step, until the last request has ended: who runs, who waits, and who is set back.

    A prompt's last token, which waits for a step of its own in a6, is here the first that the engine draws: what it has
    read of a prompt gives it that in the same step.
    """
    solution, checks = load("a6", *_source("a6", "solution.py")), load("a6_checks", *_source("a6", "checks.py"))
    loads = [(0, 4, 9), (1, 3, 3), (2, 4, 14), (3, 2, 12), (4, 4, 6)]  # arrival, prompt, tokens
    model = TableModel(4, n_positions=64)
    slot = model.new_cache(capacity=1)
    memory = 4 * pages * (slot.keys.nbytes + slot.values.nbytes)
    engine = Engine(model, max_running=max_running, kv_memory=memory, page_size=4, max_rows=999)
    seen: dict[int, int] = {}
    for step in range(99):
        for number, (arrival, prompt, tokens) in enumerate(loads):
            if arrival == step:  # no prompt fills a page, so none is shared, also not with itself after a setback
                engine.add([number % 4] * (prompt - 1), draft=None, max_tokens=tokens + 1)
        for number, event in engine.step():
            if isinstance(event, Finished):
                seen[number] = step
        if len(seen) == len(loads):
            break
    case = checks.run_of(
        [(*each, 0) for each in loads], pages, max_running=max_running, max_rows=999, chunk=64, page_size=4
    )
    told = checks.simulate(solution.schedule, case)
    assert told["broken"] == ""
    assert told["ended"] == seen
    assert len(told["set back"]) == engine.num_preemptions


def test_a5s_leaderboard_shows_the_measure_its_handout_names():
    assignment = load_assignment("a5")
    (ranked,) = [check for check in assignment.checks.values() if check.leaderboard is not None]
    handout = (assignment.folder / "HANDOUT.md").read_text(encoding="utf-8")
    assert f"The ranking is by cost per token of {ranked.id}, lowest first" in handout
    assert ranked.leaderboard({"cost per token": 0.405, "bar": 0.5}) == {"cost per token": 0.405}


def test_a5_says_which_kind_of_step_loses():
    """A plain step costs 1 a token; what the steps of all kinds cost is what the text costs."""
    checks = load("a5_checks", *_source("a5", "checks.py"))
    case, tally = checks.case(checks.DEAR, ("prose",)), {}
    paid = checks.cost(case, checks.fixed(3), tally)
    assert paid == pytest.approx(sum(one[1] for one in tally.values()) / sum(one[2] for one in tally.values()))
    for steps, name in (
        ({"drafts": [9, 30.0, 20], "plain": [9, 9.0, 9]}, "drafts"),
        ({"copies": [9, 30.0, 20], "drafts": [9, 9.0, 20]}, "copies"),
        ({"copies": [1, 1.0, 4], "plain": [9, 9.0, 9]}, "plain"),
        ({"copies": [9, 9.0, 20]}, "all"),
    ):
        found, words = checks.explain_steps({"steps": steps})
        assert found == f"steps_{name}"
        assert f"Of your {sum(one[0] for one in steps.values())} steps, " in words
    assert checks.explain_steps({"steps": {"plain": [9, 9.0, 9]}}) is None


@pytest.mark.slow
def test_right_plans_of_a5_keep_every_bar_whatever_windows_a_submission_draws():
    """In 22 of 60 draws the solution missed a bar itself, and a right plan then failed for costing something else."""
    known = reference("a5")
    sources = {"solution": known.assignment.solution} | {one.name: one.source for one in overlays("a5", "correct")}
    plans = {name: subject(known.assignment, source) for name, source in sources.items()}
    missed = {}
    for check in known.assignment.checks.values():
        for seed in range(8):  # the fault would show in them with a probability above 0.97
            for case in check.hidden(np.random.default_rng(seed)):
                seen = {name: observe(check, plan, case) for name, plan in plans.items()}
                for name, paid in seen.items():
                    if wrong := difference(check, paid, seen["solution"]):
                        missed[check.id, seed, name] = wrong
    assert missed == {}


@pytest.mark.slow
def test_a5s_replay_costs_what_the_engine_does(monkeypatch):
    """A text's table replays any fixed gamma exactly: the simulated clock on the real engine says the same.

    The text is made here, as the recorded ones were, so that it is one of the pair that is bundled now.
    """
    checks, make = load("a5_checks", *_source("a5", "checks.py")), load("a5_texts", *_source("a5", "make_texts.py"))
    target, draft = (load_model(name, backend="numba") for name in ("target-17m", "draft-1.6m"))
    told = make.text(target, draft, make.PUBLIC["prose"])
    monkeypatch.setattr(checks, "texts", lambda name: {"prose": told})
    start, length = told["parts"][0]
    text = Text([told["tokens"][:start]], length)
    costs = CostModel(draft=checks.MEASURED["c"], row=checks.MEASURED["row"])
    behind_first = {"prose": [[start + 1, length - 1]]}  # the prefill gives the first token
    case = checks.case(checks.MEASURED, ("prose",), windows=behind_first)
    for gamma in (0, 3, 8):
        replayed = checks.charge(case, "prose", checks.fixed(gamma))
        engine = cost_per_token(target, draft, text, FixedGamma(gamma), costs, verify="rejection")
        assert replayed == pytest.approx(engine, abs=1e-6)
