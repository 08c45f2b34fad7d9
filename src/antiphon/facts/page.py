"""The page `docs/models.md`, written from the table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from antiphon.facts.checking import field_kinds
from antiphon.facts.fields import MAPPINGS
from antiphon.facts.model_facts import Facts
from antiphon.facts.resolution import KnownModel, all_models
from antiphon.facts.table import load_table

_HEAD = """\
# Models

This page is written by `python -m antiphon.facts --docs docs/models.md` from the files in `src/antiphon/facts/data`.
A dash is "not known". `antiphon models show NAME` prints every fact about a model with its source and date. A model
that is not listed can be used all the same: what its server refuses is learned when it refuses it.

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

The first that speaks of a fact is believed: you, a refusal in this process, the vendor's answer to `antiphon models
refresh`, the platform, the model, its family, the provider. From Python it is
[`register_model`](providers.md#what-a-model-can-do-and-what-it-costs).
"""


def write_page() -> str:
    """Return the text of the page."""
    parts = [_HEAD]
    models = sorted(all_models(), key=lambda each: _order(each.provider))
    for provider, group in groupby(models, key=lambda each: each.provider):
        parts.append(f"## {provider}\n\n" + "\n".join(_table(list(group))) + "\n")
    parts += [_TAIL, _fields(), _sources()]
    return "\n".join(parts)


def _order(provider: str) -> int:
    return list(dict.fromkeys(each.provider for each in all_models())).index(provider)


def _table(models: list[KnownModel]) -> Iterator[str]:
    yield f"| {' | '.join(_COLUMNS)} |"
    yield "|" + "---|" * len(_COLUMNS)
    for each in models:
        yield f"| {' | '.join(_row(each))} |"


def _row(model: KnownModel) -> Iterator[str]:
    facts = model.facts
    yield f"`{model.name}`" + (" (default)" if facts.default_for else "")
    yield from (_number(facts.context), _number(facts.max_output), facts.forced_choice or "–")
    yield _thinking(facts)
    yield "–" if facts.efforts is None else ", ".join(facts.efforts) or "none"
    yield from (facts.schema or "–", facts.bound_thinking or "–", _number(facts.cache.min), _until(facts))


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _thinking(facts: Facts) -> str:
    off = f", off: {facts.thinking.off}" if facts.thinking.off else ""
    return f"{facts.thinking.default}{off}" if facts.thinking.default else "–"


def _until(facts: Facts) -> str:
    life = facts.lifecycle
    date = life.retires.isoformat() if life.retires else "retired" if life.state == "retired" else ""
    return f"{date} → `{life.replaced_by}`" if date and life.replaced_by else date or "–"


def _fields() -> str:
    named = dict.fromkeys(name.partition(".")[0] for name in field_kinds())
    listed = [name for name in Facts._fields if name in named or name in MAPPINGS]
    return "All fields: " + ", ".join(f"`{name}`" for name in listed) + ".\n"


def _sources() -> str:
    lines = [
        "## Sources",
        "",
        "D documented, P probed by a peer, L in a peer's table, B in an article, I inferred.",
        "",
    ]
    for key, source in load_table().sources.items():
        place = source.get("url") or source["package"]
        lines.append(f"- `{key}`: {source['title']}, {place}")
    return "\n".join(lines) + "\n"
