"""What other engines report, read back: each form against the steps it was made from, and pages that cannot be."""

from __future__ import annotations

import contextlib
import json
import math
import socket
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.cli.main import cli
from minispec.errors import MinispecError
from minispec.lab.explain.advice import advise, best_by_cost, oddities
from minispec.lab.explain.engines import Acceptance, SourceError, parse_acceptance, read_acceptance
from minispec.theory import best_gamma_by_position, speedup

FOLDER = Path(__file__).parent / "engines"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir())}

Steps = list[tuple[int, int]]
"""Of each step, drafted and accepted tokens."""


def count(steps: Steps) -> list[tuple[int, int]]:
    """Accepted and judged by place, counted one step after the other."""
    longest = max(drafted for drafted, _ in steps)
    return [
        (sum(a > i for _, a in steps), sum(d > i and a >= i for d, a in steps))
        for i in range(longest)
    ]  # fmt: skip


def as_page(steps: Steps, gamma: int, engine: str = "vllm", labels: str = 'model_name="m"') -> str:
    lines = [
        f"{engine}:spec_decode_num_drafts_total{{{labels}}} {len(steps)}.0",
        f"{engine}:spec_decode_num_draft_tokens_total{{{labels}}} {sum(d for d, _ in steps)}",
        f"{engine}:spec_decode_num_accepted_tokens_total{{{labels}}} {sum(a for _, a in steps)}",
        *(
            f'{engine}:spec_decode_num_accepted_tokens_per_pos_total{{{labels},position="{i}"}} '
            f"{sum(a > i for _, a in steps)}"
            for i in range(gamma)
        ),
    ]
    return "\n".join(lines) + "\n"


def as_answer(steps: Steps) -> dict[str, object]:
    longest = max(drafted for drafted, _ in steps)
    rows: dict[str, list[int]] = {}
    for drafted, accepted in steps:
        rows.setdefault(str(drafted), [0] * (drafted + 1))[accepted] += 1
    told = {
        "acceptance_histogram": [sum(a == j for _, a in steps) for j in range(longest + 1)],
        "acceptance_histogram_by_draft_length": rows,
        "num_spec_steps": len(steps),
        "num_draft_tokens": sum(d for d, _ in steps),
        "num_accepted_draft_tokens": sum(a for _, a in steps),
    }
    return {"choices": [], "metrics": {"speculative_decoding": told}}


def as_meta_info(steps: Steps) -> dict[str, object]:
    longest = max(accepted for _, accepted in steps)
    return {
        "meta_info": {
            "spec_verify_ct": len(steps),
            "spec_accept_token_num": sum(a for _, a in steps),
            "spec_draft_token_num": sum(d for d, _ in steps),
            "spec_accept_histogram": [sum(a == j for _, a in steps) for j in range(longest + 1)],
        }
    }


drafts = st.integers(1, 5).flatmap(lambda d: st.tuples(st.just(d), st.integers(0, d)))
fixed = st.integers(1, 4).flatmap(
    lambda g: st.lists(st.integers(0, g).map(lambda a: (g, a)), min_size=1, max_size=30)
)  # fmt: skip


@settings(max_examples=30)
@given(st.lists(st.lists(drafts, min_size=1, max_size=8), min_size=1, max_size=9))
def test_histograms_by_draft_length_lose_nothing(answers: list[Steps]) -> None:
    found = parse_acceptance("\n".join(json.dumps(as_answer(steps)) for steps in answers), "a log")
    every = [step for steps in answers for step in steps]
    assert list(found.places) == count(every)
    assert found.gamma == max(d for d, _ in every)
    assert found.length == pytest.approx(1 + sum(a for _, a in every) / len(every))
    assert len(found.requests) == len(answers)


@settings(max_examples=50)
@given(fixed)
def test_drafts_of_one_length_are_counted_alike_in_every_form(steps: Steps) -> None:
    expected = count(steps)
    gamma = steps[0][0]
    for text in (as_page(steps, gamma), as_page(steps, gamma, "minispec"), json.dumps(as_answer(steps))):
        found = parse_acceptance(text, "a page")
        assert list(found.places) == expected
        assert (found.steps, found.gamma) == (len(steps), gamma)
    seen = parse_acceptance(json.dumps(as_meta_info(steps)), "an answer")
    assert list(seen.places) == expected
    assert seen.length == found.length


@settings(max_examples=50)
@given(st.integers(1, 4).flatmap(
    lambda g: st.lists(st.lists(st.integers(0, g).map(lambda a: (g, a)), min_size=1, max_size=9), min_size=8)
), st.integers(0, 2))  # fmt: skip
def test_short_histograms_of_sglang_count_the_judgements_at_their_last_place(answers: list[Steps], more: int) -> None:
    """SGLang ends a histogram at the most accepted tokens of its request; zeros after that change nothing."""
    texts = [as_meta_info(steps) for steps in answers]
    for text in texts:
        text["meta_info"]["spec_accept_histogram"] += [0] * more  # type: ignore[index]
    found = parse_acceptance(json.dumps(texts), "answers")
    assert list(found.places) == count([step for steps in answers for step in steps])
    for (accepted, judged), steps in zip(found.requests, answers, strict=True):
        assert (accepted, judged) == tuple(map(sum, zip(*count(steps), strict=True)))


@settings(max_examples=50)
@given(st.lists(st.lists(drafts, min_size=1, max_size=9), min_size=8, max_size=12))
def test_sglangs_drafts_of_unlike_lengths_give_a_lower_bound(answers: list[Steps]) -> None:
    """Also if a histogram reaches beyond the mean length. Requests and places count the same judgements."""
    found = parse_acceptance(json.dumps([as_meta_info(steps) for steps in answers]), "answers")
    every = [step for steps in answers for step in steps]
    accepted, judged = (sum(column) for column in zip(*count(every), strict=True))
    assert found.alpha.value is not None
    assert found.alpha.value <= accepted / judged + 1e-9
    sums = [tuple(map(sum, zip(*counts, strict=True))) for counts in (found.requests, found.places)]
    assert sums[0] == sums[1]


@settings(max_examples=50)
@given(fixed, fixed)
def test_the_growth_of_a_page_is_the_page_of_what_came_between(before: Steps, between: Steps) -> None:
    gamma = max(before[0][0], between[0][0])
    before, between = ([(gamma, a) for _, a in steps] for steps in (before, between))
    found = parse_acceptance(as_page(before + between, gamma), "a page", earlier=as_page(before, gamma))
    assert found == parse_acceptance(as_page(between, gamma), "a page")
    with pytest.raises(SourceError, match="began anew"):
        parse_acceptance(as_page(before, gamma), "a page", earlier=as_page(before + between, gamma))


@settings(max_examples=200)
@given(
    st.sampled_from(sorted(PAGES)),
    st.sampled_from(
        [
            "-1",
            "NaN",
            "+Inf",
            "1e400",
            "1e-320",
            "1" + "0" * 400,
            "2.5",
            "0",
            "99999999",
            "",
            "x",
            '"7"',
            "null",
            "[]",
            "{",
        ]
    ),
    st.integers(0, 400),
    st.booleans(),
)
def test_a_damaged_page_is_read_or_refused_in_one_line(name: str, value: str, where: int, drop: bool) -> None:
    text = PAGES[name]
    numbers = [i for i in range(1, len(text)) if text[i].isdigit() and not text[i - 1].isalnum()]
    at = numbers[where % len(numbers)]
    end = next((i for i in range(at, len(text)) if text[i] not in "0123456789.e+"), len(text))
    damaged = text[:at] if drop else text[:at] + value + text[end:]
    told = ""
    try:
        found = parse_acceptance(damaged, "a page")
        if found.alpha.value is not None:
            advise(found, 0.1)
        oddities(found)
    except MinispecError as error:
        told = str(error)
    assert "\n" not in told
    assert len(told) < 700


PAGE = PAGES["vllm.prom"]
BEYOND = "1" + "0" * 400  # JSON has it as a whole number, and no float holds it
REFUSED = {
    "go_gc_duration_seconds 3\n": "no figures of speculative decoding",
    "{}": "it must be a metrics page",
    "[1, 2]": "no figures",
    PAGE.replace(" 15600.0", " 15000.0"): "does not add up",
    PAGE.replace(" 3400.0", " 5100.0").replace("15600", "17300"): "stands only if the one before",
    PAGE.replace('position="1"', 'position="9"'): r"positions \[0, 2, 9\]",
    PAGE.replace(',position="1"', ""): "position ''",
    PAGE.replace(" 30000.0", " -3"): "from 0 on",
    PAGE.replace(" 30000.0", " 40000"): "more than 3 each",
    PAGE.replace(" 10000.0", " 0"): "nothing to judge",
    PAGE + PAGE: "two servers",
    PAGE + PAGE.replace("llama", "qwen"): "'llama' and 'qwen' together",
    PAGE + as_page([(1, 1)], 1, "minispec"): "'minispec' and 'vllm' together",
    "\n".join(line for line in PAGE.split("\n") if "draft_tokens" not in line): "lacks spec_decode_num_draft_tokens",
    PAGES["vllm.json"].replace("[39, 1, 0, 3]", "[38, 1, 0, 3]"): "histograms add up to 42",
    PAGES["vllm.json"].replace('{"3": [39', '{"2": [39'): "row 2 of 4 counts; it must have 3",
    PAGES["sglang.json"].replace("[14, 9", "[15, 9"): "adds up to 51",
    PAGES["llama_cpp.json"].replace("80", "142"): "what is accepted was drafted",
    PAGES["llama_cpp.json"].replace('"predicted_n": 128', '"predicted_n": 60'): "every pass adds one",
    json.dumps([json.loads(PAGES["sglang.json"]), json.loads(PAGES["llama_cpp.json"])]): "SGLang and llama.cpp",
    PAGES["sglang_info.json"].replace("2.56", "0.4"): "at least 1",
    PAGES["sglang_info.json"].replace("2.56", "9"): "more|up to 3 drafts",
    '{"meta_info": {"spec_verify_ct": 3}}': "spec_num_correct_drafts None",
    PAGES["sglang.json"].replace("77", BEYOND): "a whole number from 0 to 1e",
    PAGES["sglang_info.json"].replace("2.56", BEYOND): "no avg_spec_accept_length",
    PAGES["sglang_info.json"].replace('_draft_tokens": 4', f'_draft_tokens": {BEYOND}'): "num_draft_tokens at 1000",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_is_refused_by_what_is_wrong(text: str) -> None:
    with pytest.raises(SourceError, match=REFUSED[text]) as raised:
        parse_acceptance(text, "a page")
    assert "\n" not in str(raised.value)


def test_every_engines_length_counts_the_targets_own_token() -> None:
    lengths = {name: parse_acceptance(text, name).length for name, text in PAGES.items()}
    assert lengths["vllm.prom"] == pytest.approx(2.56)
    assert lengths["vllm.json"] == pytest.approx(1.2325581395348837)  # as vLLM itself has it
    assert lengths["llama_cpp.json"] == pytest.approx(127 / 47)  # without the prompt's own token
    assert lengths["sglang.json"] == pytest.approx(1 + 77 / 50)  # its own figure, 128 / 50, has the prompt's token too
    assert lengths["sglang_info.json"] == pytest.approx(2.56)
    assert (lengths["sglang.prom"], parse_acceptance(PAGES["sglang.prom"], "").gamma) == (2.9, 5)
    older = "".join(line for line in PAGES["sglang.prom"].splitlines(keepends=True) if "_num_" not in line)
    assert parse_acceptance(older, "a page").gamma == 5  # from the rate, which counts without the target's own
    tree = PAGES["sglang.prom"].replace("} 5.0", "} 3.0")
    assert parse_acceptance(tree, "a page").gamma == 3  # a tree of five tokens on three levels
    idle = PAGES["sglang.prom"].replace('tp_rank="0"', 'tp_rank="1"').replace("} 2.9", "} 0.0")
    assert parse_acceptance(PAGES["sglang.prom"] + idle, "two ranks").length == 2.9
    with pytest.raises(SourceError, match="no drafts lately"):
        parse_acceptance(idle, "a page")


def test_steps_one_by_one_say_as_much_as_histograms_by_length() -> None:
    steps = [(3, 3), (2, 1), (3, 0), (0, 0), (1, 1)]  # constraints took away what was drafted in one of them
    whole = as_answer(steps)
    told = dict(whole["metrics"]["speculative_decoding"])
    del told["acceptance_histogram_by_draft_length"]
    told |= {"per_step_drafted": [d for d, _ in steps], "per_step_accepted": [a for _, a in steps]}
    by_step, by_length = (json.dumps({"metrics": {"speculative_decoding": each}}) for each in
                          (told, whole["metrics"]["speculative_decoding"]))  # fmt: skip
    assert parse_acceptance(by_step, "an answer") == parse_acceptance(by_length, "an answer")
    for broken in ([3, 2], [3, 1, 0, 1, 1], [99] * 5, 5, True, "32301", {"3": 2}, [10**400]):
        for name in ("per_step_drafted", "per_step_accepted"):
            with pytest.raises(SourceError, match=r"per_step_drafted|per_step_accepted|add up to"):
                parse_acceptance(json.dumps(told | {name: broken}), "an answer")
    page = as_page([(1, 1)] * 9 + [(0, 0)], 1)
    assert parse_acceptance(page, "a page").places == ((9, 10),)


def test_the_advice_is_that_of_the_formulas() -> None:
    found = parse_acceptance(PAGE, "a page")
    chances = [0.72, 5 / 7.2, 0.68]
    given = advise(found, 0.1, 1.2, 0.05, ridge=295.0)
    assert given.best == best_gamma_by_position(chances + [0.68] * 13, 0.1, 1.2, 0.05)
    present = speedup(2.56, 3, 0.1, 1.2, 0.05)
    assert given.lengths[2].speedup.value == pytest.approx(present)
    assert given.gain.value == pytest.approx(given.best.speedup / present)
    assert given.gain.low <= given.gain.value <= given.gain.high
    assert given.most_verify == pytest.approx(2.56 - 0.3 - 0.05)
    assert speedup(2.56, 3, 0.1, given.most_verify, 0.05) == pytest.approx(1.0)
    assert given.batch == pytest.approx(295 * given.most_verify / 4)
    assert advise(found, 0.9, ridge=295.0).batch == 0.0
    assert all(best.gamma >= 1 for c, best in best_by_cost(found).items() if c < 0.5)


def test_what_is_odd_is_said() -> None:
    def odd(steps: Steps) -> str:
        return " ".join(oddities(parse_acceptance(as_page(steps, 2), "a page")))

    assert odd([(2, 0)] * 300 + [(2, 1), (2, 2)] * 150) == ""
    assert "another tokenizer" in odd([(2, 0)] * 990 + [(2, 1)] * 10)
    assert "every draft is accepted" in odd([(2, 2)] * 400)
    assert "reads its own tokens badly" in odd([(2, 0)] * 100 + [(2, 1)] * 380 + [(2, 2)] * 20)
    assert "1.50 tokens long" in odd([(1, 1), (2, 1)] * 300)


def test_answers_of_minispec_are_told_by_their_choices() -> None:
    vllm: dict[str, object] = {"id": "cmpl-1", "choices": [{"index": 0}], **as_answer([(3, 3), (3, 0)])}
    ours: dict[str, object] = {**vllm, "id": "cmpl-2", "choices": [{"index": 0, "minispec": {"draft": "ngram"}}]}
    stream = [{"id": "cmpl-2", "choices": ours["choices"], "metrics": None}, {**ours, "choices": []}]
    assert parse_acceptance(json.dumps(vllm), "an answer").engine == "vLLM"
    for text in (json.dumps(ours), "\n".join(f"data: {json.dumps(each)}" for each in stream)):
        found = parse_acceptance(text, "an answer")
        assert found.engine == "minispec"
        assert "vLLM's" not in found.meaning
        assert (found.steps, found.accepted) == (2, 3)
    with pytest.raises(SourceError, match="answers of minispec and vLLM together"):
        parse_acceptance(json.dumps([vllm, ours]), "answers")


def test_the_command_shows_all_of_it_and_says_how_to_get_costs() -> None:
    def told(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["plan", "--from", *arguments])
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    page = str(FOLDER / "vllm.prom")
    words = told(page, "--cost-ratio", "0.1", "--machine", "h100")
    for part in ("α = 0.703 [0.697, 0.709]", "best γ 4", "now γ 3", "1.01x [1.01, 1.02]", "batches of up to about 167"):
        assert part in words
    assert "num_speculative_tokens of 1 and of 5 in --speculative-config" in told(page)
    assert "To find it: 1. Measure u: the seconds per token without drafts. 2. Measure s(1) and s(5)" in told(page)
    assert json.loads(told(page, "--json"))["advice"] is None
    assert json.loads(told(page, "--json", "--cost-ratio", "0.1"))["advice"]["best"]["gamma"] == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "no-such-file"], "cannot be read"),
        (["--from", str(FOLDER / "vllm.prom"), "--gamma", "5"], "drafts of up to 3"),
        (["--from", str(FOLDER / "vllm.prom"), "--alpha", "0.5"], "--from and --alpha"),
        (["--from", str(FOLDER / "vllm.json"), "--since", str(FOLDER / "vllm.prom")], "Leave --since out"),
        (["--from", "http://127.0.0.1:9"], "does not answer"),
        (["--from", "http://127.0.0.1:port"], "does not answer (nonnumeric port: 'port')"),
        (["--alpha", "0.5", "--cost-ratio", "0.1", "--machine", "h100"], "belongs to --from"),
        (["--from", str(FOLDER / "vllm.prom"), "--machine", "h1000"], "machine is 'h1000'"),
    ],
)
def test_bad_asks_are_refused(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(cli, ["plan", *arguments])
    assert done.exit_code != 0
    assert words in str(done.exception)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"nonsense\r\n\r\n", "does not answer (nonsense)"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", "does not answer (IncompleteRead(2 bytes read, 97"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n99\r\n{}", "does not answer (IncompleteRead("),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n" + b"x" * (2**20 + 1), "is larger than 1 MiB"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (2**20 + 1), "is larger than 1 MiB. Save a part of it"),
    ],
)
def test_a_broken_answer_of_a_server_is_refused_in_one_line(
    answer: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minispec.lab.explain.engines._MAX_BYTES", 2**20)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError), server.accept()[0] as one:
                one.recv(2**16)
                one.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(SourceError) as refused:
            read_acceptance(f"http://127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_log_is_read_whole_or_refused_as_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, text = tmp_path / "log.jsonl", PAGES["sglang.json"]
    monkeypatch.setattr("minispec.lab.explain.engines._MAX_BYTES", 2**20)
    path.write_text(text.ljust(2**20), encoding="utf-8")
    assert read_acceptance(str(path)).places == parse_acceptance(text, "an answer").places
    path.write_text(text.ljust(2**20 + 1), encoding="utf-8")
    with pytest.raises(SourceError, match=r"log.jsonl' is larger than 1 MiB. Save a part of it and name that file"):
        read_acceptance(str(path))


def test_few_requests_count_by_tokens_and_many_by_request() -> None:
    one = as_answer([(3, 3)] * 20)
    other = as_answer([(3, 0)] * 20)
    few = parse_acceptance(json.dumps([one, other]), "answers").alpha
    many = parse_acceptance(json.dumps([one, other] * 4), "answers").alpha
    assert few.value == many.value == 0.75
    assert many.high - many.low > few.high - few.low  # texts differ, and tokens of one text do not count as many
    assert isinstance(parse_acceptance(json.dumps([one, {"choices": []}]), "answers"), Acceptance)
    assert math.isclose(parse_acceptance("data: " + json.dumps(one) + "\n\ndata: [DONE]\n", "a stream").length, 4.0)
