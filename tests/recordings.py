"""Real traffic with the four APIs, from the directory that ANTIPHON_RECORDINGS names.

That of servers that speak the API of another is in the one that ANTIPHON_RECORDINGS_COMPATIBLE names.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

#: The APIs with recordings.
RECORDED_APIS = ("anthropic", "openai-chat", "openai-responses", "gemini")


def exchanges(api: str) -> list[dict[str, Any]]:
    """The recorded exchanges of an API; the test is skipped where there are none."""
    return _lines("ANTIPHON_RECORDINGS", api)


def compatible_exchanges() -> list[dict[str, Any]]:
    """Those with servers that speak the API of another; each says which in `provider` and `api`."""
    return _lines("ANTIPHON_RECORDINGS_COMPATIBLE", "compatible")


def _lines(variable: str, name: str) -> list[dict[str, Any]]:
    directory = os.environ.get(variable)
    if not directory:
        pytest.skip(f"{variable} names no directory of recorded exchanges")
    lines = (Path(directory) / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]
