"""Decompression of answers in small pieces: a short answer may hold gigabytes, and the reader may
stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from antiphon.errors import BadReply, ConnectionFailed

#: The encodings that are requested, and the only ones supported.
ACCEPTED_ENCODINGS = "gzip, deflate"
_CHUNK_SIZE = 65_536


def make_unpacker(headers: Mapping[str, str], provider: str) -> Callable[[bytes], Iterable[bytes]] | None:
    """Return a function that returns chunks of an answer as they are read: without compression, and with events as
    server-sent events. Return None if they already are.
    """
    unpack = make_decompressor(headers.get("content-encoding", ""), provider)
    if not is_event_stream_of_aws(headers):
        return unpack
    from antiphon.providers.aws_events import AwsEventDecoder

    decode = AwsEventDecoder(provider).feed
    return decode if unpack is None else lambda chunk: (event for piece in unpack(chunk) for event in decode(piece))


def is_event_stream_of_aws(headers: Mapping[str, str]) -> bool:
    """Return whether an answer is in AWS's event stream encoding."""
    return headers.get("content-type", "").startswith("application/vnd.amazon.eventstream")


def make_decompressor(encoding: str, provider: str) -> Callable[[bytes], Iterable[bytes]] | None:
    """Return a function that decompresses chunks of an answer, or None if it is not compressed."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise BadReply(
            f"{provider} answered in the encoding {encoding[:40]!r}, which it was not asked for", provider=provider
        )
    import zlib

    # 32: detect gzip and zlib by their headers.
    unpacker = zlib.decompressobj(32 + zlib.MAX_WBITS)

    def unpack(chunk: bytes) -> Iterator[bytes]:
        nonlocal unpacker
        piece = b""
        while chunk or len(piece) == _CHUNK_SIZE:
            if unpacker.eof:
                unpacker = zlib.decompressobj(32 + zlib.MAX_WBITS)
            try:
                piece = unpacker.decompress(chunk, _CHUNK_SIZE)
            except zlib.error as error:
                raise ConnectionFailed(f"{provider}'s answer cannot be unpacked: {error}", provider=provider) from None
            chunk = unpacker.unconsumed_tail or unpacker.unused_data
            if piece:
                yield piece

    return unpack
