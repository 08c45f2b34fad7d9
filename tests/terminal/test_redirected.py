"""Output of others while a live region is shown."""

from __future__ import annotations

from io import StringIO

import pytest

from antiphon.terminal.live_region import _RedirectedStream


def test_only_text_is_taken_and_in_whole_lines() -> None:
    put: list[str] = []
    stream = _RedirectedStream(StringIO(), put.append)
    with pytest.raises(TypeError, match="takes text, not bytes"):
        stream.write(b"x")  # type: ignore[arg-type]
    assert stream.write("one\ntwo\nth") == 10
    assert (put, stream.rest) == (["one\ntwo\n"], "th")
    stream.write("ree\n")
    assert (put[1:], stream.rest) == (["three\n"], "")
