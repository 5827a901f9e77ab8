"""Two measurements, an earlier and a later one: whether acceptance or speed changed, and where, by more than noise.

Of the same prompts the texts are paired, so that what both share cancels; of other prompts the two are independent. All
intervals hold together (Bonferroni), so that a comparison of thirty figures does not find a change in every second one.
Speed is judged by the speedup over plain decoding of its own session: seconds of two sessions compare machines too.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, NoReturn, get_type_hints

from minispec.engine.sampling.params import is_whole
from minispec.errors import InputError, explain, quote
from minispec.lab.measure.mistakes import FEW_PROMPTS
from minispec.lab.measure.record import Record, Variant
from minispec.lab.measure.summary import decode_seconds
from minispec.theory.intervals import Figure, difference_of_ratios, ratio, share_of_texts, simultaneous

Verdict = Literal["unchanged", "fell", "rose"]
_NAMES = tuple(field.name for field in fields(Record))
_MOST = 10**15
_HINTS = get_type_hints(Record)
_REQUIRED = tuple(field.name for field in fields(Record) if not field.name.endswith("_s"))


class ReportError(InputError):
    """A file that is no report of ``minispec measure --json``."""


@dataclass(frozen=True, slots=True)
class Change:
    """One figure in both measurements.

    Attributes
    ----------
    variant : Variant
        Of the later measurement.
    domain : str
        Empty for all prompts.
    what : str
        "α", "α at place N" or "speedup".
    old, new : float
    difference : Figure
        New minus old, with an interval that holds together with all others.
    """

    variant: Variant
    domain: str
    what: str
    old: float
    new: float
    difference: Figure

    @property
    def verdict(self) -> Verdict:
        """Whether the whole interval lies on one side of 0; one text has no interval, and shows nothing."""
        low, high = self.difference.low, self.difference.high
        if low is None or high is None:
            return "unchanged"
        return "fell" if high < 0.0 else "rose" if low > 0.0 else "unchanged"


@dataclass(frozen=True, slots=True)
class Comparison:
    """All figures that both measurements have.

    Attributes
    ----------
    changes : list of Change
    paired : bool
        Whether both are of the same prompts.
    settings : list of str
        Names of the settings that differ.
    """

    changes: list[Change]
    paired: bool
    settings: list[str]

    @property
    def fell(self) -> bool:
        """Whether any figure fell by more than noise."""
        return any(change.verdict == "fell" for change in self.changes)

    @property
    def sentence(self) -> str:
        """One line for people and logs."""
        words = []
        for verdict in ("fell", "rose"):
            found = [f"{c.what}{f' of {c.domain}' if c.domain else ''}" for c in self.changes if c.verdict == verdict]
            if found:
                words.append(f"{verdict}: {', '.join(dict.fromkeys(found))}")
        if not self.changes:
            return "nothing to compare: in one of the reports nothing was drafted"
        said = "; ".join(words) or "nothing changed by more than noise"
        pairing = "the same prompts, paired" if self.paired else "other prompts, as independent samples"
        return f"{said} ({len(self.changes)} figures, {pairing}; all intervals together 95 %)"


def read_report(path: Path) -> tuple[list[Record], Mapping[str, Any]]:
    """Return the records and the settings of an earlier ``minispec measure --json``.

    Raises
    ------
    ReportError
        If the file is none.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_refuse_constant)
    except (OSError, ValueError, RecursionError) as error:
        told = getattr(error, "strerror", None) or explain(error)
        raise ReportError(f"{quote(str(path))} cannot be read ({told}). Name a file of measure --json") from None
    try:
        settings = report["settings"]
        records = [_to_record(each) for each in report["records"]]
        if not records or not isinstance(settings, dict):
            raise ValueError("no records")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReportError(
            f"{quote(str(path))} is no report of measure ({explain(error)}). Name a file of measure --json"
        ) from None
    return records, settings


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _to_record(each: Mapping[str, Any]) -> Record:
    lacking = [name for name in _REQUIRED if name not in each]
    if lacking:
        raise ValueError(f"a record has no {lacking[0]}")
    told = {name: each[name] for name in _NAMES if name in each}
    for name, value in told.items():
        if not _fits(name, value):
            raise ValueError(f"{name} is {quote(value)}")
    found: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}
    for accepted, judged in [
        (found["num_accepted_tokens"], found["num_evaluated_tokens"]),
        *itertools.zip_longest(found["accepted_per_pos"], found["evaluated_per_pos"], fillvalue=0),
    ]:
        if accepted > judged:
            raise ValueError(f"{accepted} tokens accepted of {judged} that were judged")
    return Record(**found)


def _fits(name: str, value: Any) -> bool:
    """Whether a field of a record can have this value. A mistake that is found later costs a whole measurement."""
    if name.endswith("_s"):
        return isinstance(value, list) and all(_is_number(n) and n >= 0 for n in value)
    if name.endswith("_per_pos"):
        return isinstance(value, list) and all(_is_count(n) for n in value)
    if name.startswith("num_"):
        return _is_count(value)
    hint = _HINTS[name]
    return _is_number(value) if hint is float else isinstance(value, hint)


def _is_count(value: Any) -> bool:
    return is_whole(value) and 0 <= value <= _MOST


def _is_number(value: Any) -> bool:
    """Whether it is a number whose sums are finite; True and False are none."""
    return type(value) in (int, float) and abs(value) <= _MOST


def compare(
    old: Sequence[Record],
    new: Sequence[Record],
    old_settings: Mapping[str, Any],
    new_settings: Mapping[str, Any],
) -> Comparison:
    """Compare an earlier measurement with a later one, per way to decode, domain and place in the draft.

    Parameters
    ----------
    old, new : sequence of Record
        Of whole units: with each prompt its plain record. Ways to decode are matched by all that names them; where each
        has only one with drafts, those two, so that two drafts can be compared.
    old_settings, new_settings : mapping
        :meth:`~minispec.lab.measure.sweep.Sweep.settings` of both: whether the prompts are the same, and what else
        differs.

    Raises
    ------
    ReportError
        If they have no way to decode in common.
    """
    pairs = _match(old, new)
    shared = old_settings.get("prompts") == new_settings.get("prompts")
    found = [each for pair in pairs for each in _figures(*pair, old, new)]
    confidence = simultaneous(len(found))
    changes = [
        Change(
            variant, domain, what, _value(before), _value(after), _difference(before, after, confidence, shared, what)
        )
        for variant, domain, what, before, after in found
    ]
    names = ({*old_settings} | {*new_settings}) - {"prompts"}
    differing = sorted(name for name in names if old_settings.get(name) != new_settings.get(name))
    return Comparison(changes, shared, differing)


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return JSON-able data."""
    return {
        "verdict": "fell" if comparison.fell else "not worse",
        "sentence": comparison.sentence,
        "paired": comparison.paired,
        "settings_that_differ": comparison.settings,
        "changes": [
            {**asdict(each), "difference": each.difference._asdict(), "verdict": each.verdict}
            for each in comparison.changes
        ],
    }


Columns = tuple[list[float], list[float]]
"""Numerators and denominators, one of each per text."""


def _match(old: Sequence[Record], new: Sequence[Record]) -> list[tuple[Variant, Variant]]:
    before, after = ([v for v in dict.fromkeys(r.variant for r in each) if not v.plain] for each in (old, new))
    both = [(v, v) for v in after if v in before]
    if both:
        return both
    if len(before) == len(after) == 1:
        return [(before[0], after[0])]
    raise ReportError(
        f"the reports have no way to decode in common ({len(before)} and {len(after)} with drafts); measure the same "
        "drafts, gammas, temperatures and rules, or one way each"
    )


def _figures(
    before: Variant, after: Variant, old: Sequence[Record], new: Sequence[Record]
) -> Iterator[tuple[Variant, str, str, Columns, Columns]]:
    """Yield each figure that both sides have, as columns over texts in the order of their names."""
    ours, theirs = _sorted(new, after), _sorted(old, before)
    domains = sorted({r.domain for r in ours} & {r.domain for r in theirs})
    for domain in ["", *(domains if len(domains) > 1 else [])]:
        one, other = ([r for r in each if domain in ("", r.domain)] for each in (theirs, ours))
        for what, then, now in (
            ("α", _acceptance(one, None), _acceptance(other, None)),
            *(
                (f"α at place {place + 1}", _acceptance(one, place), _acceptance(other, place))
                for place in range(max(len(r.evaluated_per_pos) for r in (*one, *other)))
            ),
            ("speedup", _speeds(one, old), _speeds(other, new)),
        ):
            if sum(then[1]) and sum(now[1]):
                yield after, domain, what, then, now


def _sorted(records: Sequence[Record], variant: Variant) -> list[Record]:
    return sorted((r for r in records if r.variant == variant), key=lambda r: (r.prompt_id, r.domain))


def _acceptance(records: Sequence[Record], place: int | None) -> Columns:
    if place is None:
        return [float(r.num_accepted_tokens) for r in records], [float(r.num_evaluated_tokens) for r in records]

    def at(counts: Sequence[int]) -> float:
        return float(counts[place]) if place < len(counts) else 0.0

    return [at(r.accepted_per_pos) for r in records], [at(r.evaluated_per_pos) for r in records]


def _speeds(records: Sequence[Record], every: Sequence[Record]) -> Columns:
    """Return plain and speculative seconds per token; zeros where time was not measured."""
    plain = {(r.target, r.temperature, r.prompt_id): r for r in every if r.draft is None}
    pairs = [(plain.get((r.target, r.temperature, r.prompt_id)), r) for r in records]
    if not all(p is not None and p.decode_s and r.decode_s and p.num_decode_tokens and r.num_decode_tokens
               for p, r in pairs):  # fmt: skip
        return [0.0] * len(records), [0.0] * len(records)
    per_token = [
        (decode_seconds(p) / p.num_decode_tokens, decode_seconds(r) / r.num_decode_tokens) for p, r in pairs if p
    ]
    return [one for one, _ in per_token], [other for _, other in per_token]


def _value(columns: Columns) -> float:
    return math.fsum(columns[0]) / math.fsum(columns[1])


def _difference(before: Columns, after: Columns, confidence: float, paired: bool, what: str) -> Figure:
    """Return new minus old: the jackknife over the same texts, else both intervals' half widths in quadrature."""
    if paired and len(before[0]) == len(after[0]):
        tried = [i for i, least in enumerate(map(min, before[1], after[1])) if least > 0]
        if len(tried) < FEW_PROMPTS:
            return Figure(_value(after) - _value(before))
        (a, b), (c, d) = ([[column[i] for i in tried] for column in each] for each in (after, before))
        return difference_of_ratios((a, b), (c, d), confidence)
    each = ratio if what == "speedup" else share_of_texts
    new, old = each(*after, confidence), each(*before, confidence)
    value = _value(after) - _value(before)
    if new.low is None or old.low is None:
        return Figure(value)
    assert new.value is not None
    assert new.high is not None
    assert old.value is not None
    assert old.high is not None
    down = math.hypot(new.value - new.low, old.high - old.value)
    up = math.hypot(new.high - new.value, old.value - old.low)
    return Figure(value, value - down, value + up)
