"""Real traffic with the four APIs, from the directory that ANTIPHON_RECORDINGS names."""

import json
import os
from pathlib import Path
from typing import Any

import pytest


def exchanges(api: str) -> list[dict[str, Any]]:
    """The recorded exchanges of an API; the test is skipped where there are none."""
    directory = os.environ.get("ANTIPHON_RECORDINGS")
    if not directory:
        pytest.skip("ANTIPHON_RECORDINGS names no directory of recorded exchanges")
    lines = (Path(directory) / f"{api}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]
