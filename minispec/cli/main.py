"""The ``minispec`` command: its subcommands, and what becomes of errors.

Exit codes: 0 done, 2 the user's input (one line on stderr, no traceback), 130 Ctrl-C, 1 a fault of ours or a reader
of our pipe that went away.
"""

from __future__ import annotations

import errno
import gc
import importlib
import io
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import NoReturn

import click

from minispec import __version__
from minispec.cli.sections import SUMMARIES, Root
from minispec.errors import MinispecError, OptionError, OutputError, explain, quote, suggest

_INTERRUPTED = 130
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_COMMANDS = tuple(sorted(SUMMARIES))
_FUNCTIONS = {"grade-class": "classroom", "train-draft": "train_draft"}
"""Each command is the function of its name, in the module of its name; these have another in Python."""


class _Commands(Mapping[str, click.Command]):
    """Commands by name, imported when asked for: what prints a list need not wait for Numba."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in _COMMANDS:
            raise KeyError(name)
        module = _FUNCTIONS.get(name, name)
        command: click.Command = getattr(importlib.import_module(f"minispec.cli.{module}"), module)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


@click.group(
    cls=Root, commands=_Commands(), context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="minispec")
@click.option("-v", "--verbose", count=True, help="Log what happens to stderr; twice for details.")
@click.pass_context
def cli(context: click.Context, verbose: int) -> None:
    """Speculative decoding for GPT-2-family models, to be understood, measured and trusted."""
    if context.invoked_subcommand != "doctor":  # which says it itself
        _check_threads()
    logging.basicConfig(
        level=[logging.WARNING, logging.INFO, logging.DEBUG][min(verbose, 2)],
        format="%(levelname)s %(name)s: %(message)s",
        force=True,
    )
    logging.getLogger("numba").setLevel(logging.WARNING)  # its own debug output is about compiling, in megabytes


def _check_threads() -> None:
    """Refuse what Numba fails at while it is imported, anywhere in a command."""
    asked = os.environ.get("NUMBA_NUM_THREADS", "")
    if re.fullmatch(r"\s*[-+]?[0-9]+\s*", asked) and int(asked) < 1:
        raise OptionError(f"NUMBA_NUM_THREADS is {quote(asked)}; it must be a whole number >= 1. Unset it, or try 1")


def main() -> NoReturn:
    """Run the command line and exit."""
    gc.set_threshold(100_000)  # starting makes many objects and drops few; looking for garbage took 0.07 s of it
    _ready_streams()
    try:
        code = _run()
        sys.stdout.flush()
    except MinispecError as error:
        code = _complain(_as_typed(str(error)), error.exit_code)
    except click.UsageError as error:
        message = _describe(error)
        where = "minispec" if error.ctx is None else error.ctx.command_path
        code = _complain(f"{message}{'' if message.endswith(('.', '?')) else '.'} See `{where} --help`", 2)
    except click.ClickException as error:
        code = _complain(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        code = _complain("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        _drop_output()
        code = 1  # click's code for the same, where it sees it first
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _drop_output()
        code = _complain(f"the output cannot be written ({explain(error)}). Send it elsewhere", OutputError.exit_code)
    sys.exit(code)


def _as_typed(message: str) -> str:
    """Name options at the beginning of a message as the user set them: by a flag, or by a variable."""
    flags = {word.partition("=")[0] for word in sys.argv[1:]}

    def find(match: re.Match[str]) -> str:
        flag = "--" + match[0]
        variable = "MINISPEC_" + match[0].replace("-", "_").upper()
        return flag if flag in flags else variable if variable in os.environ else match[0]

    told, semicolon, rest = message.partition(";")
    return re.sub(r"(?:^|(?<= and ))[a-z][a-z-]*(?= )", find, told) + semicolon + rest


def _describe(error: click.UsageError) -> str:
    """Return click's message; of a value that is none of a list, in the form of ours."""
    message = error.format_message()
    found = re.match(r"Invalid value for '(.+?)'(?: \(.*?\))?: '(.*)' is not one of (.+)\.", message)
    if found is None:
        return message
    choices = re.findall(r"'(.+?)'", found[3])
    is_flag, argument = found[1].startswith("-"), getattr(error, "param", None)
    name = found[1] if is_flag or argument is None else f"the {argument.name}"
    way_out = suggest(found[2], choices, f"Try {found[1]} {choices[0]}" if is_flag else f"Try {choices[0]}")
    return f"{name} is {quote(found[2])}; it must be one of {', '.join(choices)}. {way_out}"


def _ready_streams() -> None:
    """Let a text be written wherever the streams lead: nowhere, or to a console without its characters.

    A command's JSON is ASCII, and so the same there.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # closed: no file that is opened later may get its number, and what is meant for it
            os.open(os.devnull, os.O_RDONLY)
    try:
        os.write(2, b"")
    except OSError:  # `2>&-`, and what a shell script has of it: a file to read from
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as we live
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """Let nothing more be written: what is still buffered would make the interpreter complain on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run() -> int:
    if sys.stdout is None:  # `>&-`
        raise OptionError("standard output is closed; there is nowhere to write to. Try >/dev/null")
    try:
        return cli.main(prog_name="minispec", standalone_mode=False) or 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())  # asked for nothing, so told everything
        return 0


def _complain(message: str, code: int) -> int:
    print("minispec: " + " ".join(message.split()), file=sys.stderr)
    return code
