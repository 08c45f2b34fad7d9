"""`antiphon doctor`: what is wrong with a history, and how it is put right."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from antiphon.cli.files import load_history, replace_file
from antiphon.cli.output import printable
from antiphon.formats import READ, Checkup, Finding, History


@click.command()
@click.argument("file", type=click.Path())
@click.option("--format", "format_name", type=click.Choice(READ), help="What the file is; else it is recognised.")
@click.option("--provider", help="Whose rules to check, where a server speaks another's API: `mistral`, `groq` …")
@click.option("--write", is_flag=True, help="Repair the file in place; the old one is kept as FILE.bak.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(file: str, format_name: str | None, provider: str | None, write: bool, as_json: bool) -> None:
    """Find what a provider would reject in a saved history.

    FILE holds messages, or a request, in the shape of OpenAI Chat, OpenAI Responses, Anthropic or Gemini, a saved
    conversation of Antiphon, messages of pydantic-ai, LangChain or the Vercel AI SDK, or a session of Claude Code or
    Codex. Exit code: 0 clean, 1 something was found, 2 the file cannot be read, is no history or cannot be written.
    """
    history = load_history(file, format_name)
    checkup = history.checked(provider)
    repairable = any(finding.repaired for finding in checkup.findings)
    backup = (
        replace_file(Path(file), history.document.text, history.rewritten(checkup)) if write and repairable else None
    )
    if as_json:
        click.echo(json.dumps(_report(file, history, checkup, backup), indent=2))
    else:
        _tell(file, history, checkup, backup)
    sys.exit(1 if checkup.findings or checkup.violations else 0)


def _report(file: str, history: History, checkup: Checkup, backup: Path | None) -> dict[str, object]:
    return {
        "file": file,
        "format": history.format,
        "turns": len(checkup.conversation.turns),
        "problems": [asdict(finding) for finding in checkup.findings],
        "violations": [
            {"code": each.code, "message": each.message, "param": each.param} for each in checkup.violations
        ],
        "backup": str(backup) if backup else None,
    }


def _tell(file: str, history: History, checkup: Checkup, backup: Path | None) -> None:
    name, findings = printable(file), checkup.findings
    if not findings:
        turns = _count(len(checkup.conversation.turns), "turn")
        click.echo(f"{name}: {history.format}, {turns}, nothing to repair")
        return
    click.echo(f"{name}: {history.format}, {_count(len(findings), 'problem')}")
    for finding in findings:
        _tell_one(finding, done=backup is not None)
    if checkup.violations:
        click.echo("as it is, the provider would answer:")
        for violation in checkup.violations:
            click.echo(f"  {violation.code}: {printable(violation.message)}")
    if backup:
        click.echo(f"repaired; the old file is {printable(str(backup))}")
    elif any(finding.repaired for finding in findings):
        click.echo("`--write` repairs the file")


def _tell_one(finding: Finding, *, done: bool) -> None:
    where = f"{printable(finding.where)}: " if finding.where else ""
    click.echo(f"  {where}{printable(finding.found)}")
    word = "not repaired" if not finding.repaired else "done" if done else "repair"
    click.echo(f"    {word}: {printable(finding.action)}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
