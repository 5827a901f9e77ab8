"""Held-out prompts for the experiments that count tokens: as many of each domain, none of them in a training text.

Stories are begun, problems are asked, functions have their signature and summary. Functions of one file are alike, and
few files are held out, so files take turns. Within a domain the order is shuffled: the first few are a sample of all.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from minispec.engine.files import write_text
from minispec.errors import CorpusError
from minispec.lab.training.corpus import read_documents
from minispec.lab.training.mixture import read_corpus
from minispec.lab.training.python_files import prompt_of, read_code, small_functions
from minispec.lab.training.sums import held_out_sums

#: Prompts of each domain; of questions, from each kind of sum and from each collection of problems.
NUM_PROMPTS = 100
NUM_SUMS, NUM_PROBLEMS = 10, 20
#: Words of a story's beginning, and the longest prompt: the target's window must hold a long text behind it.
STORY_WORDS, MAX_CHARS = 16, 320
SEED = 41

_BEGINNING = re.compile(rf"(?:\S+\s+){{{STORY_WORDS - 1}}}\S+")
_PROBLEM = re.compile(r"(Question: .+?\nAnswer:).+\nThe answer is (\S+)\.", re.DOTALL)


class Candidate(NamedTuple):
    """A prompt that may be drawn.

    Attributes
    ----------
    prompt, source : str
        ``source`` names the collection, the package with its version, or the generator's kind.
    answer : str or None
    """

    prompt: str
    source: str
    answer: str | None = None


Group = list[Candidate]
"""Prompts that are alike: drawn in turns with those of other groups."""


def draw_prompts(corpus: Path, code: Path | None = None) -> list[dict[str, str]]:
    """Draw the prompts, the same ones from the same texts.

    Parameters
    ----------
    corpus : Path
        Folder of the corpus files.
    code : Path, optional
        Folder of Python files, instead of this interpreter's standard library and packages.

    Returns
    -------
    list of dict
        ``id``, ``domain``, ``prompt``, ``source``, and ``answer`` where there is one: lines of a file that
        :func:`minispec.lab.prompts.read_prompts` reads.

    Raises
    ------
    CorpusError
        A corpus file is missing or damaged, or holds too few prompts.
    """
    texts = read_corpus(corpus, code)
    training = "\n".join(document for text in texts if text.split == "train" for document in text.documents)
    (stories,) = (text.documents for text in texts if (text.name, text.split) == ("stories", "valid"))
    pools: dict[str, list[tuple[int, list[Group]]]] = {
        "stories": [(NUM_PROMPTS, [list(_begin(stories))])],
        "code": [(NUM_PROMPTS, list(_head(code)))],
        "questions": [
            *((NUM_SUMS, [list(_sums(steps, wording))]) for steps in (0, 1, 2) for wording in (False, True)),
            (NUM_PROBLEMS, [list(_ask(read_documents(corpus, "svamp.valid"), "SVAMP"))]),
            (NUM_PROBLEMS, [list(_ask(read_documents(corpus, "questions.valid"), "GSM8K"))]),
        ],
    }
    lines = []
    for domain, parts in pools.items():
        rng = random.Random(f"{SEED} {domain}")
        drawn = [found for count, groups in parts for found in _draw(groups, count, training, rng)]
        for number, found in enumerate(rng.sample(drawn, len(drawn)), 1):
            line = {"id": f"{domain}-{number}", "domain": domain, "prompt": found.prompt, "source": found.source}
            lines.append(line if found.answer is None else line | {"answer": found.answer})
    return lines


def write_prompts(lines: Sequence[Mapping[str, str]], path: Path) -> None:
    """Write a prompt file, whole or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _begin(stories: Sequence[str]) -> Iterator[Candidate]:
    """Yield the first words of each story that has more of them."""
    for story in stories:
        beginning = _BEGINNING.match(story)
        if beginning is not None and beginning.end() < len(story):
            yield Candidate(beginning.group(), "TinyStories")


def _head(code: Path | None) -> Iterator[Group]:
    """Yield the signatures and summaries of the small functions of each file held out."""
    for library in read_code(code):
        for file in library.valid:
            yield [Candidate(prompt_of(function), library.source) for function in small_functions(file)]


def _sums(steps: int, wording: bool) -> Iterator[Candidate]:
    """Yield sums of one kind whose number pairs are held out."""
    kind = f"sums: {steps or 'no'} {'step' if steps == 1 else 'steps'}{', held-out wording' if wording else ''}"
    for problem in held_out_sums(steps, wording, 2 * NUM_SUMS):
        yield Candidate(problem.prompt, kind, str(problem.answer))


def _ask(documents: Sequence[str], source: str) -> Iterator[Candidate]:
    """Yield the questions of a collection of problems."""
    for document in documents:
        found = _PROBLEM.fullmatch(document)
        if found is not None:
            yield Candidate(found[1], source, found[2])


def _draw(groups: Sequence[Group], count: int, training: str, rng: random.Random) -> list[Candidate]:
    """Draw so many different prompts that are not too long and stand in no training text, the groups taking turns.

    Raises
    ------
    CorpusError
        There are fewer.
    """
    drawn: dict[str, Candidate] = {}
    for turn in zip_longest(*(rng.sample(group, len(group)) for group in groups)):
        for found in turn:
            if found and len(drawn) < count and len(found.prompt) <= MAX_CHARS and found.prompt not in training:
                drawn.setdefault(found.prompt, found)
    if len(drawn) < count:
        kind = next((group[0].source for group in groups if group), "problems")
        raise CorpusError(
            f"the corpus holds {len(drawn)} prompts (of {kind} ...) that stand in no training text; {count} are "
            "needed. Give the whole corpus, and a full Python"
        )
    return list(drawn.values())
