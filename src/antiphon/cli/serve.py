"""`antiphon serve`: serve the web page on this machine."""

from __future__ import annotations

import errno
import ipaddress
import socket
import ssl
import threading
from contextlib import suppress

import click

from antiphon.cli.output import print_message
from antiphon.errors import ConfigurationError

_EXISTING_FILE = click.Path(exists=True, dir_okay=False)


class _ServeGroup(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command; fail for a file, which only `run` takes."""
        if args[0].isdigit() and not ctx.resilient_parsing:
            ctx.fail(f"`serve` takes the port as an option: `antiphon serve --port {args[0]:.6}`")
        if args[0] not in self.commands and not ctx.resilient_parsing:
            ctx.fail(f"`serve` takes no {args[0]!r:.60}; `antiphon run FILE` runs a program, and the page shows it")
        return super().resolve_command(ctx, args)


@click.group(cls=_ServeGroup, invoke_without_command=True)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="The port; 0 picks a free one."
)
@click.option("--open", "is_opened", is_flag=True, help="Open the page in a browser.")
@click.option("--listen", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="The address to listen on. One that others can reach needs --cert and --key.")  # fmt: skip
@click.option("--name", "names", multiple=True, metavar="NAME",
              help="A further host name of the page. (Repeatable.)")  # fmt: skip
@click.option("--cert", type=_EXISTING_FILE, help="The certificate for https.")
@click.option("--key", type=_EXISTING_FILE, help="The key of the certificate.")
@click.option("--insecure", is_flag=True, help="Allow other machines without https: others can read the traffic.")
@click.option("--renderers", type=click.Path(exists=True, file_okay=False), metavar="DIR",
              help="A directory of modules that render further kinds of results.")  # fmt: skip
@click.option("--model", metavar="NAME", help="The model for AG-UI clients. [default: your default model]")
@click.option("--tools", type=click.Choice(["none", "read", "all"]), default="none", show_default=True,
              help="The tools for AG-UI clients.")  # fmt: skip
@click.pass_context
def serve(
    context: click.Context,
    port: int,
    is_opened: bool,
    listen: str,
    names: tuple[str, ...],
    cert: str | None,
    key: str | None,
    insecure: bool,
    renderers: str | None,
    model: str | None,
    tools: str,
) -> None:
    """Serve the web page and the AG-UI endpoint.

    The printed link grants access to whoever has it. AG-UI clients use /agui, with the same token.
    """
    if context.invoked_subcommand is not None:
        return
    if (cert is None) != (key is None):
        raise click.UsageError("`--cert` and `--key` need each other; use both")
    if not _is_loopback(listen) and cert is None and not insecure:
        raise click.UsageError(
            f"other machines can reach {listen}: use `--cert` and `--key`, or `--insecure` if they may read the traffic"
        )
    if cert is not None and key is not None:
        _check_certificate(cert, key)
    from antiphon.web.application import app, missing_web_extra

    try:
        import uvicorn
    except ImportError as error:
        raise missing_web_extra(error) from None
    from antiphon.durable import Journal
    from antiphon.storage.store_location import is_saving_off
    from antiphon.web.access_token import load_or_create_token
    from antiphon.web.users import UserFile

    if is_saving_off():
        raise ConfigurationError("the page needs saved sessions, and `--db off` saves none; use `--db FILE`")
    listener = _create_listener(listen, port)
    scheme, port = "https" if cert else "http", listener.getsockname()[1]
    hosts = [*names, *_url_hosts(listen)]
    token, journal = load_or_create_token(), Journal()
    page = app(
        journal=journal, token=token, origins=[f"{scheme}://{_host_and_port(host, scheme, port)}" for host in hosts],
        renderers=renderers, model=model, tools=tools, users=UserFile().path,
    )  # fmt: skip
    config = uvicorn.Config(
        page, lifespan="off", log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1,
        ssl_certfile=cert, ssl_keyfile=key, proxy_headers=False,
    )  # fmt: skip
    url = _login_url(hosts[0], scheme, port, token)
    if is_opened:
        # The browser waits for the page, which is served below.
        threading.Thread(target=_open_browser, args=(url,), daemon=True).start()
    with suppress(KeyboardInterrupt):
        click.echo(f"The page: {url}\nAnyone with this link can read and answer. Ctrl-C stops.")
        uvicorn.Server(config).run(sockets=[listener])
    journal.close()


@serve.group()
def users() -> None:
    """Manage further users of the page, each with a link of their own."""


@users.command()
@click.argument("name")
@click.option("--read", "is_read_only", is_flag=True, help="Read only: this user can answer and start nothing.")
@click.pass_context
def add(context: click.Context, name: str, is_read_only: bool) -> None:
    """Add a user of the page, and print the link that grants access.

    Options of `serve` that define the address come before `users`. The link is printed only once.
    """
    from antiphon.web.users import UserFile

    given = _find_serve_context(context).params
    token = UserFile().add(name, not is_read_only)
    hosts = [*given["names"], *_url_hosts(given["listen"])]
    click.echo(_login_url(hosts[0], "https" if given["cert"] else "http", given["port"], token))


@users.command("list")
def list_users() -> None:
    """List the users of the page besides you."""
    from antiphon.web.users import UserFile

    known = list(UserFile().all)
    for each in known:
        click.echo(f"{each.name}  {'read and act' if each.may_act else 'read only'}")
    if not known:
        click.echo("there are no other users; add one with `antiphon serve users add NAME`")


@users.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove a user of the page; pages that the user has open stop updating."""
    from antiphon.web.users import UserFile

    UserFile().remove(name)


def _open_browser(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        print_message("no browser was found; open the link yourself")


def _find_serve_context(context: click.Context) -> click.Context:
    while context.parent is not None and context.command is not serve:
        context = context.parent
    return context


def _login_url(host: str, scheme: str, port: int, token: str) -> str:
    return f"{scheme}://{_host_and_port(host, scheme, port)}/login?token={token}"


def _is_loopback(address: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return address == "localhost"


def _url_hosts(address: str) -> list[str]:
    """Return the host names for an address in a URL; the first one is used from this machine."""
    here = ["127.0.0.1", "localhost", "[::1]"]
    if address in ("0.0.0.0", "::"):
        name = socket.gethostname()
        return list(dict.fromkeys((name, socket.getfqdn(), *map(_bracket_ipv6, _machine_addresses(name)), *here)))
    own = _bracket_ipv6(address)
    return list(dict.fromkeys((own, *here))) if _is_loopback(address) else [own]


def _bracket_ipv6(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _machine_addresses(name: str) -> list[str]:
    """Return the addresses of this machine to which its name resolves."""
    with suppress(OSError):
        return sorted({str(each[4][0]).partition("%")[0] for each in socket.getaddrinfo(name, None)})
    return []


def _host_and_port(host: str, scheme: str, port: int) -> str:
    return host if port == {"http": 80, "https": 443}[scheme] else f"{host}:{port}"


def _create_listener(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        # `::` accepts IPv4 connections too.
        both = address == "::" and socket.has_dualstack_ipv6()
        return socket.create_server((address, port), family=family, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        why = str(getattr(error, "strerror", "") or error).partition(" (while")[0]
        other = "; `--port 0` picks a free one" if getattr(error, "errno", 0) == errno.EADDRINUSE else ""
        raise ConfigurationError(f"cannot listen on {_bracket_ipv6(address)}:{port}: {why}{other}") from None


def _check_certificate(cert: str, key: str) -> None:
    """Raise `ConfigurationError` for an unusable certificate or key before anything is served."""

    def reject_passphrase() -> str:
        raise ConfigurationError(
            f"{key} is protected by a passphrase; remove it with `openssl pkey -in {key} -out OPEN.pem`"
        )

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, reject_passphrase)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ConfigurationError(f"{key} is not the key of the certificate {cert}") from None
        what = f"{key} is not a key" if _is_certificate(cert) else f"{cert} is not a certificate"
        raise ConfigurationError(f"{what} in PEM format") from None
    except OSError as error:
        raise ConfigurationError(f"the certificate or its key cannot be read: {error.strerror or error}") from None


def _is_certificate(file: str) -> bool:
    from pathlib import Path

    from cryptography.x509 import load_pem_x509_certificates

    try:
        return bool(load_pem_x509_certificates(Path(file).read_bytes()))
    except (ValueError, OSError):
        return False
