"""`antiphon setup trust`: show what a project's files and programs would do, and trust them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable_line
from antiphon.cli.output import print_ascii_json, print_message
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.chat.project_instructions import ProjectInstructions
    from antiphon.config.trust import Project

#: The exit code if trust was not given: the user said no, or nobody could be asked.
_NOT_TRUSTED = 3
_MAX_PROGRAMS = 500
#: Lines that describe a started command.
_STARTS_COMMAND = re.compile(
    r"^  (?:(?:\(new\) )?MCP server .* starts: |.*\bruns (?:the )?commands? |a team has tests\.command)"
)
_STATE_TEXTS = {
    "nothing": "nothing here needs trust",
    "open": "nothing needs trust; if trusted, a chat here can read files without asking",
    "trusted": "trusted",
    "refused": "not trusted, as you decided; its files are ignored",
    "new": "not trusted; its files are ignored",
    "changed": "changed since you decided; its files are ignored",
}


@click.command()
@click.option("-y", "--yes", is_flag=True, help="Trust the project without asking; still print what it does.")
@click.option("--revoke", is_flag=True, help="Revoke the trust.")
@click.option("--list", "listed", is_flag=True, help="List all decisions.")
@click.option("--status", is_flag=True, help="Print the report; ask nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON; ask nothing.")
@click.argument("directory", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
def trust(yes: bool, revoke: bool, listed: bool, status: bool, as_json: bool, directory: Path | None) -> None:
    """Show what the files and programs of a project would do, and trust them.

    One decision covers a repository: its `antiphon.toml`, `.env`, MCP servers and programs, in their
    current version. When one of them changes, you are asked again, and until then they are ignored. In a
    trusted repository a chat can read files, and follows AGENTS.md and ANTIPHON.md. Exit code: 0 trusted,
    or nothing to trust; 3 not trusted; 2 a file has an error.
    """
    from antiphon.config import trust as kept

    if listed:
        _print_decisions(kept.list_trust_decisions(), as_json)
        return
    project = kept.find_project(directory)
    if revoke:
        done = kept.forget_trust_decision(project.root)
        what = "no longer trusted" if done else "there was no decision"
        click.echo(f"{escape_unprintable_line(str(project.root))}: {what}")
        return
    programs = find_reaching_programs(project)
    is_trusted = _is_fully_trusted(project, programs)
    if as_json:
        _print_project_json(project, programs, is_trusted)
    else:
        _print_project(project, programs)
    if stated := _unpinnable(project, programs):
        print_message(escape_unprintable_line(stated))
    elif yes and not status:
        kept.record_trust_decision(project, True, _describe_files(project) | programs)
        is_trusted = True
        click.echo("trusted", err=as_json)
    elif (not is_trusted or _is_undecided_and_harmless(project)) and not status and not as_json and _has_human():
        is_trusted = ask_to_trust(project, programs)
    elif not is_trusted and not status and not as_json:
        print_message("no terminal to ask at; read the report, then run `antiphon setup trust --yes`")
    sys.exit(0 if is_trusted else _NOT_TRUSTED)


def ask_if_undecided(project: Project) -> None:
    """Ask the user about a new or changed project, if there is a terminal; each version is asked about once."""
    if project.state not in ("new", "changed") or not _has_human():
        return
    programs = find_reaching_programs(project)
    try:
        _print_project(project, programs, err=True)
    except AntiphonError as error:
        print_message(f"{error!s}; it is ignored")
        return
    ask_to_trust(project, programs)


def ask_to_trust(project: Project, programs: dict[str, list[str]]) -> bool:
    """Ask the user to trust a project, and store the answer."""
    if stated := _unpinnable(project, programs):
        print_message(escape_unprintable_line(f"{stated}; it is ignored"))
        return False
    from antiphon._base.terminal import forget_typed
    from antiphon.config import trust as kept

    forget_typed()
    click.echo("Trust this project? [y]es, [n]o: ", nl=False, err=True)
    # Read the descriptor, so that the stream's buffer stays untouched for later readers.
    trusted = os.read(sys.stdin.fileno(), 1_000).decode(errors="replace").strip().lower() in ("y", "yes")
    kept.record_trust_decision(project, trusted, _describe_files(project) | programs)
    if not trusted:
        click.echo("Not trusted: its files are ignored. To change this, run `antiphon setup trust`.", err=True)
    return trusted


def explain_untrusted_program(modules: dict[str, Any], path: str, *, named: bool = True) -> str:
    """Return why a program may not run because its repository is not trusted; empty if it may.

    A program outside any repository was named by the user and may run.
    """
    from antiphon.programs.discovery import check_capabilities, make_project_path

    looked = check_capabilities(modules, path, named=named)
    if not looked.unseen:
        return ""
    project = looked.project
    if project.trusted is not False and _has_human():
        known = {make_project_path(project, name): said for name, said in looked.capabilities.items() if said}
        programs = find_reaching_programs(project) | known
        _print_project(project, programs, err=True)
        if ask_to_trust(project, programs):
            return ""
    return escape_unprintable_line(f"{Path(path).name} {looked.refusal}")


def find_reaching_programs(project: Project) -> dict[str, list[str]]:
    """Return the programs of a repository that reach beyond the user's models, and what they reach."""
    from antiphon.cli import program_loading as programs
    from antiphon.lang.capabilities import describe_capabilities
    from antiphon.lang.runtime.errors import VibeError
    from antiphon.lang.runtime.modules import read_program_source
    from antiphon.programs.discovery import make_project_path

    if not project.is_repository and (project.root != project.directories[0] or project.root == Path.home()):
        return {}
    found: dict[str, list[str]] = {}
    for number, path in enumerate(programs.iter_program_files([str(project.root)])):
        if number >= _MAX_PROGRAMS:
            break
        try:
            said = describe_capabilities(read_program_source(path))
        except (VibeError, RecursionError):
            continue
        if said:
            found[make_project_path(project, str(Path(path).resolve()))] = said
    return found


def _unpinnable(project: Project, programs: dict[str, list[str]]) -> str:
    """Return why a project cannot be trusted; nothing where it can."""
    from antiphon.config.pinned_files import UNPINNABLE

    names = [*project.unpinnable, *(name for name, said in programs.items() if UNPINNABLE in said)]
    return f"{', '.join(names)} {UNPINNABLE}" if names else ""


def _is_fully_trusted(project: Project, programs: dict[str, list[str]]) -> bool:
    if project.state not in ("nothing", "trusted"):
        return False
    return all(project.covers(name, said) for name, said in programs.items())


def _is_undecided_and_harmless(project: Project) -> bool:
    """Return whether a repository has nothing that needs trust and no decision yet."""
    return project.is_repository and project.state == "nothing" and project.trusted is None


def _print_project(project: Project, programs: dict[str, list[str]], *, err: bool = False) -> None:
    """Print everything that leaves the machine, is started or is named, with marks on what is new."""
    state = project.state if project.state != "nothing" or not programs else "new"
    state = "new" if state == "trusted" and not _is_fully_trusted(project, programs) else state
    lines = [
        f"{project.root}:"
        f" {_STATE_TEXTS['open' if _is_undecided_and_harmless(project) and state == 'nothing' else state]}"
    ]
    marks = project.trusted is not None
    for name, said in _describe_files(project).items():
        lines.append(f"{name}{' (new or changed)' if marks and name in project.changed_files else ''}")
        lines += _mark_changes(project, name, said) or ["  sends nothing to other machines"]
    lines += [f"{name} (gone)" for name in project.changed_files if name not in project.files]
    for name, said in programs.items():
        lines.append(f"{name}{' (new or changed)' if marks and not project.covers(name, said) else ''}")
        lines += _mark_changes(project, name, said)
    for each in _find_instructions(project):
        lines += [each.name, f"  tells models what to do in a chat: {each.size}"]
    if any(_STARTS_COMMAND.search(line) for line in lines):
        lines.append("Files that these commands load beyond those named here are not pinned and may change.")
    for line in lines:
        click.echo(escape_unprintable_line(line), err=err)


def _mark_changes(project: Project, name: str, said: list[str]) -> list[str]:
    """Return lines about a file, with marks on what is new and what is gone since it was trusted."""
    before = project.programs.get(name) if project.trusted else None
    if before is None or before == said:
        return [f"  {each}" for each in said]
    now = [f"  {'' if each in before else '(new) '}{each}" for each in said]
    return now + [f"  (no longer) {each.strip()}" for each in before if each not in said]


def _describe_files(project: Project) -> dict[str, list[str]]:
    """Return what each file of a project does, as lines."""
    from antiphon.config.dotenv import parse_dotenv
    from antiphon.config.trust import PROJECT_FILE_NAMES
    from antiphon.config.trust_report import describe_config_file

    path = project.nearest(".env")
    dotenv = parse_dotenv(project.text(path))[0] if path else {}
    return {
        name: describe_config_file(project.root / name, project.text(project.root / name), dotenv)
        if Path(name).name in PROJECT_FILE_NAMES
        else [f"runs in its current version ({digest[:24]})"]
        for name, digest in project.files.items()
    }


def _find_instructions(project: Project) -> list[ProjectInstructions]:
    from antiphon.chat.project_instructions import find_instructions

    return find_instructions(project) if project.is_repository else []


def _print_project_json(project: Project, programs: dict[str, list[str]], is_trusted: bool) -> None:
    report = {
        "root": str(project.root),
        "state": project.state,
        "trusted": is_trusted,
        "files": _describe_files(project),
        "programs": programs,
        "instructions": [each.name for each in _find_instructions(project)],
        "news": project.changed_files,
    }
    print_ascii_json(report)


def _print_decisions(decisions: dict[str, dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_ascii_json(decisions)
        return
    for root, entry in decisions.items():
        click.echo(escape_unprintable_line(f"{'trusted' if entry['trusted'] else 'refused'}  {root}"))
    if not decisions:
        click.echo("there are no decisions")


def _has_human() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
