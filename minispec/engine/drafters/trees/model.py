"""What a draft model says at the nodes of a tree: one pass a level, over all nodes that get children.

Leaves are never fed. What the target keeps is found again among the fed nodes, so that the next step feeds only what
is new.
"""

from __future__ import annotations

from collections.abc import Sequence

from minispec.engine.backends.base import Array
from minispec.engine.model.asks import Asks, ask_prefill
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.tree_session import AskTree, TreeSession


class ModelSource:
    """A draft model with a session of its own.

    Parameters
    ----------
    model : LanguageModel
    """

    def __init__(self, model: LanguageModel) -> None:
        self.session = TreeSession(model)

    def prefill(self, tokens: Sequence[int]) -> Asks[None]:
        """Feed the prompt, unless it leaves the draft model no room to draft at all."""
        if self.session.model.n_positions >= len(tokens):
            yield from ask_prefill(self.session, tokens)

    def find_room(self, length: int) -> tuple[int, int]:
        """See :meth:`TreeSource.find_room`."""
        return self.session.model.n_positions + 1 - length, self.session.cache.capacity - length

    def count_slots(self, length: int, num_fed: int) -> int:
        """See :meth:`TreeSource.count_slots`."""
        return length + num_fed

    def begin(self, tokens: Sequence[int]) -> Asks[Array]:
        """See :meth:`TreeSource.begin`."""
        session = self.session
        session.keep(session.find_path(tokens[session.length : len(tokens) - 1]))
        return (yield AskTree(session, tokens[session.length :], num_logits=1, nodes=(), parents=()))

    def grow(self, nodes: Sequence[int], parents: Sequence[int]) -> Asks[Array]:
        """See :meth:`TreeSource.grow`."""
        return (yield AskTree(self.session, (), num_logits=len(nodes), nodes=nodes, parents=parents))

    def rollback(self, length: int) -> None:
        """Set the text back; the fed nodes stay for the next step to find the accepted path in."""
        if length < self.session.length:
            self.session.rollback(length)
