"""`antiphon mcp`: serve a program, or the built-in tools, to an MCP client."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import click

from antiphon import __version__
from antiphon.cli.completers import FILE_PARAM, MODEL_PARAM


@click.command()
@click.argument("file", required=False, type=FILE_PARAM)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Without FILE: the directory that the file tools may use.  [default: the current directory]",
)
@click.option(
    "--all", "everything", is_flag=True, help="Without FILE: also serve tools that write files and run commands."
)
@click.option("--model", metavar="NAME", type=MODEL_PARAM, help="With FILE: the model for requests that name none.")
@click.option("--yes", is_flag=True, help="With FILE: approve all tool calls of its models.")
def mcp(file: str | None, root: Path | None, everything: bool, model: str | None, yes: bool) -> None:
    """Serve a program, or the built-in tools, over standard input and output.

    The program FILE becomes one tool. The file gives its name, the first comment its description, the
    declared inputs its parameters, and the return value its result. Each call is a session that `antiphon list`
    shows.

    Without FILE, the built-in tools are served: only those that read, unless --all. Use --all only with a
    client that asks its user before each call.
    """
    if file is None:
        if model or yes:
            raise click.UsageError("`--model` and `--yes` need a program: `antiphon mcp FILE`")
        _serve_tools(root or Path(), everything)
        return
    if root is not None or everything:
        raise click.UsageError("`--root` and `--all` configure the built-in tools; omit FILE")
    from antiphon.cli.mcp_server import serve_program
    from antiphon.cli.run import exit_unless_trusted, load_program_or_exit

    program = load_program_or_exit(file, False, False)
    exit_unless_trusted(program, file, False)
    _announce(f"Serving {Path(file).name}")
    _run_server(serve_program(program, file, {"model": model, "yes": yes}))


def _serve_tools(root: Path, everything: bool) -> None:
    from antiphon.tools.builtin import all_tools, read_only_tools
    from antiphon.tools.mcp import serve

    tools = all_tools(root) if everything else read_only_tools(root)
    _announce(f"Serving {len(tools)} tools")
    _run_server(serve(tools, version=__version__))


def _announce(what: str) -> None:
    if sys.stdin.isatty():
        click.echo(f"{what} to an MCP client on standard input. Ctrl-C stops.", err=True)


def _run_server(serving: Any) -> None:
    # A cancelled server would wait for its reader thread, and so for another line of input.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serving)
