"""Encoding of AWS's event streams, by the form that AWS documents."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Iterable, Mapping
from zlib import crc32

from antiphon._base.json import dump_json

#: The type of a header value that is a text.
_TEXT = 7


def encode_aws_event(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return one message: its lengths, headers and payload, each part with its checksum."""
    coded = b"".join(_encode_header(name, value) for name, value in headers.items())
    prelude = struct.pack("!II", len(coded) + len(payload) + 16, len(coded))
    message = prelude + struct.pack("!I", crc32(prelude)) + coded + payload
    return message + struct.pack("!I", crc32(message))


def encode_chunks(events: Iterable[bytes]) -> list[bytes]:
    """Return server-sent events of the Messages API as the events of InvokeModelWithResponseStream."""
    return [_encode_chunk(event.partition(b"data: ")[2].strip()) for event in events]


def encode_exception(kind: str, message: str) -> bytes:
    """Return the message with which a stream ends that has failed."""
    headers = {":message-type": "exception", ":exception-type": kind, ":content-type": "application/json"}
    return encode_aws_event(headers, dump_json({"message": message}).encode())


def _encode_chunk(content: bytes) -> bytes:
    headers = {":message-type": "event", ":event-type": "chunk", ":content-type": "application/json"}
    # AWS fills up the messages with a text of random length.
    return encode_aws_event(headers, dump_json({"bytes": b64encode(content).decode(), "p": "abcdef"}).encode())


def _encode_header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack("!B", len(key)) + key + struct.pack("!BH", _TEXT, len(text)) + text
