"""Finding conversations by their words, and the place to show of each."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from antiphon._base.json import sanitize_unicode
from antiphon.conversation import (
    AssistantPart,
    Chat,
    Image,
    Note,
    OpaquePart,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    Update,
    UserPart,
)
from antiphon.conversation.turns import AssistantTurn, Turn

_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
_WORD = re.compile(r"[^\W_]+")
# Scripts written without spaces between words, of which the index makes one long word, and characters newer than it.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00010000-\U0010ffff]"
)
_BEFORE, _AFTER = 50, 110


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a turn in which something was found; `found` are the places of the words in it."""

    text: str
    found: tuple[tuple[int, int], ...] = ()

    def split_pieces(self) -> Iterator[tuple[str, bool]]:
        """The text in pieces, each with whether it was looked for."""
        end = 0
        for start, stop in self.found:
            yield self.text[end:start], False
            yield self.text[start:stop], True
            end = stop
        yield self.text[end:], False


def extract_turn_text(turn: Turn) -> str:
    """What can be found of a turn: what was said, called and answered, but not what was thought."""
    pieces = [piece for part in turn.parts for piece in iterate_part_texts(part)]
    if isinstance(turn, AssistantTurn):
        pieces += [result.text for result in turn.results]
    return "\n".join(piece for piece in pieces if piece.strip())


def parse_search_query(query: str) -> tuple[str, ...]:
    """What a person typed as words and quoted phrases. Nothing else in it means anything."""
    found = (phrase or word for phrase, word in _TERM.findall(sanitize_unicode(query)))
    return tuple(dict.fromkeys(" ".join(term.split()) for term in found if term.strip()))


def find_matches(connection: sqlite3.Connection, wanted: tuple[str, ...], *, indexed: bool) -> dict[str, int]:
    """The conversations in which every term is somewhere, each with the turn that has the most of them."""
    found: dict[str, Counter[int]] = {}
    for place, term in enumerate(wanted):
        turns: dict[str, list[int]] = {}
        for conversation, number in _find_turns(connection, term, indexed):
            if not place or conversation in found:
                turns.setdefault(conversation, []).append(number)
        found = {id: found.get(id, Counter[int]()) + Counter(numbers) for id, numbers in turns.items()}
    return {id: counts.most_common(1)[0][0] for id, counts in found.items()}


def find_contained_terms(text: str, wanted: Iterable[str]) -> set[str]:
    """Those of the terms that a text has in it, as the index would find them."""
    folded = _fold_text(text)
    return {term for term in wanted if re.search(_make_phrase_pattern(term), folded)}


def iterate_strings(value: object) -> Iterator[str]:
    """Every text and number in JSON data, however deep."""
    waiting: list[object] = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for key, field in reversed(cast(dict[str, object], value).items()):
                waiting += (field, key)
        elif isinstance(value, list | tuple):
            waiting += reversed(cast(list[object], value))
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield sanitize_unicode(str(value))


def make_excerpt(text: str, wanted: tuple[str, ...]) -> Excerpt:
    """The piece of a text around the first of the terms in it."""
    pattern = re.compile("|".join(_make_word_patterns(wanted)))
    first = pattern.search(_fold_text(text))
    start = max(0, first.start() - _BEFORE) if first else 0
    stop = start + _BEFORE + _AFTER
    words = " ".join(text[start:stop].split())
    shown = f"{'…' if start else ''}{words}{'…' if stop < len(text) else ''}"
    return Excerpt(shown, tuple(found.span() for found in pattern.finditer(_fold_text(shown)) if found[0]))


def iterate_part_texts(part: UserPart | AssistantPart) -> Iterator[str]:
    """What can be found of a part."""
    match part:
        case Chat():
            yield part.attributed_text
        case Text() | OpaquePart():
            yield part.text
        case ToolCall():
            yield part.name
            yield from iterate_strings(part.arguments)
        case ServerCall():
            yield from iterate_strings(part.input)
        case ServerResult():
            yield part.text
            yield from (source.name for source in part.sources)
        case Image() | Reasoning() | Note() | Update():
            pass


def _find_turns(connection: sqlite3.Connection, term: str, indexed: bool) -> Iterator[tuple[str, int]]:
    if indexed and _is_indexed(term):
        # The beginning of a word is enough, unless something else is behind it, as in `C++`.
        quoted = f'"{term}"{"*" if _WORD.match(term[-1]) else ""}'
        sql = "SELECT conversation, number FROM words JOIN turns ON key = words.rowid WHERE words MATCH ?"
        return iter(connection.execute(sql, (quoted,)))
    # Not LIKE, whose patterns have a length, and characters that mean something.
    return iter(
        connection.execute("SELECT conversation, number FROM turns WHERE instr(lower(text), lower(?))", (term,))
    )


def _is_indexed(term: str) -> bool:
    return bool(_WORD.search(term)) and not _UNSPACED.search(term)


def _make_word_patterns(wanted: tuple[str, ...]) -> Iterator[str]:
    for term in wanted:
        if _is_indexed(term):
            yield from (rf"(?<![^\W_]){re.escape(word)}" for word in _WORD.findall(_fold_text(term)))
        else:
            yield re.escape(_fold_text(term))


def _make_phrase_pattern(term: str) -> str:
    """What finds a term in a text: its words one after another, the last of which may go on."""
    if not _is_indexed(term):
        return re.escape(_fold_text(term))
    return r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, _WORD.findall(_fold_text(term))))


class _FoldTable(dict[int, str]):
    """Each character without case and accents; always one for one, so that places stay where they are."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = unicodedata.normalize("NFKD", chr(code))[0].lower()[0]
        return folded


_FOLD_TABLE = _FoldTable()


def _fold_text(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLD_TABLE)
