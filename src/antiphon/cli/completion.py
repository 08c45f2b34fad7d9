"""`antiphon completion`: print the completion script of a shell."""

from __future__ import annotations

import click

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash put `eval "$(antiphon completion bash)"` into ~/.bashrc, for zsh the same with zsh into ~/.zshrc; for fish:
    `antiphon completion fish > ~/.config/fish/completions/antiphon.fish`.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    command = context.find_root().command
    click.echo(kind(command, {}, "antiphon", "_ANTIPHON_COMPLETE").source())
