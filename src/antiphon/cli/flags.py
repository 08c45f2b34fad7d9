"""The inputs of a program as flags of the command that runs it: `antiphon run weather.vibe --city Oslo --days 5`.

What stands before FILE are options of the command. Behind it a flag that the program declares is the program's; any
other is the command's; and what follows `--` is in the program's `args`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable, printable_line
from antiphon._suggestions import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from antiphon.lang.compile.code import Given
    from antiphon.lang.syntax.nodes import Input, Node
    from antiphon.lang.syntax.source import Source

#: Under this name the context knows FILE before it is parsed.
_FILE = "antiphon.file"
#: And the input whose value a shell is asked about.
_OPEN = "antiphon.open"
_MOST_DEFAULT = 60


class ProgramCommand(click.Command):
    """A command whose FILE has flags of its own; they are handed on as `flags`, in texts by name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the program's flags out of the arguments."""
        at = self._file_at(args)
        rest, behind = _split(args[at + 1 :])
        flags: dict[str, list[str]] = {}
        if at < len(args):
            ctx.meta[_FILE] = args[at]
        if rest:
            rest = self._without_flags(ctx, rest, _declared(args[at]), flags)
        try:
            out = super().parse_args(ctx, [*args[: at + 1], *rest, *(["--", *behind] if behind else [])])
        except click.NoSuchOption as error:
            raise _before_file(ctx, args, error) from None
        ctx.params["flags"] = flags
        return out

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command's own help, and below it that of the program, where one is named."""
        super().format_help(ctx, formatter)
        if file := ctx.params.get("file") or ctx.meta.get(_FILE):
            _write_program(formatter, file)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The flags of the program first."""
        from click.shell_completion import CompletionItem

        found: list[CompletionItem] = []
        file = ctx.params.get("file") or ctx.meta.get(_FILE)
        if file and file != "-" and incomplete.startswith("-"):
            flags = _declared(file) or {}
            found = [CompletionItem(flag(name), help=each.description or None) for name, each in flags.items()]
        known = [each for each in found if each.value.startswith(incomplete)]
        return [*known, *super().shell_complete(ctx, incomplete)]

    def _file_at(self, args: list[str]) -> int:
        """Where FILE stands: the first that is no option, and no value of one."""
        at = 0
        while at < len(args):
            if args[at] == "--":
                return at + 1
            if args[at] == "-" or not args[at].startswith("-"):
                return at
            at += 1 + self._takes_value(args[at])
        return at

    def _takes_value(self, given: str) -> bool:
        """Whether the next argument belongs to an option."""
        option = self._option(given)
        return "=" not in given and option is not None and not option.is_flag and not option.count

    def _option(self, given: str) -> click.Option | None:
        name = given.partition("=")[0]
        options = (each for each in self.params if isinstance(each, click.Option))
        return next((each for each in options if name in (*each.opts, *each.secondary_opts)), None)

    def _without_flags(
        self, ctx: click.Context, args: list[str], declared: Mapping[str, Input] | None, flags: dict[str, list[str]]
    ) -> list[str]:
        """What is not the program's; of a program that cannot be read, no flag is known to be wrong."""
        rest: list[str] = []
        at = 0
        while at < len(args):
            each = args[at]
            if each.startswith("--") and (name := _meant(each, declared or {})):
                at = _take(ctx, args, at, name, declared or {}, flags)
                continue
            if each.startswith("--") and self._option(each) is None and each not in ctx.help_option_names:
                at += 1
                if declared is not None and not ctx.resilient_parsing:
                    raise _no_such(self, ctx, each.partition("=")[0], declared)
                continue
            if declared and not each.startswith("-") and not ctx.resilient_parsing:
                raise _stray(ctx, each, args[at - 1] if at else "", declared)
            here = at + 1 + self._takes_value(each)
            rest += args[at:here]
            at = here
        return rest


def flag(name: str) -> str:
    """The flag of an input: `--max-wind` of `max_wind` and of `maxWind`."""
    apart = _HUMP.sub("-", name)
    return f"--{(apart if apart == name else apart.lower()).replace('_', '-')}"


#: Where a new word begins in a name.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def texts_of(flags: Mapping[str, list[str]], inputs: Mapping[str, Given]) -> dict[str, Any]:
    """What flags say, each as text to be read; of an array, its items, if they were given one by one."""
    from antiphon.lang.check.types import Array, options_of

    out: dict[str, Any] = {}
    for name, given in flags.items():
        arrays = [each for each in options_of(inputs[name].type) if isinstance(each, Array)]
        if arrays and (len(given) > 1 or not given[0].lstrip().startswith("[")):
            out[name] = Items(given)
        elif len(given) > 1:
            raise click.UsageError(f"`{flag(name)}` is given {len(given)} times, and takes one value")
        else:
            out[name] = given[0]
    return out


class Items(list[str]):
    """Items of an array, each as text."""


def take(name: str, wanted: Any, value: Any) -> Any:
    """A value that flags say: items of an array are read one by one."""
    from antiphon.lang.check.types import Array, options_of
    from antiphon.lang.run.inputs import fitting, read_one

    if not isinstance(value, Items):
        return read_one(name, wanted, value)
    array = next(each for each in options_of(wanted) if isinstance(each, Array))
    return fitting(name, wanted, [read_one(f"{name}[{at}]", array.item, each) for at, each in enumerate(value)])


def _split(args: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in args:
        return args, []
    at = args.index("--")
    return args[:at], args[at + 1 :]


def _declared(file: str) -> dict[str, Input] | None:
    """The inputs that a program declares, as far as it can be read; what is wrong with it is told when it is loaded."""
    from antiphon.lang.syntax import nodes
    from antiphon.lang.syntax.parser import parse

    source = _source(file)
    if source is None:
        return None
    program, _ = parse(source)
    return {each.name: each for each in program.statements if isinstance(each, nodes.Input)}


def complete_value(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell is offered for the value of a flag: the words that its type names; else files."""
    from click.shell_completion import CompletionItem

    words = _words(str(ctx.meta[_FILE]), ctx.meta[_OPEN]) if _OPEN in ctx.meta else []
    if not words:
        return [CompletionItem(incomplete, type="file")]
    return [CompletionItem(each) for each in words if each.startswith(incomplete)]


def _words(file: str, name: str) -> list[str]:
    """The texts that an input may be, where its type names them."""
    from antiphon.lang.analysis import analyse
    from antiphon.lang.check.types import Array, Literal, options_of

    source = _source(file)
    symbol = analyse(source).scope.names.get(name) if source is not None else None
    options = options_of(symbol.type) if symbol is not None else ()
    inner = (each for option in options if isinstance(option, Array) for each in options_of(option.item))
    return [each.value for each in (*options, *inner) if isinstance(each, Literal) and isinstance(each.value, str)]


def _source(file: str) -> Source | None:
    from antiphon.cli import programs
    from antiphon.lang.run.errors import VibeError

    try:
        return programs.read(file)
    except VibeError:
        return None


def _meant(given: str, declared: Mapping[str, Input]) -> str:
    """The input that a flag is of, also by `--no-` of a boolean one; none, if it is of none."""
    written = given.partition("=")[0]
    if written[2:] in declared:
        return written[2:]
    for each, node in declared.items():
        if written == flag(each) or (_is_boolean(node) and written in (flag(f"no-{each}"), f"--no-{each}")):
            return each
    return ""


def _is_boolean(node: Input) -> bool:
    names = _names(node.declared)
    return "boolean" in names and names <= {"boolean", "null"}


def _names(declared: Node | None) -> set[str]:
    """The names of the types that a value may be of."""
    return {getattr(each, "name", "") for each in getattr(declared, "options", [declared])}


def _take(
    ctx: click.Context,
    args: list[str],
    at: int,
    name: str,
    declared: Mapping[str, Input],
    flags: dict[str, list[str]],
) -> int:
    """Take a flag and its value; where the next begins."""
    written, equals, value = args[at].partition("=")
    given = flags.setdefault(name, [])
    if _is_boolean(declared[name]) and not equals:
        is_on = written in (flag(name), f"--{name}")
        if is_on and args[at + 1 : at + 2] in (["true"], ["false"]):
            # No other word may follow here, so it can be nothing else.
            given.append(args[at + 1])
            return at + 2
        given.append("true" if is_on else "false")
        return at + 1
    if not equals:
        at += 1
        if at >= len(args) and ctx.resilient_parsing:
            ctx.meta[_OPEN] = name
            return at
        if at >= len(args):
            raise click.BadOptionUsage(written, f"Option '{written}' requires an argument.", ctx=ctx)
        value = args[at]
    given.append(value)
    return at + 1


def _stray(ctx: click.Context, given: str, before: str, declared: Mapping[str, Input]) -> click.UsageError:
    """A word that belongs to no flag: of a value with blanks, the quotes are missing, or a boolean has a value."""
    name = _meant(before, declared) if before.startswith("--") else ""
    if name and _is_boolean(declared[name]):
        hint = f"write `{flag(name)}` for true, and `{flag('no-' + name)}` for false"
    else:
        hint = "a value with blanks stands in quotes, and words for `args` behind `--`"
    return click.UsageError(printable_line(f"`{given}` belongs to no flag; {hint}."), ctx=ctx)


def _before_file(ctx: click.Context, args: list[str], error: click.NoSuchOption) -> click.NoSuchOption:
    """An input that stands before its program is told where it belongs."""
    file = next((each for each in args if each.endswith(".vibe")), "")
    if error.option_name[2:].replace("-", "_") not in (_declared(file) or {}) if file else True:
        return error
    said = f"No such option: {error.option_name}; inputs stand behind the program: {file} {error.option_name} …"
    return click.NoSuchOption(error.option_name, printable_line(said), ctx=ctx)


def _no_such(
    command: ProgramCommand, ctx: click.Context, given: str, declared: Mapping[str, Input]
) -> click.NoSuchOption:
    own = (each for option in command.params for each in option.opts if each.startswith("--"))
    found = nearest(given, [*map(flag, declared), *own])
    taken = f"No such option: {given}; the program takes {', '.join(map(flag, declared)) or 'none'}."
    return click.NoSuchOption(given, printable_line(taken), [found] if found else [], ctx=ctx)


def _write_program(formatter: click.HelpFormatter, file: str) -> None:
    from antiphon.cli import programs
    from antiphon.lang.syntax.source import first_comment

    source = _source(file)
    if source is None:
        return
    declared = _declared(file) or {}
    with formatter.section(f"The program {printable_line(programs.near(source.name))}"):
        for paragraph in filter(None, first_comment(source.text).split("\n\n")):
            formatter.write_text(printable(paragraph))
        if declared:
            types = _types(source)
            formatter.write_dl([_row(source, each, types) for each in declared.values()])
        else:
            formatter.write_text("It declares no inputs.")


def _types(source: Source) -> dict[str, Node]:
    """What the types stand for that a program declares."""
    from antiphon.lang.syntax import nodes
    from antiphon.lang.syntax.parser import parse

    declared = (each for each in parse(source)[0].statements if isinstance(each, nodes.TypeDecl))
    return {each.name: each.declared for each in declared}


def _written(source: Source, node: Node | None) -> str:
    return "" if node is None else " ".join(source.text[node.start : node.end].split())


def _row(source: Source, node: Input, types: Mapping[str, Node]) -> tuple[str, str]:
    """A flag with its type, and what is told of it. What a declared type stands for is told where it is short."""
    written = _written(source, node.declared)
    meant = types.get(written, node.declared)
    written = whole if len(whole := _written(source, meant)) <= _MOST_DEFAULT else written
    default = _written(source, node.default)
    default = default if len(default) <= _MOST_DEFAULT else f"{default[:_MOST_DEFAULT]}…"
    is_needed = node.default is None and "null" not in _names(meant)
    notes = "required" if is_needed else f"default: {default}" if default else ""
    both = f"{flag(node.name)} / {flag('no-' + node.name)}" if _is_boolean(node) else f"{flag(node.name)} {written}"
    return printable_line(both), printable("  ".join(filter(None, (node.description, notes and f"[{notes}]"))))
