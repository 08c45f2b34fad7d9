"""`python -m tests.facts.litellm_table WHEEL`: write `litellm.json` from a wheel of litellm."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from antiphon.facts import list_known_models

_MEMBER = "litellm/model_prices_and_context_window_backup.json"
_PREFIXES = {"anthropic": "", "openai": "", "google": "gemini/", "zai": "zai/", "moonshot": "moonshot/"}
_KEPT = (
    "max_input_tokens",
    "max_output_tokens",
    "thinking_always_on",
    "prompt_cache_min_tokens",
    "deprecation_date",
)


def main(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        table: dict[str, Any] = json.loads(archive.read(_MEMBER))
    models: dict[str, Any] = {}
    for model in list_known_models():
        said = table.get(f"{_PREFIXES.get(model.provider, f'{model.provider}/')}{model.name}")
        if said is not None:
            kept = {key: value for key, value in said.items() if key.startswith("supports_") or key in _KEPT}
            above = sorted(
                key for key in said if key.startswith("input_cost_per_token_above_") and key.endswith("k_tokens")
            )
            models[f"{model.provider}/{model.name}"] = {**kept, "priced_above": above}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(said, sort_keys=True)}" for name, said in models.items())
    text = f'{{"version": "{wheel.name.split("-")[1]}", "licence": "MIT", "models": {{\n{lines}\n}}}}\n'
    Path(__file__).with_name("litellm.json").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
