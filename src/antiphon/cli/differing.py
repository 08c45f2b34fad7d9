"""How two runs differ: step by step, by what was asked for and what came of it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from antiphon._printable import printable_line
from antiphon._shape import obj

if TYPE_CHECKING:
    from antiphon.journal import EffectEntry

_ASIDE = {"returned": ("record",), "reply": ("id", "request_id")}
_SIDES = (("<", "red"), (">", "green"))


@dataclass(frozen=True, slots=True)
class Difference:
    """A step that is not the same in both: `what` says whether something else was asked for, or came."""

    path: str
    what: Literal["asked", "outcome", "first only", "second only"]
    first: EffectEntry | None
    second: EffectEntry | None

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        from antiphon.cli.telling import effect_json

        sides = {"first": self.first, "second": self.second}
        return {
            "path": self.path,
            "what": self.what,
            **{name: None if side is None else effect_json(side) for name, side in sides.items()},
        }


def differences(first: Iterable[EffectEntry], second: Iterable[EffectEntry]) -> Generator[Difference]:
    """Where two runs differ, in the order of the first."""
    others = {each.path: each for each in second}
    for one in first:
        other = others.pop(one.path, None)
        if other is None:
            yield Difference(one.path, "first only", one, None)
        elif (one.kind, one.hash) != (other.kind, other.hash):
            yield Difference(one.path, "asked", one, other)
        elif _came(one) != _came(other):
            yield Difference(one.path, "outcome", one, other)
    for other in others.values():
        yield Difference(other.path, "second only", None, other)


def print_differences(found: Sequence[Difference]) -> None:
    """Print both sides of each."""
    from antiphon.render.effects import effect_line

    for each in found:
        click.echo(f"{printable_line(each.path)}: {each.what}")
        for (sign, colour), side in zip(_SIDES, (each.first, each.second), strict=True):
            if side is not None:
                line = effect_line(side)
                said = "  ".join(part for part in (line.head.removeprefix(each.path).strip(), line.summary) if part)
                click.echo(click.style(f"  {sign} {printable_line(said)[:400]}", fg=colour))
    if not found:
        click.echo("both did the same", err=True)


def _came(entry: EffectEntry) -> Any:
    from antiphon.effects import outcome_json

    if entry.outcome is None:
        return entry.state
    data = outcome_json(entry.outcome)
    # How long a call took, and what the server calls its answer, is no difference.
    for kind, fields in _ASIDE.items():
        if kind in data:
            return {name: each for name, each in obj(data[kind]).items() if name not in fields}
    return data
