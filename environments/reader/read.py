"""From a name or a path to an Environment, or to every problem in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from environments.environment import Environment
from environments.reader.document import Document, YamlPath, load_document, path_text
from environments.reader.schema import EnvironmentFile
from facts.instance_types import instance_types
from facts.prices import priced_regions
from facts.releases import releases
from sizing.problem import InvalidInput, Problem

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

HOME = Path(__file__).parents[1]


def locate(name_or_path: str) -> Path:
    """The file of an environment given by name (`prod`) or by path.

    Raises InvalidInput when there is no such file, naming the nearest environment there is.
    """
    path = Path(name_or_path)
    if path.suffix in {".yaml", ".yml"} or "/" in name_or_path:
        return path
    known = {file.stem: file for file in sorted(HOME.glob("*.yaml"))}
    if name_or_path in known:
        return known[name_or_path]
    near = get_close_matches(name_or_path, known, n=1)
    fix = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}; or give a path"
    raise InvalidInput([Problem(where=name_or_path, what="environment", why="there is no such environment", fix=fix)])


def read_environment(name_or_path: str) -> Environment:
    """Raises InvalidInput with every problem of the file, each with its line."""
    path = locate(name_or_path)
    document = load_document(path, _shown(path))
    problems: list[Problem] = []
    try:
        file = EnvironmentFile.model_validate(document.values)
    except ValidationError as error:
        problems += [_problem(document, details) for details in error.errors()]
    problems += _across_sections(document)
    if problems:
        raise InvalidInput(sorted(problems, key=_line))
    return file.build(document.source)


def _shown(path: Path) -> str:
    here = Path.cwd()
    full = path.resolve()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(path)


def _line(problem: Problem) -> int:
    return int(problem.where.rpartition(":")[2]) if ":" in problem.where else 0


def _problem(document: Document, details: ErrorDetails) -> Problem:
    path: YamlPath = tuple(part for part in details["loc"] if part != "[key]")
    why, fix = _why_and_fix(path, details)
    return Problem(where=document.where(path), what=path_text(path) or "file", why=why, fix=fix)


def _why_and_fix(path: YamlPath, details: ErrorDetails) -> tuple[str, str]:
    said, context = details["input"], details.get("ctx", {})
    if details["type"] == "warmbase":
        return str(context["why"]), str(context["fix"])
    known = {
        "extra_forbidden": ("unknown key", _nearest(path)),
        "missing": ("is required and not there", f"add it{_example(path)}"),
        "literal_error": (f"{said!r} is not one of the choices", f"use {context.get('expected')}"),
        "string_pattern_mismatch": (
            f"{said!r} does not look like it should",
            f"match {context.get('pattern')}{_example(path)}",
        ),
        "string_type": (f"{said!r} is not text", f'put it in quotes: "{said}"'),
    }
    otherwise = f"{details['msg'].lower()}, not {_short(said)}", f"mend it{_example(path)}"
    return known.get(details["type"], otherwise)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."  # noqa: PLR2004 - a line of a terminal


def _nearest(path: YamlPath) -> str:
    if not path:
        return ""
    known = list(_section(path[:-1]).model_fields)
    near = get_close_matches(str(path[-1]), known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"


def _example(path: YamlPath) -> str:
    field = _section(path[:-1]).model_fields.get(str(path[-1])) if path else None
    examples = (field.examples or []) if field else []
    return f", for example `{path[-1]}: {examples[0]}`" if examples else ""


def _section(path: YamlPath) -> type[BaseModel]:
    """The model that describes the mapping at this path; the file's own when there is none."""
    model: type[BaseModel] = EnvironmentFile
    for part in path:
        field = model.model_fields.get(str(part))
        models = list(_models(field.annotation)) if field else []
        model = models[0] if models else model
    return model


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models(argument)


def _across_sections(document: Document) -> list[Problem]:
    """What only two sections together can get wrong; silent where a section itself is wrong."""
    values = document.values if isinstance(document.values, dict) else {}
    return [*_zone_elsewhere(document, values), *_types_not_offered(document, values)]


def _zone_elsewhere(document: Document, values: Mapping[str, Any]) -> Iterator[Problem]:
    region, network = values.get("region"), values.get("network")
    zone = network.get("availability_zone") if isinstance(network, dict) else None
    if region in priced_regions() and isinstance(zone, str) and zone[:-1] != region:
        yield Problem(
            where=document.where(("network", "availability_zone")),
            what="network.availability_zone",
            why=f"zone {zone} is not in region {region}",
            fix=f"use a zone such as {region}a",
        )


def _types_not_offered(document: Document, values: Mapping[str, Any]) -> Iterator[Problem]:
    release = releases().get(str(values.get("release")))
    clusters = values.get("clusters")
    if release is None or not isinstance(clusters, dict):
        return
    for path, name in _types(clusters):
        instance_type = instance_types().get(name)
        if instance_type and not instance_type.offered_by(release.emr):
            yield Problem(
                where=document.where(path),
                what=path_text(path),
                why=f"{release.label} does not list {name} among its instance types",
                fix="choose a type that it lists, or auto",
            )


def _types(clusters: Mapping[str, Any]) -> Iterator[tuple[YamlPath, str]]:
    for colour, cluster in clusters.items():
        for group in ("primary", "core"):
            section = cluster.get(group) if isinstance(cluster, dict) else None
            name = section.get("type") if isinstance(section, dict) else None
            if isinstance(name, str):
                yield ("clusters", str(colour), group, "type"), name
