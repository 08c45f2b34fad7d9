"""What models are told of variables: all of them at first, and after that only what is new, changed or gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

#: How much of all variables is told at once, in characters.
_LIMIT = 40_000
_MORE_OUTSIDE = "[more variables of outer functions are left out]"
_MORE_HERE = "[more variables are left out: the list is cut]"


@dataclass(frozen=True, slots=True)
class Line:
    """A variable as a model is shown it."""

    type: str
    value: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The variables of an active function. `place` counts functions from the outermost; both name it."""

    place: int
    title: str
    lines: Mapping[str, Line]
    #: How many of its variables are told, where they are too many.
    most: int | None = None

    @property
    def told(self) -> dict[str, Line]:
        """The variables that are told."""
        return dict(list(self.lines.items())[: self.most])

    @property
    def size(self) -> int:
        """The length of all of it as text."""
        return len(self.title) + sum(map(_size, self.lines, self.lines.values()))


@dataclass(frozen=True, slots=True)
class Told:
    """What a model knows of variables from one history: the last value of each that it was told."""

    frames: Mapping[tuple[int, str], Mapping[str, Line]] = field(default_factory=dict[tuple[int, str], dict[str, Line]])
    #: Remarks about what is left out, each of which is made once.
    remarks: frozenset[str] = frozenset()

    def update(self, frames: Iterable[Frame]) -> tuple[str, Told]:
        """Return the text that tells what has changed, empty for nothing, and what is known after it."""
        present = list(frames)
        bounded, remarks = _bounded(present)
        known = {key: dict(lines) for key, lines in self.frames.items()}
        paragraphs = [_MORE_OUTSIDE] if _MORE_OUTSIDE in remarks - self.remarks else []
        paragraphs += self._gone(present, known)
        for full, frame in zip(present, bounded, strict=True):
            changes = list(_changes(known.setdefault((full.place, full.title), {}), full, frame))
            if changes:
                paragraphs.append("\n".join([full.title, *changes]))
        if _MORE_HERE in remarks - self.remarks:
            paragraphs.append(_MORE_HERE)
        return "\n\n".join(paragraphs), Told(known, self.remarks | remarks)

    def _gone(self, present: Iterable[Frame], known: dict[tuple[int, str], dict[str, Line]]) -> Iterator[str]:
        """Yield a line for each function that has ended since, and forget its variables."""
        keys = {(frame.place, frame.title) for frame in present}
        for key in [key for key in known if key not in keys]:
            if known.pop(key):
                yield f"{key[1].removesuffix(':')} are gone."


def _changes(known: dict[str, Line], full: Frame, frame: Frame) -> Iterator[str]:
    """Yield a line for each variable that is new, changed or gone; `known` is brought up to date."""
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


def _bounded(frames: list[Frame]) -> tuple[list[Frame], frozenset[str]]:
    """Return the frames with what may be told of each, innermost first, and remarks about what may not."""
    out: list[Frame] = []
    remarks: set[str] = set()
    size = 0
    for frame in reversed(frames):
        size += frame.size
        if size <= _LIMIT:
            out.append(frame)
        elif out:
            remarks.add(_MORE_OUTSIDE)
            out.append(replace(frame, most=0))
        else:
            remarks.add(_MORE_HERE)
            out.append(replace(frame, most=_fitting(frame)))
    return out[::-1], frozenset(remarks)


def _fitting(frame: Frame) -> int:
    """Return how many of the variables of a frame fit into the limit."""
    room = _LIMIT - len(frame.title)
    for number, (name, line) in enumerate(frame.lines.items()):
        room -= _size(name, line)
        if room < 0:
            return number
    return len(frame.lines)


def _size(name: str, line: Line) -> int:
    return len(name) + len(line.type) + len(line.value) + 6
