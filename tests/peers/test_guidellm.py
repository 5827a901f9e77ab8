"""A load by GuideLLM, if it is installed: it counts our tokens as we do, and its times are ours and the way to us.

Its inter-token latency is our time per output token; what it calls time per output token has the first token in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.serving.running import running
from tests.tiny import write_model

pytest.importorskip("guidellm", reason="needs guidellm, a load generator")
pytestmark = pytest.mark.peers

REQUESTS, TOKENS = 4, 12
CLOCKS_MS = 5.0  # two processes read two clocks


def measured(page):
    """Return the sums and counts of the page's histograms, and its counters, over all labels."""
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return {name: sum(each.value for each in samples if each.name == name) for name in {each.name for each in samples}}


def test_tokens_are_counted_alike_and_times_differ_by_the_way(tmp_path):
    target = str(write_model(tmp_path / "target", seed=1, scale=0.3, n_positions=512))
    draft = str(write_model(tmp_path / "draft", seed=2, n_embd=8, n_layer=1, scale=0.3, n_positions=512))
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": f"the end of {i}"}) + "\n" for i in range(REQUESTS)))
    with running(target, (draft,)) as server:
        options = {
            "backend": f"kind=openai_http,target={server.url},request_format=/v1/completions,max_tokens={TOKENS}",
            "profile": "kind=concurrent,streams=2",
            "constraint": f"kind=max_requests,count={REQUESTS}",
            "data": f"kind=json_file,path={prompts}",
            "output": f"kind=json,path={tmp_path / 'report.json'}",
        }
        flags = [word for name, value in options.items() for word in (f"--{name}", value)]
        command = [sys.executable, "-m", "guidellm", "run", *flags, "--disable-console-interactive"]
        few = {"GUIDELLM__MAX_WORKER_PROCESSES": "1", "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
        done = subprocess.run(command, env={**os.environ, **few}, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        server.wait_until_idle()
        ours = measured(server.client.get("/metrics").text)
    (benchmark,) = json.loads((tmp_path / "report.json").read_text())["benchmarks"]
    theirs = benchmark["requests"]["successful"]
    assert len(theirs) == REQUESTS == ours["minispec:time_to_first_token_seconds_count"]
    assert sum(each["prompt_tokens"] for each in theirs) == ours["minispec:prompt_tokens_total"]
    assert sum(each["output_tokens"] for each in theirs) == ours["minispec:generation_tokens_total"]
    told = [each["response_metrics"]["speculative_decoding"] for each in theirs]
    assert sum(each["num_draft_tokens"] for each in told) == ours["minispec:spec_decode_num_draft_tokens_total"]
    assert (
        sum(each["num_accepted_draft_tokens"] for each in told)
        == ours["minispec:spec_decode_num_accepted_tokens_total"]
    )
    first_ms = sum(each["time_to_first_token_ms"] for each in theirs)
    rest_ms = sum(each["inter_token_latency_ms"] * (each["output_tokens"] - 1) for each in theirs)
    whole_ms = sum(each["time_per_output_token_ms"] * each["output_tokens"] for each in theirs)
    assert whole_ms == pytest.approx(first_ms + rest_ms)
    # A request leaves them before it is here, and a token leaves here before it is there.
    late_ms = first_ms - 1e3 * ours["minispec:time_to_first_token_seconds_sum"]
    assert late_ms > -CLOCKS_MS
    assert rest_ms - 1e3 * ours["minispec:inter_token_latency_seconds_sum"] > -late_ms - CLOCKS_MS
