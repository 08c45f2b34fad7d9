"""What a person is asked about a call that is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """May the call run, or what is the answer to the question its tool has put? `allowed`: it may, but has not yet."""

    kind: Literal["approval", "question"]
    text: str
    allowed: bool = False
