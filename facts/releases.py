"""EMR releases by label, from facts/releases.csv, and what each improves, from facts/improvements.csv."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import Final

from msgspec import Struct

from facts.table import provenance, rows
from sizing.release import Improvement, Release, parse_version

__all__ = [
    "LABEL",
    "SPARK_ONLY",
    "UnknownRelease",
    "improvements_since",
    "newest_release",
    "releases",
    "unknown_release",
]

TABLE: Final = "releases.csv"
LABEL: Final = re.compile(r"emr-\d{1,4}\.\d{1,4}\.\d{1,4}", re.ASCII)
SPARK_ONLY: Final = re.compile(r"emr-spark-.*", re.ASCII)
"""The AWS runtime for Apache Spark, such as `emr-spark-8.0.0`, which has no HBase (EMR Release Guide)."""
ANOTHER_NETWORK: Final = 8
"""The first major version whose nodes reach EMR in another way (EMR Management Guide, emr-clusters-in-a-vpc)."""


class UnknownRelease(Struct, frozen=True, kw_only=True):
    """Why the table lacks a release, as the rest of a sentence that begins with its label, and what to do."""

    why: str
    fix: str


@cache
def releases() -> Mapping[str, Release]:
    """Return every EMR release whose HBase has a persistent bucket cache, oldest first."""
    known: dict[str, Release] = {}
    support_until: date | None = None
    for row in reversed(list(rows(TABLE))):
        support_until = (
            date.fromisoformat(row["standard_support_until"]) if row["standard_support_until"] else support_until
        )
        if support_until is None:
            raise ValueError(f"{TABLE}: the newest release needs the date until which it has standard support")
        known[row["release"]] = _release(row, support_until)
    return dict(reversed(known.items()))


def newest_release() -> Release:
    """Return the newest release of the table."""
    return max(releases().values(), key=lambda release: release.emr)


def improvements_since(release: Release) -> tuple[Improvement, ...]:
    """Return what the releases after this one improve, oldest first."""
    return tuple(
        Improvement(release=row["release"], text=row["improvement"], concerns=row["concerns"], source=row["source"])
        for row in rows("improvements.csv")
        if releases()[row["release"]].emr > release.emr
        and (not row["since"] or releases()[row["since"]].emr <= release.emr)
    )


def unknown_release(label: str) -> UnknownRelease:
    """Return why the table lacks a release: no HBase, an old HBase, or newer than the table; and what to do."""
    oldest, newest = next(iter(releases().values())), newest_release()
    known = f"use one of: {', '.join(releases())}"
    if SPARK_ONLY.fullmatch(label):
        return UnknownRelease(why="is a runtime for Apache Spark only: it ships no HBase", fix=known)
    if not LABEL.fullmatch(label):
        return UnknownRelease(why="is not a release label", fix=known)
    emr = parse_version(label.removeprefix("emr-"))
    if emr[0] >= ANOTHER_NETWORK:
        why = (
            "cannot start in the network that warmbase creates: from EMR 8 on, nodes reach EMR through the endpoint"
            " aws.api.REGION.emr-service-cell01 on port 443 and use the buckets aws157-instance-data-0-prod-REGION and"
            " aws157-instance-data-1-prod-REGION; warmbase's security groups open 8443 and 9443, and its endpoint"
            " policies refuse these buckets"
        )
        return UnknownRelease(why=why, fix=f"use {newest.label}")
    if emr > newest.emr:
        facts = f"the newest release that warmbase has facts about ({_read_on()})"
        fix = f"use {newest.label}, or add the release: docs/add-a-release.md says how"
        return UnknownRelease(why=f"is newer than {newest.label}, {facts}", fix=fix)
    if emr < oldest.emr:
        return UnknownRelease(why="ships an HBase before 2.6, which cannot keep its cache over a restart", fix=known)
    return UnknownRelease(why="is not in the table of releases", fix=known)


def _read_on() -> str:
    """Return the day on which the table was last compared with the Release Guide."""
    day = re.search(r"\d{4}-\d{2}-\d{2}", provenance(TABLE)[0])
    return day[0] if day else "undated"


def _release(row: Mapping[str, str], support_until: date) -> Release:
    return Release(
        label=row["release"],
        hbase=parse_version(row["hbase"]),
        hadoop=parse_version(row["hadoop"]),
        zookeeper=parse_version(row["zookeeper"]),
        java_default=int(row["java_default"]),
        zgc_documented=row["zgc_documented"] == "yes",
        s3_connector=row["s3_connector"],
        read_policy_defect=row["read_policy_defect"] == "yes",
        trino=int(row["trino"]) if row["trino"] else None,
        support_until=support_until,
    )
