"""`aws emr create-cluster …` in a script, as the object that RunJobFlow takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from lint.reader.argument import Option
from lint.reader.findings import ReadProblems
from lint.reader.node import Object
from lint.reader.option_members import OPTIONS, launch_object
from lint.reader.shell_words import shell_words
from lint.reader.source_text import SourceText, refusal
from sizing.problem import Problem

__all__ = ["command_object", "command_offsets"]

COMMAND: Final = re.compile(r"(?<![\w-])emr(?:[ \t]|\\\n)+create-cluster(?=(?:\s|\\\n)+-)")
BEFORE: Final = re.compile(r"(?P<backtick>`?)(?<![\w-])aws(?![\w-])[^`]*$")
COMMENT: Final = re.compile(r"(?:^|\s)#")
# judgement: global options between `aws` and `emr` are shorter.
FARTHEST_AWS: Final = 1_000


def command_offsets(text: str) -> list[tuple[int, bool]]:
    """Where the words of each such command begin, and whether it stands in backticks. A comment holds none."""
    found = []
    for command in COMMAND.finditer(text):
        nearby = text[max(0, command.start() - FARTHEST_AWS) : command.start()]
        line = nearby.replace("\\\n", "  ").rpartition("\n")[2]
        before = BEFORE.search(line)
        if before and not COMMENT.search(line[: before.start()]):
            found.append((command.end(), bool(before["backtick"])))
    return found


def command_object(script: SourceText, folder: Path) -> Object:
    """The one command of a script; `file://` is looked for in `folder`. Raises InvalidInput with all problems."""
    (offset, in_backticks), *more = command_offsets(script.text)
    if more:
        why = f"another create-cluster stands in line {script.place(offset).line}"
        fix = "put each command in a file of its own"
        raise refusal(script.place(more[0][0]), what="is a second cluster", why=why, fix=fix)
    findings = ReadProblems()
    words = shell_words(script, offset, in_backticks=in_backticks)
    options = _options(words, findings.problems)
    members = launch_object(options, folder, findings.problems)
    findings.refuse_problems()
    return Object(members=members, place=script.place(offset))


def _options(words: list[SourceText], problems: list[Problem]) -> dict[str, Option]:
    """Each option that is read here, with the words that follow it."""
    options: dict[str, Option] = {}
    for option in _option_values(words):
        if option.name in OPTIONS:
            problems += _option_problems(option, options)
            options[option.name] = option
    return {name: option for name, option in options.items() if option.values}


def _option_values(words: list[SourceText]) -> Iterator[Option]:
    """Both spellings: `--option value` and `--option=value`."""
    starts = [index for index, word in enumerate(words) if word.text.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=False):
        word = words[start]
        name, equals, _ = word.text.partition("=")
        values = [word.after(len(name) + 1)] if equals else []
        yield Option(name=name, place=word.place(0), values=(*values, *words[start + 1 : end]))


def _option_problems(option: Option, before: Mapping[str, Option]) -> Iterator[Problem]:
    where = str(option.place)
    if not option.values:
        yield Problem(where=where, what=option.name, why="it has no value", fix="give the value, or leave it out")
    if option.name in before:
        why = f"stands in line {before[option.name].place.line} already, and only the last would count"
        yield Problem(where=where, what=option.name, why=why, fix="remove one of the two")
