"""`system/hash`: digests of texts and bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.system import SystemFunction
from antiphon.lang.runtime.system.files import encode_text
from antiphon.lang.typecheck import types as t


def _digest(make: Callable[..., Any], value: str | list[int]) -> str:
    try:
        data = encode_text(value) if isinstance(value, str) else bytes(value)
    except (ValueError, TypeError):
        raise VibeError("V0904", "bytes are integers from 0 to 255") from None
    return make(data, usedforsecurity=False).hexdigest()


FUNCTIONS = {
    name: SystemFunction(
        f"The {name.upper()} of a text (in UTF-8) or of bytes, in hexadecimal digits.",
        partial(_digest, getattr(hashlib, name)),
        {"value": t.Union((t.TEXT, t.Array(t.NUMBER)))},
        t.TEXT,
    )
    for name in ("sha256", "sha512", "sha1", "md5")
}
