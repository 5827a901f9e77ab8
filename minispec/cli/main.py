"""The ``minispec`` command: its subcommands, and what becomes of errors.

Exit codes: 0 done, 2 the user's input (one line on stderr, no traceback), 130 Ctrl-C, 1 a fault of ours or a reader
of our pipe that went away.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import NoReturn

import click

from minispec import __version__
from minispec.cli.completion import completion
from minispec.cli.diff import diff
from minispec.cli.doctor import doctor
from minispec.cli.generate import generate
from minispec.cli.models import models
from minispec.errors import MinispecError

_INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="minispec")
@click.option("-v", "--verbose", count=True, help="Log what happens to stderr; twice for details.")
def cli(verbose: int) -> None:
    """Speculative decoding for GPT-2-family models, to be understood, measured and trusted."""
    logging.basicConfig(
        level=[logging.WARNING, logging.INFO, logging.DEBUG][min(verbose, 2)],
        format="%(levelname)s %(name)s: %(message)s",
        force=True,
    )
    logging.getLogger("numba").setLevel(logging.WARNING)  # its own debug output is about compiling, in megabytes


cli.add_command(generate)
cli.add_command(diff)
cli.add_command(models)
cli.add_command(doctor)
cli.add_command(completion)


def main() -> NoReturn:
    """Run the command line and exit."""
    try:
        code = cli.main(prog_name="minispec", standalone_mode=False) or 0
        sys.stdout.flush()
    except MinispecError as error:
        code = _complain(str(error), error.exit_code)
    except click.UsageError as error:
        message = error.format_message()
        where = "minispec" if error.ctx is None else error.ctx.command_path
        code = _complain(f"{message}{'' if message.endswith(('.', '?')) else '.'} See `{where} --help`", 2)
    except click.ClickException as error:
        code = _complain(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        code = _complain("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # What is still buffered cannot be written either; the interpreter would complain about it on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1  # click's code for the same, where it sees it first
    sys.exit(code)


def _complain(message: str, code: int) -> int:
    print("minispec: " + " ".join(message.split()), file=sys.stderr)
    return code
