"""The configuration that a command works with: the one that `antiphon` was begun with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from antiphon.config import Configuration


def configuration() -> Configuration:
    """What `antiphon` loaded when it began; loaded now where a command is used by itself."""
    from antiphon.config import Configuration, load_configuration

    context = click.get_current_context(silent=True)
    return (context and context.find_object(Configuration)) or load_configuration()
