"""`antiphon repl`: the language, one piece at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._places import user_directory
from antiphon._printable import printable
from antiphon._suggestions import nearest
from antiphon.cli import programs
from antiphon.cli.completing import FILE, MODEL
from antiphon.errors import AntiphonError
from antiphon.lang.run.errors import VibeError
from antiphon.lang.syntax.diagnostics import ProgramErrors

if TYPE_CHECKING:
    from antiphon.lang.run.interactive import Interactive

_HELP = """\
Write statements and expressions; an expression's value is shown. A piece may go on over several lines.
  :type EXPR    the type of an expression, which is not run
  :prompt EXPR  what would be sent for `do EXPR`; nothing is sent
  :vars         the variables there are
  :help         this
  :quit         leave; Ctrl-D does too
Ctrl-C clears the line, or stops what runs."""
_DELIMITERS = " \t\n()[]{},;+-*/%=<>!\"'`$|&?"


@click.command()
@click.argument("file", required=False, type=FILE)
@click.option("--model", metavar="NAME", type=MODEL, help="The model that serves where none is named.")
@click.option("--yes", is_flag=True, help="Allow all tool calls.")
@click.option("--untrusted", is_flag=True, help="Hold FILE, and what is typed, within bounds, as `run` does.")
def repl(file: str | None, model: str | None, yes: bool, untrusted: bool) -> None:
    """Write a program piece by piece, and see what comes of each.

    FILE is run first; its names are there then. `:help` lists what else can be done.
    """
    from antiphon.cli.hosting import ConfiguredServers, Terminal, prepare_output, terminal_host, write_line
    from antiphon.lang.run.interactive import NAME, Interactive

    prepare_output()
    if untrusted and yes:
        raise click.UsageError("`--yes` allows what nobody has seen, which `--untrusted` is there to prevent")
    settings: dict[str, Any] = {"directory": programs.directory(file or "")}
    if yes:
        from antiphon.tools import ALLOW_ALL

        settings["policy"] = ALLOW_ALL
    terminal = Terminal(has_human=True)
    host = terminal_host(terminal, model=model, write=write_line, untrusted=untrusted, **settings)
    servers = ConfiguredServers(host)
    try:
        name = str(Path(file).resolve()) if file else NAME
        session = Interactive(host, name=name, untrusted=untrusted, servers=servers)
        if file is not None and not untrusted:
            _check_trust(file)
        if file is not None and not _tried(lambda: _feed(session, programs.read(file).text)):
            sys.exit(2)
        _Repl(session).loop()
    finally:
        terminal.close()
        servers.close()


def _check_trust(file: str) -> None:
    from antiphon.cli.trust import check_program
    from antiphon.lang.run.modules import Modules

    modules = Modules()
    try:
        modules.load(file)
    except (VibeError, ProgramErrors):
        # Whoever runs it will tell.
        return
    if refused := check_program(modules.compiled, file):
        raise AntiphonError(f"{refused}; `antiphon trust` shows all of it and allows it")


class _Repl:
    def __init__(self, session: Interactive) -> None:
        self._session = session
        self._is_terminal = sys.stdin.isatty()
        self._commands: dict[str, Callable[[str], None]] = {
            ":type": self._type,
            ":prompt": self._prompt,
            ":vars": self._vars,
            ":help": lambda _: click.echo(_HELP),
        }

    def loop(self) -> None:
        """Read and run until the input ends."""
        history = _history_file() if self._is_terminal else None
        if self._is_terminal:
            self._prepare(history)
            click.echo("`:help` helps, Ctrl-D ends.")
        try:
            while (text := self._read()) is not None:
                if text.strip() in (":quit", ":q", ":exit"):
                    break
                if text.strip():
                    _tried(lambda text=text: self._do(text))
        finally:
            if history is not None:
                _save_history(history)

    def _read(self) -> str | None:
        """The next piece: as many lines as it takes; nothing at the end of the input."""
        lines: list[str] = []
        while True:
            try:
                line = self._line("... " if lines else "vibe> ")
            except KeyboardInterrupt:
                click.echo("")
                lines = []
                continue
            if line is None:
                return "\n".join(lines) if lines else None
            lines.append(line)
            text = "\n".join(lines)
            # An empty line ends a piece that cannot be completed.
            is_command = text.lstrip().startswith(":")
            if is_command or (not line.strip() and len(lines) > 1) or not self._session.is_incomplete(text):
                return text

    def _line(self, prompt: str) -> str | None:
        try:
            if self._is_terminal:
                return input(prompt)
            line = sys.stdin.readline()
        except EOFError:
            click.echo("")
            return None
        except UnicodeDecodeError:
            click.echo("antiphon: the input is no UTF-8", err=True)
            return None
        return line.rstrip("\r\n") if line else None

    def _do(self, text: str) -> None:
        stripped = text.strip()
        if not stripped.startswith(":"):
            _feed(self._session, text)
            return
        name, _, rest = stripped.partition(" ")
        command = self._commands.get(name)
        if command is None:
            meant = nearest(name, self._commands)
            raise AntiphonError(f"there is no {name!r}; {f'did you mean {meant}?' if meant else '`:help` helps'}")
        command(rest.strip())

    def _type(self, text: str) -> None:
        click.echo(printable(self._session.type_of(text) or "this is no expression"))

    def _prompt(self, text: str) -> None:
        from antiphon._json import loads
        from antiphon.views.stream import json_text

        shown = self._session.prompt_of(text)
        if shown is None:
            click.echo("no model would be asked")
            return
        click.echo(f"{printable(shown.model)}\n{json_text(loads(shown.body), indent=2)}")

    def _vars(self, _: str) -> None:
        for name, type_, value in self._session.variables():
            click.echo(printable(f"{name} ({type_}): {value}"))

    # The terminal

    def _prepare(self, history: Path | None) -> None:
        try:
            import readline
        except ImportError:
            return
        readline.set_completer(self._completion)
        readline.set_completer_delims(_DELIMITERS)
        readline.parse_and_bind("tab: complete")
        readline.set_history_length(2000)
        if history is not None:
            try:
                readline.read_history_file(history)
            except (OSError, UnicodeError):
                return

    def _completion(self, text: str, state: int) -> str | None:
        options = [each for each in [*self._commands, ":quit"] if each.startswith(text)] if text[:1] == ":" else []
        options = options or self._session.complete(text)
        return options[state] if state < len(options) else None


def _feed(session: Interactive, text: str) -> None:
    from antiphon.lang.run.values import text as as_text

    reply = session.feed(text)
    for each in reply.warnings:
        click.echo(programs.rendered(session.source, each, sys.stderr), err=True)
    if reply.has_value and reply.value is not None:
        session.host.write(as_text(reply.value))


def _tried(work: Callable[[], None]) -> bool:
    """Whether it went well; what went wrong is told, and does not end the session."""
    try:
        work()
    except ProgramErrors as errors:
        for source, each in errors.found:
            click.echo(programs.rendered(source, each, sys.stderr), err=True)
    except VibeError as error:
        click.echo(programs.rendered_error(error, sys.stderr), err=True)
    except AntiphonError as error:
        click.echo(f"antiphon: {printable(str(error))}", err=True)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
    else:
        return True
    return False


def _history_file() -> Path | None:
    directory = user_directory("state")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return directory / "repl_history"


def _save_history(path: Path) -> None:
    try:
        import readline

        # What was typed may hold secrets: nobody else reads it.
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        readline.write_history_file(path)
    except (ImportError, OSError):
        return
