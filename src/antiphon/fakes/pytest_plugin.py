"""The pytest fixture `antiphon_fake`. Every pytest run loads this module, so it imports nothing that costs time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from antiphon.fakes import Fake


@pytest.fixture
def antiphon_fake() -> Iterator[Fake]:
    """Yield a served `Fake` with an empty script; `antiphon_fake.play(...)` adds steps."""
    from antiphon.fakes import Fake

    with Fake() as fake:
        yield fake
