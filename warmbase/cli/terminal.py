"""The terminal: what a command prints, and how an error ends it.

A name that comes from a cluster, a store file or AWS may hold control sequences, and must not command the terminal, so
all text is printed through `echo`. An error is printed as text on stderr and, with `--output json`, as JSON on stdout,
too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import click
from msgspec.structs import replace

from warmbase.ground.errors import Drifted, InvalidInput, WarmbaseError
from warmbase.ground.units import printable


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print the text; every character but line feeds and tabs that is not printable is escaped."""
    click.echo(printable_lines(text), err=err, nl=nl)


def printable_lines(text: str) -> str:
    """Return the text with its line feeds and tabs, and every other character that is not printable escaped."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


IN_ANSWER: Final = "warmbase.cli.terminal.in_answer"


CLUSTER_WORDS: Final = "warmbase.cluster"
"""The key of click's context under which a command keeps the words that name its running cluster to another command."""
OF_CLUSTER: Final = re.compile(r"(?<=warmbase )(restart|heal|tables|compact|reconfigure|warm (?:boost|wait)) ENV\b")


def name_cluster(context: click.Context, error: WarmbaseError) -> None:
    """Let the commands in an error's fixes name the environment and cluster that the failed command was about."""
    words = context.meta.get(CLUSTER_WORDS)
    if words is not None and not isinstance(error, Drifted):
        fixes = [OF_CLUSTER.sub(lambda match: f"{match[1]} {words}", problem.fix) for problem in error.problems]
        pairs = zip(error.problems, fixes, strict=True)
        WarmbaseError.__init__(error, [replace(problem, fix=fix) for problem, fix in pairs])


def print_error(error: WarmbaseError) -> int:
    """Prints the error and its notes for people, and returns the exit code that it stands for."""
    echo(str(error), err=True)
    print_notes(error)
    return error.exit_code


def print_notes(error: BaseException) -> None:
    """Prints the notes of an error: what is left for you to do besides its fix, such as removing a lock."""
    for note in getattr(error, "__notes__", ()):
        echo(note, err=True)


def is_json(arguments: Sequence[str]) -> bool:
    """Return whether a command line asks for JSON."""
    return "--output=json" in arguments or ("--output", "json") in pairwise(arguments)


def print_json_error(context: click.Context, error: WarmbaseError | click.UsageError) -> None:
    """Prints the error on stdout as one JSON document, unless the command's answer has it already."""
    if context.meta.get(IN_ANSWER):
        return
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "warmbase"
        message = error.format_message().rstrip(".")
        error = InvalidInput.of(where=command, what=message, why="", fix=f"{command} --help")
    print_json(error.document())


def print_json(document: object) -> None:
    """Print a document as `reports.json_text` writes it."""
    from warmbase.reports.json_text import json_text  # noqa: PLC0415 - it loads the types of a plan

    echo(json_text(document))


def answer_document(answer: Mapping[str, Any], error: WarmbaseError | None) -> dict[str, Any]:
    """Return the answer of a command that also ends with an error, so that stdout stays one JSON document."""
    if error is None:
        return dict(answer)
    click.get_current_context().meta[IN_ANSWER] = True
    return {**answer, **error.document()}
