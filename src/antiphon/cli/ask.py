"""`antiphon ask`: ask a model once and print its answer, for people and scripts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from antiphon.cli.chat_front.failure_report import INTERRUPTED, MISTAKE, NO_ANSWER, make_failure_json
from antiphon.cli.chat_front.output import discard_stdout, print_json, print_message
from antiphon.cli.chat_front.shared_options import (
    add_conversation_options,
    add_question_options,
    check_exclusive_options,
    chosen,
)
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.chat.startup import ChatOptions
    from antiphon.cli.chat_front.ask_request import Question

#: Options that print something other than the answer's text: at most one of them, and never streamed.
_OUTPUT_OPTIONS = {"returns": "--returns", "schema": "--schema", "extract": "--extract"}


@click.command()
@click.argument("prompt", nargs=-1)
@click.option(
    "-a",
    "--attach",
    "attached",
    multiple=True,
    metavar="PATH|URL|-",
    type=click.Path(),
    help="Send this along: text, an image, a PDF; `-` is standard input.",
)
@add_question_options("none, or those of the conversation that is continued")
@click.option("-r", "--returns", metavar="TYPE", help="Print JSON of this type: '{name: text, age: number}', 'text[]'.")
@click.option(
    "--schema",
    metavar="FILE[:NAME]",
    type=click.Path(),
    help="Print JSON of the type that person.json (JSON Schema), models.py:Person or types.vibe:Person is.",
)
@click.option("-x", "--extract", is_flag=True, help="Print the first code block of the answer, and nothing else.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one object: value, tool calls, usage, cost, model, outcome, id."
)
@click.option("--usage", is_flag=True, help="Say on standard error what the answer took: tokens and cost.")
@click.option("--stream/--no-stream", default=None, help="Print the answer as it comes. [default: in a terminal]")
@add_conversation_options("what was asked last")
@click.option("--max-turns", type=click.IntRange(1), metavar="N", help="At most so many requests.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="No request beyond this cost.")
@click.option("--save", metavar="NAME", help="Ask nothing: save all of this as a template, for `-t NAME`.")
def ask(prompt: tuple[str, ...], **given: Any) -> None:
    """Ask a model once and print its answer.

    Standard input is appended to PROMPT, or is the prompt. Exit code: 0 answered, 1 no answer, 2 an invalid
    option or configuration, 3 a tool call needs approval, 130 interrupted.
    """
    _check_options(given)
    as_json = bool(given["as_json"])
    try:
        code = _save_template(prompt, given) if given["save"] is not None else _ask_model(prompt, given)
    except KeyboardInterrupt:
        print_message("interrupted")
        code = INTERRUPTED
        if as_json:
            print_json(make_failure_json("interrupted"))
    except AntiphonError as error:
        if not as_json:
            raise
        print_message(str(error))
        print_json(make_failure_json(str(error)))
        code = MISTAKE
    except BrokenPipeError:
        raise
    except OSError as error:
        print_message(f"the answer cannot be written: {error.strerror or error}")
        discard_stdout()
        code = NO_ANSWER
    sys.exit(code)


def _check_options(given: dict[str, Any]) -> None:
    """Raise a usage error for options that exclude each other."""
    forms = [flag for name, flag in _OUTPUT_OPTIONS.items() if given[name]]
    if len(forms) > 1:
        raise click.UsageError(f"`{forms[0]}` and `{forms[1]}` print different things; give one of them")
    if given["extract"] and given["as_json"]:
        raise click.UsageError("`--extract` prints a code block, `--json` the whole result; give one of them")
    if given["stream"] and (forms or given["as_json"]):
        told = forms[0] if forms else "--json"
        raise click.UsageError(f"`--stream` prints text as it comes; `{told}` prints what is complete")
    check_exclusive_options(given, "the last question", is_template=given["save"] is not None)
    if given["save"] is not None and (given["template"] is not None or given["attached"] or given["go_on"]):
        raise click.UsageError("`--save` makes a new template: without `--template`, `--attach` and `--continue`")


def _ask_model(prompt: tuple[str, ...], given: dict[str, Any]) -> int:
    from antiphon.cli.chat_front.ask_flow import AskOutput, answer
    from antiphon.cli.chat_front.ask_request import asked, check_prompt, resolve_answer_type, said
    from antiphon.cli.chat_front.template_use import apply_template, find_requested_template

    question, template = said(given), find_requested_template(given)
    question = asked(question, prompt, given["attached"])
    if template is not None:
        question = apply_template(question, template, given)
    check_prompt(question)
    wanted = AskOutput(
        question.text,
        question.attachments,
        resolve_answer_type(question.returns, question.schema),
        given["as_json"],
        given["stream"],
        question.extract,
        given["usage"],
    )
    return answer(_chat_options(question, given), wanted)


def _chat_options(question: Question, given: dict[str, Any]) -> ChatOptions:
    from antiphon.chat.startup import ChatOptions
    from antiphon.session import Limits

    only, more = chosen(question.tools, question.own, question.mcp)
    keeps_tools = only is None and (given["go_on"] or given["resume"] is not None)
    about = {name: getattr(question, name) for name in ("returns", "schema", "extract")}
    return ChatOptions(
        "ask",
        question.model,
        question.system,
        given["go_on"],
        given["resume"],
        given["yes"],
        log=not given["no_log"],
        limits=Limits(turns=given["max_turns"] or Limits().turns, cost=given["max_cost"]),
        # Without tools nothing needs to be replayed: asking again is as quick.
        journal=bool(only or more or keeps_tools) and not given["no_journal"],
        about={**about, "options": dict(question.options), "yes": given["yes"]},
        tools=only,
        more=more,
        options=question.options,
    )


def _save_template(prompt: tuple[str, ...], given: dict[str, Any]) -> int:
    from antiphon.cli.chat_front.ask_request import said
    from antiphon.cli.chat_front.template_saver import save
    from antiphon.cli.key_value import parse_pairs

    save(said(given), prompt, parse_pairs(given["params"], "-p"), given["save"])
    return 0
