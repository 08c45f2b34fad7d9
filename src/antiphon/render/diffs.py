"""Diffs: unified, or side by side where there is room."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any, cast

from rich.cells import cell_len
from rich.text import Text

from antiphon.render.context import Context
from antiphon.render.differences import Change, changes, hunks
from antiphon.render.layout import Lines, Row, fold, hang
from antiphon.render.registry import Unfit, register_renderer
from antiphon.render.safe import count_lines, forwards
from antiphon.render.values import content_of, needed_text, object_of, text_of
from antiphon.results import Result

_STYLES = {"+": "green", "-": "red", "@": "cyan", " ": ""}


@register_renderer("diff", page="The changed lines, unified or side by side, with the path above.")
def show_diff(result: Result, context: Context) -> Lines:
    """A `diff`: its hunks. Without an original that is a new file, unless hunks are given."""
    data = object_of(result.data, "a diff")
    given = data.get("hunks")
    if isinstance(given, list) and given and not isinstance(data.get("original"), str):
        return unified("\n".join(_given(cast(list[Any], given))), context)
    modified = needed_text(data, "modified", "a diff")
    original = text_of(data, "original")
    if not original:
        return Lines((_signed("+", line, context) for line in forwards(modified)), count_lines(modified))
    old, new = _lines(original, modified)
    found = changes(old, new)
    if all(same for same, *_ in found):
        return Lines([Text("unchanged" if original == modified else "only the ends of lines differ", "dim italic")])
    grouped = list(hunks(found))
    pairs = context.side_by_side
    total = sum(1 + sum(_rows(change, pairs) for change in hunk) for hunk in grouped)
    show = _side_by_side if pairs else _unified
    return Lines(chain.from_iterable(show(hunk, old, new, context) for hunk in grouped), total)


def unified(content: str, context: Context) -> Lines:
    """The text of a unified diff."""
    rows: Iterator[Row] = (_signed(line[:1] or " ", line[1:], context) for line in forwards(content))
    return Lines(rows, count_lines(content))


def diff(data: object, context: Context) -> Lines:
    """Data of any kind that wants to be seen as a diff: a file before and after, or the text of a diff."""
    if isinstance(data, dict) and isinstance(cast(dict[str, Any], data).get("modified"), str):
        return show_diff(Result("diff", data), context)
    return unified(content_of(cast(object, data)), context)


def _lines(original: str, modified: str) -> tuple[list[str], list[str]]:
    # Where both have the line ends of Windows, those are no news; where one has, they are.
    if "\r\n" in original and "\r\n" in modified:
        original, modified = original.replace("\r\n", "\n"), modified.replace("\r\n", "\n")
    return original.removesuffix("\n").split("\n"), modified.removesuffix("\n").split("\n")


def _given(given: list[Any]) -> Iterator[str]:
    for hunk in given:
        fields = object_of(hunk, "a hunk")
        lines: object = fields.get("lines")
        if not isinstance(lines, list):
            raise Unfit("a hunk has a list `lines`")
        numbers = [fields.get(key, "?") for key in ("oldStart", "oldLines", "newStart", "newLines")]
        yield "@@ -{},{} +{},{} @@".format(*(str(number)[:12] for number in numbers))
        yield from (str(line).replace("\n", " ") for line in cast(list[Any], lines))


def _rows(change: Change, pairs: bool) -> int:
    same, i1, i2, j1, j2 = change
    return max(i2 - i1, j2 - j1) if same or pairs else i2 - i1 + j2 - j1


def _heading(hunk: list[Change], context: Context) -> Row:
    i, j = hunk[0][1], hunk[0][3]
    old, new = hunk[-1][2] - i, hunk[-1][4] - j
    return fold(Text(f"@@ -{i + bool(old)},{old} +{j + bool(new)},{new} @@", "cyan"), context.width)


def _unified(hunk: list[Change], old: list[str], new: list[str], context: Context) -> Iterator[Row]:
    yield _heading(hunk, context)
    for same, i1, i2, j1, j2 in hunk:
        if same:
            yield from (_signed(" ", old[i], context) for i in range(i1, i2))
        else:
            yield from (_signed("-", old[i], context) for i in range(i1, i2))
            yield from (_signed("+", new[j], context) for j in range(j1, j2))


def _signed(sign: str, line: str, context: Context) -> Row:
    style = _STYLES.get(sign, "")
    if sign not in _STYLES:
        sign, line = "", sign + line
    return hang(Text(context.line(sign), style), context.text(line, style), context.width)


def _side_by_side(hunk: list[Change], old: list[str], new: list[str], context: Context) -> Iterator[Row]:
    yield _heading(hunk, context)
    digits = len(str(max(hunk[-1][2], hunk[-1][4])))
    half = (context.width - 3) // 2
    bar = Text(f" {context.sign('│', '|')} ", "dim")
    for same, i1, i2, j1, j2 in hunk:
        for i, j in zip_longest(range(i1, i2), range(j1, j2)):
            left = [] if i is None else _half(i, " " if same else "-", old[i], digits, half, context)
            right = [] if j is None else _half(j, " " if same else "+", new[j], digits, half, context)
            yield [Text.assemble(_padded(a, half), bar, b) for a, b in zip_longest(left, right, fillvalue=Text())]


def _half(number: int, sign: str, line: str, digits: int, width: int, context: Context) -> list[Text]:
    gutter = Text.assemble((f"{number + 1:>{digits}} ", "dim"), (sign, _STYLES[sign]))
    return hang(gutter, context.text(line, _STYLES[sign]), width)


def _padded(text: Text, width: int) -> Text:
    return Text.assemble(text, " " * max(width - cell_len(text.plain), 0))
