"""From a label that somebody wrote to a release whose facts we know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from facts.releases import releases
from sizing.release import Release, Version, parse_version

__all__ = ["LintedRelease", "is_label", "nearest_label", "release_of"]

EXAMPLE: Final = "emr-7.12.0"

OLDER: Final[tuple[tuple[Version, Version, Version], ...]] = (
    ((7, 5, 0), (2, 5, 10), (3, 4, 0)),
    ((7, 4, 0), (2, 5, 5), (3, 4, 0)),
    ((6, 0, 0), (2, 4, 17), (3, 3, 6)),
    ((0, 0, 0), (1, 4, 13), (2, 10, 1)),
)
"""From which EMR on, which HBase and which Hadoop: EMR Release Guide, emr-release-app-versions-7.x and -5.x.

Each line stands for all that come before the next: EMR 6 up to 6.11 ships an HBase from 2.2 on (from memory), EMR 5 up
to 5.29 and EMR 4 one from 1.2 on. Rules ask of these only whether they come before 2, 2.5 or 2.6.
"""
OLDER_ZOOKEEPER: Final = (3, 9, 1)
JAVA_17_FROM: Final = (7, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintedRelease:
    """`exact` is false for a release beyond our table: keys and defaults of that one are not judged."""

    release: Release | None
    exact: bool


def is_label(text: str) -> bool:
    """Return whether it is written like a release label of EMR."""
    return re.fullmatch(r"emr-\d{1,4}\.\d{1,4}\.\d{1,4}", text, re.ASCII) is not None


def nearest_label(text: str) -> str:
    """The label that somebody may have meant, or an example of one."""
    number = re.search(r"\d{1,4}\.\d{1,4}(?:\.\d{1,4})?", text, re.ASCII)
    if number is None:
        return EXAMPLE
    return f"emr-{number[0]}" if number[0].count(".") > 1 else f"emr-{number[0]}.0"


def release_of(label: str | None) -> LintedRelease:
    """The release itself; of one that we do not know the last before it, of an older one the HBase of its time.

    None where there is no label, or it is none of EMR's.
    """
    if label is None or not is_label(label):
        return LintedRelease(release=None, exact=False)
    known = releases()
    if label in known:
        return LintedRelease(release=known[label], exact=True)
    emr = parse_version(label.removeprefix("emr-"))
    before = [release for release in known.values() if release.emr < emr]
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
    )
