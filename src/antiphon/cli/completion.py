"""`antiphon completion`: print the completion script of a shell."""

from __future__ import annotations

import click

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash, add `eval "$(antiphon completion bash)"` to ~/.bashrc; for zsh, add `eval "$(antiphon completion zsh)"`
    to ~/.zshrc; for fish, run `antiphon completion fish > ~/.config/fish/completions/antiphon.fish`.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    command = context.find_root().command
    click.echo(kind(command, {}, "antiphon", "_ANTIPHON_COMPLETE").source())
