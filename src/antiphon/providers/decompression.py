"""Compressed answers, unpacked in small pieces: a short one may hold gigabytes, and whoever reads may stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from antiphon.errors import BadReply, ConnectionFailed

#: What is asked for, and all that is understood.
ACCEPTED = "gzip, deflate"
_PIECE = 65_536


def unpacking(encoding: str, provider: str) -> Callable[[bytes], Iterable[bytes]] | None:
    """How to unpack the chunks of an answer with this `content-encoding`; nothing where it is not packed."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise BadReply(
            f"{provider} answered in the encoding {encoding[:40]!r}, which it was not asked for", provider=provider
        )
    import zlib

    # 32: gzip and zlib are told apart by their headers.
    unpacker = zlib.decompressobj(32 + zlib.MAX_WBITS)

    def unpack(chunk: bytes) -> Iterator[bytes]:
        nonlocal unpacker
        piece = b""
        while chunk or len(piece) == _PIECE:
            if unpacker.eof:
                unpacker = zlib.decompressobj(32 + zlib.MAX_WBITS)
            try:
                piece = unpacker.decompress(chunk, _PIECE)
            except zlib.error as error:
                raise ConnectionFailed(f"{provider}'s answer cannot be unpacked: {error}", provider=provider) from None
            chunk = unpacker.unconsumed_tail or unpacker.unused_data
            if piece:
                yield piece

    return unpack
