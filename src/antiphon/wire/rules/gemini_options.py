"""What a Gemini model takes of the options: how much it thinks, schemas as JSON Schema, and the cache (G15 to G19)."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._shape import arr, obj, string
from antiphon.wire.rules.reading import MAX_NAME, MAX_SCHEMA_DEPTH, get, is_object, several
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_THINKING = "generation_config.thinking_config"
_DYNAMIC = -1
_NAMED = ("properties", "$defs", "definitions")
_LISTED = ("anyOf", "allOf", "oneOf", "prefixItems")
_BESIDE_CACHE = (("systemInstruction", "system_instruction"), ("tools",), ("toolConfig", "tool_config"))


def option_violations(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """Yield what the model refuses of a request's options."""
    config = obj(get(request, "generationConfig", "generation_config"))
    yield from _thinking(obj(get(config, "thinkingConfig", "thinking_config")), subject)
    schema = get(config, "responseJsonSchema", "response_json_schema")
    yield from _json_schema(schema, "generation_config.response_json_schema", subject)
    for index, tool in enumerate(several(get(request, "tools"))):
        functions = several(get(obj(tool), "functionDeclarations", "function_declarations"))
        for number, function in enumerate(functions):
            path = f"tools[{index}].function_declarations[{number}].parameters_json_schema"
            given = get(obj(function), "parametersJsonSchema", "parameters_json_schema")
            yield from _json_schema(given, path, subject)
    yield from _cache(request)


def _thinking(config: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """G15, G16 and G17."""
    level = get(config, "thinkingLevel", "thinking_level")
    budget = get(config, "thinkingBudget", "thinking_budget")
    if level is not None and budget is not None:
        yield Violation("G15", "You can only set only one of thinking budget and thinking level.", _THINKING)
    kinds = subject.facts.thinking.kinds
    if isinstance(level, str) and subject.facts.efforts is not None:
        if not subject.facts.efforts or (kinds and "level" not in kinds):
            yield Violation("G16", "Thinking level is not supported for this model.", _THINKING)
        elif level.lower() not in subject.facts.efforts:
            text = f"Thinking level {level.upper()[:MAX_NAME]} is not supported for this model."
            yield Violation("G16", text, _THINKING)
    if isinstance(budget, int) and not isinstance(budget, bool):
        yield from _budget(budget, subject)


def _budget(budget: int, subject: Subject) -> Iterator[Violation]:
    thinking = subject.facts.thinking
    if thinking.kinds and "budget" not in thinking.kinds:
        yield Violation("G17", "Thinking budget is not supported for this model.", _THINKING)
        return
    if budget == _DYNAMIC or thinking.budget is None:
        return
    least, most = thinking.budget
    if budget == 0 and thinking.off in ("none", "disabled", "budget:0"):
        return
    if budget == 0 and least > 0:
        yield Violation("G17", "Budget 0 is invalid. This model only works in thinking mode.", _THINKING)
    elif not least <= budget <= most:
        number = budget if abs(budget) < 10**18 else "a number"
        text = f"The thinking budget {number} is invalid. Please choose a value between {least} and {most}."
        yield Violation("G17", text, _THINKING)


def _json_schema(schema: object, path: str, subject: Subject) -> Iterator[Violation]:
    """G18: the words of JSON Schema that even the fields for JSON Schema do not take."""
    refused = subject.facts.schema_refuses or ()
    waiting: list[tuple[int, str, object]] = [(0, path, schema)]
    while waiting and refused:
        depth, where, node = waiting.pop()
        if not is_object(node):
            continue
        for word in node:
            if word in refused:
                text = f"Invalid JSON payload received. Unknown name \"{word}\" at '{where}': Cannot find field."
                yield Violation("G18", text, where)
        if depth < MAX_SCHEMA_DEPTH:
            waiting.extend((depth + 1, inner, each) for inner, each in _inner(node, where))


def _inner(node: dict[str, object], path: str) -> Iterator[tuple[str, object]]:
    for key in _NAMED:
        for name, inner in obj(node.get(key)).items():
            yield f"{path}.{key}[{name[:MAX_NAME]}]", inner
    for key in _LISTED:
        for index, inner in enumerate(arr(node.get(key))):
            yield f"{path}.{key}[{index}]", inner
    for key in ("items", "additionalProperties"):
        yield f"{path}.{key}", node.get(key)


def _cache(request: dict[str, object]) -> Iterator[Violation]:
    """G19."""
    if not string(get(request, "cachedContent", "cached_content")):
        return
    if any(get(request, *names) is not None for names in _BESIDE_CACHE):
        text = (
            "CachedContent can not be used with GenerateContent request setting system_instruction, tools or "
            "tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request."
        )
        yield Violation("G19", text, "cached_content")
