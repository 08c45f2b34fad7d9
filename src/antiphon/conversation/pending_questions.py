"""Questions to a person about an open call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question about an open call: its approval, or the question of its tool.

    `allowed` is set for a call that is approved but has not run yet.
    """

    kind: Literal["approval", "question"]
    text: str
    allowed: bool = False
