"""What an API is stands in its specification: nothing outside its own modules names it."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import antiphon
from antiphon.errors import OptionError
from antiphon.facts import stop_reasons
from antiphon.fakes.apis import FAKE_APIS
from antiphon.formats.fixes import get_fixer
from antiphon.providers.registry import PROVIDERS
from antiphon.wire import APIS, get_api_spec, wire
from antiphon.wire.rules import RULES

SOURCE = Path(antiphon.__file__).parent
#: The files that may name an API, besides those of its own name. A new one touches eight places: its package in `wire`,
#: its line in `wire/apis.py`, its modules in `wire/rules`, `formats/fixes` and `fakes`, and these three.
#: The fakes of platforms and batches repeat what vendors document, without the code of the wires.
NAMING = {
    *("providers/registry.py", "wire/rules/table.py", "facts/data/stops.toml"),
    *("fakes/platforms.py", "fakes/batches.py", "fakes/batch_routes.py"),
}
#: Names of APIs that are names of providers too.
PROVIDER_NAMES = {"anthropic", "openai-chat", "google-interactions"}
#: Where "gemini" is no API: the beginning of model names, and another name of the provider.
WORDS = {
    "gemini": {
        "cli/keys.py",
        "config/default_model.py",
        "config/keys.py",
        "formats/shared_parts.py",
        "wire/google_interactions/__init__.py",
    }
}


def files_that_name(api: str) -> set[str]:
    """Return the Python files outside the API's own modules that hold its name as a literal."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        own = APIS[api].module in (path.stem, path.parent.name)
        if not own and re.search(rf"""["']{re.escape(api)}["']""", path.read_text(encoding="utf-8")):
            found.add(place)
    return found


@pytest.mark.parametrize("api", [api for api in APIS if api not in PROVIDER_NAMES])
def test_nothing_outside_its_own_modules_names_an_api(api: str) -> None:
    assert files_that_name(api) - NAMING <= WORDS.get(api, set())


@pytest.mark.parametrize("api", APIS)
def test_an_api_has_a_codec_rules_fixes_a_fake_a_provider_and_stops(api: str) -> None:
    spec = get_api_spec(api)
    codec = wire(api)
    assert codec.SPEC is spec
    for name in ("encode", "history", "decode", "Decoder", "parse_error", "read", "path", "build_reasoning"):
        assert callable(getattr(codec, name)), name
    assert callable(import_module(f"antiphon.wire.rules.{spec.module}").violations)
    assert {code for code in RULES if code[0] == spec.rule_letter}
    assert get_fixer(api).fixes.keys() <= RULES.keys()
    assert FAKE_APIS[api].spec is spec
    assert PROVIDERS[spec.provider].api == api
    assert stop_reasons(api)


def test_specifications_are_told_apart() -> None:
    specs = list(APIS.values())
    for name in ("name", "title", "provider", "rule_letter", "module"):
        assert len({getattr(spec, name) for spec in specs}) == len(specs), name
    assert len({spec.http.path for spec in specs}) == len(specs)


@pytest.mark.parametrize(
    ("path", "api", "model"),
    [
        ("/v1/messages", "anthropic", ""),
        ("/openai/v1/chat/completions", "openai-chat", ""),
        ("/v1/responses", "openai-responses", ""),
        ("/v1beta/models/gemini-3-pro:generateContent", "gemini", "gemini-3-pro"),
        ("/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", "gemini", "gemini-3-pro"),
        ("/v1beta/interactions", "google-interactions", ""),
        ("/v1/embeddings", "", ""),
        ("/v1/messages/batches", "", ""),
    ],
)
def test_a_path_belongs_to_one_api(path: str, api: str, model: str) -> None:
    found = {name: said for name, spec in APIS.items() if (said := spec.http.match_path(path)) is not None}
    assert found == ({api: model} if api else {})


def test_an_unknown_api_is_refused_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match="no API 'soap'; there are `anthropic`"):
        wire("soap")
