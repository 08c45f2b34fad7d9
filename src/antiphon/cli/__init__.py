"""The `antiphon` command line; the module of a command is imported when the command is used."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from antiphon import __version__
from antiphon._base.did_you_mean import suggest_name
from antiphon._base.escape import escape_unprintable
from antiphon.cli.style import ColourContext, enable_colours
from antiphon.errors import AntiphonError

#: The commands by heading, as `--help` lists them. Each is a function in a module of the same name.
_SECTIONS = {
    "Conversations": {
        "chat": "Chat with a model.",
        "ask": "Ask a model once and print its answer.",
        "templates": "List, show or remove the questions saved with `ask --save`.",
        "logs": "List, search, show and export saved conversations.",
    },
    "Page and teams": {
        "serve": "Serve the web page: live runs, their results, and pending questions.",
        "team": "Run a team of agents in a git repository.",
    },
    "Programs": {
        "run": "Run a program; `-` reads it from standard input.",
        "map": "Run a program for each of many rows or files.",
        "runs": "List, inspect, answer and resume runs.",
        "why-cache": "Show how the requests of a run used the provider's cache.",
        "worker": "Execute runs of a journal in PostgreSQL until stopped.",
        "check": "Check programs and the modules they import; run nothing.",
        "fmt": "Format programs.",
        "repl": "Run statements interactively.",
        "test": 'Run the `test "…" { … }` blocks of programs.',
        "explain": "Explain a code such as V0301; without one, list all of them.",
    },
    "Models": {
        "setup": "Choose a model, try it, and store it with its key.",
        "models": "List and download models, set the default, show and check facts.",
        "keys": "Store, list and remove provider keys.",
        "trust": "Show what a project would do, and trust it.",
    },
    "Histories and tools": {
        "show": "Show a saved conversation, a recording, or a tool's result.",
        "doctor": "Find errors in a saved history that a provider would reject.",
        "convert": "Convert a history to another format.",
        "mcp": "Serve a program, or the built-in tools, to an MCP client.",
        "fake": "Serve fake Anthropic, OpenAI and Gemini APIs.",
        "completion": "Print the completion script of a shell.",
    },
}
#: Commands that project files can affect; and those of them that may ask the user to trust the project.
_COMMANDS_WITH_CONFIGURATION = (
    "chat",
    "ask",
    "templates",
    "run",
    "map",
    "mcp",
    "worker",
    "repl",
    "setup",
    "models",
    "keys",
    "test",
)
_COMMANDS_ASKING_FOR_TRUST = ("chat", "ask", "run", "map", "repl")
_COMMANDS = dict(sorted((name, about) for section in _SECTIONS.values() for name, about in section.items()))


class _LazyGroup(click.Group):
    """A command group that imports a command only when it is used."""

    context_class = ColourContext

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = cmd_name.replace("-", "_")
        return enable_colours(getattr(import_module(f"antiphon.cli.{module}"), module))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command; an unknown name fails with the nearest one, or with `ask` for a question."""
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            meant = suggest_name(name, _COMMANDS)
            hint = f"did you mean `{meant}`?" if meant else "`antiphon --help` lists all commands"
            ctx.fail(
                f"there is no command {name!r:.60}; "
                + ('to ask a question, use `antiphon ask "…"`' if " " in name else hint)
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for heading, commands in _SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([*commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the completions without importing the commands."""
        named = [CompletionItem(name, help=about) for name, about in _COMMANDS.items() if name.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="antiphon %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Ask language models, give them tools, and save every call with its result.
    Start with `antiphon setup`. Commands that ask no model need no key;
    `pip install 'antiphon[local]'` adds a model that runs without one.
    """
    command = context.invoked_subcommand
    if command not in _COMMANDS_WITH_CONFIGURATION:
        return
    from antiphon.cli.configuration import load_for_command

    context.obj = load_for_command(asking=command in _COMMANDS_ASKING_FOR_TRUST)


def _print_retirement_warnings() -> None:
    """Print warnings about retired models as one-line messages."""
    import warnings

    usual = warnings.showwarning

    def show_warning(message: Warning | str, category: type[Warning], *rest: Any) -> None:
        if category.__name__ == "ModelRetirementWarning":
            # Like Python itself, ignore a closed standard error.
            with suppress(OSError):
                click.echo(f"antiphon: {escape_unprintable(str(message))}", err=True)
        else:
            usual(message, category, *rest)

    warnings.showwarning = show_warning


def main() -> None:
    """Run the command line; print errors as one line instead of a traceback."""
    _print_retirement_warnings()
    try:
        cli()
    except AntiphonError as error:
        # Indent further lines: a file name or a server's answer must not look like a message of ours.
        text = escape_unprintable(str(error)).replace("\n", "\n  ")
        click.echo(f"antiphon: {text}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader closed the pipe.
        sys.stderr.close()
        sys.exit(141)
