"""How ``--help`` is laid out: commands in groups, the options of large commands in sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Decode": ("generate", "batch", "serve", "page", "replay"),
    "Does it pay?": ("plan", "measure", "bench", "why", "roofline"),
    "Inspect": ("diff", "doctor", "models"),
    "Course": ("lessons", "assignment", "grade", "grade-class"),
    "More": ("completion", "experiment", "export", "warmup"),
}
"""The commands, in the order of ``minispec --help``."""

_SECTIONS: Mapping[str, str] = {
    "Models": "target draft backend dtype draft-dtype kv-dtype threads shape draft-shape machine",
    "Drafting": "gamma gammas fallback verify from since alpha drafted accepted cost-ratio verify-cost "
    "overhead max-gamma",
    "Sampling": "temperature top-k top-p min-p repetition-penalty presence-penalty frequency-penalty seed",
    "Text": "max-tokens min-tokens stop regex json-schema",
    "Prompts": "prompts preset prompt-key domain per-domain limit",
    "Measurement": "against compare measured audit repeats no-timing jobs on journal quick context rows batch memory",
    "Batching": "concurrency kv-memory page-size max-requests max-waiting max-seconds max-body keep-going",
    "Network": "host port api-key-file allow-origin drain-seconds open",
    "Rollout": "canary baseline canary-log shadow",
}
"""Options of a section, in any command; all other options are about the output."""
_OUTPUT = "Output"
_SECTION_OF = {flag: title for title, flags in _SECTIONS.items() for flag in flags.split()}
_MANY = 12
"""Options that a command may have without sections."""
_NARROW = 60
"""Columns below which descriptions go under the options."""
_VARIABLES = "Variables that set options: see `minispec --help`."
ENVIRONMENT = (
    "A variable can set most options: MINISPEC_MAX_TOKENS sets --max-tokens. The flag wins. `minispec doctor` shows "
    "the variables in effect, and names those that no command reads."
)


class _Formatter(click.HelpFormatter):
    """Click's, but in a narrow window, descriptions stand under what they describe."""

    def write_dl(self, rows: Any, col_max: int = 26, col_spacing: int = 2) -> None:
        """Write a list of names and descriptions."""
        if self.width >= _NARROW:
            super().write_dl(rows, col_max, col_spacing)
            return
        for name, text in rows:
            self.write(f"{'':>{self.current_indent}}{name}\n")
            with self.indentation():
                self.write_text(text)


class Context(click.Context):
    """A context whose help goes through our formatter."""

    formatter_class = _Formatter


class Command(click.Command):
    """A command whose options come in sections if they are many."""

    context_class = Context

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        write_options(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where to read about variables, if an option has one."""
        write_epilog(self, formatter)


class Group(click.Group):
    """A group of such commands."""

    context_class = Context
    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and then the commands."""
        write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where to read about variables, if an option has one."""
        write_epilog(self, formatter)


class Root(Group):
    """The command itself: its commands in groups."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups of commands."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, SUMMARIES[name]) for name in names])
        with formatter.section("Environment"):
            formatter.write_text(ENVIRONMENT)


SUMMARIES: Mapping[str, str] = {
    "assignment": "Build an assignment's files, and check its grader.",
    "batch": "Decode a file of requests together.",
    "bench": "Measure every cost, and the speedup per kind of text.",
    "completion": "Print the completion script of a shell.",
    "diff": "Find the first token where two runs differ, and why.",
    "doctor": "Show versions, CPU, GPU, caches and settings.",
    "experiment": "Run the experiments behind the claims.",
    "export": "Export a pair for vLLM, llama.cpp or Transformers.",
    "generate": "Continue a prompt. Start here.",
    "grade": "Grade submissions, and name each mistake.",
    "grade-class": "Grade a folder: marks, statistics, similar code.",
    "lessons": "List the course's notebooks; copy and open them.",
    "measure": "Compare plain decoding and drafts on your prompts.",
    "models": "List the bundled models and heads.",
    "page": "Write a page that decodes in the browser.",
    "plan": "Forecast the speedup and the best draft length.",
    "replay": "Show a recorded run at reading speed.",
    "roofline": "Show how far memory limits the speed.",
    "serve": "Serve OpenAI's completions over HTTP.",
    "warmup": "Compile the kernels ahead of the first run.",
    "why": "Explain where the speedup is lost, cause by cause.",
}
"""What each command does, in a line: ``minispec --help`` imports no command to print it."""


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write a command's options, in sections if they are many."""
    options = [each for each in command.get_params(ctx) if isinstance(each, click.Option)]
    shown = [(each, record) for each in options if (record := each.get_help_record(ctx)) is not None]
    found: dict[str, list[tuple[str, str]]] = {}
    for each, record in shown:
        flag = max(each.opts, key=len).removeprefix("--")
        title = _SECTION_OF.get(flag, _OUTPUT) if len(shown) > _MANY else "Options"
        found.setdefault(title, []).append(record)
    for title in ("Options", *_SECTIONS, _OUTPUT):
        if title in found:
            with formatter.section(title):
                formatter.write_dl(found[title])


def write_epilog(command: click.Command, formatter: click.HelpFormatter) -> None:
    """Point to what is told once about variables."""
    if any(each.envvar for each in command.params):
        formatter.write_paragraph()
        formatter.write_text(_VARIABLES)
