"""Command `python -m antiphon.facts`: write `facts.json` from the TOML files, and with `--docs FILE`
the models page.
"""

import argparse
from pathlib import Path

from antiphon.facts.build import write_fact_table


def run_build() -> None:
    """Write the table, and the page if one is named."""
    parser = argparse.ArgumentParser(prog="python -m antiphon.facts")
    parser.add_argument("--docs", type=Path, help="write the page of models to this file too")
    page: Path | None = parser.parse_args().docs
    write_fact_table()
    if page is not None:
        from antiphon.facts.models_page import render_models_page

        page.write_text(render_models_page(), encoding="utf-8")


if __name__ == "__main__":
    run_build()
