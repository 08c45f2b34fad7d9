"""The inputs of a program as command-line flags: `antiphon run weather.vibe --city Oslo --days 5`.

Options before FILE belong to the command. After it, a flag that the program declares belongs to the
program, and any other to the command. Words after `--` are the program's `args`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.did_you_mean import suggest_name
from antiphon._base.escape import escape_unprintable, escape_unprintable_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from antiphon.lang.codegen.code_object import ProgramInput
    from antiphon.lang.syntax.nodes import Input, Node
    from antiphon.lang.syntax.source import Source

#: The key in the context's `meta` for FILE, before it is parsed.
_FILE_KEY = "antiphon.file"
#: The key for the input whose value is being completed.
_COMPLETED_INPUT_KEY = "antiphon.open"
_MAX_DEFAULT_LENGTH = 60


class ProgramCommand(click.Command):
    """A command whose FILE declares flags; they are passed on as `flags`, texts by name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Extract the program's flags from the arguments."""
        at = self._find_file_index(args)
        rest, behind = _split_at_dashes(args[at + 1 :])
        flags: dict[str, list[str]] = {}
        if at < len(args):
            ctx.meta[_FILE_KEY] = args[at]
        if rest:
            rest = self._extract_flags(ctx, rest, _declared_inputs(args[at]), flags)
        try:
            out = super().parse_args(ctx, [*args[: at + 1], *rest, *(["--", *behind] if behind else [])])
        except click.NoSuchOption as error:
            raise _misplaced_input_error(ctx, args, error) from None
        ctx.params["flags"] = flags
        return out

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's help, and that of the program if one is named."""
        super().format_help(ctx, formatter)
        if file := ctx.params.get("file") or ctx.meta.get(_FILE_KEY):
            _write_program_help(formatter, file)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return completions, the program's flags first."""
        from click.shell_completion import CompletionItem

        found: list[CompletionItem] = []
        file = ctx.params.get("file") or ctx.meta.get(_FILE_KEY)
        if file and file != "-" and incomplete.startswith("-"):
            flags = _declared_inputs(file) or {}
            found = [CompletionItem(flag_name(name), help=each.description or None) for name, each in flags.items()]
        known = [each for each in found if each.value.startswith(incomplete)]
        return [*known, *super().shell_complete(ctx, incomplete)]

    def _find_file_index(self, args: list[str]) -> int:
        """Return the index of FILE: the first argument that is no option and no option's value."""
        at = 0
        while at < len(args):
            if args[at] == "--":
                return at + 1
            if args[at] == "-" or not args[at].startswith("-"):
                return at
            at += 1 + self._takes_value(args[at])
        return at

    def _takes_value(self, given: str) -> bool:
        """Return whether the next argument is the value of this option."""
        option = self._option(given)
        return "=" not in given and option is not None and not option.is_flag and not option.count

    def _option(self, given: str) -> click.Option | None:
        name = given.partition("=")[0]
        options = (each for each in self.params if isinstance(each, click.Option))
        return next((each for each in options if name in (*each.opts, *each.secondary_opts)), None)

    def _extract_flags(
        self, ctx: click.Context, args: list[str], declared: Mapping[str, Input] | None, flags: dict[str, list[str]]
    ) -> list[str]:
        """Return the arguments without the program's flags; for an unreadable program, no flag is rejected."""
        rest: list[str] = []
        at = 0
        while at < len(args):
            each = args[at]
            if each.startswith("--") and (name := _find_input(each, declared or {})):
                at = _consume_flag(ctx, args, at, name, declared or {}, flags)
                continue
            if each.startswith("--") and self._option(each) is None and each not in ctx.help_option_names:
                at += 1
                if declared is not None and not ctx.resilient_parsing:
                    raise _unknown_flag_error(self, ctx, each.partition("=")[0], declared)
                continue
            if declared is not None and not each.startswith("-") and not ctx.resilient_parsing:
                raise _stray_word_error(ctx, each, args[at - 1] if at else "", declared)
            here = at + 1 + self._takes_value(each)
            rest += args[at:here]
            at = here
        return rest


def flag_name(name: str) -> str:
    """Return the flag of an input: `--max-wind` for `max_wind` and for `maxWind`."""
    apart = _WORD_START.sub("-", name)
    return f"--{(apart if apart == name else apart.lower()).replace('_', '-')}"


#: The start of a word in a camel-case name.
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def collect_flag_values(flags: Mapping[str, list[str]], inputs: Mapping[str, ProgramInput]) -> dict[str, Any]:
    """Return the values of flags as unparsed text; of an array, its items if given one by one."""
    from antiphon.lang.typecheck.types import Array, union_options

    out: dict[str, Any] = {}
    for name, given in flags.items():
        arrays = [each for each in union_options(inputs[name].type) if isinstance(each, Array)]
        if arrays and (len(given) > 1 or not given[0].lstrip().startswith("[")):
            out[name] = ItemTexts(given)
        elif len(given) > 1:
            raise click.UsageError(f"`{flag_name(name)}` takes one value, but is given {len(given)} times")
        else:
            out[name] = given[0]
    return out


class ItemTexts(list[str]):
    """The items of an array, each as text."""


def parse_flag_value(name: str, wanted: Any, value: Any) -> Any:
    """Parse a flag value by its type; items of an array are parsed one by one."""
    from antiphon.lang.runtime.inputs import check_input_value, parse_input
    from antiphon.lang.typecheck.types import Array, union_options

    if not isinstance(value, ItemTexts):
        return parse_input(name, wanted, value)
    array = next(each for each in union_options(wanted) if isinstance(each, Array))
    return check_input_value(
        name, wanted, [parse_input(f"{name}[{at}]", array.item, each) for at, each in enumerate(value)]
    )


def _split_at_dashes(args: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in args:
        return args, []
    at = args.index("--")
    return args[:at], args[at + 1 :]


def _declared_inputs(file: str) -> dict[str, Input] | None:
    """Return the inputs that a program declares; `None` if it cannot be read. Loading it reports its errors."""
    from antiphon.lang.syntax import nodes
    from antiphon.lang.syntax.parser.source_parser import parse_source

    source = _read_source(file)
    if source is None:
        return None
    program, _ = parse_source(source)
    return {each.name: each for each in program.statements if isinstance(each, nodes.Input)}


def complete_input_value(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return completions for a flag value: the literals of its type, or else files."""
    from click.shell_completion import CompletionItem

    words = (
        _literal_texts(str(ctx.meta[_FILE_KEY]), ctx.meta[_COMPLETED_INPUT_KEY])
        if _COMPLETED_INPUT_KEY in ctx.meta
        else []
    )
    if not words:
        return [CompletionItem(incomplete, type="file")]
    return [CompletionItem(each) for each in words if each.startswith(incomplete)]


def _literal_texts(file: str, name: str) -> list[str]:
    """Return the text literals that the type of an input allows."""
    from antiphon.lang.analysis import analyse
    from antiphon.lang.typecheck.types import Array, Literal, union_options

    source = _read_source(file)
    symbol = analyse(source).scope.names.get(name) if source is not None else None
    options = union_options(symbol.type) if symbol is not None else ()
    inner = (each for option in options if isinstance(option, Array) for each in union_options(option.item))
    return [each.value for each in (*options, *inner) if isinstance(each, Literal) and isinstance(each.value, str)]


def _read_source(file: str) -> Source | None:
    from antiphon.cli import program_loading as programs
    from antiphon.lang.runtime.errors import VibeError

    try:
        return programs.read_source_or_stdin(file)
    except VibeError:
        return None


def _find_input(given: str, declared: Mapping[str, Input]) -> str:
    """Return the input that a flag sets, also by `--no-` for booleans; empty if there is none."""
    written = given.partition("=")[0]
    if written[2:] in declared:
        return written[2:]
    for each, node in declared.items():
        if written == flag_name(each) or (_is_boolean(node) and written in (flag_name(f"no-{each}"), f"--no-{each}")):
            return each
    return ""


def _is_boolean(node: Input) -> bool:
    names = _type_names(node.declared)
    return "boolean" in names and names <= {"boolean", "null"}


def _type_names(declared: Node | None) -> set[str]:
    """Return the names of the types in a declared type."""
    return {getattr(each, "name", "") for each in getattr(declared, "options", [declared])}


def _consume_flag(
    ctx: click.Context,
    args: list[str],
    at: int,
    name: str,
    declared: Mapping[str, Input],
    flags: dict[str, list[str]],
) -> int:
    """Store a flag and its value; return the index of the next argument."""
    written, equals, value = args[at].partition("=")
    given = flags.setdefault(name, [])
    if _is_boolean(declared[name]) and not equals:
        is_on = written in (flag_name(name), f"--{name}")
        if is_on and args[at + 1 : at + 2] in (["true"], ["false"]):
            # No other word may follow a boolean flag, so it must be its value.
            given.append(args[at + 1])
            return at + 2
        given.append("true" if is_on else "false")
        return at + 1
    if not equals:
        at += 1
        if at >= len(args) and ctx.resilient_parsing:
            ctx.meta[_COMPLETED_INPUT_KEY] = name
            return at
        if at >= len(args):
            raise click.BadOptionUsage(written, f"Option '{written}' requires an argument.", ctx=ctx)
        value = args[at]
    given.append(value)
    return at + 1


def _stray_word_error(ctx: click.Context, given: str, before: str, declared: Mapping[str, Input]) -> click.UsageError:
    """Return the error for a word that belongs to no flag: missing quotes, or a value for a boolean flag."""
    name = _find_input(before, declared) if before.startswith("--") else ""
    if name and _is_boolean(declared[name]):
        hint = f"write `{flag_name(name)}` for true, and `{flag_name('no-' + name)}` for false"
    elif not declared:
        hint = "the program declares no inputs; write words for `args` after `--`"
    elif (key := given.partition("=")[0]) in declared:
        hint = f"write `{flag_name(key)} {given.partition('=')[2] or '…'}`"
    elif len(declared) == 1:
        hint = f"write `{flag_name(*declared)} {given}`; quote a value with spaces"
    else:
        hint = "quote a value with spaces, and write words for `args` after `--`"
    return click.UsageError(escape_unprintable_line(f"`{given}` belongs to no flag; {hint}."), ctx=ctx)


def _misplaced_input_error(ctx: click.Context, args: list[str], error: click.NoSuchOption) -> click.NoSuchOption:
    """Return a clearer error if the unknown option is an input that must follow the program."""
    file = next((each for each in args if each.endswith(".vibe")), "")
    if error.option_name[2:].replace("-", "_") not in (_declared_inputs(file) or {}) if file else True:
        return error
    said = f"No such option: {error.option_name}; write inputs after the program: {file} {error.option_name} …"
    return click.NoSuchOption(error.option_name, escape_unprintable_line(said), ctx=ctx)


def _unknown_flag_error(
    command: ProgramCommand, ctx: click.Context, given: str, declared: Mapping[str, Input]
) -> click.NoSuchOption:
    own = (each for option in command.params for each in option.opts if each.startswith("--"))
    found = suggest_name(given, [*map(flag_name, declared), *own])
    taken = f"No such option: {given}; the program takes {', '.join(map(flag_name, declared)) or 'none'}."
    return click.NoSuchOption(given, escape_unprintable_line(taken), [found] if found else [], ctx=ctx)


def _write_program_help(formatter: click.HelpFormatter, file: str) -> None:
    from antiphon.cli import program_loading as programs
    from antiphon.lang.syntax.source import extract_first_comment

    source = _read_source(file)
    if source is None:
        return
    declared = _declared_inputs(file) or {}
    with formatter.section(f"The program {escape_unprintable_line(programs.relative_path(source.name))}"):
        for paragraph in filter(None, extract_first_comment(source.text).split("\n\n")):
            formatter.write_text(escape_unprintable(paragraph))
        if declared:
            types = _declared_types(source)
            formatter.write_dl([_help_row(source, each, types) for each in declared.values()])
        else:
            formatter.write_text("It declares no inputs.")


def _declared_types(source: Source) -> dict[str, Node]:
    """Return the types that a program declares, by name."""
    from antiphon.lang.syntax import nodes
    from antiphon.lang.syntax.parser.source_parser import parse_source

    declared = (each for each in parse_source(source)[0].statements if isinstance(each, nodes.TypeDecl))
    return {each.name: each.declared for each in declared}


def _source_text(source: Source, node: Node | None) -> str:
    return "" if node is None else " ".join(source.text[node.start : node.end].split())


def _help_row(source: Source, node: Input, types: Mapping[str, Node]) -> tuple[str, str]:
    """Return a flag with its type, and its description. A declared type is expanded if that is short."""
    written = _source_text(source, node.declared)
    meant = types.get(written, node.declared)
    written = whole if len(whole := _source_text(source, meant)) <= _MAX_DEFAULT_LENGTH else written
    default = _source_text(source, node.default)
    default = default if len(default) <= _MAX_DEFAULT_LENGTH else f"{default[:_MAX_DEFAULT_LENGTH]}…"
    is_needed = node.default is None and "null" not in _type_names(meant)
    notes = "required" if is_needed else f"default: {default}" if default else ""
    both = (
        f"{flag_name(node.name)} / {flag_name('no-' + node.name)}"
        if _is_boolean(node)
        else f"{flag_name(node.name)} {written}"
    )
    return escape_unprintable_line(both), escape_unprintable(
        "  ".join(filter(None, (node.description, notes and f"[{notes}]")))
    )
