"""What Prometheus reads. Names are vLLM's where the meaning is the same, with ``minispec:`` before them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from minispec.engine.batching import Engine
from minispec.engine.generation.result import Generation
from minispec.serving.rollout import Rollout

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


CUTS = ("time", "shutdown")


class Metrics:
    """Counters, histograms and gauges of one server.

    Parameters
    ----------
    model : str
        Label ``model_name`` of everything.
    engine : Engine
        Read when Prometheus asks.
    """

    def __init__(self, model: str, engine: Engine) -> None:
        self.registry = CollectorRegistry()
        self._model = model
        by_arm = ("model_name", "arm")

        def counter(name: str, help_: str, *labels: str) -> Counter:
            return Counter(f"minispec:{name}", help_, ("model_name", *labels), registry=self.registry)

        def histogram(name: str, help_: str) -> Histogram:
            return Histogram(f"minispec:{name}", help_, by_arm, buckets=_SECONDS, registry=self.registry)

        self._prompt_tokens = counter("prompt_tokens", "Tokens of prompts, each once.")
        self._generation_tokens = counter("generation_tokens", "Tokens generated.", "arm")
        self._decode_tokens = counter("decode_tokens", "Tokens generated after the first of each choice.", "arm")
        self._success = counter("request_success", "Choices that ended by themselves.", "finished_reason", "arm")
        self._cut = counter("request_cut", "Choices that the server ended where they were.", "finished_reason", "arm")
        self._cancelled = counter("request_cancelled", "Choices whose reader went away.")
        self._refused = counter("request_refused", "Answers that are no success, by status.", "status")
        self._drafts = counter("spec_decode_num_drafts", "Steps that drafted.", "arm")
        self._draft_tokens = counter("spec_decode_num_draft_tokens", "Tokens drafted.", "arm")
        self._accepted = counter("spec_decode_num_accepted_tokens", "Drafted tokens that stand.", "arm")
        self._accepted_per_pos = counter(
            "spec_decode_num_accepted_tokens_per_pos", "Drafted tokens that stand, by place in the draft.", "position"
        )
        self._steps = counter("target_forwards", "Target passes after the prefill, of each choice.", "arm")
        self._first = histogram("time_to_first_token_seconds", "From the request's arrival to its first token.")
        self._per_token = histogram("time_per_output_token_seconds", "Mean per token after the first, of each choice.")
        self._between = histogram(
            "inter_token_latency_seconds",
            "Between tokens after the first; the wait for a burst of tokens is shared out among them.",
        )
        self._queries = counter("prefix_cache_queries", "Prompt tokens of choices, looked up in the caches.")
        self._hits = counter("prefix_cache_hits", "Those of them that another text had left there.")
        self._broken = Gauge(
            "minispec:draft_is_broken",
            "1 where hardly anything of a draft is accepted, or much less than it is sure of; the log says why.",
            ("model_name", "draft", "arm"),
            registry=self.registry,
        )
        self._whole = histogram("e2e_request_latency_seconds", "From the request's arrival to its end.")
        self._shadow = counter("shadow_checks", "Greedy texts decoded again plainly, by what came of it.", "result")
        self._gauge("num_requests_running", "Choices that are decoded now.", lambda: len(engine.running))
        self._gauge("num_requests_waiting", "Choices that wait.", lambda: len(engine.waiting))
        self._gauge(
            "kv_cache_usage_perc",
            "Share of the slots for keys and values that is taken, 0 to 1.",
            lambda: engine.occupancy.num_held / engine.occupancy.num_slots,
        )
        self._gauge(
            "speculation_speedup",
            "Times plain decoding that steps were, estimated from the engine's passes; NaN before any.",
            lambda: math.nan if (speedup := engine.load.speedup) is None else speedup,
        )
        self._gauge("num_preemptions", "How often a request had to make room.", lambda: engine.num_preemptions)

    def _gauge(self, name: str, help_: str, read: Callable[[], float]) -> None:
        gauge = Gauge(f"minispec:{name}", help_, ("model_name",), registry=self.registry)
        gauge.labels(self._model).set_function(read)

    def watch_faults(self, read: Callable[[], int]) -> None:
        """Show how many steps have failed."""
        self._gauge("num_faults", "Steps of the engine that failed, each with a line in the log.", read)

    def watch_rollout(self, rollout: Rollout) -> None:
        """Show the canary's share, and how its seconds per token compare with the baseline's."""
        self._gauge("canary_share", "Share of the traffic that decodes as the canary.", lambda: rollout.share)
        ratio = Gauge(
            "minispec:canary_tpot_ratio",
            "Seconds per token, canary over baseline, with its interval of 95 %; NaN until there is one.",
            ("model_name", "bound"),
            registry=self.registry,
        )
        for bound in ("value", "low", "high"):
            ratio.labels(self._model, bound).set_function(partial(_read_bound, rollout, bound))

    def note_shadow(self, result: str) -> None:
        """Count a text that was decoded again."""
        self._shadow.labels(self._model, result).inc()

    def note_first_token(self, seconds: float, arm: str) -> None:
        """Count a first token."""
        self._first.labels(self._model, arm).observe(seconds)

    def note_tokens(self, count: int, waited_s: float, arm: str) -> None:
        """Count tokens after the first that came together, and the wait for them."""
        between = self._between.labels(self._model, arm)
        for _ in range(count):
            between.observe(waited_s / count)

    def note_cached(self, num_tokens: int, num_cached: int | None) -> None:
        """Count a choice's prompt, and what of it was in the caches; nothing of one that was never read."""
        if num_cached is not None:
            self._queries.labels(self._model).inc(num_tokens)
            self._hits.labels(self._model).inc(num_cached)

    def note_draft(self, draft: str, arm: str, *, broken: bool) -> None:
        """Show whether a draft is of use."""
        self._broken.labels(self._model, draft, arm).set(broken)

    def note_refused(self, status: int) -> None:
        """Count an answer that is no success."""
        self._refused.labels(self._model, str(status)).inc()

    def note_cancelled(self, count: int) -> None:
        """Count choices whose reader went away."""
        self._cancelled.labels(self._model).inc(count)

    def note_prompt(self, num_tokens: int) -> None:
        """Count a prompt, however many choices continue it."""
        self._prompt_tokens.labels(self._model).inc(num_tokens)

    def note_end(
        self,
        generation: Generation,
        finish: str,
        arm: str,
        first_s: float | None,
        last_s: float | None,
        whole_s: float,
    ) -> None:
        """Count a choice that has ended.

        Parameters
        ----------
        generation : Generation
        finish, arm : str
        first_s, last_s, whole_s : float
            Seconds from arrival to the first token and to the last (None without one), and to the end.
        """
        found, labels = generation.metrics, (self._model, arm)
        self._generation_tokens.labels(*labels).inc(found.num_tokens)
        self._decode_tokens.labels(*labels).inc(found.num_decode_tokens)
        ended = self._cut if finish in CUTS else self._success
        ended.labels(self._model, finish, arm).inc()
        self._drafts.labels(*labels).inc(found.num_drafts)
        self._draft_tokens.labels(*labels).inc(found.num_draft_tokens)
        self._accepted.labels(*labels).inc(found.num_accepted_tokens)
        self._steps.labels(*labels).inc(found.num_steps)
        for place, count in enumerate(found.num_accepted_tokens_per_pos):
            self._accepted_per_pos.labels(self._model, str(place)).inc(count)
        self._whole.labels(*labels).observe(whole_s)
        if first_s is not None and last_s is not None and found.num_tokens > 1:
            self._per_token.labels(*labels).observe((last_s - first_s) / (found.num_tokens - 1))


def _read_bound(rollout: Rollout, bound: str) -> float:
    value = getattr(rollout.compare().tpot_ratio, bound)
    return math.nan if value is None else float(value)
