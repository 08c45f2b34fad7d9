"""Questions of the commands: what was typed before one is shown does not answer it."""

from __future__ import annotations

from typing import Any

import click

from antiphon._base.terminal import forget_typed


def ask_line(text: str, **given: Any) -> str:
    """Ask for a line, as `click.prompt` does; forget what was typed before."""
    forget_typed()
    return click.prompt(text, **given)


def confirm(text: str) -> bool:
    """Ask for a yes on standard error; forget what was typed before."""
    forget_typed()
    return click.confirm(text, err=True)
