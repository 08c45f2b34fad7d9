"""The configuration that a command works with: the one that `antiphon` was begun with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from antiphon._printable import printable_line

if TYPE_CHECKING:
    from antiphon.config import Configuration


def configuration() -> Configuration:
    """What `antiphon` loaded when it began; loaded now where a command is used by itself."""
    from antiphon.config import Configuration, load_configuration

    context = click.get_current_context(silent=True)
    return (context and context.find_object(Configuration)) or load_configuration()


def configured_here(*, asking: bool = True) -> Configuration:
    """Load it, and tell what there is to say of it; somebody who can be asked about the project's files is."""
    from antiphon.config import load_configuration
    from antiphon.config.trust import find_project

    if asking:
        from antiphon.cli.trust import settle

        settle(find_project())
    loaded = load_configuration()
    from antiphon.facts.statements import load_later

    load_later(loaded.state_facts)
    for note in loaded.notes:
        click.echo(f"antiphon: {printable_line(note)}", err=True)
    return loaded
