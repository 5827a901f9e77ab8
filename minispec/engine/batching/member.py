"""A request while it is in a batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from minispec.engine.control.learner import list_policies
from minispec.engine.drafters.base import NoDrafter
from minispec.engine.drafters.heads import HeadSession
from minispec.engine.drafters.layerskip import AskLayers
from minispec.engine.generation.run import Stream
from minispec.engine.model.asks import Ask
from minispec.engine.model.session import Session, count_shared
from minispec.errors import OptionError


@dataclass(eq=False)
class Member:
    """A request while it is in a batch.

    Parameters
    ----------
    number : int
    stream : Stream
    max_length : int
        Slots that its text, and the candidates beside it, may need.
    ask : Ask or None
        The logits that it waits for while it runs.
    """

    number: int
    stream: Stream
    max_length: int
    ask: Ask | None = None

    @property
    def sessions(self) -> list[Session]:
        """The sessions whose caches hold its text."""
        drafts: Session | None = getattr(self.stream.drafter, "session", None)
        return [self.stream.target] if drafts is None else [self.stream.target, drafts]

    @property
    def pages(self) -> tuple[int, ...]:
        """The target's pages that hold its text, in order."""
        cache = self.stream.target.cache
        return tuple(cache.pages.tolist()) if cache.length else ()

    @property
    def num_unread(self) -> int:
        """Tokens that the target has read and the draft model has not."""
        first, *others = self.sessions
        return sum(max(0, first.length - drafts.length) for drafts in others)

    @property
    def prefills(self) -> bool:
        """Whether it waits for a chunk of a prompt to be fed; the target's last one is answered with a row."""
        return self.ask is not None and (self.ask.num_logits == 0 or not self.stream.has_begun)

    @property
    def decides(self) -> bool:
        """Whether it may decide in this step how far to draft: not while the target has more of the prompt to read."""
        return self.ask is not None and (self.ask.num_logits > 0 or not self.verifies)

    @property
    def verifies(self) -> bool:
        """Whether it waits for the target as a whole."""
        return self.ask is not None and self.ask.session is self.stream.target and not isinstance(self.ask, AskLayers)

    @property
    def most_rows(self) -> int:
        """Rows of the target that its next step may take: the pending token's, and those of a draft."""
        drafter, policy = self.stream.drafter, self.stream.policy
        if isinstance(drafter, NoDrafter):
            return 1
        return 1 + int(getattr(drafter, "num_nodes", policy.gamma()))

    def shares_with(self, older: Member, page_size: int) -> bool:
        """Return whether an older request is feeding pages that this one would feed next.

        Before its first token it needs none of its draft model's. Nobody shares the rows of a head.
        """
        known = self.stream.tokens[:-1]
        mine = next((session for session in self.sessions if session.length < len(known)), None)
        if mine is None or isinstance(mine, HeadSession) or not older.prefills:
            return False
        shared = count_shared(known, older.stream.tokens[:-1])
        whole = shared - shared % page_size
        return any(theirs.model is mine.model and theirs.length < whole for theirs in older.sessions)

    def free(self) -> None:
        """Give its pages back."""
        for session in self.sessions:
            session.rollback(0)

    def publish(self) -> None:
        """Let others that begin alike share what the caches hold of the committed text.

        But for the rows of a head: one may depend on the token behind its own, and costs little to compute again.
        """
        committed = self.stream.tokens
        for session in self.sessions:
            if not isinstance(session, HeadSession):
                session.cache.publish(committed[: count_shared(session.tokens, committed)])


def require_unshared(members: Iterable[Member], **given: object) -> None:
    """Refuse a drafter or a policy, by the name of its option, with which a request that has not ended works.

    Raises
    ------
    OptionError
        Naming the request.
    """
    for what, each in given.items():
        if not hasattr(each, "propose") and not hasattr(each, "observe"):
            continue  # a name, a number or a model
        for member in members:
            if any(each is used for used in (member.stream.drafter, *list_policies(member.stream.policy))):
                raise OptionError(
                    f"{what} is a {type(each).__name__}, whose state is that of one text, and request {member.number} "
                    f"has it. Name a {'draft' if what == 'draft' else 'policy'}, or give each request one of its own"
                )
