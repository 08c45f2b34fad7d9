"""`antiphon why-cache`: show how each request used the provider's cache, and why it was missed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.completers import RUN_PARAM
from antiphon.cli.options import DB_OPTION
from antiphon.cli.runs import open_journal
from antiphon.cli.style import echo_json
from antiphon.errors import NotSavedError

if TYPE_CHECKING:
    from antiphon.durable import EffectEntry, Journal
    from antiphon.wire import CacheReport


@click.command("why-cache")
@click.argument("id", default="last", type=RUN_PARAM)
@DB_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON for each request.")
@click.pass_context
def why_cache(context: click.Context, id: str, db: str | None, as_json: bool) -> None:
    """Show how each request of a run or a saved conversation used the provider's cache.

    For each request: how much of the earlier input came from the cache. Otherwise the first part that
    changed, the tokens that were read again, and their cost. ID may be shortened, and `last` is the newest
    run. Rows of `antiphon map` are shown with their batch. Exit code: 0 no cache misses, 1 some, or no
    reports.
    """
    context.obj = db
    lost, count = 0, 0
    with open_journal() as journal:
        for step, model, report in _find_reports(journal, id):
            count += 1
            lost += report.lost
            cost = _cache_miss_cost(model, report.lost)
            if as_json:
                told = {"step": step, "model": model, **asdict(report), "lost": report.lost, "cost": cost}
                echo_json(json.dumps(told, ensure_ascii=False))
            else:
                price = f", ${cost:.4f} more" if cost else ""
                click.echo(escape_unprintable(f"{step}  {model}  {report}{price}"))
    if not count:
        click.echo("There are no reports: no request was sent, or the provider reports no cache use.")
    context.exit(int(lost > 0 or not count))


def _find_reports(journal: Journal, id: str) -> Iterator[tuple[str, str, CacheReport]]:
    """Yield the reports of a run and its rows, or those of a saved conversation, each with its step and model."""
    try:
        run = journal.find(id)
    except NotSavedError as no_run:
        from antiphon.storage import Store

        try:
            with Store() as store:
                found = store.cache_reports(id)
        except NotSavedError as no_conversation:
            raise NotSavedError(f"{no_run}, and {no_conversation}") from None
        yield from ((str(number), *told) for number, told in enumerate(found, 1))
        return
    yield from _read_reports(journal.iterate_effects(run.id), "")
    for row in journal.list_runs(parent=run.id):
        yield from _read_reports(journal.iterate_effects(row.id), f"{row.id}/")


def _read_reports(effects: Iterator[EffectEntry], prefix: str) -> Iterator[tuple[str, str, CacheReport]]:
    from antiphon.effects.types import ModelReplied

    for effect in effects:
        outcome: Any = getattr(effect.outcome, "value", effect.outcome)
        if isinstance(outcome, ModelReplied) and outcome.reply.cache is not None:
            yield f"{prefix}{effect.path}", str(effect.asked.get("model", "")), outcome.reply.cache


def _cache_miss_cost(model: str, tokens: int) -> float | None:
    """Return the additional cost of tokens that were not read from the cache."""
    from antiphon.providers.catalog import compute_cost
    from antiphon.wire import Usage

    provider, _, name = model.partition("/")
    as_new = compute_cost(provider, name, Usage(tokens, 0))
    from_cache = compute_cost(provider, name, Usage(tokens, 0, cache_read_tokens=tokens))
    return None if as_new is None or from_cache is None else as_new - from_cache
