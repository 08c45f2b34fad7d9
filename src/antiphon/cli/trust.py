"""`antiphon trust`: what the files and programs of a project would do, and whether they may."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable, printable_line
from antiphon.cli.colours import echo_json
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.config.trust import Project
    from antiphon.talks.instructions import Instructions

#: Trust was not given: nobody was there to give it, or they said no.
_NOT_TRUSTED = 3
_MOST_PROGRAMS = 500
#: Lines on what is started.
_UNPINNED = re.compile(
    r"^  (?:(?:\(new\) )?MCP server .* starts: |.*\bruns (?:the )?commands? |a team has tests\.command)"
)
_STATES = {
    "nothing": "there is nothing to trust here",
    "open": "nothing in it needs your trust; with it, a chat here can read its files by itself",
    "trusted": "trusted",
    "refused": "not trusted, as you decided; its files are ignored",
    "new": "not trusted; its files are ignored",
    "changed": "changed since you decided; its files are ignored",
}


@click.command()
@click.option("-y", "--yes", is_flag=True, help="Trust it without asking: what is trusted is still shown.")
@click.option("--revoke", is_flag=True, help="Trust it no longer.")
@click.option("--list", "listed", is_flag=True, help="List every project that was decided about.")
@click.option("--status", is_flag=True, help="Only show what there is.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and ask nothing.")
@click.argument("directory", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
def trust(yes: bool, revoke: bool, listed: bool, status: bool, as_json: bool, directory: Path | None) -> None:
    """Show what the files and programs of a project would do, and let them.

    It is one decision for a repository: its `antiphon.toml`, `.env`, MCP servers and programs, as they are now. When
    one of them changes, it is asked again. Until then they are ignored. In a trusted repository a chat can read, and
    follows its AGENTS.md and ANTIPHON.md. Exit code: 0 it is trusted, or there is nothing to trust; 3 it is not; 2 a
    file has a mistake.
    """
    from antiphon.config import trust as kept

    if listed:
        _list(kept.decisions(), as_json)
        return
    project = kept.find_project(directory)
    if revoke:
        done = kept.revoke(project.root)
        what = "no longer trusted" if done else "nothing was decided about it"
        click.echo(f"{printable_line(str(project.root))}: {what}")
        return
    programs = found_programs(project)
    is_trusted = _is_settled(project, programs)
    if as_json:
        _print_json(project, programs, is_trusted)
    else:
        _show(project, programs)
    if stated := _unpinnable(project, programs):
        click.echo(printable_line(f"antiphon: {stated}"), err=True)
    elif yes and not status:
        kept.decide(project, True, _lines(project) | programs)
        is_trusted = True
        click.echo("trusted", err=as_json)
    elif (not is_trusted or _is_open(project)) and not status and not as_json and _has_human():
        is_trusted = ask(project, programs)
    elif not is_trusted and not status and not as_json:
        click.echo("antiphon: nobody is here to decide; look at it, then `antiphon trust --yes`", err=True)
    sys.exit(0 if is_trusted else _NOT_TRUSTED)


def settle(project: Project) -> None:
    """Ask about a project that nobody has decided about, if somebody is here; it is asked once."""
    if project.state not in ("new", "changed") or not _has_human():
        return
    programs = found_programs(project)
    try:
        _show(project, programs, err=True)
    except AntiphonError as error:
        click.echo(f"antiphon: {printable(str(error))}; it is ignored", err=True)
        return
    ask(project, programs)


def ask(project: Project, programs: dict[str, list[str]]) -> bool:
    """Put the question behind what was shown, and remember the answer."""
    if stated := _unpinnable(project, programs):
        click.echo(printable_line(f"antiphon: {stated}; it is ignored"), err=True)
        return False
    from antiphon._terminal import forget_typed
    from antiphon.config import trust as kept

    forget_typed()
    click.echo("Trust this project? [y]es, [n]o: ", nl=False, err=True)
    # Not through the stream: whoever reads from it later wants it as it was.
    trusted = os.read(sys.stdin.fileno(), 1_000).decode(errors="replace").strip().lower() in ("y", "yes")
    kept.decide(project, trusted, _lines(project) | programs)
    if not trusted:
        click.echo("It is not trusted: its files are ignored. `antiphon trust` asks again.", err=True)
    return trusted


def check_program(modules: dict[str, Any], path: str, *, named: bool = True) -> str:
    """Why a program may not be run as it is, or nothing: it is of a repository that does not have the user's trust.

    One that lies in no repository was brought by the user, who named it.
    """
    from antiphon.runs.found import below, looked_at

    looked = looked_at(modules, path, named=named)
    if not looked.unseen:
        return ""
    project = looked.project
    if project.trusted is not False and _has_human():
        known = {below(project, name): said for name, said in looked.wanted.items() if said}
        programs = found_programs(project) | known
        _show(project, programs, err=True)
        if ask(project, programs):
            return ""
    return printable_line(f"{Path(path).name} {looked.refused}")


def found_programs(project: Project) -> dict[str, list[str]]:
    """The programs of a repository that reach further than the models the user has, and what they reach."""
    from antiphon.cli import programs
    from antiphon.lang.reach import reach
    from antiphon.lang.run.errors import VibeError
    from antiphon.lang.run.modules import read_source
    from antiphon.runs.found import below

    if not project.is_repository and (project.root != project.directories[0] or project.root == Path.home()):
        return {}
    found: dict[str, list[str]] = {}
    for number, path in enumerate(programs.files([str(project.root)])):
        if number >= _MOST_PROGRAMS:
            break
        try:
            said = reach(read_source(path))
        except (VibeError, RecursionError):
            continue
        if said:
            found[below(project, str(Path(path).resolve()))] = said
    return found


def _unpinnable(project: Project, programs: dict[str, list[str]]) -> str:
    """Return why a project cannot be trusted; nothing where it can."""
    from antiphon.config.pins import UNPINNABLE

    names = [*project.unpinnable, *(name for name, said in programs.items() if UNPINNABLE in said)]
    return f"{', '.join(names)} {UNPINNABLE}" if names else ""


def _is_settled(project: Project, programs: dict[str, list[str]]) -> bool:
    if project.state not in ("nothing", "trusted"):
        return False
    return all(project.covers(name, said) for name, said in programs.items())


def _is_open(project: Project) -> bool:
    """Whether this is a repository with nothing in it that needs trust, of which nobody has said anything yet."""
    return project.is_repository and project.state == "nothing" and project.trusted is None


def _show(project: Project, programs: dict[str, list[str]], *, err: bool = False) -> None:
    """All that leaves the machine, is started or is named, with marks where it is new."""
    state = project.state if project.state != "nothing" or not programs else "new"
    state = "new" if state == "trusted" and not _is_settled(project, programs) else state
    lines = [f"{project.root}: {_STATES['open' if _is_open(project) and state == 'nothing' else state]}"]
    marks = project.trusted is not None
    for name, said in _lines(project).items():
        lines.append(f"{name}{' (new or changed)' if marks and name in project.news else ''}")
        lines += _compared(project, name, said) or ["  nothing that leaves this machine"]
    lines += [f"{name} (gone)" for name in project.news if name not in project.files]
    for name, said in programs.items():
        lines.append(f"{name}{' (new or changed)' if marks and not project.covers(name, said) else ''}")
        lines += _compared(project, name, said)
    for each in _instructions(project):
        lines += [each.name, f"  tells models what to do in a chat: {each.size}"]
    if any(_UNPINNED.search(line) for line in lines):
        lines.append("What these commands load beyond the files named here is not pinned: it may change unasked.")
    for line in lines:
        click.echo(printable_line(line), err=err)


def _compared(project: Project, name: str, said: list[str]) -> list[str]:
    """Lines on what a file does, with marks on those that nobody said yes to; and what it did then and does no more."""
    before = project.programs.get(name) if project.trusted else None
    if before is None or before == said:
        return [f"  {each}" for each in said]
    now = [f"  {'' if each in before else '(new) '}{each}" for each in said]
    return now + [f"  (no longer) {each.strip()}" for each in before if each not in said]


def _lines(project: Project) -> dict[str, list[str]]:
    """Return lines that say what each file of a project does."""
    from antiphon.config.dotenv import parse
    from antiphon.config.facts import facts
    from antiphon.config.trust import FILES

    path = project.nearest(".env")
    dotenv = parse(project.text(path))[0] if path else {}
    return {
        name: facts(project.root / name, project.text(project.root / name), dotenv)
        if Path(name).name in FILES
        else [f"is run as it is now ({digest[:24]})"]
        for name, digest in project.files.items()
    }


def _instructions(project: Project) -> list[Instructions]:
    from antiphon.talks.instructions import find_instructions

    return find_instructions(project) if project.is_repository else []


def _print_json(project: Project, programs: dict[str, list[str]], is_trusted: bool) -> None:
    report = {
        "root": str(project.root),
        "state": project.state,
        "trusted": is_trusted,
        "files": _lines(project),
        "programs": programs,
        "instructions": [each.name for each in _instructions(project)],
        "news": project.news,
    }
    echo_json(json.dumps(report, indent=2))


def _list(decisions: dict[str, dict[str, Any]], as_json: bool) -> None:
    if as_json:
        echo_json(json.dumps(decisions, indent=2))
        return
    for root, entry in decisions.items():
        click.echo(printable_line(f"{'trusted' if entry['trusted'] else 'refused'}  {root}"))
    if not decisions:
        click.echo("no project was decided about")


def _has_human() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
