"""Options that several commands have, and the parsing of their values."""

from __future__ import annotations

import math
from collections.abc import Iterable

import click

from antiphon.cli.completers import MODEL_PARAM
from antiphon.errors import ConfigurationError


def check_finite_cost(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Return a cost limit; raise a usage error for infinity and NaN."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("expected a number of dollars")
    return value


def parse_pairs(values: Iterable[str], flag: str) -> dict[str, str]:
    """Parse repeated `name=value` options into a dict; if a name is repeated, the last value wins."""
    out: dict[str, str] = {}
    for each in values:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError(f"`{flag}` takes NAME=VALUE, not {each!r}")
        out[name.strip()] = value
    return out


JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
JSON_REPORT_OPTION = click.option("--json", "as_json", is_flag=True, help="Print only one JSON object, at the end.")
MODEL_OPTION = click.option("--model", metavar="NAME", type=MODEL_PARAM, help="The model for requests that name none.")
MAX_COST_OPTION = click.option("--max-cost", type=click.FloatRange(min=0), callback=check_finite_cost, metavar="USD",
                               help="Stop before spending more in total.")  # fmt: skip
WAIT_OPTION = click.option("--wait", is_flag=True, help="Wait for answers and times instead of exiting.")
YES_OPTION = click.option("--yes", is_flag=True, help="Approve all tool calls.")
