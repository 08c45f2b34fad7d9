"""Programs that the page can start: those below one directory, each with a form for its inputs."""

from __future__ import annotations

import json
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from antiphon._base.files import open_named_file
from antiphon.errors import NotReadyError, NotSavedError, OptionError
from antiphon.lang.syntax.source import extract_first_comment
from antiphon.programs.discovery import check_capabilities, find_programs

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.durable import Journal
    from antiphon.lang.codegen.code_object import ProgramInput
    from antiphon.lang.runtime.program import Program
    from antiphon.web.run_launcher import RunLauncher

#: The most programs listed, and the most directories searched.
_MAX_PROGRAMS, _MAX_DIRECTORIES = 300, 2000
#: Bytes read of a program for its description, and characters shown of that.
_MAX_HEAD_BYTES, _MAX_DESCRIPTION = 4000, 2000
#: The largest form, in bytes.
_MAX_FORM_BYTES = 1_000_000


def program_routes(journal: Journal, going: RunLauncher, directory: Path) -> list[Route]:
    """Return the routes for startable programs."""
    from starlette.concurrency import run_in_threadpool
    from starlette.routing import Route

    from antiphon.web.json_response import json_response, read_json_object

    def get_programs(request: Request) -> Response:  # noqa: ARG001
        return json_response(list_programs_json(directory))

    def get_program(request: Request) -> Response:
        return json_response(describe_program_json(directory, request.path_params["file"]))

    async def post_start(request: Request) -> Response:
        given = await read_json_object(request, _MAX_FORM_BYTES)
        status, told = await run_in_threadpool(partial(start_program, journal, going, directory, given))
        return json_response(told, status)

    return [
        Route("/api/programs", get_programs),
        Route("/api/programs/start", post_start, methods=["POST"]),
        Route("/api/programs/{file:path}", get_program),
    ]


def list_programs_json(directory: Path) -> dict[str, Any]:
    """Return the programs below a directory, with their descriptions."""
    found = list(islice(find_programs(directory, _MAX_DIRECTORIES), _MAX_PROGRAMS + 1))
    listed = [
        {"file": Path(each).relative_to(directory).as_posix(), "description": _read_description(each)}
        for each in found[:_MAX_PROGRAMS]
    ]
    return {"programs": listed, "directory": str(directory), "hasMore": len(found) > _MAX_PROGRAMS}


def describe_program_json(directory: Path, file: str) -> dict[str, Any]:
    """Return the description and inputs of a program, and whether it may run; or its errors."""
    from antiphon.lang.typecheck.type_printer import format_type

    path = _resolve_program(directory, file)
    loaded = _load_or_diagnose(path)
    if isinstance(loaded, list):
        return {"file": file, "description": _read_description(path), "inputs": [], "diagnostics": loaded}
    code = loaded.code
    return {
        "file": file,
        "description": loaded.description[:_MAX_DESCRIPTION],
        "inputs": _inputs_json(loaded),
        "returns": None if code.returns is None else format_type(code.returns),
        "refused": _explain_untrusted(loaded, path),
        "diagnostics": [],
    }


def start_program(
    journal: Journal, going: RunLauncher, directory: Path, given: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    """Start a program with the values of a form; return a status and the session's id, or errors by field."""
    from antiphon.lang.runtime.inputs import InputError, parse_inputs
    from antiphon.programs.launch_spec import LaunchSpec, collect_program_sources
    from antiphon.programs.row_sources import has_private_input

    file, values = given.get("file"), given.get("inputs", {})
    if not isinstance(file, str) or not isinstance(values, dict):
        raise OptionError("`file` must be a string and `inputs` an object")
    path = _resolve_program(directory, file)
    loaded = _load_or_diagnose(path)
    if isinstance(loaded, list):
        raise NotReadyError(f"{file} has errors; run `antiphon check {file}` to see them")
    if refused := _explain_untrusted(loaded, path):
        raise NotReadyError(refused)
    try:
        inputs = parse_inputs(loaded.code, cast(dict[str, Any], values))
    except InputError as error:
        return 400, {"error": error.message, "errors": {each.name: each.said for each in error.faults}}
    begun = LaunchSpec(file, str(directory), loaded.source.name, collect_program_sources(loaded), inputs=inputs)
    is_private = has_private_input(loaded, inputs)
    id = journal.begin("program", file, begun.to_json(), state="ready", is_private=is_private).id
    return 200, {"session": id, "goesOn": going.go_on(id)}


def _resolve_program(directory: Path, file: str) -> Path:
    """Return the path of a program; raise `NotSavedError` if it is hidden or outside the directory."""
    named = PurePosixPath(file)
    is_plain = file and "\0" not in file and not named.is_absolute() and named.as_posix() == file
    if is_plain and named.suffix == ".vibe" and not any(part.startswith((".", "__")) for part in named.parts):
        path = directory / named
        if path.is_file() and path.resolve().is_relative_to(directory.resolve()):
            return path
    raise NotSavedError(f"program {file[:200]!r} does not exist in this directory")


def _load_or_diagnose(path: Path) -> Program | list[dict[str, Any]]:
    """Return the program, or its errors as JSON."""
    from antiphon.lang.runtime.errors import VibeError
    from antiphon.lang.runtime.program import load
    from antiphon.lang.syntax.diagnostics import ProgramErrors

    try:
        return load(path)
    except ProgramErrors as errors:
        return [{**each.to_json(source), "file": Path(source.name).name} for source, each in errors.found]
    except VibeError as error:
        return [error.to_json()]


def _explain_untrusted(loaded: Program, path: Path) -> str:
    """Return why `antiphon run` would refuse the program without asking; empty if it would not."""
    refused = check_capabilities(loaded.modules.compiled, str(path)).refusal
    return f"{path.name} {refused}: `antiphon setup trust` in a terminal shows it, and allows it" if refused else ""


def _inputs_json(loaded: Program) -> list[dict[str, Any]]:
    from antiphon.lang.runtime.inputs import make_inputs_schema

    schema = make_inputs_schema(loaded.inputs)
    shared = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    return [_input_json(each, {**schema["properties"][name], **shared}) for name, each in loaded.inputs.items()]


def _input_json(each: ProgramInput, schema: dict[str, Any]) -> dict[str, Any]:
    from antiphon.lang.typecheck.type_printer import format_type
    from antiphon.lang.typecheck.types import (
        BOOLEAN,
        NULL,
        NUMBER,
        PROMPT,
        TEXT,
        Literal,
        strip_ai_result,
        union_options,
    )

    options = union_options(each.type)
    values = [option for option in options if option != NULL]
    told: dict[str, Any] = {"kind": "json"}
    if all(isinstance(option, Literal) for option in values):
        # Text literals stay as they are; other literals are JSON.
        texts = [option.value if isinstance(option.value, str) else format_type(option) for option in values]  # type: ignore[union-attr]
        told = {"kind": "choice", "options": texts}
    elif TEXT in values or PROMPT in values:
        told["kind"] = "text"
    elif values == [NUMBER]:
        told["kind"] = "number"
    elif strip_ai_result(each.type) == BOOLEAN:
        told["kind"] = "boolean"
    return {
        **told,
        "name": each.name,
        "type": format_type(each.type),
        "schema": schema,
        "description": each.description,
        "default": each.default,
        "initial": _format_default(each.default, told["kind"]),
        "isRequired": each.is_required,
        "isPrivate": each.is_private,
    }


def _format_default(value: Any, kind: str) -> str:
    """Return a default as a user would type it into a form."""
    if value is None:
        return ""
    if isinstance(value, str) and kind != "json":
        return value
    return json.dumps(value, ensure_ascii=False, indent=1 if kind == "json" and value else None)


def _read_description(path: str | Path) -> str:
    try:
        with open_named_file(path) as file:
            return extract_first_comment(file.read(_MAX_HEAD_BYTES).decode("utf-8", "replace"))[:_MAX_DESCRIPTION]
    except OSError:
        return ""
