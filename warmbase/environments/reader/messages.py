"""Messages about an environment file: values in quotes, and the reason and fix for what pydantic refuses."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Final, Union, get_args, get_origin

from msgspec import Struct
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from warmbase.engines.engine import ENGINES
from warmbase.environments.reader.document import Document, YamlPath, path_text
from warmbase.ground.errors import Problem

UNKNOWN_KEY: Final = "unknown key"
LONGEST: Final = 40  # judgement: a message of a terminal's width has room for half a line of it
LONGEST_BITS: Final = 128  # Python refuses to print a number of more than 4,300 digits


def quoted(value: object) -> str:
    """A text in quotes, a number or a word as it is, `a list` or `a mapping`."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and value.bit_length() > LONGEST_BITS:
        return "so large a number"
    text = repr(value) if isinstance(value, str) else flow(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def flow(value: object) -> str:
    """An example as one would write it on one line: `{per_second: 900}`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    return f'"{value}"' if isinstance(value, str) and value.isdigit() else str(value)


MARKS: Final = {"[key]", "[name]", "[one]", "[skew]", "[spread]", "[tables]", *(f"[{name}]" for name in ENGINES)}
"""Steps of pydantic's that are not the file's: into a key, and into a branch of a union."""

EXPECTED: Final = {
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "list_type": "a list",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "string_unicode": "text",
}
READ_AS: Final = {bool: "as true or false", int: "as a number", float: "as a number"}


class Place(Struct, frozen=True, kw_only=True):
    """A path in the schema: its section, its key, and the field of that key where the schema has one.

    `path` leads to the key in the file. The path of an error may be longer, where the key has a list or a mapping.
    """

    section: type[BaseModel]
    path: YamlPath = ()
    key: str = ""
    field: FieldInfo | None = None

    @property
    def example(self) -> str:
        """The end of a sentence, such as ", for example `regions: 240`"; empty where there is none."""
        if self.field is None:
            return ""
        examples = self.field.examples or (
            [] if self.field.is_required() else [self.field.get_default(call_default_factory=True, validated_data={})]
        )
        return "".join(f", for example `{self.key}: {flow(first)}`" for first in examples[:1] if first is not None)


def problem(document: Document, schema: type[BaseModel], details: ErrorDetails) -> Problem:
    """Return one refusal of pydantic's or ours, with its line."""
    path: YamlPath = tuple(part for part in details["loc"] if part not in MARKS)
    place, written = place_of(schema, details["loc"]), document.written.get(path)
    value, context, kind = details["input"], details.get("ctx", {}), details["type"]
    match kind:
        case "warmbase":
            why, fix = str(context["why"]), str(context["fix"])
        case "extra_forbidden":
            why = UNKNOWN_KEY
            keys = list(place.section.model_fields)
            if place.field is not None and hasattr(place.section, "ENGINE"):
                fix = f"{place.key!r} is a key of clusters with engine: {place.section.ENGINE}"
            elif place.field is not None:
                fix = f"the workload has tables, so state {place.key!r} for each of them"
            elif near := get_close_matches(place.key, keys, n=1):
                fix = f"did you mean {near[0]!r}?"
            else:
                fix = f"known here: {', '.join(keys)}"
        case "missing":
            why, fix = "is required but missing", f"add it{place.example}"
        case "too_short":
            why, fix = "is empty", f"state at least one{place.example}"
        case "literal_error":
            why = f"{quoted(value)} is not one of the choices"
            fix = f"use {context.get('expected')}{place.example if place.field and place.field.examples else ''}"
        case "string_type" if written is not None and value is not None:
            # YAML reads the text as something else; the advice repeats the text, not YAML's value.
            short = quoted(written)[1:-1]
            why = f"{short} is not text, because YAML reads it {READ_AS.get(type(value), 'as something else')}"
            fix = f'write it in quotes: "{short}"'
        case _:
            described = place.field.description if place.field and kind not in EXPECTED else None
            expected = described or EXPECTED.get(kind, "a valid value")
            why = f"is empty, but {expected} is expected" if value is None else f"{quoted(value)} is not {expected}"
            fix = f"write {expected}{place.example}"
    if path in document.assigned and kind == "string_type":
        fix = f"put the value in quotes of its own: {document.where(path)}='\"{document.written.get(path, '')}\"'"
    return Problem(where=document.where(path), what=path_text(path) or "file", why=why, fix=fix)


def place_of(schema: type[BaseModel], path: YamlPath) -> Place:
    """Follow a path of pydantic's through sections, and through mappings and lists of them.

    Of two sections that have a key, or if none has it, the section of the engine in the path is meant.
    """
    place = Place(section=schema)
    annotation: object = schema
    engine = ""
    steps: YamlPath = ()
    for part in path:
        if part in MARKS:
            engine = str(part)[1:-1]
            continue
        steps = (*steps, part)
        variants = sorted(_variants(annotation), key=lambda variant: getattr(variant, "ENGINE", None) != engine)
        sections = [variant for variant in variants if isinstance(variant, type) and issubclass(variant, BaseModel)]
        if sections:
            section = next((section for section in sections if str(part) in section.model_fields), sections[0])
            place = Place(section=section, path=steps, key=str(part), field=section.model_fields.get(str(part)))
            annotation = place.field.annotation if place.field else None
        else:
            containers = (variant for variant in variants if get_origin(variant) in {dict, list})
            annotation = next((get_args(container)[-1] for container in containers), annotation)
    return place


def _variants(annotation: object) -> Iterator[object]:
    """The types that an annotation allows, without their metadata."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _variants(get_args(annotation)[0])
    elif origin in {Union, UnionType}:
        for variant in get_args(annotation):
            yield from _variants(variant)
    else:
        yield annotation
