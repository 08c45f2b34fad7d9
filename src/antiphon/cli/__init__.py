"""The `antiphon` command line; the module of a command is imported when the command is used."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
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
SECTIONS = {
    "Start a session": {
        "chat": "Chat with a model that can use tools, with your approval.",
        "ask": "Ask one question; print the answer as text or typed JSON.",
        "run": "Run a program once, or for every row of a file.",
        "team": "Let a team of agents change a git repository.",
        "serve": "Serve the web page and the AG-UI endpoint.",
    },
    "Work with sessions": {
        "list": "List or search sessions.",
        "show": "Show a session, one of its steps, or a saved file.",
        "resume": "Continue a session where it stopped, or a copy of it (--fork).",
        "answer": "Answer a question, or approve or deny a tool call.",
        "stop": "Stop a running session. It can be resumed.",
        "export": "Write a session or a history file in another format.",
        "delete": "Delete sessions permanently.",
    },
    "Other": {
        "check": "Check programs and message histories for errors.",
        "setup": "Choose models, store API keys, trust a project.",
    },
}
#: Further commands, which `antiphon help TOPIC` lists.
TOPICS = {
    "language": {
        "check": "Check programs for errors, without running them.",
        "fmt": "Format programs.",
        "repl": "Run statements interactively.",
        "test": 'Run the `test "…" { … }` blocks of programs.',
        "explain": "Explain a code such as V0301; without one, list all of them.",
    },
    "operations": {
        "worker": "Execute sessions of a shared database until stopped.",
        "mcp": "Serve a program, or the built-in tools, to an MCP client.",
        "fake": "Serve fake Anthropic, OpenAI and Gemini APIs.",
        "why-cache": "Show how the requests of a session used the provider's cache.",
        "completion": "Print the completion script of a shell.",
    },
}
#: Short forms of other commands, as `module:function` in this package.
_ALIASES = {
    "help": "help:help_",
    "search": "list:list_",
    "map": "aliases:map_",
    "fork": "aliases:fork",
    "rename": "aliases:rename",
    "approve": "aliases:approve",
    "deny": "aliases:deny",
    "models": "models:models",
    "keys": "keys:keys",
    "logins": "logins:logins",
    "trust": "trust:trust",
    "templates": "templates:templates",
}
#: Words that people try, and the command that does it.
_SYNONYMS = {
    **dict.fromkeys(("ls", "ps", "history", "logs", "runs", "sessions", "inbox", "find"), "list"),
    **dict.fromkeys(("cat", "view", "log", "status", "open", "diff", "inspect"), "show"),
    **dict.fromkeys(("continue", "retry", "start", "branch"), "resume"),
    **dict.fromkeys(("allow", "reply", "yes", "no"), "answer"),
    **dict.fromkeys(("cancel", "kill", "abort"), "stop"),
    **dict.fromkeys(("convert", "save"), "export"),
    **dict.fromkeys(("rm", "remove", "prune", "clear", "del"), "delete"),
    **dict.fromkeys(("doctor", "lint", "validate", "typecheck"), "check"),
    **dict.fromkeys(("config", "configure", "init", "login", "auth", "model", "key"), "setup"),
    **dict.fromkeys(("exec", "execute", "batch"), "run"),
    **dict.fromkeys(("format",), "fmt"),
    **dict.fromkeys(("work", "workers"), "worker"),
    **dict.fromkeys(("web", "ui", "server", "page"), "serve"),
    **dict.fromkeys(("agents", "agent"), "team"),
    **dict.fromkeys(("prompt", "query", "question", "complete", "generate", "invoke"), "ask"),
    "version": "--version",
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
_VISIBLE = {name: about for section in SECTIONS.values() for name, about in section.items()}
_COMMANDS = {**_VISIBLE, **{name: about for topic in TOPICS.values() for name, about in topic.items()}, **_VISIBLE}
_FUNCTIONS = {"list": "list:list_"}


class _LazyGroup(click.Group):
    """A command group that imports a command only when it is used."""

    context_class = ColourContext

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        place = _ALIASES.get(cmd_name) or _FUNCTIONS.get(cmd_name)
        if place is None and cmd_name not in _COMMANDS:
            return None
        own = cmd_name.replace("-", "_")
        module, function = place.split(":") if place is not None else (own, own)
        return enable_colours(getattr(import_module(f"antiphon.cli.{module}"), function))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command; an unknown name fails with the nearest one, or with `ask` for a question."""
        name = args[0]
        if not (name in _COMMANDS or name in _ALIASES or name.startswith("-") or ctx.resilient_parsing):
            meant = suggest_name(name, [*_COMMANDS, *_ALIASES]) or _SYNONYMS.get(name.lower())
            if " " in name:
                hint = 'to ask a question, use `antiphon ask "…"`'
            elif name.endswith(".vibe"):
                hint = f"to run a program, use `antiphon run {name:.60}`"
            else:
                hint = f"did you mean `antiphon {meant}`?" if meant else "`antiphon --help` lists all commands"
            ctx.fail(f"there is no command {name!r:.60}; {hint}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _explain(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise _explain(error) from None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        write_sections(formatter, SECTIONS)
        with formatter.section("Options"):
            formatter.write_dl([each for option in self.get_params(ctx) if (each := option.get_help_record(ctx))])
        formatter.write_paragraph()
        formatter.write(_EPILOG)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the completions without importing the commands."""
        named = [CompletionItem(name, help=about) for name, about in _COMMANDS.items() if name.startswith(incomplete)]
        return [*sorted(named, key=lambda each: each.value), *click.Command.shell_complete(self, ctx, incomplete)]


_EPILOG = """\
SESSION is an id (3azf0001), the start of one, a name or `last`; SESSION:STEP a step.
Exit codes: 0 done, 1 failed, 2 usage error, 3 waiting, 4 limit, 130 interrupted.
More: antiphon help language | operations | all
"""


def write_sections(formatter: click.HelpFormatter, sections: Mapping[str, Mapping[str, str]]) -> None:
    """Write commands by heading, in the same columns."""
    width = max(len(name) for commands in sections.values() for name in commands)
    for heading, commands in sections.items():
        with formatter.section(heading):
            formatter.write_dl([(f"{name:<{width}}", about) for name, about in commands.items()], col_spacing=3)


def _explain(error: click.UsageError) -> click.UsageError:
    from antiphon.cli.usage_hints import explain_usage_error

    return explain_usage_error(error)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--db", metavar="LOCATION", help='A file, postgresql://... or "off".  [env: ANTIPHON_DB]')
@click.version_option(__version__, message="antiphon %(version)s", help="Show the version and exit.")
@click.pass_context
def cli(context: click.Context, db: str | None) -> None:
    """\b
    Build, run and inspect AI programs: typed answers, tools that ask before
    they act, and sessions you can stop, resume and fork at any step.
    New here? Run `antiphon setup`, then `antiphon chat`.
    """
    if db is not None:
        from antiphon.storage.store_location import use_location

        if not db.strip():
            raise click.UsageError('`--db` takes a file, a PostgreSQL URL or "off"')
        context.with_resource(use_location(db))
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
        if os.environ.get("ANTIPHON_OTEL"):
            from antiphon.telemetry import export_telemetry

            export_telemetry()
        cli()
    except AntiphonError as error:
        # Indent further lines: a file name or a server's answer must not look like a message of ours.
        text = escape_unprintable(str(error)).replace("\n", "\n  ")
        click.echo(f"antiphon: {text}", err=True)
        sys.exit(2)
