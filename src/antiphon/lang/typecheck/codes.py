"""The codes of diagnostics and their explanations."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def list_codes() -> dict[str, str]:
    """Return every code with its title, in order."""
    found = (
        each for each in files("antiphon.lang.typecheck").joinpath("explain").iterdir() if each.name.endswith(".md")
    )
    titles = {each.name[:-3]: each.read_text("utf-8").split("\n", 1)[0].removeprefix("# ") for each in found}
    return dict(sorted(titles.items()))


def explain_code(code: str) -> str | None:
    """Return the explanation of a code as Markdown, with a wrong and a right example; None for an unknown code."""
    wanted = code.strip().upper()
    if wanted not in list_codes():
        return None
    return files("antiphon.lang.typecheck").joinpath("explain", f"{wanted}.md").read_text("utf-8")
