"""Where the journals of the tests lie: in a file, and in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The place of a journal."""
    return str(tmp_path / "j.db") if request.param == "sqlite" else request.getfixturevalue("postgres")
