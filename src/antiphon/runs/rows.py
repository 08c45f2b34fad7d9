"""Rows for a program: of a CSV file, of JSON lines, or the files that a pattern names."""

from __future__ import annotations

import csv
import glob
import json
import random
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.lang.run import Program

#: A row with its number, counted from one.
Numbered = tuple[int, dict[str, Any]]


def read_rows(place: str) -> Iterator[dict[str, Any]]:
    """The rows of a file, by how its name ends; of a pattern, one for each file, with its name and text."""
    if any(sign in place for sign in "*?["):
        return _files(place)
    if place.endswith((".jsonl", ".ndjson")):
        return _lines(place)
    if place.endswith((".csv", ".tsv")):
        return _table(place, "\t" if place.endswith(".tsv") else ",")
    raise ConfigurationError(
        f"rows come from a .csv, .tsv or .jsonl file, or a pattern such as 'mails/*.txt', not {place}"
    )


def numbered(rows: Iterable[Mapping[str, Any]], sample: int | None = None) -> Iterator[Numbered]:
    """Rows with their numbers; of a `sample`, so many from all over, always the same ones."""
    whole = ((number, dict(row)) for number, row in enumerate(rows, 1))
    if sample is None:
        return whole
    kept: list[Numbered] = list(islice(whole, sample))
    chance = random.Random(0)
    for seen, each in enumerate(whole, sample + 1):
        if (place := chance.randrange(seen)) < sample:
            kept[place] = each
    return iter(sorted(kept))


def fitted(program: Program, rows: Iterable[Numbered]) -> Generator[Numbered]:
    """Rows with what the program can start with; those that have nothing of it are an error."""
    known = startable(program)
    for number, row in rows:
        chosen = {name: each for name, each in row.items() if name in known}
        if not chosen:
            has, wants = ", ".join(row) or "nothing", ", ".join(known) or "none"
            raise ConfigurationError(f"row {number} has {has}; the program can start with: {wants}")
        yield number, inputs(program, chosen)


def startable(program: Program) -> list[str]:
    """The variables of a program that can be given another value to start with."""
    code = program.main.code
    assert code is not None
    return [name for name in code.names if name in code.inputs]


def has_private(program: Program, given: Iterable[str]) -> bool:
    """Whether one of these variables is private."""
    code = program.main.code
    assert code is not None
    return any(name in code.names and code.names[name].is_private for name in given)


def inputs(program: Program, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of variables: text is itself, all else is read as its type; what may be anything is read as JSON."""
    from antiphon.lang.check.types import JSON
    from antiphon.lang.run.people import read_answer

    code = program.main.code
    assert code is not None
    out = dict(given)
    for name, value in given.items():
        if isinstance(value, str) and name in code.names and code.names[name].type == JSON:
            out[name] = read_answer(value, JSON)[0]
    return out


def _table(place: str, delimiter: str) -> Generator[dict[str, Any]]:
    with _opened(place, newline="") as file:
        reader = csv.DictReader(file, delimiter=delimiter, strict=True)
        try:
            if not reader.fieldnames or len(set(reader.fieldnames)) < len(reader.fieldnames):
                raise ConfigurationError(f"{place} has no first line that names its columns, each once")
            for row in reader:
                if None in row or None in row.values():
                    raise ConfigurationError(f"{place}: line {reader.line_num} has not as many values as columns")
                yield row
        except (csv.Error, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{place}: after line {reader.line_num}: {error}") from None


def _lines(place: str) -> Generator[dict[str, Any]]:
    with _opened(place) as file:
        for number, line in enumerate(_decoded(file, place), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ConfigurationError(f"{place}: line {number} is no JSON: {error}") from None
            if not isinstance(row, dict):
                raise ConfigurationError(f"{place}: line {number} is no JSON object")
            yield cast(dict[str, Any], row)


def _files(pattern: str) -> Generator[dict[str, Any]]:
    found = sorted(each for each in glob.iglob(pattern, recursive=True) if Path(each).is_file())
    if not found:
        raise ConfigurationError(f"no file is named like {pattern}")
    for name in found:
        with _opened(name) as file:
            yield {"file": name, "text": "".join(_decoded(file, name))}


def _decoded(file: IO[str], place: str) -> Generator[str]:
    try:
        yield from file
    except UnicodeDecodeError:
        raise ConfigurationError(f"{place} is no text") from None


def _opened(place: str, newline: str | None = None) -> IO[str]:
    try:
        return open(place, encoding="utf-8-sig", newline=newline)
    except OSError as error:
        raise ConfigurationError(f"cannot read {place}: {error.strerror or error}") from None
