"""`antiphon serve`: the page, on this machine."""

from __future__ import annotations

import errno
import ipaddress
import socket
import ssl
import threading
from contextlib import suppress

import click

from antiphon.errors import ConfigurationError

_FILE = click.Path(exists=True, dir_okay=False)


@click.group(invoke_without_command=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="0 picks a free one.")
@click.option("--open", "is_opened", is_flag=True, help="Open it in the browser.")
@click.option("--listen", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="The address to listen on. Another than this machine's own needs --cert and --key.")  # fmt: skip
@click.option("--name", "names", multiple=True, metavar="NAME",
              help="A name under which it is reached, besides the address. (May be given several times.)")  # fmt: skip
@click.option("--cert", type=_FILE, help="The certificate, for https.")
@click.option("--key", type=_FILE, help="Its key.")
@click.option("--insecure", is_flag=True, help="Listen beyond this machine without https: others can read along.")
@click.option("--renderers", type=click.Path(exists=True, file_okay=False), metavar="DIR",
              help="A directory of modules that draw further kinds of results.")  # fmt: skip
@click.option("--model", metavar="NAME", help="The model that answers AG-UI clients; else that of your configuration.")
@click.option("--tools", type=click.Choice(["none", "read", "all"]), default="none", show_default=True,
              help="Its tools.")  # fmt: skip
@click.option("--db", envvar="ANTIPHON_DB", metavar="PLACE", show_envvar=True,
              help="The journal, where it is not your own: a file, or postgresql://…")  # fmt: skip
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
    db: str | None,
) -> None:
    """Serve the page: runs as they happen, their results, and what waits for you.

    The link it prints lets in whoever has it. Clients of AG-UI have a model answer at /agui, with the same token.
    """
    if context.invoked_subcommand is not None:
        return
    if (cert is None) != (key is None):
        raise click.UsageError("`--cert` and `--key` belong together")
    if not _is_here(listen) and cert is None and not insecure:
        raise click.UsageError(
            f"{listen} can be reached by others: give `--cert` and `--key`, or `--insecure` if all who could read along"
            " may"
        )
    if cert is not None and key is not None:
        _check(cert, key)
    from antiphon.web.application import app, missing

    try:
        import uvicorn
    except ImportError as error:
        raise missing(error) from None
    from antiphon.journal import Journal
    from antiphon.web.token import kept_token
    from antiphon.web.users import Users

    listener = _listening(listen, port)
    scheme, port = "https" if cert else "http", listener.getsockname()[1]
    hosts = [*names, *_hosts(listen)]
    token, journal = kept_token(), Journal(db)
    page = app(
        journal=journal, token=token, origins=[f"{scheme}://{_at(host, scheme, port)}" for host in hosts],
        renderers=renderers, model=model, tools=tools, users=Users().path,
    )  # fmt: skip
    config = uvicorn.Config(
        page, lifespan="off", log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1,
        ssl_certfile=cert, ssl_keyfile=key, proxy_headers=False,
    )  # fmt: skip
    url = _link(hosts[0], scheme, port, token)
    if is_opened:
        # It waits for the answer of the page, which is served below.
        threading.Thread(target=_open, args=(url,), daemon=True).start()
    with suppress(KeyboardInterrupt):
        click.echo(f"The page: {url}\nWhoever has this link may look and answer. Ctrl-C stops.")
        uvicorn.Server(config).run(sockets=[listener])
    journal.close()


@serve.group()
def users() -> None:
    """Let others use the page: each with a link of his own, and only to look if so wanted."""


@users.command()
@click.argument("name")
@click.option("--read", "only_looks", is_flag=True, help="Only to look: nothing is answered or begun with it.")
@click.pass_context
def add(context: click.Context, name: str, only_looks: bool) -> None:
    """Let somebody use the page, and print the link that lets him in.

    Options of `serve` that say where it is reached come before `users`. The link is printed this once.
    """
    from antiphon.web.users import Users

    given = _of_serve(context).params
    token = Users().add(name, not only_looks)
    hosts = [*given["names"], *_hosts(given["listen"])]
    click.echo(_link(hosts[0], "https" if given["cert"] else "http", given["port"], token))


@users.command("list")
def list_() -> None:
    """List who may use the page besides you."""
    from antiphon.web.users import Users

    known = list(Users().all)
    for each in known:
        click.echo(f"{each.name}  {'looks and acts' if each.may_act else 'looks'}")
    if not known:
        click.echo("nobody but you; `antiphon serve users add NAME` lets somebody in")


@users.command()
@click.argument("name")
def remove(name: str) -> None:
    """Let somebody use the page no more: also what he has open ends."""
    from antiphon.web.users import Users

    Users().remove(name)


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        click.echo("antiphon: no browser could be opened; open the link yourself", err=True)


def _of_serve(context: click.Context) -> click.Context:
    while context.parent is not None and context.command is not serve:
        context = context.parent
    return context


def _link(host: str, scheme: str, port: int, token: str) -> str:
    return f"{scheme}://{_at(host, scheme, port)}/login?token={token}"


def _is_here(address: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return address == "localhost"


def _hosts(address: str) -> list[str]:
    """What can stand for an address in a URL; the first is how it is reached from here."""
    here = ["127.0.0.1", "localhost", "[::1]"]
    if address in ("0.0.0.0", "::"):
        name = socket.gethostname()
        return list(dict.fromkeys((name, socket.getfqdn(), *map(_in_url, _addresses(name)), *here)))
    own = _in_url(address)
    return list(dict.fromkeys((own, *here))) if _is_here(address) else [own]


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _addresses(name: str) -> list[str]:
    """The addresses of this machine, as far as its name leads to them."""
    with suppress(OSError):
        return sorted({str(each[4][0]).partition("%")[0] for each in socket.getaddrinfo(name, None)})
    return []


def _at(host: str, scheme: str, port: int) -> str:
    return host if port == {"http": 80, "https": 443}[scheme] else f"{host}:{port}"


def _listening(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        # All addresses are also those of the older kind.
        both = address == "::" and socket.has_dualstack_ipv6()
        return socket.create_server((address, port), family=family, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        why = str(getattr(error, "strerror", "") or error).partition(" (while")[0]
        other = "; `--port 0` picks a free one" if getattr(error, "errno", 0) == errno.EADDRINUSE else ""
        raise ConfigurationError(f"cannot listen on {_in_url(address)}:{port}: {why}{other}") from None


def _check(cert: str, key: str) -> None:
    """What is wrong with a certificate or its key is told in a line, before anything is served."""

    def locked() -> str:
        raise ConfigurationError(f"{key} is locked by a pass phrase; `openssl pkey -in {key} -out OPEN.pem` unlocks it")

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, locked)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ConfigurationError(f"{key} is not the key of the certificate {cert}") from None
        what = f"{key} is no key" if _is_certificate(cert) else f"{cert} is no certificate"
        raise ConfigurationError(f"{what} that can be read; PEM is wanted") from None
    except OSError as error:
        raise ConfigurationError(f"the certificate or its key cannot be read: {error.strerror or error}") from None


def _is_certificate(file: str) -> bool:
    from pathlib import Path

    from cryptography.x509 import load_pem_x509_certificates

    try:
        return bool(load_pem_x509_certificates(Path(file).read_bytes()))
    except (ValueError, OSError):
        return False
