"""Overrides of an environment file: they replace rendered values, in the groups whose nodes read the property."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from typing import Final

from warmbase.configurations.properties import CATALOGUE, PropertyScope
from warmbase.configurations.properties.property import BOTH
from warmbase.emr.cluster_spec import Classification, Classifications, flattened, is_placeholder, merged, of_settings
from warmbase.environments.override import PINNED, Override
from warmbase.facts.keys import current_key
from warmbase.facts.releases import classifications
from warmbase.ground.errors import InvalidInput, Problem

DECIDED: Final = {
    "hbase.emr.readreplica.enabled": "clusters.NAME.role",
    "hbase.wal.dir": "storage.wal",
    "hbase.wal.provider": "storage.wal",
    "fs.defaultFS": "storage.mode",
    "hbase.security.authentication": "security.kerberos",
    "fs.s3.impl": "release, which decides the S3 client",
    "fs.s3a.endpoint.region": "region",
}
"""Properties that a group could set but that are not tuning, with the key of the environment file that decides them."""


def overridden(planned: Classifications, overrides: Iterable[Override]) -> Classifications:
    """Return the planned settings with the overrides applied, each in the groups whose nodes read the property.

    A property that the catalogue does not know goes to every group. Raises InvalidInput with every override that
    cannot be applied: of a property that another key decides, in an unknown classification, with a placeholder as its
    value, or without effect.
    """
    overrides = tuple(overrides)
    in_hbase_site = {key for level in planned for path, key, _ in flattened(level) if path == "hbase-site"}
    in_hbase_site |= {override.key for override in overrides if override.classification == "hbase-site"}
    problems = [problem for override in overrides for problem in _problems(override, in_hbase_site)]
    if problems:
        raise InvalidInput(problems)
    return Classifications(
        cluster=planned.cluster,
        primary=_with(planned.primary, overrides, PropertyScope.PRIMARY),
        core=_with(planned.core, overrides, PropertyScope.CORE),
    )


def is_applicable(override: Override) -> bool:
    """Return whether an environment file may have the override."""
    return not any(_problems(override, frozenset()))


def groups_of(override: Override) -> frozenset[PropertyScope]:
    """Return the instance groups whose nodes read the property."""
    catalogued = CATALOGUE.get((override.classification, override.key))
    return (catalogued.groups & BOTH or BOTH) if catalogued else BOTH


def _with(
    planned: tuple[Classification, ...], overrides: Iterable[Override], group: PropertyScope
) -> tuple[Classification, ...]:
    for override in overrides:
        if group in groups_of(override):
            planned = merged(planned, of_settings({(override.classification, override.key): override.value}))
    return planned


def _problems(override: Override, in_hbase_site: AbstractSet[str]) -> Iterator[Problem]:
    what = f"overrides.{override.classification}.{override.key}"
    if (decided := _decided_elsewhere(override)) is not None:
        why = "it is part of the cluster's identity, and not tuning"
        yield Problem(where=override.where, what=what, why=why, fix=f"remove it, and set {decided} instead")
    elif (figure := _planned_figure(override)) is not None:
        why = f"the property states the plan's figure {figure}, and the plan would show a different value"
        yield Problem(where=override.where, what=what, why=why, fix="remove it")
    elif (current := current_key(override.key)) != override.key and any(current == key for _, key in CATALOGUE):
        why = f"the key is the deprecated name of {current}, which warmbase sets, so one of the two would be ignored"
        yield Problem(where=override.where, what=what, why=why, fix=f"write {current}")
    elif override.classification not in classifications():
        near = get_close_matches(override.classification, sorted(classifications()), n=1)
        yield Problem(
            where=override.where,
            what=f"overrides.{override.classification}",
            why="EMR documents no such classification",
            fix=f"did you mean {near[0]}?"
            if near
            else "use one that EMR documents (warmbase/facts/classifications.csv)",
        )
    elif is_placeholder(override.classification, override.value) or is_placeholder(
        override.classification, override.key
    ):
        why = f"{override.key}={override.value} is a placeholder, and a node would use it literally"
        yield Problem(where=override.where, what=what, why=why, fix="replace it with a value, or remove it")
    elif override.classification == "core-site" and override.key in in_hbase_site:
        why = "hbase-site sets the key too, and HBase reads hbase-site last"
        yield Problem(where=override.where, what=what, why=why, fix=f"set it under hbase-site: {override.key}")


def _planned_figure(override: Override) -> str | None:
    """Return the figure of the plan that the property states; None for a pin, or for a property without a figure."""
    at = (override.classification, override.key)
    return CATALOGUE[at].figure or None if at in CATALOGUE and at not in PINNED else None


def _decided_elsewhere(override: Override) -> str | None:
    """Return the key of the environment file that decides the property, None where none does.

    The classification does not matter: hbase.rootdir in another file would be a second root. Nor does it matter whether
    the key has its current name, because Hadoop reads fs.default.name as it reads fs.defaultFS.
    """
    current = current_key(override.key)
    if any(entry.is_identity for (_, key), entry in CATALOGUE.items() if key == current):
        return "storage.mode, storage.root or storage.wal"
    return DECIDED.get(current)
