"""`antiphon export`: write a session or a history file in another format."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from antiphon.cli.completers import SESSION_PARAM
from antiphon.cli.output import print_document_json, print_message
from antiphon.cli.sessions import SessionEntry, Sessions, open_sessions
from antiphon.errors import NotReadyError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem
    from click.types import ChoiceInfoDict

    from antiphon.conversation import Conversation
    from antiphon.formats import Written

#: The format of `antiphon run --replay`.
_REPLAY = "replay"


class FormatParam(click.ParamType[str]):
    """A format of histories; the formats are imported only when the option is used."""

    name = "format"

    def __init__(self, *, is_read: bool = False) -> None:
        self._is_read = is_read

    def _make_choice(self) -> click.Choice[str]:
        from antiphon.formats import READABLE_FORMATS, WRITABLE_FORMATS

        return click.Choice(READABLE_FORMATS if self._is_read else (*WRITABLE_FORMATS, _REPLAY))

    def to_info_dict(self) -> ChoiceInfoDict[str]:
        return self._make_choice().to_info_dict()

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._make_choice().get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._make_choice().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._make_choice().shell_complete(ctx, param, incomplete)


@click.command()
@click.argument("what", metavar="SESSION|FILE", type=SESSION_PARAM)
@click.argument("out", type=click.Path(), default="-")
@click.option("--format", "target", type=FormatParam(),
              help="The format to write. [default: antiphon for chats and files, replay for programs]")  # fmt: skip
@click.option("--from", "source", type=FormatParam(is_read=True), help="The format of FILE. [default: detected]")
@click.option("--redact", is_flag=True, help="With `replay`: replace every text by its length.")
def export(what: str, out: str, target: str | None, source: str | None, redact: bool) -> None:
    """Write a session or a history file in another format.

    `replay` is the steps as JSON lines, for `antiphon run --replay`. For formats of providers, open calls are answered
    as interrupted. Such changes, and data that the format cannot hold, are reported on standard error.
    """
    if redact and target not in (None, _REPLAY):
        raise click.UsageError("`--redact` is for `--format replay`")
    if os.path.exists(what) or (":" not in what and os.sep in what):
        if redact or target == _REPLAY:
            raise click.UsageError(f"`--format replay` is for sessions, and {what} is a file")
        _convert_file(what, out, target or "antiphon", source)
        return
    if source is not None:
        raise click.UsageError(f"`--from` is the format of a file, and there is no file {what!r}")
    with open_sessions() as sessions:
        found, step = sessions.resolve(what)
        if step is not None:
            raise NotReadyError(f"a step cannot be exported; `antiphon show {what} --json` prints it")
        conversation = None if target == _REPLAY or redact else sessions.load_conversation(found)
        if conversation is not None:
            _write_conversation(conversation, out, target or "antiphon")
        else:
            _write_steps(sessions, found, out, target, redact)


def _write_conversation(conversation: Conversation, out: str, target: str) -> None:
    from antiphon.formats import write

    if target != "antiphon":
        conversation, changes = conversation.repair()
        for change in changes:
            print_message(str(change))
    _write_document(write(conversation, target), out)


def _write_steps(sessions: Sessions, found: SessionEntry, out: str, target: str | None, redact: bool) -> None:
    from antiphon.cli.replay_files import export_steps
    from antiphon.conversation.serialization import write_file_atomically

    if found.kind == "batch":
        raise NotReadyError(
            f"session {found.id} is a batch; export one of its rows: `antiphon list --in {found.id}` lists them"
        )
    if target not in (None, _REPLAY) or found.run is None or found.kind == "team":
        raise NotReadyError(
            f"session {found.id} is a {found.kind}, which cannot be written as {target or _REPLAY};"
            f" `antiphon show {found.id} --json` prints all of it"
        )
    lines = export_steps(sessions.steps(found), redact, print_message)
    if out == "-":
        for line in lines:
            click.echo(line)
    else:
        write_file_atomically(out, "".join(f"{line}\n" for line in lines).encode())


def _convert_file(path: str, out: str, target: str, source: str | None) -> None:
    from antiphon.cli.history_files import load_history_file
    from antiphon.formats import write

    history = load_history_file(path, source)
    for finding in history.findings:
        print_message(str(finding))
    _write_document(write(history.conversation, target, history.rest), out)


def _write_document(written: Written, out: str) -> None:
    """Write a history, and report lost data and changes needed before it can be sent."""
    from antiphon.conversation.serialization import write_file_atomically

    for loss in written.losses:
        print_message(loss)
    for violation in written.violations:
        print_message(f"fix before sending: {violation.code}: {violation.message}")
    if out == "-":
        print_document_json(written.data)
    else:
        write_file_atomically(out, json.dumps(written.data, ensure_ascii=False, indent=2).encode() + b"\n")
