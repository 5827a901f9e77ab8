"""Which texts the bundled models read, and how each is prepared.

=============  =========  ===========================================================================================
text           domain     what
=============  =========  ===========================================================================================
tinystories    stories    ``tinystories.train``: very simple modern stories
storybooks     stories    ``storybooks.train``: modern picture books
oldbooks       stories    the simplest third of ``stories.train`` by rare words and length of sentences
sums, drills   questions  problems and rows of bare sums made by :mod:`minispec.lab.training.sums`
svamp, gsm8k   questions  ``svamp.train``, ``questions.train``, less what uses a held-out number pair
functions      code       small functions cut out of the standard library and of a few packages
mbpp           code       ``mbpp.train``: short tasks and their solutions
modules        code       the plainest third of the standard library's files
=============  =========  ===========================================================================================

Held-out text has one file a domain: stories of TinyStories' own validation part; problems of SVAMP and GSM8K held out
by their makers, and sums with held-out numbers; functions from files held out whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from minispec.errors import CorpusError
from minispec.lab.training.corpus import Text, corpus_file, read_documents
from minispec.lab.training.python_files import PythonFiles, read_code, small_functions
from minispec.lab.training.sums import held_out_sums, training_drills, training_sums, uses_held_out_pair
from minispec.lab.training.text_checks import common_words, english_words, simplest

#: The training texts of each domain.
DOMAINS: Mapping[str, Sequence[str]] = {
    "stories": ("tinystories", "storybooks", "oldbooks"),
    "code": ("functions", "mbpp", "modules"),
    "questions": ("sums", "drills", "svamp", "gsm8k"),
}
#: Share of the rows of a batch by text. Stories are what a newcomer tries first; sums and functions are what the other
#: domains are measured by; the rest keeps them from being all the model knows.
MIX: Mapping[str, float] = {
    "tinystories": 0.47,
    "storybooks": 0.03,
    "oldbooks": 0.03,
    "sums": 0.17,
    "drills": 0.08,
    "svamp": 0.01,
    "gsm8k": 0.02,
    "functions": 0.15,
    "mbpp": 0.01,
    "modules": 0.03,
}
#: The corpus files that must be there.
FILES: Sequence[str] = (
    "tinystories.train",
    "tinystories.valid",
    "storybooks.train",
    "stories.train",
    "svamp.train",
    "svamp.valid",
    "questions.train",
    "questions.valid",
    "mbpp.train",
)
#: Share of the old books, and of the standard library's files, that are plain enough.
SIMPLEST_SHARE = 1 / 3
#: Words that do not count as rare: the most frequent ones of the modern stories, and of all Python files.
COMMON_STORY_WORDS, COMMON_CODE_WORDS = 3000, 1500
#: Held-out sums of each number of steps in the held-out questions.
HELD_OUT_SUMS = 150

_SENTENCE_END, _LINE_END = re.compile(r"[.!?]+|\n"), re.compile(r"\n")


def within(domain: str) -> dict[str, float]:
    """Return the shares of rows by text within one domain; they sum to 1."""
    whole = sum(MIX[name] for name in DOMAINS[domain])
    return {name: MIX[name] / whole for name in DOMAINS[domain]}


def without_held_out_pairs(documents: Sequence[str]) -> tuple[str, ...]:
    """Drop the documents that work out a sum the model is later asked as one it has never seen."""
    return tuple(document for document in documents if not uses_held_out_pair(document))


def functions_of(libraries: Sequence[PythonFiles], split: str) -> tuple[str, ...]:
    """Cut the small functions out of the files of one split; exact copies are dropped."""
    files = (file for library in libraries for file in getattr(library, split))
    return tuple(dict.fromkeys(function for file in files for function in small_functions(file)))


def word_list(folder: Path) -> tuple[str, ...]:
    """Return the words that count as English in stories (:func:`~minispec.lab.training.text_checks.english_words`)."""
    modern = ("tinystories.train", "tinystories.valid", "storybooks.train")
    return english_words(
        (document for name in modern for document in read_documents(folder, name)),
        read_documents(folder, "stories.train"),
    )


def read_corpus(folder: Path, code_root: Path | None = None) -> list[Text]:
    """Read and prepare every text of the recipe: ten to train on, three held out.

    Raises
    ------
    CorpusError
        Some file is missing, empty or not UTF-8; that every file is there is looked at before any work starts.
    """
    if not folder.is_dir():
        raise CorpusError(f"{folder} is not a folder; --corpus needs the folder of the corpus files. Check the path")
    source = {name: corpus_file(folder, name).name for name in FILES}
    read = {name: read_documents(folder, name) for name in FILES}
    common = common_words((*read["tinystories.train"], *read["storybooks.train"]), COMMON_STORY_WORDS)
    oldbooks = simplest(read["stories.train"], SIMPLEST_SHARE, common, _SENTENCE_END)
    sums = training_sums()
    held_out = [problem.document for steps in (0, 1, 2) for problem in held_out_sums(steps, False, HELD_OUT_SUMS)]
    questions = (*held_out, *read["svamp.valid"], *read["questions.valid"])
    libraries = read_code(code_root)
    functions = {split: functions_of(libraries, split) for split in ("train", "valid")}
    trained = set(functions["train"])
    functions["valid"] = tuple(function for function in functions["valid"] if function not in trained)
    files = libraries[0].train
    modules = simplest(files, SIMPLEST_SHARE, common_words(files, COMMON_CODE_WORDS), _LINE_END)
    all_libraries = ", ".join(library.source for library in libraries)

    def text(name: str, file: str, documents: tuple[str, ...]) -> Text:
        return Text(name, "train", documents, source[file])

    return [
        text("tinystories", "tinystories.train", read["tinystories.train"]),
        text("storybooks", "storybooks.train", read["storybooks.train"]),
        text("oldbooks", "stories.train", oldbooks),
        sums,
        training_drills(),
        text("svamp", "svamp.train", without_held_out_pairs(read["svamp.train"])),
        text("gsm8k", "questions.train", without_held_out_pairs(read["questions.train"])),
        Text("functions", "train", functions["train"], all_libraries),
        text("mbpp", "mbpp.train", read["mbpp.train"]),
        Text("modules", "train", modules, libraries[0].source),
        Text("stories", "valid", read["tinystories.valid"], source["tinystories.valid"]),
        Text(
            "questions", "valid", questions, ", ".join((sums.source, source["svamp.valid"], source["questions.valid"]))
        ),
        Text("code", "valid", functions["valid"], all_libraries),
    ]
