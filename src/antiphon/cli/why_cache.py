"""`antiphon why-cache`: show how each request used the provider's cache, and why it was missed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.completers import SESSION_PARAM
from antiphon.cli.sessions import SessionEntry, Sessions, open_sessions
from antiphon.cli.style import echo_json

if TYPE_CHECKING:
    from antiphon.durable import EffectEntry
    from antiphon.wire import CacheReport


@click.command("why-cache")
@click.argument("session", default="last", type=SESSION_PARAM)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON for each request.")
@click.pass_context
def why_cache(context: click.Context, session: str, as_json: bool) -> None:
    """Show how the requests of a session used the provider's cache.

    For each request: how much of the earlier input came from the cache. Otherwise the first part that
    changed, the tokens that were read again, and their cost. Rows of a batch are shown with it. Exit code: 0 no cache
    misses, 1 some, or no reports.
    """
    lost, count = 0, 0
    with open_sessions() as sessions:
        for step, model, report in _find_reports(sessions, sessions.find(session)):
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


def _find_reports(sessions: Sessions, session: SessionEntry) -> Iterator[tuple[str, str, CacheReport]]:
    """Yield the reports of a session and its rows, each with its step and model."""
    if session.conversation is not None:
        for number, told in enumerate(sessions.store.cache_reports(session.id), 1):
            yield str(number), *told
        return
    yield from _read_reports(sessions.steps(session), "")
    for row in sessions.children(session):
        yield from _read_reports(sessions.steps(row), f"{row.id}:")


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
