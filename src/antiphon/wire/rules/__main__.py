"""Command `python -m antiphon.wire.rules`: print the tables of all rules. `--docs FILE` writes them to a page."""

import argparse
from pathlib import Path

from antiphon.wire.rules.table import render_rule_tables, update_rules_page


def run() -> None:
    """Print the tables, or replace those of the named page."""
    parser = argparse.ArgumentParser(prog="python -m antiphon.wire.rules")
    parser.add_argument("--docs", type=Path, help="replace the tables of this page")
    page: Path | None = parser.parse_args().docs
    if page is None:
        print(render_rule_tables(), end="")
    else:
        page.write_text(update_rules_page(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    run()
