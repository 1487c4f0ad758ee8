"""The schema as a list of keys, for pages, drafts and ranges, and as the JSON schema for editors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from msgspec import Struct

from warmbase.environments.reader.key import Key
from warmbase.environments.reader.schema import SECTIONS, EnvironmentFile
from warmbase.environments.reader.section import Section
from warmbase.ground.units import exact_size, format_rate


@cache
def _rows() -> Mapping[str, Mapping[str, Key]]:
    """Return the keys of each section by their names."""
    return {
        section.__name__: {name: Key.of(field) for name, field in section.model_fields.items()}
        for section in _subclasses(Section)
    }


def _subclasses(base: type[Section]) -> Iterator[type[Section]]:
    for section in base.__subclasses__():
        yield section
        yield from _subclasses(section)


def schema_text() -> str:
    """The JSON schema as the file holds it."""
    schema = EnvironmentFile.model_json_schema()
    for section in (schema, *schema["$defs"].values()):
        for name, form in section.get("properties", {}).items():
            form["description"] = _rows()[section["title"]][name].text
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "warmbase environment"
    return json.dumps(schema, indent=2) + "\n"


ANY_NAME: Final = "NAME"
"""Stands for the name of an HBase cluster in a path. Clusters of another engine have its name in capitals there."""
TABLES: Final = "workload.tables"
"""The key of the tables. Each table has the keys of `workload`, which are not listed a second time."""
REFERENCE: Final = "#/$defs/"


class SchemaKey(Struct, frozen=True, kw_only=True):
    """One key: its path, such as `clusters.NAME.core.count`, and its JSON schema. `sections` are the keys within."""

    path: str
    form: Mapping[str, Any]
    key: Key
    effect: str
    required: bool
    sections: tuple[SchemaKey, ...] = ()

    @property
    def is_section(self) -> bool:
        """Return whether every form that the value may have is a section."""
        return all("$ref" in branch for branch in self.form.get("oneOf", (self.form,)))

    @property
    def is_count(self) -> bool:
        """Return whether the value is a whole number that is written without a unit."""
        return any(form.get("type") == "integer" for form in (self.form, *self.form.get("anyOf", ())))

    @property
    def default(self) -> object:
        """Return the default as a file has it; None where there is none."""
        default, pattern = self.form.get("default"), self.form.get("pattern", "")
        if isinstance(default, int) and "iB" in pattern:
            return format_rate(default) if pattern.endswith("/s$") else exact_size(default)
        return default

    @property
    def example(self) -> object:
        """Return the first example of the key, else of its type; None where the schema has none."""
        forms = [self.form, *self.form.get("anyOf", ())]
        return next((form["examples"][0] for form in forms if form.get("examples")), None)


@cache
def schema_keys() -> Mapping[str, SchemaKey]:
    """Return every key by its path, in the order of the schema, sections before their keys."""
    schema = EnvironmentFile.model_json_schema()
    return {key.path: key for top in _keys(schema, schema["$defs"], "", "") for key in _with_sections(top)}


def _with_sections(key: SchemaKey) -> Iterator[SchemaKey]:
    yield key
    for section in key.sections:
        yield from _with_sections(section)


def _keys(section: Mapping[str, Any], known: Mapping[str, Any], prefix: str, effect: str) -> Iterator[SchemaKey]:
    for name, form in section.get("properties", {}).items():
        path = f"{prefix}.{name}".removeprefix(".")
        key = _rows()[section["title"]][name]
        within = key.effect if "$ref" in form else ""
        sections = () if path == TABLES else _inner(form, known, path)
        yield SchemaKey(
            path=path,
            form=form,
            key=key,
            effect=key.effect or effect,
            required=name in section.get("required", ()) and path != TABLES,
            sections=tuple(inner for at, entry in sections for inner in _keys(entry, known, at, within)),
        )


def _inner(form: Mapping[str, Any], known: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the sections that a value may be, each with its path."""
    if REFERENCE in form.get("$ref", ""):
        section = form["$ref"].removeprefix(REFERENCE)
        engine = next((name for name, cluster in SECTIONS.items() if cluster.__name__ == section), "hbase")
        yield path if engine == "hbase" else path.replace(ANY_NAME, engine.upper()), known[section]
    for branch in (*form.get("anyOf", ()), *form.get("oneOf", ())):
        yield from _inner(branch, known, path)
    if "items" in form:
        yield from _inner(form["items"], known, f"{path}[]")
    for entry in form.get("patternProperties", {}).values():
        yield from _inner(entry, known, f"{path}.{ANY_NAME}")
