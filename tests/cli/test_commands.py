"""The smaller commands."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

import minispec
from minispec.cli.main import cli
from minispec.cli.sections import GROUPS, SUMMARIES
from tests.cli.conftest import Run


def test_version_and_python_m(run: Run) -> None:
    assert run("--version").stdout == f"minispec, version {minispec.__version__}\n"


def find_commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from find_commands(inner, (*path, name))


def test_every_help_fits_a_screen_or_is_in_sections() -> None:
    """80 columns by 50 lines, no summary cut; every command is in a group, and every option is told in full."""
    assert sorted(sum(GROUPS.values(), ())) == sorted(cli.commands) == sorted(SUMMARIES)
    for path, command in find_commands(cli):
        for width in (80, 40):
            shown = CliRunner().invoke(cli, [*path, "--help"], terminal_width=width, max_content_width=width).output
            lines = shown.splitlines()
            assert "..." not in shown.partition("Commands:")[2], path
            for parameter in command.params:
                assert not isinstance(parameter, click.Option) or max(parameter.opts, key=len) in shown, path
            if width == 80:
                assert max(map(len, lines)) <= 80, path
                assert len(lines) <= 50 or ("\nModels:\n" in shown and "\nOutput:\n" in shown), path
                assert "MINISPEC_" not in shown or not path, path


def test_a_misspelt_command_is_recognised(run_here: Run) -> None:
    done = run_here("generat")
    assert done.returncode == 2
    assert "generat" in done.stderr
    assert "Did you mean 'generate'?" in done.stderr


def test_doctor_tells_what_is_in_force(run_here: Run) -> None:
    facts = json.loads(run_here("doctor", "--json", MINISPEC_GAMMA="3").stdout)
    assert facts["minispec"] == minispec.__version__
    assert "MINISPEC_GAMMA=3" in facts["settings"]
    for name in ("python", "numpy", "numba", "threads", "threading layer", "cpu features", "gpu", "kernel cache"):
        assert facts[name]
    assert "threading layer" in run_here("doctor").stdout


def test_doctor_names_settings_that_no_command_reads(run_here: Run) -> None:
    facts = json.loads(run_here("doctor", "--json", MINISPEC_GAMA="3", MINISPEC_GAMMA="3").stdout)
    assert facts["settings that no command reads"] == "MINISPEC_GAMA"
    assert "settings that no command reads" not in json.loads(run_here("doctor", "--json", MINISPEC_GAMMA="3").stdout)


def test_models_lists_the_bundled_ones(run_here: Run) -> None:
    listed = json.loads(run_here("models", "--json").stdout)
    assert {"target-17m", "draft-1.6m"} <= {model["name"] for model in listed}
    for model in listed:
        assert model["bytes"] > 2 * model["parameters"]  # float16 and a header
        assert model["data"]
        assert model["licence"]
    assert "target-17m" in run_here("models").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_back_into_the_command(run_here: Run, shell: str) -> None:
    assert "_MINISPEC_COMPLETE" in run_here("completion", shell).stdout


def test_an_argument_that_is_none_of_a_list(run_here: Run) -> None:
    done = run_here("completion", "tcsh")
    assert done.stderr.startswith("minispec: the shell is 'tcsh'; it must be one of bash, zsh, fish. Try bash.")


def test_completion_knows_options_and_bundled_models(run_here: Run) -> None:
    def complete(words: str) -> str:
        index = str(len(words.split(" ")) - 1)
        return run_here(_MINISPEC_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=index).stdout

    assert "--gamma" in complete("minispec generate --ga")
    assert "target-17m" in complete("minispec generate x --target targ")
    assert "none" in complete("minispec generate x --draft n")
    for command in ("plan", "why x"):  # which refuse it
        offered = complete(f"minispec {command} --draft n")
        assert ("ngram" in offered, "none" in offered) == (True, False), command


def test_verbose_logs_to_stderr_only(run: Run, target: str) -> None:
    done = run("-vv", "generate", "the", "--target", target, "--draft", "none", "--max-tokens", "2", "--json")
    json.loads(done.stdout)
