"""`antiphon ask`: ask a model once and print its answer, for people and scripts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from antiphon.cli.chat_front.failure_report import INTERRUPTED, MISTAKE, NO_ANSWER, make_failure_json
from antiphon.cli.chat_front.shared_options import (
    add_conversation_options,
    add_question_options,
    check_exclusive_options,
    select_tools,
)
from antiphon.cli.output import discard_stdout, print_json, print_message
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.chat.service import ChatOptions
    from antiphon.cli.chat_front.ask_request import AskRequest

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
    help="Attach a file or URL: text, an image or a PDF; `-` is standard input.",
)
@add_question_options("none; a continued session keeps its own")
@click.option(
    "-r",
    "--returns",
    metavar="TYPE",
    help="Print the answer as JSON of this type: '{name: text, age: number}', 'text[]'.",
)
@click.option(
    "--schema",
    metavar="FILE[:NAME]",
    type=click.Path(),
    help="Print the answer as JSON of a declared type: person.json (JSON Schema), models.py:Person, types.vibe:Person.",
)
@click.option("-x", "--extract", is_flag=True, help="Print only the first code block of the answer.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one object: value, tool calls, usage, cost, model, outcome, id."
)
@click.option("--usage", is_flag=True, help="Print tokens and cost on standard error.")
@click.option("--stream/--no-stream", default=None, help="Print the answer while it arrives. [default: in a terminal]")
@add_conversation_options("the last question")
@click.option("--max-turns", type=click.IntRange(1), metavar="N", help="Send at most N requests.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="Stop before spending more.")
@click.option("--save", metavar="NAME", help="Save the question as a template for `-t NAME`; do not ask it.")
def ask(prompt: tuple[str, ...], **given: Any) -> None:
    """Ask a model once and print its answer.

    Standard input is appended to PROMPT, or used as the prompt. Exit code: 0 answered, 1 no answer, 2 an
    invalid option or configuration, 3 a tool call needs approval, 130 interrupted.
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
        raise click.UsageError(f"`{forms[0]}` and `{forms[1]}` print different things; use one of them")
    if given["extract"] and given["as_json"]:
        raise click.UsageError("`--extract` prints a code block, `--json` the whole result; use one of them")
    if given["stream"] and (forms or given["as_json"]):
        other = forms[0] if forms else "--json"
        raise click.UsageError(f"`--stream` prints text while it arrives, `{other}` only a complete result; use one")
    check_exclusive_options(given, "the last question", is_template=given["save"] is not None)
    if given["save"] is not None and (given["template"] is not None or given["attached"] or given["go_on"]):
        raise click.UsageError("`--save` makes a new template: without `--template`, `--attach` and `--continue`")


def _ask_model(prompt: tuple[str, ...], given: dict[str, Any]) -> int:
    from antiphon.cli.chat_front.ask_flow import AskOutput, run_ask
    from antiphon.cli.chat_front.ask_request import add_prompt, check_prompt, read_request, resolve_answer_type
    from antiphon.cli.chat_front.template_use import apply_template, find_requested_template

    question, template = read_request(given), find_requested_template(given)
    question = add_prompt(question, prompt, given["attached"])
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
    return run_ask(_chat_options(question, given), wanted)


def _chat_options(question: AskRequest, given: dict[str, Any]) -> ChatOptions:
    from antiphon.chat.service import ChatOptions
    from antiphon.effects import Limits

    only, more = select_tools(question.tools, question.own, question.mcp)
    about = {name: getattr(question, name) for name in ("returns", "schema", "extract")}
    return ChatOptions(
        "ask",
        question.model,
        question.system,
        given["go_on"],
        given["resume"],
        given["yes"],
        log=not given["no_save"],
        fork=given["fork"],
        limits=Limits(requests=given["max_turns"] or Limits().requests, cost=given["max_cost"]),
        journal=not given["no_save"],
        about={**about, "options": dict(question.options), "yes": given["yes"]},
        tools=only,
        more=more,
        options=question.options,
    )


def _save_template(prompt: tuple[str, ...], given: dict[str, Any]) -> int:
    from antiphon.cli.chat_front.ask_request import read_request
    from antiphon.cli.chat_front.template_saver import save_request_template
    from antiphon.cli.options import parse_pairs

    save_request_template(read_request(given), prompt, parse_pairs(given["params"], "-p"), given["save"])
    return 0
