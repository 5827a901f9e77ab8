"""A head as the engine sees it: rows in a cache of its own. The engine asks for their logits as for a draft model's.

So requests of a batch that draft with one head share its passes. A session says what each row is fed; the head's
formula (:meth:`Head.compute`) does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from minispec.engine.backends.base import Array
from minispec.engine.drafters.heads.folder import Head
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.session import Session
from minispec.engine.model.tree_session import TreeSession


class HeadSession(TreeSession):
    """A head, a cache for its rows, and the session of the target that it looks into.

    Parameters
    ----------
    target : Session
        The session that verifies.
    head : Head
    """

    def __init__(self, target: Session, head: Head) -> None:
        super().__init__(cast("LanguageModel", head))  # it has caches and runs feeds: a session asks for no more
        self.target, self.head = target, head
        target.cache.keep_features(head.config.layers)

    def score(self, tokens: Sequence[int], num_logits: int | None = None) -> Array:
        """See :meth:`Session.score`."""
        logits = self.head.run(self.feed(tokens, num_logits), self.cache)
        self.note(tokens, logits)
        return logits

    def read_features(self, first: int, last: int) -> Array:
        """Return the target's hidden states of some tokens, (last - first, F * C)."""
        return self.target.cache.read_features(self.head.config.layers, first, last)
