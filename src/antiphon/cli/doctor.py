"""`antiphon doctor`: what is wrong with a history, and how it is put right."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click

from antiphon._base.escape import escape_unprintable_line
from antiphon.cli.history_files import replace_with_backup
from antiphon.cli.style import echo_json
from antiphon.conversation.serialization import read_file_bytes
from antiphon.errors import FormatError
from antiphon.formats import (
    READ_ONLY_FORMATS,
    READABLE_FORMATS,
    WRITABLE_FORMATS,
    Finding,
    History,
    ValidationResult,
    parse_histories,
    validate_histories,
)


@click.command()
@click.argument("file", type=click.Path())
@click.option(
    "--format", "format_name", type=click.Choice(READABLE_FORMATS), help="What the file is; else it is recognised."
)
@click.option("--provider", help="Whose rules to check, where a server speaks another's API: `mistral`, `groq` …")
@click.option("--write", is_flag=True, help="Repair the file in place; the old one is kept as FILE.bak.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(file: str, format_name: str | None, provider: str | None, write: bool, as_json: bool) -> None:
    """Find what a provider would reject in a saved history.

    FILE holds messages, or a request, in the shape of OpenAI Chat, OpenAI Responses, Anthropic or Gemini, a saved
    conversation of Antiphon, messages of pydantic-ai, LangChain or the Vercel AI SDK, or a session of Claude Code or
    Codex; or several of these, a line each. Exit code: 0 clean, 1 something was found, 2 the file cannot be read, is no
    history or cannot be written.
    """
    text = read_file_bytes(file)
    histories = parse_histories(text, file, format_name)
    checkups, repaired = validate_histories(histories, provider)
    findings = [finding for checkup in checkups for finding in checkup.findings]
    backup = None
    if write and any(finding.repaired and finding.is_fault for finding in findings):
        _must_be_written(histories)
        backup = replace_with_backup(Path(file), text, repaired)
    if as_json:
        echo_json(json.dumps(_report(file, histories, checkups, backup), indent=2))
    else:
        _tell(file, histories, checkups, backup)
    sys.exit(1 if any(finding.is_fault for finding in findings) else 0)


def _must_be_written(histories: list[History]) -> None:
    for history in histories:
        if history.format in READ_ONLY_FORMATS:
            raise FormatError(
                f"a history of {history.format} can be read but not written;"
                f" `antiphon convert FILE --to {WRITABLE_FORMATS[0]}` writes it, repaired, in another shape"
            )


def _formats(histories: list[History]) -> str:
    """The format of the file; of several histories in it, how many there are of each."""
    counts = Counter(history.format for history in histories)
    if len(histories) == 1:
        return histories[0].format
    return ", ".join(f"{count} of {name}" for name, count in counts.items())


def _report(
    file: str, histories: list[History], checkups: list[ValidationResult], backup: Path | None
) -> dict[str, object]:
    findings = [finding for checkup in checkups for finding in checkup.findings]
    return {
        "file": file,
        "format": _formats(histories),
        "turns": _turns(checkups),
        "problems": [asdict(finding) for finding in findings if finding.is_fault],
        "left_out": [asdict(finding) for finding in findings if not finding.is_fault],
        "violations": [
            {"code": each.code, "message": each.message, "param": each.param}
            for checkup in checkups
            for each in checkup.violations
        ],
        "backup": str(backup) if backup else None,
    }


def _turns(checkups: list[ValidationResult]) -> int:
    return sum(len(checkup.conversation.turns) for checkup in checkups)


def _tell(file: str, histories: list[History], checkups: list[ValidationResult], backup: Path | None) -> None:
    found = [finding for checkup in checkups for finding in checkup.findings]
    faults = [finding for finding in found if finding.is_fault]
    state = _count(len(faults), "problem") if faults else f"{_count(_turns(checkups), 'turn')}, nothing to repair"
    click.echo(f"{escape_unprintable_line(file)}: {_formats(histories)}, {state}")
    for finding in found:
        _tell_one(finding, done=backup is not None)
    violations = [violation for checkup in checkups for violation in checkup.violations]
    if violations:
        click.echo("as it is, the provider would answer:")
        for violation in violations:
            click.echo(f"  {violation.code}: {escape_unprintable_line(violation.message)}")
    if backup:
        click.echo(f"repaired; the old file is {escape_unprintable_line(str(backup))}")
    elif any(finding.repaired for finding in faults):
        click.echo(_remedy(file, histories))


def _remedy(file: str, histories: list[History]) -> str:
    if any(history.format in READ_ONLY_FORMATS for history in histories):
        return (
            f"`antiphon convert {escape_unprintable_line(file)} --to {WRITABLE_FORMATS[0]}` writes"
            f" it repaired, in another shape"
        )
    return "`--write` repairs the file"


def _tell_one(finding: Finding, *, done: bool) -> None:
    where = f"{escape_unprintable_line(finding.where)}: " if finding.where else ""
    if not finding.is_fault:
        click.echo(f"  {where}{escape_unprintable_line(finding.found)}; {escape_unprintable_line(finding.action)}")
        return
    click.echo(f"  {where}{escape_unprintable_line(finding.found)}")
    word = "not repaired" if not finding.repaired else "done" if done else "repair"
    click.echo(f"    {word}: {escape_unprintable_line(finding.action)}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
