"""Programs that can be started from the page: those below one directory, each with a form made of its inputs."""

from __future__ import annotations

import json
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from antiphon._files import open_named_file
from antiphon.errors import NotReadyError, NotSavedError, OptionError
from antiphon.lang.syntax.source import first_comment
from antiphon.runs.found import looked_at, programs_below

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.journal import Journal
    from antiphon.lang.compile.code import Given
    from antiphon.lang.run.program import Program
    from antiphon.web.going import Going

#: So many programs are listed, and in so many directories they are looked for.
_MOST, _DIRECTORIES = 300, 2000
#: So much of a program is read to see what it does, in bytes, and so much of that is told, in characters.
_HEAD, _TOLD = 4000, 2000
#: What a form brings is no larger than this, in bytes.
_LARGEST = 1_000_000


def routes(journal: Journal, going: Going, directory: Path) -> list[Route]:
    """What is asked about programs."""
    from starlette.concurrency import run_in_threadpool
    from starlette.routing import Route

    from antiphon.web.sent import answer, json_of

    def listed(request: Request) -> Response:  # noqa: ARG001
        return answer(programs(directory))

    def about(request: Request) -> Response:
        return answer(program(directory, request.path_params["file"]))

    async def begin(request: Request) -> Response:
        given = await json_of(request, _LARGEST)
        status, told = await run_in_threadpool(partial(start, journal, going, directory, given))
        return answer(told, status)

    return [
        Route("/api/programs", listed),
        Route("/api/programs/start", begin, methods=["POST"]),
        Route("/api/programs/{file:path}", about),
    ]


def programs(directory: Path) -> dict[str, Any]:
    """The programs there are, with what the comment at the top of each says."""
    found = list(islice(programs_below(directory, _DIRECTORIES), _MOST + 1))
    listed = [
        {"file": Path(each).relative_to(directory).as_posix(), "description": _described(each)}
        for each in found[:_MOST]
    ]
    return {"programs": listed, "directory": str(directory), "hasMore": len(found) > _MOST}


def program(directory: Path, file: str) -> dict[str, Any]:
    """What is known of a program: its inputs, whether it may be run, or what is wrong with it."""
    from antiphon.lang.check.notation import show

    path = _path(directory, file)
    loaded = _loaded(path)
    if isinstance(loaded, list):
        return {"file": file, "description": _described(path), "inputs": [], "diagnostics": loaded}
    code = loaded.code
    return {
        "file": file,
        "description": loaded.description[:_TOLD],
        "inputs": _inputs(loaded),
        "returns": None if code.returns is None else show(code.returns),
        "refused": _refused(loaded, path),
        "diagnostics": [],
    }


def start(journal: Journal, going: Going, directory: Path, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Begin a program with what a form says; the name of its run, or what is wrong with the form, by field."""
    from antiphon.lang.run.inputs import InputError, read
    from antiphon.runs.begun import Begun, sources_of
    from antiphon.runs.rows import has_private

    file, values = given.get("file"), given.get("inputs", {})
    if not isinstance(file, str) or not isinstance(values, dict):
        raise OptionError("`file` is a text, and `inputs` an object")
    path = _path(directory, file)
    loaded = _loaded(path)
    if isinstance(loaded, list):
        raise NotReadyError(f"{file} cannot be run: `antiphon check {file}` says why")
    if refused := _refused(loaded, path):
        raise NotReadyError(refused)
    try:
        inputs = read(loaded.code, cast(dict[str, Any], values))
    except InputError as error:
        return 400, {"error": error.message, "errors": {each.name: each.said for each in error.faults}}
    begun = Begun(file, str(directory), loaded.source.name, sources_of(loaded), inputs=inputs)
    is_private = has_private(loaded, inputs)
    id = journal.begin("program", file, begun.to_json(), state="ready", is_private=is_private).id
    return 200, {"run": id, "goesOn": going.go_on(id)}


def _path(directory: Path, file: str) -> Path:
    """Where a program is; one that is not below the directory, or hidden there, is not there."""
    named = PurePosixPath(file)
    is_plain = file and "\0" not in file and not named.is_absolute() and named.as_posix() == file
    if is_plain and named.suffix == ".vibe" and not any(part.startswith((".", "__")) for part in named.parts):
        path = directory / named
        if path.is_file() and path.resolve().is_relative_to(directory.resolve()):
            return path
    raise NotSavedError(f"there is no program {file[:200]!r} here")


def _loaded(path: Path) -> Program | list[dict[str, Any]]:
    """The program, or what is wrong with it."""
    from antiphon.lang.run.errors import VibeError
    from antiphon.lang.run.program import load
    from antiphon.lang.syntax.diagnostics import ProgramErrors

    try:
        return load(path)
    except ProgramErrors as errors:
        return [{**each.to_json(source), "file": Path(source.name).name} for source, each in errors.found]
    except VibeError as error:
        return [error.to_json()]


def _refused(loaded: Program, path: Path) -> str:
    """Why `antiphon run` would not run it, as nobody can be asked here."""
    refused = looked_at(loaded.modules.compiled, str(path)).refused
    return f"{path.name} {refused}: `antiphon trust` in a terminal shows all of it, and allows it" if refused else ""


def _inputs(loaded: Program) -> list[dict[str, Any]]:
    from antiphon.lang.run.inputs import schema_of

    schema = schema_of(loaded.inputs)
    shared = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    return [_input(each, {**schema["properties"][name], **shared}) for name, each in loaded.inputs.items()]


def _input(each: Given, schema: dict[str, Any]) -> dict[str, Any]:
    from antiphon.lang.check.notation import show
    from antiphon.lang.check.types import BOOLEAN, NULL, NUMBER, PROMPT, TEXT, Literal, options_of, plain

    options = options_of(each.type)
    values = [option for option in options if option != NULL]
    told: dict[str, Any] = {"kind": "json"}
    if all(isinstance(option, Literal) for option in values):
        # As texts, which are read as they are: a text literal is itself, any other is JSON.
        texts = [option.value if isinstance(option.value, str) else show(option) for option in values]  # type: ignore[union-attr]
        told = {"kind": "choice", "options": texts}
    elif TEXT in values or PROMPT in values:
        told["kind"] = "text"
    elif values == [NUMBER]:
        told["kind"] = "number"
    elif plain(each.type) == BOOLEAN:
        told["kind"] = "boolean"
    return {
        **told,
        "name": each.name,
        "type": show(each.type),
        "schema": schema,
        "description": each.description,
        "default": each.default,
        "initial": _typed(each.default, told["kind"]),
        "isRequired": each.is_required,
        "isPrivate": each.is_private,
    }


def _typed(value: Any, kind: str) -> str:
    """A default as it would be typed into a form."""
    if value is None:
        return ""
    if isinstance(value, str) and kind != "json":
        return value
    return json.dumps(value, ensure_ascii=False, indent=1 if kind == "json" and value else None)


def _described(path: str | Path) -> str:
    try:
        with open_named_file(path) as file:
            return first_comment(file.read(_HEAD).decode("utf-8", "replace"))[:_TOLD]
    except OSError:
        return ""
