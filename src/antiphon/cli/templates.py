"""`antiphon setup templates`: list, show and remove saved questions; `antiphon ask … --save NAME` creates them."""

from __future__ import annotations

import sys

import click

from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.cli.completers import TEMPLATE_PARAM
from antiphon.cli.configuration import current_configuration
from antiphon.cli.options import JSON_OPTION
from antiphon.cli.output import print_ascii_json, print_message
from antiphon.cli.style import style_accent, style_faint
from antiphon.errors import ConfigurationError


@click.group(invoke_without_command=True)
@click.pass_context
def templates(context: click.Context) -> None:
    """List, show or remove the questions saved with `ask --save`."""
    if context.invoked_subcommand is None:
        _print_templates(False)


@templates.command("list")
@JSON_OPTION
def list_templates(as_json: bool) -> None:
    """List templates: yours, and those of a trusted project."""
    _print_templates(as_json)


@templates.command()
@click.argument("name", type=TEMPLATE_PARAM)
def show(name: str) -> None:
    """Print the file of a template."""
    from antiphon.config.templates import find_template

    found = find_template(current_configuration(), name)
    click.echo(style_faint(f"# {escape_unprintable_line(str(found.path))}"))
    click.echo(escape_unprintable(found.to_toml()), nl=False)


@templates.command()
@click.argument("name", type=TEMPLATE_PARAM)
def remove(name: str) -> None:
    """Delete one of your templates."""
    from antiphon.config.templates import find_template, get_template_path

    path = get_template_path(current_configuration(), name)
    if not path.is_file():
        found = find_template(current_configuration(), name)
        raise ConfigurationError(f"`{name}` belongs to the project: delete it in {found.path}")
    try:
        path.unlink()
    except OSError as error:
        raise ConfigurationError(f"cannot delete {path}: {error.strerror or error}") from None
    click.echo(f"removed: {escape_unprintable_line(str(path))}")


def _print_templates(as_json: bool) -> None:
    from antiphon.config.templates import load_templates

    found = load_templates(current_configuration())
    if as_json:
        listed = [
            {"name": name, "path": str(each.path), "project": each.is_projects, "placeholders": each.placeholders}
            for name, each in sorted(found.items())
        ]
        print_ascii_json(listed)
        return
    width = max(map(len, found), default=0)
    for name, each in sorted(found.items()):
        said = escape_unprintable_line((each.prompt or each.system).strip().partition("\n")[0])
        where = f"  ({each.path.name})" if each.is_projects else ""
        click.echo(
            f"{style_accent(f'{name:<{width}}')}  {said if len(said) <= 80 else said[:79] + '…'}{style_faint(where)}"
        )
    if not found:
        print_message('there are no templates; save one with `antiphon ask "Review this: $input" --save review`')
        sys.exit(1)
