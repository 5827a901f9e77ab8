"""Same seed, same text, whatever is rebuilt inside: runs of every rule with every draft, recorded once.

``python -m tests.engine.generation.test_golden_runs`` records them anew. Do that only where texts are meant to change.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minispec.engine.generation import api
from tests.engine.laws import space

RUNS = Path(__file__).parents[2] / "golden" / "runs.json"
RULES = ("rejection", "block", "tree", "traversal", "match", "gumbel", "lenient:lenience=0.5", "typical")
SETTINGS = (
    {"gamma": 4, "seed": 1, "temperature": 1.0, "top_p": 1.0, "max_tokens": 24},
    {"gamma": "heuristic", "seed": 2, "temperature": 0.7, "top_p": 0.9, "repetition_penalty": 1.2, "max_tokens": 9},
)


def decode(rule: str, draft: str | None, setting: dict) -> list:
    kind = space.DRAFTS[draft] if draft is not None else None
    layered = draft in ("layer skip", "self in int8")
    target = (space.layered_target if layered else space.table_target)(eos=False, n_positions=30)
    with space.models_by_name():
        made = api.generate(space.PROMPT, target=target, draft=kind, verify=rule, **setting)
    return ["".join(map(str, made.token_ids)), "".join(source[0] for source in made.sources), made.finish_reason]


def cases() -> dict[str, tuple[str, str | None, dict]]:
    named = {"plain, 0": ("rejection", None, SETTINGS[0]), "plain, 1": ("rejection", None, SETTINGS[1])}
    for rule in RULES:
        for draft in space.DRAFTS:
            for number, setting in enumerate(SETTINGS):
                tree = draft in space.TREES
                if tree and (rule not in ("tree", "traversal", "match") or setting["gamma"] == "heuristic"):
                    continue
                named[f"{rule}, {draft}, {number}"] = (rule, draft, setting)
    return named


CASES = cases()


def test_every_rule_and_draft_is_recorded() -> None:
    assert json.loads(RUNS.read_text()).keys() == CASES.keys()


@pytest.mark.parametrize("rule", ["plain", *RULES])
def test_texts_are_those_recorded(rule: str) -> None:
    recorded = json.loads(RUNS.read_text())
    mine = [name for name in CASES if name.startswith(f"{rule},")]
    assert mine
    assert {name: decode(*CASES[name]) for name in mine} == {name: recorded[name] for name in mine}


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(decode(*case))}" for name, case in CASES.items()]
    RUNS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
