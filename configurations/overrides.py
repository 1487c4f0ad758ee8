"""What a person sets against the plan: laid over what is rendered, where the property belongs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final

from configurations.classification import Classification, Classifications, merged
from configurations.properties import CATALOGUE, Group
from configurations.properties.property import BOTH, CLUSTER
from environments.override import Override
from sizing.problem import InvalidInput, Problem

__all__ = ["groups_of", "overridden"]

# EMR Release Guide, emr-configure-apps: what it takes on a cluster with HBase.
CLASSIFICATIONS: Final = (
    "capacity-scheduler",
    "core-site",
    "emr-metrics",
    "emrfs-site",
    "hadoop-env/export",
    "hadoop-log4j",
    "hbase",
    "hbase-env/export",
    "hbase-log4j",
    "hbase-log4j2",
    "hbase-metrics",
    "hbase-policy",
    "hbase-site",
    "hdfs-env/export",
    "hdfs-site",
    "mapred-site",
    "phoenix-hbase-site",
    "yarn-env/export",
    "yarn-site",
    "zoo.cfg",
    "zookeeper-config",
)


def overridden(planned: Classifications, overrides: Iterable[Override]) -> Classifications:
    """The planned settings with the overrides over them, each in the groups that need its property.

    A property that the catalogue does not know goes to every group. Raises InvalidInput with every override that is
    none: of what the storage is, or in a classification that there is not.
    """
    overrides = tuple(overrides)
    problems = [problem for each in overrides for problem in _problems(each)]
    if problems:
        raise InvalidInput(problems)
    return Classifications(
        cluster=planned.cluster,
        primary=_with(planned.primary, overrides, Group.PRIMARY),
        core=_with(planned.core, overrides, Group.CORE),
    )


def groups_of(override: Override) -> frozenset[Group]:
    """The instance groups whose nodes read the property."""
    known = CATALOGUE.get((override.classification, override.key))
    return (known.groups & BOTH or BOTH) if known else BOTH


def _with(
    planned: tuple[Classification, ...], overrides: Iterable[Override], group: Group
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


def _problems(override: Override) -> Iterator[Problem]:
    known = CATALOGUE.get((override.classification, override.key))
    if known is not None and known.groups == CLUSTER:
        yield Problem(
            where=override.where,
            what=f"overrides.{override.classification}.{override.key}",
            why="it is part of what the storage is, which is settled when the cluster is launched",
            fix="remove it, and use storage: (mode, root, wal)",
        )
    elif override.classification not in _classifications():
        near = get_close_matches(override.classification, _classifications(), n=1)
        yield Problem(
            where=override.where,
            what=f"overrides.{override.classification}",
            why="EMR has no such classification for HBase, Hadoop or the CloudWatch agent",
            fix=f"did you mean {near[0]}?" if near else f"use one of {', '.join(CLASSIFICATIONS)}",
        )


def _classifications() -> tuple[str, ...]:
    return (*CLASSIFICATIONS, *sorted({path for path, _ in CATALOGUE}))
