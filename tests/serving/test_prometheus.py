"""The metrics as Prometheus reads them; every expression of the dashboard and of the alerts finds something."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from minispec.engine.generation.result import Metrics as Figures
from minispec.serving.metrics import Metrics
from minispec.serving.service import observation
from tests.engine.generation.test_result import STEPS
from tests.serving.running import running

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "serving"
DASHBOARD = json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
ALERTS = (FOLDER / "alerts.yml").read_text(encoding="utf-8")
prometheus = shutil.which("prometheus")
promtool = shutil.which("promtool")


def samples(server):
    families = text_string_to_metric_families(server.client.get("/metrics").text)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def total(found, name, **labels):
    return sum(
        v for (n, given), v in found.items() if n == f"minispec:{name}" and labels.items() <= dict(given).items()
    )


def test_the_counters_add_up_to_what_was_answered(server):
    server.wait_until_idle()
    before = samples(server)
    answers = [server.complete(seed=i, n=2, speculative={"draft": "tiny-target", "gamma": 3}) for i in range(3)]
    told = [choice["minispec"]["metrics"] for answer in answers for choice in answer["choices"]]
    after = samples(server)

    def grown(name, **labels):
        return total(after, name, **labels) - total(before, name, **labels)

    assert grown("generation_tokens_total") == sum(each["num_tokens"] for each in told)
    assert grown("decode_tokens_total") == sum(each["num_tokens"] - 1 for each in told)
    assert grown("prompt_tokens_total") == sum(each["num_prompt_tokens"] for each in told[::2]), "a prompt counts once"
    assert grown("target_forwards_total") == sum(each["num_steps"] for each in told)
    assert grown("spec_decode_num_drafts_total") == sum(each["num_drafts"] for each in told)
    assert grown("spec_decode_num_draft_tokens_total") == sum(each["num_draft_tokens"] for each in told)
    assert grown("spec_decode_num_accepted_tokens_total") == sum(each["num_accepted_tokens"] for each in told)
    first = sum(each["num_accepted_tokens_per_pos"][0] for each in told)
    assert grown("spec_decode_num_accepted_tokens_per_pos_total", position="0") == first > 0
    assert grown("request_success_total") == 6
    assert grown("time_to_first_token_seconds_count") == 6
    assert grown("e2e_request_latency_seconds_count") == 6
    assert total(after, "num_requests_running") == total(after, "num_requests_waiting") == 0
    assert server.client.post("/v1/completions", content=b"").status_code == 415
    assert total(samples(server), "request_refused_total", status="415") >= 1


def test_time_per_token_is_that_of_the_tokens_after_the_first():
    engine = SimpleNamespace(
        running=(),
        waiting=(),
        occupancy=SimpleNamespace(num_held=0, num_slots=1),
        num_preemptions=0,
        load=SimpleNamespace(speedup=None),
    )
    metrics = Metrics("m", engine)
    figures = Figures.from_steps(STEPS, num_prompt_tokens=5, prefill_s=0.1)
    assert figures.num_tokens == 1 + figures.num_decode_tokens > 2
    made = SimpleNamespace(metrics=figures, steps=(), finish_reason="length")
    whole_s = 0.5 + 0.25 * figures.num_decode_tokens
    for finish in ("length", "time", "shutdown"):
        metrics.note_end(made, finish, "none", 0.5, whole_s, whole_s + 3.0)
    metrics.note_end(made, "time", "none", None, None, whole_s)  # cut before its first token
    found = {
        name: metrics.registry.get_sample_value(f"minispec:{name}", {"model_name": "m", "arm": "none", **labels})
        for name, labels in {
            "time_per_output_token_seconds_sum": {},
            "time_per_output_token_seconds_count": {},
            "request_success_total": {"finished_reason": "length"},
            "request_cut_total": {"finished_reason": "time"},
        }.items()
    }
    assert list(found.values()) == [3 * 0.25, 3, 1, 2]
    assert metrics.registry.get_sample_value(
        "minispec:request_success_total", {"model_name": "m", "arm": "none", "finished_reason": "time"}
    ) in (None, 0.0)
    assert observation("canary", made, 0.5, whole_s).tpot_s == 0.25


def test_every_metric_of_the_dashboard_and_of_the_alerts_exists(target, draft):
    with running(target, (draft,), canary=0.5, shadow=1.0) as server:
        for user in "abcdefgh":  # both arms, the same ones each time: a user stays in one
            server.complete(user=user)
        there = {name for name, _ in samples(server)}
    counted = {  # there once they count something
        "minispec:shadow_checks_total",
        "minispec:request_refused_total",
        "minispec:spec_decode_num_accepted_tokens_per_pos_total",
    }
    for expression in [*EXPRESSIONS, *re.findall(r"expr: (.+)", ALERTS)]:
        for name in re.findall(r"minispec:\w+", expression):
            assert name in there | counted, name


@pytest.mark.skipif(prometheus is None or promtool is None, reason="Prometheus is not installed (Debian: prometheus)")
def test_the_real_prometheus_reads_it(target, draft, tmp_path):
    subprocess.run([promtool, "check", "config", FOLDER / "prometheus.yml"], check=True, capture_output=True)
    with running(target, (draft,), canary=0.5, shadow=1.0) as server, socket.socket() as free:
        config = (FOLDER / "prometheus.yml").read_text(encoding="utf-8").replace("127.0.0.1:8000", server.url[7:])
        (tmp_path / "prometheus.yml").write_text(config.replace("interval: 5s", "interval: 200ms"), encoding="utf-8")
        (tmp_path / "alerts.yml").write_text(ALERTS, encoding="utf-8")
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        flags = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{port}"]
        with subprocess.Popen([prometheus, *flags], cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
            try:
                ask(server, f"http://127.0.0.1:{port}/api/v1")
            finally:
                process.terminate()


def ask(server, api):
    """Send requests while Prometheus reads, then ask it everything that the dashboard would."""
    with httpx.Client(timeout=20) as client:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for i in range(8):
                server.complete(seed=i, user=str(i), temperature=0.0, max_tokens=10)
            server.client.get("/v1/nothing")
            try:
                found = client.get(
                    f"{api}/query", params={"query": "count_over_time(minispec:canary_share[1m])"}
                ).json()
            except httpx.HTTPError:
                continue
            if found.get("data", {}).get("result") and int(found["data"]["result"][0]["value"][1]) >= 10:
                break
        (up,) = client.get(f"{api}/query", params={"query": "up"}).json()["data"]["result"]
        assert up["value"][1] == "1"
        variables = {"$model": server.model, "$__rate_interval": "1m", "$__range": "1m"}
        for expression in EXPRESSIONS:
            query = expression
            for name, value in variables.items():
                query = query.replace(name, value)
            answer = client.get(f"{api}/query", params={"query": query}).json()
            assert answer["status"] == "success", (query, answer)
            assert answer["data"]["result"], query
        (rules,) = client.get(f"{api}/rules").json()["data"]["groups"]
        assert {rule["health"] for rule in rules["rules"]} <= {"ok", "unknown"}
