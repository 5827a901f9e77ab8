"""Wrong speculative decoders, each a small variant of one part; the engine around it is unchanged.

``make_verify()`` without arguments is a second, independent writing of the right rule: the positive control.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from minispec.drafters import ModelDrafter
from minispec.model.session import Session
from minispec.noise import Address
from minispec.records import Draft, Verdict
from minispec.sampling import SamplingParams, distribution


def right_ratio(p, q, x):
    return p[x] / q[x]


def right_residual(p, q):
    positive = np.maximum(p - q, 0.0)
    return normalised(positive) if positive.sum() > 0.0 else p


def normalised(weights):
    return weights / weights.sum()


def one_hot(index, size):
    return np.eye(size)[index]


def make_verify(
    *,
    ratio=right_ratio,
    residual=right_residual,
    bonus=lambda target_probs, draft: target_probs[len(draft)],
    judge=lambda i: i,
    accept_position=lambda position, i: position + i,
    count=lambda accepted: next((i for i, ok in enumerate(accepted) if not ok), len(accepted)),
):
    """Rejection sampling with replaceable parts."""

    def verify(draft, target_probs, noise, *, position, step, row=0):
        def at(purpose, where):
            return Address(purpose, where, step, row)

        accepted, ratios = [], []
        for i, token in enumerate(draft.tokens):
            ratios.append(min(1.0, float(ratio(target_probs[judge(i)], draft.probs[i], token))))
            accepted.append(noise.bernoulli(ratios[-1], at("accept", accept_position(position, i))))
        kept = count(accepted)
        if not draft.tokens:
            return Verdict(0, noise.categorical(target_probs[0], Address("sample", position, row=row)), "plain")
        if kept == len(draft):
            return Verdict(kept, noise.categorical(bonus(target_probs, draft), at("bonus", position + kept)), "bonus")
        law = residual(target_probs[judge(kept)], draft.probs[kept])
        return Verdict(kept, noise.categorical(law, at("residual", position + kept)), "recovered", tuple(ratios))

    return verify


def _softmax(x):
    return normalised(np.exp(x))


def _last_row(target_probs, draft):
    return target_probs[len(draft) - 1]


WRONG_VERIFIERS = {
    "argmax bonus": make_verify(bonus=lambda t, d: one_hot(np.argmax(t[len(d)]), t.shape[1])),
    "bonus from the wrong row": make_verify(bonus=_last_row),
    "bonus from the draft": make_verify(bonus=lambda t, d: d.probs[-1]),
    "resample from p": make_verify(residual=lambda p, q: p),
    "residual swapped": make_verify(residual=lambda p, q: right_residual(q, p)),
    "residual absolute": make_verify(residual=lambda p, q: normalised(np.abs(p - q))),
    "residual softmax": make_verify(residual=lambda p, q: _softmax(np.maximum(p - q, 0.0))),
    "residual argmax": make_verify(residual=lambda p, q: one_hot(np.argmax(p - q), len(p))),
    "residual in logits": make_verify(residual=lambda p, q: _softmax(np.maximum(np.log(p) - np.log(q), 0.0))),
    "residual top-2 again": make_verify(
        residual=lambda p, q: distribution(
            np.log(right_residual(p, q) + 1e-30)[None].astype(np.float32), SamplingParams(1.0, 1, 1.0, 0.0)
        )[0]
    ),
    "ratio swapped": make_verify(ratio=lambda p, q, x: q[x] / p[x]),
    "accept iff p >= q": make_verify(ratio=lambda p, q, x: float(p[x] >= q[x])),
    "accept with p": make_verify(ratio=lambda p, q, x: p[x]),
    "accept above a threshold": make_verify(ratio=lambda p, q, x: float(p[x] > 0.2)),
    "accept argmax matches": make_verify(ratio=lambda p, q, x: float(x == np.argmax(p))),
    "accept everything": make_verify(ratio=lambda p, q, x: 1.0),
    "lenient": make_verify(ratio=lambda p, q, x: 2.0 * p[x] / q[x]),
    "rows shifted by one": make_verify(judge=lambda i: i + 1),
    "continue after rejection": make_verify(count=sum),
}


class UntruthfulDrafter:
    """Draws at half the temperature of the q it reports."""

    def __init__(self, session, sampler):
        self.params = sampler.params
        self.drawer = ModelDrafter(session, dataclasses.replace(self.params, temperature=self.params.temperature / 2))
        self.reporter = Session(session.model)

    def prefill(self, tokens):
        self.drawer.prefill(tokens)

    def propose(self, tokens, gamma, noise, *, step, row=0, **options):
        draft = self.drawer.propose(tokens, gamma, noise, step=step, row=row)
        if not len(draft):
            return draft
        feed = [*tokens, *draft.tokens[:-1]][self.reporter.length :]
        return Draft(draft.tokens, distribution(self.reporter.score(feed, num_logits=len(draft)), self.params))

    def rollback(self, length):
        self.drawer.rollback(length)
        self.reporter.rollback(length)


class ArgmaxDrafter(ModelDrafter):
    """Drafts greedily and reports the soft q."""

    def propose(self, tokens, gamma, noise, *, step, row=0, **options):
        class Greedy:
            def categorical(self, probs, at):
                return int(np.argmax(probs))

        return super().propose(tokens, gamma, Greedy(), step=step, row=row)


class ForgetsToRollBack(Session):
    """Believes it went back, but the cache did not; the new tokens are stored behind the stale ones."""

    def rollback(self, length):
        self.tokens = self.tokens[:length]

    def score(self, tokens, num_logits=None):
        logits = self.model.forward(tokens, self.cache, num_logits)
        self.tokens = [*self.tokens, *tokens]
        return logits


class KeepsOneTooMany(ForgetsToRollBack):
    """The cache goes back to one token too many: a stale row stays in the text."""

    def rollback(self, length):
        super().rollback(length)
        self.cache.rollback(length + 1)


class KeepsOneTooFew(Session):
    """Rolls back one token too far: right output, wasted work."""

    def rollback(self, length):
        super().rollback(max(0, length - 1))
