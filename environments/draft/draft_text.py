"""A draft as the text of an environment file: each key with a comment, and each assumption marked as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Final

import yaml

from environments.draft.draft import CLUSTER, Draft
from environments.reader.measurements import MEASUREMENTS
from environments.reader.schema_keys import ANY_NAME, ANY_TRINO, TABLES, SchemaKey, schema_keys

WIDTH: Final = 110
INDENT: Final = "  "
MARK: Final = "assumed:"
"""Begins the comment of each value that nobody stated."""
MEASURE: Final = "on your cluster:"
LISTED_UNSET: Final = ("account", "tags", "discount", "workload.", "targets.", "alarms")
"""Keys without a value that a file lists as comments. The others are on the environment page alone."""
HEAD: Final = (
    f"The word `{MARK}` in a comment marks a value that you did not state. Check these values first.",
    "docs/environment.md explains every key.",
)


def draft_text(draft: Draft, schema: str | None = None) -> str:
    """Return the file; `schema` is the address of the JSON schema for editors, if there is one."""
    lines = [f"# yaml-language-server: $schema={schema}"] if schema else []
    lines += [f"# {line}" for line in HEAD]
    for key in (key for path, key in schema_keys().items() if "." not in path):
        block = list(_key_lines(draft, key, ""))
        lines += ["", *block] if block else []
    return "\n".join(lines) + "\n"


def _key_lines(draft: Draft, key: SchemaKey, indent: str) -> Iterator[str]:
    """Yield the lines of a key: its comment and value, or the keys within; nothing for a key that is left out."""
    path = key.path.replace(ANY_NAME, CLUSTER)
    name = path.rpartition(".")[2]
    if path == "clusters":
        yield f"{indent}{name}:"
        yield f"{indent}{INDENT}{CLUSTER}:"
        yield from _section_lines(draft, key.sections, indent + 2 * INDENT)
    elif inner := list(_inner_lines(draft, key, indent + INDENT)):
        yield from (f"{indent}{name}:", *inner)
    elif not key.is_section and (answer := draft.answer(key)) is not None:
        yield from _comments((key.description, draft.remarks.get(path, "")), indent)
        yield from _value_lines(f"{indent}{name}:{_value_text(answer.value, indent)}", answer.assumed, key.path, indent)
    elif path.startswith(LISTED_UNSET) or path in draft.remarks:
        yield from _comments((key.description, draft.remarks.get(path, "")), indent)
        yield f"{indent}# {name}: {yaml_text(draft.example(key))}"


def _value_lines(line: str, assumed: str, path: str, indent: str) -> Iterator[str]:
    """Yield a value with the reason of an assumption: behind it where there is room, else above it."""
    measurement = MEASUREMENTS.get(path, "")
    marked = f"{line} # {MARK} {assumed.rstrip('.')}"
    if assumed and not measurement and len(marked) <= WIDTH:
        yield marked
        return
    if assumed:
        yield from _comments((f"{MARK} {assumed}", f"{MEASURE} {measurement}" if measurement else ""), indent)
    yield line


def _inner_lines(draft: Draft, key: SchemaKey, indent: str) -> Iterator[str]:
    """Yield the lines of the keys within a section; nothing where none of them has a value."""
    lines = list(_section_lines(draft, key.sections, indent)) if key.is_section else []
    yield from lines if any(not line.lstrip().startswith("#") for line in lines) else ()


def _section_lines(draft: Draft, keys: Iterable[SchemaKey], indent: str) -> Iterator[str]:
    for key in keys:
        # Tables replace all other keys of the workload, and a draft has no analytics cluster.
        if key.path == TABLES or ANY_TRINO in key.path:
            continue
        yield from _key_lines(draft, key, indent)


def _comments(paragraphs: Iterable[str], indent: str) -> Iterator[str]:
    """Yield each paragraph as comments; each begins on a line of its own."""
    for paragraph in paragraphs:
        yield from (f"{indent}# {line}" for line in wrap(paragraph, WIDTH - len(indent), break_on_hyphens=False))


def _value_text(value: object, indent: str) -> str:
    """Return a value as it follows the colon: properties by classification have a line each."""
    if isinstance(value, dict) and any(isinstance(inner, dict) for inner in value.values()):
        lines = yaml.safe_dump(value, default_flow_style=False, width=float("inf"), allow_unicode=True, sort_keys=False)
        return "".join(f"\n{indent}{INDENT}{line}" for line in lines.splitlines())
    return f" {yaml_text(value)}"


def yaml_text(value: object) -> str:
    """Return a value as YAML on one line, in quotes where it needs them."""
    text = yaml.safe_dump(value, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False)
    return text.strip().removesuffix("...").strip()
