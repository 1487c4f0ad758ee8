"""A YAML file as plain values, with the line of every key and entry, and each scalar as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml
from msgspec import Struct, field

from warmbase.environments.regular_file import read_regular_file
from warmbase.ground.errors import InvalidInput, Problem

YamlPath = tuple[str | int, ...]

SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml where it was built in: the same language, several times faster."""

# judgement: an environment is about 20 lines and 6 levels. Beyond these, a file is a mistake or an attack: aliases
# that multiply, or brackets that end libyaml's stack.
MOST_BYTES: Final = 2**20
MOST_ENTRIES: Final = 2_000
MOST_LEVELS: Final = 30
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


def path_text(path: YamlPath) -> str:
    """Return the path as a message writes it: `clusters.blue.core.volumes[0].size`."""
    return "".join(map(_part_text, path)).removeprefix(".")


def _part_text(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if part.isprintable() and part else f".{part!r}"


def load_document(path: Path, source: str) -> Document:
    """Raises InvalidInput when the file is not there, or is not YAML. Keys are text, whatever they look like."""
    try:
        content = read_regular_file(path, MOST_BYTES + 1)
    except OSError as error:
        raise InvalidInput([_unreadable(source, str(error))]) from None
    return parse_document(content, source, Path(source).parent)


def parse_document(content: bytes, source: str, directory: Path) -> Document:
    """Return the document that the content of a file is. Raises as `load_document`."""
    walk = _Walk(source=source)
    try:
        text = _text(content)
        _refuse_depth(text)
        loader = SafeLoader(text)
        node = loader.get_single_node()
        if node:
            walk.walk(loader, node, ())
        values = loader.construct_document(node) if node else None
    except UnicodeDecodeError as error:
        raise InvalidInput([_unreadable(source, str(error))]) from None
    except yaml.YAMLError as error:
        raise InvalidInput([_not_yaml(source, error)]) from None
    return Document(
        source=source,
        values=values,
        lines=walk.lines,
        written=walk.written,
        problems=tuple(walk.problems),
        directory=directory,
        assumed=frozenset(_assumed(text.splitlines(), walk.lines)),
    )


def _assumed(text: Sequence[str], lines: Mapping[YamlPath, int]) -> Iterator[YamlPath]:
    """Yield the entries with a mark behind their value, or in the comment right above it."""
    for path, line in lines.items():
        if any(ASSUMED.search(comment) for comment in text[comment_start(text, line) : line]):
            yield path


def comment_start(text: Sequence[str], line: int) -> int:
    """Return the index of the first line of the comment right above a line, or of the line if there is none."""
    start = line - 1
    while start and text[start - 1].lstrip().startswith("#"):
        start -= 1
    return start


def _text(content: bytes) -> str:
    if len(content) > MOST_BYTES:
        raise yaml.MarkedYAMLError(problem=f"it is longer than {MOST_BYTES:,} bytes")
    return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def _refuse_depth(text: str) -> None:
    """Refuse brackets that nest too deep before anything recurses, because libyaml's composer would end the process."""
    level = 0
    for event in yaml.parse(text, Loader=SafeLoader):
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if level > MOST_LEVELS:
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise yaml.MarkedYAMLError(problem=f"line {line} nests deeper than {MOST_LEVELS} levels")


class _Walk(Struct, kw_only=True):
    """Collects values, lines and problems while it walks over the nodes of a file."""

    source: str
    lines: dict[YamlPath, int] = field(default_factory=dict)
    written: dict[YamlPath, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    entries: int = 0

    def walk(self, loader: yaml.SafeLoader, node: yaml.Node, path: YamlPath) -> None:
        """Raises YAMLError for a value that cannot be made, and for aliases that have no end."""
        self.entries += 1
        self.lines.setdefault(path, node.start_mark.line + 1)
        if self.entries > MOST_ENTRIES or len(path) > MOST_LEVELS:
            raise _mistake(node, "its aliases refer to themselves, or multiply to more than an environment holds")
        if isinstance(node, yaml.ScalarNode):
            self.written[path] = node.value
            self._check_characters(node, path)
            _refuse_scalar(loader, node)
        for here, value in self._parts(node, path):
            self.walk(loader, value, here)

    def _parts(self, node: yaml.Node, path: YamlPath) -> Iterator[tuple[YamlPath, yaml.Node]]:
        if isinstance(node, yaml.SequenceNode):
            yield from (((*path, index), value) for index, value in enumerate(node.value))
        if isinstance(node, yaml.MappingNode):
            node.value = [(_text_key(key), value) for key, value in node.value]
            for key, value in node.value:
                here = (*path, str(key.value))
                self._enter(here, key.start_mark.line + 1)
                self._check_characters(key, here)
                yield here, value

    def _check_characters(self, node: yaml.Node, path: YamlPath) -> None:
        forbidden = forbidden_character(str(node.value))
        if forbidden:
            line = node.start_mark.line + 1
            self.problems.append(_forbidden_character(f"{self.source}:{line}", path, forbidden))

    def _enter(self, path: YamlPath, line: int) -> None:
        if path in self.lines:
            self.problems.append(_duplicate_key(self.source, path, line, self.lines[path]))
            entries: dict[YamlPath, int] | dict[YamlPath, str]
            for entries in (self.lines, self.written):
                for within in [entry for entry in entries if entry[: len(path)] == path]:
                    del entries[within]
        self.lines[path] = line


def _text_key(key: yaml.Node) -> yaml.Node:
    """The key as text: no key of ours is a number or a switch, and `on` is one for YAML."""
    if not isinstance(key, yaml.ScalarNode):
        raise _mistake(key, "a key is a word, not a list or a mapping")
    if key.tag == MERGE:
        return key
    return yaml.ScalarNode(TEXT, key.value, key.start_mark, key.end_mark)


def _refuse_scalar(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> None:
    """PyYAML's constructors fail in ways of their own: the 30th of February, a number of 5,000 digits."""
    try:
        loader.construct_object(node)
    except (ValueError, ArithmeticError, LookupError, AttributeError):
        kind = node.tag.rpartition(":")[2]
        raise _mistake(node, f"{node.value[:20]!r} looks like a value of YAML's type {kind}, and is none") from None


def _mistake(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _duplicate_key(source: str, path: YamlPath, line: int, first: int) -> Problem:
    return Problem(
        where=f"{source}:{line}",
        what=path_text(path),
        why=f"is already in line {first}, and YAML would silently keep only the last",
        fix="remove one of the two",
    )


def _forbidden_character(where: str, path: YamlPath, character: str) -> Problem:
    return Problem(
        where=where,
        what=path_text(path),
        why=f"contains the control character U+{ord(character):04X}, which no configuration file of HBase can hold",
        fix="remove the character",
    )


def _unreadable(source: str, reason: str) -> Problem:
    return Problem(
        where=source,
        what="cannot be read",
        why=reason,
        fix="name an environment (environments/NAME.yaml) or give a path",
    )


def _not_yaml(source: str, error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    return Problem(
        where=f"{source}:{mark.line + 1}" if mark else source,
        what="is not YAML",
        why=str(reason),
        fix="mend the line, or put the value in quotes; two blanks indent, a tab never does",
    )
