"""PNG images as sixels, with a small decoder and encoder and no library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

#: Steps of red, green and blue in the palette: every sixel terminal supports 6 × 6 × 6 colours.
_COLOR_STEPS = 6
#: Larger images take this decoder too long.
_MAX_PIXELS = 600_000
_CHANNELS_BY_COLOR_TYPE = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

PixelRows = list[list[int]]


def encode_sixel(content: bytes, most: int) -> str:
    """Return the image as sixels, at most `most` pixels wide; "" for large or rare ones (interlaced, 16 bits)."""
    try:
        rows = _decode_downscaled(content, most)
    except (ValueError, zlib.error, struct.error, IndexError):
        return ""
    return f"\x1bPq{_encode_palette(rows)}{'-'.join(_encode_bands(rows))}\x1b\\" if rows else ""


def _decode_downscaled(content: bytes, most: int) -> PixelRows:
    """Decode the image to palette numbers, downscaled by skipping pixels."""
    header, palette, data = _read_chunks(content)
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if depth != 8 or interlaced or kind not in _CHANNELS_BY_COLOR_TYPE or not 0 < width * height <= _MAX_PIXELS:
        raise ValueError("a PNG that is not read")
    channels = _CHANNELS_BY_COLOR_TYPE[kind]
    stride = width * channels
    inflater = zlib.decompressobj()
    # Decompress at most the size that the header declares.
    raw = inflater.decompress(data, height * (stride + 1))
    step = max(-(-width // most), -(-height // (most * 2)))
    rows: PixelRows = []
    previous = bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        line = _undo_filter(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), previous, channels)
        if len(line) < stride:
            raise ValueError("a PNG that ends too early")
        if y % step == 0:
            rows.append([_quantize_pixel(line, x * channels, kind, palette) for x in range(0, width, step)])
        previous = line
    return rows


def _read_chunks(content: bytes) -> tuple[bytes, bytes, bytes]:
    header = palette = b""
    data: list[bytes] = []
    at = 8
    while at + 8 <= len(content):
        length, name = struct.unpack(">I4s", content[at : at + 8])
        body = content[at + 8 : at + 8 + length]
        header, palette = (body if name == b"IHDR" else header), (body if name == b"PLTE" else palette)
        if name == b"IDAT":
            data.append(body)
        at += 12 + length
    return header, palette, b"".join(data)


def _undo_filter(kind: int, line: bytearray, above: bytearray, channels: int) -> bytearray:
    """Reverse the PNG filter of a line."""
    for x in range(len(line) if kind else 0):
        left = line[x - channels] if x >= channels else 0
        up, corner = above[x], above[x - channels] if x >= channels else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        else:
            guess = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
        line[x] = (line[x] + guess) & 255
    return line


def _quantize_pixel(line: bytearray, at: int, kind: int, palette: bytes) -> int:
    """Return the palette number of a pixel; mostly transparent pixels have the last."""
    if kind == 3:
        red, green, blue = palette[3 * line[at] : 3 * line[at] + 3]
    elif kind in (0, 4):
        red = green = blue = line[at]
    else:
        red, green, blue = line[at : at + 3]
    if (kind == 4 and line[at + 1] < 128) or (kind == 6 and line[at + 3] < 128):
        return _COLOR_STEPS**3
    levels = ((part * (_COLOR_STEPS - 1) + 127) // 255 for part in (red, green, blue))
    return sum(level * _COLOR_STEPS**place for place, level in zip((2, 1, 0), levels, strict=True))


def _encode_palette(rows: PixelRows) -> str:
    used = sorted({color for row in rows for color in row} - {_COLOR_STEPS**3})
    parts = ((color // 36, color // 6 % 6, color % 6) for color in used)
    return "".join(f"#{color};2;{r * 20};{g * 20};{b * 20}" for color, (r, g, b) in zip(used, parts, strict=True))


def _encode_bands(rows: PixelRows) -> Iterator[str]:
    """Yield bands of six pixel rows; each colour is drawn over the whole band."""
    for top in range(0, len(rows), 6):
        band = rows[top : top + 6]
        masks: dict[int, list[int]] = {}
        for bit, row in enumerate(band):
            for x, color in enumerate(row):
                if color < _COLOR_STEPS**3:
                    masks.setdefault(color, [0] * len(row))[x] |= 1 << bit
        yield "$".join(f"#{color}{_run_length_encode(mask)}" for color, mask in masks.items())


def _run_length_encode(mask: list[int]) -> str:
    """Encode runs of equal columns with their length."""
    pieces: list[str] = []
    start = 0
    for x in range(1, len(mask) + 1):
        if x == len(mask) or mask[x] != mask[start]:
            character = chr(63 + mask[start])
            pieces.append(f"!{x - start}{character}" if x - start > 3 else character * (x - start))
            start = x
    return "".join(pieces)
