"""Why a policy is handed so little: one that peeks at the present step is told apart from those that do not."""

from __future__ import annotations

import pytest

from minispec.engine.control import FixedGamma
from minispec.engine.generation import Drafted, api
from minispec.engine.generation.options import Options
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Enumerator, outcome, total_variation
from tests.engine.laws.oracle import slow_law

from .peeking import HonestTwin, PeeksAtCoins, PeeksAtTargetRows, PeeksAtTheDraft, RetriesAfterRejection
from .space import EXACT, LOADED, PLAIN, PROMPT, TOKENIZER, table_target

TOLD_APART = 1e-3


def distance(new_policy):
    target = table_target(eos=False)

    def run(noise):
        stream = api.stream(PROMPT, target=target, draft=LOADED["table"], max_tokens=4, noise=noise, **PLAIN)
        new_policy().take_over(stream)
        return outcome(stream.run())

    wanted = slow_law(target, Options(**PLAIN), PROMPT, Limits(4, target.n_positions), TOKENIZER)
    return total_variation(Enumerator(run).law(), wanted)


@pytest.mark.parametrize("policy", [PeeksAtTargetRows, PeeksAtCoins, PeeksAtTheDraft, RetriesAfterRejection])
def test_a_gamma_that_knows_the_present_step_biases_the_law(policy):
    assert distance(policy) > TOLD_APART


def test_the_same_double_without_the_peek_has_the_targets_law():
    """The positive control: what tells the others apart is what they look at, not how they are smuggled in."""
    assert distance(HonestTwin) < EXACT


def test_no_policy_is_handed_a_target_row_a_coin_or_a_discarded_draft():
    """The interface: a policy holds what it was told, and it was told draft rows and finished steps."""

    class Listens(FixedGamma):
        def __init__(self):
            super().__init__(2)
            self.heard = []

        def more(self, probs):
            self.heard.append(("row", tuple(probs)))
            return super().more(probs)

        def observe(self, step):
            self.heard.append(("step", step.index))

    def run(noise):
        policy = Listens()
        options = {**PLAIN, "gamma": policy, "max_tokens": 4}
        stream = api.stream(PROMPT, target=table_target(eos=False), draft=LOADED["table"], noise=noise, **options)
        drafted = 0
        for event in stream:
            if isinstance(event, Drafted):
                rows = [what for kind, what in policy.heard if kind == "row"]
                steps = [what for kind, what in policy.heard if kind == "step"]
                assert len(rows) - drafted <= 2
                assert steps == list(range(1, event.step)), "finished steps only"
                drafted = len(rows)
        return len(policy.heard)

    Enumerator(run).law()
