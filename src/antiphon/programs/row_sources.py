"""Rows for programs, from CSV files, JSON lines, or the files that match a pattern."""

from __future__ import annotations

import csv
import glob
import json
import random
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from antiphon._base.files import open_lines
from antiphon.errors import ConfigurationError
from antiphon.lang.runtime.inputs import InputMismatch, list_inputs, parse_text_input
from antiphon.lang.typecheck.types import JSON, PROMPT, TEXT, Literal, union_options

if TYPE_CHECKING:
    from antiphon.lang.codegen.code_object import ProgramInput
    from antiphon.lang.runtime import Program

#: A row with its number, starting at one.
NumberedRow = tuple[int, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class RowSource:
    """The source of a batch's rows: a file or pattern, values for all rows, and the size of a sample."""

    place: str
    sample: int | None = None
    sets: dict[str, str] = field(default_factory=dict[str, str])

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield the rows, each with the values for all rows."""
        common = {name: CellText(each) for name, each in self.sets.items()}
        return ({**row, **common} for row in read_rows(self.place))


def read_rows(place: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file by its suffix; for a pattern, one per file, with its name and text."""
    if any(sign in place for sign in "*?["):
        return _read_matching_files(place)
    if place.endswith((".jsonl", ".ndjson")):
        return _read_json_lines(place)
    if place.endswith((".csv", ".tsv")):
        return _read_table(place, "\t" if place.endswith(".tsv") else ",")
    raise ConfigurationError(
        f"rows come from a .csv, .tsv or .jsonl file, or a pattern such as 'mails/*.txt', not {place}"
    )


def enumerate_rows(rows: Iterable[Mapping[str, Any]], sample: int | None = None) -> Iterator[NumberedRow]:
    """Yield rows with their numbers; with `sample`, a random but reproducible selection of that size."""
    whole = ((number, dict(row)) for number, row in enumerate(rows, 1))
    if sample is None:
        return whole
    kept: list[NumberedRow] = list(islice(whole, sample))
    chance = random.Random(0)
    for seen, each in enumerate(whole, sample + 1):
        if (place := chance.randrange(seen)) < sample:
            kept[place] = each
    return iter(sorted(kept))


def select_inputs(program: Program, rows: Iterable[NumberedRow]) -> Generator[NumberedRow]:
    """Yield rows with only the inputs of the program, parsed as their types.

    A row without a required input is an error for the batch. A value of another type fails when its row runs.
    """
    known = list_inputs(program.code)
    needed = [name for name, each in known.items() if each.is_required]
    for number, row in rows:
        chosen = {name: each for name, each in row.items() if name in known}
        has = ", ".join(row) or "nothing"
        if missing := [f"`{name}`" for name in needed if name not in chosen]:
            raise ConfigurationError(
                f"row {number} has no {', '.join(missing)}, which the program needs; it has: {has}"
            )
        if not chosen and not needed:
            raise ConfigurationError(
                f"row {number} has {has}; the program takes {', '.join(known) or 'no inputs, so it needs no rows'}"
            )
        given = {name: each for name, each in chosen.items() if not _uses_default(known[name], each)}
        yield number, {name: _parse_cell(number, known[name], value) for name, value in given.items()}


def _uses_default(wanted: ProgramInput, value: Any) -> bool:
    """Return whether a cell is empty and its type accepts no empty text, so that the default is used."""
    texts = (TEXT, PROMPT, Literal(""))
    is_empty = isinstance(value, CellText) and not value.strip()
    return is_empty and not wanted.is_required and not any(each in texts for each in union_options(wanted.type))


def _parse_cell(number: int, wanted: ProgramInput, value: Any) -> Any:
    """Parse a table cell as the type of its input. Values from JSON stay as they are."""
    if not isinstance(value, CellText):
        return value
    try:
        return parse_text_input(wanted.name, wanted.type, str(value))
    except InputMismatch as wrong:
        if wanted.type == JSON:
            # Unparsed, it would silently become a text.
            raise ConfigurationError(f"row {number}: {wrong}") from None
        return str(value)


class CellText(str):
    """A text from a table, to be parsed as the type of its input."""

    __slots__ = ()


def has_private_input(program: Program, given: Iterable[str]) -> bool:
    """Return whether one of these inputs is private."""
    known = program.code.inputs
    return any(name in known and known[name].is_private for name in given)


def _read_table(place: str, delimiter: str) -> Generator[dict[str, Any]]:
    with _open_rows(place, newline="") as file:
        reader = csv.DictReader(file, delimiter=delimiter, strict=True)
        try:
            if not reader.fieldnames or len(set(reader.fieldnames)) < len(reader.fieldnames):
                raise ConfigurationError(f"the first line of {place} must name its columns, each once")
            for row in reader:
                if None in row or None in row.values():
                    raise ConfigurationError(
                        f"{place}: line {reader.line_num} has another number of values than columns"
                    )
                yield {name: CellText(each) for name, each in row.items()}
        except (csv.Error, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{place}: after line {reader.line_num}: {error}") from None


def _read_json_lines(place: str) -> Generator[dict[str, Any]]:
    with _open_rows(place) as file:
        for number, line in enumerate(_decode_lines(file, place), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ConfigurationError(f"{place}: line {number} is not valid JSON: {error}") from None
            if not isinstance(row, dict):
                raise ConfigurationError(f"{place}: line {number} is not a JSON object")
            yield cast(dict[str, Any], row)


def _read_matching_files(pattern: str) -> Generator[dict[str, Any]]:
    found = sorted(each for each in glob.iglob(pattern, recursive=True) if Path(each).is_file())
    if not found:
        raise ConfigurationError(f"no file matches {pattern}")
    for name in found:
        with _open_rows(name) as file:
            yield {"file": CellText(name), "text": CellText("".join(_decode_lines(file, name)))}


def _decode_lines(file: IO[str], place: str) -> Generator[str]:
    try:
        yield from file
    except UnicodeDecodeError:
        raise ConfigurationError(f"{place} is not UTF-8 text") from None


def _open_rows(place: str, newline: str | None = None) -> IO[str]:
    try:
        return open_lines(place, "utf-8-sig", newline)
    except OSError as error:
        raise ConfigurationError(f"cannot read {place}: {error.strerror or error}") from None
