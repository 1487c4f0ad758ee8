"""EMR's classifications: named sets of properties, which may nest, for a cluster or for one instance group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

ClassificationPath = str
"""Names from the outside in: `hbase-site`, `hbase-env/export`."""


class Classification(Struct, frozen=True, kw_only=True):
    """Properties are strings, as EMR wants them; nested classifications keep their order."""

    name: str
    properties: Mapping[str, str]
    nested: tuple[Classification, ...] = ()


class Classifications(NamedTuple):
    """The classifications of a launch: the storage root for all nodes, everything tunable by instance group."""

    cluster: tuple[Classification, ...]
    primary: tuple[Classification, ...]
    core: tuple[Classification, ...]

    def effective(self, group: str) -> tuple[Classification, ...]:
        """Return the settings in force on nodes of a group (`primary`, `core`): the group's win over the cluster's."""
        return merged(self.cluster, getattr(self, group))


def merged(below: Iterable[Classification], above: Iterable[Classification]) -> tuple[Classification, ...]:
    """Return one level made of both, property by property; `above` wins."""
    levels = {classification.name: classification for classification in below}
    for classification in above:
        under = levels.get(classification.name)
        levels[classification.name] = classification if under is None else _laid_over(under, classification)
    return tuple(levels.values())


def _laid_over(below: Classification, above: Classification) -> Classification:
    return Classification(
        name=above.name,
        properties={**below.properties, **above.properties},
        nested=merged(below.nested, above.nested),
    )


def flattened(
    classifications: Iterable[Classification], inside: ClassificationPath = ""
) -> Iterator[tuple[ClassificationPath, str, str]]:
    """Yield every property as (classification path, key, value)."""
    for classification in classifications:
        path = f"{inside}/{classification.name}".removeprefix("/")
        for key, value in classification.properties.items():
            yield path, key, value
        yield from flattened(classification.nested, path)


def of_settings(values: Mapping[tuple[ClassificationPath, str], str]) -> tuple[Classification, ...]:
    """Return the classifications that have exactly these values: the way back from `flattened`."""
    return _inside("", values)


def _inside(
    path: ClassificationPath, values: Mapping[tuple[ClassificationPath, str], str]
) -> tuple[Classification, ...]:
    start = f"{path}/" if path else ""
    names = dict.fromkeys(name[len(start) :].partition("/")[0] for name, _ in values if name.startswith(start))
    return tuple(
        Classification(
            name=name,
            properties={key: value for (at, key), value in values.items() if at == f"{start}{name}"},
            nested=_inside(f"{start}{name}", values),
        )
        for name in names
    )
