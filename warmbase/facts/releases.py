"""EMR releases by label, from releases.csv; what each improves, from improvements.csv; and its classifications.

`release_of` finds the release whose facts apply to a release label. classifications.csv lists the classifications that
EMR documents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import Final

from msgspec import Struct

from warmbase.facts import provenance, rows
from warmbase.ground.release import Improvement, Release, Version, parse_version

TABLE: Final = "releases.csv"
LABEL: Final = re.compile(r"emr-\d{1,4}\.\d{1,4}\.\d{1,4}", re.ASCII)
SPARK_ONLY: Final = re.compile(r"emr-spark-.*", re.ASCII)
"""The AWS runtime for Apache Spark, such as `emr-spark-8.0.0`, which has no HBase (EMR Release Guide)."""
ANOTHER_NETWORK: Final = 8
"""The first major version whose nodes reach EMR in another way (EMR Management Guide, emr-clusters-in-a-vpc)."""


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
        columns = list(row)
        applications = columns[columns.index("end_of_life") + 1 :]
        known[row["release"]] = Release(
            label=row["release"],
            hbase=parse_version(row["hbase"]),
            hadoop=parse_version(row["hadoop"]),
            zookeeper=parse_version(row["zookeeper"]),
            java_default=int(row["java_default"]),
            zgc_documented=row["zgc_documented"] == "yes",
            s3_connector=row["s3_connector"],
            read_policy_defect=row["read_policy_defect"] == "yes",
            applications=tuple([(name, int(row[name])) for name in applications if row[name]]),
            support_until=support_until,
        )
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


def unknown_release(label: str) -> tuple[str, str]:
    """Return why the table lacks a release (no HBase, an old HBase, or a newer release), and what to do.

    The reason is the rest of a sentence that begins with the label.
    """
    oldest, newest = next(iter(releases().values())), newest_release()
    known = f"use one of: {', '.join(releases())}"
    if SPARK_ONLY.fullmatch(label):
        return "is a runtime for Apache Spark only: it ships no HBase", known
    if not LABEL.fullmatch(label):
        return "is not a release label", known
    emr = parse_version(label.removeprefix("emr-"))
    if emr[0] >= ANOTHER_NETWORK:
        why = (
            "cannot start in the network that warmbase creates: from EMR 8 on, nodes reach EMR through the endpoint"
            " aws.api.REGION.emr-service-cell01 on port 443 and use the buckets aws157-instance-data-0-prod-REGION and"
            " aws157-instance-data-1-prod-REGION; warmbase's security groups open 8443 and 9443, and its endpoint"
            " policies refuse these buckets"
        )
        return why, f"use {newest.label}"
    if emr > newest.emr:
        # The day on which the table was last compared with the Release Guide.
        day = re.search(r"\d{4}-\d{2}-\d{2}", provenance(TABLE)[0])
        facts = f"the newest release that warmbase has facts about ({day[0] if day else 'undated'})"
        fix = f"use {newest.label}, or add the release: docs/add-a-release.md says how"
        return f"is newer than {newest.label}, {facts}", fix
    if emr < oldest.emr:
        return "ships an HBase before 2.6, which cannot keep its cache over a restart", known
    return "is not in the table of releases", known


@cache
def classifications() -> frozenset[str]:
    """Return the paths of all classifications, such as `hbase-env/export`, with those of older releases."""
    return frozenset(row["classification"] for row in rows("classifications.csv"))


EXAMPLE: Final = "emr-7.14.0"

OLDER: Final[tuple[tuple[Version, Version, Version], ...]] = (
    ((7, 5, 0), (2, 5, 10), (3, 4, 0)),
    ((7, 4, 0), (2, 5, 5), (3, 4, 0)),
    ((6, 0, 0), (2, 4, 17), (3, 3, 6)),
    ((0, 0, 0), (1, 4, 13), (2, 10, 1)),
)
"""First EMR release, HBase and Hadoop: EMR Release Guide, emr-release-app-versions-7.x and -5.x.

A line stands for all releases before the line above it. EMR 6 up to 6.11 ships HBase 2.2 or later (from memory), EMR 5
up to 5.29 and EMR 4 ship HBase 1.2 or later. Rules only compare these versions with 2, 2.5 and 2.6.
"""
OLDER_SUPPORT_UNTIL: Final = date(2026, 11, 20)  # emr-7.5.0, the newest of them (EMR Release Guide, emr-750-release)
OLDER_ZOOKEEPER: Final = (3, 9, 1)
JAVA_17_FROM: Final = (7, 0, 0)


class LintedRelease(Struct, frozen=True, kw_only=True):
    """A release; `exact` is false for one that is not in our table, whose keys and defaults lint does not judge."""

    release: Release | None
    exact: bool


def is_label(text: str) -> bool:
    """Return whether a text has the form of an EMR release label."""
    return LABEL.fullmatch(text) is not None


def nearest_label(text: str) -> str:
    """Return the label that a text is close to, or else an example."""
    number = re.search(r"\d{1,4}\.\d{1,4}(?:\.\d{1,4})?", text, re.ASCII)
    if number is None:
        return EXAMPLE
    return f"emr-{number[0]}" if number[0].count(".") > 1 else f"emr-{number[0]}.0"


def release_of(label: str | None) -> LintedRelease:
    """Return the release of a label; for an unknown one the last before it, or the versions that EMR shipped then.

    The release is None where there is no label, or it is not a label of EMR's.
    """
    if label is None or not is_label(label):
        return LintedRelease(release=None, exact=False)
    table = releases()
    if label in table:
        return LintedRelease(release=table[label], exact=True)
    emr = parse_version(label.removeprefix("emr-"))
    before = [release for release in table.values() if release.emr < emr]
    if before:
        return LintedRelease(release=before[-1], exact=False)
    hbase, hadoop = next((hbase, hadoop) for since, hbase, hadoop in OLDER if emr >= since)
    older = Release(
        label=label,
        hbase=hbase,
        hadoop=hadoop,
        zookeeper=OLDER_ZOOKEEPER,
        java_default=17 if emr >= JAVA_17_FROM else 8,
        zgc_documented=False,
        s3_connector="emrfs",
        read_policy_defect=False,
        support_until=OLDER_SUPPORT_UNTIL,
    )
    return LintedRelease(release=older, exact=False)
