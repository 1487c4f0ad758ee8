"""EMR releases by label, from facts/releases.csv."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from facts.table import rows
from sizing.release import Release, parse_version


@cache
def releases() -> Mapping[str, Release]:
    """Return every EMR release whose HBase has a persistent bucket cache, oldest first."""
    return {row["release"]: _release(row) for row in rows("releases.csv")}


def _release(row: Mapping[str, str]) -> Release:
    return Release(
        label=row["release"],
        hbase=parse_version(row["hbase"]),
        hadoop=parse_version(row["hadoop"]),
        zookeeper=parse_version(row["zookeeper"]),
        java_default=int(row["java_default"]),
        zgc_documented=row["zgc_documented"] == "yes",
        s3_connector=row["s3_connector"],
        read_policy_defect=row["read_policy_defect"] == "yes",
    )
