"""Launch data of programs: what it takes to start one again in another process or on another machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon._base.user_dirs import user_directory
from antiphon.errors import ConfigurationError, FormatError, StoreError
from antiphon.programs.row_sources import RowSource

if TYPE_CHECKING:
    from antiphon.durable import Journal, RunEntry
    from antiphon.lang.runtime import Program

_KNOWN_SETTINGS = {
    *("model", "every_model", "record", "replay", "untrusted", "yes"),
    *("max_cost", "max_turns", "max_parallel", "parallel", "batch"),
}
#: The name of a program that was read from standard input.
PIPED_NAME = "-"


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """The launch data of a program.

    `file` is its path as the user gave it. `sources` holds the texts of its modules by name; `name` is the main one.
    """

    file: str
    directory: str
    name: str
    sources: dict[str, str]
    arguments: list[str] = field(default_factory=list[str])
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    #: Other options: the model, limits, whether all calls are allowed.
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    #: True if the text was edited for this run, so that `sources` counts instead of the file.
    is_edited: bool = False
    #: The source of a batch's rows; None if they came from Python.
    rows: RowSource | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the launch data as JSON data."""
        return asdict(self)

    @property
    def source(self) -> str:
        """The text of the main module."""
        return self.sources.get(self.name, "")


def parse_launch_spec(data: Mapping[str, Any]) -> LaunchSpec:
    """Parse launch data from JSON data."""
    if "file" not in data:
        how = " (`session.resume_run(id)`)" if "mode" in data else ""
        raise FormatError(f"it is not a program; resume it with the code that started it{how}")
    if unknown := as_object(data.get("settings")).keys() - _KNOWN_SETTINGS:
        raise FormatError(f"it was started with `{min(unknown)}`, which this release does not know")
    return LaunchSpec(
        as_string(data["file"]),
        as_string(data.get("directory")),
        as_string(data.get("name")),
        {name: as_string(text) for name, text in as_object(data.get("sources")).items()},
        [as_string(each) for each in as_array(data.get("arguments"))],
        as_object(data.get("inputs")),
        as_object(data.get("settings")),
        data.get("is_edited") is True,
        _parse_row_source(data.get("rows")),
    )


def _parse_row_source(data: object) -> RowSource | None:
    if data is None:
        return None
    given = as_object(data)
    sets = {name: as_string(each) for name, each in as_object(given.get("sets")).items()}
    return RowSource(as_string(given.get("place")), given.get("sample"), sets)


def load_launch_spec(entry: RunEntry, journal: Journal) -> LaunchSpec:
    """Return the launch data of a run. A row has that of its batch, with its own inputs."""
    if entry.kind == "row":
        from antiphon.effects.codec import decode_value

        whole = load_launch_spec(journal.find(entry.parent or ""), journal)
        own = {name: each for name, each in whole.settings.items() if name not in ("parallel", "batch")}
        return replace(whole, inputs=decode_value(entry.begun_as.get("inputs", {})), settings=own)
    if entry.damage and not entry.begun_as:
        raise StoreError(f"session {entry.id} cannot be resumed: {entry.damage}")
    try:
        return parse_launch_spec(entry.begun_as)
    except FormatError as error:
        raise ConfigurationError(f"session {entry.id} cannot be resumed here: {error}") from None


def collect_program_sources(program: Program) -> dict[str, str]:
    """Return the texts of all modules of a program by name."""
    return {each.source.name: each.source.text for each in program.modules.compiled.values()}


def restore_program(begun: LaunchSpec) -> str:
    """Write the saved sources of a run to cached files, and return the path of the main one."""
    import hashlib

    from antiphon.conversation.serialization import write_file_atomically

    known = hashlib.sha256(json.dumps(begun.sources, sort_keys=True).encode()).hexdigest()
    top = os.path.commonpath([os.path.dirname(name) for name in begun.sources])
    home = user_directory("cache") / "programs" / known[:24]
    for name, text in begun.sources.items():
        file = home / os.path.relpath(name, top)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            write_file_atomically(file, text.encode())
    return str(home / os.path.relpath(begun.name, top))
