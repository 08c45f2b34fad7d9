"""`antiphon explain`: what a diagnostic's code means, with examples."""

from __future__ import annotations

import json
import sys

import click

from antiphon._printable import printable
from antiphon._suggestions import nearest
from antiphon.cli.colours import echo_json


@click.command()
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the code, its title and the text; or all titles.")
def explain(code: str | None, as_json: bool) -> None:
    """Explain a code such as V0301; without one, list all of them.

    Exit code: 0 explained, 2 there is no such code.
    """
    from antiphon.lang.check.codes import codes
    from antiphon.lang.check.codes import explain as explanation

    if code is None:
        _list(codes(), as_json)
        return
    text = explanation(code)
    if text is None:
        meant = nearest(code.upper(), codes())
        hint = f"did you mean {meant}?" if meant else "`antiphon explain` lists all of them"
        click.echo(f"antiphon: there is no code {printable(code)!r}; {hint}", err=True)
        sys.exit(2)
    name = code.strip().upper()
    if as_json:
        echo_json(json.dumps({"code": name, "title": codes()[name], "text": text}, indent=2))
    elif sys.stdout.isatty():
        _print_markdown(name, text)
    else:
        click.echo(f"{name}: {text.removeprefix('# ').strip()}")


def _list(titles: dict[str, str], as_json: bool) -> None:
    if as_json:
        echo_json(json.dumps(titles, indent=2))
        return
    for code, title in titles.items():
        click.echo(f"{code}  {title}")


def _print_markdown(name: str, text: str) -> None:
    from antiphon.render import print_result
    from antiphon.results import text as text_result

    click.echo(click.style(name, bold=True))
    print_result(text_result(text, markdown=True))
