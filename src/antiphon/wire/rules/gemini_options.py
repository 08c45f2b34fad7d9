"""Rules about the options that a Gemini model accepts: thinking, JSON Schema fields, and the cache
(G15 to G19).
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.rules.json_access import MAX_PATH_NAME, MAX_SCHEMA_DEPTH, as_repeated, get_first_field, is_json_dict
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_THINKING_PATH = "generation_config.thinking_config"
_DYNAMIC_BUDGET = -1
_SCHEMA_MAPS = ("properties", "$defs", "definitions")
_SCHEMA_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_CACHED_FIELDS = (("systemInstruction", "system_instruction"), ("tools",), ("toolConfig", "tool_config"))


def find_gemini_option_violations(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of the rules about a request's options."""
    config = as_object(get_first_field(request, "generationConfig", "generation_config"))
    yield from _check_thinking(as_object(get_first_field(config, "thinkingConfig", "thinking_config")), subject)
    schema = get_first_field(config, "responseJsonSchema", "response_json_schema")
    yield from _check_json_schema(schema, "generation_config.response_json_schema", subject)
    for index, tool in enumerate(as_repeated(get_first_field(request, "tools"))):
        functions = as_repeated(get_first_field(as_object(tool), "functionDeclarations", "function_declarations"))
        for number, function in enumerate(functions):
            path = f"tools[{index}].function_declarations[{number}].parameters_json_schema"
            given = get_first_field(as_object(function), "parametersJsonSchema", "parameters_json_schema")
            yield from _check_json_schema(given, path, subject)
    yield from _check_cache(request)


def _check_thinking(config: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of G15, G16 and G17: illegal thinking levels and budgets."""
    level = get_first_field(config, "thinkingLevel", "thinking_level")
    budget = get_first_field(config, "thinkingBudget", "thinking_budget")
    if level is not None and budget is not None:
        yield Violation("G15", "You can only set only one of thinking budget and thinking level.", _THINKING_PATH)
    kinds = subject.facts.thinking.kinds
    if isinstance(level, str) and subject.facts.efforts is not None:
        if not subject.facts.efforts or (kinds and "level" not in kinds):
            yield Violation("G16", "Thinking level is not supported for this model.", _THINKING_PATH)
        elif level.lower() not in subject.facts.efforts:
            text = f"Thinking level {level.upper()[:MAX_PATH_NAME]} is not supported for this model."
            yield Violation("G16", text, _THINKING_PATH)
    if isinstance(budget, int) and not isinstance(budget, bool):
        yield from _check_budget(budget, subject)


def _check_budget(budget: int, subject: CheckSubject) -> Iterator[Violation]:
    thinking = subject.facts.thinking
    if thinking.kinds and "budget" not in thinking.kinds:
        yield Violation("G17", "Thinking budget is not supported for this model.", _THINKING_PATH)
        return
    if budget == _DYNAMIC_BUDGET or thinking.budget is None:
        return
    least, most = thinking.budget
    if budget == 0 and thinking.off in ("none", "disabled", "budget:0"):
        return
    if budget == 0 and least > 0:
        yield Violation("G17", "Budget 0 is invalid. This model only works in thinking mode.", _THINKING_PATH)
    elif not least <= budget <= most:
        number = budget if abs(budget) < 10**18 else "a number"
        text = f"The thinking budget {number} is invalid. Please choose a value between {least} and {most}."
        yield Violation("G17", text, _THINKING_PATH)


def _check_json_schema(schema: object, path: str, subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of G18: keywords that even the JSON Schema fields do not accept."""
    refused = subject.facts.schema_refuses or ()
    waiting: list[tuple[int, str, object]] = [(0, path, schema)]
    while waiting and refused:
        depth, where, node = waiting.pop()
        if not is_json_dict(node):
            continue
        for word in node:
            if word in refused:
                text = f"Invalid JSON payload received. Unknown name \"{word}\" at '{where}': Cannot find field."
                yield Violation("G18", text, where)
        if depth < MAX_SCHEMA_DEPTH:
            waiting.extend((depth + 1, inner, each) for inner, each in _iter_inner_schemas(node, where))


def _iter_inner_schemas(node: dict[str, object], path: str) -> Iterator[tuple[str, object]]:
    for key in _SCHEMA_MAPS:
        for name, inner in as_object(node.get(key)).items():
            yield f"{path}.{key}[{name[:MAX_PATH_NAME]}]", inner
    for key in _SCHEMA_LISTS:
        for index, inner in enumerate(as_array(node.get(key))):
            yield f"{path}.{key}[{index}]", inner
    for key in ("items", "additionalProperties"):
        yield f"{path}.{key}", node.get(key)


def _check_cache(request: dict[str, object]) -> Iterator[Violation]:
    """Yield violations of G19: fields that belong to the cached content."""
    if not as_string(get_first_field(request, "cachedContent", "cached_content")):
        return
    if any(get_first_field(request, *names) is not None for names in _CACHED_FIELDS):
        text = (
            "CachedContent can not be used with GenerateContent request setting system_instruction, tools or "
            "tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request."
        )
        yield Violation("G19", text, "cached_content")
