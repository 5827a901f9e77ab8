"""A batch: the requests that decode together, and the step that they take.

Drafts grow first, token by token, with one forward of a draft model, or a head, for all who ask it. Then the target
answers everyone with one forward: each has a draft, an acceptance and a length of its own. Requests join and leave
between steps (Yu et al. 2022, "Orca").
"""

from __future__ import annotations

from collections.abc import Callable

from minispec.engine.backends.base import Array
from minispec.engine.batching.member import Member
from minispec.engine.batching.models import Occupancy, SharedModels
from minispec.engine.batching.scheduler import Scheduler
from minispec.engine.control.load import Load, LoadGamma, RowTimes
from minispec.engine.generation.events import Emitted, Event, Finished, Verified
from minispec.engine.generation.result import Generation
from minispec.engine.generation.run import Stream
from minispec.engine.model.asks import Ask
from minispec.engine.model.pages import OutOfPagesError
from minispec.engine.model.together import answer_together
from minispec.errors import InvariantError, OptionError

Watch = Callable[[int, Event], None]
"""Is told of each event, and of which request it is, when it happens."""


class Batch:
    """Requests that wait or run, and what has happened to them.

    Parameters
    ----------
    models : SharedModels
    scheduler : Scheduler
    clock : callable
        Seconds.

    Attributes
    ----------
    members : dict of int to Member
    told : list of (int, Event)
        What has happened, and to which request, until the owner takes it.
    ended : dict of int to Generation
    load : Load
        What forwards cost now, for requests whose drafts are as long as the batch can afford.
    num_forwards, num_rows : int
        Forwards of the target as a whole, and the tokens fed in them.
    num_added : int
        Requests so far; the next one has this number.
    blamed : int or None
        The request whose own work raised in the last step, or that needs more memory than there is.
    """

    def __init__(self, models: SharedModels, scheduler: Scheduler, clock: Callable[[], float]) -> None:
        self.members: dict[int, Member] = {}
        self.told: list[tuple[int, Event]] = []
        self.ended: dict[int, Generation] = {}
        self.load = Load()
        self.num_forwards = self.num_rows = 0
        self.blamed: int | None = None
        self.num_added = 0
        self._models = models
        self._scheduler = scheduler
        self._clock = clock

    def add(self, stream: Stream, max_length: int) -> int:
        """Let a request wait for its turn, which needs so many slots at most; return its number."""
        number, self.num_added = self.num_added, self.num_added + 1
        self.members[number] = Member(number, stream, max_length)
        self._scheduler.add(number)
        return number

    def find(self, number: int) -> Member:
        """Return a request that waits or runs.

        Raises
        ------
        OptionError
            If none of this number does.
        """
        if number not in self.members:
            numbers = f"; numbers were given up to {self.num_added - 1}" if self.num_added else ""
            raise OptionError(f"no request {number} is waiting or running{numbers}. Give one that add returned")
        return self.members[number]

    def cancel(self, number: int) -> Generation:
        """End a request where it is."""
        member = self.find(number)
        try:
            self._leave(member)
            return self._end(member)
        except BaseException:
            self._recover()
            raise

    def step(self, watch: Watch | None = None) -> None:
        """Take one step with every request that decodes, and feed prompts beside; see :meth:`Engine.step`."""
        self.blamed = None
        try:
            while self._scheduler.admit(self._fits) is not None:
                pass
            if self.members and not self._scheduler.running:
                raise InvariantError(
                    f"{len(self.members)} requests wait and none runs, with {self._models.num_free} of "
                    f"{self._models.num_pages} pages free: pages were not given back"
                )
            for number in list(self._scheduler.running):
                if self.members[number].ask is None and not self._is_begun_by_another(self.members[number]):
                    self._advance(self.members[number], None, watch)
            self._answer_all(watch)
        except BaseException:
            self._recover()
            raise

    @property
    def occupancy(self) -> Occupancy:
        """How full the target's pages are."""
        members = list(self.members.values())  # a copy: this may be asked from another thread
        used = sum(member.stream.target.length for member in members)  # whoever waits has none
        return Occupancy(self._models.num_slots, self._models.num_held_slots, used)

    def take_told(self) -> list[tuple[int, Event]]:
        """Return what has happened since it was last taken."""
        told, self.told = self.told, []
        return told

    def _recover(self) -> None:
        """Requeue all requests at their last committed step, whatever an interruption has left half done."""
        for number in self.members.keys() & self.ended.keys():
            del self.members[number]
        for member in self.members.values():
            self._leave(member)
        self._models.clear()  # a page may have been taken and not yet noted
        self._scheduler.restart(sorted(self.members))

    def _answer_all(self, watch: Watch | None) -> None:
        """Answer each request until it has taken a step, or a chunk of its prompt is fed."""
        asking = [self.members[number] for number in self._scheduler.running if self.members[number].ask is not None]
        deciding = [member for member in asking if member.decides]
        policies = [policy for member in deciding if isinstance(policy := member.stream.policy, LoadGamma)]
        num_plain = len(deciding) - len(policies)
        self.load.begin_step(policies, num_plain, lambda: sum(member.num_unread for member in deciding))
        before, decodes = len(self.told), not any(member.prefills for member in asking)
        active = self._choose_active(asking)
        while drafting := [member for member in active if member.ask is not None and not member.verifies]:
            fed_prompt = {member.number for member in drafting if member.prefills}
            self._answer(drafting, self.load.draft, watch)
            active = [member for member in active if not (member.number in fed_prompt and member.prefills)]
        verifying = [member for member in active if member.ask is not None]
        if verifying:
            self.num_rows += self._answer(verifying, self.load.target, watch)
            self.num_forwards += 1
        emitted = sum(len(event.token_ids) for _, event in self.told[before:] if isinstance(event, Emitted))
        drafted = any(
            event.num_accepted or event.rejected for _, event in self.told[before:] if isinstance(event, Verified)
        )
        self.load.end_step(emitted if decodes else 0, has_drafted=drafted)

    def _choose_active(self, asking: list[Member]) -> list[Member]:
        """Leave out those whose prompts must wait: what draft models read has a budget of its own.

        Whoever's draft model has read it all drafts in the same step, and has the target verify that.
        """
        read = {member: len(member.ask.tokens) for member in asking if member.ask is not None and member.prefills}
        if not read:
            return asking
        active = [member for member in asking if member not in read]
        for verifies in (False, True):
            chunks = [(member.number, count) for member, count in read.items() if member.verifies is verifies]
            num_rows = sum(member.most_rows for member in active) if verifies else 0
            active += [self.members[i] for i in self._scheduler.choose_prefills(chunks, num_rows)]
        return sorted(active, key=lambda member: member.number)

    def _answer(self, members: list[Member], times: RowTimes, watch: Watch | None = None) -> int:
        """Answer what these ask, as far as memory allows, and note the time; return how many tokens were fed."""
        answers: list[Array] = []
        started = self._clock()
        while members and not answers:
            try:
                answers = answer_together([member.ask for member in members if member.ask is not None])
            except OutOfPagesError:
                victim = self._make_room()
                members = [member for member in members if member is not victim]
        num_tokens = sum(member.ask.num_tokens for member in members if member.ask is not None)
        for member, logits in zip(members, answers, strict=True):
            self._advance(member, logits, watch)
        if members:  # else everyone who asked had to make room
            seconds = self._clock() - started  # with what is done with the rows: draws, a rule's verdict
            if times.total_s:
                times.add(num_tokens, seconds)
            else:
                times.begin(seconds)
        return num_tokens

    def _is_begun_by_another(self, member: Member) -> bool:
        """Return whether an older request is feeding pages that this one begins with; it shares them when they are fed.

        So the prompt of several answers that come together is fed once.
        """
        older = [self.members[number] for number in self._scheduler.running if number < member.number]
        return any(member.shares_with(each, self._models.page_size) for each in older)

    def _make_room(self) -> Member:
        """Take the pages of the youngest request; it will feed its text again."""
        running = self._scheduler.running
        if len(running) == 1:
            self.blamed = running[0]
            raise OptionError(
                f"request {running[0]} needs more than the {self._models.num_pages} pages of {self._models.page_size} "
                "slots that the memory for keys and values holds. Give it more, or ask for fewer tokens"
            )
        self._leave(victim := self.members[self._scheduler.preempt()])
        return victim

    def _advance(self, member: Member, logits: Array | None, watch: Watch | None) -> None:
        """Go on until the request waits for logits again, or ends; note what happens on the way."""
        if member.prefills:
            member.publish()  # what was fed of its prompt: others may wait for it
        self.blamed, member.ask = member.number, None
        while True:
            try:
                happened = member.stream.advance(logits)
            except StopIteration:
                self._end(member)
                break
            logits = None
            if isinstance(happened, Ask):
                member.ask = happened
                break
            self.told.append((member.number, happened))
            if watch is not None:
                watch(member.number, happened)
            if isinstance(happened, Finished):
                member.publish()
                member.free()
            elif isinstance(happened, Emitted) and happened.step == 0 and self._is_begun_by_another(member):
                member.stream.note_delivered()
                break  # what its draft model would read; the first token did not wait for that
        self.blamed = None

    def _end(self, member: Member) -> Generation:
        self.ended[member.number] = member.stream.generation
        self._scheduler.remove(member.number)
        del self.members[member.number]
        return self.ended[member.number]

    def _leave(self, member: Member) -> None:
        """Set a request back to what it has committed, and give its pages back."""
        member.ask = None
        member.stream.close(delivered=any(event is member.stream.last_event for _, event in self.told))
        member.free()

    def _fits(self, number: int) -> bool:
        """Return whether the pages for a request's text are free, and one more if it is not alone and may need it.

        Pages that running requests have yet to take, for prompts that are not fed, are not free.
        """
        models, running = self._models, [self.members[i] for i in self._scheduler.running]
        promised = sum(max(0, models.count_pages(len(each.stream.tokens)) - len(each.pages)) for each in running)
        member = self.members[number]
        needed = models.count_pages(len(member.stream.tokens)) + bool(running)
        return models.num_free - promised >= min(needed, models.count_pages(member.max_length))
