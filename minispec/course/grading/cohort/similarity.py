"""Whose code is like whose: fingerprints that two submissions share, without what everybody has.

What is found is a reason to look at both, never a verdict.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path

from minispec.course.grading.cohort.fingerprints import FOUND, RUN, WINDOW, Fingerprint, take_fingerprints
from minispec.course.grading.intake import SubmissionError, name_of, read_submission
from minispec.course.grading.manifest import Assignment, without_regions
from minispec.lab.viz.side_by_side import Pair, Passage, lay_side_by_side

THRESHOLD = 0.5
"""Share of the shorter submission's own fingerprints from which on a pair is told."""
FEWEST = 8
"""Shared fingerprints below which a pair is not told: short functions are written alike by chance."""
MOST, FEW = 0.5, 5
"""What more than this share of the class has in common, and at least so many submissions, is nobody's own."""
OURS = "the published solution"
_MAX_CHARS = 200_000
"""Read of one submission."""


@dataclass(frozen=True)
class Similarity:
    """What comparing a class came to.

    Parameters
    ----------
    texts : mapping of str to str
        What was compared, by name.
    pairs : list of Pair
        The likest first.
    copies : list of list of str
        Groups whose code is the same but for names, numbers and texts, and more than what was handed out.
    unread : list of str
        Names of submissions that could not be read.
    """

    texts: Mapping[str, str]
    pairs: list[Pair]
    copies: list[list[str]]
    unread: list[str]


def compare_class(assignment: Assignment, paths: Sequence[Path]) -> Similarity:
    """Read submissions, and compare each with each and with our solution.

    Parameters
    ----------
    assignment : Assignment
    paths : sequence of Path

    Returns
    -------
    Similarity
    """
    texts, unread = {}, []
    for path in paths:
        try:
            texts[name_of(path)] = _join(read_submission(path, assignment.entry).files)
        except SubmissionError:
            unread.append(name_of(path))
    return compare(
        texts,
        published=None if assignment.is_bundle else assignment.solution,
        given=_given_texts(assignment),
        unread=unread,
    )


def _given_texts(assignment: Assignment) -> list[str]:
    """Return what every student was given."""
    names = ("adapters.py", "checks.py", f"test_{assignment.module}.py")
    paths = [assignment.folder / name for name in names]
    texts = [assignment.starter, *(path.read_text(encoding="utf-8") for path in paths if path.is_file())]
    return [*texts, *("\n".join(without_regions(text, "HIDDEN TESTS", None)) for text in texts)]


def _join(files: Mapping[str, str]) -> str:
    """Return the files of a submission as one text."""
    texts = [text if len(files) == 1 else f"# {name}\n{text}" for name, text in files.items()]
    return "\n".join(texts)[:_MAX_CHARS]


def compare(
    texts: Mapping[str, str], *, published: str | None = None, given: Sequence[str] = (), unread: Sequence[str] = ()
) -> Similarity:
    """Compare texts.

    Parameters
    ----------
    texts : mapping of str to str
        By name.
    published : str, optional
        A solution that everybody can read; it is compared too, but does not count as one of the class.
    given : sequence of str
        What was handed out: nobody's own.
    unread : sequence of str

    Returns
    -------
    Similarity
    """
    handed_out = {one.hash for text in given for one in take_fingerprints(text)}
    prints = {
        name: [one for one in take_fingerprints(text) if one.hash not in handed_out] for name, text in texts.items()
    }
    holders = Counter(hash_ for own in prints.values() for hash_ in {one.hash for one in own})
    common = {hash_ for hash_, count in holders.items() if count > MOST * len(texts) and count >= FEW}
    shown = dict(texts)
    compared = dict(prints)
    if published is not None:
        shown[OURS] = published
        compared[OURS] = [one for one in take_fingerprints(published) if one.hash not in handed_out]
    own = {name: [one for one in found if one.hash not in common] for name, found in compared.items()}
    return Similarity(shown, _find_pairs(own), _find_copies(prints), list(unread))


def _find_copies(prints: Mapping[str, Sequence[Fingerprint]]) -> list[list[str]]:
    """Group those with equal fingerprints, in order; also where so many share them that they are nobody's own."""
    groups: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, found in prints.items():
        if len(found) >= FEWEST:
            groups[tuple(one.hash for one in found)].append(name)
    return [names for names in groups.values() if len(names) > 1]


def _find_pairs(own: Mapping[str, Sequence[Fingerprint]]) -> list[Pair]:
    holders: dict[int, list[str]] = defaultdict(list)
    sizes: dict[str, int] = {}
    for name, found in own.items():
        hashes = dict.fromkeys(one.hash for one in found)
        sizes[name] = len(hashes)
        for hash_ in hashes:
            holders[hash_].append(name)
    counts = Counter(pair for names in holders.values() for pair in combinations(names, 2))
    pairs = [
        Pair(left, right, shared / fewer, shared, _find_passages(own[left], own[right]))
        for (left, right), shared in counts.items()
        if shared >= FEWEST and shared >= THRESHOLD * (fewer := min(sizes[left], sizes[right]))
    ]
    return sorted(pairs, key=lambda pair: (-pair.share, -pair.num_shared, pair.left, pair.right))


def _find_passages(left: Sequence[Fingerprint], right: Sequence[Fingerprint]) -> tuple[Passage, ...]:
    """Join shared fingerprints that follow each other in both, at the same distance; the longest passage first.

    A passage is left out where longer ones have all its lines already: code that repeats itself matches itself.
    """
    places = defaultdict(list)
    for one in right:
        places[one.hash].append(one)
    matches = sorted(
        ((other.at - one.at, one, other) for one in left for other in places[one.hash]),
        key=lambda match: (match[0], match[1].at),
    )
    passages = []
    for _, along in groupby(matches, key=lambda match: match[0]):
        part: list[tuple[Fingerprint, Fingerprint]] = []
        for _, one, other in along:
            if part and one.at - part[-1][0].at > RUN + WINDOW:
                passages.append(_span(part))
                part = []
            part.append((one, other))
        passages.append(_span(part))
    passages.sort(key=lambda passage: (passage.left[0] - passage.left[1], passage.left, passage.right))
    kept: list[Passage] = []
    seen: set[tuple[str, int]] = set()
    for passage in passages:
        lines = {("left", line) for line in range(passage.left[0], passage.left[1] + 1)}
        lines |= {("right", line) for line in range(passage.right[0], passage.right[1] + 1)}
        if lines - seen:
            kept.append(passage)
            seen |= lines
    return tuple(kept)


def _span(part: Sequence[tuple[Fingerprint, Fingerprint]]) -> Passage:
    (first, other_first), (last, other_last) = part[0], part[-1]
    return Passage((first.lines[0], last.lines[1]), (other_first.lines[0], other_last.lines[1]))


def to_page(title: str, similarity: Similarity) -> str:
    """Return a page of the pairs, each side by side."""
    found = similarity.texts, similarity.pairs, similarity.copies
    return lay_side_by_side(f"{title}: similar submissions", describe_rule(), *found)


def describe_rule() -> str:
    """Return what makes a pair, in words."""
    return (
        f"Pairs that share at least {THRESHOLD:.0%} of the fingerprints of the one that has fewer, and at least "
        f"{FEWEST}. Names, numbers and texts are all alike here, comments left out; a shared passage of {FOUND} "
        f"tokens is always found, one shorter than {RUN} never. Left out is what was handed out, and what more than "
        f"{MOST:.0%} of the class (at least {FEW} submissions) has. '{OURS}' is ours, which everybody can read. "
        "This is a reason to look, not a verdict."
    )
