"""Hints for mistakes on the command line: what was probably meant by an option, a number, a word or a command."""

from __future__ import annotations

import re

import click

from antiphon._base.did_you_mean import suggest_name

#: Options of other tools, and what does the same here. A hint for one command has its name before a colon.
_OPTION_HINTS = {
    **dict.fromkeys(("--temperature", "--max-tokens", "--top-p", "--seed", "--stop"), "write `-o {field}=…`"),
    **dict.fromkeys(("--system-prompt", "--instructions", "--instruction"), "write `--system TEXT`"),
    **dict.fromkeys(("--functions", "--function", "--plugin"), "write `--tool FILE.py`"),
    **dict.fromkeys(("--cid", "--conversation", "--session", "--chat-id"), "write `--resume SESSION`"),
    **dict.fromkeys(("--key", "--api-key"), "`antiphon setup keys set PROVIDER` stores a key"),
    **dict.fromkeys(
        ("--base-url", "--api-base", "--url"), "set `OPENAI_BASE_URL`, or the variable of another provider"
    ),
    **dict.fromkeys(("--file", "--image", "--attachment"), "write `--attach PATH`"),
    **dict.fromkeys(("--json-schema", "--output-type", "--type"), "write `--returns TYPE` or `--schema FILE`"),
    **dict.fromkeys(("--quiet", "--verbose", "--debug"), "`antiphon show SESSION --steps` shows what a session did"),
    "run:--dry-run": "`--show prompt` prints the first request and sends nothing",
    "run:--input": "an input is a flag of its own behind the program: `antiphon run FILE --NAME VALUE`",
    "serve:--host": "write `--listen ADDRESS`",
    **dict.fromkeys(
        ("run:--temperature", "run:--max-tokens"),
        "a program says it of its model: `model m = {{ name: …, {field}: … }}`",
    ),
    "list:--all": "write `-n NUMBER`",
    "mcp:--port": "it speaks over standard input and output, and has no port",
    ":-c": "`antiphon run -` reads a program from standard input",
}


def explain_usage_error(error: click.UsageError) -> click.UsageError:
    """Return the error with what was probably meant, if that is known."""
    match error:
        case click.NoSuchOption():
            return _suggest_option(error)
        case click.BadParameter():
            return _describe_number(error)
        case _ if error.message.startswith("No such command"):
            return _list_commands(error)
        case _ if error.message.startswith("Got unexpected extra argument"):
            return _explain_extra_words(error)
        case _:
            return error


def _suggest_option(error: click.NoSuchOption) -> click.NoSuchOption:
    context, name = error.ctx, error.option_name
    if context is None:
        return error
    command = context.info_name if context.parent is not None else ""
    known = [
        option
        for param in context.command.get_params(context)
        if isinstance(param, click.Option) and not param.hidden
        for option in (*param.opts, *param.secondary_opts)
    ]
    hint = _OPTION_HINTS.get(f"{command}:{name}") or _OPTION_HINTS.get(name, "")
    wanted = re.match(r"write `(--?[a-z]+) ", hint)
    if command and hint and (wanted is None or wanted[1] in known):
        hint = hint.format(field=name[2:].replace("-", "_"))
    elif not command and hint and name == "-c":
        pass
    elif "; " in error.message:
        # The command has said what it takes.
        return error
    elif name == "--db" and command:
        hint = f"write it before the command: antiphon --db LOCATION {command}"
    else:
        near = _suggest_near_option(name, known)
        hint = f"did you mean {near!r}?" if near else ""
        if not command and not hint:
            hint = "options of a command follow its name, as in `antiphon ask -m sonnet`"
    return click.NoSuchOption(name, f"No such option: {name}" + f"; {hint}" * bool(hint), ctx=context)


def _suggest_near_option(name: str, known: list[str]) -> str | None:
    if len(name) == len("-m"):
        return next((each for each in known if each.startswith(f"-{name}")), None)
    # Without the dashes, which all of them have.
    near = suggest_name(name.lstrip("-"), [each[2:] for each in known if each.startswith("--")])
    return f"--{near}" if near else None


def _describe_number(error: click.BadParameter) -> click.BadParameter:
    """Return the error of an option with a range of numbers in words that say which numbers it takes."""
    wanted = error.param.type if error.param is not None else None
    if not isinstance(wanted, click.IntRange | click.FloatRange) or " is not " not in error.message:
        return error
    given = error.message.partition(" is not ")[0]
    kind = "a whole number" if isinstance(wanted, click.IntRange) else "a number"
    least = f"{wanted.min:g}" if wanted.min is not None else ""
    if wanted.max is not None:
        bounds = f" from {least} to {wanted.max:g}"
    elif wanted.min_open:
        bounds = f" greater than {least}"
    else:
        bounds = f" from {least} on" if least else ""
    return click.BadParameter(f"{given} is not {kind}{bounds}.", error.ctx, error.param, error.param_hint)


def _list_commands(error: click.UsageError) -> click.UsageError:
    """Return the error for an unknown part of a command, with the parts that there are."""
    context = error.ctx
    if context is None or not isinstance(context.command, click.Group):
        return error
    given, known = error.message.removeprefix("No such command").strip(" '."), context.command.list_commands(context)
    words = context.command_path.partition(" ")[2]
    near = suggest_name(given, known) or {"add": "set", "rm": "remove", "delete": "remove", "ls": "list"}.get(given)
    hint = f"did you mean `antiphon {words} {near}`?" if near in known else f"there are {', '.join(known)}"
    return click.UsageError(f"`antiphon {words}` has no part {given!r:.60}; {hint}", context)


def _explain_extra_words(error: click.UsageError) -> click.UsageError:
    context = error.ctx
    if context is None:
        return error
    words = error.message.partition("(")[2].rstrip(")")
    if context.info_name == "show" and re.fullmatch(r"\d+(/\w+)*", words):
        hint = f"a step is written `{context.params.get('what', 'SESSION')}:{words}`"
    else:
        usage = context.command.collect_usage_pieces(context)
        hint = f"it takes {' '.join(usage)}; quote a text with spaces"
    return click.UsageError(f"{error.message}; {hint}", context)
