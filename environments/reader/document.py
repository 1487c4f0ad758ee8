"""A YAML file as plain values, with the line of every key and entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from sizing.problem import InvalidInput, Problem

__all__ = ["Document", "YamlPath", "load_document", "path_text"]

YamlPath = tuple[str | int, ...]

SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml where it was built in: the same language, several times faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The values of a file and where each stands."""

    source: str
    values: object
    lines: Mapping[YamlPath, int]

    def where(self, path: YamlPath) -> str:
        """`file:line` of the entry, or of the nearest one around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.source}:{self.lines.get(path, 1)}"


def path_text(path: YamlPath) -> str:
    """`clusters.blue.core.volumes[0].size`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def load_document(path: Path, source: str) -> Document:
    """Raises InvalidInput when the file is not there, is not YAML, or says a key twice."""
    try:
        loader = SafeLoader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        values = loader.construct_document(node) if node else None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput([_unreadable(source, str(error))]) from None
    except yaml.YAMLError as error:
        raise InvalidInput([_not_yaml(source, error)]) from None
    lines: dict[YamlPath, int] = {}
    twice = [_said_twice(source, *found) for found in _walk(node, (), lines)] if node else []
    if twice:
        raise InvalidInput(twice)
    return Document(source=source, values=values, lines=lines)


def _walk(node: yaml.Node, path: YamlPath, lines: dict[YamlPath, int]) -> Iterator[tuple[YamlPath, int, int]]:
    """Fills `lines`; yields each path that was said before, with this line and the first."""
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*path, str(key.value))
            line = key.start_mark.line + 1
            if here in lines:
                yield here, line, lines[here]
            lines[here] = line
            yield from _walk(value, here, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _walk(value, (*path, index), lines)


def _said_twice(source: str, path: YamlPath, line: int, first: int) -> Problem:
    return Problem(
        where=f"{source}:{line}",
        what=path_text(path),
        why=f"stands in line {first} already, and YAML would silently keep only the last",
        fix="remove one of the two",
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
    return Problem(
        where=f"{source}:{mark.line + 1}" if mark else source,
        what="is not YAML",
        why=str(getattr(error, "problem", None) or error),
        fix="mend the line; two blanks indent, a tab never does",
    )
