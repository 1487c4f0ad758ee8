"""What a person sets against the plan: laid over what is rendered, where the property belongs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from typing import Final

from configurations.properties import CATALOGUE, PropertyScope
from configurations.properties.property import BOTH, CLUSTER
from emr.classification import Classification, Classifications, flattened, merged
from emr.cluster_spec import is_placeholder
from environments.override import Override
from facts.classifications import classifications
from sizing.problem import InvalidInput, Problem

__all__ = ["groups_of", "overridden"]

DECIDED: Final = {
    "hbase.emr.readreplica.enabled": "clusters: (role)",
    "hbase.wal.dir": "storage: (wal)",
    "hbase.wal.provider": "storage: (wal)",
    "fs.defaultFS": "storage: (mode)",
    "fs.s3.impl": "the release, which brings its S3 client",
}
"""What a group could have and is no tuning, with where it is decided: a replica that writes is a second writer."""


def overridden(planned: Classifications, overrides: Iterable[Override]) -> Classifications:
    """The planned settings with the overrides over them, each in the groups that need its property.

    A property that the catalogue does not know goes to every group. Raises InvalidInput with every override that is
    none: of what the environment file decides elsewhere, in a classification that there is not, still to be filled
    in, or without effect.
    """
    overrides = tuple(overrides)
    stated = {key for level in planned for path, key, _ in flattened(level) if path == "hbase-site"}
    stated |= {override.key for override in overrides if override.classification == "hbase-site"}
    problems = [problem for override in overrides for problem in _problems(override, stated)]
    if problems:
        raise InvalidInput(problems)
    return Classifications(
        cluster=planned.cluster,
        primary=_with(planned.primary, overrides, PropertyScope.PRIMARY),
        core=_with(planned.core, overrides, PropertyScope.CORE),
    )


def groups_of(override: Override) -> frozenset[PropertyScope]:
    """Return the instance groups whose nodes read the property."""
    known = CATALOGUE.get((override.classification, override.key))
    return (known.groups & BOTH or BOTH) if known else BOTH


def _with(
    planned: tuple[Classification, ...], overrides: Iterable[Override], group: PropertyScope
) -> tuple[Classification, ...]:
    for override in overrides:
        if group in groups_of(override):
            planned = merged(planned, [_nested(override.classification, override.key, override.value)])
    return planned


def _nested(path: str, key: str, value: str) -> Classification:
    name, _, inner = path.partition("/")
    if not inner:
        return Classification(name=name, properties={key: value})
    return Classification(name=name, properties={}, nested=(_nested(inner, key, value),))


def _problems(override: Override, in_hbase_site: AbstractSet[str]) -> Iterator[Problem]:
    what = f"overrides.{override.classification}.{override.key}"
    if (decided := _decided_elsewhere(override)) is not None:
        why = "it says what the cluster is, and is no tuning"
        yield Problem(where=override.where, what=what, why=why, fix=f"remove it, and use {decided}")
    elif override.classification not in classifications():
        near = get_close_matches(override.classification, sorted(classifications()), n=1)
        yield Problem(
            where=override.where,
            what=f"overrides.{override.classification}",
            why="EMR documents no such classification",
            fix=f"did you mean {near[0]}?" if near else "use one that it documents: facts/classifications.csv",
        )
    elif is_placeholder(override.classification, override.value) or is_placeholder(
        override.classification, override.key
    ):
        why = f"{override.key}={override.value} is still to be filled in, and a node would take it as it stands"
        yield Problem(where=override.where, what=what, why=why, fix="fill it in, or remove it")
    elif override.classification == "core-site" and override.key in in_hbase_site:
        why = "hbase-site states the key too, and HBase reads that last"
        yield Problem(where=override.where, what=what, why=why, fix=f"state it under hbase-site: {override.key}")


def _decided_elsewhere(override: Override) -> str | None:
    """Wherever it is stated: another's rootdir in another file would be a second root."""
    if any(known.groups == CLUSTER for (_, key), known in CATALOGUE.items() if key == override.key):
        return "storage: (mode, root, wal)"
    return DECIDED.get(override.key)
