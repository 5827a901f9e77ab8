"""Decoding on a simulated clock, and policies judged by what they would cost on it.

Every forward costs what a cost model says, whatever this machine does meanwhile, so that the same run always costs the
same. And the rule is by default ``gumbel``, under which text *and* drafts are functions of the seed: every policy
decodes the same tokens, and the figures differ by what the policies do and by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends.base import Array, Feed
from minispec.engine.batching import Engine
from minispec.engine.control import Fallback, GammaPolicy, get_policy
from minispec.engine.control.load import LARGEST
from minispec.engine.drafters import ModelDrafter
from minispec.engine.generation.events import Emitted, Finished
from minispec.engine.generation.run import Stream
from minispec.engine.generation.stopping import Limits
from minispec.engine.model.cache import PAGE_SIZE, KVCache
from minispec.engine.model.language_model import FedCache, LanguageModel
from minispec.engine.model.paged import PagedModel
from minispec.engine.model.session import Session, count_shared
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler, SamplingParams
from minispec.engine.verifiers import get_verifier
from minispec.errors import OptionError


class SimulatedClock:
    """A clock that only moves when it is charged. Call it for the time, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time, in seconds."""
        return self.now

    def charge(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@dataclass(frozen=True, slots=True)
class CostModel:
    """What forwards cost, in units of the target's forward over one row.

    Parameters
    ----------
    draft : float
        c: a draft forward over one row.
    row : float
        Each further row of a forward, as a share of its first: v(m) = 1 + row (m - free).
    free : int
        Rows that together take no longer than one.
    """

    draft: float = 0.1
    row: float = 0.05
    free: int = 1

    def __post_init__(self) -> None:
        if min(self.draft, self.row) < 0.0:
            raise OptionError(f"the costs are {self.draft} and {self.row}; a ratio of two times is >= 0")

    def target_cost(self, rows: int) -> float:
        """Return v(rows)."""
        return 1.0 + self.row * max(0, rows - self.free)

    def draft_cost(self, rows: int) -> float:
        """Return c v(rows)."""
        return self.draft * self.target_cost(rows)


class CostedModel:
    """A language model whose forwards move a simulated clock.

    Parameters
    ----------
    model : LanguageModel
        Does the work; everything but its forwards is its own.
    clock : SimulatedClock
    cost : callable
        Maps the rows of a forward to its seconds.
    """

    def __init__(self, model: LanguageModel, clock: SimulatedClock, cost: Callable[[int], float]) -> None:
        self._model = model
        self._clock = clock
        self._cost = cost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward(
        self,
        tokens: Sequence[int],
        cache: KVCache,
        num_logits: int | None = None,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Run the model's forward and charge its cost."""
        self._clock.charge(self._cost(len(tokens)))
        return self._model.forward(tokens, cache, num_logits, positions=positions, visible=visible)

    def run(self, feed: Feed, cache: FedCache) -> Array:
        """Run the forward of a feed, which many texts may share, and charge its cost."""
        self._clock.charge(self._cost(len(feed.tokens)))
        return self._model.run(feed, cache)

    def with_pages(self, num_pages: int, page_size: int = PAGE_SIZE) -> CostedModel:
        """Return the model, likewise charged, with caches that share a pool of pages."""
        paged = cast("PagedModel", self._model).with_pages(num_pages, page_size)
        return CostedModel(paged, self._clock, self._cost)


class RememberingModel:
    """A language model that computes each prefix once: many runs over one text then cost little more than one.

    Its caches hold tokens and nothing else; the keys and values are in one session of its own, which is set back to
    whatever a new prefix shares with the last one. Chains only: a tree's rows are computed by the model itself.

    Parameters
    ----------
    model : LanguageModel
        Batch-invariant, or what is remembered would depend on what was asked first.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._session = Session(model)
        self._rows: dict[bytes, Array] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def new_cache(self, capacity: int | None = None) -> KVCache:
        """Return a cache for tokens: one layer, one head, one number per slot."""
        return KVCache(n_layer=1, n_head=1, head_size=1, capacity=capacity or self._model.n_positions)

    def forward(
        self,
        tokens: Sequence[int],
        cache: KVCache,
        num_logits: int | None = None,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Return the logits after the last ``num_logits`` of ``tokens``, remembered where they can be."""
        if visible is not None:
            raise NotImplementedError("trees are not remembered")
        feed = cache.feed(tokens, num_logits=num_logits)
        written = feed.tokens.astype(np.float32)[:, None, None]
        cache.store(0, feed, written, written)
        cache.extend(feed)
        text, wanted = cache.keys[0, 0, : cache.length, 0, 0].astype(np.int32), feed.num_logits
        keys = [text[:length].tobytes() for length in range(len(text) - wanted + 1, len(text) + 1)]
        if not all(key in self._rows for key in keys):
            prefix = text.tolist()
            self._session.rollback(min(count_shared(self._session.tokens, prefix), len(prefix) - wanted))
            self._rows.update(zip(keys, self._session.score(prefix[self._session.length :], wanted), strict=True))
        return np.asarray([self._rows[key] for key in keys], np.float32).reshape(wanted, self._model.vocab_size)


class MisleadingDraft:
    """A draft model made useless: what it says of token i it had said of token i - 1. As sure of itself as before.

    Parameters
    ----------
    model : LanguageModel
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward(
        self,
        tokens: Sequence[int],
        cache: KVCache,
        num_logits: int | None = None,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Return the model's logits, shifted by one token."""
        logits = self._model.forward(tokens, cache, num_logits, positions=positions, visible=visible)
        shifted: Array = np.roll(logits, 1, axis=1)
        return shifted


class ScriptedModel(TableModel):
    """A model that writes token 0 for ever; as a draft it is right where a script says so, and always sure of itself.

    A text begins with its own number, a token that only tells whose script it is.

    Parameters
    ----------
    scripts : array of bool, shape (texts, positions)
        Whether the token that follows so many tokens is foreseen.
    """

    def __init__(self, scripts: NDArray[np.bool_]) -> None:
        super().__init__(max(2, len(scripts)), scripts.shape[1])
        self._scripts = scripts
        self._rows = np.eye(self.vocab_size)

    def next_probs(self, prefix: Sequence[int]) -> NDArray[np.float64]:
        """Return a certain token: 0 where the script is true, else 1."""
        row: NDArray[np.float64] = self._rows[0 if self._scripts[prefix[0], len(prefix) - 1] else 1]
        return row


class Company(NamedTuple):
    """Requests decoded together on a simulated clock.

    Attributes
    ----------
    rate : float
        Tokens by the time of a one-row target forward, from when all have begun until the first ends.
    whole_rate : float
        The same until the last ends.
    num_drafted : int
        Draft tokens of all.
    seconds : float
        Until the last ends.
    """

    rate: float
    whole_rate: float
    num_drafted: int
    seconds: float


def decode_company(scripts: NDArray[np.bool_], num_tokens: int, costs: CostModel, **options: Any) -> Company:
    """Decode a text for each script together, by the engine that serves, each with ``num_tokens`` behind its first.

    The engine knows the cost of every number of rows, as after an hour's service; acceptance it learns as it goes.

    Parameters
    ----------
    scripts : array of bool, shape (texts, positions)
        Whether the draft is right after so many tokens; see :class:`ScriptedModel`.
    num_tokens : int
    costs : CostModel
    **options
        Those of :meth:`minispec.Engine.add`, ``gamma`` among them.
    """
    clock = SimulatedClock()
    target = CostedModel(ScriptedModel(np.ones_like(scripts)), clock, costs.target_cost)
    draft = CostedModel(ScriptedModel(scripts), clock, costs.draft_cost)
    engine = Engine(target, max_running=len(scripts), clock=clock)
    for rows in range(1, (LARGEST + 1) * len(scripts) + 1):
        engine.load.target.add(rows, costs.target_cost(rows))
        engine.load.draft.add(rows, costs.draft_cost(rows))
    for number in range(len(scripts)):
        engine.add([number], draft=draft, max_tokens=num_tokens + 1, temperature=0.0, verify="gumbel", **options)
    emitted, ended = [], []
    engine.step()  # all prompts are one token long: each gives the first token of its text
    began = clock.now
    while not engine.is_idle:
        events = [event for _, event in engine.step()]
        emitted.append((clock.now, sum(len(event.token_ids) for event in events if isinstance(event, Emitted))))
        ended += [clock.now for event in events if isinstance(event, Finished)]
    early = sum(count for now, count in emitted if now <= ended[0])
    drafted = sum(each.metrics.num_draft_tokens for each in engine.run())
    spent = clock.now - began
    return Company(early / (ended[0] - began), len(scripts) * num_tokens / spent, drafted, spent)


PLAIN = "0"
FIXED = tuple(str(gamma) for gamma in range(1, 13))
ADAPTIVE = ("heuristic", "confidence", "auto", "auto+fallback", "5+fallback")
POLICIES = (PLAIN, *FIXED, *ADAPTIVE)


@dataclass(frozen=True)
class Text:
    """What is decoded: a few prompts in a row, each put behind what was generated so far.

    With more than one prompt the text changes midway, under one and the same policy object.

    Attributes
    ----------
    prompts : sequence of sequence of int
    num_tokens : int
        To generate after each of them; the end of the text is forbidden.
    temperature : float
    seed : int
    """

    prompts: Sequence[Sequence[int]]
    num_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0


def new_policy(name: str) -> GammaPolicy:
    """Return a fresh policy: what ``--gamma`` takes, and ``+fallback`` behind it for ``--fallback``.

    Examples
    --------
    >>> type(new_policy("5+fallback")).__name__
    'Fallback'
    """
    gamma, plus, _ = name.partition("+fallback")
    policy = get_policy(gamma)
    return Fallback(policy) if plus else policy


def cost_per_token(
    target: LanguageModel,
    draft: LanguageModel,
    text: Text,
    policy: GammaPolicy,
    costs: CostModel,
    *,
    verify: str = "gumbel",
) -> float:
    """Decode ``text`` and return its simulated cost per token, in units of a one-row target forward.

    Plain decoding costs 1 by definition. Prefills are left out: they are alike for every policy.
    """
    clock = SimulatedClock()
    verifier = get_verifier(verify)
    params = SamplingParams(text.temperature, top_p=1.0, min_tokens=text.num_tokens)
    tokens: list[int] = []
    spent, emitted = 0.0, 0
    for number, prompt in enumerate(text.prompts):
        tokens += prompt
        sampler = Sampler(params, len(tokens), target.eos_token_id)
        run = Stream(
            tokens,
            TreeSession(CostedModel(target, clock, costs.target_cost)),
            ModelDrafter(Session(CostedModel(draft, clock, costs.draft_cost)), sampler, coupled=verifier.coupled),
            sampler,
            PhiloxNoise(text.seed + number),
            Limits(text.num_tokens, target.n_positions, (), target.eos_token_id),
            policy=policy,
            verifier=verifier,
            clock=clock,
        ).run()
        tokens += run.token_ids
        spent += run.metrics.decode_s
        emitted += run.metrics.num_decode_tokens
    return spent / emitted


def judge(
    target: LanguageModel,
    draft: LanguageModel,
    texts: Sequence[Text],
    costs: CostModel,
    policies: Iterable[str] = POLICIES,
    *,
    verify: str = "gumbel",
) -> dict[str, float]:
    """Return every policy's mean cost per token; with a ``RememberingModel`` each text is computed once."""
    return {
        name: float(
            np.mean([cost_per_token(target, draft, text, new_policy(name), costs, verify=verify) for text in texts])
        )
        for name in policies
    }


def best_fixed(costs: Mapping[str, float]) -> str:
    """Return the cheapest fixed γ of a table that :func:`judge` made, 0 among them.

    Examples
    --------
    >>> best_fixed({"0": 1.0, "4": 0.7, "8": 0.8, "auto": 0.6})
    '4'
    """
    return min((name for name in costs if name.isdigit()), key=costs.__getitem__)
