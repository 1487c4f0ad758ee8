"""Every key of an environment file with its form: the schema as a list, for pages and drafts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from msgspec import Struct

from environments.reader.descriptions import describe
from environments.reader.engines.trino.section import TrinoSection
from environments.reader.schema import EnvironmentFile

ANY_NAME: Final = "NAME"
"""Stands for the name of a cluster in a path."""
ANY_TRINO: Final = "TRINO"
"""Stands for the name of an analytics cluster in a path."""
TABLES: Final = "workload.tables"
"""The key of the tables. Each table has the keys of `workload`, which are not listed a second time."""
REFERENCE: Final = "#/$defs/"


class SchemaKey(Struct, frozen=True, kw_only=True):
    """One key: its path, such as `clusters.NAME.core.count`, and its JSON schema. `sections` are the keys within."""

    path: str
    form: Mapping[str, Any]
    description: str
    required: bool
    sections: tuple[SchemaKey, ...] = ()

    @property
    def is_section(self) -> bool:
        """Return whether every form that the value may have is a section."""
        return all("$ref" in branch for branch in self.form.get("oneOf", (self.form,)))

    @property
    def default(self) -> object:
        """Return the default as the schema states it; None where there is none."""
        return self.form.get("default")

    @property
    def example(self) -> object:
        """Return the first example of the key, else of its type; None where the schema has none."""
        forms = [self.form, *self.form.get("anyOf", ())]
        return next((form["examples"][0] for form in forms if form.get("examples")), None)


@cache
def schema_keys() -> Mapping[str, SchemaKey]:
    """Return every key by its path, in the order of the schema, sections before their keys."""
    schema = EnvironmentFile.model_json_schema()
    describe(schema)
    return {key.path: key for top in _keys(schema, schema["$defs"], "") for key in _with_sections(top)}


def _with_sections(key: SchemaKey) -> Iterator[SchemaKey]:
    yield key
    for section in key.sections:
        yield from _with_sections(section)


def _keys(section: Mapping[str, Any], known: Mapping[str, Any], prefix: str) -> Iterator[SchemaKey]:
    for name, form in section.get("properties", {}).items():
        path = f"{prefix}.{name}".removeprefix(".")
        sections = () if path == TABLES else _inner(form, known, path)
        inner = [key for at, entry in sections for key in _keys(entry, known, at)]
        yield SchemaKey(
            path=path,
            form=form,
            description=form["description"],
            required=name in section.get("required", ()) and path != TABLES,
            sections=tuple(inner),
        )


def _inner(form: Mapping[str, Any], known: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the sections that a value may be, each with its path."""
    if REFERENCE in form.get("$ref", ""):
        section = form["$ref"].removeprefix(REFERENCE)
        yield path.replace(ANY_NAME, ANY_TRINO) if section == TrinoSection.__name__ else path, known[section]
    for branch in (*form.get("anyOf", ()), *form.get("oneOf", ())):
        yield from _inner(branch, known, path)
    if "items" in form:
        yield from _inner(form["items"], known, f"{path}[]")
    for entry in form.get("patternProperties", {}).values():
        yield from _inner(entry, known, f"{path}.{ANY_NAME}")
