"""Laws of the readers: words of a shell and lists of classifications are read as they were written."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from warmbase.emr.api import write_classifications
from warmbase.emr.cluster_spec import Classification, ClusterSpec, flattened
from warmbase.linter.reader import read_subject
from warmbase.linter.reader.shell_words import shell_words
from warmbase.linter.reader.source_text import SourceText

NAMES = st.text(min_size=1, max_size=8).map(str.strip).filter(lambda name: bool(name) and "/" not in name)
LETTERS = st.characters(exclude_categories=("Cc", "Cs"), include_characters="\t\n\r", exclude_characters="\ufffe\uffff")
"""The characters that XML allows; a setting with any other character is refused."""
PROPERTIES = st.dictionaries(st.text(LETTERS, max_size=8), st.text(LETTERS, max_size=12), max_size=4)


def distinct(classifications: list[Classification]) -> tuple[Classification, ...]:
    return tuple({classification.name: classification for classification in classifications}.values())


FLAT = st.builds(Classification, name=NAMES, properties=PROPERTIES)
NESTED = st.builds(Classification, name=NAMES, properties=PROPERTIES, nested=st.lists(FLAT, max_size=2).map(distinct))
LISTS = st.lists(NESTED, max_size=4).map(distinct)


def passage(text: str) -> SourceText:
    breaks = tuple(index + 1 for index, character in enumerate(text) if character == "\n")
    return SourceText(text=text, source="try.sh", breaks=breaks)


def subject(text: str) -> ClusterSpec:
    with TemporaryDirectory() as folder:
        file = Path(folder, "try.json")
        file.write_bytes(text.encode())
        return read_subject(file, None)


@given(words=st.lists(st.text()), after=st.sampled_from(["", "\n--", "; x", " & y", "|z", "\nx 'y", " # 'z"]))
def test_quoted_words_round_trip(words: list[str], after: str) -> None:
    read_words = shell_words(passage(f"{shlex.join(words)}{after}"), 0)
    assert [word.text for word in read_words] == words


@given(words=st.lists(st.text(alphabet="ab \n'\"\\<>$", min_size=1), min_size=1))
def test_characters_of_a_quoted_word_have_their_line(words: list[str]) -> None:
    text = " \\\n".join(shlex.quote(word) for word in words)
    line = 1
    for word in shell_words(passage(text), 0):
        for offset, character in enumerate(word.text.rstrip()):
            assert word.place(offset).line == line + word.text.count("\n", 0, offset), character
        line += word.text.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"a\ b 'c'\''d' e\"f", ["a b", "c'd", 'e"f']),
        ('"a\\\nb" c\\\nd', ["ab", "cd"]),
        (r'"\"\\\n\$x"', [r'"\\n$x']),
        ("<your key> a<b>c", ["<your key>", "a<b>c"]),
        ('$X "$Y" \'$Z\' ${W:-1} $(date +%F) "`id`"', ["${X}", "${Y}", "$Z", "${W:-1}", "${date +%F}", "${id}"]),
        ("a > out.json b 2>&1", ["a", "b"]),
        ("a \\\n> --b \\\n  > --c", ["a", "--b", "--c"]),
        ("a#b #c", ["a#b"]),
        ("a) b", ["a"]),
        ("'' \"\"", ["", ""]),
        ("a \\", ["a", ""]),
    ],
)
def test_words_are_what_the_shell_makes_of_them(text: str, words: list[str]) -> None:
    assert [word.text for word in shell_words(passage(text), 0)] == words


def test_backticks_end_a_command_that_stands_in_them() -> None:
    assert [word.text for word in shell_words(passage("a` b"), 0, in_backticks=True)] == ["a"]


def test_a_joined_line_counts() -> None:
    (word,) = shell_words(passage('"a\\\nb\\\n\nc"'), 0)
    assert word.text == "ab\nc"
    assert [word.place(offset).line for offset in (0, 1, 3)] == [1, 2, 4]


@given(
    classifications=LISTS, indent=st.sampled_from([None, 2, "\t"]), ascii_only=st.booleans(), in_command=st.booleans()
)
def test_json_round_trips(
    *, classifications: tuple[Classification, ...], indent: int | str | None, ascii_only: bool, in_command: bool
) -> None:
    documents = write_classifications(classifications)
    text = json.dumps(documents, indent=indent, ensure_ascii=ascii_only)
    written = f"aws emr create-cluster --configurations {shlex.quote(text)}" if in_command else text
    spec = subject(written)
    values = {key: setting.value for key, setting in spec.settings.items()}
    assert values == {(path, key): value for path, key, value in flattened(classifications)}
    assert spec.twice == ()
    if indent and ascii_only:
        lines = written.splitlines()
        for setting in spec.settings.values():
            key = json.dumps(setting.key)
            assert (shlex.quote(key)[1:-1] if in_command else key) in lines[(setting.line or 0) - 1]


@given(classifications=LISTS.filter(bool), flow=st.booleans())
def test_yaml_round_trips(*, classifications: tuple[Classification, ...], flow: bool) -> None:
    documents = {"Configurations": write_classifications(classifications)}
    text = yaml.safe_dump(documents, default_flow_style=flow, allow_unicode=False)
    text = text if not flow else text.replace("{Configurations", "---\nConfigurations", 1).rstrip().removesuffix("}")
    values = {key: setting.value for key, setting in subject(text).settings.items()}
    assert values == {(path, key): value for path, key, value in flattened(classifications)}
