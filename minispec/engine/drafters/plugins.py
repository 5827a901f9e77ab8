"""Kinds of drafts that other packages bring: entry points in the group ``minispec.drafters``.

A package names its factory in its ``pyproject.toml``, and ``--draft follower:memory=8`` finds it once it is installed::

    [project.entry-points."minispec.drafters"]
    follower = "my_package:build_follower"
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from minispec.engine.drafters.base import Drafter
from minispec.engine.loading.bundled import bundled_folders
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.sampling import Sampler
from minispec.errors import InputError, OptionError, explain, quote

GROUP = "minispec.drafters"


class Factory(Protocol):
    """What an entry point of the group leads to."""

    def __call__(self, target: TreeSession, sampler: Sampler, options: Mapping[str, str], coupled: bool) -> Drafter:
        """Build the drafter of one run.

        Parameters
        ----------
        target : TreeSession
            The session that verifies; ``target.model`` says how large the vocabulary is.
        sampler : Sampler
            Turns logits into what a draft is drawn from, as it does for the target.
        options : mapping of str to str
            What was written after the colon, as it was written.
        coupled : bool
            Draw with ``coins.sample`` (see :class:`minispec.engine.drafters.base.ChainDrafter`). A drafter that draws
            nothing need not care; one that cannot raises an OptionError.
        """
        ...


def find_plugin(kind: str) -> EntryPoint | None:
    """Return the entry point that another package registered for ``kind``; a bundled model or a folder goes first.

    To look takes milliseconds (every installed package is asked), so ask only about what nothing else can be.
    """
    if not re.fullmatch(r"\w[\w.-]*", kind) or kind in bundled_folders() or os.path.isdir(kind):
        return None
    return next(iter(entry_points(group=GROUP, name=kind)), None)


def read_pairs(text: str, rest: str | None) -> dict[str, str]:
    """Return ``key=value,...`` as a mapping; the factory knows its keys, so none is refused here.

    Raises
    ------
    OptionError
        If a part has no equals sign, or a key is given twice.
    """
    options: dict[str, str] = {}
    for pair in [] if rest is None else rest.split(","):
        key, equals, value = pair.partition("=")
        if not equals or not key or key in options:
            problem = "is given twice" if key in options else "is no key=value"
            raise OptionError(f"draft {quote(text)}: {quote(pair)} {problem}. Try KIND:key=value,key=value")
        options[key] = value
    return options


def build_plugin(
    kind: str, target: TreeSession, sampler: Sampler, options: Mapping[str, str], *, coupled: bool
) -> Drafter:
    """Import what a plug-in registered for ``kind`` and let it build a drafter.

    Raises
    ------
    InputError
        If it cannot be imported, or cannot be built from these options.
    """
    entry = find_plugin(kind)
    if entry is None:
        raise OptionError(f"draft {quote(kind)} is not registered any more. Install the package that brings it")
    try:
        factory: Factory = entry.load()
        return factory(target, sampler, options, coupled)
    except InputError:
        raise
    except Exception as error:  # somebody else's code: whatever it raises, the user can act on it only by its name
        raise OptionError(
            f"draft {quote(kind)} of {entry.value} cannot be built ({type(error).__name__}: {explain(error)}). "
            "Correct its options, or ask whoever wrote it"
        ) from error
