"""`antiphon mcp`: a program, or the built-in tools, for any program that speaks the Model Context Protocol."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import click

from antiphon import __version__
from antiphon.cli.completing import FILE, MODEL


@click.command()
@click.argument("file", required=False, type=FILE)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Of the built-in tools: the directory the file tools are confined to.  [default: the current directory]",
)
@click.option("--all", "everything", is_flag=True, help="Also the built-in tools that write files and run commands.")
@click.option("--model", metavar="NAME", type=MODEL, help="Of a program: the model that serves where it names none.")
@click.option("--yes", is_flag=True, help="Of a program: allow all tool calls of its models.")
def mcp(file: str | None, root: Path | None, everything: bool, model: str | None, yes: bool) -> None:
    """Serve a program, or the built-in tools, over standard input and output.

    The program FILE is one tool: its name is the file's, its description the comment at its top, its parameters are the
    inputs that it declares, and its result is what it returns. Each call is a run that `antiphon runs` shows.

    Without FILE it is the built-in tools: only those that read, unless --all. The client that starts this program asks
    its user before calls, or does not: give --all only to one that does.
    """
    if file is None:
        if model or yes:
            raise click.UsageError("`--model` and `--yes` are for a program: `antiphon mcp FILE`")
        _serve_tools(root or Path(), everything)
        return
    if root is not None or everything:
        raise click.UsageError("`--root` and `--all` are for the built-in tools, without FILE")
    from antiphon.cli.run import check_trust, load_program
    from antiphon.cli.serving import serve_program

    program = load_program(file, False, False)
    check_trust(program, file, False)
    _announce(f"Serving {Path(file).name}")
    _run(serve_program(program, file, {"model": model, "yes": yes}))


def _serve_tools(root: Path, everything: bool) -> None:
    from antiphon.tools.builtin import all_tools, read_only_tools
    from antiphon.tools.mcp import serve

    tools = all_tools(root) if everything else read_only_tools(root)
    _announce(f"Serving {len(tools)} tools")
    _run(serve(tools, version=__version__))


def _announce(what: str) -> None:
    if sys.stdin.isatty():
        click.echo(f"{what} to an MCP client on standard input. Ctrl-C stops.", err=True)


def _run(serving: Any) -> None:
    # A cancelled server would wait for the thread that reads its input, and so for another key.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serving)
