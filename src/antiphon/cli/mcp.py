"""`antiphon mcp`: the built-in tools for any program that speaks the Model Context Protocol."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import click

from antiphon import __version__


@click.command()
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    show_default="the current directory",
    help="The directory the file tools are confined to.",
)
@click.option("--all", "everything", is_flag=True, help="Also the tools that write files and run commands.")
def mcp(root: Path, everything: bool) -> None:
    """Serve the built-in tools over standard input and output.

    Only those that read, unless --all. The client that starts this program asks its user before calls, or does not:
    give --all only to one that does.
    """
    from antiphon.tools.builtin import all_tools, read_only_tools
    from antiphon.tools.mcp import serve

    tools = all_tools(root) if everything else read_only_tools(root)
    if sys.stdin.isatty():
        click.echo(f"Serving {len(tools)} tools to an MCP client on standard input. Ctrl-C stops.", err=True)
    # A cancelled server would wait for the thread that reads its input, and so for another key.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve(tools, version=__version__))
