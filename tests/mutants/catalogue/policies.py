"""Wrong policies: how many tokens to draft, and when not to draft at all."""

from __future__ import annotations

from minispec.engine.control import (
    AutoGamma,
    ConfidenceGamma,
    Fallback,
    HeuristicGamma,
    ReplayedGamma,
    fallback,
    registry,
)
from minispec.engine.control.learner import Learner
from minispec.engine.generation import run
from minispec.engine.generation.run import Stream

from .tools import change

change(
    14, "cost of the first token", "a drafter reads for nothing", "Also where the next step drafts nothing.",
    Stream, "_feed_drafter", " and self._policy.gamma()", "",
)  # fmt: skip
change(
    14, "cost of the first token", "the first token waits for a draft", "The loop drafts before it.",
    run, "decode", "if transcript.steps:", "if True:",
)  # fmt: skip
change(
    14, "cost of the first token", "the drafter reads before the first token", "Both read the prompt first.",
    Stream, "_feed_drafter", "self.has_begun and ", "",
)  # fmt: skip
change(
    14, "cost of the target", "the prompt's last token has a forward of its own", "The prefill ends before it.",
    Stream, "_prefill", "leave_last=not self.has_begun", "leave_last=False",
)  # fmt: skip
change(
    14, "interrupted runs", "policies learn from the first token", "They see a step that no draft could be made for.",
    Learner, "learn", "if step.index:", "if True:",
)  # fmt: skip
change(
    14, "cost of the first token", "the drafter reads what nobody goes on with", "Also behind the end of the text.",
    Stream, "_feed_drafter", "transcript.finish is None", "True",
)  # fmt: skip
change(
    14, "cost of the first token", "a late drafter reads in one forward", "It is left to catch up by itself.",
    Stream, "_tell", "yield from self._feed_drafter()", "yield from ()",
)  # fmt: skip
change(
    14, "heuristic schedule", "one more after a full acceptance", "The schedule goes up by one.",
    HeuristicGamma, "observe", "self._gamma + 2", "self._gamma + 1",
)  # fmt: skip
change(
    14, "heuristic schedule", "a heuristic gives up", "After enough rejections nothing is drafted any more.",
    HeuristicGamma, "observe", "max(1, self._gamma - 1)", "max(0, self._gamma - 1)",
)  # fmt: skip
change(
    14, "heuristic schedule", "no draft is a full acceptance",
    "A step without a draft counts as one that was accepted.",
    HeuristicGamma, "observe", "if not step.draft_tokens:", "if False:",
)  # fmt: skip
change(
    14, "heuristic schedule", "the schedule has no ceiling", "It grows beyond its largest length.",
    HeuristicGamma, "observe", "min(self._largest, self._gamma + 2)", "self._gamma + 2",
)  # fmt: skip
change(
    14, "confidence threshold", "the threshold itself is too low", "A probability that equals it ends the draft.",
    ConfidenceGamma, "more", ">=", ">",
)  # fmt: skip
change(
    14, "confidence threshold", "confidence of the first token",
    "The threshold is held against token 0, not the likeliest.",
    ConfidenceGamma, "more", "probs.max()", "probs[0]",
)  # fmt: skip
change(
    14, "replayed lengths", "a replay counts reports", "A step that is reported twice shifts all lengths behind it.",
    ReplayedGamma, "observe", "step.index", "self._step + 1",
)  # fmt: skip
change(
    14, "replayed lengths", "a replay repeats its last length", "Behind the recorded steps the last length goes on.",
    ReplayedGamma, "gamma", "else 0", "else self._lengths[-1]",
)  # fmt: skip
change(
    14, "replayed trace", "both drafts of a step are replayed",
    "One that was interrupted counts besides the one that was judged.",
    registry, "_read_lengths", "[lengths[step] for step in range(1, 1 + len(lengths))]",
    '[len(event["tokens"]) for event in events if event["event"] == "drafted"]',
)  # fmt: skip
change(
    14, "decisions of auto", "what was never tested counts as rejected",
    "Every drafted token behind a rejection is learned from.",
    AutoGamma, "observe", "min(num_accepted + 1, len(step.draft_tokens))", "",
)  # fmt: skip
change(
    14, "decisions of auto", "rejections are not learned", "Only accepted drafts are counted.",
    AutoGamma, "observe", "num_accepted + 1,", "num_accepted,",
)  # fmt: skip
change(
    14, "decisions of auto", "the pending token is no row",
    "A target's forward is taken for one of as many rows as drafts.",
    AutoGamma, "observe", "len(step.draft_tokens) + 1, step.step_s", "len(step.draft_tokens), step.step_s",
)  # fmt: skip
change(
    14, "decisions of auto", "drafting counts as verifying", "T(m) is learned from the whole step.",
    AutoGamma, "observe", "step.step_s - step.draft_s", "step.step_s",
)  # fmt: skip
change(
    14, "decisions of auto", "catching up is a usual cost", "The draft's time after plain steps counts like any other.",
    AutoGamma, "observe", "if self._looks and not self._was_idle:", "if self._looks:",
)  # fmt: skip
change(
    14, "decisions of auto", "the plan forgets the bonus row", "A step of gamma drafts is taken for gamma rows.",
    AutoGamma, "_plan", "gamma * self._row_s", "(gamma - 1) * self._row_s",
)  # fmt: skip
change(
    14, "decisions of auto", "the next token is drafted for nothing", "Another forward is weighed by its row alone.",
    AutoGamma, "more", "self._draft_s + self._row_s", "self._row_s",
)  # fmt: skip
change(
    14, "decisions of auto", "confidence replaces the place", "Acceptance follows the draft's confidence alone.",
    AutoGamma, "_acceptance", "self._by_place.at(place) * odds", "self._by_confidence.mean * odds",
)  # fmt: skip
change(
    14, "decisions of auto", "nothing fades", "The oldest observation weighs as much as the last.",
    AutoGamma, "observe",
    "learn(self._keep, by_confidence)\n    self._by_place = self._by_place.learn(self._keep, by_place)",
    "learn(1.0, by_confidence)\n    self._by_place = self._by_place.learn(1.0, by_place)",
)  # fmt: skip
change(
    14, "fallback schedule", "a draw is a loss", "No margin: a window at plain cost and a little stops drafting.",
    Fallback, "_judge", "cost <= 1.0 + _MARGIN and not self._probing", "cost <= 1.0 and not self._probing",
)  # fmt: skip
change(
    14, "fallback schedule", "a probe may draw", "After a pause drafting goes on although it gained nothing.",
    Fallback, "_judge", " and not self._probing)", ")",
)  # fmt: skip
change(
    14, "fallback schedule", "pauses do not double", "A draft that keeps losing is tried as often as before.",
    Fallback, "_judge", "min(_LONGEST_PAUSE, 2 * self._pause) if self._probing else _FIRST_PAUSE", "_FIRST_PAUSE",
)  # fmt: skip
change(
    14, "fallback schedule", "pauses have no end", "They double beyond the longest.",
    Fallback, "_judge", "min(_LONGEST_PAUSE, 2 * self._pause)", "2 * self._pause",
)  # fmt: skip
change(
    14, "fallback schedule", "a pause is never forgotten", "After a win the next loss doubles the last pause.",
    Fallback, "_judge", "2 * self._pause) if self._probing else _FIRST_PAUSE", "2 * self._pause)",
)  # fmt: skip
change(
    14, "fallback schedule", "catching up is held against the draft", "What a pause made it miss counts as its cost.",
    Fallback, "_measure_catching_up", "if resuming and self._usual_draft_s is not None:", "if False:",
)  # fmt: skip
change(
    14, "fallback schedule", "a window is always whole", "However much it has lost, it goes on to its sixteenth step.",
    Fallback, "_account", " or cost - tokens > _LOSS_LIMIT", "",
)  # fmt: skip
change(
    14, "plain cost of a fallback", "a failed attempt is plain cost",
    "Seconds of fruitless drafting make plain decoding look dear.",
    Fallback, "_account", "self._learn_plain(step.step_s - step.draft_s)", "self._learn_plain(step.step_s)",
)  # fmt: skip
change(
    14, "memory of a fallback", "all pairs share a fallback", "What one draft cost is held against another.",
    fallback, "recall_fallback", "memories.setdefault(pair, Memory())", 'memories.setdefault(("", ""), Memory())',
)  # fmt: skip
change(
    14, "memory of a fallback", "a session is a process", "A fallback outlives its loaded target.",
    fallback, "recall_fallback", '_process if scope == "process" else', '_process if scope != "request" else',
)  # fmt: skip
change(
    14, "memory of a fallback", "coins meet what they decided",
    "A request drafts where an earlier one of its seed has been accepted.",
    fallback.Memory, "recall", "{} if seed in self._seeds else self._found", "self._found",
)  # fmt: skip
change(
    14, "memory of a fallback", "requests judge for each other", "A request that runs is switched by its company.",
    Fallback, "gamma", " and not self._has_begun", "",
)  # fmt: skip
change(
    14, "decisions of auto", "auto forgets its draft when it is asked again",
    "In a batch it learns nothing of drafts that need no forward.",
    AutoGamma, "gamma", "self._first_s, self._row_s =", "self._begin()\n    self._first_s, self._row_s =",
)  # fmt: skip
