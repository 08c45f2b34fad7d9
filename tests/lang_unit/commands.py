"""The commands of the language, run in this process."""

from __future__ import annotations

from dataclasses import dataclass

from click.testing import CliRunner

from antiphon.cli import cli
from antiphon.errors import AntiphonError


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def antiphon(*arguments: str, input: str | bytes | None = None) -> Ran:
    """Run a command. An error of ours is told as `main` tells it; any other would be a traceback, and is raised."""
    result = CliRunner().invoke(cli, arguments, input=input)
    if isinstance(result.exception, AntiphonError):
        return Ran(2, result.stdout, f"{result.stderr}antiphon: {result.exception}\n")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)
