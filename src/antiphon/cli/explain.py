"""`antiphon explain`: explain a diagnostic code, with examples."""

from __future__ import annotations

import sys

import click

from antiphon._base.did_you_mean import suggest_name
from antiphon._base.escape import escape_unprintable
from antiphon.cli.output import print_ascii_json, print_message


@click.command()
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the code with title and text, or all titles.")
def explain(code: str | None, as_json: bool) -> None:
    """Explain a code such as V0301; without one, list all codes.

    Exit code: 0 explained, 2 unknown code.
    """
    from antiphon.lang.typecheck.codes import explain_code, list_codes

    if code is None:
        _print_codes(list_codes(), as_json)
        return
    text = explain_code(code)
    if text is None:
        whole = f"V{code.strip().zfill(4)}"
        meant = whole if whole in list_codes() else suggest_name(code.upper(), list_codes())
        hint = f"did you mean {meant}?" if meant else "`antiphon explain` lists all codes"
        print_message(f"there is no code {escape_unprintable(code)!r}; {hint}")
        sys.exit(2)
    name = code.strip().upper()
    if as_json:
        print_ascii_json({"code": name, "title": list_codes()[name], "text": text})
    elif sys.stdout.isatty():
        _print_explanation(name, text)
    else:
        click.echo(f"{name}: {text.removeprefix('# ').strip()}")


def _print_codes(titles: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_ascii_json(titles)
        return
    for code, title in titles.items():
        click.echo(f"{code}  {title}")


def _print_explanation(name: str, text: str) -> None:
    from antiphon.results import text as text_result
    from antiphon.terminal import print_result

    click.echo(click.style(name, bold=True))
    print_result(text_result(text, markdown=True))
