"""`aws emr create-cluster …` in a script, as the object that RunJobFlow takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from lint.reader.node import Object
from lint.reader.options import OPTIONS, Option, launch_object
from lint.reader.problems import ReadProblems
from lint.reader.shell_words import shell_words
from lint.reader.source_text import SourceText, refusal
from sizing.problem import Problem

COMMAND: Final = re.compile(r"(?<![\w-])emr(?:[ \t]|\\\n)+create-cluster(?=(?:\s|\\\n)+-)")
BEFORE: Final = re.compile(r"(?P<backtick>`?)(?<![\w-])aws(?![\w-])[^`]*$")
COMMENT: Final = re.compile(r"(?:^|\s)#")
# judgement: global options between `aws` and `emr` are shorter.
FARTHEST_AWS: Final = 1_000


def command_offsets(text: str) -> list[tuple[int, bool]]:
    """Return the offset after each such command, and whether it is in backticks; comments are skipped."""
    offsets = []
    for command in COMMAND.finditer(text):
        nearby = text[max(0, command.start() - FARTHEST_AWS) : command.start()]
        line = nearby.replace("\\\n", "  ").rpartition("\n")[2]
        before = BEFORE.search(line)
        if before and not COMMENT.search(line[: before.start()]):
            offsets.append((command.end(), bool(before["backtick"])))
    return offsets


def command_object(script: SourceText, folder: Path) -> Object:
    """Return the object of the one command of a script, whose `file://` paths are relative to `folder`.

    Raises InvalidInput with all problems.
    """
    (offset, in_backticks), *more = command_offsets(script.text)
    if more:
        why = f"another create-cluster is in line {script.place(offset).line}"
        fix = "put each command in a file of its own"
        raise refusal(script.place(more[0][0]), what="is a second cluster", why=why, fix=fix)
    collected = ReadProblems()
    words = shell_words(script, offset, in_backticks=in_backticks)
    options = _options(words, collected.problems)
    members = launch_object(options, folder, collected.problems)
    collected.refuse()
    return Object(members=members, place=script.place(offset))


def _options(words: list[SourceText], problems: list[Problem]) -> dict[str, Option]:
    """Return each option that lint reads, with the words that follow it."""
    options: dict[str, Option] = {}
    for option in _option_values(words):
        if option.name in OPTIONS:
            problems += _option_problems(option, options)
            options[option.name] = option
    return {name: option for name, option in options.items() if option.values}


def _option_values(words: list[SourceText]) -> Iterator[Option]:
    """Yield each option in either spelling: `--option value` and `--option=value`."""
    starts = [index for index, word in enumerate(words) if word.text.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=False):
        word = words[start]
        name, equals, _ = word.text.partition("=")
        values = [word.after(len(name) + 1)] if equals else []
        yield Option(name=name, place=word.place(0), values=(*values, *words[start + 1 : end]))


def _option_problems(option: Option, before: Mapping[str, Option]) -> Iterator[Problem]:
    where = str(option.place)
    if not option.values:
        yield Problem(
            where=where, what=option.name, why="the option has no value", fix="add the value, or remove the option"
        )
    if option.name in before:
        why = f"the option is already in line {before[option.name].place.line}, and only the last would count"
        yield Problem(where=where, what=option.name, why=why, fix="remove one of the two")
