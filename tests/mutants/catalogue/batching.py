"""Wrong companies: texts that read or write each other's pages, answers that go to another, requests out of turn."""

from __future__ import annotations

from minispec.engine.batching import Engine
from minispec.engine.batching.scheduler import Scheduler
from minispec.engine.control.load import Load, LoadGamma, RowTimes
from minispec.engine.model import together
from minispec.engine.model.paged import PagedCache, PagePool

from .tools import change

change(
    17, "texts in pages", "a published page is written to", "Whoever filled a page goes on in it after going back.",
    PagePool, "is_shared", " or page in self._beginnings", "",
)  # fmt: skip
change(
    17, "texts in pages", "a page that was taken is still published", "Another text adopts what has been overwritten.",
    PagePool, "take", "del self._published[self._beginnings.pop(page)]", "self._beginnings.pop(page)",
)  # fmt: skip
change(
    17, "texts in pages", "an adopted page has no holder", "It is free for others as soon as one lets go.",
    PagePool, "share", "self._holders[page] += 1", "self._holders[page] = 1",
)  # fmt: skip
change(
    17, "texts in pages", "an adopted page stays among the free", "It is taken from the one who took it up.",
    PagePool, "share", "self._remembered.pop(page, None)", "pass",
)  # fmt: skip
change(
    17, "texts in pages", "only keys are copied", "A page of one's own has the values of whoever had it before.",
    PagedCache, "_copy", "for array in self.arrays():", "for array in (self.keys,):",
)  # fmt: skip
change(
    17, "texts in pages", "going back keeps its pages", "Pages behind the text are not given back.",
    PagedCache, "rollback", "while len(self._table) > filled:", "while len(self._table) > filled + 1:",
)  # fmt: skip
change(
    17, "texts in pages", "texts share by their last page", "A page is known by its own tokens, not by all before it.",
    PagePool, "share", "self._published.get(text[:end].tobytes())",
    "next((page for key, page in self._published.items() if key.endswith(text[end - size : end].tobytes())), None)",
)  # fmt: skip
change(
    17, "answers together", "answers come in the order of models", "Rows that nobody wants stand between the others.",
    together, "join", "np.argsort(wanted, kind=\"stable\")", "np.arange(len(wanted))",
)  # fmt: skip
change(
    17, "answers together", "a tree hides the others texts", "Beside a tree a chain sees its new tokens alone.",
    together, "join", "np.arange(last) < feed.ends[:, None]", "np.eye(last, dtype=bool)[feed.ends - 1]",
)  # fmt: skip
change(
    17, "requests together", "everyone is told of the first feed", "Only the first text's cache is lengthened.",
    together.JoinedCaches, "extend", "in self._parts:", "in self._parts[:1]:",
)  # fmt: skip
change(
    17, "order of requests", "who fits goes first", "A small request overtakes one that waits for room.",
    Scheduler, "admit", "not fits(self.waiting[0])", "not any(map(fits, self.waiting))",
)  # fmt: skip
change(
    17, "order of requests", "the oldest makes room", "Whoever has run longest is preempted.",
    Scheduler, "preempt", "self.running.pop()", "self.running.pop(0)",
)  # fmt: skip
change(
    17, "order of requests", "one who makes room waits last", "A preempted request is put behind those who came later.",
    Scheduler, "preempt", "insort(self.waiting, request)", "self.waiting.append(request)",
)  # fmt: skip
change(
    17, "order of requests", "a long prompt never begins", "A chunk that is larger than the budget is not chosen.",
    Scheduler, "choose_prefills", "if chosen and num_rows", "if num_rows",
)  # fmt: skip
change(
    17, "order of requests", "a small prompt slips in", "Behind a chunk that does not fit, one that does is chosen.",
    Scheduler, "choose_prefills", "break", "continue",
)  # fmt: skip
change(
    17, "lengths of a batch", "a batch forgets its pending rows", "B gamma rows in place of B (gamma + 1).",
    Load, "_rows", "len(self._policies) * (gamma + 1)", "len(self._policies) * gamma",
)  # fmt: skip
change(
    17, "lengths of a batch", "others decode for nothing", "Requests that do not draft bring no tokens.",
    Load, "plan", "float(self._num_plain)", "0.0",
)  # fmt: skip
change(
    17, "lengths of a batch", "what is read late is forgotten", "A draft that was accepted whole costs nothing later.",
    Load, "_drafting_s", "together + caught_up", "together",
)  # fmt: skip
change(
    17, "lengths of a batch", "everyone drafts as far as all", "No request is asked whether its own tokens pay.",
    LoadGamma, "gamma", "gamma < best and survival > price", "gamma < best",
)  # fmt: skip
change(
    17, "lengths of a batch", "the last time is the time", "A forward's time is not averaged with those before.",
    RowTimes, "add", "keep * known + (1.0 - keep) * seconds", "seconds",
)  # fmt: skip
change(
    17, "law of equal seeds", "one noise for one seed", "What one request has drawn decides how its twin drafts.",
    Engine, "add", "self._batch.num_added + 1", "0",
)  # fmt: skip
