"""Server-sent events, however their bytes arrive."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.wire.sse import ServerSentEvent, SseParser

_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=12)
_ends = st.sampled_from(["\n", "\r\n", "\r"])


def parsed(pieces: list[bytes]) -> list[ServerSentEvent]:
    parser = SseParser()
    return [event for piece in pieces for event in parser.feed(piece)] + parser.end()


@given(
    st.lists(st.tuples(_texts, st.lists(_texts, min_size=1, max_size=3)), max_size=4), _ends, st.booleans(), st.data()
)
def test_events_are_the_same_in_any_pieces(events: list[Any], end: str, bom: bool, data: st.DataObject) -> None:
    lines = [
        line
        for name, texts in events
        for line in (": ping", f"event: {name}", *(f"data: {text}" for text in texts), "")
    ]
    stream = ("\ufeff" if bom else "").encode() + "".join(line + end for line in lines).encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))) | {0, len(stream)})
    pieces = [stream[a:b] for a, b in pairwise(cuts)]
    wanted = [ServerSentEvent(name, "\n".join(texts)) for name, texts in events]
    assert parsed(pieces) == wanted
    assert parsed([stream[n : n + 1] for n in range(len(stream))]) == wanted


@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n", b"\r\n\r\n", b"\r\r"])
def test_an_event_that_is_not_closed_is_still_one(end: bytes) -> None:
    assert parsed([b"data: a", b"b" + end]) == [ServerSentEvent("", "ab")]
    assert parsed([b"data: \xc3", b"\xa4" + end]) == [ServerSentEvent("", "ä")]


def test_a_byte_order_mark_is_only_one_at_the_start() -> None:
    assert parsed([b"\xef", b"\xbb", b"\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n"]) == [ServerSentEvent("", "a")]
    assert parsed([b"data: a\n\n", b"\xef\xbb\xbfdata: b\n\n"]) == [ServerSentEvent("", "a")]


def test_a_line_that_ends_in_cr_does_not_wait_for_the_next_piece() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\r\r") == [ServerSentEvent("", "a")]
    assert parser.feed(b"\ndata: b\r\n") == []
    assert parser.feed(b"\r\n") == [ServerSentEvent("", "b")]


class Piece(bytes):
    """Bytes that count how much of others is copied to put them together."""

    copied = 0

    def __radd__(self, before: bytes) -> bytes:
        Piece.copied += len(before) + len(self)
        return bytes(before) + bytes(self)

    def __add__(self, after: bytes) -> bytes:
        Piece.copied += len(after) + len(self)
        return bytes(self) + bytes(after)


@pytest.mark.parametrize("size", [1, 100])
def test_a_long_line_is_not_copied_for_every_piece_of_it(size: int) -> None:
    Piece.copied = 0
    line = b"data: " + b"x" * 20_000
    events = parsed([Piece(line[n : n + size]) for n in range(0, len(line), size)])
    assert events == [ServerSentEvent("", "x" * 20_000)]
    assert Piece.copied <= 4 * len(line)
