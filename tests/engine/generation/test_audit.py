"""An audited run is silent when all is well and stops at the first thing that is not."""

from __future__ import annotations

import pytest

from minispec.engine.control import FixedGamma
from minispec.engine.drafters import ModelDrafter
from minispec.engine.generation import Drafted
from minispec.engine.generation.audit import AuditedSession
from minispec.engine.generation.run import Stream
from minispec.engine.generation.stopping import Limits
from minispec.engine.model.session import LanguageModel, Session
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler, SamplingParams
from minispec.errors import InvariantError
from tests.models import random_gpt2

SAMPLER = Sampler(SamplingParams(1.0, top_p=1.0), 2)


def audited(session: TreeSession, draft: LanguageModel, seed: int = 0) -> Stream:
    drafter = ModelDrafter(Session(draft), SAMPLER)
    limits = Limits(30, session.model.n_positions)
    return Stream([1, 2], session, drafter, SAMPLER, PhiloxNoise(seed), limits, policy=FixedGamma(3), audit=True)


@pytest.mark.parametrize("backend", ["numba", "numpy"])
def test_an_honest_run_passes(backend: str) -> None:
    target, draft = random_gpt2(backend, seed=1), random_gpt2(backend, seed=2, n_layer=1)
    assert len(audited(AuditedSession(target), draft).run().token_ids) == 30


class ForgetsToGoBack(AuditedSession):
    """Its token list goes back, its cache does not: the next rows land behind stale ones."""

    def rollback(self, length: int) -> None:
        stale = self.cache.length
        super().rollback(length)
        if self.length:
            self.cache.lengths = [stale] * len(self.cache.lengths)


class KeepsOneTooMany(AuditedSession):
    """Keeps the pending token's row as well."""

    def rollback(self, length: int) -> None:
        super().rollback(length + 1)


class OverwritesAnOldRow(AuditedSession):
    """Damages a committed position after some steps."""

    def rollback(self, length: int) -> None:
        super().rollback(length)
        if length > 8:
            self.cache.keys[:, 0, 3] += 1.0


class ScoresTwice(AuditedSession):
    """The right logits at twice the cost."""

    def score(self, tokens, num_logits=None):
        length = self.length
        super().score(tokens, num_logits)
        super().rollback(length)
        return super().score(tokens, num_logits)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (KeepsOneTooMany, "holds all committed tokens but the last"),
        (OverwritesAnOldRow, "cached logits at position"),
        (ForgetsToGoBack, "as long as the session"),
        (ScoresTwice, "one target forward per step"),
    ],
)
def test_a_broken_session_is_stopped_and_named(broken: type[AuditedSession], says: str) -> None:
    with pytest.raises(InvariantError, match=says):
        audited(broken(random_gpt2(seed=1)), random_gpt2(seed=2, n_layer=1)).run()


def test_a_draft_cache_can_be_audited_too() -> None:
    target = TableModel(4, seed=1)
    session = AuditedSession(TableModel(4, seed=2), "draft")
    limits = Limits(12, 64)
    Stream([1, 2], TreeSession(target), ModelDrafter(session, SAMPLER), SAMPLER, PhiloxNoise(0), limits).run()
    session.cache.keys[:] += 1.0
    with pytest.raises(InvariantError, match="the draft's cached logits"):
        session.score([1])


def test_an_interrupted_audited_run_goes_on() -> None:
    """A step that is done again costs a forward of its own, which no committed step is charged with."""

    class Interrupted(AuditedSession):
        """Ctrl-C when every third forward is through."""

        def score(self, tokens, num_logits=None):
            logits = super().score(tokens, num_logits)
            if self.num_forwards % 3 == 0:
                raise KeyboardInterrupt
            return logits

    target, draft = TableModel(4, seed=1), TableModel(4, seed=2)
    whole = audited(AuditedSession(target), draft).run()
    stream = audited(Interrupted(target), draft)
    interrupted = 0
    while stream.generation.finish_reason == "interrupted":
        try:
            for event in stream:
                if not isinstance(event, Drafted):  # a step left after its draft each time would never be finished
                    stream.close()
        except KeyboardInterrupt:
            interrupted += 1
    assert stream.generation.token_ids == whole.token_ids
    assert stream.target.num_forwards == len(whole.steps) + 1 + interrupted
    assert interrupted > 3
