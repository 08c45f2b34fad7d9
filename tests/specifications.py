"""The examples of CommonMark's and GitHub's specifications, which `make specifications` fetches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PLACE = Path(__file__).parents[1] / "build" / "specifications"
_EXAMPLE = re.compile(r"^`{32} example ?(\w*)\n(.*?)^\.\n(.*?)^`{32}$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """One example by its number: a text, and the HTML that it is; `extension` is the name of GitHub's addition."""

    number: int
    extension: str
    text: str
    html: str


@cache
def read_examples(name: str) -> tuple[Example, ...]:
    """Return the examples of a specification; raise FileNotFoundError where it was not fetched."""
    path = _PLACE / f"{name}.txt"
    if not path.exists():
        raise FileNotFoundError(f"{path} was not fetched. Run `make specifications`, which needs the network once.")
    # Tabs are arrows in it.
    found = _EXAMPLE.findall(path.read_text("utf-8").replace("→", "\t"))
    return tuple(Example(number, *each) for number, each in enumerate(found, 1))
