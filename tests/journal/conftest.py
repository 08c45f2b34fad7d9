"""Where the journals of the tests lie: in a file, and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests import postgres_server


@pytest.fixture
def postgres() -> Generator[str]:
    """The URL of an empty database."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The place of a journal."""
    return str(tmp_path / "j.db") if request.param == "sqlite" else request.getfixturevalue("postgres")
