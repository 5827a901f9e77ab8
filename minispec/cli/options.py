"""Options as the commands declare them: each can also be set by a ``MINISPEC_*`` variable; the flag wins."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import fields
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from minispec.engine.backends import BACKENDS, DTYPES, GPU_BACKENDS
from minispec.engine.backends.formats import AUTO, KV_DTYPES
from minispec.engine.control.fallback import SCOPES
from minispec.engine.drafters.spec import KINDS, MODEL
from minispec.engine.generation.options import Options
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET, bundled_folders
from minispec.engine.sampling import SamplingParams
from minispec.engine.verifiers import VERIFIER_NAMES
from minispec.errors import OutputError, quote

_Command = TypeVar("_Command", bound=Callable[..., Any])
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class option:  # noqa: N801  # used as a decorator, like click.option
    """``click.option`` with its default shown and an environment variable named after the flag."""

    def __init__(self, flag: str, **attributes: Any) -> None:
        self.flag = flag
        attributes.setdefault("show_default", True)
        attributes.setdefault("envvar", "MINISPEC_" + flag.removeprefix("--").replace("-", "_").upper())
        self._attributes = attributes

    def __call__(self, command: _Command) -> _Command:
        """Declare it on a command."""
        return click.option(self.flag, **self._attributes)(command)


DRAFT_KINDS = ("none", *(kind for kind in KINDS if kind != MODEL))
"""What may stand in the place of a draft model."""
DRAFTING = DRAFT_KINDS[1:]
"""The same for a command that is about drafts, and refuses ``none``."""


class ModelName(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases
    """A folder, a bundled name or a hub name; completion knows the bundled ones and other words.

    Parameters
    ----------
    *words : str
        What may stand in the place of a model: kinds of drafts. Without them, these are refused, and not looked for on
        the hub.
    """

    name = "model"

    def __init__(self, *words: str) -> None:
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        kind = str(value).partition(":")[0]
        drafts = kind in DRAFT_KINDS and not Path(kind).exists()
        if not self._words and (drafts or any(f":{key}=" in str(value) for key in KINDS[MODEL])):
            measures = "" if kind == "none" else f", or see `minispec measure --draft {shlex.quote(str(value))}`"
            self.fail(
                f"{str(value)!r} is a way to draft and no model, and this command times models. Try {DEFAULT_DRAFT}"
                f"{measures}",
                param,
                ctx,
            )
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete folders, bundled names and words."""
        known = [*bundled_folders(), *self._words]
        names = [CompletionItem(name) for name in known if name.startswith(incomplete)]
        return [*names, CompletionItem(incomplete, type="dir")]


class Text(click.ParamType):  # type: ignore[type-arg]  # as above
    """Text in UTF-8, whatever the locale is: where that has no such characters, the shell's bytes arrive as halves."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        try:
            return str(value).encode("utf-8", "surrogateescape").decode("utf-8")
        except UnicodeError as error:
            self.fail(f"{str(value)!r} is not UTF-8 ({error}). Convert it, for example with iconv", param, ctx)


class FileName(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of a file to read or write; whether there is one is for the command to ask."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return it as a path."""
        if not str(value) or "\0" in str(value):
            self.fail(f"{str(value)!r} names no file. Try run.jsonl", param, ctx)
        return Path(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Let the shell complete files."""
        return [CompletionItem(incomplete, type="file")]


def check_spared(outputs: Mapping[str, Path | None], options: Mapping[str, Any]) -> None:
    """Refuse to write what the options read: a file of a model's folder, a corpus, a trace to replay.

    Parameters
    ----------
    outputs : mapping of str to Path or None
        By the names of their flags.
    options : mapping
        Of the command; those that name models, drafts and policies count.

    Raises
    ------
    OutputError
        If an output is such a file.
    """
    for flag in ("target", "draft", "gamma"):
        given = options.get(flag)
        for text in map(str, given if isinstance(given, (list, tuple)) else (given,)):
            for part in filter(None, (text, *re.split("[,=]", text.partition(":")[2]))):
                source = bundled_folders().get(part, Path(part))
                for name, path in outputs.items():
                    if path is not None and os.path.exists(path) and _reads(source, path):
                        raise OutputError(
                            f"{quote(str(path))} is read for --{flag}, and {name} would overwrite it. Name another"
                        )


def _reads(source: Path, path: Path) -> bool:
    if not os.path.isdir(source):
        return source.resolve() == path.resolve()
    from minispec.engine.loading.hub import MODEL_FILES

    names = MODEL_FILES if (source / "config.json").exists() else ("*",)
    return path.parent.resolve() == source.resolve() and any(fnmatch(path.name, name) for name in names)


class Memory(click.ParamType):  # type: ignore[type-arg]  # as above
    """Bytes, as ``64MB``, ``1.5GiB`` or ``1000000``."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return bytes."""
        match = re.fullmatch(r"([0-9.]+)\s*([a-z]*)", str(value).strip().lower())
        try:
            size = float(match[1]) * _UNITS[match[2]] if match else -1.0
        except (ValueError, KeyError):
            size = -1.0
        if not 1 <= size < 2**60:
            self.fail(
                f"{value!r} is no size; it is a number of bytes from 1 on, with kB, MB, GB, KiB, MiB or GiB if you "
                "like. Try 64MB",
                param,
                ctx,
            )
        return int(size)


class Speed(click.ParamType):  # type: ignore[type-arg]  # as above
    """Tokens per second, as ``8/s`` or ``8``."""

    name = "n/s"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return tokens per second."""
        try:
            rate = float(str(value).removesuffix("/s"))
        except ValueError:
            rate = math.nan
        if not 0.01 <= rate <= 10_000:
            self.fail(f"{value!r} is no speed; it is tokens per second, from 0.01 to 10000. Try 8/s", param, ctx)
        return rate


class Gamma(click.ParamType):  # type: ignore[type-arg]  # as above
    """A number of tokens, or the name of a policy."""

    name = "number|policy"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return a whole number as one; what else it may be is the policies' business."""
        try:
            return int(value)
        except ValueError:
            return str(value)


def _use_threads(ctx: click.Context, param: click.Parameter, value: int | None) -> None:
    if value is not None:
        from minispec.engine.backends.threads import set_num_threads  # imports Numba

        set_num_threads(value)


kv_dtype_option = option(
    "--kv-dtype",
    type=click.Choice((AUTO, *KV_DTYPES)),
    default=AUTO,
    help="The format of keys and values in caches; auto: float32 on a CPU, and on a GPU that of the weights.",
)
threads_option = option(
    "--threads",
    type=int,
    default=None,
    show_default="one per core",
    expose_value=False,
    callback=_use_threads,
    help="Threads of the compiled kernels.",
)
"""For any command that runs kernels; it takes effect by itself."""

gamma_together_option = option(
    "--gamma",
    type=Gamma(),
    default=None,
    show_default="load, where no text depends on it; else 3",
    help="Tokens to draft per step, or a policy: load (drafts while the batch gains by them), budget "
    "(rows of one budget, to the drafts likeliest to survive), heuristic, confidence[:threshold=0.4], auto, "
    "replay:trace=FILE.",
)
verify_together_option = option(
    "--verify",
    default=None,
    metavar="RULE",
    show_default="gumbel, for trees tree; with --gamma, rejection",
    help=f"The rule that judges drafts: {', '.join(VERIFIER_NAMES)}. Two are lossy: lenient, typical.",
)
"""For texts that are decoded together (:mod:`minispec.engine.batching.defaults`)."""

_FIELDS = {each.name: each for each in fields(Options)}
_FORMS: Mapping[str, Mapping[str, Any]] = {
    "gamma": {"type": Gamma()},
    "fallback": {"type": click.Choice(["off", *SCOPES])},
    "verify": {"metavar": "RULE"},
    "regex": {"type": Text(), "show_default": "none"},
    "json_schema": {"type": Text(), "show_default": "none"},
    "stop": {
        "type": Text(),
        "help": "End the text just before this string; may be repeated.",
        "multiple": True,
        "envvar": None,
        "show_default": "none",
        "default": None,
    },
    "audit": {"is_flag": True, "show_default": False},
}
_TYPES = {"int": int, "float": float}


def _declare(name: str) -> option:
    """Return the flag of one of the :class:`Options`: default and help are those of its field."""
    field = _FIELDS[name]
    form = {"type": _TYPES.get(str(field.type)), "default": field.default, "help": field.metadata["help"]}
    return option("--" + name.replace("_", "-"), **{**form, **_FORMS.get(name, {})})


_GENERATION = (
    option("--target", type=ModelName(), default=DEFAULT_TARGET,
           help="The model whose text you want: a folder, a bundled model or a Hugging Face Hub name."),
    option("--draft", type=ModelName(*DRAFT_KINDS), default=DEFAULT_DRAFT,
           help="What proposes tokens: a model, named in the same way; `none` (plain decoding); or "
                f"KIND[:key=value,...] with KIND one of {', '.join(DRAFTING)}."),
    *(_declare(name) for name in ("gamma", "fallback", "verify")),
    *(_declare(each.name) for each in fields(SamplingParams)),
    *(_declare(name) for name in ("regex", "json_schema", "max_tokens", "stop", "seed", "audit")),
    option("--backend", type=click.Choice((*BACKENDS, *GPU_BACKENDS)), default=BACKENDS[0],
           help="What computes the forward pass."),
    option("--dtype", type=click.Choice((AUTO, *DTYPES)), default=AUTO,
           help="The format of the target's weights in memory; auto: the stored one, where the bits are the same."),
    option("--draft-dtype", type=click.Choice((AUTO, *DTYPES)), default=None,
           show_default="that of --dtype", help="The same for the draft."),
    kv_dtype_option,
    threads_option,
)  # fmt: skip


def generation_options(command: _Command) -> _Command:
    """Declare every option of a generation."""
    return generation_options_without()(command)


def generation_options_without(*flags: str) -> Callable[[_Command], _Command]:
    """Declare the options of a generation but for some, which the command declares in another form or fixes."""

    def declare(command: _Command) -> _Command:
        for each in reversed(_GENERATION):
            if each.flag not in flags:
                command = each(command)
        return command

    return declare
