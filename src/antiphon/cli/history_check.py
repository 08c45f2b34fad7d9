"""Find and repair the errors of a history that a provider would reject."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from antiphon._base.escape import escape_unprintable_line
from antiphon.cli.history_files import replace_with_backup
from antiphon.cli.style import format_noun_count
from antiphon.conversation.serialization import read_file_bytes
from antiphon.errors import FormatError
from antiphon.formats import (
    READ_ONLY_FORMATS,
    WRITABLE_FORMATS,
    Finding,
    History,
    ValidationResult,
    parse_histories,
    validate_histories,
)


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file of histories with its findings; `backup` is the old file if it was repaired."""

    path: str
    histories: list[History]
    checkups: list[ValidationResult]
    backup: Path | None

    @property
    def findings(self) -> list[Finding]:
        """Everything that was found."""
        return [finding for checkup in self.checkups for finding in checkup.findings]

    @property
    def has_faults(self) -> bool:
        """True if a provider would reject a history."""
        return any(finding.is_fault for finding in self.findings)


def looks_like_history(path: str) -> bool:
    """Return whether a file holds JSON or JSON lines, rather than a program."""
    if path == "-" or path.endswith(".vibe") or Path(path).is_dir():
        return False
    if path.endswith((".json", ".jsonl")) or (Path(path).exists() and not Path(path).is_file()):
        # A pipe can be read only once.
        return True
    try:
        with open(path, "rb") as file:
            return file.read(4_096).lstrip()[:1] in (b"{", b"[")
    except OSError:
        return False


def check_history_file(path: str, format_name: str | None, provider: str | None, fix: bool) -> CheckedFile:
    """Check the histories of a file; with `fix`, repair it and keep a backup."""
    text = read_file_bytes(path)
    histories = parse_histories(text, path, format_name)
    checkups, repaired = validate_histories(histories, provider)
    findings = [finding for checkup in checkups for finding in checkup.findings]
    backup = None
    if fix and any(finding.repaired and finding.is_fault for finding in findings):
        _require_writable(histories)
        backup = replace_with_backup(Path(path), text, repaired)
    return CheckedFile(path, histories, checkups, backup)


def _require_writable(histories: list[History]) -> None:
    for history in histories:
        if history.format in READ_ONLY_FORMATS:
            raise FormatError(
                f"{history.format} histories cannot be written;"
                f" repair and convert it with `antiphon export FILE OUT --format {WRITABLE_FORMATS[0]}`"
            )


def _describe_formats(histories: list[History]) -> str:
    """Return the format of the file, or the number of histories of each format."""
    counts = Counter(history.format for history in histories)
    if len(histories) == 1:
        return histories[0].format
    return ", ".join(f"{count} of {name}" for name, count in counts.items())


def make_report_json(checked: CheckedFile) -> dict[str, object]:
    """Return the findings about a file as JSON data."""
    findings = checked.findings
    return {
        "file": checked.path,
        "format": _describe_formats(checked.histories),
        "turns": _count_turns(checked.checkups),
        "problems": [asdict(finding) for finding in findings if finding.is_fault],
        "left_out": [asdict(finding) for finding in findings if not finding.is_fault],
        "violations": [
            {"code": each.code, "message": each.message, "param": each.param}
            for checkup in checked.checkups
            for each in checkup.violations
        ],
        "backup": str(checked.backup) if checked.backup else None,
    }


def _count_turns(checkups: list[ValidationResult]) -> int:
    return sum(len(checkup.conversation.turns) for checkup in checkups)


def print_report(checked: CheckedFile) -> None:
    """Print the findings about a file, and what can be done."""
    file, histories, checkups, backup = checked.path, checked.histories, checked.checkups, checked.backup
    found = checked.findings
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
        shown = escape_unprintable_line(file)
        return f"repair and convert it with `antiphon export {shown} OUT --format {WRITABLE_FORMATS[0]}`"
    return "repair the file with `--fix`"


def _print_finding(finding: Finding, *, done: bool) -> None:
    where = f"{escape_unprintable_line(finding.where)}: " if finding.where else ""
    if not finding.is_fault:
        click.echo(f"  {where}{escape_unprintable_line(finding.found)}; {escape_unprintable_line(finding.action)}")
        return
    click.echo(f"  {where}{escape_unprintable_line(finding.found)}")
    word = "not repaired" if not finding.repaired else "done" if done else "repair"
    click.echo(f"    {word}: {escape_unprintable_line(finding.action)}")
