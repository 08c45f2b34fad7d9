"""`antiphon help`: list the further commands, or print the help of one."""

from __future__ import annotations

import click

from antiphon._base.did_you_mean import suggest_name

_TOPICS = ("language", "operations", "all")


@click.command("help")
@click.argument("topic", default="all", metavar="[TOPIC|COMMAND]")
@click.pass_context
def help_(context: click.Context, topic: str) -> None:
    """List the commands for the language or for operations, or all; or print the help of a command."""
    from antiphon.cli import SECTIONS, TOPICS, write_sections

    whole = context.find_root()
    formatter = context.make_formatter()
    if topic in _TOPICS:
        sections = dict(SECTIONS) if topic == "all" else {}
        sections |= {name.capitalize(): TOPICS[name] for name in TOPICS if topic in (name, "all")}
        write_sections(formatter, sections)
        click.echo(formatter.getvalue().strip("\n"))
        return
    group = whole.command
    assert isinstance(group, click.Group)
    command = group.get_command(whole, topic)
    if command is None:
        near = suggest_name(topic, (*_TOPICS, *group.list_commands(whole)))
        hint = f"did you mean `antiphon help {near}`?" if near else f"topics are {', '.join(_TOPICS)}"
        raise click.UsageError(f"there is no topic or command {topic!r:.60}; {hint}")
    with command.make_context(topic, [], parent=whole, resilient_parsing=True) as own:
        click.echo(command.get_help(own))
