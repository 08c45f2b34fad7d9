"""`antiphon setup logins`: log in at MCP servers over HTTP; the tokens are never shown."""

from __future__ import annotations

import asyncio

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.options import JSON_OPTION
from antiphon.cli.output import print_ascii_json
from antiphon.errors import ConfigurationError


@click.group()
def logins() -> None:
    """Log in at MCP servers, list and remove the logins."""


@logins.command("add")
@click.argument("server", metavar="NAME|URL")
def add_login(server: str) -> None:
    """Log in at a server of the configuration, or at an address, and store the tokens.

    The address to open in a browser is printed. The browser then returns to this command.
    """
    from antiphon.chat.mcp_servers import resolve_mcp_server
    from antiphon.cli.configuration import current_configuration
    from antiphon.tools.mcp import log_in

    configured = {each.name: each for each in current_configuration().mcp_servers()}
    found = resolve_mcp_server(server, configured)
    if not found.url:
        raise ConfigurationError(f"MCP server `{found.name}` is a process that is started here, and needs no login")
    if asyncio.run(log_in(found, _show_address)):
        click.echo(f"Logged in at {escape_unprintable(found.url)}.")
    else:
        click.echo(f"{escape_unprintable(found.url)} needs no login; nothing was stored.")


def _show_address(address: str) -> None:
    click.echo(f"Open this page in your browser, on this machine, and log in:\n\n  {escape_unprintable(address)}\n")


@logins.command("list")
@JSON_OPTION
def list_logins(as_json: bool) -> None:
    """List the addresses of the servers with a login."""
    from antiphon.config import McpCredentials

    addresses = McpCredentials().addresses()
    if as_json:
        print_ascii_json(addresses)
        return
    for each in addresses:
        click.echo(escape_unprintable(each))
    if not addresses:
        click.echo("There are no logins; `antiphon setup logins add NAME` adds one.")


@logins.command("remove")
@click.argument("server", metavar="NAME|URL")
def remove_login(server: str) -> None:
    """Remove the stored login at a server."""
    from antiphon.cli.configuration import current_configuration
    from antiphon.config import McpCredentials

    configured = {each.name: each.url for each in current_configuration().mcp_servers()}
    address = configured.get(server, server)
    if not McpCredentials().remove(address):
        raise ConfigurationError(f"there is no login at {escape_unprintable(address)}")
    click.echo(f"Removed the login at {escape_unprintable(address)}.")
