"""The space the law suite covers: rule x draft x policy x processors x stop, wired through ``minispec.stream`` itself.

Three tokens: "a", "b" and the end of the text. Every model is a table keyed by the whole prefix, except where a kind of
draft needs layers or weights. Names of drafts go through the command line's own parser; only loading a model by its
name is replaced, by the models below.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import llguidance

from minispec.engine.drafters import plugins
from minispec.engine.generation import Stream, api
from minispec.engine.generation.options import Options
from minispec.engine.generation.prepare import check_together
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Enumerator, Outcome, outcome, total_variation
from minispec.engine.model.toy import TableModel
from minispec.engine.noise import Noise
from minispec.errors import OptionError
from tests.engine.generation.tiny import byte_tokenizer
from tests.engine.laws.oracle import finite_language, slow_law
from tests.models import random_gpt2

from .covering import Case, covering, product

EXACT = 1e-12
"""Products of a few dozen float64 factors, each with a relative error of about 1e-16; sums of a few hundred."""

HERE = Path(__file__).parent
PROMPT, FIRST = (0, 1), 0
"""The table target is certain of its first token, which no draft reaches: so what is enumerated begins with a draft.
(Where the first token is open, targets with layers are held to its law, and so are other tests.)"""
BEGUN = (*PROMPT, FIRST)
EOS = 2
TOKENIZER = byte_tokenizer([b"a", b"b"], ["<|endoftext|>"])
REGEX = "a(a(a|b)?b?|ba?)"

# ── models ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class OtherSpelling:
    """A tokenizer with tokens of its own; it takes the longest one that fits."""

    def __init__(self, vocabulary: list[bytes]) -> None:
        self.vocabulary = vocabulary

    def encode(self, text: str) -> list[int]:
        content, tokens = text.encode(), []
        while content:
            token = max((t for t in self.vocabulary if content.startswith(t)), key=len)
            tokens.append(self.vocabulary.index(token))
            content = content[len(token) :]
        return tokens

    def token_bytes(self, token: int) -> bytes:
        return self.vocabulary[token]


def with_tokenizer(model: TableModel, tokenizer: Any) -> TableModel:
    model.tokenizer = tokenizer
    return model


def table_target(*, eos: bool, n_positions: int = 64) -> TableModel:
    ends = frozenset({EOS} if eos else ())
    certain = {PROMPT: [float(token == FIRST) for token in range(3)]}
    return with_tokenizer(TableModel(3, n_positions, seed=1, eos_token_id=ends, table=certain), TOKENIZER)


_GPT2 = {"vocab_size": 3, "n_embd": 8, "n_layer": 2, "n_head": 2}


def layered_target(*, eos: bool, n_positions: int = 16) -> Any:
    model = random_gpt2("numba", seed=3, **_GPT2, n_positions=n_positions, eos_token_id=EOS if eos else None)
    return dataclasses.replace(model, tokenizer=TOKENIZER)


LOADED = {
    "table": TableModel(3, 64, seed=2),
    "foreign": with_tokenizer(TableModel(4, 64, seed=4), OtherSpelling([b"b", b"a", b"ba", b"aa"])),
    "window": TableModel(3, 4, seed=2),
    "small": random_gpt2("numba", seed=5, **_GPT2, n_positions=64),
    "four": TableModel(4, 64, seed=48),
    "pushing": TableModel(  # certain after two levels, so that few branches are to be walked
        3,
        64,
        table={(*BEGUN, *path): [1.0, 0.0, 0.0] for n in (2, 3) for path in itertools.product(range(3), repeat=n)}
        | {BEGUN: [0.5, 0.4, 0.1], (*BEGUN, 0): [0.34, 0.33, 0.33], (*BEGUN, 1): [0.9, 0.1, 0.0]}
        | {(*BEGUN, 2): [0.0, 0.1, 0.9]},
    ),
}
"""Draft models, by the names under which drafts ask for them."""


@contextlib.contextmanager
def models_by_name() -> Iterator[None]:
    """Load the models above; and build the constraint library's vocabulary, which never changes, once.

    Their names are not looked up among the packages that bring drafts: that takes longer than all the rest of a branch.
    """
    with (
        mock.patch.object(api, "recall_model", lambda name, *args, **options: LOADED[name]),
        mock.patch.object(llguidance, "LLTokenizer", _vocabulary),
        mock.patch.object(plugins, "entry_points", return_value=()),
    ):
        yield


_vocabulary = functools.cache(llguidance.LLTokenizer)


# ── axes ────────────────────────────────────────────────────────────────────────────────────────────────────────────

DRAFTS = {
    "model": "table",
    "small window": "window",
    "trimmed": "small:words=2",
    "cascade of trimmed": "cascade:draft=small:words=2,n=2",
    "ngram": "ngram:n=2",
    "suffix": "suffix",
    "suffix in a corpus": f"suffix:corpus={HERE / 'text.txt'}",
    "unigram": f"unigram:text={HERE / 'text.txt'}",
    "bigram": f"bigram:text={HERE / 'text.txt'}",
    "synthetic": "synthetic:alpha=0.6",
    "cascade of n-gram": "cascade:draft=table,n=2",
    "cascade of suffix": "cascade:draft=table,by=suffix",
    "forced": "forced:draft=table",
    "translated": "foreign:translate=true",
    "layer skip": "layerskip:k=1",
    "self in int8": "self:dtype=int8",
    "tree with": "tree:draft=table,shape=2x1,siblings=with",
    "tree without": "tree:draft=table,shape=2x1,siblings=without",
    "tree likeliest": "tree:draft=table,shape=2x1,siblings=likeliest",
    "tree of trimmed": "tree:draft=small:words=2,shape=2x1",
    "tree of sequoia": "tree:draft=table,shape=sequoia,nodes=4,acceptance=0.5/0.4,siblings=with",
    "tree that grows": "tree:draft=table,shape=dynamic,nodes=4",
    "tree that grows, with": "tree:draft=pushing,shape=dynamic,nodes=3,siblings=with",
    "tree that grows, likeliest": "tree:draft=pushing,shape=dynamic,nodes=4,siblings=likeliest",
}
POLICIES = {
    "0": 0,
    "1": 1,
    "2": 2,
    "3": 3,
    "heuristic": "heuristic:gamma=1",
    "confidence": "confidence:threshold=0.5,gamma=3",
    "auto": "auto:largest=3",
    "replay": f"replay:trace={HERE / 'trace.jsonl'}",
    "fallback": 2,
}
PLAIN = {"temperature": 1.0, "top_p": 1.0}
PROCESSORS: dict[str, dict[str, Any]] = {
    "plain": {},
    "temperature": {"temperature": 0.6},
    "greedy": {"temperature": 0.0},
    "top-k": {"top_k": 2, "temperature": 1.4},
    "top-p": {"top_p": 0.8},
    "min-p": {"min_p": 0.4},
    "repetition": {"repetition_penalty": 1.7},
    "presence and frequency": {"presence_penalty": 0.5, "frequency_penalty": -0.8},
    "min tokens": {"min_tokens": 3},
    "regex": {"regex": REGEX},
    "all": {"temperature": 0.8, "top_k": 2, "top_p": 0.95, "min_p": 0.05, "repetition_penalty": 0.7,
            "presence_penalty": -0.3, "frequency_penalty": 0.6, "min_tokens": 2, "regex": REGEX},
}  # fmt: skip
STOPS = ("budget", "eos", "stop string", "context")

AXES = {
    "verify": ("rejection", "block", "tree", "traversal", "kseq", "match", "gumbel"),
    "draft": tuple(DRAFTS),
    "policy": tuple(POLICIES),
    "processors": tuple(PROCESSORS),
    "stop": STOPS,
}

LAYERED = frozenset({"layer skip", "self in int8"})
TREES = frozenset(draft for draft in DRAFTS if draft.startswith("tree"))
DRAW_NOTHING = frozenset({"ngram", "suffix", "suffix in a corpus", "translated"})
"""Drafts that never read the noise of plain sampling, so that a coupled rule can be enumerated with them; the others'
turn comes in ``test_same_seed.py``."""


@functools.cache
def accepted(verify: str, draft: str, policy: str) -> bool:
    """Whether the command accepts the three: it is asked, so that it accepts nothing which is not in the space."""
    fallback = "request" if policy == "fallback" else "off"
    with mock.patch.object(plugins, "entry_points", return_value=()):
        try:
            check_together(DRAFTS[draft], Options(verify=verify, gamma=POLICIES[policy], fallback=fallback))
        except OptionError:
            return False
    return True


def compatible(case: Case) -> bool:
    """Whether the engine accepts the case, and the case can be enumerated."""
    if not accepted(case["verify"], case["draft"], case["policy"]):
        return False
    if case["verify"] == "gumbel" and case["draft"] not in DRAW_NOTHING:
        return False
    if case["verify"] == "match" and case["draft"] in TREES and case["policy"] == "3":
        return False  # it draws for every node: half a minute for what "2" has
    return not (case["processors"] in ("min tokens", "regex", "all") and case["stop"] == "budget")  # they need an end


CASES = product(AXES, compatible)
COVERING = covering(CASES, 2)

VARIANTS = frozenset(
    {"1", "3", "temperature", "suffix in a corpus", "unigram", "cascade of suffix", "forced", "budget"}
)
"""Levels that another one contains: in the covering array like all others, but not in the full product. (Three drafts
are two where three tokens are left, one of them the target's; the heuristic begins with one; what a corpus adds is
another copy; texts without an end-of-text token run into the budget here as well; this form forces nothing,
``test_forced.py`` has one that does.)"""
FULL_PRODUCT = [case for case in CASES if VARIANTS.isdisjoint(case.values())]


def name(case: Case) -> str:
    return " | ".join(case.values())


# ── one case ────────────────────────────────────────────────────────────────────────────────────────────────────────


class IrregularClock:
    """Simulated seconds: every reading takes another time, none depends on what is decoded."""

    def __init__(self) -> None:
        self._now = 0.0
        self._ticks = itertools.cycle([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])

    def __call__(self) -> float:
        self._now += next(self._ticks)
        return self._now


def num_tokens(case: Case) -> int:
    """Three behind the first; more where a policy drafts nothing at first, fewer where `match` draws for every node."""
    if case["verify"] == "match" and (case["draft"] in TREES or case["draft"] in LAYERED):
        return 3
    return 5 if case["policy"] == "fallback" else 4


def target_of(case: Case) -> Any:
    make = layered_target if case["draft"] in LAYERED else table_target
    if case["stop"] == "context":
        return make(eos=True, n_positions=len(PROMPT) + num_tokens(case))
    return make(eos=case["stop"] != "budget")


def options_of(case: Case) -> dict[str, Any]:
    return {
        **PLAIN,
        **PROCESSORS[case["processors"]],
        "verify": case["verify"],
        "gamma": POLICIES[case["policy"]],
        "fallback": "request" if case["policy"] == "fallback" else "off",
        "max_tokens": 99 if case["stop"] == "context" else num_tokens(case),
        "stop": ("ba", "aab") if case["stop"] == "stop string" else (),
    }


def new_stream(case: Case, target: Any, noise: Noise) -> Stream:
    """The engine as a caller gets it; call inside :func:`models_by_name`."""
    draft = DRAFTS[case["draft"]]
    return api.stream(PROMPT, target=target, draft=draft, noise=noise, clock=IrregularClock(), **options_of(case))


REGEX_TEXTS = [b"aa", b"aaa", b"aab", b"aaab", b"aabb", b"ab", b"aba"]  # REGEX, written out


def wanted_law(case: Case, target: Any) -> dict[Outcome, float]:
    options = options_of(case)
    sampling = Options(**options)
    limits = Limits(
        options["max_tokens"], target.n_positions, options["stop"], target.eos_token_id, sampling.min_tokens
    )
    allowed = finite_language(REGEX_TEXTS, TOKENIZER, EOS, 3) if options.get("regex") else None
    return slow_law(target, sampling, PROMPT, limits, TOKENIZER, allowed)


def engine_law(case: Case, target: Any) -> dict[Outcome, float]:
    with models_by_name():
        return Enumerator(lambda noise: outcome(new_stream(case, target, noise).run())).law()


def distance(case: Case) -> float:
    """Total variation between the engine's law over (ids, text, reason, stop) and plain decoding's."""
    target = target_of(case)
    return total_variation(engine_law(case, target), wanted_law(case, target))


def distance_of(target: Any, draft: Any, prompt: Sequence[int] = PROMPT, **options: Any) -> float:
    """The same of any target and draft, with options beside those of plain sampling."""
    options = {**PLAIN, **options}
    sampling = Options(**options)
    limits = Limits(sampling.max_tokens, target.n_positions, sampling.stop, target.eos_token_id, sampling.min_tokens)
    wanted = slow_law(target, sampling, prompt, limits, getattr(target, "tokenizer", None))

    def run(noise: Noise) -> Outcome:
        return outcome(api.stream(prompt, target=target, draft=draft, noise=noise, **options).run())

    return total_variation(Enumerator(run).law(), wanted)


def four_target() -> TableModel:
    return TableModel(4, 64, seed=24, table={PROMPT: [float(token == FIRST) for token in range(4)]})


def tree_distance(verify: str, shape: str, siblings: str, num_tokens: int = 3) -> float:
    """The same for a tree over four tokens.

    With three, at most two tokens are wanted more than the draft draws them, and after one rejection often a single
    one: then whatever is drawn next, the law comes out right, and mistakes about siblings do not show.
    """
    draft, depth = f"tree:draft=four,shape={shape},siblings={siblings}", shape.count("x") + 1
    with models_by_name():
        return distance_of(four_target(), draft, verify=verify, gamma=depth, max_tokens=num_tokens)
