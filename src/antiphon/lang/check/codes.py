"""The codes of diagnostics, and what is to be said about each."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def codes() -> dict[str, str]:
    """Every code with its title, in order."""
    found = (each for each in files("antiphon.lang.check").joinpath("explain").iterdir() if each.name.endswith(".md"))
    titles = {each.name[:-3]: each.read_text("utf-8").split("\n", 1)[0].removeprefix("# ") for each in found}
    return dict(sorted(titles.items()))


def explain(code: str) -> str | None:
    """The explanation of a code as Markdown, with a wrong and a right example; `None` if there is no such code."""
    wanted = code.strip().upper()
    if wanted not in codes():
        return None
    return files("antiphon.lang.check").joinpath("explain", f"{wanted}.md").read_text("utf-8")
