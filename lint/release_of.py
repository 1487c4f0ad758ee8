"""Finds the release whose facts apply to a release label."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from msgspec import Struct

from facts.releases import LABEL, releases
from sizing.release import Release, Version, parse_version

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
    return LintedRelease(release=before[-1] if before else _older(label, emr), exact=False)


def _older(label: str, emr: Version) -> Release:
    hbase, hadoop = next((hbase, hadoop) for since, hbase, hadoop in OLDER if emr >= since)
    return Release(
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
