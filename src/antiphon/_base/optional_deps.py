"""Optional dependencies: messages about a missing extra and the command that installs it.

Tools such as pipx and uv keep `antiphon` in its own environment, which the `pip` of a shell does not see.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path


def describe_missing_extra(needing: str, extra: str, error: ImportError) -> str:
    """Return the message for a package of an extra that is missing or cannot be loaded.

    `needing` begins the sentence, such as "the page needs".
    """
    command = build_install_command(extra)
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        said = " ".join(str(error).split())
        return f"{needing} `antiphon[{extra}]`, of which something cannot be loaded ({said}): {command}"
    return f"{needing} `{error.name.partition('.')[0]}`: {command}"


def format_price_hint() -> str:
    """Return a hint to install the `prices` extra, or an empty string if it is installed."""
    return "" if find_spec("genai_prices") else f" (prices come with an extra: {build_install_command('prices')})"


def build_install_command(extra: str) -> str:
    """Return the command that installs an extra into the current environment."""
    environment, name = Path(sys.prefix), f"antiphon[{extra}]"
    if (environment / "pipx_metadata.json").exists():
        return f"pipx inject antiphon '{name}'"
    if (environment / "uv-receipt.toml").exists():
        return f"uv tool install '{name}{_find_install_url()}'"
    if environment.parent.name.startswith("archive-v"):
        # `uvx` creates its environments in the cache of uv.
        return f"uvx --from '{name}{_find_install_url()}' antiphon"
    return f"{'pip' if find_spec('pip') else 'uv pip'} install '{name}'"


def _find_install_url() -> str:
    """Return ` @ URL` if Antiphon was installed from a file, otherwise an empty string.

    An installer that recreates the environment would look for the package in the registry instead.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        said = json.loads(distribution("antiphon").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    return f" @ {said['url']}" if "archive_info" in said else ""
