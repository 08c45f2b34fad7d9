"""The page `docs/models.md`, generated from the table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from antiphon.facts.fields import MAPPING_FIELDS
from antiphon.facts.model_facts import Facts
from antiphon.facts.resolution import KnownModel, list_known_models
from antiphon.facts.table import load_fact_table
from antiphon.facts.validation import get_field_types

_HEAD = """\
# Models

This page is written by `python -m antiphon.facts --docs docs/models.md` from the files in `src/antiphon/facts/data`.
A dash is "not known". `antiphon setup models show NAME` prints every fact about a model with its source and date. A
model that is not listed can be used all the same: what its server refuses is learned when it refuses it.

| column | says |
|---|---|
| context, output | the most tokens of a conversation, and of an answer |
| forced choice | whether a tool can be demanded: `no_required` allows only a named one |
| thinking | on, off, always or never by default, and how it is turned off |
| efforts | the words that `reasoning` takes |
| schema | whether the server holds answers to a JSON Schema; `json_only` means JSON of any form |
| bound | what happens to thinking behind a changed prompt: `refuses`, `by_account`, `drops` |
| cache | the smallest prompt that is cached, in tokens |
| until | the day of the shutdown, and the model to use in its place |
"""
_COLUMNS = ("model", "context", "output", "forced choice", "thinking", "efforts", "schema", "bound", "cache", "until")
_TAIL = """\
## Facts of your own

In `antiphon.toml`, or in your own `config.toml`:

```toml
[models."ollama/qwen3:8b"]
context = 40_960
inputs = { images = false }
thinking = { default = "on", off = "none" }
```

The first source that has a fact decides. The order is: you, a refusal in this process, the vendor's
answer to `antiphon setup models refresh`, the platform, the model, its family, the provider. From Python it is
[`register_model`](providers.md#what-a-model-can-do-and-what-it-costs).
"""


def render_models_page() -> str:
    """Return the text of the page."""
    parts = [_HEAD]
    models = sorted(list_known_models(), key=lambda each: _get_provider_order(each.provider))
    for provider, group in groupby(models, key=lambda each: each.provider):
        parts.append(f"## {provider}\n\n" + "\n".join(_render_table(list(group))) + "\n")
    parts += [_TAIL, _render_fields(), _render_sources()]
    return "\n".join(parts)


def _get_provider_order(provider: str) -> int:
    return list(dict.fromkeys(each.provider for each in list_known_models())).index(provider)


def _render_table(models: list[KnownModel]) -> Iterator[str]:
    yield f"| {' | '.join(_COLUMNS)} |"
    yield "|" + "---|" * len(_COLUMNS)
    for each in models:
        yield f"| {' | '.join(_render_row(each))} |"


def _render_row(model: KnownModel) -> Iterator[str]:
    facts = model.facts
    yield f"`{model.name}`" + (" (default)" if facts.default_for else "")
    yield from (_format_number(facts.context), _format_number(facts.max_output), facts.forced_choice or "–")
    yield _format_thinking(facts)
    yield "–" if facts.efforts is None else ", ".join(facts.efforts) or "none"
    yield from (
        facts.schema or "–",
        facts.bound_thinking or "–",
        _format_number(facts.cache.min),
        _format_retirement(facts),
    )


def _format_number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _format_thinking(facts: Facts) -> str:
    off = f", off: {facts.thinking.off}" if facts.thinking.off else ""
    return f"{facts.thinking.default}{off}" if facts.thinking.default else "–"


def _format_retirement(facts: Facts) -> str:
    life = facts.lifecycle
    date = life.retires.isoformat() if life.retires else "retired" if life.state == "retired" else ""
    return f"{date} → `{life.replaced_by}`" if date and life.replaced_by else date or "–"


def _render_fields() -> str:
    named = dict.fromkeys(name.partition(".")[0] for name in get_field_types())
    listed = [name for name in Facts._fields if name in named or name in MAPPING_FIELDS]
    return "All fields: " + ", ".join(f"`{name}`" for name in listed) + ".\n"


def _render_sources() -> str:
    lines = [
        "## Sources",
        "",
        "D documented, P probed by a peer, L in a peer's table, B in an article, I inferred.",
        "",
    ]
    for key, source in load_fact_table().sources.items():
        place = source.get("url") or source["package"]
        lines.append(f"- `{key}`: {source['title']}, {place}")
    return "\n".join(lines) + "\n"
