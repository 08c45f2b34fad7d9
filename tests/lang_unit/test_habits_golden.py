"""Mistakes of people who come from other languages, one after another: what each is told, and what is written instead.

`tests/lang/habits/*.txt` holds them, with what is said of each; `UPDATE_GOLDEN=1` writes that anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from antiphon.lang.analysis import analyse
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.source import Source

ROOM = Path(__file__).parent.parent / "lang" / "habits"
FILES = sorted(ROOM.glob("*.txt"))


class Habit(NamedTuple):
    wrong: str
    told: str
    right: str


def habits(path: Path) -> list[Habit]:
    return [read(each) for each in path.read_text("utf-8").removesuffix("\n").split("\n====\n")]


def read(text: str) -> Habit:
    head, _, right = text.partition("\n---- write\n")
    wrong, _, told = head.partition("\n---- told")
    return Habit(wrong, told.strip("\n"), right)


def written(habit: Habit) -> str:
    right = f"\n---- write\n{habit.right}" if habit.right else ""
    return f"{habit.wrong}\n---- told\n{habit.told}{right}"


def found_in(text: str) -> tuple[Source, list[Diagnostic]]:
    source = Source("a.vibe", f"{text}\n")
    return source, analyse(source).diagnostics


def told(text: str) -> str:
    source, found = found_in(text)
    return "\n".join(one(source, each) for each in found)


def one(source: Source, found: Diagnostic) -> str:
    line, column = source.place(found.start)
    hints = " + ".join((found.hint, *(each.text for each in found.labels)))
    return f"{line}:{column} {found.code} {found.message} | {hints}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_mistake_is_told_as_its_golden_file_says(path: Path):
    now = [each._replace(told=told(each.wrong)) for each in habits(path)]
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text("\n====\n".join(map(written, now)) + "\n", "utf-8")
    changed = [(before, after) for before, after in zip(habits(path), now, strict=True) if before != after]
    assert changed == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_line_is_told_of_twice_and_each_is_told_what_to_write(path: Path):
    for habit in habits(path):
        source, found = found_in(habit.wrong)
        lines = [source.place(each.start)[0] for each in found]
        assert found, habit.wrong
        assert len(lines) == len(set(lines)), habit.wrong
        assert path.stem == "scripts" or all(each.hint for each in found), habit.wrong


def test_what_is_written_instead_has_nothing_wrong_with_it():
    right = [each.right for path in FILES for each in habits(path) if each.right]
    assert len(right) > 50
    assert [(each, told(each)) for each in right if found_in(each)[1]] == []
