"""Full-text search in conversations, and excerpts around the matches."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from antiphon._base.json import sanitize_unicode
from antiphon.conversation import (
    AssistantPart,
    Chat,
    File,
    Media,
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

if TYPE_CHECKING:
    from antiphon.storage.database import Database

_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
_WORD = re.compile(r"[^\W_]+")
# Scripts written without spaces between words, of which the index makes one long word, and characters newer than it.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00010000-\U0010ffff]"
)
_BEFORE, _AFTER = 50, 110


@dataclass(frozen=True, slots=True)
class Excerpt:
    """An excerpt of a turn; `found` holds the spans of the matched words in it."""

    text: str
    found: tuple[tuple[int, int], ...] = ()

    def split_pieces(self) -> Iterator[tuple[str, bool]]:
        """Yield the text in pieces, each with whether it is a match."""
        end = 0
        for start, stop in self.found:
            yield self.text[end:start], False
            yield self.text[start:stop], True
            end = stop
        yield self.text[end:], False


def extract_turn_text(turn: Turn) -> str:
    """Return the searchable text of a turn: messages, calls and results, but no reasoning."""
    pieces = [piece for part in turn.parts for piece in iterate_part_texts(part)]
    if isinstance(turn, AssistantTurn):
        pieces += [result.text for result in turn.results]
    return "\n".join(piece for piece in pieces if piece.strip())


def parse_search_query(query: str) -> tuple[str, ...]:
    """Split a query into words and quoted phrases. It has no other syntax."""
    found = (phrase or word for phrase, word in _TERM.findall(sanitize_unicode(query)))
    return tuple(dict.fromkeys(" ".join(term.split()) for term in found if term.strip()))


def find_matches(database: Database, connection: Any, wanted: tuple[str, ...]) -> dict[str, int]:
    """Return the sessions whose transcripts contain every term, each with the turn that has the most matches."""
    found: dict[str, Counter[int]] = {}
    for place, term in enumerate(wanted):
        turns: dict[str, list[int]] = {}
        for session, position in database.find_turns(connection, term):
            if not place or session in found:
                turns.setdefault(session, []).append(position)
        found = {id: found.get(id, Counter[int]()) + Counter(numbers) for id, numbers in turns.items()}
    return {id: counts.most_common(1)[0][0] for id, counts in found.items()}


def find_transcripts(database: Database, wanted: tuple[str, ...]) -> dict[str, int]:
    """Return the sessions whose transcripts contain every term, each with the turn that has the most matches."""
    if not database.exists:
        return {}
    with database.read_transaction() as connection:
        return find_matches(database, connection, wanted)


def load_excerpt(database: Database, session: str, position: int, wanted: tuple[str, ...]) -> Excerpt:
    """Return the excerpt of a turn around the terms."""
    sql = "SELECT text FROM transcript JOIN turn_texts ON key = text_key WHERE session = ? AND position = ?"
    rows = database.query(sql, (session, position))
    return make_excerpt(rows[0][0] if rows and isinstance(rows[0][0], str) else "", wanted)


def find_contained_terms(text: str, wanted: Iterable[str]) -> set[str]:
    """Return the terms that occur in a text, by the rules of the index."""
    folded = fold_text(text)
    return {term for term in wanted if re.search(_make_phrase_pattern(term), folded)}


def iterate_strings(value: object) -> Iterator[str]:
    """Yield every text, number and key of JSON data, in order."""
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
    """Return the excerpt of a text around the first match."""
    pattern = re.compile("|".join(_make_word_patterns(wanted)))
    first = pattern.search(fold_text(text))
    start = max(0, first.start() - _BEFORE) if first else 0
    stop = start + _BEFORE + _AFTER
    words = " ".join(text[start:stop].split())
    shown = f"{'…' if start else ''}{words}{'…' if stop < len(text) else ''}"
    return Excerpt(shown, tuple(found.span() for found in pattern.finditer(fold_text(shown)) if found[0]))


def iterate_part_texts(part: UserPart | AssistantPart) -> Iterator[str]:
    """Yield the searchable texts of a part."""
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
        case Media() | File():
            yield part.name
        case Reasoning() | Note() | Update():
            pass


def list_words(text: str) -> list[str]:
    """Return the words of a text without case and accents."""
    return _WORD.findall(fold_text(text))


def is_prefix(term: str) -> bool:
    """Return whether longer words match the last word of a term too; not if it ends with a sign, as in `C++`."""
    return _WORD.match(term[-1]) is not None


def is_indexed(term: str) -> bool:
    """Return whether a term consists of words, so that an index of words finds it."""
    return bool(_WORD.search(term)) and not _UNSPACED.search(term)


def _make_word_patterns(wanted: tuple[str, ...]) -> Iterator[str]:
    for term in wanted:
        if is_indexed(term):
            yield from (rf"(?<![^\W_]){re.escape(word)}" for word in _WORD.findall(fold_text(term)))
        else:
            yield re.escape(fold_text(term))


def _make_phrase_pattern(term: str) -> str:
    """Return the pattern of a term: its words in order, the last of which may be a prefix."""
    if not is_indexed(term):
        return re.escape(fold_text(term))
    return r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, _WORD.findall(fold_text(term))))


class _FoldTable(dict[int, str]):
    """Maps each character to one without case and accents, so that positions stay the same."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = unicodedata.normalize("NFKD", chr(code))[0].lower()[0]
        return folded


_FOLD_TABLE = _FoldTable()


def fold_text(text: str) -> str:
    """Return a text without case and accents, with each character in its place."""
    return text.lower() if text.isascii() else text.translate(_FOLD_TABLE)
