"""The configuration of the running command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from antiphon._base.escape import escape_unprintable_line
from antiphon.cli.output import print_message

if TYPE_CHECKING:
    from antiphon.config import Configuration


def current_configuration() -> Configuration:
    """Return the configuration loaded at startup; load it if a command is used on its own."""
    from antiphon.config import Configuration, load_configuration

    context = click.get_current_context(silent=True)
    return (context and context.find_object(Configuration)) or load_configuration()


def load_for_command(*, asking: bool = True) -> Configuration:
    """Load the configuration and print its notes; with `asking`, first ask about trusting new project files."""
    from antiphon.config import load_configuration
    from antiphon.config.trust import find_project

    if asking:
        from antiphon.cli.trust import ask_if_undecided

        ask_if_undecided(find_project())
    loaded = load_configuration()
    from antiphon.facts.statements import schedule_load

    schedule_load(loaded.apply_model_facts)
    for note in loaded.notes:
        print_message(escape_unprintable_line(note))
    return loaded
