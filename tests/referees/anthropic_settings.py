"""Checks of everything in a Messages request but its messages."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from tests.referees.anthropic_tables import (
    BETA_FIELDS,
    BETA_TOOLS,
    BINDING,
    CODE_EXECUTION,
    FIELDS,
    LIMITS,
    SCHEMA_FORMATS,
    SCHEMA_WORDS,
    SERVER_TOOL,
    TASK_BUDGET,
    UPDATES,
)
from tests.referees.refusal import Refusal, refuse_unless

EXTRA = "Extra inputs are not permitted"


def check_settings(
    body: Mapping[str, Any], name: str, model: Mapping[str, Any], betas: Collection[str] | None, version: str
) -> None:
    """Raise a Refusal for a setting that the model or the API version refuses; `betas` None skips the headers."""
    for each in body:
        refuse_unless(each in FIELDS, f"{each}: {EXTRA}")
        if each in BETA_FIELDS:
            _need_beta(each, BETA_FIELDS[each], betas)
    _check_size(body, name, model)
    for each in ("temperature", "top_p", "top_k"):
        refused = version == "2026-10-21" or not model["sampling"]
        refuse_unless(
            not (refused and each in body), f"`{each}` is not supported in this API version or by this model."
        )
    refuse_unless(body.get("speed") != "fast" or model["fast"], f"speed: fast mode is not supported on {name}")
    _check_thinking(body, name, model, betas)
    _check_tools(body, name, betas)
    _check_choice(body, name, model)
    _check_output(body, betas)
    _check_marks(body)
    has_code = any(CODE_EXECUTION.match(str(tool.get("type"))) for tool in body.get("tools", ()))
    container = body.get("container")
    refuse_unless(container is None or has_code, "container: a container needs the code execution tool")
    bare = isinstance(container, Mapping) and set(container) == {"id"}
    refuse_unless(not bare, "container: send the id as a string, or with skills")


def _need_beta(where: str, values: Collection[str], betas: Collection[str] | None) -> None:
    refuse_unless(betas is None or set(values) & set(betas), f"{where}: {EXTRA}")


def _check_size(body: Mapping[str, Any], name: str, model: Mapping[str, Any]) -> None:
    size = body.get("max_tokens")
    refuse_unless(size is not None, "max_tokens: Field required")
    refuse_unless(isinstance(size, int) and size >= 0, "max_tokens: Input should be greater than or equal to 1")
    limit = model["max_tokens"]
    words = f"max_tokens: {size} > {limit}, which is the maximum allowed number of output tokens for {name}"
    refuse_unless(size <= limit, words)
    prewarms = size == 0 and (body.get("stream") or "format" in body.get("output_config", {}) or _is_forced(body))
    refuse_unless(
        not prewarms, "max_tokens: 0 is not allowed with stream, output_config.format or a forced tool_choice"
    )


def _is_forced(body: Mapping[str, Any]) -> bool:
    return (body.get("tool_choice") or {}).get("type") in ("any", "tool")


def _check_thinking(
    body: Mapping[str, Any], name: str, model: Mapping[str, Any], betas: Collection[str] | None
) -> None:
    thinking = body.get("thinking")
    effort = (body.get("output_config") or {}).get("effort")
    kind = (thinking or {}).get("type", "")
    if effort is not None:
        supported = ", ".join(model["efforts"])
        words = f"output_config.effort: '{effort}' is not supported on {name}. Supported values: {supported or 'none'}"
        refuse_unless(effort in model["efforts"], words)
    if thinking is None:
        return
    if kind not in model["kinds"]:
        hint = ' Use thinking.type "adaptive" and output_config.effort.' if "adaptive" in model["kinds"] else ""
        raise Refusal(f'"thinking.type.{kind}" is not supported for this model.{hint}')
    capped = kind in model["capped"] and effort in ("xhigh", "max")
    refuse_unless(not capped, f'thinking.type "{kind}" is not allowed with effort "{effort}"')
    if kind == "enabled":
        budget = thinking.get("budget_tokens")
        refuse_unless(isinstance(budget, int), "thinking.enabled.budget_tokens: Field required")
        refuse_unless(budget >= 1024, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        refuse_unless(budget < body["max_tokens"], "`max_tokens` must be greater than `thinking.budget_tokens`.")
    if thinking.get("display") == "updates":
        _need_beta("thinking.adaptive.display", [UPDATES], betas)
    if "block_binding" in thinking:
        refuse_unless(kind == "adaptive", f"thinking.{kind}.block_binding: {EXTRA}")
        _need_beta("thinking.adaptive.block_binding", [BINDING], betas)


def _check_choice(body: Mapping[str, Any], name: str, model: Mapping[str, Any]) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    refuse_unless(body.get("tools"), "tool_choice: may only be specified while providing tools")
    refuse_unless(
        choice.get("type") in ("auto", "any", "tool", "none"), "tool_choice: Input tag is not one of the expected"
    )
    if not _is_forced(body):
        return
    kind = (body.get("thinking") or {}).get("type")
    refuse_unless(kind != "enabled", "Thinking may not be enabled when tool_choice forces tool use.")
    words = f'tool_choice: type "{choice["type"]}" is not supported on {name}. Use "auto" or "none".'
    refuse_unless(model["forced"], words)
    names = [tool.get("name") for tool in body["tools"]]
    if choice["type"] == "tool":
        refuse_unless(choice.get("name") in names, f"Tool '{choice.get('name')}' not found in provided tools")


def _check_tools(body: Mapping[str, Any], name: str, betas: Collection[str] | None) -> None:
    seen: set[str] = set()
    for at, tool in enumerate(body.get("tools") or ()):
        kind = tool.get("type") or "custom"
        if kind in BETA_TOOLS:
            _need_beta(f"tools.{at}.{kind}", BETA_TOOLS[kind], betas)
        known = kind == "custom" or SERVER_TOOL.match(str(kind))
        refuse_unless(
            known, f"tools.{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        )
        old = kind == "computer_20251124" and name in ("claude-sonnet-5-5", "claude-fable-5-2")
        refuse_unless(not old, f"tools.{at}: {kind} is not supported on {name}; use computer_toolset_20260801")
        called = str(tool.get("name") or tool.get("mcp_server_name") or kind)
        refuse_unless(called not in seen, "tools: Tool names must be unique.")
        seen.add(called)
        if kind == "custom":
            _check_custom(at, tool)
    strict = [tool for tool in body.get("tools") or () if tool.get("strict")]
    _check_limits([tool["input_schema"] for tool in strict], _get_format(body), len(strict))


def _check_custom(at: int, tool: Mapping[str, Any]) -> None:
    where = f"tools.{at}.custom"
    name = str(tool.get("name", ""))
    words = f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
    refuse_unless(re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", name), words)
    schema = tool.get("input_schema")
    refuse_unless(isinstance(schema, Mapping), f"{where}.input_schema: Field required")
    refuse_unless(schema.get("type") == "object", f"{where}.input_schema.type: Input should be 'object'")
    root = {"oneOf", "allOf", "anyOf"} & set(schema)
    words = f"{where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
    refuse_unless(not root, words)
    marked = tool.get("defer_loading") and "cache_control" in tool
    refuse_unless(not marked, f"{where}: cache_control is not allowed with defer_loading")
    known = {
        "type",
        "name",
        "description",
        "input_schema",
        "strict",
        "cache_control",
        "defer_loading",
        "allowed_callers",
        "eager_input_streaming",
        "input_examples",
    }
    for each in tool:
        refuse_unless(each in known, f"{where}.{each}: {EXTRA}")
    if tool.get("strict"):
        check_schema(schema, f"{where}.input_schema")


def _get_format(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return (body.get("output_config") or {}).get("format")


def _check_output(body: Mapping[str, Any], betas: Collection[str] | None) -> None:
    config = body.get("output_config") or {}
    for each in config:
        refuse_unless(each in ("effort", "format", "task_budget"), f"output_config.{each}: {EXTRA}")
    if "task_budget" in config:
        _need_beta("output_config.task_budget", [TASK_BUDGET], betas)
    form = config.get("format")
    if form is None:
        return
    refuse_unless(form.get("type") == "json_schema", "output_config.format.type: Input should be 'json_schema'")
    refuse_unless(set(form) <= {"type", "schema"}, f"output_config.format: {EXTRA}")
    refuse_unless(isinstance(form.get("schema"), Mapping), "output_config.format.schema: Field required")
    check_schema(form["schema"], "output_config.format.schema")
    cites = '"citations":{"enabled":true}' in json.dumps(body.get("messages"), separators=(",", ":"))
    refuse_unless(not cites, "output_config.format: citations cannot be used with structured outputs")


def check_schema(schema: Any, where: str) -> None:
    """Raise a Refusal for a schema outside the subset that the server can hold a model to."""
    _check_recursion(schema, where)
    _check_node(schema, where)


def _check_node(schema: Any, where: str) -> None:
    refuse_unless(isinstance(schema, Mapping), f"{where}: a schema must be an object")
    for word in schema:
        refuse_unless(
            word in SCHEMA_WORDS, f"{where}: For '{schema.get('type')}' type, property '{word}' is not supported"
        )
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        closed = schema.get("additionalProperties") is False
        words = f"{where}: For 'object' type, 'additionalProperties' must be explicitly set to false"
        refuse_unless(closed, words)
    refuse_unless(
        schema.get("minItems", 0) in (0, 1),
        f"{where}: For 'array' type, 'minItems' values other than 0 or 1 are not supported",
    )
    if "format" in schema:
        refuse_unless(
            schema["format"] in SCHEMA_FORMATS, f"{where}: String format '{schema['format']}' is not supported"
        )
    for key in ("properties", "$defs", "definitions"):
        for name, inner in (schema.get(key) or {}).items():
            _check_node(inner, f"{where}.{key}.{name}")
    for key in ("anyOf", "allOf"):
        for at, inner in enumerate(schema.get(key) or ()):
            _check_node(inner, f"{where}.{key}.{at}")
    if "items" in schema:
        _check_node(schema["items"], f"{where}.items")


def _check_recursion(root: Any, where: str) -> None:
    definitions = {
        f"#/{key}/{name}": each for key in ("$defs", "definitions") for name, each in (root.get(key) or {}).items()
    }

    def visit(node: Any, above: tuple[str, ...]) -> None:
        if isinstance(node, list):
            for each in node:
                visit(each, above)
        if not isinstance(node, Mapping):
            return
        ref = node.get("$ref")
        if isinstance(ref, str):
            refuse_unless(
                ref not in above and ref != "#", f"{where}: Circular reference detected in schema definitions: {ref}"
            )
            refuse_unless(ref in definitions, f"{where}: unknown reference {ref}")
            visit(definitions[ref], (*above, ref))
        for key, each in node.items():
            if key not in ("$defs", "definitions", "enum", "const", "default"):
                visit(each, above)

    visit(root, ())


def _check_limits(schemas: list[Any], form: Mapping[str, Any] | None, tools: int) -> None:
    every = [*schemas, *([form["schema"]] if form and isinstance(form.get("schema"), Mapping) else [])]
    optional = sum(_count(each, _is_optional) for each in every)
    unions = sum(_count(each, _is_union) for each in every)
    for count, key, words in (
        (tools, "tools", "strict tools"),
        (optional, "optional", "optional parameters"),
        (unions, "unions", "parameters with union types"),
    ):
        refuse_unless(count <= LIMITS[key], f"Schema is too complex: {count} {words}, the limit is {LIMITS[key]}.")


def _count(node: Any, counts: Any) -> int:
    if isinstance(node, list):
        return sum(_count(each, counts) for each in node)
    if not isinstance(node, Mapping):
        return 0
    here = sum(counts(node, name, each) for name, each in (node.get("properties") or {}).items())
    return here + sum(_count(each, counts) for key, each in node.items() if key not in ("enum", "const", "default"))


def _is_optional(node: Mapping[str, Any], name: str, _: Any) -> bool:
    return name not in (node.get("required") or ())


def _is_union(_: Mapping[str, Any], __: str, each: Any) -> bool:
    return isinstance(each, Mapping) and ("anyOf" in each or isinstance(each.get("type"), list))


def _check_marks(body: Mapping[str, Any]) -> None:
    marks: list[Mapping[str, Any]] = []
    for tool in body.get("tools") or ():
        marks += _find_marks(tool)
    marks += _find_marks(body.get("system"))
    for message in body.get("messages") or ():
        marks += _find_marks(message)
    if body.get("cache_control"):
        marks.append(body["cache_control"])
    words = f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}."
    refuse_unless(len(marks) <= 4, words)
    shorter = False
    for mark in marks:
        refuse_unless(mark.get("type") == "ephemeral", "cache_control.type: Input should be 'ephemeral'")
        ttl = mark.get("ttl", "5m")
        refuse_unless(ttl in ("5m", "1h"), "cache_control.ephemeral.ttl: Input should be '5m' or '1h'")
        words = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
        refuse_unless(not (shorter and ttl == "1h"), words)
        shorter = shorter or ttl == "5m"


def _find_marks(node: Any) -> list[Mapping[str, Any]]:
    if isinstance(node, list):
        return [mark for each in node for mark in _find_marks(each)]
    if not isinstance(node, Mapping):
        return []
    here = [node["cache_control"]] if node.get("cache_control") else []
    return here + [mark for key in ("content", "source") for mark in _find_marks(node.get(key))]
