"""`antiphon doctor`: find and repair errors in a history."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click

from antiphon._base.escape import escape_unprintable_line
from antiphon.cli.history_files import replace_with_backup
from antiphon.cli.output import print_ascii_json
from antiphon.cli.style import format_noun_count
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
    "--format", "format_name", type=click.Choice(READABLE_FORMATS), help="The format of the file. [default: detected]"
)
@click.option("--provider", help="Check the rules of this provider, if it uses the API of another: `mistral`, `groq` …")
@click.option("--write", is_flag=True, help="Repair the file in place; the old one is saved as FILE.bak.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(file: str, format_name: str | None, provider: str | None, write: bool, as_json: bool) -> None:
    """Find errors in a saved history that a provider would reject.

    FILE holds messages or a request of OpenAI Chat, OpenAI Responses, Anthropic or Gemini; a conversation of
    Antiphon; messages of pydantic-ai, LangChain or the Vercel AI SDK; or a session of Claude Code or Codex. It may
    have several, one per line. Exit code: 0 no errors, 1 errors, 2 the file cannot be read, parsed or written.
    """
    text = read_file_bytes(file)
    histories = parse_histories(text, file, format_name)
    checkups, repaired = validate_histories(histories, provider)
    findings = [finding for checkup in checkups for finding in checkup.findings]
    backup = None
    if write and any(finding.repaired and finding.is_fault for finding in findings):
        _require_writable(histories)
        backup = replace_with_backup(Path(file), text, repaired)
    if as_json:
        print_ascii_json(_make_report_json(file, histories, checkups, backup))
    else:
        _print_report(file, histories, checkups, backup)
    sys.exit(1 if any(finding.is_fault for finding in findings) else 0)


def _require_writable(histories: list[History]) -> None:
    for history in histories:
        if history.format in READ_ONLY_FORMATS:
            raise FormatError(
                f"{history.format} histories cannot be written;"
                f" repair and convert it with `antiphon convert FILE --to {WRITABLE_FORMATS[0]}`"
            )


def _describe_formats(histories: list[History]) -> str:
    """Return the format of the file, or the number of histories of each format."""
    counts = Counter(history.format for history in histories)
    if len(histories) == 1:
        return histories[0].format
    return ", ".join(f"{count} of {name}" for name, count in counts.items())


def _make_report_json(
    file: str, histories: list[History], checkups: list[ValidationResult], backup: Path | None
) -> dict[str, object]:
    findings = [finding for checkup in checkups for finding in checkup.findings]
    return {
        "file": file,
        "format": _describe_formats(histories),
        "turns": _count_turns(checkups),
        "problems": [asdict(finding) for finding in findings if finding.is_fault],
        "left_out": [asdict(finding) for finding in findings if not finding.is_fault],
        "violations": [
            {"code": each.code, "message": each.message, "param": each.param}
            for checkup in checkups
            for each in checkup.violations
        ],
        "backup": str(backup) if backup else None,
    }


def _count_turns(checkups: list[ValidationResult]) -> int:
    return sum(len(checkup.conversation.turns) for checkup in checkups)


def _print_report(file: str, histories: list[History], checkups: list[ValidationResult], backup: Path | None) -> None:
    found = [finding for checkup in checkups for finding in checkup.findings]
    faults = [finding for finding in found if finding.is_fault]
    state = (
        format_noun_count(len(faults), "problem")
        if faults
        else f"{format_noun_count(_count_turns(checkups), 'turn')}, nothing to repair"
    )
    click.echo(f"{escape_unprintable_line(file)}: {_describe_formats(histories)}, {state}")
    for finding in found:
        _print_finding(finding, done=backup is not None)
    violations = [violation for checkup in checkups for violation in checkup.violations]
    if violations:
        click.echo("the provider would reject it with:")
        for violation in violations:
            click.echo(f"  {violation.code}: {escape_unprintable_line(violation.message)}")
    if backup:
        click.echo(f"repaired; the old file was saved as {escape_unprintable_line(str(backup))}")
    elif any(finding.repaired for finding in faults):
        click.echo(_suggest_repair(file, histories))


def _suggest_repair(file: str, histories: list[History]) -> str:
    if any(history.format in READ_ONLY_FORMATS for history in histories):
        return (
            f"repair and convert it with `antiphon convert {escape_unprintable_line(file)} --to {WRITABLE_FORMATS[0]}`"
        )
    return "repair the file with `--write`"


def _print_finding(finding: Finding, *, done: bool) -> None:
    where = f"{escape_unprintable_line(finding.where)}: " if finding.where else ""
    if not finding.is_fault:
        click.echo(f"  {where}{escape_unprintable_line(finding.found)}; {escape_unprintable_line(finding.action)}")
        return
    click.echo(f"  {where}{escape_unprintable_line(finding.found)}")
    word = "not repaired" if not finding.repaired else "done" if done else "repair"
    click.echo(f"    {word}: {escape_unprintable_line(finding.action)}")
