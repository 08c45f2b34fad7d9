"""Questions to a person about an open call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question about an open call: its approval, the question of its tool, or its result from outside.

    `allowed` is set for a call that is approved but has not run yet.
    """

    kind: Literal["approval", "question", "result"]
    text: str
    allowed: bool = False
