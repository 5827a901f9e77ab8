"""Policies that know what no policy may know, smuggled in by replacing the drafter, the rule or the loop's own parts.

Each decides how many drafts of the *present* step count. That is a decision about which tokens get a second chance, and
it biases the law as soon as it depends on the target's rows, on the coins, or on the drafts it discards.
"""

from __future__ import annotations

import dataclasses

from minispec.control import FixedGamma
from minispec.records import Draft


def cut(draft: Draft, length: int) -> Draft:
    return Draft(draft.tokens[:length], draft.probs[:length])


class _Double:
    """Drafts two, then lets ``shorten`` decide how many of them the rule gets to see."""

    def take_over(self, stream) -> None:
        verify = stream._verifier.verify

        def with_another_gamma(draft, target_probs, coins):
            length = self.shorten(draft, target_probs, noise, position, step)
            return verify(cut(draft, length), target_probs[: length + 1], noise, position=position, step=step, row=row)

        stream._policy = FixedGamma(2)
        stream._verifier = dataclasses.replace(stream._verifier, verify=with_another_gamma)

    def shorten(self, draft, target_probs, noise, position, step):
        raise NotImplementedError


class HonestTwin(_Double):
    """Shortens too, by the number of the step alone."""

    def shorten(self, draft, target_probs, noise, position, step):
        return min(len(draft), 1 + step % 2)


class PeeksAtTargetRows(_Double):
    """Ends the draft before a token that the target likes less than the draft does: it would be rejected."""

    def shorten(self, draft, target_probs, noise, position, step):
        likes = [p[x] >= q[x] for x, p, q in zip(draft.tokens, target_probs, draft.probs, strict=False)]
        return likes.index(False) if False in likes else len(draft)


class PeeksAtCoins(_Double):
    """Throws the coins first and ends the draft before the one that says no."""

    def shorten(self, draft, target_probs, noise, position, step):
        for i, token in enumerate(draft.tokens):
            ratio = min(1.0, target_probs[i, token] / draft.probs[i, token])
            at = ("peek", position + i, step)
            if not noise.bernoulli(ratio, at):
                return i
        return len(draft)


class PeeksAtTheDraft(_Double):
    """Drops a drafted token because of which token it is: it was a 1."""

    def shorten(self, draft, target_probs, noise, position, step):
        return next((i for i, token in enumerate(draft.tokens) if token == 1), len(draft))


class RetriesAfterRejection(_Double):
    """Drops a draft that was rejected and draws the position again, plainly: a second chance."""

    def shorten(self, draft, target_probs, noise, position, step):
        if len(draft) and not noise.bernoulli(
            min(1.0, target_probs[0, draft.tokens[0]] / draft.probs[0, draft.tokens[0]]), ("peek", position, step)
        ):
            return 0
        return len(draft)
