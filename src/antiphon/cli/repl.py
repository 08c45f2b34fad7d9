"""`antiphon repl`: an interactive session of the language."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.did_you_mean import suggest_name
from antiphon._base.escape import escape_unprintable
from antiphon._base.user_dirs import user_directory
from antiphon.cli import program_loading as programs
from antiphon.cli.completers import FILE_PARAM
from antiphon.cli.options import MODEL_OPTION, YES_OPTION
from antiphon.cli.output import print_message
from antiphon.errors import AntiphonError
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.syntax.diagnostics import ProgramErrors

if TYPE_CHECKING:
    from antiphon.lang.runtime.interactive import ReplSession

_HELP_TEXT = """\
Enter statements and expressions, on one or more lines. The value of an expression is printed.
  :type EXPR    print the type of an expression; run nothing
  :prompt EXPR  print the request for `do EXPR`; send nothing
  :vars         list the variables
  :help         print this text
  :quit         quit; so does Ctrl-D
Ctrl-C clears the line, or stops a running statement."""
_DELIMITERS = " \t\n()[]{},;+-*/%=<>!\"'`$|&?"


@click.command()
@click.argument("file", required=False, type=FILE_PARAM)
@MODEL_OPTION
@YES_OPTION
@click.option("--untrusted", is_flag=True, help="Restrict FILE and typed statements, as `run --untrusted` does.")
def repl(file: str | None, model: str | None, yes: bool, untrusted: bool) -> None:
    """Run statements interactively, and print the value of each expression.

    FILE is run first, and its names are available. `:help` lists the commands.
    """
    from antiphon.cli.program_host import (
        ConfiguredMcpServers,
        TerminalFrontend,
        escape_unencodable_output,
        make_terminal_host,
        write_line,
    )
    from antiphon.lang.runtime.interactive import REPL_SOURCE_NAME, ReplSession

    escape_unencodable_output()
    if untrusted and yes:
        raise click.UsageError("`--yes` and `--untrusted` exclude each other; use one of them")
    settings: dict[str, Any] = {"directory": programs.program_directory(file or "")}
    if yes:
        from antiphon.tools import ALLOW_ALL

        settings["policy"] = ALLOW_ALL
    terminal = TerminalFrontend(has_human=True)
    host = make_terminal_host(terminal, model=model, write=write_line, untrusted=untrusted, **settings)
    servers = ConfiguredMcpServers(host)
    try:
        name = str(Path(file).resolve()) if file else REPL_SOURCE_NAME
        session = ReplSession(host, name=name, untrusted=untrusted, servers=servers)
        if file is not None and not untrusted:
            _check_trust(file)
        if file is not None and not _run_reporting_errors(
            lambda: _run_input(session, programs.read_source_or_stdin(file).text)
        ):
            sys.exit(2)
        _ReplLoop(session).loop()
    finally:
        terminal.close()
        servers.close()


def _check_trust(file: str) -> None:
    from antiphon.cli.trust import explain_untrusted_program
    from antiphon.lang.runtime.modules import ModuleLoader

    modules = ModuleLoader()
    try:
        modules.load(file)
    except (VibeError, ProgramErrors):
        # ActiveRun the file reports its errors.
        return
    if refused := explain_untrusted_program(modules.compiled, file):
        raise AntiphonError(f"{refused}; trust it with `antiphon setup trust`")


class _ReplLoop:
    def __init__(self, session: ReplSession) -> None:
        self._session = session
        self._is_terminal = sys.stdin.isatty()
        self._commands: dict[str, Callable[[str], None]] = {
            ":type": self._type,
            ":prompt": self._prompt,
            ":vars": self._print_variables,
            ":help": lambda _: click.echo(_HELP_TEXT),
        }

    def loop(self) -> None:
        """Read and execute input until it ends."""
        history = _history_file() if self._is_terminal else None
        if self._is_terminal:
            self._prepare(history)
            click.echo("`:help` lists commands, Ctrl-D quits.")
        try:
            while (text := self._read()) is not None:
                if text.strip() in (":quit", ":q", ":exit"):
                    break
                if text.strip():
                    _run_reporting_errors(lambda text=text: self._execute(text))
        finally:
            if history is not None:
                _save_history(history)

    def _read(self) -> str | None:
        """Return the next complete input, of one or more lines; `None` at the end."""
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
            # An empty line ends an incomplete input.
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
            print_message("the input is not UTF-8")
            return None
        return line.rstrip("\r\n") if line else None

    def _execute(self, text: str) -> None:
        stripped = text.strip()
        if not stripped.startswith(":"):
            _run_input(self._session, text)
            return
        name, _, rest = stripped.partition(" ")
        command = self._commands.get(name)
        if command is None:
            meant = suggest_name(name, self._commands)
            raise AntiphonError(
                f"there is no command {name!r}; {f'did you mean {meant}?' if meant else '`:help` lists them'}"
            )
        command(rest.strip())

    def _type(self, text: str) -> None:
        click.echo(escape_unprintable(self._session.infer_type(text) or "this is not an expression"))

    def _prompt(self, text: str) -> None:
        from antiphon._base.json import load_json
        from antiphon.views.stream import format_safe_json

        shown = self._session.preview_prompt(text)
        if shown is None:
            click.echo("this asks no model")
            return
        click.echo(f"{escape_unprintable(shown.model)}\n{format_safe_json(load_json(shown.body), indent=2)}")

    def _print_variables(self, _: str) -> None:
        for name, type_, value in self._session.variables():
            click.echo(escape_unprintable(f"{name} ({type_}): {value}"))

    # The terminal

    def _prepare(self, history: Path | None) -> None:
        try:
            import readline
        except ImportError:
            return
        readline.set_completer(self._complete)
        readline.set_completer_delims(_DELIMITERS)
        readline.parse_and_bind("tab: complete")
        readline.set_history_length(2000)
        if history is not None:
            try:
                readline.read_history_file(history)
            except (OSError, UnicodeError):
                return

    def _complete(self, text: str, state: int) -> str | None:
        options = [each for each in [*self._commands, ":quit"] if each.startswith(text)] if text[:1] == ":" else []
        options = options or self._session.complete(text)
        return options[state] if state < len(options) else None


def _run_input(session: ReplSession, text: str) -> None:
    from antiphon.lang.runtime.values import to_text as as_text

    reply = session.feed(text)
    programs.print_warnings(session.source, reply.warnings)
    if reply.has_value and reply.value is not None:
        session.host.write(as_text(reply.value))


def _run_reporting_errors(work: Callable[[], None]) -> bool:
    """Run a function, and return whether it succeeded; errors are printed and do not end the session."""
    try:
        work()
    except (ProgramErrors, VibeError) as error:
        programs.print_program_error(error)
    except AntiphonError as error:
        print_message(str(error))
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

        # The history may contain secrets: only the owner may read it.
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        readline.write_history_file(path)
    except (ImportError, OSError):
        return
