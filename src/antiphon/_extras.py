"""What is installed only where it is wanted, and the command that installs it here.

Tools such as pipx and uv keep `antiphon` in an environment of its own, which the `pip` of a shell knows nothing of.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path


def lacking(needing: str, extra: str, error: ImportError) -> str:
    """What is said where `needing`, such as "the page needs", finds a package of an extra missing, or broken."""
    command = install_command(extra)
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        said = " ".join(str(error).split())
        return f"{needing} `antiphon[{extra}]`, of which something cannot be loaded ({said}): {command}"
    return f"{needing} `{error.name.partition('.')[0]}`: {command}"


def price_hint() -> str:
    """What to add where a price is not known, if no prices are installed."""
    return "" if find_spec("genai_prices") else f" (prices come with an extra: {install_command('prices')})"


def install_command(extra: str) -> str:
    """The command that installs an extra into the environment that this is."""
    environment, name = Path(sys.prefix), f"antiphon[{extra}]"
    if (environment / "pipx_metadata.json").exists():
        return f"pipx inject antiphon '{name}'"
    if (environment / "uv-receipt.toml").exists():
        return f"uv tool install '{name}{_origin()}'"
    if environment.parent.name.startswith("archive-v"):
        # The cache of uv, where `uvx` makes its environments.
        return f"uvx --from '{name}{_origin()}' antiphon"
    return f"{'pip' if find_spec('pip') else 'uv pip'} install '{name}'"


def _origin() -> str:
    """Where it came from, if that was a file: what makes an environment anew would look for it in the registry."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        said = json.loads(distribution("antiphon").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    return f" @ {said['url']}" if "archive_info" in said else ""
