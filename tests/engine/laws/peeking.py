"""Policies that know what no policy may know, smuggled in by replacing the drafter, the rule or the loop's own parts.

Each decides how many drafts of the *present* step count. That is a decision about which tokens get a second chance, and
it biases the law as soon as it depends on the target's rows, on the coins, or on the drafts it discards.
"""

from __future__ import annotations

import dataclasses

from minispec.engine.control import FixedGamma
from minispec.engine.noise import Coins
from minispec.engine.records import Draft


def cut(draft: Draft, length: int) -> Draft:
    return Draft(draft.tokens[:length], draft.probs[:length])


def peek(coins: Coins, i: int, prob: float) -> bool:
    return coins.noise.bernoulli(prob, ("peek", coins.position + i, coins.step))


class _Double:
    """Drafts two, then lets ``shorten`` decide how many of them the rule gets to see."""

    def take_over(self, stream) -> None:
        verify = stream._verifier.verify

        def with_another_gamma(draft, target_probs, coins):
            length = self.shorten(draft, target_probs, coins)
            return verify(cut(draft, length), target_probs[: length + 1], coins)

        stream._policy = FixedGamma(2)
        stream._verifier = dataclasses.replace(stream._verifier, verify=with_another_gamma)

    def shorten(self, draft, target_probs, coins):
        raise NotImplementedError


class HonestTwin(_Double):
    """Shortens too, by the number of the step alone."""

    def shorten(self, draft, target_probs, coins):
        return min(len(draft), 1 + coins.step % 2)


class PeeksAtTargetRows(_Double):
    """Ends the draft before a token that the target likes less than the draft does: it would be rejected."""

    def shorten(self, draft, target_probs, coins):
        likes = [p[x] >= q[x] for x, p, q in zip(draft.tokens, target_probs, draft.probs, strict=False)]
        return likes.index(False) if False in likes else len(draft)


class PeeksAtCoins(_Double):
    """Throws the coins first and ends the draft before the one that says no."""

    def shorten(self, draft, target_probs, coins):
        for i, token in enumerate(draft.tokens):
            ratio = min(1.0, target_probs[i, token] / draft.probs[i, token])
            if not peek(coins, i, ratio):
                return i
        return len(draft)


class PeeksAtTheDraft(_Double):
    """Drops a drafted token because of which token it is: it was a 1."""

    def shorten(self, draft, target_probs, coins):
        return next((i for i, token in enumerate(draft.tokens) if token == 1), len(draft))


class RetriesAfterRejection(_Double):
    """Drops a draft that was rejected and draws the position again, plainly: a second chance."""

    def shorten(self, draft, target_probs, coins):
        if len(draft) and not peek(
            coins, 0, min(1.0, target_probs[0, draft.tokens[0]] / draft.probs[0, draft.tokens[0]])
        ):
            return 0
        return len(draft)
