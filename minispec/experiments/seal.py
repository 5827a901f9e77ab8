"""What makes a ledger's entry trustworthy: its rule was fixed before the run, and its figures are those of the run.

A *rule* is what turns figures into a verdict: the sentence in the docstring of ``conclude`` and the thresholds that it
reads. ``minispec experiment run`` writes it into ``rules.json``, with the time, *before* it measures, and its hash into
the result. A *seal* is a hash of what was measured. Neither hinders a forger; both notice an edit by hand, and a rule
that was changed once the figures were known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minispec.errors import InputError, explain
from minispec.experiments.framework import Experiment
from minispec.files import make_folder, write_text

RULES = "rules.json"
MEASURED = ("name", "date", "machine", "scale", "figures", "rule")
"""What a seal is made of; the texts around it follow from it and are checked by judging again."""


def digest(value: Any) -> str:
    """Return a short hash of JSON-able data, whatever the order of its keys.

    Examples
    --------
    >>> digest({"a": 1, "b": [2.5]}) == digest({"b": [2.5], "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def rule_of(experiment: Experiment) -> dict[str, Any]:
    """Return what an experiment's verdict follows from: the rule's sentence, its thresholds, and their hash."""
    sentence = " ".join((experiment.conclude.__doc__ or "").split())
    rule = {"rule": sentence, "thresholds": json.loads(json.dumps(experiment.thresholds))}
    return rule | {"hash": digest(rule)}


def register(experiment: Experiment, folder: Path, now: str) -> str:
    """Write down the rule before anything is measured; return its hash. One that is there keeps its time.

    Raises
    ------
    InputError
        If the file of rules cannot be read.
    OutputError
        If it cannot be written.
    """
    rules, rule = read_rules(folder), rule_of(experiment)
    if rules.get(experiment.name, {}).get("hash") != rule["hash"]:
        make_folder(folder)
        known = rules | {experiment.name: rule | {"since": now}}
        write_text(folder / RULES, json.dumps(known, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    return str(rule["hash"])


def read_rules(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the rules that were written down, by experiment.

    Raises
    ------
    InputError
        If the file is there and holds no rules.
    """
    path = folder / RULES
    try:
        rules = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(rule, dict) and {"hash", "since"} <= set(rule) for rule in rules.values()):
            raise ValueError("an entry has no hash or no time")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{path} holds no rules ({explain(error)}). Restore it from version control") from None
    return dict(rules)


def seal(result: Mapping[str, Any]) -> str:
    """Return the hash of what was measured."""
    return digest({key: result.get(key) for key in MEASURED})


def check(result: Mapping[str, Any], experiment: Experiment, folder: Path) -> None:
    """Refuse a result whose figures were edited, or whose rule is not the one that was written down before the run.

    Raises
    ------
    InputError
        Saying which, in one line.
    """
    name = experiment.name
    if result.get("seal") != seal(result):
        raise InputError(
            f"{name}.json was edited after its run (its seal does not fit). Measure: experiment run {name}"
        )
    if result.get("rule") is None:
        return  # measured before rules were written down, or under another one: the page says so
    rule, today = read_rules(folder).get(name, {}), rule_of(experiment)["hash"]
    if result["rule"] != today or result["rule"] != rule.get("hash"):
        raise InputError(
            f"{name}.json was judged by rule {result['rule']}, today's is {today}, {RULES} has {rule.get('hash')}. "
            f"Measure: experiment run {name}; or look at the old figures: experiment judge"
        )
    if str(result["date"]) < str(rule["since"]):
        raise InputError(
            f"{name}.json was measured at {result['date']}, before its rule was written down ({rule['since']}). "
            f"Measure: experiment run {name}"
        )
