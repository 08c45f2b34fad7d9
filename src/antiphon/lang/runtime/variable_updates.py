"""Updates about variables for models: all of them at first, then only those that are new, changed or gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

#: At most so many characters about variables are sent at once.
_MAX_CHARACTERS = 40_000
_OUTER_OMITTED_REMARK = "[more variables of outer functions are left out]"
_INNER_OMITTED_REMARK = "[more variables are left out: the list is cut]"


@dataclass(frozen=True, slots=True)
class VariableLine:
    """A variable as a model is shown it."""

    type: str
    value: str


@dataclass(frozen=True, slots=True)
class VariableFrame:
    """The variables of an active function; `place`, counted from the outermost, and `title` identify it."""

    place: int
    title: str
    lines: Mapping[str, VariableLine]
    #: The number of variables to show, if there are too many.
    most: int | None = None

    @property
    def told(self) -> dict[str, VariableLine]:
        """Return the variables to show."""
        return dict(list(self.lines.items())[: self.most])

    @property
    def size(self) -> int:
        """Return the length of all its variables as text."""
        return len(self.title) + sum(map(_get_line_length, self.lines, self.lines.values()))


@dataclass(frozen=True, slots=True)
class KnownVariables:
    """The last value of each variable that a model was told in one history."""

    frames: Mapping[tuple[int, str], Mapping[str, VariableLine]] = field(
        default_factory=dict[tuple[int, str], dict[str, VariableLine]]
    )
    #: Remarks about omitted variables; each is made once.
    remarks: frozenset[str] = frozenset()

    def update(self, frames: Iterable[VariableFrame]) -> tuple[str, KnownVariables]:
        """Return the text about changed variables, empty if there are none, and the knowledge after it."""
        present = list(frames)
        bounded, remarks = _limit_frames(present)
        known = {key: dict(lines) for key, lines in self.frames.items()}
        paragraphs = [_OUTER_OMITTED_REMARK] if _OUTER_OMITTED_REMARK in remarks - self.remarks else []
        paragraphs += self._drop_ended_frames(present, known)
        for full, frame in zip(present, bounded, strict=True):
            changes = list(_iter_changes(known.setdefault((full.place, full.title), {}), full, frame))
            if changes:
                paragraphs.append("\n".join([full.title, *changes]))
        if _INNER_OMITTED_REMARK in remarks - self.remarks:
            paragraphs.append(_INNER_OMITTED_REMARK)
        return "\n\n".join(paragraphs), KnownVariables(known, self.remarks | remarks)

    def _drop_ended_frames(
        self, present: Iterable[VariableFrame], known: dict[tuple[int, str], dict[str, VariableLine]]
    ) -> Iterator[str]:
        """Yield a line for each function that has ended, and forget its variables."""
        keys = {(frame.place, frame.title) for frame in present}
        for key in [key for key in known if key not in keys]:
            if known.pop(key):
                yield f"{key[1].removesuffix(':')} are gone."


def _iter_changes(known: dict[str, VariableLine], full: VariableFrame, frame: VariableFrame) -> Iterator[str]:
    """Yield a line for each variable that is new, changed or gone, and update `known`."""
    told = frame.told
    for name in [name for name in known if name not in full.lines]:
        del known[name]
        yield f"{name} is gone"
    for name, line in full.lines.items():
        before = known.get(name)
        if before == line or (before is None and name not in told):
            continue
        if name not in told:
            del known[name]
            yield f"{name} has another value now, which is left out"
            continue
        known[name] = line
        if before is None:
            yield f"{name} ({line.type}): {line.value}"
        else:
            yield f"{name}{'' if before.type == line.type else f' ({line.type})'} is now {line.value}"


def _limit_frames(frames: list[VariableFrame]) -> tuple[list[VariableFrame], frozenset[str]]:
    """Return the frames limited to what may be shown, innermost first, and remarks about omissions."""
    out: list[VariableFrame] = []
    remarks: set[str] = set()
    size = 0
    for frame in reversed(frames):
        size += frame.size
        if size <= _MAX_CHARACTERS:
            out.append(frame)
        elif out:
            remarks.add(_OUTER_OMITTED_REMARK)
            out.append(replace(frame, most=0))
        else:
            remarks.add(_INNER_OMITTED_REMARK)
            out.append(replace(frame, most=_count_fitting(frame)))
    return out[::-1], frozenset(remarks)


def _count_fitting(frame: VariableFrame) -> int:
    """Return how many variables of a frame fit into the limit."""
    room = _MAX_CHARACTERS - len(frame.title)
    for number, (name, line) in enumerate(frame.lines.items()):
        room -= _get_line_length(name, line)
        if room < 0:
            return number
    return len(frame.lines)


def _get_line_length(name: str, line: VariableLine) -> int:
    return len(name) + len(line.type) + len(line.value) + 6
