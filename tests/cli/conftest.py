"""A fake in place of OpenAI, for whoever asks by the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.fakes import Fake


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    """The provider of the model in use; one is in an empty directory, of which nothing was decided."""
    with Fake() as fake:
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
        monkeypatch.setenv("ANTIPHON_MODEL", "openai/gpt-5")
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        (tmp_path / "work").mkdir()
        monkeypatch.chdir(tmp_path / "work")
        yield fake
