"""`antiphon templates`: questions under a name; `antiphon ask … --save NAME` makes them."""

from __future__ import annotations

import json
import sys

import click

from antiphon._printable import printable, printable_line
from antiphon.cli.colours import accent, echo_json, faint
from antiphon.cli.completing import TEMPLATE
from antiphon.cli.configured import configuration
from antiphon.errors import ConfigurationError


@click.group(invoke_without_command=True)
@click.pass_context
def templates(context: click.Context) -> None:
    """List, show or remove the questions that `ask --save` kept."""
    if context.invoked_subcommand is None:
        _list(False)


@templates.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_templates(as_json: bool) -> None:
    """List templates: yours, and those of a trusted project."""
    _list(as_json)


@templates.command()
@click.argument("name", type=TEMPLATE)
def show(name: str) -> None:
    """Print a template as its file has it."""
    from antiphon.config.templates import find_template

    found = find_template(configuration(), name)
    click.echo(faint(f"# {printable_line(str(found.path))}"))
    click.echo(printable(found.to_toml()), nl=False)


@templates.command()
@click.argument("name", type=TEMPLATE)
def remove(name: str) -> None:
    """Delete a template of yours."""
    from antiphon.config.templates import find_template, template_file

    path = template_file(configuration(), name)
    if not path.is_file():
        found = find_template(configuration(), name)
        raise ConfigurationError(f"`{name}` is not yours: it is in {found.path}")
    try:
        path.unlink()
    except OSError as error:
        raise ConfigurationError(f"cannot delete {path}: {error.strerror or error}") from None
    click.echo(f"removed: {printable_line(str(path))}")


def _list(as_json: bool) -> None:
    from antiphon.config.templates import templates as all_templates

    found = all_templates(configuration())
    if as_json:
        listed = [
            {"name": name, "path": str(each.path), "project": each.is_projects, "placeholders": each.placeholders}
            for name, each in sorted(found.items())
        ]
        echo_json(json.dumps(listed, indent=2))
        return
    width = max(map(len, found), default=0)
    for name, each in sorted(found.items()):
        said = printable_line((each.prompt or each.system).strip().partition("\n")[0])
        where = f"  ({each.path.name})" if each.is_projects else ""
        click.echo(f"{accent(f'{name:<{width}}')}  {said if len(said) <= 80 else said[:79] + '…'}{faint(where)}")
    if not found:
        click.echo(
            'antiphon: there are none yet; `antiphon ask "Review this: $input" --save review` makes one', err=True
        )
        sys.exit(1)
