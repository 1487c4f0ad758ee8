"""A YAML file as plain values, with the line of every key and entry, and each scalar as it was written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml
from msgspec import Struct, field

from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.files import read_regular_file

YamlPath = tuple[str | int, ...]

SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml where it was built in: the same language, several times faster."""

# judgement: an environment is about 20 lines and 6 levels. Beyond these, a file is a mistake or an attack: aliases
# that multiply, or brackets that end libyaml's stack.
MOST_BYTES: Final = 2**20
MOST_ENTRIES: Final = 2_000
MOST_LEVELS: Final = 30
MOST_CHARACTERS: Final = 2**15  # judgement: the longest values are options of Java, of some thousand characters
MOST_DIGITS: Final = 300
# Characters that XML 1.0 forbids, and the control characters of Latin-1, which it discourages and terminals obey.
FORBIDDEN: Final = r"[^\t\n\r\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
# What `warmbase new` writes about a value that nobody stated.
ASSUMED: Final = re.compile(r"(?<!\S)#\s*assumed:")
TEXT: Final = "tag:yaml.org,2002:str"
MERGE: Final = "tag:yaml.org,2002:merge"


class Document(Struct, frozen=True, kw_only=True):
    """The values of a file, where each stands, and what is wrong with the file as text.

    `assigned` has the entries that the command line sets, each with the option that sets it; no line has them.
    Files that the document names are read from `directory`.
    """

    source: str
    values: object
    lines: Mapping[YamlPath, int]
    written: Mapping[YamlPath, str]
    problems: tuple[Problem, ...]
    directory: Path = Path()
    assigned: Mapping[YamlPath, str] = field(default_factory=dict)
    assumed: frozenset[YamlPath] = frozenset()
    """The entries whose comment says that nobody stated the value, as `warmbase new` marks them."""

    @property
    def explicit_keys(self) -> frozenset[str]:
        """Return the paths of all entries whose values a person stated, such as `workload.stored`."""
        return frozenset(map(path_text, (self.lines.keys() - self.assumed) | self.assigned.keys()))

    def where(self, path: YamlPath) -> str:
        """Return `file:line` of the entry, or of the nearest entry that encloses it, or the option that sets that."""
        while path and path not in self.lines and path not in self.assigned:
            path = path[:-1]
        return self.assigned.get(path) or f"{self.source}:{self.lines.get(path, 1)}"


def forbidden_character(text: str) -> str | None:
    """Return the first character that no file may have, or None.

    The expression takes milliseconds to compile, so printable text, in which it finds nothing, goes without it.
    """
    match = None if text.isprintable() else re.search(FORBIDDEN, text)
    return match.group() if match else None


def excess(text: str) -> str | None:
    """Return why a text is too long for any value of a configuration, or None.

    Python refuses to read a number of more than 4,300 digits, and a float has at most 309.
    """
    if len(text) > MOST_CHARACTERS:
        return f"it has {len(text):,} characters, and no value has more than {MOST_CHARACTERS:,}"
    digits = max(map(len, re.findall(r"\d++", text)), default=0) if len(text) > MOST_DIGITS else 0
    if digits > MOST_DIGITS:
        return f"it has a number of {digits:,} digits, and no number has more than {MOST_DIGITS}"
    return None


def path_text(path: YamlPath) -> str:
    """Return the path as a message writes it: `clusters.blue.core.volumes[0].size`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if part.isprintable() and part else f".{part!r}"
    return text.removeprefix(".")


def load_document(path: Path, source: str) -> Document:
    """Raises InvalidInput when the file is not there, or is not YAML. Keys are text, whatever they look like."""
    try:
        content = read_regular_file(path, MOST_BYTES + 1)
    except OSError as error:
        raise _unreadable(source, error) from None
    return parse_document(content, source, Path(source).parent)


def _unreadable(source: str, error: OSError | UnicodeDecodeError) -> InvalidInput:
    fix = "name an environment (environments/NAME.yaml) or give a path"
    return InvalidInput.of(where=source, what="cannot be read", why=str(error), fix=fix)


def parse_document(content: bytes, source: str, directory: Path) -> Document:
    """Return the document that the content of a file is. Raises as `load_document`."""
    try:
        if len(content) > MOST_BYTES:
            raise yaml.MarkedYAMLError(problem=f"it is longer than {MOST_BYTES:,} bytes")
        text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        level = 0
        # Brackets that nest too deep are refused before anything recurses: libyaml's composer would end the process.
        for event in yaml.parse(text, Loader=SafeLoader):
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if level > MOST_LEVELS:
                line = event.start_mark.line + 1 if event.start_mark else 1
                raise yaml.MarkedYAMLError(problem=f"line {line} nests deeper than {MOST_LEVELS} levels")
        loader = SafeLoader(text)
        root = loader.get_single_node()
        lines, written, problems = _walk(loader, root, source) if root else ({}, {}, [])
        values = loader.construct_document(root) if root else None
    except UnicodeDecodeError as error:
        raise _unreadable(source, error) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise InvalidInput.of(
            where=f"{source}:{mark.line + 1}" if mark else source,
            what="is not YAML",
            why=str(getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"),
            fix="mend the line, or put the value in quotes; two blanks indent, a tab never does",
        ) from None
    rows = text.splitlines()
    return Document(
        source=source,
        values=values,
        lines=lines,
        written=written,
        problems=tuple(problems),
        directory=directory,
        assumed=frozenset(
            path for path, line in lines.items() if any(map(ASSUMED.search, rows[comment_start(rows, line) : line]))
        ),
    )


def comment_start(text: Sequence[str], line: int) -> int:
    """Return the index of the first line of the comment right above a line, or of the line if there is none."""
    start = line - 1
    while start and text[start - 1].lstrip().startswith("#"):
        start -= 1
    return start


def _walk(
    loader: yaml.SafeLoader, root: yaml.Node, source: str
) -> tuple[dict[YamlPath, int], dict[YamlPath, str], list[Problem]]:
    """Return the lines, the scalars and the problems of all nodes, and make text of every key.

    Raises YAMLError for a value that cannot be made, and for aliases that have no end.
    """
    lines: dict[YamlPath, int] = {}
    written: dict[YamlPath, str] = {}
    problems: list[Problem] = []
    entries = 0
    pending: list[tuple[yaml.Node | None, yaml.Node, YamlPath]] = [(None, root, ())]
    while pending:
        key, node, path = pending.pop()
        if key is not None:
            line = key.start_mark.line + 1
            if path in lines:
                why = f"is already in line {lines[path]}, and YAML would silently keep only the last"
                fix = "remove one of the two"
                problems.append(Problem(where=f"{source}:{line}", what=path_text(path), why=why, fix=fix))
                known: dict[YamlPath, int] | dict[YamlPath, str]
                for known in (lines, written):
                    for within in [entry for entry in known if entry[: len(path)] == path]:
                        del known[within]
            lines[path] = line
        entries += 1
        lines.setdefault(path, node.start_mark.line + 1)
        if entries > MOST_ENTRIES or len(path) > MOST_LEVELS:
            raise _mistake(node, "its aliases refer to themselves, or multiply to more than an environment holds")
        for scalar in (key, node):
            if isinstance(scalar, yaml.ScalarNode) and (forbidden := forbidden_character(scalar.value)):
                where, character = f"{source}:{scalar.start_mark.line + 1}", f"U+{ord(forbidden):04X}"
                why = f"contains the control character {character}, which no configuration file of HBase can hold"
                problems.append(Problem(where=where, what=path_text(path), why=why, fix="remove the character"))
        if isinstance(node, yaml.ScalarNode):
            written[path] = node.value
            if len(node.value) > MOST_CHARACTERS:
                raise _mistake(node, excess(node.value) or "")
            try:
                loader.construct_object(node)
            except (ValueError, ArithmeticError, LookupError, AttributeError):
                # PyYAML's constructors fail in ways of their own: the 30th of February, a number of 5,000 digits.
                kind = node.tag.rpartition(":")[2]
                problem = f"{node.value[:20]!r} looks like a value of YAML's type {kind}, and is none"
                raise _mistake(node, problem) from None
        elif isinstance(node, yaml.SequenceNode):
            pending += [(None, value, (*path, index)) for index, value in enumerate(node.value)][::-1]
        elif isinstance(node, yaml.MappingNode):
            for index, (name, value) in enumerate(node.value):
                if not isinstance(name, yaml.ScalarNode):
                    raise _mistake(name, "a key is a word, not a list or a mapping")
                if name.tag != MERGE:
                    # No key of ours is a number or a switch, and `on` is one for YAML.
                    text = yaml.ScalarNode(TEXT, name.value, name.start_mark, name.end_mark)
                    node.value[index] = (text, value)
            pending += [(name, value, (*path, str(name.value))) for name, value in node.value][::-1]
    return lines, written, problems


def _mistake(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
