"""The `antiphon` command: each command is a thin function over the rooms, imported when it is asked for."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from antiphon import __version__
from antiphon._printable import printable
from antiphon._suggestions import nearest
from antiphon.cli.colours import Context, dressed
from antiphon.errors import AntiphonError

#: What `--help` lists, under these headings. Each is a function of this name in a module of this name, which is not
#: imported to be listed.
_SECTIONS = {
    "Talk": {
        "chat": "Talk with a model.",
        "ask": "Ask a model once, and print its answer.",
        "templates": "List, show or remove the questions that `ask --save` kept.",
        "logs": "List, search, show and export saved conversations.",
    },
    "Work": {
        "serve": "Serve the page: runs, their results, and what waits for you.",
        "team": "Let a small team work in a git repository.",
    },
    "Programs": {
        "run": "Run a program; `-` reads it from standard input.",
        "map": "Run a program for each of many rows or files.",
        "runs": "List runs, look at what they did, go on with those that were left.",
        "why-cache": "Say what the provider's cache made of the requests of a run.",
        "work": "Execute runs of a journal in PostgreSQL, until stopped.",
        "check": "Check programs, and the modules they import, without running them.",
        "fmt": "Lay programs out in the one style of the language.",
        "repl": "Write a program piece by piece, and see what comes of each.",
        "test": 'Run the `test "…" { … }` blocks of programs.',
        "explain": "Explain a code such as V0301; without one, list all of them.",
    },
    "Models": {
        "setup": "Choose a model, try it, and store the choice and its key.",
        "models": "List models; fetch local ones; set the default; show and check facts.",
        "keys": "Store, list and remove keys of providers.",
        "trust": "Show what a project's files and programs would do, and let them.",
    },
    "Histories and tools": {
        "show": "Show a saved conversation, a recording, or a tool's result.",
        "doctor": "Find what a provider would reject in a saved history.",
        "convert": "Write a history to standard output in another shape.",
        "mcp": "Serve a program, or the built-in tools, to an MCP client.",
        "fake": "Serve fake Anthropic, OpenAI and Gemini APIs.",
        "completion": "Print the completion script of a shell.",
    },
}
#: What the files of a project could change; and of these, what is begun by somebody who can be asked about them.
_CONFIGURED = ("chat", "ask", "templates", "run", "map", "mcp", "work", "repl", "setup", "models", "keys", "test")
_ASKING = ("chat", "ask", "run", "map", "repl")
_COMMANDS = dict(sorted((name, about) for section in _SECTIONS.values() for name, about in section.items()))


class _Commands(click.Group):
    """Commands that cost nothing until they are used."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = cmd_name.replace("-", "_")
        return dressed(getattr(import_module(f"antiphon.cli.{module}"), module))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named; one that is not there gets the nearest, and a question the way to ask it."""
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            meant = nearest(name, _COMMANDS)
            hint = f"did you mean `{meant}`?" if meant else "`antiphon --help` lists them"
            ctx.fail(f"there is no command {name!r:.60}; " + ('`antiphon ask "…"` asks' if " " in name else hint))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for heading, commands in _SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([*commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What could be typed, without a look into the commands."""
        named = [CompletionItem(name, help=about) for name, about in _COMMANDS.items() if name.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="antiphon %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Ask language models, give them tools, and keep every call with its result.
    Begin with `antiphon setup`. Without a key, all works that asks no model;
    `pip install 'antiphon[local]'` adds one.
    """
    command = context.invoked_subcommand
    if command not in _CONFIGURED:
        return
    from antiphon.cli.configured import configured_here

    context.obj = configured_here(asking=command in _ASKING)


def _tell_warnings() -> None:
    """Have the end of a model told in a line like every message."""
    import warnings

    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any) -> None:
        if category.__name__ == "ModelRetirement":
            # Python itself gives up in silence where nobody can be told.
            with suppress(OSError):
                click.echo(f"antiphon: {printable(str(message))}", err=True)
        else:
            usual(message, category, *rest)

    warnings.showwarning = show


def main() -> None:
    """Run the command line; mistakes are told in a line, not in a traceback."""
    _tell_warnings()
    try:
        cli()
    except AntiphonError as error:
        # Further lines are set in: the name of a file or a server's answer could pass for one of ours.
        said = printable(str(error)).replace("\n", "\n  ")
        click.echo(f"antiphon: {said}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has had enough.
        sys.stderr.close()
        sys.exit(141)
